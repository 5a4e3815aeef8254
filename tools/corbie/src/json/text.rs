//! JSON text from the command line: reading it, and saying where it is wrong.
//!
//! Numbers keep their digits (`arbitrary_precision`), so that 64-bit integers, `fixed` and floats
//! are converted by the type they are meant for and not by way of a `double`.

use std::path::Path;

use serde_json::Value as Json;

use super::place::Place;
use crate::failure::Failure;

/// An argument as typed, or the content of the file it names with `@`.
pub(crate) fn load(given: &str, name: &str) -> Result<String, Failure> {
    match given.strip_prefix('@') {
        None => Ok(given.to_owned()),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Failure::path(&format!("read {name} from"), Path::new(path), &error)),
    }
}

/// Parses one argument, or fails with a sentence that says what to write.
pub(crate) fn parse(text: &str, place: &Place<'_>) -> Result<Json, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let shown: String = text.chars().take(40).collect();
        let hint = if looks_like_a_word(text) {
            format!("; for a string or an enumerator write '\"{text}\"' with both kinds of quotes")
        } else {
            String::new()
        };
        Failure::usage(format!("{place} is not JSON: `{shown}`: {error}{hint}"))
    })
}

/// The usual mistake: the shell took the quotes away.
fn looks_like_a_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(['"', '{', '[']) && text.chars().any(char::is_alphabetic)
}
