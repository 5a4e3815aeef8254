//! Corbie: CORBA for Rust. This is the crate that applications and generated code depend on.
//!
//! IDL is compiled by `corbie_build` in a build script and included with [`include_idl!`]. A server
//! activates servants in a [`Poa`] and hands out references; a client turns a reference string
//! into an [`Object`], narrows it, and calls it:
//!
//! ```
//! use corbie::{Orb, SystemException};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
//!     let poa = orb.root_poa()?;
//!     poa.the_poa_manager().activate()?;
//!     // let reference = poa.activate(stock::QuoterSkeleton::new(MyQuoter))?;
//!     # let _ = poa;
//!     orb.shutdown(true);
//!     Ok(())
//! }
//! ```
//!
//! **Architecture Invariant:** this crate only joins and re-exports; behaviour is in `orb/core`,
//! `orb/poa` and `orb/messaging`. Generated code names nothing but [`codegen`].
#![forbid(unsafe_code)]

mod orb;

#[doc(hidden)]
pub use corbie_cdr as cdr;
pub use corbie_cdr::{
    ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Fixed, Limits, LongDouble, Marshal, Version,
    WChar,
};
pub use corbie_cdr::{budget, buffers, idl, payload};
#[cfg(feature = "signals")]
pub use corbie_core::UntilSignal;
pub use corbie_core::collocation::View;
pub use corbie_core::server::{
    Current, ForwardServant, ResponseHandler, Servant, ServerRequest, ServiceContext,
    TypedResponse, TypedServant,
};
pub use corbie_core::values::{
    Abstract, AbstractBase, CustomMarshal, State, StateRef,
    valuetype::{ValueBase, ValueFactory, ValueType, view},
};
pub use corbie_core::{
    Credentials, Described, Executor, Interface, InvalidName, Object, Operation, OperationName,
    PendingReply, Reply, ReplySink, Statistics, Task, Used,
};
pub use corbie_core::{access, policy, protocol, transport};
#[cfg(feature = "interceptors")]
pub use corbie_core::{interceptor, portable_interceptor};
pub use corbie_messaging as messaging;
#[cfg(feature = "messaging")]
pub use corbie_messaging::ReplyStub;
#[cfg(feature = "dynamic")]
pub use corbie_messaging::dynamic::{
    self, ARG_IN, ARG_INOUT, ARG_OUT, DynamicImplementation, DynamicObject, DynamicOrb,
    DynamicResponse, DynamicServant, DynamicServerRequest, NamedValue, NvList, Request,
};
#[cfg(feature = "adapter-activators")]
pub use corbie_poa::AdapterActivator;
pub use corbie_poa::{
    Collocation, IdAssignment, IdSecret, IdUniqueness, ImplicitActivation, Lifespan, ObjectId, Poa,
    PoaCurrent, PoaCurrentError, PoaError, PoaManager, PoaManagerError, PoaManagerFactory,
    PoaManagerPolicy, PoaManagerState, PoaPolicies, PoaPolicy, RequestOrder, RequestProcessing,
    ServantDemux, ServantRetention, Synchronization, SystemIds, This, ThreadModel,
};
#[cfg(feature = "servant-managers")]
pub use corbie_poa::{Cookie, ServantActivator, ServantLocator, ServantManager, ServantRefusal};
pub use corbie_settings::{
    AddressFamily, Bidirectional, CollocationScope, CollocationStrategy, CsiUsers, EndpointOptions,
    EventLoop, InitialReference, ListenAt, ListenEndpoint, ListenHost, ListenMessages,
    PartialSettings, PoaLock, ProtocolPreference, PublishedAddress, ReplyWait, ServerConcurrency,
    Setting, Settings, TlsClients, TlsProtection, TransportMultiplexing, WaitStrategy, WhenFull,
};
pub use corbie_types as types;
pub use corbie_types::{
    Any, CompletionStatus, Ior, Minor, ObjectUrl, SystemException, SystemExceptionKind, TypeCode,
    Typed, Value, minor,
};
pub use orb::{Orb, OrbBuilder};

/// Includes the Rust code that `corbie_build` made of `NAME.idl`.
///
/// ```ignore
/// corbie::include_idl!("stock");
/// ```
#[macro_export]
macro_rules! include_idl {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}

/// What generated code uses: not for applications, and not stable.
#[doc(hidden)]
pub mod codegen {
    pub use corbie_cdr::{
        Decoder, Encoder, Error, ErrorKind, Fixed, LongDouble, Marshal, WChar, member,
    };
    pub use corbie_core::collocation::View;
    pub use corbie_core::generated_code::{decode_context, encode_context};
    pub use corbie_core::server::operation_table::{BinarySearch, LinearSearch, PerfectHash};
    pub use corbie_core::server::{
        ResponseHandler, Servant, ServerRequest, SharedResponse, TypedResponse, TypedServant,
        not_raised,
    };
    pub use corbie_core::stubs::{Both, Done, Request, answer, answer_later, call, finish, invoke};
    pub use corbie_core::values::{
        Abstract, AbstractBase, CustomMarshal, State, StateRef, supported, valuetype::ValueBase,
    };
    pub use corbie_core::{
        Described, Interface, Object, Operation, PendingReply, Reply, ReplySink, decode_reference,
        encode_object, encode_reference,
    };
    pub use corbie_core::{abstract_interface, value_box, value_marker, valuetype};
    pub use corbie_core::{alias, members, operation, raised, reference, typed};
    pub use corbie_messaging::ReplyFuture;
    #[cfg(feature = "messaging")]
    pub use corbie_messaging::{
        ExceptionHolder, Pollable, Poller, ReplyHandler, ReplyHandlerServant, ReplyStub, ReplyTo,
        TypedPoller,
    };
    pub use corbie_types::{
        Any, AttributeDescription, CompletionStatus, InterfaceDescription, OperationDescription,
        ParameterMode, SystemException, SystemExceptionKind, TypeCode, Typed, ValueModifier,
        Visibility, minor,
    };

    /// Markers of IDL types.
    pub mod idl {
        pub use corbie_cdr::idl::*;
        pub use corbie_core::values::idl::*;
    }
}
