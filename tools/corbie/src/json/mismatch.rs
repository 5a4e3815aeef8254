//! A JSON value that does not fit the type: what was expected, what was found, later where.
//! Made by every reader in `json`, turned into a [`Failure`] where the place is known.

use serde_json::Value as Json;

use super::place::Place;
use crate::failure::Failure;

/// At most so many characters of a value are shown.
const SHOWN_MAX: usize = 60;

/// Why a JSON value is not a value of an IDL type; the place is added by the caller.
#[derive(Debug)]
pub(crate) struct Mismatch(String);

impl Mismatch {
    /// A sentence, to stand behind the place.
    pub(super) fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// "expected …, found …".
    pub(super) fn expected(what: &str, json: &Json) -> Self {
        Self(format!("expected {what}, found {}", found(json)))
    }

    /// The same, about the element `index` of what is at the place.
    pub(super) fn inside(self, index: usize) -> Self {
        Self(format!("element {index}: {}", self.0))
    }

    /// Wrong usage of the command: `args[0].name: expected …`.
    pub(super) fn at(self, place: &Place<'_>) -> Failure {
        Failure::usage(format!("{place}: {}", self.0))
    }
}

/// A value as it is shown in an error, cut if it is long.
pub(super) fn found(json: &Json) -> String {
    let text = json.to_string();
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    text.chars().take(SHOWN_MAX).chain("…".chars()).collect()
}
