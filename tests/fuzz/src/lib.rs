//! Fuzz targets: one function per decoder, which must not panic whatever octets it gets.
//!
//! The same functions run three ways: in `cargo test` over the corpora and seeded mutations of them
//! ([`mutation`]), in the program `corbie-fuzz` (`cargo xtask fuzz`) for a chosen time, and under
//! libFuzzer through `cargo-fuzz/` (see `README.md`). A target also asserts what has to hold for
//! input that is accepted: what was read and is written again reads the same.
#![allow(clippy::missing_panics_doc, reason = "a panic is how a target says what it found")]

pub mod corpus;
pub mod mutation;
pub mod targets;

/// One decoder under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: the function in [`targets`], the folder in `corpus/`, the binary in `cargo-fuzz/`.
    pub name: &'static str,
    /// Runs it on one input. Panics when something is wrong.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident,)*) => {
        /// All targets.
        pub const TARGETS: &[Target] =
            &[$(Target { name: stringify!($name), run: targets::$name },)*];
    };
}

targets! {
    giop_stream,
    giop_connection,
    giop_request,
    giop_reply,
    giop_locate_request,
    giop_locate_reply,
    giop_cancel_request,
    giop_code_set_context,
    cdr,
    system_exception,
    type_code,
    any,
    dynamic_values,
    values,
    ior,
    iiop_profile,
    ior_string,
    object_url,
    stringified_name,
    object_key,
    event_log,
    exception_holder,
    invocation_policies,
    shared_connection,
    security_message,
    idl,
}
