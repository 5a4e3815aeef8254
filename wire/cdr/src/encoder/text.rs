//! Characters and strings, in the transmission code sets (CORBA 3.3 P2 §9.3.1.5, §9.3.1.6,
//! §9.3.2.7). ASCII text in any `char` code set is copied as it is.

use super::Encoder;
use crate::{CodeSet, Error, ErrorKind, Version, WChar};

impl Encoder<'_> {
    /// Writes a `char`: one octet.
    ///
    /// # Errors
    /// `DataConversion` when the character has no single octet in the transmission code set.
    #[inline]
    pub fn write_char(&mut self, value: char) -> Result<(), Error> {
        let octet = self.char_octet(value)?;
        self.has_text = true;
        self.write_octet(octet);
        Ok(())
    }

    #[inline]
    fn char_octet(&self, value: char) -> Result<u8, Error> {
        match u8::try_from(value) {
            Ok(octet) if octet.is_ascii() => Ok(octet),
            Ok(octet) if self.code_sets.char_data.has_latin_octets() => Ok(octet),
            _ => Err(self.unrepresentable("char", value, self.code_sets.char_data)),
        }
    }

    /// Writes a `string`: length with the terminating NUL, octets, NUL.
    ///
    /// # Errors
    /// `BadParameter` when it contains a NUL; `DataConversion` when a character has no place in
    /// the transmission code set.
    #[inline]
    pub fn write_string(&mut self, value: &str) -> Result<(), Error> {
        self.has_text = true;
        if !self.code_sets.char_data.is_utf_8() && !value.is_ascii() {
            return self.write_latin_string(value);
        }
        self.write_str(value)
    }

    /// Writes a `string` as UTF-8 whatever the code sets are: operation names, repository ids.
    /// The counterpart of [`Decoder::read_str`](crate::Decoder::read_str).
    ///
    /// # Errors
    /// `BadParameter` when it contains a NUL.
    #[inline]
    pub fn write_str(&mut self, value: &str) -> Result<(), Error> {
        let octets = value.as_bytes();
        if octets.contains(&0) {
            return Err(self.embedded_nul("string"));
        }
        self.write_length(octets.len() + 1)?;
        self.write_octets(octets);
        self.write_octet(0);
        Ok(())
    }

    #[cold]
    fn write_latin_string(&mut self, value: &str) -> Result<(), Error> {
        if value.contains('\0') {
            return Err(self.embedded_nul("string"));
        }
        self.write_length(value.chars().count() + 1)?;
        for c in value.chars() {
            let octet = self.char_octet(c)?;
            self.write_octet(octet);
        }
        self.write_octet(0);
        Ok(())
    }

    /// Writes a `wchar`: in GIOP 1.1 two octets in the order of the message, in 1.2 a length
    /// octet and two octets, most significant first (CORBA 3.3 P2 §9.3.1.6: without byte order
    /// mark UTF-16 is big-endian).
    ///
    /// # Errors
    /// `WideCharacterInGiop10`; `CodeSetIncompatible`; `DataConversion` for half a surrogate
    /// pair in UCS-2.
    #[inline]
    pub fn write_wchar(&mut self, value: WChar) -> Result<(), Error> {
        self.check_wide("wchar")?;
        if self.version < Version::V1_2 {
            self.write_ushort(value.0);
            return Ok(());
        }
        self.write_octet(2);
        self.write_octets(&value.0.to_be_bytes());
        Ok(())
    }

    /// Writes a `wstring`: in GIOP 1.1 the number of characters with the terminator and two
    /// octets each in the order of the message; in 1.2 the number of octets, then UTF-16 most
    /// significant octet first, without byte order mark and without terminator.
    ///
    /// # Errors
    /// `WideCharacterInGiop10`; `CodeSetIncompatible`; `BadParameter` when it contains a NUL;
    /// `DataConversion` for a character beyond U+FFFF in UCS-2.
    pub fn write_wstring(&mut self, value: &str) -> Result<(), Error> {
        self.check_wide("wstring")?;
        let mut units = 0;
        for c in value.chars() {
            if c == '\0' {
                return Err(self.embedded_nul("wstring"));
            }
            if c.len_utf16() > 1 && self.code_sets.wchar_data == CodeSet::UCS_2 {
                return Err(self.unrepresentable("wstring", c, CodeSet::UCS_2));
            }
            units += c.len_utf16();
        }
        if self.version < Version::V1_2 {
            self.write_length(units + 1)?;
            value.encode_utf16().for_each(|unit| self.write_ushort(unit));
            self.write_ushort(0);
            return Ok(());
        }
        // Text that begins like a byte order mark needs one before it, to be read back as text.
        let marked = value.starts_with(['\u{feff}', '\u{fffe}']);
        self.write_length((units + usize::from(marked)) * 2)?;
        if marked {
            self.write_octets(&[0xfe, 0xff]);
        }
        value.encode_utf16().for_each(|unit| self.write_octets(&unit.to_be_bytes()));
        Ok(())
    }

    #[inline]
    fn check_wide(&mut self, what: &'static str) -> Result<(), Error> {
        if self.version < Version::V1_1 {
            return Err(self.wide_in_giop_10(what));
        }
        if !self.code_sets.wchar_data.is_wchar_supported() {
            return Err(self.wide_code_set(what));
        }
        self.has_text = true;
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
    fn embedded_nul(&self, what: &'static str) -> Error {
        let needed = "text without NUL, which CDR takes for its end";
        self.error(ErrorKind::BadParameter, what, "a NUL character", needed)
    }

    #[cold]
    #[inline(never)]
    fn unrepresentable(&self, what: &'static str, c: char, code_set: CodeSet) -> Error {
        let found = format!("{c:?} (U+{:04X})", u32::from(c));
        let needed = format!("a character that {code_set} has");
        self.error(ErrorKind::DataConversion, what, found, needed)
    }
}
