//! Valuetypes, boxed values, eventtypes.
//!
//! IDL 4.2 §7.4.5, §7.4.7 (valuetypes), §7.4.10 (eventtypes).

use super::definitions::Place;
use super::{Parse, Parser};
use crate::model::ValueKind;
use crate::syntax::{DefinitionSyntax, MemberSyntax, ValueSyntax};

impl Parser<'_> {
    pub(super) fn value(&mut self) -> Parse<DefinitionSyntax> {
        let kind = if self.accept_word("abstract") {
            ValueKind::Abstract
        } else if self.accept_word("custom") {
            ValueKind::Custom
        } else {
            ValueKind::Regular
        };
        let is_event = self.accept_word("eventtype");
        if !is_event && !self.accept_word("valuetype") {
            return self.expected("`valuetype`", "");
        }
        let name = self.definition_name()?;
        let mut value = ValueSyntax {
            name,
            kind,
            is_event,
            truncatable: None,
            bases: Vec::new(),
            supports: Vec::new(),
            body: None,
        };
        if self.peek().is(";") {
            return Ok(DefinitionSyntax::Value(value));
        }
        let heads = [":", "{"].iter().any(|p| self.peek().is(p)) || self.is_word("supports");
        if !heads && kind == ValueKind::Regular && !is_event {
            let name = value.name;
            let ty = self.type_use()?;
            return Ok(DefinitionSyntax::ValueBox { name, ty });
        }
        if self.accept(":") {
            let span = self.span();
            if self.accept_word("truncatable") {
                value.truncatable = Some(span);
            }
            value.bases = self.scoped_names("a base valuetype")?;
        }
        value.supports = self.supports()?;
        value.body = Some(self.body(Place::Value)?);
        Ok(DefinitionSyntax::Value(value))
    }

    /// `supports A, B`, if it is there.
    pub(super) fn supports(&mut self) -> Parse<Vec<crate::syntax::ScopedName>> {
        if self.accept_word("supports") {
            self.scoped_names("an interface")
        } else {
            Ok(Vec::new())
        }
    }

    /// State, factories, and what interfaces have.
    pub(super) fn value_element(&mut self, word: &str) -> Parse<DefinitionSyntax> {
        match word {
            "public" | "private" => {
                self.advance();
                let ty = self.type_use()?;
                let declarators = self.declarators()?;
                let member =
                    MemberSyntax { ty, declarators, docs: String::new(), annotations: Vec::new() };
                Ok(DefinitionSyntax::State { public: word == "public", member })
            }
            "factory" => {
                self.advance();
                let name = self.definition_name()?;
                let parameters = self.parameters()?;
                let raises = self.raises("raises")?;
                Ok(DefinitionSyntax::Factory { name, parameters, raises })
            }
            _ => self.export(word),
        }
    }
}
