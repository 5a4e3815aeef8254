//! Types where they are used: basic types, templates, names, and types defined in place.
//!
//! `int8` … `uint64`, `TypeCode` and `AbstractBase` are read as names; the checker knows them.
//! IDL 4.2 §7.4.1.4.4, §7.4.13.

use super::{Parse, Parser};
use crate::diagnostic::{Code, Report};
use crate::model::Type;
use crate::syntax::{Definition, TypeKind, TypeUse};

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
            "boolean" => Type::Boolean,
            "octet" => Type::Octet,
            "char" => Type::Char,
            "wchar" => Type::WChar,
            "float" => Type::Float,
            "double" => Type::Double,
            "short" => Type::Short,
            "any" => Type::Any,
            "Object" => Type::Object,
            "ValueBase" => Type::ValueBase,
            "long" => return self.long_type(),
            "unsigned" => return self.unsigned_type(),
            "string" | "wstring" => return self.text_type(&word),
            "sequence" => return self.sequence_type(),
            "fixed" => return self.fixed_type(),
            "struct" | "union" | "enum" => return self.type_in_place(&word),
            "map" if self.peek_at(1).is("<") => return self.not_supported("`map`"),
            _ => return Ok(TypeKind::Named(self.scoped_name("a type")?)),
        };
        self.advance();
        Ok(TypeKind::Basic(basic))
    }

    fn long_type(&mut self) -> Parse<TypeKind> {
        self.advance();
        Ok(TypeKind::Basic(if self.accept_word("long") {
            Type::LongLong
        } else if self.accept_word("double") {
            Type::LongDouble
        } else {
            Type::Long
        }))
    }

    fn unsigned_type(&mut self) -> Parse<TypeKind> {
        self.advance();
        if self.accept_word("short") {
            return Ok(TypeKind::Basic(Type::UShort));
        }
        if !self.accept_word("long") {
            let hint = "unsigned types are unsigned short, unsigned long and unsigned long long";
            return self.expected("`short` or `long` after `unsigned`", hint);
        }
        let long_long = self.accept_word("long");
        Ok(TypeKind::Basic(if long_long { Type::ULongLong } else { Type::ULong }))
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
        let definition = Definition { kind: kind?, docs, annotations: Vec::new() };
        Ok(TypeKind::Defined(Box::new(definition)))
    }
}
