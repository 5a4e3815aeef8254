//! Valuetypes and value boxes at run time (CORBA 3.3 P1 §9, P2 §9.3.4): what all have in common,
//! their state, their factories, and how they are written and read.
//!
//! Used by generated code. A value is an `Arc`: sharing it is sharing it on the wire, too.

mod dropping;
mod factory;
mod listed;
mod state;
mod wire;

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;

use corbie_cdr::{Decoder, Encoder, Error};

use crate::TypeCode;

pub(crate) use dropping::drop_in_turn;
pub use factory::ValueFactory;
pub(crate) use listed::{Listed, Unfactored};
pub use state::{State, StateRef};
pub(crate) use wire::{
    Begun, begin_value, by_factory, no_factory, registered, registered_type, write_listed,
};
pub use wire::{read_value, write_value};

/// What every value has in common (`CORBA::ValueBase`). Implemented by generated code.
pub trait ValueBase: Any + fmt::Debug + Send + Sync {
    /// Its most derived type.
    fn value_type(&self) -> &'static ValueType;

    /// Writes the whole state.
    ///
    /// # Errors
    /// What cannot be sent; `BadParameter` for a value without state.
    fn encode_state(&self, e: &mut Encoder<'_>) -> Result<(), Error>;

    /// Reads the whole state into a value without.
    ///
    /// # Errors
    /// When the octets are no such state.
    fn decode_state(&self, d: &mut Decoder<'_>) -> Result<(), Error>;

    /// It as an `Arc<dyn Trait>`, in a box, by the `TypeId` of that; `None` where it does not have
    /// the trait. [`view`] is what applications use.
    fn as_view(self: Arc<Self>, wanted: TypeId) -> Option<Box<dyn Any>>;
}

/// A value as a valuetype, or an interface that it supports; `None` where it is none.
///
/// ```ignore
/// let node: Option<Arc<dyn Node>> = view(value);
/// ```
pub fn view<T: ?Sized + 'static>(value: Arc<dyn ValueBase>) -> Option<Arc<T>> {
    let view = value.as_view(TypeId::of::<Arc<T>>())?;
    view.downcast::<Arc<T>>().ok().map(|view| *view)
}

impl PartialEq for dyn ValueBase {
    /// Whether both are the same value.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self, other)
    }
}

/// A type of values, as it is known at run time.
#[derive(Clone, Copy)]
pub struct ValueType {
    /// What names it on the wire.
    pub repository_id: &'static str,
    /// It, and the types to which a receiver may truncate it, nearest first.
    pub repository_ids: &'static [&'static str],
    /// Whether the application writes and reads its state.
    pub is_custom: bool,
    /// Its TypeCode.
    pub type_code: fn() -> TypeCode,
}

impl fmt::Debug for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ValueType({})", self.repository_id)
    }
}

/// How the application writes and reads the state of a custom valuetype
/// (`CORBA::CustomMarshal`, CORBA 3.3 P1 §9.3.2). The encoder and the decoder are the streams
/// (`DataOutputStream`, `DataInputStream`): they have an operation for each type of IDL.
pub trait CustomMarshal<S> {
    /// Writes the state.
    ///
    /// # Errors
    /// What the encoder says, or the application's own.
    fn marshal(&self, state: &S, os: &mut Encoder<'_>) -> Result<(), Error>;

    /// Reads the state.
    ///
    /// # Errors
    /// What the decoder says, or the application's own.
    fn unmarshal(&self, is: &mut Decoder<'_>) -> Result<S, Error>;
}
