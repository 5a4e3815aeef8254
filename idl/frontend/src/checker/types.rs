//! Types where they are used, typedefs, declarators, members; what must be complete where.
//!
//! IDL 4.2 §7.4.1.4.4 (types), §7.4.1.4.4.4.4 (recursive types go through sequences).

use super::scope::{ScopeId, Target};
use super::{Checker, Head, Progress};
use crate::diagnostic::{Code, Report};
use crate::model::{DefId, DefinitionKind, Member, Type, Typedef};
use crate::source::Span;
use crate::syntax::{Declarator, Expression, MemberSyntax, ScopedName, TypeKind, TypeUse};

impl Checker<'_> {
    /// The type, or `None` when it is faulty and has been reported.
    pub(super) fn type_of(&mut self, ty: &TypeUse, scope: ScopeId) -> Option<Type> {
        match &ty.kind {
            TypeKind::Basic(basic) => Some(basic.clone()),
            TypeKind::Text { wide, bound } => {
                let bound = Some(self.bound(bound, scope)?);
                Some(if *wide { Type::WString { bound } } else { Type::String { bound } })
            }
            TypeKind::Sequence { element, bound } => {
                let element = self.type_of(element, scope);
                let bound = match bound {
                    Some(bound) => Some(self.bound(bound, scope)?),
                    None => None,
                };
                Some(Type::Sequence { element: Box::new(element?), bound })
            }
            TypeKind::Fixed { digits, scale } => self.fixed_type(digits, scale, ty.span, scope),
            // Constants replace these by the digits and scale of their value.
            TypeKind::FixedOpen => Some(Type::Fixed { digits: 31, scale: 0 }),
            TypeKind::Named(name) => self.named_type(name, scope),
            TypeKind::Defined(definition) => {
                let head = Head { docs: &definition.docs, annotations: &definition.annotations };
                self.constructed(&definition.kind, head, scope).map(Type::Named)
            }
        }
    }

    fn named_type(&mut self, name: &ScopedName, scope: ScopeId) -> Option<Type> {
        if let Some(predefined) = self.predefined_type(scope, name) {
            return Some(predefined);
        }
        let target = self.resolve(scope, name)?;
        if let Target::Definition(id) = target {
            let is_type = matches!(
                self.model.get(id).kind,
                DefinitionKind::Struct(_)
                    | DefinitionKind::Union(_)
                    | DefinitionKind::Enum(_)
                    | DefinitionKind::Typedef(_)
                    | DefinitionKind::Interface(_)
                    | DefinitionKind::ValueType(_)
                    | DefinitionKind::ValueBox(_)
                    | DefinitionKind::Native(_)
                    | DefinitionKind::Component(_)
                    | DefinitionKind::Home(_)
                    | DefinitionKind::PortType(_)
            );
            if is_type {
                return Some(Type::Named(id));
            }
        }
        self.wrong_kind(name.span, &name.text(), target, "a type");
        None
    }

    /// A positive integer up to 2^32-1: bounds and dimensions.
    pub(super) fn bound(&mut self, bound: &Expression, scope: ScopeId) -> Option<u32> {
        let value = self.integer(bound, scope)?;
        match u32::try_from(value) {
            Ok(bound) if bound > 0 => Some(bound),
            _ => {
                let message = format!("{value} is not a bound");
                let hint = "bounds and dimensions are 1 to 4294967295";
                self.report(Code::BadBound, bound.span, message, hint);
                None
            }
        }
    }

    fn fixed_type(
        &mut self,
        digits: &Expression,
        scale: &Expression,
        span: Span,
        scope: ScopeId,
    ) -> Option<Type> {
        let digits = self.integer(digits, scope);
        let scale = self.integer(scale, scope);
        let (digits, scale) = (digits?, scale?);
        if (1..=31).contains(&digits) && (0..=digits).contains(&scale) {
            return Some(Type::Fixed { digits: digits as u16, scale: scale as u16 });
        }
        let message = format!("there is no fixed<{digits}, {scale}>");
        let hint = "fixed has 1 to 31 digits, of which 0 to all are behind the point";
        self.report(Code::BadFixed, span, message, hint);
        None
    }

    /// A declarator's own type: the array of `ty` that its dimensions say.
    pub(super) fn declared_type(
        &mut self,
        ty: Option<Type>,
        declarator: &Declarator,
        scope: ScopeId,
    ) -> Option<Type> {
        let mut dims = Vec::with_capacity(declarator.dims.len());
        for dim in &declarator.dims {
            dims.extend(self.bound(dim, scope));
        }
        if dims.len() != declarator.dims.len() {
            return None;
        }
        let ty = ty?;
        Some(if dims.is_empty() { ty } else { Type::Array { element: Box::new(ty), dims } })
    }

    pub(super) fn typedef(
        &mut self,
        ty: &TypeUse,
        declarators: &[Declarator],
        head: Head<'_>,
        scope: ScopeId,
    ) {
        let base = self.type_of(ty, scope);
        let base = base.filter(|base| self.require_complete(base, ty.span));
        for declarator in declarators {
            match self.declared_type(base.clone(), declarator, scope) {
                Some(ty) => {
                    // `typedef long int32;` in older IDL says what newer IDL has built in.
                    let kind = DefinitionKind::Typedef(Typedef { ty });
                    self.define(&declarator.name, kind, head, scope, Progress::Complete);
                }
                None => self.poison(scope, &declarator.name),
            }
        }
    }

    /// The members of one declaration, names entered into `scope`; faulty ones left out.
    pub(super) fn members(&mut self, syntax: &MemberSyntax, scope: ScopeId) -> Vec<Member> {
        let ty = self.type_of(&syntax.ty, scope);
        let ty = ty.filter(|ty| self.require_complete(ty, syntax.ty.span));
        let annotations = self.annotations(&syntax.annotations, scope);
        let mut members = Vec::with_capacity(syntax.declarators.len());
        for declarator in &syntax.declarators {
            let declared = self.declared_type(ty.clone(), declarator, scope);
            self.declare(scope, &declarator.name, Target::Member);
            members.extend(declared.map(|ty| Member {
                name: declarator.name.text.to_string(),
                ty,
                docs: syntax.docs.clone(),
                annotations: annotations.clone(),
                span: declarator.name.span,
            }));
        }
        members
    }

    /// Whether values of the type can be members now: structs and unions that are not complete yet
    /// can only be elements of sequences. Reports when not.
    pub(super) fn require_complete(&mut self, ty: &Type, span: Span) -> bool {
        let Some(id) = self.incomplete_part(ty, false) else { return true };
        self.report_incomplete(id, span, "use a sequence of it, or put its definition first");
        false
    }

    /// Reports a type that operations cannot pass yet: sequences of what is not complete are
    /// members and elements only. CORBA 3.3 P1 §7.11.2.4.
    pub(super) fn require_complete_inside(&mut self, ty: &Type, span: Span) {
        if let Some(id) = self.incomplete_part(ty, true) {
            self.report_incomplete(id, span, "put its definition first");
        }
    }

    fn report_incomplete(&mut self, id: DefId, span: Span, hint: &str) {
        let what = self.describe(id);
        let message = match self.progress(id) {
            Progress::Open => format!("{what} would contain itself"),
            _ => format!("{what} is used before it is defined"),
        };
        let report = Report::new(Code::IncompleteType, span, message);
        let report = report.note("it is declared here", self.model.get(id).span);
        self.diagnostics.report(report.hint(hint));
    }

    /// The struct or union, not yet complete, that a value of this type would hold: directly, or
    /// `in_sequences` too.
    fn incomplete_part(&self, ty: &Type, in_sequences: bool) -> Option<DefId> {
        let mut at = ty;
        for _ in 0..=self.model.len() {
            match at {
                Type::Array { element, .. } => at = element,
                Type::Sequence { element, .. } if in_sequences => at = element,
                Type::Named(id) => match &self.model.get(*id).kind {
                    DefinitionKind::Typedef(x) => at = &x.ty,
                    DefinitionKind::Struct(_) | DefinitionKind::Union(_) => {
                        return (self.progress(*id) != Progress::Complete).then_some(*id);
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
        None
    }
}
