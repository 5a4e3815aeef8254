//! The handles that all else is reached from, as data: the ORB and references.
//!
//! Both stand below the layers that act on them. A method of [`Orb`] or [`Object`] is written in
//! the module that has the behaviour (`client` calls, `collocation` calls without a message, `orb`
//! starts and shuts down), and what such a module keeps in a handle is an [`Extension`] of it.
//! `shortcuts` and `borrowed` are what a reference remembers of servants of its own process.

mod borrowed;
mod extension;
mod object;
mod orb;
mod shortcuts;

pub(crate) use borrowed::Lent;
pub use borrowed::View;
pub(crate) use extension::Extension;
pub use object::Object;
pub use orb::Orb;
pub(crate) use orb::OrbInner;
pub(crate) use shortcuts::Shortcuts;
