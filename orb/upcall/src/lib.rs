//! Which upcalls are under way: known without a lock and without a locked instruction on the path
//! of a call.
//!
//! A thread writes into its own `record` which object it enters. A thread that wants an object or a
//! whole POA to come to rest closes it ([`Gate`], [`Activation`]), makes all threads see that
//! (`barrier`), and looks through the records. The last thread to leave what is being closed tells
//! its [`Owner`]. The object adapter and collocated calls enter here. The crate knows nothing of
//! either: what a servant is says the type parameter of [`ActiveObject`]. Order of etherealisation
//! and destruction: CORBA 3.3 P1 §15.3.9.

// layers: barrier closed protocol < record < gate < entered < active_object
mod active_object;
mod barrier;
pub mod closed;
mod entered;
mod gate;
mod protocol;
mod record;

pub use active_object::{Activation, ActiveObject};
pub use entered::Entered;
pub use gate::{Gate, Owner};
pub use record::{Upcall, current, depth, is_inside_any};

#[cfg(test)]
mod tests;
