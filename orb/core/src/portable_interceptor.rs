//! Portable interceptors (CORBA 3.3 P1 §16): code of the application that sees every request of an
//! ORB, on its way out and in, adds service contexts, refuses or forwards it.
//!
//! `client_request` and `server_request` have the traits, what interceptors are told, and one
//! request on its way past them; `flow` says which of them see its end; `slots` is PICurrent;
//! `ior` is for references;
//! `initializer` registers all of it before the ORB is used. Called by `client/attempts/watched`,
//! `client/awaited_call/watched` and `server/interceptor`.

mod client_request;
mod flow;
mod initializer;
mod ior;
mod raised;
mod registration;
mod server_request;
pub(crate) mod service_contexts;
mod slots;

pub use client_request::{ClientRequestInfo, ClientRequestInterceptor};
pub use flow::{ForwardRequest, Interruption, ReplyStatus};
pub use initializer::{OrbInitError, OrbInitInfo, OrbInitializer, register_orb_initializer};
pub use ior::{AddedComponent, IorInfo, IorInterceptor};
pub use server_request::{ServerRequestInfo, ServerRequestInterceptor};
pub use service_contexts::ServiceContext;
pub use slots::{InvalidSlot, PiCurrent, SlotId};

pub(crate) use client_request::{Kind, Outgoing, Watch};
pub(crate) use flow::FlowEnd;
pub(crate) use server_request::{Received, ServerWatch, TargetInterface};

/// What all interceptors are (`PortableInterceptor::Interceptor`).
pub trait Interceptor: Send + Sync {
    /// Its name; no two of one kind in an ORB have the same, but any number has the name "".
    fn name(&self) -> &str;

    /// The ORB is being destroyed ([`Orb::destroy`](crate::Orb::destroy)); called once.
    fn destroy(&self) {}
}
