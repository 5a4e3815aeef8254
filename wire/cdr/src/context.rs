//! What decoding needs beyond the octets: the ORB, which this crate does not know. It belongs to
//! object references, and finds the factories of values.

use std::any::Any;
use std::sync::Arc;

/// A value that was read or written, or a factory of values: the reader knows its type.
pub type SharedValue = Arc<dyn Any + Send + Sync>;

/// The ORB that object references and values belong to.
pub trait Context: Any + Send + Sync {
    /// What makes values of the type with this repository id, or what describes it, if the
    /// application registered one of them.
    fn value_factory(&self, repository_id: &str) -> Option<SharedValue>;
}
