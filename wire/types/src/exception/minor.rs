//! Minor codes: the OMG's (CORBA 3.3 P1 §A.5, and the registry omg/03-01-04) and Corbie's own.
//! Constants, names and texts come from one table each; used by whoever raises an exception and
//! by `Display`.

mod corbie;
mod omg;

pub use corbie::*;
pub use omg::*;

use super::SystemExceptionKind;

/// The vendor id of the OMG, upper 20 bits ("OM").
pub const OMGVMCID: u32 = 0x4f4d_0000;

/// The vendor id of Corbie, upper 20 bits ("CB"); not registered with the OMG.
pub const VMCID: u32 = 0x4342_0000;

const VENDOR_MASK: u32 = 0xffff_f000;

/// One minor code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinorCode {
    /// The exception that it belongs to.
    pub kind: SystemExceptionKind,
    /// The whole code, vendor id included.
    pub code: u32,
    /// The name of its constant in this module.
    pub name: &'static str,
    /// What it means.
    pub text: &'static str,
}

/// All known codes, the OMG's first.
pub fn all() -> impl Iterator<Item = &'static MinorCode> {
    omg::TABLE.iter().chain(corbie::TABLE)
}

/// The entry for `code` as raised with `kind`.
#[must_use]
pub fn lookup(kind: SystemExceptionKind, code: u32) -> Option<&'static MinorCode> {
    all().find(|entry| entry.code == code && entry.kind == kind)
}

/// The vendor whose code it is, when known; `None` for 0 and strangers.
#[must_use]
pub fn vendor_name(code: u32) -> Option<&'static str> {
    match code & VENDOR_MASK {
        OMGVMCID => Some("the OMG"),
        VMCID => Some("Corbie"),
        0x4154_0000 => Some("omniORB"),
        0x5441_0000 | 0x5441_f000 | 0x5441_4000 => Some("TAO"),
        0x4a41_0000 => Some("JacORB"),
        0x5355_0000 => Some("Sun/GlassFish"),
        0x4942_0000 | 0x4942_4000 | 0x4942_f000 => Some("IBM"),
        _ => None,
    }
}

macro_rules! minor_codes {
    ($vendor:expr; $($kind:ident { $($number:literal $name:ident $text:literal;)+ })+) => {
        $($(
            #[doc = concat!($text, ".")]
            pub const $name: u32 = $vendor | $number;
        )+)+

        pub(super) const TABLE: &[super::MinorCode] = &[$($(
            super::MinorCode {
                kind: crate::SystemExceptionKind::$kind,
                code: $name,
                name: stringify!($name),
                text: $text,
            },
        )+)+];
    };
}
use minor_codes;
