//! Calls and objects whose types are known only at run time: the dynamic invocation interface and
//! the dynamic skeleton interface (CORBA 3.3 P1 §11, §12).
//!
//! [`Request`] is a call made of parts, over the same `Object::invoke`, `invoke_oneway` and
//! `invoke_deferred` as generated stubs; [`DynamicServant`] is a servant on the same dispatch as
//! generated skeletons. Values are [`Any`](corbie_types::Any)s: their octets are written and read
//! once, and decoded only when a value is asked for.

mod callback;
mod deferred;
mod exception;
mod invocation;
mod multiple;
mod named_value;
mod nv_list;
mod request;
mod response;
mod servant;
mod server_request;

pub use exception::Exception;
pub use multiple::DynamicOrb;
pub use named_value::{ARG_IN, ARG_INOUT, ARG_OUT, Flags, NamedValue};
pub use nv_list::NvList;
pub use request::{Context, DynamicObject, Request};
pub use response::DynamicResponse;
pub use servant::{DynamicImplementation, DynamicServant};
pub use server_request::DynamicServerRequest;
