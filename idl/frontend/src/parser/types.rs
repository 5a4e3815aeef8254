//! Types where they are used: basic types, templates, names, and types defined in place.
//!
//! `int8` … `uint64`, `TypeCode` and `AbstractBase` are read as names; the checker knows them.
//! IDL 4.2 §7.4.1.4.4, §7.4.13.

use super::{Parse, Parser};
use crate::diagnostic::{Code, Report};
use crate::model::{Primitive, Type};
use crate::syntax::{ParsedDefinition, TypeKind, TypeUse};

impl Parser<'_> {
    /// A type that a member, parameter, element or typedef can have.
    pub(super) fn type_use(&mut self) -> Parse<TypeUse> {
        let start = self.span();
        let found = self.result_type()?;
        if matches!(found.kind, TypeKind::Basic(Type::Void)) {
            let report =
                Report::new(Code::VoidType, start, "`void` is only the result of an operation");
            self.diagnostics.report(report.hint("choose a type that has values"));
        }
        Ok(found)
    }

    /// The same, or `void`.
    pub(super) fn result_type(&mut self) -> Parse<TypeUse> {
        let start = self.span();
        let kind = self.nested(Self::type_kind)?;
        Ok(TypeUse { kind, span: start.to(self.previous_span()) })
    }

    /// The type of a constant: `fixed` stands without digits and scale.
    pub(super) fn constant_type(&mut self) -> Parse<TypeUse> {
        if self.is_word("fixed") && !self.peek_at(1).is("<") {
            let span = self.span();
            self.advance();
            return Ok(TypeUse { kind: TypeKind::FixedOpen, span });
        }
        self.type_use()
    }

    fn type_kind(&mut self) -> Parse<TypeKind> {
        let word = match self.peek() {
            crate::token::TokenKind::Word { text, escaped: false } => text.clone(),
            _ => "".into(),
        };
        let basic = match &*word {
            "void" => Type::Void,
            "any" => Type::Any,
            "Object" => Type::Object,
            "ValueBase" => Type::ValueBase,
            "string" | "wstring" => return self.text_type(&word),
            "sequence" => return self.sequence_type(),
            "fixed" => return self.fixed_type(),
            "struct" | "union" | "enum" => return self.type_in_place(&word),
            "map" if self.peek_at(1).is("<") => return self.not_supported("`map`"),
            first if begins_primitive(first) => return self.primitive_type(first),
            _ => return Ok(TypeKind::Named(self.scoped_name("a type")?)),
        };
        self.advance();
        Ok(TypeKind::Basic(basic))
    }

    /// The longest row of words in the table of primitive types.
    fn primitive_type(&mut self, first: &str) -> Parse<TypeKind> {
        self.advance();
        let mut text = first.to_owned();
        while let Some(word) = words_after(&text).into_iter().find(|word| self.accept_word(word)) {
            text = format!("{text} {word}");
        }
        if let Some((ty, _)) = keyword_types().find(|(_, row)| row.idl == text) {
            return Ok(TypeKind::Basic(ty.clone()));
        }
        let words: Vec<_> = words_after(&text).iter().map(|word| format!("`{word}`")).collect();
        let types = keyword_types().map(|(_, row)| row.idl);
        let mut types: Vec<_> = types.filter(|idl| idl.starts_with(&text)).collect();
        let last = types.pop().unwrap_or_default();
        let hint = format!("{text} types are {} and {last}", types.join(", "));
        self.expected(&format!("{} after `{text}`", words.join(" or ")), &hint)
    }

    fn text_type(&mut self, word: &str) -> Parse<TypeKind> {
        self.advance();
        let wide = word == "wstring";
        if !self.accept("<") {
            return Ok(TypeKind::Basic(match wide {
                true => Type::WString { bound: None },
                false => Type::String { bound: None },
            }));
        }
        let bound = self.bound_expression()?;
        self.close_angle()?;
        Ok(TypeKind::Text { wide, bound })
    }

    fn sequence_type(&mut self) -> Parse<TypeKind> {
        self.advance();
        self.expect("<")?;
        self.annotations()?;
        let element = Box::new(self.type_use()?);
        let bound = if self.accept(",") { Some(self.bound_expression()?) } else { None };
        self.close_angle()?;
        Ok(TypeKind::Sequence { element, bound })
    }

    fn fixed_type(&mut self) -> Parse<TypeKind> {
        self.advance();
        self.expect("<")?;
        let digits = self.bound_expression()?;
        self.expect(",")?;
        let scale = self.bound_expression()?;
        self.close_angle()?;
        Ok(TypeKind::Fixed { digits, scale })
    }

    /// A struct, union or enum defined where it is used.
    fn type_in_place(&mut self, word: &str) -> Parse<TypeKind> {
        let docs = self.docs();
        let outer = self.latest_name.take();
        let kind = match word {
            "struct" => self.structure(),
            "union" => self.union(),
            _ => self.enumeration(),
        };
        self.latest_name = outer;
        let definition = ParsedDefinition { kind: kind?, docs, annotations: Vec::new() };
        Ok(TypeKind::Defined(Box::new(definition)))
    }
}

/// The primitive types whose words are keywords; the others are read as names.
fn keyword_types() -> impl Iterator<Item = &'static (Type, &'static Primitive)> {
    Type::PRIMITIVES.iter().filter(|(_, row)| !row.is_alias)
}

/// Whether the text of a primitive type begins with this word.
fn begins_primitive(word: &str) -> bool {
    keyword_types().any(|(_, row)| row.idl.split(' ').next() == Some(word))
}

/// The words that can follow these in the text of a primitive type, each once.
fn words_after(text: &str) -> Vec<&'static str> {
    let mut words = Vec::new();
    for (_, row) in keyword_types() {
        let rest = row.idl.strip_prefix(text).and_then(|rest| rest.strip_prefix(' '));
        let next = rest.and_then(|rest| rest.split(' ').next());
        words.extend(next.filter(|next| !words.contains(next)));
    }
    words
}
