//! What conversion asks of the world outside: names of types and references as text.
//!
//! `corbie call` answers from the IDL file and the ORB; tests answer from nothing.

use corbie::types::{Ior, TypeCode};

use super::valuetype::Values;

/// Answers to what a JSON text alone does not say.
pub(crate) trait Surroundings {
    /// The type with this scoped name or repository id.
    fn type_named(&self, name: &str) -> Result<TypeCode, String>;

    /// A name for exactly this type, if there is one.
    fn name_of(&self, type_code: &TypeCode) -> Option<String>;

    /// The values that were read and written.
    fn values(&self) -> &Values;

    /// The reference behind a URL that is not `IOR:` text.
    fn reference(&self, url: &str) -> Result<Ior, String>;
}
