//! The values of the catalogue: what each type's n-th value is, and how values are compared. Every
//! peer has the same functions (`values.h`, `Values.java`); change them together.

mod anys;
mod bulk;
mod constructed;
mod primitives;

pub(crate) use anys::*;
pub(crate) use bulk::*;
pub(crate) use constructed::*;
pub(crate) use primitives::*;

use corbie::{Encoder, Marshal, SystemException};
use std::fmt;

/// What the other side sent is not what it should be.
#[derive(Debug)]
pub(crate) struct Different(pub(crate) String);

impl fmt::Display for Different {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Different {}

impl From<SystemException> for Different {
    fn from(exception: SystemException) -> Self {
        Different(exception.to_string())
    }
}

impl From<&str> for Different {
    fn from(what: &str) -> Self {
        Different(what.to_owned())
    }
}

/// Fails unless `condition` holds.
pub(crate) fn expect(condition: bool, what: &str) -> Result<(), Different> {
    if condition { Ok(()) } else { Err(Different(what.to_owned())) }
}

/// Fails unless the two are equal.
pub(crate) fn check_equal<T: PartialEq<U> + fmt::Debug + ?Sized, U: fmt::Debug + ?Sized>(
    what: &str,
    got: &T,
    wanted: &U,
) -> Result<(), Different> {
    if got == wanted {
        return Ok(());
    }
    Err(Different(format!("{what}: got {}, expected {}", shown(got), shown(wanted))))
}

/// Fails unless two values of the IDL type `M` have the same octets on the wire: equality to the
/// bit, also where a NaN is inside.
pub(crate) fn check<M: Marshal>(
    what: &str,
    got: &M::Value,
    wanted: &M::Value,
) -> Result<(), Different>
where
    M::Value: fmt::Debug,
{
    let same = match (octets::<M>(got), octets::<M>(wanted)) {
        (Ok(got), Ok(wanted)) => got == wanted,
        // a char beyond ASCII has no UTF-8 octet to compare
        _ => format!("{got:?}") == format!("{wanted:?}"),
    };
    if same {
        return Ok(());
    }
    Err(Different(format!("{what}: got {}, expected {}", shown(got), shown(wanted))))
}

fn octets<M: Marshal>(value: &M::Value) -> Result<Vec<u8>, Different> {
    let mut e = Encoder::native();
    e.set_code_sets(corbie::CodeSets::UNICODE);
    M::encode(value, &mut e).map_err(|error| Different(error.to_string()))?;
    Ok(e.to_vec())
}

/// A value for a message: cut after 300 characters.
fn shown<T: fmt::Debug + ?Sized>(value: &T) -> String {
    let text = format!("{value:?}");
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text,
    }
}
