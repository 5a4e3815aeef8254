//! Constants: evaluation of expressions and conversion to the declared type.
//!
//! Also used for bounds, dimensions and labels. The work of a compilation is bounded. IDL 4.2
//! §7.4.1.4.3.

use super::scope::{ScopeId, Target};
use super::{Checker, Head, Progress};
use crate::constant::{Decimal, Exact, Format, Problem, Ratio, binary, unary};
use crate::diagnostic::Code;
use crate::model::{ConstValue, Constant, DefId, DefinitionKind, Type, Values};
use crate::source::Span;
use crate::syntax::{Expression, Name, Node, NodeKind, ScopedName, TypeKind, TypeUse};

/// Binary digits that all operations of one compilation may handle.
pub(super) const WORK: u64 = 200_000_000;

impl Checker<'_> {
    pub(super) fn constant(
        &mut self,
        ty: &TypeUse,
        name: &Name,
        value: &Expression,
        head: Head<'_>,
        scope: ScopeId,
    ) {
        let open = matches!(ty.kind, TypeKind::FixedOpen);
        let declared = self.type_of(ty, scope);
        let declared = declared.filter(|declared| self.can_be_constant(declared, ty.span));
        let value = match &declared {
            Some(_) if open => self.open_fixed(value, scope),
            Some(declared) => self.constant_value(value, declared, scope),
            None => None,
        };
        let (Some(declared), Some(value)) = (declared, value) else {
            self.poison(scope, name);
            return;
        };
        let ty = match &value {
            ConstValue::Fixed(value) if open => {
                Type::Fixed { digits: value.digits, scale: value.scale }
            }
            _ => declared,
        };
        let kind = DefinitionKind::Constant(Constant { ty, value });
        self.define(name, kind, head, scope, Progress::Complete);
    }

    fn can_be_constant(&mut self, ty: &Type, span: Span) -> bool {
        let allowed = match self.model.resolve_alias(ty) {
            Type::String { .. } | Type::WString { .. } | Type::Fixed { .. } => true,
            Type::Named(id) => matches!(self.model.get(*id).kind, DefinitionKind::Enum(_)),
            other => other.primitive().is_some(),
        };
        if !allowed {
            let hint = "constants are integers, octet, boolean, characters, strings, enumerators, \
                        or floating or fixed point numbers";
            self.report(
                Code::BadConstantType,
                span,
                "this type cannot be that of a constant",
                hint,
            );
        }
        allowed
    }

    /// `const fixed`: the digits and scale are those of the value.
    fn open_fixed(&mut self, value: &Expression, scope: ScopeId) -> Option<ConstValue> {
        let span = value.span;
        let decimal = match self.evaluate(value, None, scope)? {
            Exact::Fixed(decimal) => decimal,
            Exact::Integer(value) => Decimal::integer(value),
            other => return self.mismatch("fixed", &other, span),
        };
        let Some(value) = decimal.value() else {
            let message = "this value needs more than 31 digits";
            self.report(Code::ConstantRange, span, message, "fixed has at most 31 digits");
            return None;
        };
        Some(ConstValue::Fixed(value))
    }

    fn mismatch<T>(&mut self, wanted: &str, found: &Exact, span: Span) -> Option<T> {
        let message = format!("expected {wanted}, found {}", found.describe());
        let hint = match (wanted, found) {
            ("a wide character" | "a wide string", Exact::Character(_) | Exact::Text(_)) => {
                "write an `L` before the quote"
            }
            ("a character" | "a string", Exact::WideCharacter(_) | Exact::WideText(_)) => {
                "remove the `L` before the quote"
            }
            ("an integer", Exact::Float(_)) => "integers have no point and no exponent",
            ("fixed", Exact::Float(_)) => "write fixed point numbers with a `d`: 1.50d",
            _ => "change the value, or the type",
        };
        self.report(Code::ConstantType, span, message, hint);
        None
    }

    /// An integer, of whatever size.
    pub(super) fn integer(&mut self, value: &Expression, scope: ScopeId) -> Option<i128> {
        match self.evaluate(value, Some(&Type::ULongLong), scope)? {
            Exact::Integer(value) => Some(value),
            other => self.mismatch("an integer", &other, value.span),
        }
    }

    /// The value of an expression as a constant of type `ty`.
    pub(super) fn constant_value(
        &mut self,
        value: &Expression,
        ty: &Type,
        scope: ScopeId,
    ) -> Option<ConstValue> {
        let ty = self.model.resolve_alias(ty).clone();
        let found = self.evaluate(value, Some(&ty), scope)?;
        self.convert(found, &ty, value.span)
    }

    fn convert(&mut self, found: Exact, ty: &Type, span: Span) -> Option<ConstValue> {
        if let Some((least, most)) = ty.integer_range() {
            return match found {
                Exact::Integer(value) if (least..=most).contains(&value) => {
                    Some(ConstValue::Integer(value))
                }
                Exact::Integer(value) => {
                    let hint = format!("values of this type are {least} to {most}");
                    self.out_of_range(&value.to_string(), span, &hint)
                }
                other => self.mismatch("an integer", &other, span),
            };
        }
        match (ty, found) {
            (Type::Boolean, Exact::Boolean(value)) => Some(ConstValue::Boolean(value)),
            (Type::Char, Exact::Character(value)) => Some(ConstValue::Char(value)),
            (Type::WChar, Exact::WideCharacter(value)) => {
                u16::try_from(u32::from(value)).ok().map(ConstValue::WChar)
            }
            (Type::String { bound }, Exact::Text(value)) => {
                let length = value.chars().count();
                self.fits(length, *bound, span).then_some(ConstValue::String(value))
            }
            (Type::WString { bound }, Exact::WideText(value)) => {
                let length = value.encode_utf16().count();
                self.fits(length, *bound, span).then_some(ConstValue::WString(value))
            }
            (Type::Named(id), Exact::Enumerator(of, index)) if *id == of => {
                Some(ConstValue::Enumerator(of, index))
            }
            (Type::Float | Type::Double | Type::LongDouble, Exact::Float(value)) => {
                self.float(&value, ty, span)
            }
            (Type::Float | Type::Double | Type::LongDouble, Exact::Integer(value)) => {
                self.float(&Ratio::integer(value), ty, span)
            }
            (Type::Fixed { digits, scale }, Exact::Fixed(value)) => {
                self.fixed(&value, *digits, *scale, span)
            }
            (Type::Fixed { digits, scale }, Exact::Integer(value)) => {
                self.fixed(&Decimal::integer(value), *digits, *scale, span)
            }
            (_, other) => {
                let wanted = self.wanted(ty);
                self.mismatch(&wanted, &other, span)
            }
        }
    }

    fn wanted(&self, ty: &Type) -> String {
        match ty {
            Type::Boolean => "TRUE or FALSE".to_owned(),
            Type::Char => "a character".to_owned(),
            Type::WChar => "a wide character".to_owned(),
            Type::String { .. } => "a string".to_owned(),
            Type::WString { .. } => "a wide string".to_owned(),
            Type::Fixed { .. } => "fixed".to_owned(),
            Type::Named(id) => format!("an enumerator of `{}`", self.model.get(*id).scoped_name),
            _ => "a floating point number".to_owned(),
        }
    }

    fn out_of_range<T>(&mut self, value: &str, span: Span, hint: &str) -> Option<T> {
        self.report(Code::ConstantRange, span, format!("{value} is out of range"), hint);
        None
    }

    fn fits(&mut self, length: usize, bound: Option<u32>, span: Span) -> bool {
        let Some(bound) = bound.filter(|bound| length > *bound as usize) else { return true };
        let message = format!("this string has {length} characters; its type allows {bound}");
        self.report(Code::StringTooLong, span, message, "shorten it, or raise the bound");
        false
    }

    fn float(&mut self, value: &Ratio, ty: &Type, span: Span) -> Option<ConstValue> {
        let format = match ty {
            Type::Float => Format::SINGLE,
            Type::Double => Format::DOUBLE,
            _ => Format::QUADRUPLE,
        };
        let Some(bits) = value.round(format) else {
            return self.out_of_range("this value", span, "it is too large for the type");
        };
        Some(match ty {
            Type::Float => ConstValue::Float(f32::from_bits(bits as u32).into()),
            Type::Double => ConstValue::Float(f64::from_bits(bits as u64)),
            _ => ConstValue::LongDouble(bits),
        })
    }

    fn fixed(
        &mut self,
        value: &Decimal,
        digits: u16,
        scale: u16,
        span: Span,
    ) -> Option<ConstValue> {
        match value.value_as(digits, scale) {
            Some(value) => Some(ConstValue::Fixed(value)),
            None => {
                let hint = format!(
                    "fixed<{digits}, {scale}> has {} digits before the point",
                    digits - scale
                );
                self.out_of_range("this value", span, &hint)
            }
        }
    }

    /// Evaluates without reporting: for annotations.
    pub(super) fn evaluate_quietly(&mut self, value: &Expression, scope: ScopeId) -> Option<Exact> {
        let mut quiet = crate::diagnostic::Diagnostics::new(0);
        std::mem::swap(self.diagnostics, &mut quiet);
        let missing = std::mem::take(&mut self.missing);
        let result = self.evaluate(value, None, scope);
        self.missing = missing;
        std::mem::swap(self.diagnostics, &mut quiet);
        result
    }

    /// Evaluates an expression; `ty` is the type wanted, which decides what `~` means.
    fn evaluate(&mut self, value: &Expression, ty: Option<&Type>, scope: ScopeId) -> Option<Exact> {
        let mut stack: Vec<Exact> = Vec::new();
        for node in &value.nodes {
            let result = match &node.kind {
                NodeKind::Unary(operator) => {
                    let bits = ty.and_then(unsigned_bits);
                    let operand = stack.pop()?;
                    unary(operator, operand, bits)
                }
                NodeKind::Binary(operator) => {
                    let right = stack.pop()?;
                    let left = stack.pop()?;
                    binary(operator, left, right)
                }
                _ => Ok(self.leaf(node, scope)?),
            };
            let result = match result {
                Ok(result) => result,
                Err(problem) => return self.problem(&problem, node.span),
            };
            if !self.within_work(&result, node.span) {
                return None;
            }
            stack.push(result);
        }
        stack.pop()
    }

    fn within_work(&mut self, result: &Exact, span: Span) -> bool {
        let bits = match result {
            Exact::Float(value) => value.bits(),
            Exact::Fixed(_) => 256,
            Exact::Text(text) | Exact::WideText(text) => text.len() as u64,
            _ => 1,
        };
        self.constant_work = self.constant_work.saturating_sub(bits);
        let is_number = matches!(result, Exact::Float(_));
        let too_big = is_number && bits > self.options.limits.constant_bits;
        if too_big || self.constant_work == 0 {
            let message = "evaluating this takes more digits than the limit";
            let hint = "simplify the expression, or raise `Limits::constant_bits`";
            self.report(Code::ConstantTooComplex, span, message, hint);
            return false;
        }
        true
    }

    fn problem<T>(&mut self, problem: &Problem, span: Span) -> Option<T> {
        let (code, message, hint) = match problem {
            Problem::Operand(message) => {
                (Code::BadOperand, message.clone(), "both sides must be numbers of the same sort")
            }
            Problem::DivisionByZero => (Code::DivisionByZero, "division by zero".to_owned(), ""),
            Problem::Shift(by) => {
                (Code::ShiftRange, format!("cannot shift by {by}"), "shifts are by 0 to 63")
            }
            Problem::TooLarge => {
                let message = "the value of this operation is out of range".to_owned();
                (Code::ConstantRange, message, "no IDL type can hold it")
            }
        };
        self.report(code, span, message, hint);
        None
    }

    /// A literal, or the value of a named constant.
    fn leaf(&mut self, node: &Node, scope: ScopeId) -> Option<Exact> {
        Some(match &node.kind {
            NodeKind::Boolean(value) => Exact::Boolean(*value),
            NodeKind::Integer(value) => Exact::Integer(i128::from(*value)),
            NodeKind::Float(text) => match Ratio::literal(text) {
                Some(value) => Exact::Float(value),
                None => {
                    let hint = "it is too large for every floating point type";
                    return self.out_of_range(&text.clone(), node.span, hint);
                }
            },
            NodeKind::Fixed(text) => Exact::Fixed(Decimal::literal(text)),
            NodeKind::Character(c) => Exact::Character(*c),
            NodeKind::WideCharacter(c) => Exact::WideCharacter(*c),
            NodeKind::Text(text) => Exact::Text(text.to_string()),
            NodeKind::WideText(text) => Exact::WideText(text.to_string()),
            NodeKind::Name(name) => return self.named_value(name, scope),
            NodeKind::Unary(_) | NodeKind::Binary(_) => return None,
        })
    }

    fn named_value(&mut self, name: &ScopedName, scope: ScopeId) -> Option<Exact> {
        let target = self.resolve(scope, name)?;
        let id = match target {
            Target::Enumerator(id, index) => return Some(Exact::Enumerator(id, index)),
            Target::Definition(id) => id,
            Target::Member | Target::Broken => {
                self.wrong_kind(name.span, &name.text(), target, "a constant");
                return None;
            }
        };
        match self.value_of(id) {
            Some(value) => Some(value),
            None => {
                self.wrong_kind(name.span, &name.text(), target, "a constant");
                None
            }
        }
    }

    fn value_of(&self, id: DefId) -> Option<Exact> {
        let DefinitionKind::Constant(constant) = &self.model.get(id).kind else { return None };
        Some(match &constant.value {
            ConstValue::Boolean(value) => Exact::Boolean(*value),
            ConstValue::Integer(value) => Exact::Integer(*value),
            ConstValue::Float(value) => {
                Exact::Float(Ratio::from_bits(value.to_bits().into(), Format::DOUBLE))
            }
            ConstValue::LongDouble(bits) => {
                Exact::Float(Ratio::from_bits(*bits, Format::QUADRUPLE))
            }
            ConstValue::Char(c) => Exact::Character(*c),
            ConstValue::WChar(c) => Exact::WideCharacter(char::from_u32(u32::from(*c))?),
            ConstValue::String(text) => Exact::Text(text.clone()),
            ConstValue::WString(text) => Exact::WideText(text.clone()),
            ConstValue::Fixed(value) => Exact::Fixed(Decimal::from_value(*value)),
            ConstValue::Enumerator(id, index) => Exact::Enumerator(*id, *index),
        })
    }
}

fn unsigned_bits(ty: &Type) -> Option<u32> {
    let primitive = ty.primitive()?;
    (primitive.values == Values::Unsigned).then_some(primitive.octets * 8)
}
