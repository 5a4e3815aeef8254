//! The Real-time Event Service, as that of TAO (paper RTEC): channels that show each consumer only
//! the events to which it has subscribed, and are put together of strategies.
//!
//! [`RtEventServer`] serves channels within an ORB: it is an ordinary application of the façade.
//! [`filter`] and [`Configuration`] do no input or output. Queues, retries and limits are those of
//! the Event Service (`corbie_event::engine`). The generated code is in [`rtec_event_comm`],
//! [`rtec_event_channel_admin`] and [`corbie_rt_events`].
//!
//! ```no_run
//! use corbie::Orb;
//! use corbie_event::Limits;
//! use corbie_rtevent::{Configuration, Preset, RtEventServer};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
//!     let server = RtEventServer::start(&orb, Limits::default())?;
//!     let channel = server.create("vehicles", Configuration::preset(Preset::Latency))?;
//!     println!("{}", channel.as_object());
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

// layers: kinds collection dispatching event nesting < filter < groups < routes <
//    configuration observers < consumer < timers < channel < server
mod channel;
mod collection;
mod configuration;
mod consumer;
mod dispatching;
mod event;
pub mod filter;
mod groups;
pub mod kinds;
mod nesting;
mod observers;
mod routes;
pub mod server;
mod timers;

#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "generated from the IDL files, whose comments explain it"
)]
mod generated {
    corbie::include_idl!("CorbieRtEvents");
}

pub use channel::Channel;
pub use collection::CollectionStrategy;
pub use configuration::{
    BadConfiguration, Configuration, Dispatching, Observers, Preset, Reconnection,
};
pub use generated::{
    EventPayload, EventPayloadIdl, RtecEventData, corbie_rt_events, rtec_base,
    rtec_event_channel_admin, rtec_event_comm, time_base,
};
pub use routes::SupplierFilter;
pub use server::{RT_EVENT_CHANNEL_FACTORY, RtEventServer};
