//! JSON and IDL values: `corbie call` reads its arguments and writes its results with these.
//!
//! `decode` makes a value of a given type from JSON, `encode` makes JSON from a value, and
//! `type_code` does the same for types. Every error names its place (`args[0].members[3].name`).
//! The mapping is described in `corbie call --help`.

mod decode;
mod decode_union;
mod encode;
mod fixed;
mod mismatch;
mod number;
mod octets;
mod place;
mod surroundings;
#[cfg(test)]
mod tests;
pub(crate) mod text;
mod type_code;
mod type_text;
mod union_label;
mod valuetype;

use corbie::types::{TcKind, TypeCode};

pub(crate) use decode::decode;
pub(crate) use encode::encode;
pub(crate) use place::Place;
pub(crate) use surroundings::Surroundings;
pub(crate) use type_text::of_primitive;
pub(crate) use valuetype::Values;

/// The repository id of the alias that stands for `int8`, which has no TypeCode of its own: an
/// octet on the wire, signed in JSON.
pub(crate) const INT8_ID: &str = "IDL:omg.org/CORBA/int8:1.0";

/// Whether a type is `int8`, perhaps behind typedefs.
fn is_int8(type_code: &TypeCode) -> bool {
    let mut current = type_code.clone();
    while current.kind() == TcKind::Alias {
        if current.id() == INT8_ID {
            return true;
        }
        match current.content_type() {
            Some(content) => current = content,
            None => return false,
        }
    }
    false
}
