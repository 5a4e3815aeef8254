//! The numbers that values begin with (CORBA 3.3 P2 §9.3.4.1), and how many repository ids a value
//! may have.

/// The tag of a value without anything else; flags are added to it.
pub(crate) const VALUE: u32 = 0x7fff_ff00;
/// A codebase URL follows.
pub(crate) const HAS_CODEBASE: u32 = 1;
/// The two bits that tell about repository ids.
pub(crate) const IDS: u32 = 6;
pub(crate) const ONE_ID: u32 = 2;
pub(crate) const LIST_OF_IDS: u32 = 6;
/// The state is in chunks.
pub(crate) const CHUNKED: u32 = 8;
/// "The same as there": an offset follows.
pub(crate) const INDIRECTION: u32 = 0xffff_ffff;

/// Repository ids that a value may have, and octets in each.
pub(crate) const MOST_IDS: u32 = 256;
pub(crate) const LONGEST_ID: u32 = 16 << 10;

/// Values within values that are written: fewer than the stack of a thread has room for.
pub(crate) const MOST_NESTED: u32 = 128;
