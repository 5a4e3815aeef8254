//! What a name is bound to, and its text in a store: a word and a value, readable with the tools
//! of the store (`etcdctl get`).

use super::{ContextId, Kind, StoreError};
use corbie::Ior;
use std::fmt;

/// What a name is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// An object, or nil.
    Object(Ior),
    /// A naming context of the same store.
    Context(ContextId),
    /// A naming context elsewhere (federation).
    ForeignContext(Ior),
}

impl Target {
    /// What `list` says of it.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Target::Object(_) => Kind::Object,
            Target::Context(_) | Target::ForeignContext(_) => Kind::Context,
        }
    }

    /// Reads what [`fmt::Display`] wrote.
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        let (word, value) = text.split_once(' ').unwrap_or((text, ""));
        let read = match word {
            "object" => value.parse().ok().map(Target::Object),
            "foreign" => value.parse().ok().map(Target::ForeignContext),
            "context" => {
                u64::from_str_radix(value, 16).ok().map(|id| Target::Context(ContextId(id)))
            }
            _ => None,
        };
        read.ok_or_else(|| {
            let start: String = text.chars().take(40).collect();
            StoreError::Failed(format!("a binding in the store reads {start:?}, which is none"))
        })
    }

    /// The kind alone, without reading the reference.
    pub(super) fn kind_of(text: &str) -> Kind {
        if text.starts_with("object ") { Kind::Object } else { Kind::Context }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Object(ior) => write!(f, "object {ior}"),
            Target::Context(id) => write!(f, "context {:x}", id.0),
            Target::ForeignContext(ior) => write!(f, "foreign {ior}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_again() {
        let nil: Ior = Ior::nil();
        for target in [
            Target::Object(nil.clone()),
            Target::Context(ContextId(0x1f)),
            Target::ForeignContext(nil),
        ] {
            assert_eq!(Target::parse(&target.to_string()).as_ref(), Ok(&target));
            assert_eq!(Target::kind_of(&target.to_string()), target.kind());
        }
        assert!(matches!(Target::parse("context zz"), Err(StoreError::Failed(_))));
        assert!(matches!(Target::parse(""), Err(StoreError::Failed(_))));
    }
}
