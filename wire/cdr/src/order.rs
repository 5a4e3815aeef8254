//! Byte order and GIOP version: the two facts every encoder and decoder carries.
//! Used by everything in this crate (CORBA 3.3 P2 §9.3.1 and §9.4.1).

use std::fmt;

/// Order of the octets of a multi-octet value (CORBA 3.3 P2 §9.3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Most significant octet first; flag octet 0.
    BigEndian,
    /// Least significant octet first; flag octet 1.
    LittleEndian,
}

impl ByteOrder {
    /// The order of this machine: what we send, so that the receiver makes it right.
    pub const NATIVE: Self =
        if cfg!(target_endian = "little") { Self::LittleEndian } else { Self::BigEndian };

    /// Whether this is [`ByteOrder::LittleEndian`].
    #[inline]
    #[must_use]
    pub const fn is_little(self) -> bool {
        matches!(self, Self::LittleEndian)
    }

    /// Whether values must be swapped on this machine.
    #[inline]
    #[must_use]
    pub const fn is_swapped(self) -> bool {
        self.is_little() != Self::NATIVE.is_little()
    }

    /// The other order.
    #[inline]
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::BigEndian => Self::LittleEndian,
            Self::LittleEndian => Self::BigEndian,
        }
    }

    /// The flag octet that opens an encapsulation, and bit 0 of the GIOP flags.
    #[inline]
    #[must_use]
    pub const fn flag(self) -> u8 {
        self.is_little() as u8
    }

    /// The order that bit 0 of `flags` announces; the other bits are not looked at.
    #[inline]
    #[must_use]
    pub const fn from_flag(flags: u8) -> Self {
        if flags & 1 == 1 { Self::LittleEndian } else { Self::BigEndian }
    }
}

impl fmt::Display for ByteOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BigEndian => "big-endian",
            Self::LittleEndian => "little-endian",
        })
    }
}

/// GIOP version, also the version of an IIOP profile (CORBA 3.3 P2 §9.4.1, §9.7.2); or
/// [`GIOP_LITE`](Version::GIOP_LITE) or the protocol of an application, which are no versions on
/// the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Always 1 so far.
    pub major: u8,
    /// 0, 1 or 2; 3 and above are read as 2 where the specification allows it.
    pub minor: u8,
}

impl Version {
    /// GIOP 1.0: no wide characters, no fragments.
    pub const V1_0: Self = Self { major: 1, minor: 0 };
    /// GIOP 1.1: fragments, fixed-width wide characters.
    pub const V1_1: Self = Self { major: 1, minor: 1 };
    /// GIOP 1.2: bidirectional, addressing disposition, wide characters of any width.
    pub const V1_2: Self = Self { major: 1, minor: 2 };
    /// GIOPlite (paper POA §3.3): values as in 1.2, in messages that say nothing of what both ends
    /// know. Never read from the wire: a connection speaks it because its profile said so.
    pub const GIOP_LITE: Self = Self { major: 1, minor: 0xff };

    /// How many message protocols of applications there can be in a process; see
    /// [`of_plugged`](Self::of_plugged).
    pub const PLUGGED: usize = 64;
    const PLUGGED_FIRST: u8 = 64;
    const PLUGGED_END: u8 = 128;

    /// The message protocol that a process has registered under this number, below
    /// [`PLUGGED`](Self::PLUGGED): values as in 1.2. No version on the wire either.
    ///
    /// # Panics
    /// When the number is not below.
    #[must_use]
    pub const fn of_plugged(number: u8) -> Self {
        assert!((number as usize) < Self::PLUGGED, "a number below 64");
        Self { major: 1, minor: Self::PLUGGED_FIRST + number }
    }

    /// The number of the message protocol of an application; `None`: GIOP or GIOPlite.
    #[inline]
    #[must_use]
    pub const fn plugged(self) -> Option<u8> {
        match self.minor {
            Self::PLUGGED_FIRST..Self::PLUGGED_END => Some(self.minor - Self::PLUGGED_FIRST),
            _ => None,
        }
    }

    /// Whether messages are GIOP's: neither GIOPlite's nor those of another protocol.
    #[inline]
    #[must_use]
    pub const fn is_giop(self) -> bool {
        self.minor < Self::PLUGGED_FIRST
    }

    /// Whether this is [`Version::GIOP_LITE`].
    #[inline]
    #[must_use]
    pub const fn is_lite(self) -> bool {
        self.minor == Self::GIOP_LITE.minor
    }

    /// The version of GIOP that says how values are encoded: 1.2 for other protocols, else itself.
    #[inline]
    #[must_use]
    pub const fn of_values(self) -> Self {
        if self.is_giop() { self } else { Self::V1_2 }
    }
}

impl Default for Version {
    #[inline]
    fn default() -> Self {
        Self::V1_2
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::GIOP_LITE {
            return f.write_str("GIOPlite");
        }
        if let Some(number) = self.plugged() {
            return write!(f, "message protocol {number}");
        }
        write!(f, "{}.{}", self.major, self.minor)
    }
}
