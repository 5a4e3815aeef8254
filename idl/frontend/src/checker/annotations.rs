//! Annotations: their arguments as constants where they are, as text where not.
//!
//! Annotations are for tools, which know their own; of the language's own only values outside their
//! range are reported. IDL 4.2 §7.4.15, §8.3.

use super::Checker;
use super::scope::{ScopeId, Target};
use crate::constant::{Exact, Format};
use crate::diagnostic::Code;
use crate::model::{Annotation, AnnotationArgument, ConstValue, DefinitionKind};
use crate::syntax::{AnnotationUse, Expression, NodeKind};

impl Checker<'_> {
    pub(super) fn annotations(
        &mut self,
        uses: &[AnnotationUse],
        scope: ScopeId,
    ) -> Vec<Annotation> {
        uses.iter().map(|annotation| self.annotation(annotation, scope)).collect()
    }

    fn annotation(&mut self, annotation: &AnnotationUse, scope: ScopeId) -> Annotation {
        let arguments = annotation
            .arguments
            .iter()
            .map(|(name, value)| AnnotationArgument {
                name: name.as_ref().map(|name| name.text.to_string()),
                value: self.argument(value, scope),
            })
            .collect();
        let made = Annotation { name: annotation.name.clone(), arguments, span: annotation.span };
        self.check_bit_bound(&made);
        made
    }

    /// IDL 4.2 §8.3.2.1: 1 to 64 bits.
    fn check_bit_bound(&mut self, annotation: &Annotation) {
        if annotation.name != "bit_bound" {
            return;
        }
        let is_bound = |argument: &AnnotationArgument| match argument.value {
            ConstValue::Integer(bits) => (1..=64).contains(&bits),
            _ => false,
        };
        if !matches!(&annotation.arguments[..], [only] if is_bound(only)) {
            let message = "`@bit_bound` needs a number of bits from 1 to 64";
            self.report(Code::AnnotationRange, annotation.span, message, "write `@bit_bound(32)`");
        }
    }

    fn argument(&mut self, value: &Expression, scope: ScopeId) -> ConstValue {
        if let [node] = &value.nodes[..]
            && let NodeKind::Name(name) = &node.kind
        {
            return match self.resolve_quietly(scope, name) {
                Some(Target::Enumerator(id, index)) => ConstValue::Enumerator(id, index),
                Some(Target::Definition(id)) => match &self.model.get(id).kind {
                    DefinitionKind::Constant(x) => x.value.clone(),
                    _ => ConstValue::String(name.text()),
                },
                _ => ConstValue::String(name.text()),
            };
        }
        match self.evaluate_quietly(value, scope) {
            Some(Exact::Boolean(value)) => ConstValue::Boolean(value),
            Some(Exact::Integer(value)) => ConstValue::Integer(value),
            Some(Exact::Float(value)) => {
                let bits = value.round(Format::DOUBLE).and_then(|bits| u64::try_from(bits).ok());
                ConstValue::Float(f64::from_bits(bits.unwrap_or(0)))
            }
            Some(Exact::Fixed(value)) => {
                value.value().map_or(ConstValue::Integer(0), ConstValue::Fixed)
            }
            Some(Exact::Character(value)) => ConstValue::Char(value),
            Some(Exact::WideCharacter(value)) => {
                ConstValue::WChar(u16::try_from(u32::from(value)).unwrap_or(0))
            }
            Some(Exact::Text(value)) => ConstValue::String(value),
            Some(Exact::WideText(value)) => ConstValue::WString(value),
            Some(Exact::Enumerator(id, index)) => ConstValue::Enumerator(id, index),
            None => ConstValue::String(self.sources.text(value.span).to_owned()),
        }
    }
}
