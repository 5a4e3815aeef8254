//! `#pragma`: `prefix`, `ID`, `version` and `once`; all others are left to other tools.
//!
//! Read here, applied by the checker, which knows scopes. CORBA 3.3 P1 §14.7.5.

use super::Preprocessor;
use super::raw::{RawKind, RawToken};
use crate::diagnostic::Code;
use crate::source::Span;
use crate::token::{Event, PragmaName, TokenKind};

impl Preprocessor<'_> {
    /// `#pragma`, after the word.
    pub(super) fn pragma(&mut self, span: Span) {
        let Some(file) = self.files.last_mut() else { return };
        let kind = file.lexer.next();
        let known = matches!(&*kind.text, "prefix" | "ID" | "version" | "once");
        if kind.ends_line() || !known {
            if !kind.ends_line() {
                file.lexer.skip_line();
            }
            file.at_line_start = true;
            return; // CORBA 3.3 P1 §14.7.5: pragmas that are not understood are ignored
        }
        let span = span.to(kind.span);
        let tokens = self.line_tokens();
        let done = match &*kind.text {
            "prefix" => self.pragma_prefix(&tokens, span),
            "ID" => self.pragma_id(&tokens, span),
            "version" => self.pragma_version(&tokens, span),
            _ => {
                self.once.insert(span.file);
                Some(())
            }
        };
        if done.is_none() {
            let hint = "the forms are `prefix \"text\"`, `ID name \"IDL:…:1.0\"` and \
                        `version name 1.0`";
            let message = format!("this `#pragma {}` is not complete", kind.text);
            self.report(Code::PragmaSyntax, span, message, hint);
        }
    }

    fn pragma_prefix(&mut self, tokens: &[RawToken], span: Span) -> Option<()> {
        let prefix = self.string(tokens.first()?)?;
        let span = span.to(tokens.first()?.span);
        self.event(Event::Prefix { prefix, span });
        Some(())
    }

    fn pragma_id(&mut self, tokens: &[RawToken], span: Span) -> Option<()> {
        let (name, rest) = scoped_name(tokens)?;
        let id = self.string(rest.first()?)?;
        self.event(Event::Id { name, id, span: span.to(rest.first()?.span) });
        Some(())
    }

    fn pragma_version(&mut self, tokens: &[RawToken], span: Span) -> Option<()> {
        let (name, rest) = scoped_name(tokens)?;
        let number = rest.first().filter(|t| t.kind == RawKind::Number)?;
        let (major, minor) = number.text.split_once('.')?;
        major.parse::<u16>().ok()?;
        minor.parse::<u16>().ok()?;
        let version = number.text.to_string();
        self.event(Event::Version { name, version, span: span.to(number.span) });
        Some(())
    }

    fn string(&mut self, token: &RawToken) -> Option<String> {
        if token.kind != RawKind::Text {
            return None;
        }
        match self.convert(token) {
            TokenKind::Text(text) => Some(text.to_string()),
            _ => None,
        }
    }
}

/// `A::B`, `::A::B`; and what follows it.
fn scoped_name(tokens: &[RawToken]) -> Option<(PragmaName, &[RawToken])> {
    let absolute = tokens.first()?.is("::");
    let mut rest = &tokens[usize::from(absolute)..];
    let mut parts = Vec::new();
    let start = tokens.first()?.span;
    loop {
        let (word, after) = rest.split_first()?;
        if word.kind != RawKind::Word {
            return None;
        }
        parts.push(word.text.strip_prefix('_').map_or_else(|| word.text.clone(), Into::into));
        rest = after;
        match rest.split_first() {
            Some((separator, after)) if separator.is("::") => rest = after,
            _ => return Some((PragmaName { absolute, parts, span: start.to(word.span) }, rest)),
        }
    }
}
