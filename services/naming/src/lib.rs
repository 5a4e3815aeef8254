//! The Naming Service (OMG Naming Service 1.3): names for objects, in contexts like folders.
//!
//! Applications use [`Naming`], which binds and resolves by names as text and gives typed
//! references; it works with every CosNaming server. [`NamingServer`] is ours: an ordinary
//! application of the façade over a [`store::Store`]. The generated code is in [`cos_naming`].
//!
//! ```no_run
//! use corbie::Orb;
//! use corbie_naming::Naming;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let orb = Orb::init(["-ORBInitRef", "NameService=corbaloc::localhost:2809/NameService"])?;
//!     let naming = Naming::of(&orb)?;
//!     for entry in naming.list("stock")? {
//!         println!("{}", entry.name);
//!     }
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

// layers: name store < refusal < client server
mod client;
mod name;
mod refusal;
pub mod server;
pub mod store;

#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "generated from CosNaming.idl, whose comments explain it"
)]
mod generated {
    corbie::include_idl!("CosNaming");
}

pub use client::{Bounds, Change, Entry, Naming, NamingError, Node, Watch};
pub use generated::cos_naming;
pub use generated::cos_naming::{Name, NameComponent};
pub use name::{BadUrl, NAME_SERVICE, parse, stringify, url};
pub use server::{Limits, NamingServer};
