//! The Portable Object Adapter: from the object key of a request to the servant that answers it
//! (CORBA 3.3 P1 §15, paper POA §2.2).
//!
//! `orb/core/server/dispatch` calls [`RootPoa`] through `corbie_core::server::Adapter`;
//! applications call [`Poa`]. Transient keys carry index and generation of POA and servant, so
//! finding them is two array accesses and a stale key never reaches a new servant; persistent keys
//! carry names.
#![forbid(unsafe_code)]

mod active_object_map;
mod current;
mod dispatch;
mod object_id;
mod object_key;
mod object_operations;
mod poa;
mod poa_manager;
mod policies;
mod root;
mod slots;
mod thread_model;

pub use object_id::ObjectId;
pub use poa::{Poa, PoaError};
pub use poa_manager::{
    PoaManager, PoaManagerError, PoaManagerFactory, PoaManagerPolicy, PoaManagerState,
};
pub use policies::{
    Collocation, IdAssignment, IdUniqueness, ImplicitActivation, Lifespan, PoaPolicies, PoaPolicy,
    RequestProcessing, ServantDemux, ServantRetention, Synchronization, ThreadModel,
};
pub use root::RootPoa;
