//! Characters and strings, from the transmission code sets (CORBA 3.3 P2 §9.3.1.5, §9.3.1.6,
//! §9.3.2.7). ASCII text in any `char` code set, and all UTF-8, is borrowed.

use std::borrow::Cow;

use super::Decoder;
use crate::{ByteOrder, CodeSet, Error, ErrorKind, Version, WChar};

impl<'a> Decoder<'a> {
    /// Reads a `char`: one octet.
    ///
    /// # Errors
    /// `UnexpectedEnd`; `DataConversion` when the octet is no character by itself in the
    /// transmission code set.
    #[inline]
    pub fn read_char(&mut self) -> Result<char, Error> {
        let octet = self.read_octet()?;
        self.char_of(octet)
    }

    #[inline]
    pub(crate) fn char_of(&self, octet: u8) -> Result<char, Error> {
        if octet.is_ascii() || self.code_sets.char_data.has_latin_octets() {
            return Ok(char::from(octet));
        }
        Err(self.not_text("char", &[octet], self.code_sets.char_data))
    }

    /// Reads a `string`; borrowed when it is ASCII or the code set is UTF-8. A length of 0,
    /// which some ORBs send for an empty string, is taken as empty.
    ///
    /// # Errors
    /// `UnexpectedEnd`; `InvalidValue` when the terminating NUL is missing; `DataConversion`
    /// when it is no text in the transmission code set.
    #[inline]
    pub fn read_string(&mut self) -> Result<Cow<'a, str>, Error> {
        if self.is_in_chunks() {
            return self.read_gathered_string();
        }
        let octets = self.read_string_octets()?;
        match std::str::from_utf8(octets) {
            // ASCII is the same in all of them; beyond it the code set decides.
            Ok(text) if self.code_sets.char_data.is_utf_8() || text.is_ascii() => {
                Ok(Cow::Borrowed(text))
            }
            _ => self.latin_text(octets).map(Cow::Owned),
        }
    }

    /// A string that may lie in several chunks.
    #[cold]
    #[inline(never)]
    fn read_gathered_string(&mut self) -> Result<Cow<'a, str>, Error> {
        let length = self.read_ulong()? as usize;
        let mut octets = self.gathered_octets(length)?;
        if length > 0 && (octets.pop() != Some(0) || octets.contains(&0)) {
            return Err(self.unterminated("string", length + 4));
        }
        match String::from_utf8(octets) {
            Ok(text) if self.code_sets.char_data.is_utf_8() || text.is_ascii() => {
                Ok(Cow::Owned(text))
            }
            Ok(text) => self.latin_text(text.as_bytes()).map(Cow::Owned),
            Err(error) => self.latin_text(error.as_bytes()).map(Cow::Owned),
        }
    }

    /// Reads a `string` that must be ASCII or UTF-8 whatever the code sets are, without a copy:
    /// operation names, repository ids (CORBA 3.3 P2 §9.4.2).
    ///
    /// # Errors
    /// As [`Decoder::read_string`].
    #[inline]
    pub fn read_str(&mut self) -> Result<&'a str, Error> {
        let octets = self.read_string_octets()?;
        std::str::from_utf8(octets).map_err(|_| self.not_text("string", octets, CodeSet::UTF_8))
    }

    /// Reads the octets of a `string` without its terminating NUL, not converted.
    ///
    /// # Errors
    /// `UnexpectedEnd`; `InvalidValue` when the terminating NUL is missing, or there is another
    /// one.
    #[inline]
    pub fn read_string_octets(&mut self) -> Result<&'a [u8], Error> {
        let length = self.read_ulong()? as usize;
        if length == 0 {
            return Ok(&[]);
        }
        match self.read_octets(length)?.split_last() {
            Some((0, text)) if !text.contains(&0) => Ok(text),
            _ => Err(self.unterminated("string", length + 4)),
        }
    }

    #[cold]
    fn latin_text(&self, octets: &[u8]) -> Result<String, Error> {
        match self.code_sets.char_data {
            CodeSet::ISO_8859_1 => Ok(octets.iter().copied().map(char::from).collect()),
            code_set => Err(self.not_text("string", octets, code_set)),
        }
    }

    /// Reads a `wchar`: one UTF-16 code unit. In GIOP 1.2 a byte order mark is accepted;
    /// without one it is big-endian (CORBA 3.3 P2 §9.3.1.6).
    ///
    /// # Errors
    /// `UnexpectedEnd`; `WideCharacterInGiop10`; `CodeSetIncompatible`; `DataConversion` for a
    /// character of two code units.
    pub fn read_wchar(&mut self) -> Result<WChar, Error> {
        self.check_wide("wchar")?;
        if self.version < Version::V1_2 {
            return self.read_ushort().map(WChar);
        }
        let length = usize::from(self.read_octet()?);
        let octets = self.read_octets(length)?;
        match *octets {
            [a, b] | [0xfe, 0xff, a, b] => Ok(WChar(u16::from_be_bytes([a, b]))),
            [0xff, 0xfe, a, b] => Ok(WChar(u16::from_le_bytes([a, b]))),
            _ => Err(self.not_text("wchar", octets, self.code_sets.wchar_data)),
        }
    }

    /// Reads a `wstring`. A terminator is dropped, though 1.2 has none; in 1.2 a byte order mark is
    /// accepted and dropped, without one it is big-endian (CORBA 3.3 P2 §9.3.1.6).
    ///
    /// # Errors
    /// `UnexpectedEnd`; `WideCharacterInGiop10`; `CodeSetIncompatible`; `InvalidValue` when the
    /// terminator of 1.1 is missing, or for a NUL elsewhere; `DataConversion` for an odd length
    /// or a lone surrogate.
    pub fn read_wstring(&mut self) -> Result<String, Error> {
        self.check_wide("wstring")?;
        let length = self.read_ulong()? as usize;
        if self.version < Version::V1_2 {
            return self.read_wstring_1_1(length);
        }
        let octets = self.read_together(length)?;
        let octets = octets.as_ref();
        let (order, text) = split_mark(octets).unwrap_or((ByteOrder::BigEndian, octets));
        // Some old ORBs send the terminator here, too.
        self.wide_text(text.strip_suffix(&[0, 0]).unwrap_or(text), order)
    }

    fn read_wstring_1_1(&mut self, length: usize) -> Result<String, Error> {
        let octets = match length.checked_mul(2) {
            // Alignment is given: two octets each after the length.
            Some(octets) => self.read_together(octets)?,
            None => return Err(self.unexpected_end("wstring", usize::MAX)),
        };
        match octets.split_last_chunk::<2>() {
            None => Ok(String::new()),
            // No byte order mark here: the order is that of the message.
            Some((text, [0, 0])) => self.wide_text(text, self.order),
            Some(_) => Err(self.unterminated("wstring", octets.len() + 4)),
        }
    }

    /// Reads octets that may lie in several chunks.
    fn read_together(&mut self, n: usize) -> Result<Cow<'a, [u8]>, Error> {
        if self.is_in_chunks() {
            return self.gathered_octets(n).map(Cow::Owned);
        }
        self.read_octets(n).map(Cow::Borrowed)
    }

    fn wide_text(&self, octets: &[u8], order: ByteOrder) -> Result<String, Error> {
        let (units, rest) = octets.as_chunks::<2>();
        let units = units.iter().map(|unit| code_unit(*unit, order));
        let text: Result<String, _> = char::decode_utf16(units).collect();
        match text {
            Ok(text) if text.contains('\0') => Err(self.unterminated("wstring", octets.len() + 4)),
            Ok(text) if rest.is_empty() => Ok(text),
            _ => Err(self.not_text("wstring", octets, self.code_sets.wchar_data)),
        }
    }

    #[inline]
    fn check_wide(&self, what: &'static str) -> Result<(), Error> {
        if self.version < Version::V1_1 {
            return Err(self.wide_in_giop_10(what));
        }
        if !self.code_sets.wchar_data.is_wchar_supported() {
            return Err(self.wide_code_set(what));
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn wide_in_giop_10(&self, what: &'static str) -> Error {
        let needed = "GIOP 1.1 or later, 1.0 has no wide characters";
        self.error(ErrorKind::WideCharacterInGiop10, what, "GIOP version 1.0", needed)
    }

    #[cold]
    #[inline(never)]
    fn wide_code_set(&self, what: &'static str) -> Error {
        let found = format!("{} as transmission code set", self.code_sets.wchar_data);
        self.error(ErrorKind::CodeSetIncompatible, what, found, "UTF-16 or UCS-2")
    }

    #[cold]
    #[inline(never)]
    fn unterminated(&self, what: &'static str, back: usize) -> Error {
        let needed = "a single one, the last that its length counts";
        let found = "no terminating NUL, or one in its middle";
        self.error_back(back, ErrorKind::InvalidValue, what, found, needed)
    }

    #[cold]
    #[inline(never)]
    fn not_text(&self, what: &'static str, octets: &[u8], code_set: CodeSet) -> Error {
        let shown = octets.get(..octets.len().min(16)).unwrap_or_default();
        let dots = if octets.len() > shown.len() { ", …" } else { "" };
        let found = format!("the octets {shown:02x?}{dots}");
        // Of a string, its text; the length before it was right.
        let back = octets.len() + usize::from(what == "string");
        let needed = format!("text in {code_set}");
        self.error_back(back, ErrorKind::DataConversion, what, found, needed)
    }
}

#[inline]
fn code_unit(octets: [u8; 2], order: ByteOrder) -> u16 {
    match order {
        ByteOrder::BigEndian => u16::from_be_bytes(octets),
        ByteOrder::LittleEndian => u16::from_le_bytes(octets),
    }
}

/// The order that a byte order mark tells, and what follows it.
fn split_mark(octets: &[u8]) -> Option<(ByteOrder, &[u8])> {
    match octets {
        [0xfe, 0xff, text @ ..] => Some((ByteOrder::BigEndian, text)),
        [0xff, 0xfe, text @ ..] => Some((ByteOrder::LittleEndian, text)),
        _ => None,
    }
}
