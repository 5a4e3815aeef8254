//! Why the gate of a POA is not open: what the bits mean that a gate leaves to its owner.
//!
//! Set by POA managers, thread models, map locks and what requests wait for; a request that meets
//! one goes the long way round in `dispatch`.

pub(crate) use corbie_upcall::closed::{AWAITED, ENDING};

use corbie_upcall::closed::FIRST_OF_OWNER;

/// The POA manager holds requests.
pub(crate) const HOLDING: u32 = FIRST_OF_OWNER;
/// The POA manager discards requests.
pub(crate) const DISCARDING: u32 = FIRST_OF_OWNER << 1;
/// The POA manager is inactive.
pub(crate) const INACTIVE: u32 = FIRST_OF_OWNER << 2;
/// The POA manager is active, and requests that it held are not served yet.
pub(crate) const DRAINING: u32 = FIRST_OF_OWNER << 3;
/// The POA's thread model lets one thread in at a time, or one thread only.
pub(crate) const SERIALISED: u32 = FIRST_OF_OWNER << 4;
/// An adapter activator is making the POA, or requests that waited for that are not served yet.
pub(crate) const MAKING: u32 = FIRST_OF_OWNER << 6;
/// Requests wait for objects that are being incarnated or etherealised.
pub(crate) const AWAITING_OBJECTS: u32 = FIRST_OF_OWNER << 7;
/// The POA has no lock and belongs to one thread (`NULL_LOCK`).
pub(crate) const ONE_THREAD: u32 = FIRST_OF_OWNER << 5;
