//! Exact arithmetic for constant expressions.
//!
//! The checker evaluates with [`Exact`] values and converts once, to the declared type. Integers
//! are computed in 128 bits with overflow reported, `fixed` to 62 digits, floating point as
//! fractions of unbounded integers (bounded by [`crate::Limits::constant_bits`]). IDL 4.2
//! §7.4.1.4.3.

mod fixed;
mod operators;
mod rounding;

pub(crate) use fixed::Decimal;
pub(crate) use operators::{Problem, binary, unary};
pub(crate) use rounding::{Format, Ratio};

use crate::model::DefId;

/// A value during evaluation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exact {
    Boolean(bool),
    Integer(i128),
    Float(Ratio),
    Fixed(Decimal),
    Character(char),
    WideCharacter(char),
    Text(String),
    WideText(String),
    Enumerator(DefId, u32),
}

impl Exact {
    /// For "a constant of type long cannot be …".
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Exact::Boolean(_) => "a boolean",
            Exact::Integer(_) => "an integer",
            Exact::Float(_) => "a floating point number",
            Exact::Fixed(_) => "a fixed point number",
            Exact::Character(_) => "a character",
            Exact::WideCharacter(_) => "a wide character",
            Exact::Text(_) => "a string",
            Exact::WideText(_) => "a wide string",
            Exact::Enumerator(..) => "an enumerator",
        }
    }
}
