//! Unions: discriminator, labels, default, and the label left over.
//!
//! IDL 4.2 §7.4.1.4.4.4.2, §7.4.13.4.2 (octet, wchar and 8-bit integers as discriminators).

use std::collections::HashMap;

use super::scope::ScopeId;
use super::{Checker, Head, Progress};
use crate::diagnostic::{Code, Report};
use crate::model::{ConstValue, DefId, DefinitionKind, Type, Union, UnionCase, UnionLabel};
use crate::source::Span;
use crate::syntax::{CaseSyntax, Expression, Name, NodeKind, UnionBody};

/// The labels of a union, in a form that can be compared.
type Labels = HashMap<i128, Span>;

impl Checker<'_> {
    pub(super) fn union(
        &mut self,
        name: &Name,
        body: Option<&UnionBody>,
        head: Head<'_>,
        scope: ScopeId,
    ) -> Option<DefId> {
        let known = self.local_definition(scope, name);
        let known = known.filter(|id| matches!(self.model.get(*id).kind, DefinitionKind::Union(_)));
        let id = match known {
            Some(id) if body.is_none() => id,
            Some(id) if self.progress(id) == Progress::Declared => {
                self.redefine(id, name, head, scope);
                id
            }
            _ => {
                let empty = Union {
                    discriminator: Type::Long,
                    cases: Vec::new(),
                    nested: Vec::new(),
                    forward_only: true,
                    unused_label: None,
                };
                let progress = if body.is_some() { Progress::Open } else { Progress::Declared };
                self.define(name, DefinitionKind::Union(empty), head, scope, progress)
            }
        };
        let Some(body) = body else { return Some(id) };
        let inner = self.open_scope(id, scope, false);
        let discriminator = self.discriminator(body, inner);
        let mut labels = Labels::new();
        let mut default = None;
        let mut cases = Vec::with_capacity(body.cases.len());
        for case in &body.cases {
            let found = self.labels(case, discriminator.as_ref(), &mut labels, &mut default, inner);
            let member = self.members(&case.member, inner).pop();
            if let (Some(member), false) = (member, found.is_empty()) {
                cases.push(UnionCase { labels: found, member });
            }
        }
        let unused_label = discriminator.as_ref().and_then(|ty| self.unused_label(ty, &labels));
        if let (Some(span), Some(_), None) = (default, &discriminator, &unused_label) {
            let message = "`default` can never apply: all labels are in use";
            self.report(
                Code::NeedlessDefault,
                span,
                message,
                "remove it, or one of the other labels",
            );
        }
        if let DefinitionKind::Union(x) = &mut self.model.get_mut(id).kind {
            x.discriminator = discriminator.unwrap_or(Type::Long);
            x.cases = cases;
            x.forward_only = false;
            x.unused_label = unused_label;
        }
        self.complete(id);
        Some(id)
    }

    fn discriminator(&mut self, body: &UnionBody, scope: ScopeId) -> Option<Type> {
        let ty = self.type_of(&body.discriminator, scope)?;
        let resolved = self.model.resolve_alias(&ty);
        let allowed = match resolved {
            Type::Named(id) => matches!(self.model.get(*id).kind, DefinitionKind::Enum(_)),
            other => other.primitive().is_some_and(|primitive| primitive.label_range().is_some()),
        };
        if allowed {
            return Some(ty);
        }
        let hint = "discriminators are integers, octet, char, wchar, boolean or an enum";
        let message = "this type cannot be the discriminator of a union";
        self.report(Code::BadDiscriminator, body.discriminator.span, message, hint);
        None
    }

    /// The labels of one case; those that are faulty are left out.
    fn labels(
        &mut self,
        case: &CaseSyntax,
        discriminator: Option<&Type>,
        labels: &mut Labels,
        default: &mut Option<Span>,
        scope: ScopeId,
    ) -> Vec<UnionLabel> {
        let mut found = Vec::with_capacity(case.labels.len());
        for (label, span) in &case.labels {
            let Some(expression) = label else {
                match default {
                    Some(first) => self.same_label("default", *span, *first),
                    None => {
                        *default = Some(*span);
                        found.push(UnionLabel::Default);
                    }
                }
                continue;
            };
            let Some(ty) = discriminator else { continue };
            let Some(value) = self.label(expression, ty, scope) else { continue };
            match labels.get(&ordinal(&value)) {
                Some(first) => self.same_label("label", *span, *first),
                None => {
                    labels.insert(ordinal(&value), *span);
                    found.push(UnionLabel::Value(value));
                }
            }
        }
        found
    }

    fn same_label(&mut self, what: &str, span: Span, first: Span) {
        let message = format!("this {what} is already in use in this union");
        let report = Report::new(Code::DuplicateLabel, span, message);
        self.diagnostics.report(report.note("first used here", first).hint("remove one of them"));
    }

    fn label(&mut self, label: &Expression, ty: &Type, scope: ScopeId) -> Option<ConstValue> {
        // An enumerator needs no scope where the discriminator says which enum is meant.
        if let (Type::Named(id), [node]) = (self.model.resolve_alias(ty), &label.nodes[..])
            && let (DefinitionKind::Enum(x), NodeKind::Name(name)) =
                (&self.model.get(*id).kind, &node.kind)
            && let ([only], false) = (&name.parts[..], name.absolute)
        {
            let index = x.enumerators.iter().position(|e| e.name == *only.text);
            if let Some(index) = index.and_then(|i| u32::try_from(i).ok()) {
                return Some(ConstValue::Enumerator(*id, index));
            }
        }
        let ty = ty.clone();
        self.constant_value(label, &ty, scope)
    }

    /// The smallest value of the discriminator type that is no label.
    fn unused_label(&self, ty: &Type, labels: &Labels) -> Option<ConstValue> {
        let free = |from: i128, to: i128| (from..=to).find(|value| !labels.contains_key(value));
        let resolved = self.model.resolve_alias(ty);
        if let Some((least, most)) = resolved.integer_range() {
            let found = free(0, most).or_else(|| free(least, -1));
            return found.map(ConstValue::Integer);
        }
        match resolved {
            Type::Boolean => free(0, 1).map(|value| ConstValue::Boolean(value == 1)),
            Type::Char => {
                let found = free(0, 255)?;
                Some(ConstValue::Char(char::from(u8::try_from(found).ok()?)))
            }
            Type::WChar => {
                let found = free(0, 0xffff)?;
                Some(ConstValue::WChar(u16::try_from(found).ok()?))
            }
            Type::Named(id) => match &self.model.get(*id).kind {
                DefinitionKind::Enum(x) => {
                    let found = free(0, x.enumerators.len() as i128 - 1)?;
                    Some(ConstValue::Enumerator(*id, u32::try_from(found).ok()?))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// A label as a number, unique within one discriminator type.
fn ordinal(value: &ConstValue) -> i128 {
    match value {
        ConstValue::Boolean(value) => i128::from(*value),
        ConstValue::Integer(value) => *value,
        ConstValue::Char(value) => i128::from(u32::from(*value)),
        ConstValue::WChar(value) => i128::from(*value),
        ConstValue::Enumerator(_, index) => i128::from(*index),
        _ => -1,
    }
}
