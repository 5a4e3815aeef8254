//! Code sets by their OSF registry numbers, and the pair a connection agreed upon
//! (CORBA 3.3 P2 §7.10.2). Carried by encoder and decoder; negotiated in `corbie_types`.

use std::fmt;

/// A code set by its number in the OSF character and code set registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeSet(pub u32);

impl CodeSet {
    /// ISO 8859-1:1987, Latin alphabet no. 1.
    pub const ISO_8859_1: Self = Self(0x0001_0001);
    /// ISO 646:1991 IRV, known as US-ASCII.
    pub const ISO_646: Self = Self(0x0001_0020);
    /// ISO 8859-15:1999, Latin alphabet no. 9; named, not converted.
    pub const ISO_8859_15: Self = Self(0x0001_000f);
    /// ISO/IEC 10646-1:1993 UCS-2, level 1.
    pub const UCS_2: Self = Self(0x0001_0100);
    /// ISO/IEC 10646-1:1993 UCS-4, level 1; named, not converted.
    pub const UCS_4: Self = Self(0x0001_0104);
    /// ISO/IEC 10646-1:1993 UTF-16.
    pub const UTF_16: Self = Self(0x0001_0109);
    /// X/Open UTF-8.
    pub const UTF_8: Self = Self(0x0501_0001);

    /// Never on the wire: `string` as UTF-8 and `char` as its ISO 8859-1 octet, so that every
    /// value fits. For octets that stay in this process, such as those of an `any`.
    pub const LOCAL: Self = Self(0xffff_ffff);

    /// The registered name, or `None` when this table does not have it.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(id, _)| *id == self.0).map(|(_, name)| *name)
    }

    /// Whether Corbie converts `char` and `string` to and from it.
    #[must_use]
    pub fn is_char_supported(self) -> bool {
        matches!(self, Self::ISO_8859_1 | Self::ISO_646 | Self::UTF_8)
    }

    /// Whether strings in it are UTF-8.
    #[inline]
    pub(crate) const fn is_utf_8(self) -> bool {
        matches!(self, Self::UTF_8 | Self::LOCAL)
    }

    /// Whether a `char` in it is the first 256 characters of Unicode, an octet each.
    #[inline]
    pub(crate) const fn has_latin_octets(self) -> bool {
        matches!(self, Self::ISO_8859_1 | Self::LOCAL)
    }

    /// Whether Corbie converts `wchar` and `wstring` to and from it.
    #[must_use]
    pub fn is_wchar_supported(self) -> bool {
        matches!(self, Self::UTF_16 | Self::UCS_2)
    }
}

impl fmt::Display for CodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} (0x{:08x})", self.0),
            None => write!(f, "code set 0x{:08x}", self.0),
        }
    }
}

/// Numbers and names as the registry has them; those that ORBs are known to announce.
const NAMES: &[(u32, &str)] = &[
    (0x0001_0001, "ISO 8859-1"),
    (0x0001_0002, "ISO 8859-2"),
    (0x0001_0003, "ISO 8859-3"),
    (0x0001_0004, "ISO 8859-4"),
    (0x0001_0005, "ISO 8859-5"),
    (0x0001_0006, "ISO 8859-6"),
    (0x0001_0007, "ISO 8859-7"),
    (0x0001_0008, "ISO 8859-8"),
    (0x0001_0009, "ISO 8859-9"),
    (0x0001_000a, "ISO 8859-10"),
    (0x0001_000f, "ISO 8859-15"),
    (0x0001_0020, "ISO 646 (US-ASCII)"),
    (0x0001_0100, "UCS-2, level 1"),
    (0x0001_0101, "UCS-2, level 2"),
    (0x0001_0102, "UCS-2, level 3"),
    (0x0001_0104, "UCS-4, level 1"),
    (0x0001_0105, "UCS-4, level 2"),
    (0x0001_0106, "UCS-4, level 3"),
    (0x0001_0108, "UTF-1"),
    (0x0001_0109, "UTF-16"),
    (0x0501_0001, "UTF-8"),
    (0x1002_0352, "IBM 850"),
    (0x1002_04e2, "Windows 1250"),
    (0x1002_04e3, "Windows 1251"),
    (0x1002_04e4, "Windows 1252"),
];

/// The transmission code sets of a connection (TCS-C and TCS-W, CORBA 3.3 P2 §7.10.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeSets {
    /// For `char` and `string`.
    pub char_data: CodeSet,
    /// For `wchar` and `wstring`.
    pub wchar_data: CodeSet,
}

impl CodeSets {
    /// What holds until something was negotiated: ISO 8859-1 and UTF-16.
    pub const DEFAULT: Self = Self { char_data: CodeSet::ISO_8859_1, wchar_data: CodeSet::UTF_16 };
    /// UTF-8 and UTF-16: the fallback of the specification when both sides have Unicode.
    pub const UNICODE: Self = Self { char_data: CodeSet::UTF_8, wchar_data: CodeSet::UTF_16 };
}

impl Default for CodeSets {
    #[inline]
    fn default() -> Self {
        Self::DEFAULT
    }
}
