//! IDL tokens, the preprocessor's output and the parser's input, with what lies between them.
//!
//! Events (pragmas, entering and leaving included files) and comments are kept beside the tokens,
//! each with the index of the token that follows. IDL 4.2 §7.2.

use std::ops::Range;
use std::rc::Rc;

use crate::source::{FileId, Span};

/// One token.
#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    /// An identifier or keyword; `escaped` when written with the leading underscore (removed here).
    Word {
        text: Rc<str>,
        escaped: bool,
    },
    /// Up to 2^64-1.
    Integer(u64),
    /// A floating point literal, without any suffix.
    Float(Rc<str>),
    /// A fixed point literal, without its `d`.
    Fixed(Rc<str>),
    Character(char),
    WideCharacter(char),
    Text(Rc<str>),
    WideText(Rc<str>),
    Punctuation(&'static str),
    /// A token that was reported as faulty; the parser must not complain about it again.
    Faulty,
    End,
}

impl TokenKind {
    pub(crate) fn is(&self, punctuation: &str) -> bool {
        matches!(self, TokenKind::Punctuation(p) if *p == punctuation)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self, TokenKind::Word { text, escaped: false } if &**text == word)
    }

    /// For "expected …, found …".
    pub(crate) fn describe(&self) -> String {
        match self {
            TokenKind::Word { text, escaped: false } => format!("`{text}`"),
            TokenKind::Word { text, escaped: true } => format!("`_{text}`"),
            TokenKind::Integer(value) => format!("number {value}"),
            TokenKind::Float(text) => format!("number {text}"),
            TokenKind::Fixed(text) => format!("number {text}d"),
            TokenKind::Character(_) | TokenKind::WideCharacter(_) => "a character literal".into(),
            TokenKind::Text(_) | TokenKind::WideText(_) => "a string literal".into(),
            TokenKind::Punctuation(text) => format!("`{text}`"),
            TokenKind::Faulty => "a faulty token".into(),
            TokenKind::End => "the end of the file".into(),
        }
    }
}

/// Something that happens between two tokens.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// The text of an included file begins.
    EnterFile,
    /// The text of an included file has ended.
    LeaveFile,
    /// `#pragma prefix "text"`
    Prefix { prefix: String, span: Span },
    /// `#pragma ID name "id"`
    Id { name: PragmaName, id: String, span: Span },
    /// `#pragma version name major.minor`
    Version { name: PragmaName, version: String, span: Span },
}

/// The scoped name in a pragma.
#[derive(Debug, Clone)]
pub(crate) struct PragmaName {
    /// Starts with `::`.
    pub(crate) absolute: bool,
    /// Identifiers, without escapes; at least one.
    pub(crate) parts: Vec<Rc<str>>,
    pub(crate) span: Span,
}

/// A preprocessed text.
#[derive(Debug, Default)]
pub(crate) struct TokenStream {
    /// Ends with exactly one [`TokenKind::End`].
    pub(crate) tokens: Vec<Token>,
    /// Sorted by index of the token that follows.
    pub(crate) events: Vec<(usize, Event)>,
    /// Sorted by index of the token that follows.
    pub(crate) docs: Vec<(usize, Vec<Span>)>,
    /// Which file the tokens are of, the file compiled first.
    pub(crate) stretches: Vec<Stretch>,
}

/// The text of one file: of the file compiled, or of one `#include`.
#[derive(Debug, Clone)]
pub(crate) struct Stretch {
    pub(crate) file: FileId,
    /// Its tokens, with those of files included in it.
    pub(crate) tokens: Range<usize>,
    /// Its events, with those of files included in it; what enters and leaves it is outside.
    pub(crate) events: Range<usize>,
}
