//! Introducing names: clash rules, and the common part of every definition; modules.
//!
//! IDL 4.2 §7.5.2 (scoping rules and name resolution): names of a scope differ in more than case,
//! differ from the scope's own name, and from names that the scope has used before.

use std::rc::Rc;

use super::repository::Identity;
use super::scope::{Entry, Scope, ScopeId, Target};
use super::{Checker, Head, Progress};
use crate::diagnostic::{Code, Report};
use crate::model::{DefId, Definition, DefinitionKind, Module};
use crate::source::Span;
use crate::syntax::{Item, Name};

impl Checker<'_> {
    /// Enters a name into a scope. When it clashes, that is reported and the older meaning stays.
    pub(super) fn declare(&mut self, scope: ScopeId, name: &Name, target: Target) {
        let found = &self.scopes[scope.0];
        let key = self.key(&name.text);
        if self.key(&found.own_name) == key {
            let report = self.name_of_scope(scope, name);
            self.diagnostics.report(report);
        }
        let found = &self.scopes[scope.0];
        if let Some(old) = found.entries.get(&key) {
            if old.target != Target::Broken {
                let report = clash(name, &old.name, old.span);
                self.diagnostics.report(report);
            }
            return;
        } else if let Some(used) = found.used.get(&key) {
            let mut message = format!("`{}` already stands for something else here", name.text);
            if *used.name != *name.text {
                message = format!("{message}: it is `{}`, as IDL ignores case", used.name);
            }
            let report = Report::new(Code::RedefinitionAfterUse, name.span, message);
            let note = format!("`{}` of an outer scope or base is used here", used.name);
            let report = report.note(note, used.span);
            let hint =
                format!("rename it, or write the outer one with its scope (`::…::{}`)", used.name);
            self.diagnostics.report(report.hint(hint));
        }
        let entry = Entry::new(name, target);
        self.scopes[scope.0].entries.entry(key).or_insert(entry);
    }

    /// A name that is that of its scope: refused when written alike, else only warned of, since
    /// published IDL does it (`struct Right { string right; }`).
    fn name_of_scope(&self, scope: ScopeId, name: &Name) -> Report {
        let found = &self.scopes[scope.0];
        let report = if found.own_name == name.text {
            let message = format!("`{}` is the name of the scope that it is in", name.text);
            Report::new(Code::NameOfScope, name.span, message)
        } else {
            let (name, own) = (name, &found.own_name);
            let message = format!("`{}` differs from `{own}`, its scope, only in case", name.text);
            Report::new(Code::ScopeCase, name.span, message)
        };
        let report = report.hint("choose another name");
        match found.owner.map(|id| self.model.get(id).span) {
            Some(span) => report.note("the scope is named here", span),
            None => report,
        }
    }

    /// The definition of this name in the scope itself, if there is one, which is declared again.
    pub(super) fn local_definition(&mut self, scope: ScopeId, name: &Name) -> Option<DefId> {
        let key = self.key(&name.text);
        match self.scopes[scope.0].entries.get_mut(&key) {
            Some(Entry { name: known, target: Target::Definition(id), again, .. })
                if *known == name.text =>
            {
                if !again.contains(&name.span.file) {
                    again.push(name.span.file);
                }
                Some(*id)
            }
            _ => None,
        }
    }

    /// Adds a definition to the model and its name to the scope.
    pub(super) fn define(
        &mut self,
        name: &Name,
        kind: DefinitionKind,
        head: Head<'_>,
        scope: ScopeId,
        progress: Progress,
    ) -> DefId {
        let id = self.define_unnamed(name, kind, head, scope, progress);
        self.declare(scope, name, Target::Definition(id));
        id
    }

    /// Adds a definition to the model only.
    pub(super) fn define_unnamed(
        &mut self,
        name: &Name,
        kind: DefinitionKind,
        head: Head<'_>,
        scope: ScopeId,
        progress: Progress,
    ) -> DefId {
        let annotations = self.annotations(head.annotations, scope);
        let parent = self.owner(scope);
        let scoped_name = match parent {
            Some(parent) => format!("{}::{}", self.model.get(parent).scoped_name, name.text),
            None => name.text.to_string(),
        };
        let identity = Identity::new(self.prefix.clone());
        let repository_id = identity.repository_id(&scoped_name);
        let (position, in_main_file) =
            (self.sources.position(name.span), self.sources.in_main_file(name.span));
        let id = self.model.add(|id| Definition {
            id,
            name: name.text.to_string(),
            scoped_name,
            parent,
            repository_id,
            docs: head.docs.to_owned(),
            annotations,
            span: name.span,
            position,
            in_main_file,
            implied: None,
            kind,
        });
        self.progress.push(progress);
        self.identities.push(identity);
        if let Some(parent) = parent {
            self.model.get_mut(parent).kind.add_child(id);
        }
        id
    }

    /// A forward declaration becomes the definition proper: place and documentation are those of
    /// the latter.
    pub(super) fn redefine(&mut self, id: DefId, name: &Name, head: Head<'_>, scope: ScopeId) {
        let annotations = self.annotations(head.annotations, scope);
        let (position, in_main_file) =
            (self.sources.position(name.span), self.sources.in_main_file(name.span));
        let definition = self.model.get_mut(id);
        let forward = definition.span;
        if !head.docs.is_empty() {
            head.docs.clone_into(&mut definition.docs);
        }
        definition.annotations.extend(annotations);
        definition.span = name.span;
        definition.position = position;
        definition.in_main_file = in_main_file;
        self.same_prefix(id, forward, name.span);
        if let Some(progress) = self.progress.get_mut(id.index()) {
            *progress = Progress::Open;
        }
    }

    /// The scope that a definition opens, made on first use.
    pub(super) fn open_scope(&mut self, id: DefId, parent: ScopeId, is_module: bool) -> ScopeId {
        if let Some(scope) = self.scope_of.get(&id) {
            return *scope;
        }
        let name: Rc<str> = self.model.get(id).name.as_str().into();
        let scope = self.add_scope(Scope::new(Some(id), Some(parent), name, is_module));
        self.scope_of.insert(id, scope);
        scope
    }

    pub(super) fn add_scope(&mut self, scope: Scope) -> ScopeId {
        self.scopes.push(scope);
        ScopeId(self.scopes.len() - 1)
    }

    pub(super) fn module(&mut self, name: &Name, items: &[Item], head: Head<'_>, scope: ScopeId) {
        let known = self.local_definition(scope, name);
        let known =
            known.filter(|id| matches!(self.model.get(*id).kind, DefinitionKind::Module(_)));
        let id = match known {
            Some(id) => {
                self.reopen(id, name, head);
                id
            }
            None => {
                let kind = DefinitionKind::Module(Module::default());
                self.define(name, kind, head, scope, Progress::Complete)
            }
        };
        let inner = self.open_scope(id, scope, true);
        self.inside(items, inner);
    }

    /// A module that continues: it counts as in the main file if any part of it is.
    fn reopen(&mut self, id: DefId, name: &Name, head: Head<'_>) {
        let main = self.sources.in_main_file(name.span);
        let position = self.sources.position(name.span);
        let definition = self.model.get_mut(id);
        if main && !definition.in_main_file {
            definition.in_main_file = true;
            definition.span = name.span;
            definition.position = position;
        }
        if definition.docs.is_empty() {
            head.docs.clone_into(&mut definition.docs);
        }
    }

    /// What was declared must have been defined by the end.
    pub(super) fn check_completeness(&mut self) {
        for index in 0..self.model.len() {
            let Some(definition) = self.model.iter().nth(index) else { break };
            if self.progress(definition.id) != Progress::Declared {
                continue;
            }
            let (span, what) = (definition.span, self.describe(definition.id));
            let constructed =
                matches!(definition.kind, DefinitionKind::Struct(_) | DefinitionKind::Union(_));
            if constructed {
                let message = format!("{what} is declared but never defined");
                self.report(Code::NeverDefined, span, message, "define it, or include its file");
            } else if definition.in_main_file {
                let message = format!("{what} is declared but never defined");
                let hint = "only references to it can be passed; include the file that defines it";
                self.report(Code::ForwardOnly, span, message, hint);
            }
        }
    }
}

/// A name that its scope has already.
pub(super) fn clash(name: &Name, old: &str, place: Span) -> Report {
    if *old == *name.text {
        let message = format!("`{}` is already defined in this scope", name.text);
        let report = Report::new(Code::Redefinition, name.span, message);
        if name.span == place {
            let hint = "this text is read twice: guard the file with `#pragma once`, or include \
                        it with the same macros everywhere";
            return report.hint(hint);
        }
        report.note("first defined here", place).hint("rename one of them")
    } else {
        let message = format!("`{}` differs from `{old}` only in case", name.text);
        let report = Report::new(Code::CaseClash, name.span, message);
        let report = report.note("the other is defined here", place);
        report.hint(
            "IDL names of one scope must differ in more than case: rename one of them, or allow it \
             (`--allow-case-clash`, `Builder::allow_case_clash`)",
        )
    }
}
