//! The targets. Each takes any octets; the first ones often choose the byte order, the version and
//! the like, the rest is what is decoded. Formats of the inputs: the doc comment of each.

mod cdr;
mod event_log;
mod giop;
mod idl;
mod messaging;
mod object_key;
mod security;
mod shared_connection;
mod types;
pub(crate) mod values;

pub use cdr::cdr;
pub use event_log::event_log;
pub use giop::{
    giop_cancel_request, giop_code_set_context, giop_connection, giop_locate_reply,
    giop_locate_request, giop_reply, giop_request, giop_stream,
};
pub use idl::idl;
pub use messaging::{exception_holder, invocation_policies};
pub use object_key::object_key;
pub use security::security_message;
pub use shared_connection::shared_connection;
pub use types::{
    any, dynamic_values, iiop_profile, ior, ior_string, object_url, stringified_name,
    system_exception, type_code,
};
pub use values::values;

use corbie_cdr::{ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Limits, Version};

/// Cycles are let in, to be written again.
static LIMITS: Limits = Limits { value_cycles: true, ..Limits::DEFAULT };

/// How the rest of an input is encoded, by its first octet: bit 0 the byte order, bits 1–2 the GIOP
/// version (3: GIOPlite), bits 3–4 the code sets.
#[derive(Clone, Copy, Debug)]
struct Dialect {
    order: ByteOrder,
    version: Version,
    code_sets: CodeSets,
}

impl Dialect {
    fn take(data: &[u8]) -> Option<(Self, &[u8])> {
        let (&first, rest) = data.split_first()?;
        let version = [Version::V1_0, Version::V1_1, Version::V1_2, Version::GIOP_LITE];
        let (utf_8, latin) = (CodeSet::UTF_8, CodeSet::ISO_8859_1);
        let (utf_16, ucs_2) = (CodeSet::UTF_16, CodeSet::UCS_2);
        let (char_data, wchar_data) =
            [(latin, utf_16), (utf_8, utf_16), (utf_8, ucs_2), (CodeSet(first.into()), utf_8)]
                [usize::from(first >> 3 & 3)];
        let dialect = Self {
            order: ByteOrder::from_flag(first),
            version: version[usize::from(first >> 1 & 3)],
            code_sets: CodeSets { char_data, wchar_data },
        };
        Some((dialect, rest))
    }

    fn decoder<'a>(&self, data: &'a [u8]) -> Decoder<'a> {
        let mut d = Decoder::new(data, self.order);
        d.set_version(self.version);
        d.set_code_sets(self.code_sets);
        d.set_limits(&LIMITS);
        d
    }

    fn encoder<'a>(&self) -> Encoder<'a> {
        let mut e = Encoder::new(Vec::new(), self.order);
        e.set_version(self.version);
        e.set_code_sets(self.code_sets);
        e
    }
}
