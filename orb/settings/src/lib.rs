//! What an ORB is started with: every setting, where it may come from, and the rules that join
//! the sources (CORBA 3.3 P1 §8.5, `ORB_init` and its `-ORB` arguments).
//!
//! `settings` holds the one table of settings; parsing of every source and the documentation are
//! made from it. The rest is pure: text goes in, [`Settings`] or a sentence come out. Only
//! [`Settings::from_process`] reads the real environment and the real file.

// layers: near_names value < choice endpoint < preference listen < settings <
//    arguments combinations file published reference < sources
mod arguments;
mod choice;
mod combinations;
mod endpoint;
#[cfg(feature = "config-file")]
mod file;
mod listen;
mod near_names;
mod preference;
mod published;
mod reference;
mod settings;
mod sources;
#[cfg(test)]
mod tests;
mod value;

pub use choice::{
    AddressFamily, Bidirectional, CollocationScope, CollocationStrategy, CsiUsers, EventLoop,
    PoaLock, ReplyWait, ServerConcurrency, SyncScope, TlsClients, TlsProtection,
    TransportMultiplexing, WaitStrategy, WhenFull,
};
pub use endpoint::{InitialReference, PublishedAddress};
pub use listen::{EndpointOptions, ListenAt, ListenEndpoint, ListenHost, ListenMessages};
pub use preference::ProtocolPreference;
pub use published::{PublishedHosts, published_hosts};
pub use settings::{PartialSettings, Places, Setting, Settings};
