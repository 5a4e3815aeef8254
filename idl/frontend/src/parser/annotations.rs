//! Annotations: `@name`, `@name(value)`, `@name(parameter = value)`, and `@annotation`
//! declarations.
//!
//! Applied annotations are kept for the model; declarations are read and dropped, since every
//! annotation may be applied. IDL 4.2 §7.4.15.

use super::{Parse, Parser};
use crate::diagnostic::{Code, Report};
use crate::syntax::{AnnotationUse, Name};
use crate::token::TokenKind;

impl Parser<'_> {
    /// All annotations that stand here, perhaps none.
    pub(super) fn annotations(&mut self) -> Parse<Vec<AnnotationUse>> {
        let mut all = Vec::new();
        while self.peek().is("@") {
            if self.peek_at(1).is_word("annotation") && self.peek_at(3).is("{") {
                break;
            }
            all.push(self.annotation()?);
        }
        Ok(all)
    }

    fn annotation(&mut self) -> Parse<AnnotationUse> {
        let start = self.span();
        self.expect("@")?;
        // Names of annotations may be keywords: `@default`.
        let mut name = String::new();
        if self.accept("::") {
            name.push_str("::");
        }
        loop {
            let (text, _) = self.word("the name of an annotation")?;
            self.advance();
            name.push_str(&text);
            if !self.accept("::") {
                break;
            }
            name.push_str("::");
        }
        let span = start.to(self.previous_span());
        let mut arguments = Vec::new();
        if self.accept("(") && !self.accept(")") {
            loop {
                let named =
                    matches!(self.peek(), TokenKind::Word { .. }) && self.peek_at(1).is("=");
                let parameter = if named {
                    let (text, _) = self.word("a parameter")?;
                    let span = self.span();
                    self.advance();
                    self.advance();
                    Some(Name { text, span })
                } else {
                    None
                };
                arguments.push((parameter, self.expression()?));
                if !self.accept(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        Ok(AnnotationUse { name, arguments, span })
    }

    /// Annotations that nothing follows which they could apply to.
    pub(super) fn misplaced(&mut self, annotations: &[AnnotationUse]) {
        if let Some(first) = annotations.first() {
            let message = format!("annotation `@{}` applies to nothing", first.name);
            let report = Report::new(Code::AnnotationMisplaced, first.span, message);
            self.diagnostics.report(report.hint("put it before a definition, member or parameter"));
        }
    }

    /// `@annotation name { … };`, read and dropped.
    pub(super) fn annotation_declaration(&mut self) -> Parse<()> {
        self.advance(); // @
        self.advance(); // annotation
        self.word("the name of the annotation")?;
        self.advance();
        self.expect("{")?;
        let mut open = 1usize;
        while open > 0 {
            if *self.peek() == TokenKind::End {
                return self.expected("`}`", "the declaration of an annotation is open");
            }
            if self.peek().is("{") {
                open += 1;
            } else if self.peek().is("}") {
                open -= 1;
            }
            self.advance();
        }
        self.semicolon()
    }
}
