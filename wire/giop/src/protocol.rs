//! The message protocols: what the octets of a connection mean.
//!
//! An endpoint has one, its profiles say which, and a connection keeps to it. The reader and the
//! codecs take it as data; there is one of each. What an application brings along is behind a
//! branch that GIOP does not take. Callers: `orb/core`. Paper POA §3.3.

use std::fmt;

use corbie_cdr::Version;

use crate::message::Plugged;

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// GIOP 1.0, 1.1 and 1.2: every message says its version and byte order.
    #[default]
    Giop,
    /// GIOPlite: messages say nothing of what the profile has said. Both ends are Corbie of the
    /// same byte order.
    GiopLite,
    /// One that an application brought along.
    Plugged(Plugged),
}

impl Protocol {
    /// What is said before the peer has shown its version: the highest.
    #[inline]
    #[must_use]
    pub const fn version(self) -> Version {
        match self {
            Self::Giop => Version::V1_2,
            Self::GiopLite => Version::GIOP_LITE,
            Self::Plugged(plugged) => plugged.version(),
        }
    }

    /// The protocol whose messages have this version.
    #[inline]
    #[must_use]
    pub fn of(version: Version) -> Self {
        match version.is_giop() {
            true => Self::Giop,
            false => Plugged::of(version).map_or(Self::GiopLite, Self::Plugged),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Giop => "GIOP",
            Self::GiopLite => "GIOPlite",
            Self::Plugged(plugged) => plugged.protocol().name(),
        })
    }
}
