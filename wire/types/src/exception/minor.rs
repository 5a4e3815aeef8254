//! Minor codes: the OMG's (CORBA 3.3 P1 §A.5, and the registry omg/03-01-04) and Corbie's own.
//!
//! Constants, names, meanings and remedies come from one table each. Every place that raises an
//! exception names a constant of this module; `Display` and the book look the codes up.

mod corbie;
mod omg;

pub use corbie::*;
pub use omg::*;

use super::{CompletionStatus, SystemException, SystemExceptionKind};
use std::fmt;

/// The minor code of a system exception: a vendor id in the upper 20 bits, a number in the lower
/// 12. Only an exception that a peer sent can have the code 0, which says nothing.
///
/// ```
/// use corbie_types::{Minor, minor};
/// const OUT_OF_STOCK: Minor = Minor::of::<7>();
/// assert_eq!(OUT_OF_STOCK.code(), 7);
/// assert_eq!(minor::BAD_OPERATION_UNKNOWN.vendor(), minor::OMGVMCID);
/// ```
///
/// ```compile_fail
/// let nothing = corbie_types::Minor::of::<0>();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    code: u32,
    /// The exception that a code of the OMG's or Corbie's belongs to.
    kind: Option<SystemExceptionKind>,
}

impl Minor {
    /// The code `CODE` of an application or another ORB. 0 does not compile. The OMG leaves codes
    /// without a vendor id, 1 to 0xfff, to experiments.
    #[must_use]
    pub const fn of<const CODE: u32>() -> Self {
        const { assert!(CODE != 0, "the minor code 0 says nothing") };
        Minor { code: CODE, kind: None }
    }

    /// The code that a peer sent with an exception of this kind; it may be 0.
    pub(super) fn received(code: u32, kind: SystemExceptionKind) -> Self {
        let is_it = |known: &&MinorCode| known.minor.code == code && known.kind == kind;
        all().find(is_it).map_or(Minor { code, kind: None }, |known| known.minor)
    }

    /// The exception of this code of the OMG's or Corbie's, with `detail`: why it is raised.
    ///
    /// ```
    /// use corbie_types::{CompletionStatus, SystemException, minor};
    /// let e = minor::TRANSIENT_CONNECT_FAILED.raise(CompletionStatus::No, "refused");
    /// let minor = minor::TRANSIENT_CONNECT_FAILED;
    /// let same = SystemException::transient(minor, CompletionStatus::No).with_detail("refused");
    /// assert_eq!(e, same);
    /// ```
    #[cold]
    #[must_use]
    pub fn raise(self, completed: CompletionStatus, detail: impl Into<String>) -> SystemException {
        debug_assert!(self.kind.is_some(), "{self} belongs to no exception");
        let kind = self.kind.unwrap_or(SystemExceptionKind::Internal);
        SystemException::new(kind, self, completed).with_detail(detail)
    }

    /// As [`Minor::raise`], with `COMPLETED_NO`.
    #[cold]
    #[must_use]
    pub fn no(self, detail: impl Into<String>) -> SystemException {
        self.raise(CompletionStatus::No, detail)
    }

    /// The whole number, vendor id included.
    #[must_use]
    pub const fn code(self) -> u32 {
        self.code
    }

    /// The vendor id: the upper 20 bits, in their place.
    #[must_use]
    pub const fn vendor(self) -> u32 {
        self.code & VENDOR_MASK
    }

    /// The number that the vendor gave: the lower 12 bits.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.code & !VENDOR_MASK
    }

    /// The vendor whose code it is, when known; `None` for 0 and unknown vendors.
    #[must_use]
    pub fn vendor_name(self) -> Option<&'static str> {
        match self.vendor() {
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
}

impl PartialEq<u32> for Minor {
    fn eq(&self, code: &u32) -> bool {
        self.code == *code
    }
}

impl fmt::Debug for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Minor {
    /// All eight hexadecimal digits: `0x4f4d0002`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.code)
    }
}

/// The vendor id of the OMG, upper 20 bits ("OM").
pub const OMGVMCID: u32 = 0x4f4d_0000;

/// The vendor id of Corbie, upper 20 bits ("CB"); not registered with the OMG.
pub const VMCID: u32 = 0x4342_0000;

const VENDOR_MASK: u32 = 0xffff_f000;

/// What is known of one minor code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinorCode {
    /// The exception that it belongs to.
    pub kind: SystemExceptionKind,
    /// The code.
    pub minor: Minor,
    /// The name of its constant in this module.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to try; Corbie's codes and those of the OMG that Corbie raises have one.
    pub remedy: Option<&'static str>,
}

/// All known codes, the OMG's first.
pub fn all() -> impl Iterator<Item = &'static MinorCode> {
    omg::TABLE.iter().chain(corbie::TABLE)
}

/// The entry for `minor` as raised with `kind`.
#[must_use]
pub fn lookup(kind: SystemExceptionKind, minor: Minor) -> Option<&'static MinorCode> {
    all().find(|entry| entry.minor == minor && entry.kind == kind)
}

macro_rules! minor_codes {
    ($vendor:expr; $($kind:ident {
        $($number:literal $name:ident $meaning:literal $($remedy:literal)?;)+
    })+) => {
        $($(
            #[doc = concat!($meaning, ".")]
            pub const $name: super::Minor = super::Minor {
                code: $vendor | $number,
                kind: Some(crate::SystemExceptionKind::$kind),
            };
        )+)+

        pub(super) const TABLE: &[super::MinorCode] = &[$($(
            super::MinorCode {
                kind: crate::SystemExceptionKind::$kind,
                minor: $name,
                name: stringify!($name),
                meaning: $meaning,
                remedy: super::minor_codes!(@remedy $($remedy)?),
            },
        )+)+];
    };
    (@remedy) => { None };
    (@remedy $remedy:literal) => { Some($remedy) };
}
use minor_codes;
