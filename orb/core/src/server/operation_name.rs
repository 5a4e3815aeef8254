//! The name of an operation, kept without the heap.
//!
//! A [`ResponseHandler`] outlives the message that named its operation. Names of IDL are short, so
//! they fit into the handler itself; the rare long one is allocated.
//!
//! [`ResponseHandler`]: crate::server::ResponseHandler

/// Octets of a name that fit in place.
const IN_PLACE: usize = 46;

pub(crate) enum OperationName {
    InPlace { octets: [u8; IN_PLACE], length: u8 },
    Long(Box<str>),
}

impl OperationName {
    pub(crate) fn new(name: &str) -> Self {
        match u8::try_from(name.len()) {
            Ok(length) if name.len() <= IN_PLACE => {
                let mut octets = [0; IN_PLACE];
                octets[..name.len()].copy_from_slice(name.as_bytes());
                OperationName::InPlace { octets, length }
            }
            _ => OperationName::Long(name.into()),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            OperationName::InPlace { octets, length } => {
                let octets = octets.get(..usize::from(*length)).unwrap_or_default();
                // What was copied in whole from a string is one.
                std::str::from_utf8(octets).unwrap_or_default()
            }
            OperationName::Long(name) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{IN_PLACE, OperationName};

    #[test]
    fn names_come_back_whole() {
        for length in [0, 1, IN_PLACE - 1, IN_PLACE, IN_PLACE + 1, 300] {
            let name = "x".repeat(length);
            let kept = OperationName::new(&name);
            assert_eq!(kept.as_str(), name);
            assert_eq!(matches!(kept, OperationName::Long(_)), length > IN_PLACE);
        }
        assert_eq!(OperationName::new("grüße").as_str(), "grüße");
    }
}
