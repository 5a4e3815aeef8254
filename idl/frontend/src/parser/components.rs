//! Components, homes, porttypes, connectors.
//!
//! They are read and kept as written; equivalent interfaces are not derived. IDL 4.2 §7.4.8–7.4.12.

use super::definitions::Place;
use super::{Parse, Parser};
use crate::model::PortKind;
use crate::syntax::{ComponentSyntax, DefinitionSyntax, HomeFactorySyntax, HomeSyntax, ScopedName};
use crate::token::TokenKind;

impl Parser<'_> {
    fn base(&mut self, what: &str) -> Parse<Option<ScopedName>> {
        if self.accept(":") { Ok(Some(self.scoped_name(what)?)) } else { Ok(None) }
    }

    pub(super) fn component(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        let mut component = ComponentSyntax { name, base: None, supports: Vec::new(), body: None };
        if !self.peek().is(";") {
            component.base = self.base("a base component")?;
            component.supports = self.supports()?;
            component.body = Some(self.body(Place::Component)?);
        }
        Ok(DefinitionSyntax::Component(component))
    }

    pub(super) fn home(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        let base = self.base("a base home")?;
        let supports = self.supports()?;
        if !self.accept_word("manages") {
            return self.expected("`manages`", "a home names the component that it manages");
        }
        let manages = self.scoped_name("a component")?;
        let keyed = self.accept_word("primarykey");
        let primary_key = if keyed { Some(self.scoped_name("a valuetype")?) } else { None };
        let items = self.body(Place::Home)?;
        let home = HomeSyntax { name, base, supports, manages, primary_key, items };
        Ok(DefinitionSyntax::Home(home))
    }

    pub(super) fn port_type(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        let body = if self.peek().is(";") { None } else { Some(self.body(Place::Ports)?) };
        Ok(DefinitionSyntax::PortType { name, body })
    }

    pub(super) fn connector(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        let base = self.base("a base connector")?;
        let items = self.body(Place::Ports)?;
        Ok(DefinitionSyntax::Connector { name, base, items })
    }

    pub(super) fn component_element(&mut self, word: &str) -> Parse<DefinitionSyntax> {
        let kind = match word {
            "emits" => PortKind::Emits,
            "publishes" => PortKind::Publishes,
            "consumes" => PortKind::Consumes,
            _ => return self.port_element(word),
        };
        self.port(kind)
    }

    pub(super) fn port_element(&mut self, word: &str) -> Parse<DefinitionSyntax> {
        let kind = match word {
            "provides" => PortKind::Provides,
            "uses" => {
                // `uses multiple X x`, but also `uses multiple x` with a type of that name.
                let multiple = self.peek_at(1).is_word("multiple")
                    && (matches!(self.peek_at(3), TokenKind::Word { .. })
                        || self.peek_at(3).is("::"));
                if multiple {
                    self.advance();
                }
                PortKind::Uses { multiple }
            }
            "port" => PortKind::Port,
            "mirrorport" => PortKind::MirrorPort,
            "attribute" | "readonly" => return self.attribute(),
            _ => {
                let hint =
                    "ports are provides, uses, emits, publishes, consumes, port and mirrorport";
                return self.expected("a port or attribute", hint);
            }
        };
        self.port(kind)
    }

    fn port(&mut self, kind: PortKind) -> Parse<DefinitionSyntax> {
        self.advance();
        let ty = self.type_use()?;
        let mut names = vec![self.definition_name()?];
        while self.accept(",") {
            names.push(self.new_name()?);
        }
        Ok(DefinitionSyntax::Port { kind, ty, names })
    }

    pub(super) fn home_element(&mut self, word: &str) -> Parse<DefinitionSyntax> {
        let finder = word == "finder" && matches!(self.peek_at(1), TokenKind::Word { .. });
        if word != "factory" && !finder {
            return self.export(word);
        }
        self.advance();
        let name = self.definition_name()?;
        let parameters = self.parameters()?;
        let raises = self.raises("raises")?;
        Ok(DefinitionSyntax::HomeFactory(HomeFactorySyntax { name, finder, parameters, raises }))
    }
}
