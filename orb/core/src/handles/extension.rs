//! What a higher layer keeps in a handle: a value of a type that the handle does not know.
//!
//! Each extension belongs to one module, which alone names its type. Reading it compares the type,
//! so the synchronous call path reads one at most.

use std::any::Any;
use std::sync::OnceLock;

/// A value of one type, made at the first need.
#[derive(Default)]
pub(crate) struct Extension(OnceLock<Box<dyn Any + Send + Sync>>);

impl Extension {
    /// The value. All callers name the same type.
    #[inline]
    pub(crate) fn get<T: Any + Send + Sync + Default>(&self) -> &T {
        let value = self.0.get_or_init(Self::make::<T>);
        value.downcast_ref().expect("an extension has one type")
    }

    #[cold]
    fn make<T: Any + Send + Sync + Default>() -> Box<dyn Any + Send + Sync> {
        Box::new(T::default())
    }
}
