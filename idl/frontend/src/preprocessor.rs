//! The preprocessor: files and macros in, IDL tokens out.
//!
//! [`run`] is called once by [`crate::compile`]. Files, conditionals and expansions are explicit
//! stacks, so no input exhausts the call stack; every loop is bounded by [`crate::Limits`].
//! IDL 4.2 §7.3 (preprocessing as in C++), CORBA 3.3 P1 §14.7.5 (pragmas).

mod comments;
mod condition;
mod directive;
mod expand;
mod include;
mod literal;
mod pragma;
mod raw;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::diagnostic::{Code, Diagnostics, Report};
use crate::options::Options;
use crate::source::{FileId, SourceLoader, SourceMap, Span};
use crate::token::{Event, Token, TokenKind, TokenStream};
use expand::{Expansion, Macro};
use raw::{Comment, RawKind, RawLexer, RawToken};

/// One `#if` … `#endif` that is open.
#[derive(Debug)]
struct Conditional {
    opened: Span,
    state: Group,
    seen_else: bool,
}

/// What happens to the lines of the current group of a conditional.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Group {
    /// Read.
    Active,
    /// Skipped; a later `#elif` or `#else` may be read.
    Waiting,
    /// Skipped, and so are all later groups.
    Finished,
}

/// A file that is being read.
#[derive(Debug)]
struct OpenFile {
    lexer: RawLexer,
    name: Rc<str>,
    conditionals: Vec<Conditional>,
    at_line_start: bool,
}

impl OpenFile {
    fn skipping(&self) -> bool {
        self.conditionals.last().is_some_and(|c| c.state != Group::Active)
    }
}

pub(crate) struct Preprocessor<'a> {
    loader: &'a dyn SourceLoader,
    options: &'a Options,
    sources: &'a mut SourceMap,
    diagnostics: &'a mut Diagnostics,
    files: Vec<OpenFile>,
    expansions: Vec<Expansion>,
    /// Expansions below this index belong to outer work and are not read.
    barrier: usize,
    expansion_depth: usize,
    pushed_back: Vec<RawToken>,
    macros: HashMap<Rc<str>, Rc<Macro>>,
    known: HashMap<String, FileId>,
    once: HashSet<FileId>,
    /// Stretches of the files that are open, by their index.
    open_stretches: Vec<usize>,
    total_octets: usize,
    macro_tokens: usize,
    comments: Vec<Comment>,
    out: TokenStream,
}

/// Preprocesses the file at `path`. The files read are added to `sources`, unless an earlier run
/// has done so.
pub(crate) fn run(
    path: &str,
    loader: &dyn SourceLoader,
    options: &Options,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> TokenStream {
    let mut preprocessor = Preprocessor {
        loader,
        options,
        sources,
        diagnostics,
        files: Vec::new(),
        expansions: Vec::new(),
        barrier: 0,
        expansion_depth: 0,
        pushed_back: Vec::new(),
        macros: HashMap::new(),
        known: HashMap::new(),
        once: HashSet::new(),
        open_stretches: Vec::new(),
        total_octets: 0,
        macro_tokens: 0,
        comments: Vec::new(),
        out: TokenStream::default(),
    };
    preprocessor.know_sources();
    preprocessor.open_main(path);
    preprocessor.predefine();
    preprocessor.run();
    while !preprocessor.open_stretches.is_empty() {
        preprocessor.end_stretch();
    }
    preprocessor.out
}

impl Preprocessor<'_> {
    fn report(&mut self, code: Code, span: Span, message: impl Into<String>, hint: &str) {
        self.diagnostics.report(Report::new(code, span, message).hint(hint));
    }

    fn run(&mut self) {
        loop {
            let raw = self.expanded();
            let span = raw.span;
            if raw.kind == RawKind::FileEnd {
                self.out.tokens.push(Token { kind: TokenKind::End, span });
                return;
            }
            if self.out.tokens.len() >= self.options.limits.tokens {
                let message = format!("more than {} tokens", self.options.limits.tokens);
                self.report(
                    Code::TooMuchInput,
                    span,
                    message,
                    "split the input into several files",
                );
                self.out.tokens.push(Token { kind: TokenKind::End, span });
                return;
            }
            self.keep_comments(span);
            let kind = self.convert(&raw);
            self.out.tokens.push(Token { kind, span });
        }
    }

    /// The next token, from the innermost expansion or else from the files. `FileEnd` at the very
    /// end, or at the end of the tokens that [`Self::expand_list`] was given.
    fn raw(&mut self) -> RawToken {
        if let Some(token) = self.pushed_back.pop() {
            return token;
        }
        while self.expansions.len() > self.barrier {
            let Some(top) = self.expansions.last_mut() else { break };
            if let Some(token) = top.tokens.next() {
                return token;
            }
            if let Some(done) = self.expansions.pop() {
                done.leave();
            }
        }
        if self.barrier > 0 { expand::list_end() } else { self.raw_from_files() }
    }

    /// The next token of the files that is not a directive's, nor skipped by a conditional.
    fn raw_from_files(&mut self) -> RawToken {
        loop {
            if self.files.last().is_some_and(OpenFile::skipping) {
                self.skip_group();
            }
            let Some(file) = self.files.last_mut() else { return expand::list_end() };
            let token = file.lexer.next();
            let at_line_start = std::mem::replace(&mut file.at_line_start, false);
            let passed = std::mem::take(&mut file.lexer.comments);
            self.pass_comments(passed);
            match token.kind {
                RawKind::LineEnd => self.start_line(),
                RawKind::FileEnd => {
                    self.close_file();
                    if self.files.is_empty() {
                        return token;
                    }
                }
                RawKind::Punctuation if at_line_start && token.is("#") => {
                    self.comments.clear();
                    self.directive(token.span);
                }
                _ => return token,
            }
        }
    }

    fn start_line(&mut self) {
        if let Some(file) = self.files.last_mut() {
            file.at_line_start = true;
        }
    }

    /// Ends the innermost file, complaining of conditionals left open in it.
    fn close_file(&mut self) {
        let Some(file) = self.files.pop() else { return };
        self.end_stretch();
        for open in file.conditionals {
            let message = "this conditional is never closed";
            self.report(Code::UnterminatedConditional, open.opened, message, "add `#endif`");
        }
        self.comments.clear();
        if !self.files.is_empty() {
            self.event(Event::LeaveFile);
        }
    }

    fn event(&mut self, event: Event) {
        self.out.events.push((self.out.tokens.len(), event));
    }

    /// The tokens up to the end of the current line of the current file.
    fn line_tokens(&mut self) -> Vec<RawToken> {
        let mut tokens = Vec::new();
        let Some(file) = self.files.last_mut() else { return tokens };
        loop {
            let token = file.lexer.next();
            if token.ends_line() {
                break;
            }
            tokens.push(token);
        }
        file.at_line_start = true;
        let passed = std::mem::take(&mut file.lexer.comments);
        self.pass_comments(passed);
        self.comments.clear();
        tokens
    }
}
