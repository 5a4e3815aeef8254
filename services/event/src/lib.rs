//! The Event Service (OMG Event Service 1.2): channels that take events from suppliers and give
//! them to consumers, so that neither has to know the other.
//!
//! [`EventServer`] serves channels within an ORB: it is an ordinary application of the façade.
//! [`Channel`] is the core, in which an event is the octets of a request ([`Event`]). The
//! generated code is in [`cos_event_comm`], [`cos_event_channel_admin`] and [`corbie_events`].
//!
//! ```no_run
//! use corbie::Orb;
//! use corbie_event::{ChannelQos, EventServer, Limits};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
//!     let server = EventServer::start(&orb, Limits::default())?;
//!     let channel = server.create("prices", ChannelQos::default())?;
//!     println!("{}", channel.as_object());
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

// layers: budget exception tally workers < interfaces waiters < event < bundle log ticket < qos <
//    resources < durable < channel < bundled engine watched <
//    neighbours < server supplier
mod budget;
mod bundle;
mod bundled;
pub mod channel;
mod durable;
pub mod engine;
mod event;
mod exception;
pub mod interfaces;
pub mod log;
pub mod neighbours;
mod qos;
mod resources;
pub mod server;
mod supplier;
mod tally;
mod ticket;
mod waiters;
pub mod watched;
mod workers;

#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "generated from the IDL files, whose comments explain it"
)]
mod generated {
    corbie::include_idl!("CorbieEvents");
}

pub use bundle::Bundle;
pub use bundled::Bundled;
pub use channel::Channel;
pub use event::{Event, Shape};
pub use generated::{
    corba, corbie_events, cos_event_channel_admin, cos_event_comm, cos_typed_event_channel_admin,
    cos_typed_event_comm,
};
pub use log::Retention;
pub use qos::{ChannelQos, Limits, Overflow};
pub use resources::ServerStatistics;
pub use server::{EVENT_CHANNEL_FACTORY, EventServer};
pub use supplier::Supplier;
pub use ticket::Ticket;
