//! Constant expressions, to postfix order by the shunting-yard algorithm (so without recursion).
//!
//! Used for constants, bounds, dimensions, labels and annotation arguments. IDL 4.2 §7.4.1.4.3.

use super::{Failed, Parse, Parser};
use crate::keywords::{Standing, standing};
use crate::source::Span;
use crate::syntax::{Expression, Node, NodeKind};
use crate::token::TokenKind;

/// A pending operator or parenthesis.
#[derive(Clone, Copy)]
enum Pending {
    Open,
    Unary(&'static str, Span),
    Binary(&'static str, u8, Span),
}

/// Binary operators; a larger number binds tighter.
const BINARY: &[(&str, u8)] = &[
    ("|", 1),
    ("^", 2),
    ("&", 3),
    ("<<", 4),
    (">>", 4),
    ("+", 5),
    ("-", 5),
    ("*", 6),
    ("/", 6),
    ("%", 6),
];

impl Parser<'_> {
    /// An expression in which `>` and `>>` end it: inside `sequence<…>`, `string<…>`, `fixed<…>`.
    pub(super) fn bound_expression(&mut self) -> Parse<Expression> {
        self.expression_until(true)
    }

    pub(super) fn expression(&mut self) -> Parse<Expression> {
        self.expression_until(false)
    }

    fn expression_until(&mut self, in_angles: bool) -> Parse<Expression> {
        let start = self.span();
        let mut nodes = Vec::new();
        let mut pending: Vec<Pending> = Vec::new();
        let mut open = 0usize;
        loop {
            self.operand(&mut nodes, &mut pending, &mut open)?;
            while open > 0 && self.peek().is(")") {
                self.advance();
                open -= 1;
                close(&mut nodes, &mut pending);
            }
            let operator = BINARY.iter().find(|(text, _)| self.peek().is(text)).copied();
            let operator = operator.filter(|(text, _)| !(in_angles && open == 0 && *text == ">>"));
            let Some((text, strength)) = operator else { break };
            while let Some(top) = pending.pop() {
                match top {
                    Pending::Unary(..) => emit(&mut nodes, top),
                    Pending::Binary(_, other, _) if other >= strength => emit(&mut nodes, top),
                    _ => {
                        pending.push(top);
                        break;
                    }
                }
            }
            pending.push(Pending::Binary(text, strength, self.span()));
            self.advance();
        }
        if open > 0 {
            return self.expected("`)`", "a parenthesis of this expression is open");
        }
        while let Some(top) = pending.pop() {
            emit(&mut nodes, top);
        }
        Ok(Expression { nodes, span: start.to(self.previous_span()) })
    }

    /// Unary operators and opening parentheses, then a literal or name.
    fn operand(
        &mut self,
        nodes: &mut Vec<Node>,
        pending: &mut Vec<Pending>,
        open: &mut usize,
    ) -> Parse<()> {
        loop {
            let span = self.span();
            if self.accept("(") {
                pending.push(Pending::Open);
                *open += 1;
            } else if let Some(operator) = ["-", "+", "~"].into_iter().find(|o| self.accept(o)) {
                pending.push(Pending::Unary(operator, span));
            } else {
                break;
            }
        }
        let span = self.span();
        let kind = self.literal_or_name()?;
        nodes.push(Node { kind, span: span.to(self.previous_span()) });
        Ok(())
    }

    fn literal_or_name(&mut self) -> Parse<NodeKind> {
        let kind = match self.peek().clone() {
            TokenKind::Integer(value) => NodeKind::Integer(value),
            TokenKind::Float(text) => NodeKind::Float(text),
            TokenKind::Fixed(text) => NodeKind::Fixed(text),
            TokenKind::Character(c) => NodeKind::Character(c),
            TokenKind::WideCharacter(c) => NodeKind::WideCharacter(c),
            TokenKind::Text(_) | TokenKind::WideText(_) => return self.joined_text(),
            TokenKind::Word { text, escaped: false } => match &*text {
                "TRUE" => NodeKind::Boolean(true),
                "FALSE" => NodeKind::Boolean(false),
                word if standing(word) == Standing::Reserved => {
                    return self.expected("a value", "escape names that are keywords with `_`");
                }
                _ => return Ok(NodeKind::Name(self.scoped_name("a value")?)),
            },
            TokenKind::Word { .. } => return Ok(NodeKind::Name(self.scoped_name("a value")?)),
            TokenKind::Punctuation("::") => {
                return Ok(NodeKind::Name(self.scoped_name("a value")?));
            }
            TokenKind::Faulty => {
                self.advance();
                return Err(Failed);
            }
            _ => return self.expected("a value", "values are literals and names of constants"),
        };
        self.advance();
        Ok(kind)
    }

    /// Strings side by side are one (IDL 4.2 §7.2.6.3); one wide part makes all wide.
    fn joined_text(&mut self) -> Parse<NodeKind> {
        let mut all = String::new();
        let mut wide = false;
        loop {
            match self.peek() {
                TokenKind::Text(text) => all.push_str(text),
                TokenKind::WideText(text) => {
                    all.push_str(text);
                    wide = true;
                }
                TokenKind::Faulty => return Err(Failed),
                _ => break,
            }
            self.advance();
        }
        Ok(if wide { NodeKind::WideText(all.into()) } else { NodeKind::Text(all.into()) })
    }

    /// A string literal that is no part of an expression: `typeid`, `context`.
    pub(super) fn plain_text(&mut self, what: &str) -> Parse<(std::rc::Rc<str>, Span)> {
        let span = self.span();
        if matches!(self.peek(), TokenKind::Text(_))
            && let NodeKind::Text(text) = self.joined_text()?
        {
            return Ok((text, span.to(self.previous_span())));
        }
        self.expected(what, "it stands between `\"`")
    }
}

fn emit(nodes: &mut Vec<Node>, pending: Pending) {
    match pending {
        Pending::Unary(text, span) => nodes.push(Node { kind: NodeKind::Unary(text), span }),
        Pending::Binary(text, _, span) => nodes.push(Node { kind: NodeKind::Binary(text), span }),
        Pending::Open => {}
    }
}

/// Emits everything since the matching parenthesis.
fn close(nodes: &mut Vec<Node>, pending: &mut Vec<Pending>) {
    while let Some(top) = pending.pop() {
        if let Pending::Open = top {
            return;
        }
        emit(nodes, top);
    }
}
