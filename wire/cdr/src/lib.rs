//! CDR: octets to IDL values and back (CORBA 3.3 P2 §9.3).
//!
//! [`Encoder`] appends values to a growing buffer, [`Decoder`] takes them off a received slice.
//! Both know the byte order, the alignment origin, the GIOP version and the negotiated code sets.
//! [`Marshal`] joins them to IDL types; generated code implements it for user-defined types.
//!
//! **Architecture invariant.** No I/O, no clock, no threads, no `unsafe`. A length read from the
//! wire reaches an allocator only after it was checked against the octets that remain and
//! against [`Limits`]. Padding is written as zero.

#![forbid(unsafe_code)]

// layers: budget buffers codeset context error limits long_double order payload value_tag wchar
//    < decoder encoder < marshal < fixed < idl
pub mod budget;
pub mod buffers;
mod codeset;
mod context;
mod decoder;
mod encoder;
mod error;
mod fixed;
pub mod idl;
mod limits;
mod long_double;
mod marshal;
mod order;
pub mod payload;
mod value_tag;
mod wchar;

/// The Rust types of primitive types that the language does not have, for a glob import.
pub mod primitive_types {
    pub use crate::{LongDouble, WChar};
}

pub use codeset::{CodeSet, CodeSets};
pub use context::{Context, SharedValue};
pub use decoder::{Decoder, RepositoryIds, StateRead, ValueHeader, ValueStart};
pub use encoder::{Encoder, Piece, Placeholder, Segments};
pub use error::{Direction, Error, ErrorKind};
pub use fixed::{Fixed, FixedError, decode_fixed, encode_fixed};
pub use limits::Limits;
pub use long_double::LongDouble;
pub use marshal::{Marshal, MarshalCopy};
pub use order::{ByteOrder, Version};
pub use wchar::WChar;
