//! Interfaces: forward declarations, definition, which bases each kind may have.
//!
//! IDL 4.2 §7.4.3.4.3 (interfaces), §7.4.6.4.6 (abstract), §7.4.6.4.7 (local).

use super::scope::ScopeId;
use super::{Checker, Head, Progress};
use crate::diagnostic::{Code, Report};
use crate::model::{DefId, DefinitionKind, Interface, InterfaceKind};
use crate::syntax::{Item, Name, ScopedName};

fn word(kind: InterfaceKind) -> &'static str {
    match kind {
        InterfaceKind::Unconstrained => "interface",
        InterfaceKind::Abstract => "abstract interface",
        InterfaceKind::Local => "local interface",
    }
}

impl Checker<'_> {
    pub(super) fn interface(
        &mut self,
        name: &Name,
        kind: InterfaceKind,
        bases: &[ScopedName],
        body: Option<&[Item]>,
        head: Head<'_>,
        scope: ScopeId,
    ) {
        let known = self.local_definition(scope, name);
        let known = known.and_then(|id| match &self.model.get(id).kind {
            DefinitionKind::Interface(x) => Some((id, x.kind)),
            _ => None,
        });
        let id = match known {
            Some((id, declared)) if body.is_none() || self.progress(id) == Progress::Declared => {
                if declared != kind {
                    self.forward_mismatch(id, name, word(kind), word(declared));
                }
                if body.is_some() {
                    self.redefine(id, name, head, scope);
                }
                id
            }
            _ => {
                let interface = Interface::declared(kind);
                let progress = if body.is_some() { Progress::Open } else { Progress::Declared };
                self.define(name, DefinitionKind::Interface(interface), head, scope, progress)
            }
        };
        let Some(items) = body else { return };
        let bases = self.interface_bases(kind, bases, scope);
        if let DefinitionKind::Interface(x) = &mut self.model.get_mut(id).kind {
            x.kind = kind;
            x.forward_only = false;
            x.bases.clone_from(&bases);
        }
        let inner = self.open_scope(id, scope, false);
        self.inherit(inner, name, &bases);
        self.inside(items, inner);
        self.complete(id);
    }

    /// A forward declaration of another kind than the definition.
    pub(super) fn forward_mismatch(&mut self, id: DefId, name: &Name, now: &str, before: &str) {
        let message = format!("`{}` is {now} here, but was declared as {before}", name.text);
        let report = Report::new(Code::ForwardMismatch, name.span, message);
        let report = report.note("declared here", self.model.get(id).span);
        self.diagnostics.report(report.hint("use the same words in both declarations"));
    }

    /// Resolves the bases of an interface and leaves out those that it cannot have.
    fn interface_bases(
        &mut self,
        kind: InterfaceKind,
        bases: &[ScopedName],
        scope: ScopeId,
    ) -> Vec<DefId> {
        let mut found: Vec<DefId> = Vec::new();
        for base in bases {
            let wanted = |kind: &DefinitionKind| matches!(kind, DefinitionKind::Interface(_));
            let Some(id) = self.resolve_kind(scope, base, "an interface", wanted) else { continue };
            if !self.usable_base(id, base, &found) {
                continue;
            }
            let DefinitionKind::Interface(x) = &self.model.get(id).kind else { continue };
            let allowed = match kind {
                InterfaceKind::Abstract => x.kind == InterfaceKind::Abstract,
                InterfaceKind::Unconstrained => x.kind != InterfaceKind::Local,
                InterfaceKind::Local => true,
            };
            if !allowed {
                let message = format!(
                    "{} cannot inherit from {} `{}`",
                    article(kind),
                    word(x.kind),
                    base.text()
                );
                let hint = "abstract interfaces inherit from abstract ones only; only local \
                            interfaces inherit from local ones";
                self.report(Code::BadBase, base.span, message, hint);
            }
            found.push(id);
        }
        found
    }

    /// Whether a base is complete and not listed before.
    pub(super) fn usable_base(&mut self, id: DefId, name: &ScopedName, before: &[DefId]) -> bool {
        if before.contains(&id) {
            let message = format!("`{}` is listed twice", name.text());
            self.report(Code::DuplicateBase, name.span, message, "list it once");
            return false;
        }
        if self.progress(id) != Progress::Complete {
            let what = self.describe(id);
            let message = format!("{what} cannot be inherited from before it is defined");
            let report = Report::new(Code::IncompleteType, name.span, message);
            let report = report.note("it is only declared here", self.model.get(id).span);
            self.diagnostics.report(report.hint("put its definition before this one"));
            return false;
        }
        true
    }
}

fn article(kind: InterfaceKind) -> &'static str {
    match kind {
        InterfaceKind::Unconstrained => "an interface",
        InterfaceKind::Abstract => "an abstract interface",
        InterfaceKind::Local => "a local interface",
    }
}
