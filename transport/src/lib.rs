//! Moves octets between processes; knows no GIOP.
//!
//! `orb/connection` is the main caller: it opens a [`Link`] to an [`Endpoint`], hands it
//! octets to send and space to receive into, and says through a [`Waiter`] how to pass the time
//! until octets arrive. An [`Acceptor`] yields the links that peers open to us. Everything blocks
//! or spins on the calling thread: there is no queue, no runtime and no thread here. Applications
//! bring further transports along with [`Transport`].

// layers: filter peer readiness < plugged < socket < tcp < unix < shm < endpoint < link
//    < connecting wait < acceptor registry
mod acceptor;
mod connecting;
mod endpoint;
mod filter;
mod link;
mod peer;
mod plugged;
mod readiness;
mod registry;
mod shm;
mod socket;
mod tcp;
mod unix;
mod wait;

pub use acceptor::Acceptor;
pub use connecting::{Begun, Connecting};
pub use endpoint::Endpoint;
pub use filter::{AddressFilter, NotPermitted};
pub use link::Link;
pub use peer::{PeerAddress, PeerCertificate, PeerIdentity, PeerOrigin, PeerProcess, own_user};
pub use plugged::{Handshakes, PluggedAcceptor, PluggedEndpoint, PluggedLink, Transport};
pub use readiness::{Event, Events, Readiness};
pub use registry::{BUILT_IN_SCHEMES, Registry, SSLIOP};
pub use shm::{ShmAcceptor, ShmLink, ShmOptions};
pub use unix::{UnixName, UnixOptions};
pub use wait::{WaitStrategy, Waiter};
