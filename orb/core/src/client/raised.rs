//! What an operation can fail with, as stubs and collocated calls see it: its error enum, which
//! generated code makes, or `SystemException` alone.

use crate::client::Reply;
use corbie_cdr::{Encoder, Error, Marshal};
use corbie_types::SystemException;

/// The members of a user exception, ready to be written.
pub trait Members {
    /// Writes them.
    ///
    /// # Errors
    /// As [`Marshal::encode`].
    fn encode_members<'a>(&'a self, e: &mut Encoder<'a>) -> Result<(), Error>;
}

impl<T: Marshal<Value = T>> Members for T {
    fn encode_members<'a>(&'a self, e: &mut Encoder<'a>) -> Result<(), Error> {
        T::encode(self, e)
    }
}

/// What an operation can fail with: its error enum, or `SystemException` alone.
pub trait Raised: From<SystemException> {
    /// Reads the exception of this repository id; `None` where the operation does not raise it.
    fn read(id: &str, reply: &mut Reply) -> Option<Result<Self, SystemException>>;

    /// The user exception, with its repository id.
    ///
    /// # Errors
    /// The system exception, where it is one.
    fn user_exception(&self) -> Result<(&'static str, &dyn Members), &SystemException>;
}

impl Raised for SystemException {
    fn read(_id: &str, _reply: &mut Reply) -> Option<Result<Self, SystemException>> {
        None
    }

    fn user_exception(&self) -> Result<(&'static str, &dyn Members), &SystemException> {
        Err(self)
    }
}
