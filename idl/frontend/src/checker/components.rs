//! Components, homes, porttypes and connectors: names resolved, kinds checked, kept as written.
//!
//! IDL 4.2 §7.4.8 to §7.4.12.

use super::scope::{ScopeId, Target};
use super::{Checker, Head, Progress};
use crate::diagnostic::Code;
use crate::model::{
    Component, Connector, DefId, DefinitionKind, Home, HomeFactory, Port, PortKind, PortType, Type,
};
use crate::source::Span;
use crate::syntax::{
    ComponentSyntax, HomeFactorySyntax, HomeSyntax, Item, Name, ScopedName, TypeUse,
};

impl Checker<'_> {
    fn is_component(kind: &DefinitionKind) -> bool {
        matches!(kind, DefinitionKind::Component(_))
    }

    pub(super) fn component(&mut self, syntax: &ComponentSyntax, head: Head<'_>, scope: ScopeId) {
        let name = &syntax.name;
        let known = self.local_definition(scope, name);
        let known = known.filter(|id| Self::is_component(&self.model.get(*id).kind));
        let id = match known {
            Some(id) if syntax.body.is_none() => id,
            Some(id) if self.progress(id) == Progress::Declared => {
                self.redefine(id, name, head, scope);
                id
            }
            _ => {
                let empty = Component { forward_only: true, ..Component::default() };
                let progress =
                    if syntax.body.is_some() { Progress::Open } else { Progress::Declared };
                self.define(name, DefinitionKind::Component(empty), head, scope, progress)
            }
        };
        let Some(items) = &syntax.body else { return };
        let base = syntax.base.as_ref().and_then(|base| {
            let found = self.resolve_kind(scope, base, "a component", Self::is_component)?;
            self.usable_base(found, base, &[]).then_some(found)
        });
        let supports = self.supported(&syntax.supports, scope);
        let inherited: Vec<DefId> = base.iter().chain(&supports).copied().collect();
        if let DefinitionKind::Component(x) = &mut self.model.get_mut(id).kind {
            x.base = base;
            x.supports = supports;
            x.forward_only = false;
        }
        self.fill(id, name, &inherited, items, scope);
    }

    /// Opens the scope of a definition, inherits, and checks the contents.
    fn fill(&mut self, id: DefId, name: &Name, bases: &[DefId], items: &[Item], scope: ScopeId) {
        let inner = self.open_scope(id, scope, false);
        self.inherit(inner, name, bases);
        self.inside(items, inner);
        self.complete(id);
    }

    pub(super) fn home(&mut self, syntax: &HomeSyntax, head: Head<'_>, scope: ScopeId) {
        let base = syntax.base.as_ref().and_then(|base| {
            let wanted = |kind: &DefinitionKind| matches!(kind, DefinitionKind::Home(_));
            let found = self.resolve_kind(scope, base, "a home", wanted)?;
            self.usable_base(found, base, &[]).then_some(found)
        });
        let supports = self.supported(&syntax.supports, scope);
        let manages = self.resolve_kind(scope, &syntax.manages, "a component", Self::is_component);
        let primary_key = syntax.primary_key.as_ref().and_then(|key| {
            let wanted = |kind: &DefinitionKind| matches!(kind, DefinitionKind::ValueType(_));
            self.resolve_kind(scope, key, "a valuetype", wanted)
        });
        let Some(manages) = manages else {
            self.poison(scope, &syntax.name);
            return;
        };
        let inherited: Vec<DefId> = base.iter().chain(&supports).copied().collect();
        let home = Home { base, supports, manages, primary_key, contents: Vec::new() };
        let kind = DefinitionKind::Home(home);
        let id = self.define(&syntax.name, kind, head, scope, Progress::Open);
        self.fill(id, &syntax.name, &inherited, &syntax.items, scope);
    }

    /// A `factory` or `finder` of a home.
    pub(super) fn home_factory(
        &mut self,
        syntax: &HomeFactorySyntax,
        head: Head<'_>,
        scope: ScopeId,
    ) {
        self.check_factory_parameters(&syntax.parameters);
        let parameters = self.parameters(&syntax.parameters, scope);
        let raises = self.raised(&syntax.raises, scope);
        match parameters {
            Some(parameters) => {
                let factory = HomeFactory { finder: syntax.finder, parameters, raises };
                let kind = DefinitionKind::HomeFactory(factory);
                self.define(&syntax.name, kind, head, scope, Progress::Complete);
            }
            None => self.poison(scope, &syntax.name),
        }
    }

    pub(super) fn port(&mut self, kind: PortKind, ty: &TypeUse, names: &[Name], scope: ScopeId) {
        let found = self.type_of(ty, scope);
        let found = found.filter(|found| self.port_type_fits(kind, found, ty.span));
        for name in names {
            self.check_inherited(scope, name);
            self.declare(scope, name, Target::Member);
            let (Some(ty), Some(owner)) = (found.clone(), self.owner(scope)) else { continue };
            let port = Port { kind, ty, name: name.text.to_string(), span: name.span };
            match &mut self.model.get_mut(owner).kind {
                DefinitionKind::Component(x) => x.ports.push(port),
                DefinitionKind::PortType(x) => x.ports.push(port),
                DefinitionKind::Connector(x) => x.ports.push(port),
                _ => {}
            }
        }
    }

    fn port_type_fits(&mut self, kind: PortKind, ty: &Type, span: Span) -> bool {
        let resolved = self.model.resolve_alias(ty);
        let named = resolved.named().map(|id| &self.model.get(id).kind);
        let (fits, wanted) = match kind {
            PortKind::Provides | PortKind::Uses { .. } => {
                let interface = matches!(named, Some(DefinitionKind::Interface(_)));
                (interface || *resolved == Type::Object, "an interface")
            }
            PortKind::Emits | PortKind::Publishes | PortKind::Consumes => {
                let event = matches!(named, Some(DefinitionKind::ValueType(x)) if x.is_event);
                (event, "an eventtype")
            }
            PortKind::Port | PortKind::MirrorPort => {
                (matches!(named, Some(DefinitionKind::PortType(_))), "a porttype")
            }
        };
        if !fits {
            let message = format!("the type of this port is not {wanted}");
            self.report(Code::ComponentRules, span, message, &format!("name {wanted}"));
        }
        fits
    }

    pub(super) fn port_type(
        &mut self,
        name: &Name,
        body: Option<&[Item]>,
        head: Head<'_>,
        scope: ScopeId,
    ) {
        let known = self.local_definition(scope, name);
        let known =
            known.filter(|id| matches!(self.model.get(*id).kind, DefinitionKind::PortType(_)));
        let id = match known {
            Some(id) if body.is_none() => id,
            Some(id) if self.progress(id) == Progress::Declared => {
                self.redefine(id, name, head, scope);
                id
            }
            _ => {
                let empty = PortType { forward_only: true, ..PortType::default() };
                let progress = if body.is_some() { Progress::Open } else { Progress::Declared };
                self.define(name, DefinitionKind::PortType(empty), head, scope, progress)
            }
        };
        let Some(items) = body else { return };
        if let DefinitionKind::PortType(x) = &mut self.model.get_mut(id).kind {
            x.forward_only = false;
        }
        self.fill(id, name, &[], items, scope);
    }

    pub(super) fn connector(
        &mut self,
        name: &Name,
        base: Option<&ScopedName>,
        items: &[Item],
        head: Head<'_>,
        scope: ScopeId,
    ) {
        let base = base.and_then(|base| {
            let wanted = |kind: &DefinitionKind| matches!(kind, DefinitionKind::Connector(_));
            let found = self.resolve_kind(scope, base, "a connector", wanted)?;
            self.usable_base(found, base, &[]).then_some(found)
        });
        let kind = DefinitionKind::Connector(Connector { base, ..Connector::default() });
        let id = self.define(name, kind, head, scope, Progress::Open);
        let inherited: Vec<DefId> = base.into_iter().collect();
        self.fill(id, name, &inherited, items, scope);
    }
}
