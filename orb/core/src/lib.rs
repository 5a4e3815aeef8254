//! The ORB core: joins GIOP and transport, and serves clients and servers alike.
//!
//! Applications use the façade `corbie`, which re-exports what they need from here. A call goes
//! through `client/` on one side and `server/` on the other, and both meet in `connection/`.
//! CORBA 3.3 P1 §8 (ORB interface), P2 §9 (GIOP and IIOP).
#![deny(unsafe_code)]
// What only features use that are left out is for the linker to drop.
#![cfg_attr(not(feature = "interceptors"), allow(dead_code, unreachable_pub, unused_imports))]

// layers: executor machine memory operation < profile < policy < handles < egress neighbours
//    reactor < interface value_factories < generated_code initial_references
//    < portable_interceptor < connection < server < client < collocation < housekeeping stubs
//    < orb values
mod client;
pub mod collocation;
mod connection;
mod egress;
mod executor;
pub mod generated_code;
mod handles;
mod housekeeping;
mod initial_references;
mod interface;
mod machine;
mod memory;
mod neighbours;
mod operation;
mod orb;
pub mod policy;
pub mod portable_interceptor;
mod profile;
mod reactor;
pub mod server;
pub mod stubs;
mod value_factories;
pub mod values;

pub use client::{Credentials, Deliver, PendingReply, Reply, ReplySink};
pub use executor::{Executor, Task};
pub use handles::{Object, Orb, Part};
pub use initial_references::InvalidName;
pub use interface::{
    Described, Interface, decode_reference, encode_object, encode_reference, orb_of,
};
pub use operation::{Operation, OperationName};
#[cfg(feature = "signals")]
pub use orb::UntilSignal;
pub use orb::{Statistics, Used};
pub use server::interceptor;

/// Which peers may call what.
pub mod access {
    pub use corbie_access::{
        AccessRules, AddressRange, AssertionRules, CalledObject, CheckPassword, EgressRule,
        EgressRules, Otherwise, Pattern, PeerRules, Peers, Reach, Rule,
    };
    #[cfg(feature = "access-file")]
    pub use corbie_access::{HashError, Users, hash_password};
    pub use corbie_transport::{PeerCertificate, PeerIdentity};
}

/// What third-party message protocols are made of.
pub mod protocol {
    pub use corbie_cdr::{ByteOrder, Decoder, Encoder};
    pub use corbie_giop::{
        AddressingDisposition, CancelRequestHeader, Cut, Frame, GiopError, GiopErrorKind, Head,
        LocateReplyHeader, LocateRequestHeader, LocateStatus, MessageKind, MessageProtocol,
        ReplyHeader, ReplyStatus, RequestHeader, ResponseFlags, ServiceContexts, Target,
    };
}

/// What third-party transports are made of, and what servers learn of their peers.
pub mod transport {
    pub use corbie_transport::{
        Endpoint, Handshakes, PeerAddress, PeerCertificate, PeerOrigin, PeerProcess,
        PluggedAcceptor, PluggedEndpoint, PluggedLink, Registry, SSLIOP, Transport, UnixName,
    };
    pub use corbie_types::UiopProfile;
}
