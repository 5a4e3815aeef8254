//! Repository ids: prefixes, versions, `#pragma ID`, `typeid`, `typeprefix`.
//!
//! CORBA 3.3 P1 §14.7: `IDL:` prefix `/` scoped name `:` version, unless set as a whole.

use std::collections::HashMap;
use std::rc::Rc;

use super::Checker;
use super::scope::{ScopeId, Target};
use crate::diagnostic::{Code, Report};
use crate::model::{DefId, DefinitionKind};
use crate::source::Span;
use crate::syntax::{Name, ScopedName};
use crate::token::PragmaName;

/// A prefix in force, and how many outer scopes it stands for.
///
/// CORBA 3.3 P1 §14.7.5.4: after the prefix come the parts of the scoped name relative to the scope
/// in which `#pragma prefix` was met. `typeprefix` keeps all parts (IDL 4.2 §7.4.6.4.1.2).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Prefix {
    text: Rc<str>,
    /// Parts of the scoped name that are left out; 0 where `text` is empty.
    left_out: usize,
}

impl Prefix {
    /// As `typeprefix` sets it.
    fn of_type(text: &str) -> Self {
        Prefix { text: text.into(), left_out: 0 }
    }
}

/// What a definition's repository id is made of.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    prefix: Prefix,
    version: Option<(String, Span)>,
    /// Set as a whole, and where.
    explicit: Option<(String, Span)>,
}

impl Identity {
    pub(super) fn new(prefix: Prefix) -> Self {
        Identity { prefix, version: None, explicit: None }
    }

    pub(super) fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    pub(super) fn repository_id(&self, scoped_name: &str) -> String {
        if let Some((id, _)) = &self.explicit {
            return id.clone();
        }
        let Prefix { text, left_out } = &self.prefix;
        let parts: Vec<&str> = scoped_name.split("::").skip(*left_out).collect();
        let slash = if text.is_empty() { "" } else { "/" };
        let version = self.version.as_ref().map_or("1.0", |(version, _)| version);
        format!("IDL:{text}{slash}{}:{version}", parts.join("/"))
    }
}

impl Checker<'_> {
    pub(super) fn pragma_prefix(&mut self, prefix: &str, span: Span, scope: ScopeId) {
        if !self.valid_prefix(prefix, span) {
            return;
        }
        let left_out = match self.owner(scope) {
            Some(owner) if !prefix.is_empty() => {
                self.model.get(owner).scoped_name.split("::").count()
            }
            _ => 0,
        };
        self.prefix = Prefix { text: prefix.into(), left_out };
    }

    fn valid_prefix(&mut self, prefix: &str, span: Span) -> bool {
        let odd = |c: char| c.is_whitespace() || c.is_control() || c == ':';
        let valid = !prefix.contains(odd) && !prefix.starts_with('/') && !prefix.ends_with('/');
        if !valid {
            let message = format!("`{}` is not a repository id prefix", prefix.escape_debug());
            let hint = "a prefix is like \"omg.org\", without spaces, colons or outer slashes";
            self.report(Code::BadRepositoryId, span, message, hint);
        }
        valid
    }

    pub(super) fn pragma_id(&mut self, name: &PragmaName, id: &str, span: Span, scope: ScopeId) {
        if let Some(target) = self.pragma_target(name, scope) {
            self.set_id(target, id, span);
        }
    }

    pub(super) fn pragma_version(
        &mut self,
        name: &PragmaName,
        version: &str,
        span: Span,
        scope: ScopeId,
    ) {
        let Some(target) = self.pragma_target(name, scope) else { return };
        let identity = &self.identities[target.index()];
        if let Some((id, place)) = &identity.explicit {
            let agrees = id.rsplit(':').next() == Some(version);
            let (id, place) = (id.clone(), *place);
            if !agrees {
                self.conflict(span, place, &format!("version {version} contradicts the id `{id}`"));
            }
            return;
        }
        if let Some((old, place)) = &identity.version {
            let (old, place) = (old.clone(), *place);
            if old != version {
                self.conflict(span, place, &format!("the version is already {old}"));
            }
            return;
        }
        self.identities[target.index()].version = Some((version.to_owned(), span));
        self.renew_id(target);
    }

    fn conflict(&mut self, span: Span, place: Span, message: &str) {
        let report = Report::new(Code::RepositoryIdConflict, span, message);
        let report = report.note("set here before", place);
        self.diagnostics.report(report.hint("set it once only"));
    }

    fn pragma_target(&mut self, name: &PragmaName, scope: ScopeId) -> Option<DefId> {
        let part = |text: &Rc<str>| Name { text: text.clone(), span: name.span };
        let scoped = ScopedName {
            absolute: name.absolute,
            parts: name.parts.iter().map(part).collect(),
            span: name.span,
        };
        // A scope may also be named from inside, as `#pragma version M 2.3` in module M.
        match self.resolve_quietly(scope, &scoped) {
            Some(Target::Definition(id)) => Some(id),
            Some(_) => {
                let message = format!("`{}` has no repository id", scoped.text());
                self.report(Code::WrongKind, name.span, message, "name a definition");
                None
            }
            None => {
                self.resolve(scope, &scoped);
                None
            }
        }
    }

    fn set_id(&mut self, target: DefId, id: &str, span: Span) {
        let well_formed = id.split_once(':').is_some_and(|(format, rest)| {
            !format.is_empty() && !rest.is_empty() && !id.contains(char::is_whitespace)
        });
        if !well_formed {
            let message = format!("`{}` is not a repository id", id.escape_debug());
            let hint = "repository ids are like \"IDL:omg.org/CosNaming/NamingContext:1.0\"";
            self.report(Code::BadRepositoryId, span, message, hint);
            return;
        }
        if let Some((old, place)) = &self.identities[target.index()].explicit {
            let (old, place) = (old.clone(), *place);
            if old != id {
                self.conflict(span, place, &format!("the repository id is already `{old}`"));
            }
            return;
        }
        if let Some((version, place)) = &self.identities[target.index()].version {
            let (version, place) = (version.clone(), *place);
            if id.rsplit(':').next() != Some(&*version) {
                self.conflict(span, place, &format!("`{id}` contradicts version {version}"));
                return;
            }
        }
        self.identities[target.index()].explicit = Some((id.to_owned(), span));
        self.renew_id(target);
    }

    fn renew_id(&mut self, target: DefId) {
        let definition = self.model.get_mut(target);
        definition.repository_id =
            self.identities[target.index()].repository_id(&definition.scoped_name);
    }

    pub(super) fn type_id(&mut self, name: &ScopedName, id: &str, scope: ScopeId) {
        match self.resolve(scope, name) {
            Some(Target::Definition(target)) => self.set_id(target, id, name.span),
            Some(_) => {
                let message = format!("`{}` has no repository id", name.text());
                self.report(Code::WrongKind, name.span, message, "name a definition");
            }
            None => {}
        }
    }

    /// `typeprefix`: the prefix of a scope and of all that is in it. IDL 4.2 §7.4.6.4.1.2.
    pub(super) fn type_prefix(&mut self, name: &ScopedName, prefix: &str, scope: ScopeId) {
        if !self.valid_prefix(prefix, name.span) {
            return;
        }
        let Some(target) = self.resolve(scope, name) else { return };
        let owned = match target {
            Target::Definition(id) => self.scope_of.get(&id).map(|inner| (id, *inner)),
            _ => None,
        };
        let Some((id, inner)) = owned else {
            self.wrong_kind(name.span, &name.text(), target, "a module, interface or valuetype");
            return;
        };
        let prefix = Prefix::of_type(prefix);
        self.scopes[inner.0].type_prefix = Some(prefix.clone());
        let mut at = Some(scope);
        while let Some(current) = at {
            if current == inner {
                self.prefix = prefix.clone();
            }
            at = self.scopes[current.0].parent;
        }
        let mut waiting = vec![id];
        while let Some(next) = waiting.pop() {
            self.identities[next.index()].prefix = prefix.clone();
            self.renew_id(next);
            waiting.extend(self.model.get(next).children());
        }
    }

    /// A forward declaration and the definition must get the same id. CORBA 3.3 P1 §14.7.5.
    pub(super) fn same_prefix(&mut self, id: DefId, forward: Span, span: Span) {
        let identity = &self.identities[id.index()];
        if identity.explicit.is_some() || identity.prefix == self.prefix {
            return;
        }
        let (old, new) = (identity.prefix.text.clone(), self.prefix.text.clone());
        let message =
            format!("the prefix is \"{new}\" here, but \"{old}\" at the forward declaration");
        let report = Report::new(Code::RepositoryIdConflict, span, message);
        let report = report.note("the forward declaration", forward);
        self.diagnostics.report(report.hint("put both under the same `#pragma prefix`"));
    }

    /// Two definitions with one id cannot be told apart by peers.
    pub(super) fn check_repository_ids(&mut self) {
        let mut seen: HashMap<&str, (Span, &str)> = HashMap::new();
        let mut reports = Vec::new();
        for definition in self.model.iter() {
            let named = !matches!(
                definition.kind,
                DefinitionKind::Operation(_)
                    | DefinitionKind::Attribute(_)
                    | DefinitionKind::Module(_)
            );
            if !named {
                continue;
            }
            let (id, name) = (definition.repository_id.as_str(), definition.scoped_name.as_str());
            match seen.get(id) {
                None => drop(seen.insert(id, (definition.span, name))),
                // One name defined twice has been reported as such.
                Some((_, first)) if *first == name => {}
                Some((first, _)) => {
                    let message = format!("`{id}` is already in use");
                    let report = Report::new(Code::SameRepositoryId, definition.span, message);
                    let report = report.note("by this definition", *first);
                    reports.push(report.hint("peers tell types apart by their repository ids"));
                }
            }
        }
        for report in reports {
            self.diagnostics.report(report);
        }
    }
}
