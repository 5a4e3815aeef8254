//! The Portable Object Adapter: from the object key of a request to the servant that answers it
//! (CORBA 3.3 P1 §15, paper POA §2.2).
//!
//! `orb/core/server/dispatch` calls [`RootPoa`] through `corbie_core::server::Adapter`;
//! applications call [`Poa`]. Transient keys carry index and generation of POA and servant, so
//! finding them is two array accesses and a stale key never reaches a new servant; persistent keys
//! carry names.
#![forbid(unsafe_code)]
// What only features use that are left out is for the linker to drop.
#![cfg_attr(
    not(all(feature = "adapter-activators", feature = "servant-managers")),
    allow(dead_code, unreachable_pub, unused_imports)
)]

// layers: closed id_secret object_id object_operations places slots < error object_key
//    < poa_manager < policies < active_object_map thread_model < transitions < poa
//    < current dispatch < measure
mod active_object_map;
mod closed;
mod current;
mod dispatch;
mod error;
mod id_secret;
#[doc(hidden)]
pub mod measure;
mod object_id;
mod object_key;
mod object_operations;
mod places;
mod poa;
mod poa_manager;
mod policies;
mod slots;
mod thread_model;
mod transitions;

pub use current::{PoaCurrent, PoaCurrentError};
pub use dispatch::RootPoa;
pub use error::{PoaError, PoaManagerError};
pub use id_secret::IdSecret;
pub use object_id::ObjectId;
#[cfg(feature = "adapter-activators")]
pub use poa::servant_manager::AdapterActivator;
#[cfg(feature = "servant-managers")]
pub use poa::servant_manager::{
    Cookie, ServantActivator, ServantLocator, ServantManager, ServantRefusal,
};
pub use poa::{Poa, This};
pub use poa_manager::{PoaManager, PoaManagerFactory, PoaManagerPolicy, PoaManagerState};
pub use policies::{
    Collocation, IdAssignment, IdUniqueness, ImplicitActivation, Lifespan, PoaPolicies, PoaPolicy,
    RequestOrder, RequestProcessing, ServantDemux, ServantRetention, Synchronization, SystemIds,
    ThreadModel,
};
