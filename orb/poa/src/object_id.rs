//! The octets that name an object within its POA (CORBA 3.3 P1 §15.2.1).
//!
//! Chosen by the application or the POA; part of the object key that references carry.

use std::borrow::Borrow;
use std::fmt;

/// The name of an object within its POA: opaque octets, chosen by the application (`USER_ID`) or
/// by the POA (`SYSTEM_ID`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(Box<[u8]>);

impl ObjectId {
    /// The identifier made of these octets.
    pub fn new(octets: &[u8]) -> Self {
        ObjectId(octets.into())
    }

    /// The octets.
    pub fn as_octets(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for ObjectId {
    fn from(text: &str) -> Self {
        ObjectId::new(text.as_bytes())
    }
}

impl Borrow<[u8]> for ObjectId {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    /// Printable octets as they are, others as `%hh`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| match octet {
            b'!'..=b'$' | b'&'..=b'~' => write!(f, "{}", char::from(*octet)),
            _ => write!(f, "%{octet:02x}"),
        })
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::ObjectId;

    #[test]
    fn unprintable_octets_are_shown_as_hexadecimal() {
        assert_eq!(ObjectId::new(b"a%\0z").to_string(), "a%25%00z");
    }
}
