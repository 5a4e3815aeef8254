//! The expressions of `#if` and `#elif`: integers, `defined`, and the operators of C.
//!
//! Names that are not macros count as 0 (`TRUE` and `true` as 1). Arithmetic wraps at 128 bits.

use super::Preprocessor;
use super::raw::{RawKind, RawToken};
use crate::diagnostic::{Code, Report};
use crate::source::Span;

/// Operators by precedence, loosest first.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Preprocessor<'_> {
    /// Whether the expression holds; reports and says no when it is not one.
    pub(super) fn condition(&mut self, tokens: Vec<RawToken>, directive: Span) -> bool {
        let tokens = self.replace_defined(tokens);
        let tokens = self.expand_list(tokens);
        let mut parser = Condition { tokens: &tokens, at: 0, depth: 0, idle: 0, end: directive };
        let problem = match parser.conditional() {
            Ok(value) => match tokens.get(parser.at) {
                None => return value != 0,
                Some(extra) => (extra.span, format!("`{}` has no meaning here", extra.text)),
            },
            Err(problem) => problem,
        };
        let hint = "conditions are integers, macros, `defined(NAME)` and C operators";
        let report = Report::new(Code::ConditionSyntax, problem.0, problem.1);
        self.diagnostics.report(report.hint(hint));
        false
    }

    /// `defined NAME` and `defined(NAME)` become 1 or 0, before macros are expanded.
    fn replace_defined(&self, tokens: Vec<RawToken>) -> Vec<RawToken> {
        let mut out = Vec::with_capacity(tokens.len());
        let mut rest = tokens.as_slice();
        while let [first, after @ ..] = rest {
            rest = after;
            if first.kind == RawKind::Word && &*first.text == "defined" {
                let (name, after) = match after {
                    [open, name, close, after @ ..] if open.is("(") && close.is(")") => {
                        (name, after)
                    }
                    [name, after @ ..] => (name, after),
                    [] => (first, after),
                };
                if name.kind == RawKind::Word && !std::ptr::eq(name, first) {
                    rest = after;
                    let text = if self.is_defined(&name.text) { "1" } else { "0" };
                    out.push(RawToken {
                        kind: RawKind::Number,
                        text: text.into(),
                        ..first.clone()
                    });
                    continue;
                }
            }
            out.push(first.clone());
        }
        out
    }
}

type ConditionProblem = (Span, String);

/// Deepest nesting of parentheses and unary operators in a condition.
const DEPTH: usize = 64;

struct Condition<'a> {
    tokens: &'a [RawToken],
    at: usize,
    depth: usize,
    /// Above 0 while an operand is read whose value does not matter: `1 || 1 / 0` is no division.
    idle: usize,
    end: Span,
}

impl Condition<'_> {
    fn accept(&mut self, punctuation: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|t| t.is(punctuation));
        self.at += usize::from(found);
        found
    }

    fn problem<T>(&self, message: impl Into<String>) -> Result<T, ConditionProblem> {
        let span = self.tokens.get(self.at).map_or(self.end, |t| t.span);
        Err((span, message.into()))
    }

    fn deeper<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, ConditionProblem>,
    ) -> Result<T, ConditionProblem> {
        if self.depth >= DEPTH {
            return self.problem(format!("this condition nests deeper than {DEPTH}"));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn idle_if<T>(
        &mut self,
        idle: bool,
        parse: impl FnOnce(&mut Self) -> Result<T, ConditionProblem>,
    ) -> Result<T, ConditionProblem> {
        self.idle += usize::from(idle);
        let result = parse(self);
        self.idle -= usize::from(idle);
        result
    }

    fn conditional(&mut self) -> Result<i128, ConditionProblem> {
        self.deeper(|this| {
            let value = this.binary(0)?;
            if !this.accept("?") {
                return Ok(value);
            }
            let yes = this.idle_if(value == 0, Self::conditional)?;
            if !this.accept(":") {
                return this.problem("`?` needs a `:`");
            }
            let no = this.idle_if(value != 0, Self::conditional)?;
            Ok(if value != 0 { yes } else { no })
        })
    }

    fn binary(&mut self, level: usize) -> Result<i128, ConditionProblem> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = operators.iter().find(|o| self.accept(o)) {
            let place = self.tokens.get(self.at - 1).map_or(self.end, |t| t.span);
            let decided = matches!((*operator, left != 0), ("||", true) | ("&&", false));
            let right = self.idle_if(decided, |this| this.binary(level + 1))?;
            left = match apply(operator, left, right) {
                Some(value) => value,
                None if self.idle > 0 => 0,
                None => {
                    return Err((place, "division by zero, or shift out of range".to_owned()));
                }
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<i128, ConditionProblem> {
        for operator in ["!", "~", "-", "+"] {
            if self.accept(operator) {
                let value = self.deeper(Self::unary)?;
                return Ok(match operator {
                    "!" => i128::from(value == 0),
                    "~" => !value,
                    "-" => value.wrapping_neg(),
                    _ => value,
                });
            }
        }
        if self.accept("(") {
            let value = self.conditional()?;
            return if self.accept(")") { Ok(value) } else { self.problem("`)` is missing") };
        }
        let Some(token) = self.tokens.get(self.at) else {
            return self.problem("a value is missing at the end of this condition");
        };
        let value = match token.kind {
            RawKind::Word => Some(i128::from(matches!(&*token.text, "TRUE" | "true"))),
            RawKind::Number => number(&token.text),
            RawKind::Character => character(&token.text),
            _ => None,
        };
        match value {
            Some(value) => {
                self.at += 1;
                Ok(value)
            }
            None => self.problem(format!("`{}` is not an integer", token.text)),
        }
    }
}

fn apply(operator: &str, left: i128, right: i128) -> Option<i128> {
    let shift = || u32::try_from(right).ok().filter(|n| *n < 128);
    Some(match operator {
        "||" => i128::from(left != 0 || right != 0),
        "&&" => i128::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i128::from(left == right),
        "!=" => i128::from(left != right),
        "<" => i128::from(left < right),
        "<=" => i128::from(left <= right),
        ">" => i128::from(left > right),
        ">=" => i128::from(left >= right),
        "<<" => left.wrapping_shl(shift()?),
        ">>" => left.wrapping_shr(shift()?),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right)?,
        _ => left.checked_rem(right)?,
    })
}

/// A C integer: decimal, octal or hexadecimal, with any of the suffixes u, l, ll.
fn number(text: &str) -> Option<i128> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        return i128::from_str_radix(hexadecimal, 16).ok();
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return i128::from_str_radix(digits, 8).ok();
    }
    digits.parse().ok()
}

/// The code of a plain one-character literal.
fn character(text: &str) -> Option<i128> {
    let inner = text.trim_start_matches('L').strip_prefix('\'')?.strip_suffix('\'')?;
    let mut chars = inner.chars();
    match (chars.next()?, chars.next()) {
        (c, None) => Some(i128::from(u32::from(c))),
        _ => None,
    }
}
