//! Annotations: their arguments as constants where they are, as text where not.
//!
//! Nothing is reported here: annotations are for tools, and those know their own. IDL 4.2 §7.4.15.

use super::Checker;
use super::scope::{ScopeId, Target};
use crate::constant::{Exact, Format};
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
        Annotation { name: annotation.name.clone(), arguments, span: annotation.span }
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
