//! Macros: definition, expansion, `#` and `##`.
//!
//! Expansions are frames on an explicit stack; a macro is not expanded inside itself. All tokens of
//! an expansion carry the place where the outermost macro was used. What all expansions of a
//! compilation may produce is bounded by [`crate::Limits::macro_tokens`].

use std::cell::Cell;
use std::rc::Rc;

use super::Preprocessor;
use super::raw::{RawKind, RawToken, lex_all};
use crate::diagnostic::{Code, Report};
use crate::source::Span;

/// Deepest nesting of expansions and of macro calls inside arguments.
const STACK: usize = 1000;
const ARGUMENT_DEPTH: usize = 64;

/// A macro's definition.
#[derive(Debug)]
pub(super) struct Macro {
    name: Rc<str>,
    /// `None` for an object-like macro.
    parameters: Option<Vec<Rc<str>>>,
    variadic: bool,
    body: Vec<RawToken>,
    defined: Span,
    /// How many expansions of it are being read.
    active: Cell<u32>,
}

impl Macro {
    fn same(&self, other: &Macro) -> bool {
        let texts = |m: &Macro| m.body.iter().map(|t| t.text.clone()).collect::<Vec<_>>();
        self.parameters == other.parameters && texts(self) == texts(other)
    }
}

/// Tokens that replace a macro, being read.
#[derive(Debug)]
pub(super) struct Expansion {
    pub(super) tokens: std::vec::IntoIter<RawToken>,
    of: Option<Rc<Macro>>,
}

impl Expansion {
    fn new(tokens: Vec<RawToken>, of: Option<Rc<Macro>>) -> Self {
        if let Some(of) = &of {
            of.active.set(of.active.get() + 1);
        }
        Expansion { tokens: tokens.into_iter(), of }
    }

    /// Its tokens have been read; the macro may be expanded again.
    pub(super) fn leave(self) {
        if let Some(of) = self.of {
            of.active.set(of.active.get().saturating_sub(1));
        }
    }
}

/// What [`Preprocessor::raw`] gives when there is nothing more to read.
pub(super) fn list_end() -> RawToken {
    RawToken {
        kind: RawKind::FileEnd,
        text: "".into(),
        span: Span::default(),
        spaced: false,
        painted: false,
        unterminated: false,
    }
}

impl Preprocessor<'_> {
    /// Defines the built-in macros and those of the options.
    pub(super) fn predefine(&mut self) {
        let built_in = ("__CORBIE_IDL__".to_owned(), "1".to_owned());
        let all: Vec<_> = std::iter::once(built_in).chain(self.options.defines.clone()).collect();
        for (name, text) in all {
            let tokens = lex_all(&format!("{name} {text}"), Span::default());
            self.define(tokens, Span::default());
        }
        for name in &self.options.undefines {
            self.macros.remove(name.as_str());
        }
    }

    pub(super) fn is_defined(&self, name: &str) -> bool {
        self.macros.contains_key(name) || matches!(name, "__FILE__" | "__LINE__")
    }

    /// `#define`, after the word.
    pub(super) fn define(&mut self, tokens: Vec<RawToken>, directive: Span) {
        let Some(name) = tokens.first().filter(|t| t.kind == RawKind::Word).cloned() else {
            let span = tokens.first().map_or(directive, |t| t.span);
            let hint = "write `#define NAME text` or `#define NAME(parameter) text`";
            self.report(Code::DirectiveSyntax, span, "`#define` needs a name", hint);
            return;
        };
        if matches!(&*name.text, "defined" | "__FILE__" | "__LINE__") {
            let message = format!("`{}` cannot be defined", name.text);
            self.report(Code::DirectiveSyntax, name.span, message, "choose another name");
            return;
        }
        let mut rest = tokens;
        rest.remove(0);
        let mut parameters = None;
        let mut variadic = false;
        if rest.first().is_some_and(|t| t.is("(") && !t.spaced) {
            match parameter_list(&rest) {
                Some((names, open_ended, length)) => {
                    rest.drain(..length);
                    (parameters, variadic) = (Some(names), open_ended);
                }
                None => {
                    let hint = "write names separated by commas, then `)`";
                    let span = rest.first().map_or(directive, |t| t.span);
                    let message = "this is not a list of macro parameters";
                    self.report(Code::DirectiveSyntax, span, message, hint);
                    return;
                }
            }
        }
        let (text, defined) = (name.text.clone(), name.span);
        let made = Macro {
            name: name.text,
            parameters,
            variadic,
            body: rest,
            defined,
            active: Cell::new(0),
        };
        if let Some(old) = self.macros.get(&text).filter(|old| !old.same(&made)) {
            let message = format!("macro `{text}` is defined again, differently");
            let report = Report::new(Code::MacroRedefined, defined, message);
            let report = report.note("first defined here", old.defined);
            self.diagnostics.report(report.hint("`#undef` it first"));
        }
        self.macros.insert(text, Rc::new(made));
    }

    /// The next token after expansion of macros.
    pub(super) fn expanded(&mut self) -> RawToken {
        loop {
            let mut token = self.raw();
            if token.kind != RawKind::Word || token.painted {
                return token;
            }
            if let Some(built_in) = self.built_in(&token) {
                return built_in;
            }
            let Some(found) = self.macros.get(&token.text).cloned() else { return token };
            if found.active.get() > 0 {
                token.painted = true;
                return token;
            }
            let replacement = match &found.parameters {
                None => {
                    self.count(found.body.len(), token.span);
                    relocate(found.body.clone(), &token)
                }
                Some(parameters) => {
                    let next = self.raw();
                    if !next.is("(") {
                        if next.kind != RawKind::FileEnd {
                            self.pushed_back.push(next);
                        }
                        return token;
                    }
                    match self.arguments(&found, parameters.len(), &token) {
                        Some(arguments) => self.substitute(&found, parameters, &arguments, &token),
                        None => continue,
                    }
                }
            };
            if !self.within_limits(token.span) {
                token.painted = true;
                return token;
            }
            self.expansions.push(Expansion::new(replacement, Some(found)));
        }
    }

    /// Expands a list of tokens on its own, without reading on in the file.
    pub(super) fn expand_list(&mut self, tokens: Vec<RawToken>) -> Vec<RawToken> {
        let interesting = |t: &RawToken| t.kind == RawKind::Word && self.is_defined(&t.text);
        if !tokens.iter().any(interesting) || self.expansion_depth >= ARGUMENT_DEPTH {
            return tokens;
        }
        self.expansion_depth += 1;
        let pushed_back = std::mem::take(&mut self.pushed_back);
        let outer = std::mem::replace(&mut self.barrier, self.expansions.len() + 1);
        // The barrier lies above a frame that is never read, so that it is never 0 here.
        self.expansions.push(Expansion::new(Vec::new(), None));
        self.expansions.push(Expansion::new(tokens, None));
        let mut out = Vec::new();
        loop {
            let token = self.expanded();
            if token.kind == RawKind::FileEnd {
                break;
            }
            out.push(token);
        }
        self.expansions.truncate(self.barrier - 1);
        self.barrier = outer;
        self.pushed_back = pushed_back;
        self.expansion_depth -= 1;
        out
    }

    fn count(&mut self, tokens: usize, span: Span) {
        let most = self.options.limits.macro_tokens;
        let before = self.macro_tokens;
        self.macro_tokens = before.saturating_add(tokens + 1);
        if before <= most && self.macro_tokens > most {
            let message = format!("macros expand to more than {most} tokens");
            let hint = "macros are no longer expanded from here on";
            self.report(Code::MacroTooLarge, span, message, hint);
        }
    }

    /// Whether one more expansion may be opened.
    fn within_limits(&mut self, span: Span) -> bool {
        if self.expansions.len() >= STACK {
            let message = format!("macros expand into each other deeper than {STACK}");
            self.report(Code::MacroTooLarge, span, message, "does a macro contain itself?");
            return false;
        }
        self.macro_tokens <= self.options.limits.macro_tokens
    }

    fn built_in(&self, token: &RawToken) -> Option<RawToken> {
        let (kind, text) = match &*token.text {
            "__FILE__" => {
                let file = self.sources.position(token.span).file;
                (RawKind::Text, format!("\"{}\"", file.replace('\\', "/").replace('"', "")))
            }
            "__LINE__" => (RawKind::Number, self.sources.position(token.span).line.to_string()),
            _ => return None,
        };
        Some(RawToken { kind, text: text.into(), ..token.clone() })
    }

    /// Reads the arguments of a macro call, after the `(`.
    fn arguments(
        &mut self,
        of: &Rc<Macro>,
        wanted: usize,
        call: &RawToken,
    ) -> Option<Vec<Vec<RawToken>>> {
        let mut arguments = vec![Vec::new()];
        let mut open = 0usize;
        loop {
            let token = self.raw();
            self.count(0, call.span);
            let more = !of.variadic || arguments.len() < wanted;
            if token.kind == RawKind::FileEnd
                || self.macro_tokens > self.options.limits.macro_tokens
            {
                let message = format!("the call of macro `{}` has no `)`", of.name);
                let report = Report::new(Code::MacroArguments, call.span, message);
                let report = report.note("the macro is defined here", of.defined);
                self.diagnostics.report(report.hint("close the list of arguments"));
                return None;
            } else if token.is(")") && open == 0 {
                break;
            } else if token.is(",") && open == 0 && more {
                arguments.push(Vec::new());
                continue;
            } else if token.is("(") {
                open += 1;
            } else if token.is(")") {
                open -= 1;
            }
            if let Some(last) = arguments.last_mut() {
                last.push(token);
            }
        }
        if wanted == 0 && arguments.len() == 1 && arguments.iter().all(Vec::is_empty) {
            arguments.clear();
        }
        if of.variadic && arguments.len() + 1 == wanted {
            arguments.push(Vec::new());
        }
        if arguments.len() == wanted {
            return Some(arguments);
        }
        let message =
            format!("macro `{}` has {wanted} parameters, not {}", of.name, arguments.len());
        let report = Report::new(Code::MacroArguments, call.span, message);
        let report = report.note("the macro is defined here", of.defined);
        self.diagnostics.report(report.hint("arguments are separated by commas"));
        None
    }

    /// The body of a function-like macro with its arguments put in.
    fn substitute(
        &mut self,
        of: &Macro,
        parameters: &[Rc<str>],
        arguments: &[Vec<RawToken>],
        call: &RawToken,
    ) -> Vec<RawToken> {
        let mut expanded: Vec<Option<Vec<RawToken>>> = vec![None; arguments.len()];
        let argument_of =
            |t: &RawToken| parameters.iter().position(|p| t.kind == RawKind::Word && *p == t.text);
        let mut out: Vec<RawToken> = Vec::new();
        let mut at = 0;
        let mut paste = false;
        while let Some(token) = of.body.get(at) {
            at += 1;
            let pasted_next = of.body.get(at).is_some_and(|t| t.is("##"));
            let stringised = token.is("#").then(|| of.body.get(at).and_then(argument_of)).flatten();
            let piece = if token.is("##") && !out.is_empty() && !paste {
                paste = true;
                continue;
            } else if let Some(index) = stringised {
                at += 1;
                vec![stringise(&arguments[index], token)]
            } else if let Some(index) = argument_of(token) {
                if paste || pasted_next {
                    arguments[index].clone()
                } else {
                    if expanded[index].is_none() {
                        expanded[index] = Some(self.expand_list(arguments[index].clone()));
                    }
                    expanded[index].clone().unwrap_or_default()
                }
            } else {
                vec![token.clone()]
            };
            self.count(piece.len(), call.span);
            if self.macro_tokens > self.options.limits.macro_tokens {
                return Vec::new();
            }
            append(&mut out, piece, paste);
            paste = false;
        }
        relocate(out, call)
    }
}

/// Adds tokens; with `paste`, the first is joined to the last one there (`##`).
fn append(out: &mut Vec<RawToken>, mut piece: Vec<RawToken>, paste: bool) {
    if paste
        && !piece.is_empty()
        && let Some(left) = out.pop()
    {
        let right = piece.remove(0);
        out.extend(lex_all(&format!("{}{}", left.text, right.text), left.span));
    }
    out.append(&mut piece);
}

/// `#parameter`: the argument's text as a string literal.
fn stringise(argument: &[RawToken], hash: &RawToken) -> RawToken {
    let mut text = String::from("\"");
    for (index, token) in argument.iter().enumerate() {
        if index > 0 && token.spaced {
            text.push(' ');
        }
        match token.kind {
            RawKind::Text | RawKind::Character => {
                text.push_str(&token.text.replace('\\', "\\\\").replace('"', "\\\""));
            }
            _ => text.push_str(&token.text),
        }
    }
    text.push('"');
    RawToken { kind: RawKind::Text, text: text.into(), ..hash.clone() }
}

/// Puts replacement tokens where the macro was used.
fn relocate(mut tokens: Vec<RawToken>, call: &RawToken) -> Vec<RawToken> {
    for token in &mut tokens {
        token.span = call.span;
    }
    tokens
}

/// `(a, b, …)`: the names, whether it ends with `...`, and how many tokens it has.
fn parameter_list(tokens: &[RawToken]) -> Option<(Vec<Rc<str>>, bool, usize)> {
    let mut names: Vec<Rc<str>> = Vec::new();
    if tokens.get(1)?.is(")") {
        return Some((names, false, 2));
    }
    let mut at = 1;
    loop {
        let name = tokens.get(at)?;
        let open_ended = name.is("...");
        if open_ended {
            names.push("__VA_ARGS__".into());
        } else if name.kind == RawKind::Word && !names.contains(&name.text) {
            names.push(name.text.clone());
        } else {
            return None;
        }
        let separator = tokens.get(at + 1)?;
        at += 2;
        if separator.is(")") {
            return Some((names, open_ended, at));
        }
        if open_ended || !separator.is(",") {
            return None;
        }
    }
}
