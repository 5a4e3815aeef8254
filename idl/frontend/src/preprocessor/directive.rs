//! The directives: conditionals, `#define`, `#undef`, `#line`, `#error`, `#warning`.
//!
//! Called when a line starts with `#`. `#include` and `#pragma` have their own modules.

use super::raw::{RawKind, RawToken};
use super::{Conditional, Group, OpenFile, Preprocessor};
use crate::diagnostic::{Code, Report};
use crate::source::Span;
use crate::token::Event;

/// For the hint of an unknown directive.
const KNOWN: &str = "there are #include, #define, #undef, #if, #ifdef, #ifndef, #elif, #else, \
                     #endif, #error, #warning, #line and #pragma";

impl Preprocessor<'_> {
    /// Handles one directive; `hash` is its `#`. Leaves the file at the start of the next line.
    pub(super) fn directive(&mut self, hash: Span) {
        let Some(file) = self.files.last_mut() else { return };
        let word = file.lexer.next();
        let span = hash.to(word.span);
        if word.ends_line() {
            file.at_line_start = true; // a lone `#` does nothing
            return;
        }
        match (&*word.text, word.kind) {
            ("if" | "ifdef" | "ifndef", _) => self.open_conditional(&word.text, span),
            ("elif" | "else" | "endif", _) => self.continue_conditional(&word.text, span),
            ("include", _) => self.include(span),
            ("define", _) => {
                let tokens = self.line_tokens();
                self.define(tokens, span);
            }
            ("undef", _) => {
                let tokens = self.line_tokens();
                match self.only_name(&tokens, span) {
                    Some(name) => drop(self.macros.remove(&name.text)),
                    None => self.name_missing("undef", span),
                }
            }
            ("pragma", _) => self.pragma(span),
            ("error" | "warning", _) => self.user_message(&word.text, span),
            ("line", _) => {
                let tokens = self.line_tokens();
                let tokens = self.expand_list(tokens);
                self.line(&tokens, span);
            }
            (_, RawKind::Number) => {
                let mut tokens = vec![word];
                tokens.extend(self.line_tokens());
                self.line(&tokens, span);
            }
            ("ident" | "sccs", _) => drop(self.line_tokens()),
            (unknown, _) => {
                let message = format!("`#{unknown}` is not a directive");
                self.report(Code::UnknownDirective, span, message, KNOWN);
                self.line_tokens();
            }
        }
    }

    fn name_missing(&mut self, directive: &str, span: Span) {
        let message = format!("`#{directive}` needs the name of a macro");
        self.report(Code::DirectiveSyntax, span, message, "write a name after it");
    }

    /// The macro name that `#ifdef`, `#ifndef` and `#undef` want; complains of more than that.
    fn only_name(&mut self, tokens: &[RawToken], span: Span) -> Option<RawToken> {
        let name = tokens.first().filter(|t| t.kind == RawKind::Word)?.clone();
        if let Some(extra) = tokens.get(1) {
            let message = format!("`{}` has no meaning here", extra.text);
            let report = Report::new(Code::DirectiveSyntax, extra.span, message);
            let report = report.note("in this directive", span);
            self.diagnostics.report(report.hint("put it on the next line, or after `//`"));
        }
        Some(name)
    }

    fn user_message(&mut self, word: &str, span: Span) {
        let Some(file) = self.files.last_mut() else { return };
        let (text, place) = file.lexer.rest_of_line();
        file.lexer.skip_line();
        file.at_line_start = true;
        let code = if word == "error" { Code::UserError } else { Code::UserWarning };
        self.report(code, span.to(place), format!("#{word} {text}"), "");
    }

    /// `#line number "file"`, or `# number "file" flags` as a C preprocessor writes it.
    fn line(&mut self, tokens: &[RawToken], span: Span) {
        let number = tokens.first().filter(|t| t.kind == RawKind::Number);
        let number = number.and_then(|t| t.text.parse::<u32>().ok());
        let name = match tokens.get(1) {
            None => Some(None),
            Some(t) if t.kind == RawKind::Text && !t.unterminated => {
                Some(Some(t.text.trim_matches('"').to_owned()))
            }
            Some(_) => None,
        };
        let (Some(number), Some(name)) = (number, name) else {
            let hint = "write `#line number` or `#line number \"file\"`";
            self.report(Code::DirectiveSyntax, span, "this is not a line number", hint);
            return;
        };
        let Some(file) = self.files.last() else { return };
        let next_line = file.lexer.offset() as u32;
        if let Some(source) = self.sources.file_mut(span.file) {
            source.renumber(next_line, number, name.as_deref());
        }
        match tokens.get(2).map(|t| &*t.text) {
            Some("1") => self.event(Event::EnterFile),
            Some("2") => self.event(Event::LeaveFile),
            _ => {}
        }
    }

    fn push_conditional(&mut self, opened: Span, state: Group) {
        if let Some(file) = self.files.last_mut() {
            file.conditionals.push(Conditional { opened, state, seen_else: false });
        }
    }

    /// `#if`, `#ifdef`, `#ifndef`.
    fn open_conditional(&mut self, word: &str, span: Span) {
        let tokens = self.line_tokens();
        let holds = if word == "if" {
            self.condition(tokens, span)
        } else if let Some(name) = self.only_name(&tokens, span) {
            self.is_defined(&name.text) == (word == "ifdef")
        } else {
            self.name_missing(word, span);
            false
        };
        self.push_conditional(span, if holds { Group::Active } else { Group::Waiting });
    }

    /// `#elif`, `#else`, `#endif`, met in a group that is read or skipped.
    fn continue_conditional(&mut self, word: &str, span: Span) {
        let tokens = self.line_tokens();
        let current = self.files.last().and_then(|f| f.conditionals.last());
        let Some((state, seen_else, opened)) = current.map(|c| (c.state, c.seen_else, c.opened))
        else {
            let message = format!("`#{word}` without `#if`");
            self.report(Code::UnbalancedConditional, span, message, "remove it, or add the `#if`");
            return;
        };
        if word == "endif" {
            if let Some(file) = self.files.last_mut() {
                file.conditionals.pop();
            }
            return;
        }
        if seen_else {
            let report = Report::new(
                Code::UnbalancedConditional,
                span,
                format!("`#{word}` after the `#else` of the same conditional"),
            );
            let report = report.note("the conditional begins here", opened);
            self.diagnostics.report(report.hint("is an `#endif` missing before it?"));
        }
        let next = match state {
            Group::Active | Group::Finished => Group::Finished,
            Group::Waiting if seen_else => Group::Finished,
            Group::Waiting if word == "else" || self.condition(tokens, span) => Group::Active,
            Group::Waiting => Group::Waiting,
        };
        let current = self.files.last_mut().and_then(|f| f.conditionals.last_mut());
        if let Some(current) = current {
            current.state = next;
            current.seen_else |= word == "else";
        }
    }

    /// Reads over lines until a group is active again or the file ends.
    pub(super) fn skip_group(&mut self) {
        while self.files.last().is_some_and(OpenFile::skipping) {
            let Some(file) = self.files.last_mut() else { return };
            let first = file.lexer.next();
            if first.kind == RawKind::FileEnd {
                self.drop_comments();
                return;
            }
            if first.kind == RawKind::LineEnd {
                continue;
            }
            if !first.is("#") {
                file.lexer.skip_line();
                self.drop_comments();
                continue;
            }
            let word = file.lexer.next();
            let span = first.span.to(word.span);
            match &*word.text {
                "if" | "ifdef" | "ifndef" => {
                    file.lexer.skip_line();
                    self.push_conditional(span, Group::Finished);
                }
                "elif" | "else" | "endif" => self.continue_conditional(&word.text, span),
                _ if word.ends_line() => {}
                _ => file.lexer.skip_line(),
            }
            self.drop_comments();
        }
        self.start_line();
    }

    /// Comments of skipped text document nothing, but must end.
    fn drop_comments(&mut self) {
        let Some(file) = self.files.last_mut() else { return };
        let passed = std::mem::take(&mut file.lexer.comments);
        self.pass_comments(passed);
        self.comments.clear();
    }
}
