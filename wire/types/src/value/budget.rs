//! What a peer may make us do with one dynamic value: how many values, and how many that take no
//! octets at all. Kept by the reader and by the walker of this module.

use corbie_cdr::{Decoder, Error, ErrorKind};

/// What is left of [`Limits::dynamic_values`](corbie_cdr::Limits) and `empty_elements`.
pub(super) struct Budget {
    values: u32,
    empty: u32,
}

impl Budget {
    pub(super) fn new(d: &Decoder<'_>) -> Self {
        let limits = d.limits();
        Self { values: limits.dynamic_values, empty: limits.empty_elements }
    }

    /// Before a value is read.
    pub(super) fn enter(&mut self, d: &Decoder<'_>) -> Result<(), Error> {
        match self.values.checked_sub(1) {
            Some(fewer) => {
                self.values = fewer;
                Ok(())
            }
            None => Err(exceeded(d, "values", "dynamic_values", d.limits().dynamic_values)),
        }
    }

    /// After a value was read that began at the position `start`.
    pub(super) fn leave(&mut self, start: usize, d: &Decoder<'_>) -> Result<(), Error> {
        if d.position() > start {
            return Ok(());
        }
        match self.empty.checked_sub(1) {
            Some(fewer) => {
                self.empty = fewer;
                Ok(())
            }
            None => {
                let limit = d.limits().empty_elements;
                Err(exceeded(d, "values without octets", "empty_elements", limit))
            }
        }
    }
}

#[cold]
fn exceeded(d: &Decoder<'_>, what: &str, name: &str, limit: u32) -> Error {
    let found = format!("more than {limit} {what}");
    let needed = format!("at most {limit} (limit {name})");
    d.error(ErrorKind::LimitExceeded, "value", found, needed)
}
