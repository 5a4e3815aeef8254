//! Interfaces, operations, attributes.
//!
//! IDL 4.2 §7.4.3, §7.4.4 (interfaces), §7.4.6 (oneway, context, local, abstract).

use super::definitions::Place;
use super::{Parse, Parser};
use crate::model::{Direction, InterfaceKind};
use crate::source::Span;
use crate::syntax::{
    AttributeSyntax, DefinitionSyntax, OperationSyntax, ParameterSyntax, ScopedName, TypeUse,
};

/// What a `context (…)` clause holds: names of request contexts.
type Contexts = Vec<(std::rc::Rc<str>, Span)>;

impl Parser<'_> {
    pub(super) fn interface(&mut self) -> Parse<DefinitionSyntax> {
        let kind = if self.accept_word("abstract") {
            InterfaceKind::Abstract
        } else if self.accept_word("local") {
            InterfaceKind::Local
        } else {
            InterfaceKind::Unconstrained
        };
        if !self.accept_word("interface") {
            return self.expected("`interface`", "");
        }
        let name = self.definition_name()?;
        if self.peek().is(";") {
            return Ok(DefinitionSyntax::Interface { name, kind, bases: Vec::new(), body: None });
        }
        let bases =
            if self.accept(":") { self.scoped_names("a base interface")? } else { Vec::new() };
        let body = Some(self.body(Place::Interface)?);
        Ok(DefinitionSyntax::Interface { name, kind, bases, body })
    }

    /// An operation or attribute: what interfaces have besides types, constants and exceptions.
    pub(super) fn export(&mut self, word: &str) -> Parse<DefinitionSyntax> {
        match word {
            "attribute" | "readonly" => self.attribute(),
            "module" | "interface" | "abstract" | "local" | "valuetype" | "custom" => {
                let hint = "this cannot stand inside an interface or valuetype: is a `}` missing?";
                self.expected("an operation, attribute or type", hint)
            }
            _ => self.operation(),
        }
    }

    fn operation(&mut self) -> Parse<DefinitionSyntax> {
        let oneway = self.accept_word("oneway");
        let result = self.result_type()?;
        let name = self.definition_name()?;
        let parameters = self.parameters()?;
        let raises = self.raises("raises")?;
        let contexts = self.contexts()?;
        let operation = OperationSyntax { oneway, result, name, parameters, raises, contexts };
        Ok(DefinitionSyntax::Operation(operation))
    }

    /// `(in type name, …)`
    pub(super) fn parameters(&mut self) -> Parse<Vec<ParameterSyntax>> {
        self.expect("(")?;
        let mut all = Vec::new();
        if self.accept(")") {
            return Ok(all);
        }
        loop {
            all.push(self.parameter()?);
            if !self.accept(",") {
                self.expect(")")?;
                return Ok(all);
            }
        }
    }

    fn parameter(&mut self) -> Parse<ParameterSyntax> {
        let annotations = self.annotations()?;
        let start = self.span();
        let direction = if self.accept_word("in") {
            Direction::In
        } else if self.accept_word("out") {
            Direction::Out
        } else if self.accept_word("inout") {
            Direction::InOut
        } else {
            let hint = "each parameter begins with its direction, e.g. `in long count`";
            return self.expected("`in`, `out` or `inout`", hint);
        };
        let ty: TypeUse = self.type_use()?;
        let name = self.new_name()?;
        let span = start.to(self.previous_span());
        Ok(ParameterSyntax { direction, ty, name, annotations, span })
    }

    /// `raises (A, B)`, `getraises (…)` or `setraises (…)`, if it is there.
    pub(super) fn raises(&mut self, word: &str) -> Parse<Vec<ScopedName>> {
        if !self.accept_word(word) {
            return Ok(Vec::new());
        }
        self.expect("(")?;
        if self.accept(")") {
            return Ok(Vec::new());
        }
        let names = self.scoped_names("an exception")?;
        self.expect(")")?;
        Ok(names)
    }

    fn contexts(&mut self) -> Parse<Contexts> {
        let mut all = Vec::new();
        if self.accept_word("context") {
            self.expect("(")?;
            loop {
                all.push(self.plain_text("the name of a context")?);
                if !self.accept(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        Ok(all)
    }

    pub(super) fn attribute(&mut self) -> Parse<DefinitionSyntax> {
        let readonly = self.accept_word("readonly");
        if !self.accept_word("attribute") {
            return self.expected("`attribute` after `readonly`", "");
        }
        let ty = self.type_use()?;
        let mut names = vec![self.definition_name()?];
        while self.accept(",") {
            names.push(self.new_name()?);
        }
        let mut get_raises = if readonly { self.raises("raises")? } else { Vec::new() };
        if get_raises.is_empty() {
            get_raises = self.raises("getraises")?;
        }
        let set_raises = if readonly { Vec::new() } else { self.raises("setraises")? };
        if !readonly && self.is_word("raises") {
            let hint = "an attribute that can be set has `getraises (…)` and `setraises (…)`";
            return self.expected("`;`", hint);
        }
        Ok(DefinitionSyntax::Attribute(AttributeSyntax {
            readonly,
            ty,
            names,
            get_raises,
            set_raises,
        }))
    }
}
