//! CORBA's run-time types on top of CDR: system exceptions, object references, TypeCode, Any.
//!
//! [`SystemException`] is what every layer raises; [`Ior`] and [`ObjectUrl`] are what references
//! look like on the wire and as text; [`TypeCode`], [`Any`] and [`Value`] describe and hold
//! values whose type is known only at run time.
//!
//! **Architecture invariant.** No I/O, no clock, no threads, no `unsafe`. Nothing here resolves
//! a host, opens a file or knows the ORB.

#![forbid(unsafe_code)]

// layers: exception repository_id < type_code < interface_description < ior < url
//    < valuetype < value < csi
pub mod csi;
pub mod exception;
mod interface_description;
pub mod ior;
mod repository_id;
mod type_code;
pub mod url;
mod value;
pub mod valuetype;

pub use exception::{CompletionStatus, Minor, SystemException, SystemExceptionKind, minor};
pub use interface_description::{
    AttributeDescription, InterfaceDescription, OperationDescription, ParameterDescription,
    ParameterMode,
};
pub use ior::{
    Address, CodeSetComponent, CodeSetComponentInfo, Component, Description, IiopProfile, Ior,
    SslSecTrans, TaggedComponent, TaggedProfile, UiopProfile,
};
pub use repository_id::{IdlVersion, RepositoryId, RepositoryIdError};
pub use type_code::{
    Member, TcKind, TypeCode, UnionMember, ValueMember, ValueModifier, Visibility,
};
pub use url::{ObjectUrl, UrlError};
pub use value::{Any, DynamicValue, HeldValue, Typed, UnionValue, Value};
