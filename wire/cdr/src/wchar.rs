//! The value of an IDL `wchar`: one UTF-16 code unit. Used by generated code and by the text
//! halves of the encoder and decoder (CORBA 3.3 P1 §7.11.1.5, P2 §9.3.1.6).

use std::fmt;

/// An IDL `wchar`: one UTF-16 code unit, so that every value a peer can send has a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WChar(pub u16);

impl WChar {
    /// The Unicode character, or `None` for half of a surrogate pair.
    #[must_use]
    pub fn to_char(self) -> Option<char> {
        char::from_u32(u32::from(self.0))
    }
}

impl TryFrom<char> for WChar {
    /// The character itself: it lies beyond U+FFFF and needs two code units.
    type Error = char;

    fn try_from(c: char) -> Result<Self, char> {
        u16::try_from(u32::from(c)).map(Self).map_err(|_| c)
    }
}

impl TryFrom<WChar> for char {
    /// The code unit: it is half of a surrogate pair.
    type Error = WChar;

    fn try_from(c: WChar) -> Result<Self, WChar> {
        c.to_char().ok_or(c)
    }
}

impl fmt::Display for WChar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_char().unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}
