//! The parser: tokens in, syntax tree out, by recursive descent.
//!
//! [`parse`] is called once by [`crate::compile`]. A fault is reported where it is seen; parsing
//! goes on after the next `;` or `}` that closes the same scope. Nesting is bounded by
//! [`crate::Limits::nesting`]. IDL 4.2 §7.4.

mod annotations;
mod components;
mod constructed;
mod definitions;
mod documentation;
mod expressions;
mod interfaces;
mod types;
mod values;

use std::rc::Rc;

use crate::diagnostic::{Code, Diagnostics, Report};
use crate::keywords::{Standing, standing};
use crate::options::Limits;
use crate::source::{SourceMap, Span};
use crate::syntax::{Item, Name, ScopedName};
use crate::token::{Token, TokenKind, TokenStream};

/// The construct could not be parsed; it has been reported.
#[derive(Debug)]
struct Failed;

type Parse<T> = Result<T, Failed>;

struct Parser<'a> {
    stream: TokenStream,
    /// Index of the next token; never beyond the last, which is `End`.
    at: usize,
    /// Index of the next event.
    event: usize,
    depth: usize,
    limits: &'a Limits,
    sources: &'a SourceMap,
    diagnostics: &'a mut Diagnostics,
    /// Name of the definition being parsed, kept when it fails.
    latest_name: Option<Name>,
}

/// Parses a whole preprocessed text.
pub(crate) fn parse(
    stream: TokenStream,
    limits: &Limits,
    sources: &SourceMap,
    diagnostics: &mut Diagnostics,
) -> Vec<Item> {
    let mut parser = Parser {
        stream,
        at: 0,
        event: 0,
        depth: 0,
        limits,
        sources,
        diagnostics,
        latest_name: None,
    };
    let mut items = Vec::new();
    loop {
        parser.items(&mut items, definitions::Place::Module);
        if parser.peek() == &TokenKind::End {
            return items;
        }
        // A `}` too many.
        let span = parser.span();
        let report = Report::new(Code::Expected, span, "this `}` closes nothing");
        parser.diagnostics.report(report.hint("remove it, or add the `{` that it was meant for"));
        parser.advance();
        parser.accept(";");
    }
}

impl Parser<'_> {
    fn token(&self, ahead: usize) -> &Token {
        let last = self.stream.tokens.len() - 1;
        &self.stream.tokens[(self.at + ahead).min(last)]
    }

    fn peek(&self) -> &TokenKind {
        &self.token(0).kind
    }

    fn peek_at(&self, ahead: usize) -> &TokenKind {
        &self.token(ahead).kind
    }

    fn span(&self) -> Span {
        self.token(0).span
    }

    /// The place of the token before this one.
    fn previous_span(&self) -> Span {
        self.stream.tokens[self.at.saturating_sub(1)].span
    }

    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.stream.tokens.len() - 1);
    }

    fn accept(&mut self, punctuation: &str) -> bool {
        let found = self.peek().is(punctuation);
        if found {
            self.advance();
        }
        found
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek().is_word(word)
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Reports that something else was expected, unless the token was reported already.
    fn expected<T>(&mut self, what: &str, hint: &str) -> Parse<T> {
        let found = self.peek();
        if *found != TokenKind::Faulty {
            let message = format!("expected {what}, found {}", found.describe());
            let report = Report::new(Code::Expected, self.span(), message);
            self.diagnostics.report(report.hint(hint));
        }
        Err(Failed)
    }

    fn expect(&mut self, punctuation: &str) -> Parse<()> {
        if self.accept(punctuation) {
            return Ok(());
        }
        self.expected(&format!("`{punctuation}`"), "")
    }

    /// The `;` after a definition. A missing one is reported at the end of what came before it.
    fn semicolon(&mut self) -> Parse<()> {
        if self.accept(";") {
            return Ok(());
        }
        if *self.peek() == TokenKind::Faulty {
            return Err(Failed);
        }
        let before = self.previous_span();
        let place = Span { start: before.end.saturating_sub(1).max(before.start), ..before };
        let message = format!("expected `;` after this, found {}", self.peek().describe());
        let report = Report::new(Code::Expected, place, message).hint("add `;`");
        self.diagnostics.report(report);
        // What begins a new line is most likely a new definition: read it.
        let line = |span: Span| self.sources.position(span).line;
        if before.file != self.span().file || line(before) != line(self.span()) {
            return Ok(());
        }
        Err(Failed)
    }

    /// A `>` that closes a type; `>>` counts as two.
    fn close_angle(&mut self) -> Parse<()> {
        if self.peek().is(">>") {
            let token = &mut self.stream.tokens[self.at];
            token.kind = TokenKind::Punctuation(">");
            token.span.start = (token.span.start + 1).min(token.span.end);
            return Ok(());
        }
        self.expect(">")
    }

    /// Runs `parse` one level deeper; fails beyond the limit.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= self.limits.nesting {
            let message = format!("this nests deeper than {} levels", self.limits.nesting);
            let report = Report::new(Code::NestingTooDeep, self.span(), message);
            self.diagnostics.report(report.hint("name inner types with typedef"));
            return Err(Failed);
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// An identifier that introduces a name.
    fn new_name(&mut self) -> Parse<Name> {
        let span = self.span();
        let (text, escaped) = self.word("a name")?;
        if !escaped {
            self.judge_new_name(&text, span)?;
        }
        self.advance();
        Ok(Name { text, span })
    }

    fn judge_new_name(&mut self, text: &Rc<str>, span: Span) -> Parse<()> {
        let report = match standing(text) {
            Standing::Free => return Ok(()),
            Standing::Newer => {
                let message = format!("`{text}` is a keyword in newer versions of IDL");
                let report = Report::new(Code::NewKeyword, span, message);
                report.hint(format!("write `_{text}` to be understood everywhere"))
            }
            Standing::Resembles(keyword) => {
                let message = format!("`{text}` differs from the keyword `{keyword}` only in case");
                let report = Report::new(Code::NewKeyword, span, message);
                report.hint(format!("other compilers refuse it: write `_{text}`"))
            }
            Standing::Collides(keyword) => {
                let message = format!("`{text}` differs from the keyword `{keyword}` only in case");
                let report = Report::new(Code::KeywordCase, span, message);
                report.hint(format!("choose another name, or escape it: `_{text}`"))
            }
            Standing::Reserved => {
                let message = format!("`{text}` is a keyword, but a name must stand here");
                let report = Report::new(Code::ReservedWord, span, message);
                self.diagnostics
                    .report(report.hint(format!("choose another name, or escape it: `_{text}`")));
                return Err(Failed);
            }
        };
        self.diagnostics.report(report);
        Ok(())
    }

    fn word(&mut self, what: &str) -> Parse<(Rc<str>, bool)> {
        match self.peek() {
            TokenKind::Word { text, escaped } => Ok((text.clone(), *escaped)),
            _ => self.expected(what, ""),
        }
    }

    /// `A::B` or `::A::B`.
    fn scoped_name(&mut self, what: &str) -> Parse<ScopedName> {
        let start = self.span();
        let absolute = self.accept("::");
        let mut parts = Vec::new();
        loop {
            let span = self.span();
            let (text, escaped) = self.word(what)?;
            // CORBA::Object and CORBA::ValueBase are written with keywords.
            let inner = !parts.is_empty() && matches!(&*text, "Object" | "ValueBase");
            if !escaped && !inner && standing(&text) == Standing::Reserved {
                return self.expected(what, "escape names that are keywords with `_`");
            }
            self.advance();
            parts.push(Name { text, span });
            if !self.accept("::") {
                return Ok(ScopedName { absolute, parts, span: start.to(self.previous_span()) });
            }
        }
    }

    /// One or more scoped names separated by commas.
    fn scoped_names(&mut self, what: &str) -> Parse<Vec<ScopedName>> {
        let mut names = vec![self.scoped_name(what)?];
        while self.accept(",") {
            names.push(self.scoped_name(what)?);
        }
        Ok(names)
    }

    /// Skips to behind the next `;` of this level, or to the `}` that closes this level.
    fn recover(&mut self) {
        let mut open = 0usize;
        loop {
            let kind = self.peek();
            if *kind == TokenKind::End {
                return;
            } else if kind.is("{") {
                open += 1;
            } else if kind.is("}") {
                if open == 0 {
                    return;
                }
                open -= 1;
                if open == 0 {
                    self.advance();
                    self.accept(";");
                    return;
                }
            } else if kind.is(";") && open == 0 {
                self.advance();
                return;
            }
            self.advance();
        }
    }
}
