//! Why a [`crate::Gate`] is not open: bits of its word, of which several may be set.
//!
//! Two of them mean something here, as the end of an upcall matters while they are set. The others
//! belong to the owner of the gate, which gives them their meanings.

/// What is behind the gate ends, or has ended: its owner hears of every upcall that ends.
pub const ENDING: u32 = 1 << 0;
/// A thread waits for upcalls to end ([`crate::Gate::wait_until_idle`]).
pub const AWAITED: u32 = 1 << 1;
/// The first bit of the owner of the gate; all bits from here on are its own.
pub const FIRST_OF_OWNER: u32 = 1 << 8;

/// While one of these is set, a thread that leaves an upcall says so.
pub(crate) const LEAVING_MATTERS: u32 = ENDING | AWAITED;
