//! What a peer may make us do with the dynamic values of one message: how many values, and how many
//! that take no octets at all. Counted over all values that one decoder reads, however many `any`s
//! they are divided into. Asked by the readers of dynamic values in `corbie_types`.

use super::Decoder;
use crate::{Error, ErrorKind};

/// How many values were read.
#[derive(Clone, Copy, Default)]
pub(super) struct Spent {
    values: u32,
    empty: u32,
}

impl Decoder<'_> {
    /// Reads a dynamic value: one whose type is not known at build time.
    ///
    /// # Errors
    /// `LimitExceeded` when there are more such values than
    /// [`Limits::dynamic_values`](crate::Limits), or more without octets than `empty_elements`;
    /// and what `read` returns.
    #[inline]
    pub fn dynamic_value<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.spent.values >= self.limits.dynamic_values {
            return Err(self.exceeded("values", "dynamic_values", self.limits.dynamic_values));
        }
        self.spent.values += 1;
        let start = self.position;
        let value = read(self)?;
        if self.position == start {
            let most = self.limits.empty_elements;
            if self.spent.empty >= most {
                return Err(self.exceeded("values without octets", "empty_elements", most));
            }
            self.spent.empty += 1;
        }
        Ok(value)
    }

    /// Counts a value of a valuetype, read or passed over: it takes as much memory as so many
    /// dynamic values, with its place in the table of the message.
    pub(super) fn count_value(&mut self) -> Result<(), Error> {
        const COST: u32 = 8;
        let most = self.limits.dynamic_values;
        if self.spent.values.saturating_add(COST) > most {
            return Err(self.exceeded("values", "dynamic_values", most));
        }
        self.spent.values += COST;
        Ok(())
    }

    #[cold]
    fn exceeded(&self, what: &str, name: &str, limit: u32) -> Error {
        let found = format!("more than {limit} {what}");
        let needed = format!("at most {limit} in one message (limit {name})");
        self.error(ErrorKind::LimitExceeded, "value", found, needed)
    }
}
