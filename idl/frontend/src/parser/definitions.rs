//! What can stand in a scope: dispatch by first word, modules, typedefs, constants, natives, type
//! ids.
//!
//! IDL 4.2 §7.4.1.4 (core), §7.4.6 (typeid, typeprefix, import), §7.4.14 (template modules: not
//! supported).

use super::{Failed, Parse, Parser};
use crate::diagnostic::{Code, Report};
use crate::source::Span;
use crate::spelling;
use crate::syntax::{AnnotationUse, Declarator, DefinitionSyntax, Item, Name, ParsedDefinition};
use crate::token::TokenKind;

/// The scope whose contents are being read; decides what may stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Module,
    Interface,
    Value,
    Component,
    Home,
    /// A porttype or connector.
    Ports,
}

/// First words of definitions, for hints.
const DEFINITIONS: &[&str] = &[
    "module",
    "interface",
    "abstract",
    "local",
    "struct",
    "union",
    "enum",
    "typedef",
    "const",
    "exception",
    "valuetype",
    "custom",
    "native",
    "eventtype",
    "component",
    "home",
    "porttype",
    "connector",
    "attribute",
    "readonly",
    "oneway",
];

impl Parser<'_> {
    /// The contents of a scope up to its `}` or the end of the file; whatever is faulty is left
    /// out.
    pub(super) fn items(&mut self, items: &mut Vec<Item>, place: Place) {
        loop {
            self.take_events(items);
            if *self.peek() == TokenKind::End || self.peek().is("}") {
                return;
            }
            if self.accept(";") {
                continue; // harmless, and common after `}`
            }
            self.latest_name = None;
            match self.item(place) {
                Ok(Some(definition)) => items.push(Item::Definition(definition)),
                Ok(None) => {}
                Err(Failed) => {
                    items.extend(self.latest_name.take().map(Item::Broken));
                    self.recover();
                }
            }
        }
    }

    fn take_events(&mut self, items: &mut Vec<Item>) {
        while let Some((at, event)) = self.stream.events.get(self.event) {
            if *at > self.at {
                return;
            }
            items.push(Item::Event(event.clone()));
            self.event += 1;
        }
    }

    /// `{ … }` with items; the `}` must be there.
    pub(super) fn body(&mut self, place: Place) -> Parse<Vec<Item>> {
        let open = self.span();
        self.expect("{")?;
        let name = self.latest_name.clone();
        let items = self.nested(|this| {
            let mut items = Vec::new();
            this.items(&mut items, place);
            Ok(items)
        })?;
        self.latest_name = name;
        self.close_brace(open)?;
        Ok(items)
    }

    pub(super) fn close_brace(&mut self, open: Span) -> Parse<()> {
        if self.accept("}") {
            return Ok(());
        }
        let message = format!("expected `}}`, found {}", self.peek().describe());
        let report = Report::new(Code::Expected, self.span(), message);
        self.diagnostics.report(report.note("to close this `{`", open));
        Err(Failed)
    }

    /// Keeps the name of the definition that is being parsed.
    pub(super) fn definition_name(&mut self) -> Parse<Name> {
        let name = self.new_name()?;
        self.latest_name = Some(name.clone());
        Ok(name)
    }

    /// One definition with its `;`. `None` for what leaves nothing behind.
    fn item(&mut self, place: Place) -> Parse<Option<ParsedDefinition>> {
        let docs = self.docs();
        let annotations = self.annotations()?;
        if self.peek().is("}") || *self.peek() == TokenKind::End {
            self.misplaced(&annotations);
            return Ok(None);
        }
        if self.peek().is("@") {
            self.annotation_declaration()?;
            return Ok(None);
        }
        let kind = self.definition(place)?;
        self.semicolon()?;
        Ok(Some(ParsedDefinition { kind, docs, annotations }))
    }

    /// A word that is a keyword only here: followed by a name rather than by `::`.
    fn is_contextual(&self, word: &str) -> bool {
        let follows = matches!(self.peek_at(1), TokenKind::Word { .. } | TokenKind::Text(_));
        let takes_scoped_name = matches!(word, "import" | "typeid" | "typeprefix");
        self.is_word(word) && (follows || (takes_scoped_name && self.peek_at(1).is("::")))
    }

    fn definition(&mut self, place: Place) -> Parse<DefinitionSyntax> {
        let word = match self.peek() {
            TokenKind::Word { text, escaped: false } => text.clone(),
            _ => "".into(),
        };
        let is = |contextual: &str| self.is_contextual(contextual);
        match &*word {
            "typedef" => self.typedef(),
            "const" => self.constant(),
            "struct" => self.structure(),
            "union" => self.union(),
            "enum" => self.enumeration(),
            "exception" => self.exception(),
            "native" => self.native(),
            "typeid" if is("typeid") && !self.peek_at(2).is("(") => self.type_id(),
            "typeprefix" if is("typeprefix") && !self.peek_at(2).is("(") => self.type_prefix(),
            "import" if is("import") && !self.peek_at(2).is("(") => self.import(),
            "bitset" | "bitmask" if is(&word) && !self.peek_at(2).is("(") => {
                self.not_supported(&format!("`{word}`"))
            }
            _ => match place {
                Place::Module => self.module_definition(&word),
                Place::Interface => self.export(&word),
                Place::Value => self.value_element(&word),
                Place::Component => self.component_element(&word),
                Place::Home => self.home_element(&word),
                Place::Ports => self.port_element(&word),
            },
        }
    }

    /// What can stand only in modules and at file scope.
    fn module_definition(&mut self, word: &str) -> Parse<DefinitionSyntax> {
        match word {
            "module" => self.module(),
            "interface" | "local" => self.interface(),
            "abstract" if self.peek_at(1).is_word("interface") => self.interface(),
            "abstract" | "custom" | "valuetype" | "eventtype" => self.value(),
            "component" if self.is_contextual(word) => self.component(),
            "home" if self.is_contextual(word) => self.home(),
            "porttype" if self.is_contextual(word) => self.port_type(),
            "connector" if self.is_contextual(word) => self.connector(),
            "attribute" | "readonly" | "oneway" | "public" | "private" => self
                .expected("a definition", "this can stand only inside an interface or valuetype"),
            _ => {
                let hint = match spelling::closest(word, DEFINITIONS.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => {
                        "definitions begin with module, interface, struct, union, enum, typedef, \
                             const, exception, valuetype or native"
                            .to_owned()
                    }
                };
                self.expected("a definition", &hint)
            }
        }
    }

    /// Reports a construct outside the CORBA profile.
    pub(super) fn not_supported<T>(&mut self, what: &str) -> Parse<T> {
        let message = format!("{what} is not part of the CORBA profile of IDL");
        let report = Report::new(Code::NotSupported, self.span(), message);
        let hint = "it belongs to building blocks that CORBA has no encoding for";
        self.diagnostics.report(report.hint(hint));
        Err(Failed)
    }

    fn module(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        if self.peek().is("<") || self.peek().is("::") {
            return self.not_supported("a template module");
        }
        let items = self.body(Place::Module)?;
        Ok(DefinitionSyntax::Module { name, items })
    }

    fn typedef(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        // An annotation may stand between the word and the type.
        self.annotations()?;
        let ty = self.type_use()?;
        let declarators = self.declarators()?;
        Ok(DefinitionSyntax::Typedef { ty, declarators })
    }

    /// Names with array dimensions, separated by commas.
    pub(super) fn declarators(&mut self) -> Parse<Vec<Declarator>> {
        let mut all = vec![self.declarator()?];
        while self.accept(",") {
            all.push(self.declarator()?);
        }
        Ok(all)
    }

    pub(super) fn declarator(&mut self) -> Parse<Declarator> {
        let name = self.new_name()?;
        self.latest_name.get_or_insert_with(|| name.clone());
        let mut dims = Vec::new();
        loop {
            // Annotations may stand before a bound, and inside it; none of them changes it.
            self.annotations()?;
            if !self.accept("[") {
                break;
            }
            self.annotations()?;
            dims.push(self.expression()?);
            self.expect("]")?;
        }
        Ok(Declarator { name, dims })
    }

    fn constant(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let ty = self.constant_type()?;
        let name = self.definition_name()?;
        self.expect("=")?;
        let value = self.expression()?;
        Ok(DefinitionSyntax::Constant { ty, name, value })
    }

    fn native(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        Ok(DefinitionSyntax::Native { name })
    }

    fn type_id(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.scoped_name("the name of a definition")?;
        let (id, _) = self.plain_text("a repository id")?;
        Ok(DefinitionSyntax::TypeId { name, id: id.to_string() })
    }

    fn type_prefix(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.scoped_name("the name of a scope")?;
        let (prefix, _) = self.plain_text("a prefix")?;
        Ok(DefinitionSyntax::TypePrefix { name, prefix: prefix.to_string() })
    }

    /// `import A::B`, a scope that an included file must have; `import "…"`, which is refused.
    fn import(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        if let TokenKind::Text(text) = self.peek() {
            let message = format!("`import \"{text}\"` is not supported");
            let report = Report::new(Code::NotSupported, self.span(), message);
            self.diagnostics.report(report.hint("#include the file that has the definitions"));
            return Err(Failed);
        }
        Ok(DefinitionSyntax::Import(self.scoped_name("the name of a scope")?))
    }

    /// Annotations before something that keeps them itself.
    pub(super) fn documented(&mut self) -> Parse<(String, Vec<AnnotationUse>)> {
        Ok((self.docs(), self.annotations()?))
    }
}
