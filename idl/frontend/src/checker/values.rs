//! Valuetypes, eventtypes and boxed values.
//!
//! IDL 4.2 §7.4.5 (valuetypes), §7.4.7.4.2 (custom, truncatable, boxes).

use super::scope::ScopeId;
use super::{Checker, Head, Progress};
use crate::diagnostic::{Code, Report};
use crate::model::{
    DefId, DefinitionKind, InterfaceKind, StateMember, Type, ValueBox, ValueKind, ValueType,
};
use crate::syntax::{MemberSyntax, Name, ScopedName, TypeUse, ValueSyntax};

impl Checker<'_> {
    pub(super) fn value(&mut self, syntax: &ValueSyntax, head: Head<'_>, scope: ScopeId) {
        let id = self.value_declaration(syntax, head, scope);
        let Some(items) = &syntax.body else { return };
        let bases = self.value_bases(syntax, scope);
        let supports = self.supported(&syntax.supports, scope);
        self.check_truncatable(syntax, &bases);
        self.check_supports(&supports, syntax);
        if let DefinitionKind::ValueType(x) = &mut self.model.get_mut(id).kind {
            x.kind = syntax.kind;
            x.forward_only = false;
            x.truncatable = syntax.truncatable.is_some();
            x.bases.clone_from(&bases);
            x.supports.clone_from(&supports);
        }
        let inner = self.open_scope(id, scope, false);
        let mut inherited = bases;
        inherited.extend(supports);
        self.inherit(inner, &syntax.name, &inherited);
        self.inside(items, inner);
        self.complete(id);
    }

    /// The definition that this declaration belongs to, made if it is the first.
    fn value_declaration(&mut self, syntax: &ValueSyntax, head: Head<'_>, scope: ScopeId) -> DefId {
        let name = &syntax.name;
        let known = self.local_definition(scope, name);
        let known = known.and_then(|id| match &self.model.get(id).kind {
            DefinitionKind::ValueType(x) => Some((id, x.kind, x.is_event)),
            _ => None,
        });
        if let Some((id, kind, is_event)) = known {
            let forward = syntax.body.is_none();
            if forward || self.progress(id) == Progress::Declared {
                // `custom` stands only at the definition.
                let differs = (kind == ValueKind::Abstract) != (syntax.kind == ValueKind::Abstract);
                if differs || is_event != syntax.is_event {
                    let (now, before) = (words(syntax.kind), words(kind));
                    self.forward_mismatch(id, name, now, before);
                }
                if !forward {
                    self.redefine(id, name, head, scope);
                }
                return id;
            }
        }
        let (is_event, forward_only) = (syntax.is_event, true);
        let value = ValueType { is_event, forward_only, ..ValueType::defined(syntax.kind) };
        let progress = if syntax.body.is_some() { Progress::Open } else { Progress::Declared };
        self.define(name, DefinitionKind::ValueType(value), head, scope, progress)
    }

    fn value_bases(&mut self, syntax: &ValueSyntax, scope: ScopeId) -> Vec<DefId> {
        let mut found: Vec<DefId> = Vec::new();
        for (index, base) in syntax.bases.iter().enumerate() {
            let wanted = |kind: &DefinitionKind| matches!(kind, DefinitionKind::ValueType(_));
            let Some(id) = self.resolve_kind(scope, base, "a valuetype", wanted) else { continue };
            if !self.usable_base(id, base, &found) {
                continue;
            }
            let DefinitionKind::ValueType(x) = &self.model.get(id).kind else { continue };
            let concrete = x.kind != ValueKind::Abstract;
            if concrete && syntax.kind == ValueKind::Abstract {
                let message =
                    format!("an abstract valuetype cannot inherit from `{}`", base.text());
                let hint = "abstract valuetypes inherit from abstract ones only";
                self.report(Code::BadBase, base.span, message, hint);
                continue;
            }
            if concrete && index > 0 {
                let message =
                    format!("`{}` is not abstract, so it must be the first base", base.text());
                let hint = "a valuetype has at most one base with state, and that comes first";
                self.report(Code::BadBase, base.span, message, hint);
                continue;
            }
            found.push(id);
        }
        found
    }

    /// The interfaces of a `supports` clause.
    pub(super) fn supported(&mut self, names: &[ScopedName], scope: ScopeId) -> Vec<DefId> {
        let mut found: Vec<DefId> = Vec::new();
        for name in names {
            let wanted = |kind: &DefinitionKind| matches!(kind, DefinitionKind::Interface(_));
            let Some(id) = self.resolve_kind(scope, name, "an interface", wanted) else { continue };
            if self.usable_base(id, name, &found) {
                found.push(id);
            }
        }
        found
    }

    fn check_truncatable(&mut self, syntax: &ValueSyntax, bases: &[DefId]) {
        let Some(span) = syntax.truncatable else { return };
        let concrete = bases.first().is_some_and(|base| match &self.model.get(*base).kind {
            DefinitionKind::ValueType(x) => x.kind != ValueKind::Abstract,
            _ => false,
        });
        let message = if syntax.kind == ValueKind::Custom {
            "a custom valuetype cannot be truncatable"
        } else if !concrete && !bases.is_empty() {
            "only a base with state can be truncated to"
        } else {
            return;
        };
        self.report(Code::ValueRules, span, message, "remove `truncatable`");
    }

    fn check_supports(&mut self, supports: &[DefId], syntax: &ValueSyntax) {
        let plain = supports.iter().filter(|id| match &self.model.get(**id).kind {
            DefinitionKind::Interface(x) => x.kind != InterfaceKind::Abstract,
            _ => false,
        });
        if plain.count() > 1 {
            let message = format!("`{}` supports several interfaces", syntax.name.text);
            let hint = "a valuetype supports at most one interface that is not abstract";
            self.report(Code::ValueRules, syntax.name.span, message, hint);
        }
    }

    /// `public` or `private` state.
    pub(super) fn state(
        &mut self,
        public: bool,
        member: &MemberSyntax,
        head: Head<'_>,
        scope: ScopeId,
    ) {
        let Some(owner) = self.owner(scope) else { return };
        for declarator in &member.declarators {
            self.check_inherited(scope, &declarator.name);
        }
        let mut members = self.members(member, scope);
        let annotations = self.annotations(head.annotations, scope);
        for member in &mut members {
            head.docs.clone_into(&mut member.docs);
            member.annotations.clone_from(&annotations);
        }
        let DefinitionKind::ValueType(x) = &mut self.model.get_mut(owner).kind else { return };
        let is_abstract = x.kind == ValueKind::Abstract;
        x.state.extend(members.into_iter().map(|member| StateMember { public, member }));
        if is_abstract {
            let what = self.describe(owner);
            let report = Report::new(
                Code::ValueRules,
                member.ty.span,
                format!("abstract {what} cannot have state"),
            );
            self.diagnostics.report(report.hint("make it an attribute, or remove `abstract`"));
        }
    }

    pub(super) fn value_box(&mut self, name: &Name, ty: &TypeUse, head: Head<'_>, scope: ScopeId) {
        // The name is entered first, since types defined in place belong to the scope around.
        let boxed = self.type_of(ty, scope);
        let boxed = boxed.filter(|boxed| self.require_complete(boxed, ty.span));
        let Some(boxed) = boxed else {
            self.poison(scope, name);
            return;
        };
        let is_value = match self.model.resolve_alias(&boxed) {
            Type::ValueBase => true,
            Type::Named(id) => matches!(
                self.model.get(*id).kind,
                DefinitionKind::ValueType(_) | DefinitionKind::ValueBox(_)
            ),
            _ => false,
        };
        if is_value {
            let hint = "boxes are for types that are not values already";
            self.report(Code::ValueRules, ty.span, "a valuetype cannot be boxed", hint);
        }
        let kind = DefinitionKind::ValueBox(ValueBox { ty: boxed, nested: Vec::new() });
        self.define(name, kind, head, scope, Progress::Complete);
    }
}

fn words(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Abstract => "abstract",
        ValueKind::Regular | ValueKind::Custom => "not abstract",
    }
}
