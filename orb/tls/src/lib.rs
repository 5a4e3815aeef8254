//! TLS over TCP as one more transport, `ssliop://host:port`, on `rustls` (CORBA 3.3 P2 §10.7).
//!
//! The façade gives [`Tls`] to the ORB beside the transports of the application; `orb/core` knows
//! only that its addresses stand in components of IIOP profiles. Nothing here has a thread: the
//! thread that reads an accepted connection drives its handshake, so that an event loop never waits
//! for one, and the limits on silent connections hold for it.

// layers: sentence identity < files < verifier < configuration < link < tls
mod configuration;
mod files;
mod identity;
mod link;
mod sentence;
mod tls;
mod verifier;

pub use tls::Tls;
