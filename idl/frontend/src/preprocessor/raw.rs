//! [`RawLexer`]: text to preprocessing tokens (words, numbers, literals, punctuation, line ends).
//!
//! Used by the preprocessor only; nothing is judged here but unterminated comments, because text
//! that `#if` skips may be anything. Joins continued lines (`\` before a line end) and sets
//! comments aside.

use std::rc::Rc;
use std::sync::Arc;

use crate::source::{FileId, Span};

/// What a preprocessing token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RawKind {
    /// Identifier or keyword.
    Word,
    /// Anything that starts like a number.
    Number,
    /// `"…"` or `L"…"`, quotes included.
    Text,
    /// `'…'` or `L'…'`, quotes included.
    Character,
    /// An operator or separator of IDL or of the preprocessor.
    Punctuation,
    /// A character that belongs to none of these.
    Other,
    /// End of a line.
    LineEnd,
    /// End of the file.
    FileEnd,
}

/// A preprocessing token.
#[derive(Debug, Clone)]
pub(crate) struct RawToken {
    pub(crate) kind: RawKind,
    pub(crate) text: Rc<str>,
    pub(crate) span: Span,
    /// White space or a comment stands before it.
    pub(crate) spaced: bool,
    /// A macro name that must never be expanded again (it stood inside its own expansion).
    pub(crate) painted: bool,
    /// The literal does not end on its line.
    pub(crate) unterminated: bool,
}

impl RawToken {
    pub(crate) fn is(&self, punctuation: &str) -> bool {
        self.kind == RawKind::Punctuation && &*self.text == punctuation
    }

    pub(crate) fn ends_line(&self) -> bool {
        matches!(self.kind, RawKind::LineEnd | RawKind::FileEnd)
    }
}

/// A comment that was passed over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comment {
    pub(crate) span: Span,
    /// `/*` without `*/`.
    pub(crate) unterminated: bool,
}

/// Longest first, so that the first match is the right one.
const PUNCTUATION: &[&str] = &[
    "...", "<<", ">>", "::", "##", "&&", "||", "==", "!=", "<=", ">=", "{", "}", "(", ")", "[",
    "]", "<", ">", ";", ":", ",", "=", "+", "-", "*", "/", "%", "~", "|", "^", "&", "@", "#", "!",
    "?", ".",
];

/// Reads one file. Invariant: `at <= text.len()` and `at` is on a character boundary.
#[derive(Debug)]
pub(crate) struct RawLexer {
    file: FileId,
    text: Arc<str>,
    at: usize,
    /// Comments passed since they were last taken.
    pub(crate) comments: Vec<Comment>,
}

impl RawLexer {
    pub(crate) fn new(file: FileId, text: Arc<str>) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        RawLexer { file, text, at, comments: Vec::new() }
    }

    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        Span { file: self.file, start: start as u32, end: end as u32 }
    }

    /// Offset of the next octet to read.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// Passes over continued line ends, then shows the next character.
    fn peek(&mut self) -> Option<char> {
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            match rest {
                [b'\\', b'\n', ..] => self.at += 2,
                [b'\\', b'\r', b'\n', ..] => self.at += 3,
                [] => return None,
                [first, ..] if first.is_ascii() => return Some(char::from(*first)),
                _ => return self.text[self.at..].chars().next(),
            }
        }
    }

    fn advance(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    fn rest_starts_with(&self, what: &str) -> bool {
        self.text[self.at..].starts_with(what)
    }

    /// Passes white space (but not line ends) and comments; whether there were any.
    fn skip_blank(&mut self) -> bool {
        let start = self.at;
        while let Some(c) = self.peek() {
            if c == '\n' {
                break;
            } else if c.is_whitespace() || c == '\u{1a}' {
                self.advance(c); // form feeds and DOS end-of-file marks are blanks too
            } else if self.rest_starts_with("//") {
                self.skip_line_comment();
            } else if self.rest_starts_with("/*") {
                self.skip_block_comment();
            } else {
                break;
            }
        }
        self.at > start
    }

    fn skip_line_comment(&mut self) {
        let start = self.at;
        while let Some(c) = self.peek() {
            if c == '\n' {
                break;
            }
            self.advance(c);
        }
        let end = start + self.text[start..self.at].trim_end().len();
        self.comments.push(Comment { span: self.span(start, end), unterminated: false });
    }

    fn skip_block_comment(&mut self) {
        let start = self.at;
        let (end, unterminated) = match self.text[start + 2..].find("*/") {
            Some(length) => (start + 2 + length + 2, false),
            None => (self.text.len(), true),
        };
        self.at = end;
        self.comments.push(Comment { span: self.span(start, end), unterminated });
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> RawToken {
        let spaced = self.skip_blank();
        let Some(c) = self.peek() else { return self.token(RawKind::FileEnd, self.at, spaced) };
        let start = self.at;
        let kind = match c {
            '\n' => {
                self.advance(c);
                RawKind::LineEnd
            }
            'L' if self.rest_starts_with("L\"") || self.rest_starts_with("L'") => {
                self.advance(c);
                return self.quoted(start, spaced);
            }
            '"' | '\'' => return self.quoted(start, spaced),
            '_' | 'a'..='z' | 'A'..='Z' => {
                self.take_while(is_word);
                RawKind::Word
            }
            '0'..='9' => self.number(),
            '.' if self.text.as_bytes().get(self.at + 1).is_some_and(u8::is_ascii_digit) => {
                self.number()
            }
            c if c.is_alphabetic() => {
                self.take_while(is_word);
                RawKind::Word
            }
            c => match PUNCTUATION.iter().find(|p| self.rest_starts_with(p)) {
                Some(found) => {
                    self.at += found.len();
                    RawKind::Punctuation
                }
                None => {
                    self.advance(c);
                    RawKind::Other
                }
            },
        };
        self.token(kind, start, spaced)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) {
        while let Some(c) = self.peek().filter(|c| wanted(*c)) {
            self.advance(c);
        }
    }

    /// A preprocessing number: digits, letters, points, and signs after an exponent's `e`.
    fn number(&mut self) -> RawKind {
        let start = self.at;
        while let Some(c) = self.peek() {
            let hexadecimal =
                self.text[start..].starts_with("0x") || self.text[start..].starts_with("0X");
            let after_e = !hexadecimal && self.text[start..self.at].ends_with(['e', 'E']);
            if is_word(c) || c == '.' || (after_e && (c == '+' || c == '-')) {
                self.advance(c);
            } else {
                break;
            }
        }
        RawKind::Number
    }

    /// A string or character literal, up to its closing quote or the end of the line.
    fn quoted(&mut self, start: usize, spaced: bool) -> RawToken {
        let quote = self.peek().unwrap_or('"');
        self.advance(quote);
        let mut terminated = false;
        while let Some(c) = self.peek().filter(|c| *c != '\n') {
            self.advance(c);
            if c == '\\' {
                if let Some(escaped) = self.peek().filter(|c| *c != '\n') {
                    self.advance(escaped);
                }
            } else if c == quote {
                terminated = true;
                break;
            }
        }
        let kind = if quote == '"' { RawKind::Text } else { RawKind::Character };
        let mut token = self.token(kind, start, spaced);
        token.unterminated = !terminated;
        token
    }

    fn token(&self, kind: RawKind, start: usize, spaced: bool) -> RawToken {
        let text = &self.text[start..self.at];
        let text = if text.contains("\\\n") || text.contains("\\\r\n") {
            text.replace("\\\r\n", "").replace("\\\n", "").into()
        } else {
            text.into()
        };
        let span = self.span(start, self.at);
        RawToken { kind, text, span, spaced, painted: false, unterminated: false }
    }

    /// The rest of the line as written (comments included), up to but without the line end.
    pub(crate) fn rest_of_line(&mut self) -> (String, Span) {
        while let Some(c) = self.peek().filter(|c| c.is_whitespace() && *c != '\n') {
            self.advance(c);
        }
        let start = self.at;
        let mut text = String::new();
        while let Some(c) = self.peek().filter(|c| *c != '\n') {
            self.advance(c);
            text.push(c);
        }
        let end = start + self.text[start..self.at].trim_end().len();
        text.truncate(text.trim_end().len());
        (text, self.span(start, end))
    }

    /// Passes the rest of the line, its end included; comments that go beyond the line are passed
    /// whole.
    pub(crate) fn skip_line(&mut self) {
        while let Some(c) = self.peek() {
            if c == '\n' {
                self.advance(c);
                return;
            }
            if self.rest_starts_with("/*") {
                self.skip_block_comment();
            } else if self.rest_starts_with("//") {
                self.skip_line_comment();
            } else if c == '"' || c == '\'' {
                self.quoted(self.at, false);
            } else {
                self.advance(c);
            }
        }
    }
}

/// Lexes a piece of text that is not a file: a `-D` macro, or two tokens pasted together.
pub(crate) fn lex_all(text: &str, span: Span) -> Vec<RawToken> {
    let mut lexer = RawLexer::new(span.file, text.into());
    let mut tokens = Vec::new();
    loop {
        let mut token = lexer.next();
        match token.kind {
            RawKind::FileEnd => return tokens,
            RawKind::LineEnd => {}
            _ => {
                token.span = span;
                tokens.push(token);
            }
        }
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric() || (!c.is_ascii() && c.is_alphanumeric())
}
