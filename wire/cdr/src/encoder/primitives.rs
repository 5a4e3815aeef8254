//! Fixed-size values, lengths and octets (CORBA 3.3 P2 §9.3.1.1 to §9.3.1.4): aligned on their
//! size, `long double` on 8. The hot path: a branch on the byte order, a store.

use super::{Chunk, Encoder};
use crate::{ByteOrder, Error, ErrorKind, LongDouble};

macro_rules! write_primitives {
    ($($(#[$doc:meta])* $name:ident($type:ty);)+) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(&mut self, value: $type) {
            self.align(size_of::<$type>());
            let octets = match self.order {
                ByteOrder::BigEndian => value.to_be_bytes(),
                ByteOrder::LittleEndian => value.to_le_bytes(),
            };
            self.buffer.extend_from_slice(&octets);
        }
    )+};
}

impl<'a> Encoder<'a> {
    /// Writes a `boolean`: one octet, 1 or 0.
    #[inline]
    pub fn write_boolean(&mut self, value: bool) {
        self.buffer.push(u8::from(value));
    }

    /// Writes an `octet` (`uint8`).
    #[inline]
    pub fn write_octet(&mut self, value: u8) {
        self.buffer.push(value);
    }

    /// Writes an `int8`.
    #[inline]
    pub fn write_int8(&mut self, value: i8) {
        self.buffer.push(value.cast_unsigned());
    }

    write_primitives! {
        /// Writes a `short` (`int16`).
        write_short(i16);
        /// Writes an `unsigned short` (`uint16`).
        write_ushort(u16);
        /// Writes a `long` (`int32`).
        write_long(i32);
        /// Writes an `unsigned long` (`uint32`).
        write_ulong(u32);
        /// Writes a `long long` (`int64`).
        write_longlong(i64);
        /// Writes an `unsigned long long` (`uint64`).
        write_ulonglong(u64);
        /// Writes a `float`.
        write_float(f32);
        /// Writes a `double`.
        write_double(f64);
    }

    /// Writes a `long double`: 16 octets, aligned on 8.
    #[inline]
    pub fn write_longdouble(&mut self, value: LongDouble) {
        self.align(8);
        let octets = match self.order {
            ByteOrder::BigEndian => value.to_bits().to_be_bytes(),
            ByteOrder::LittleEndian => value.to_bits().to_le_bytes(),
        };
        self.buffer.extend_from_slice(&octets);
    }

    /// Writes the length of a sequence or string as `unsigned long`.
    ///
    /// # Errors
    /// `BadParameter` when it does not fit.
    #[inline]
    pub fn write_length(&mut self, length: usize) -> Result<(), Error> {
        let length = self.checked_length(length)?;
        self.write_ulong(length);
        Ok(())
    }

    #[inline]
    pub(super) fn checked_length(&self, length: usize) -> Result<u32, Error> {
        u32::try_from(length).map_err(|_| self.length_exceeded(length))
    }

    #[cold]
    #[inline(never)]
    fn length_exceeded(&self, length: usize) -> Error {
        let found = format!("{length} elements or octets");
        self.error(ErrorKind::BadParameter, "length", found, "at most 4294967295")
    }

    /// Writes octets as they are, unaligned, copied.
    #[inline]
    pub fn write_octets(&mut self, octets: &[u8]) {
        self.buffer.extend_from_slice(octets);
    }

    /// Writes octets as they are, unaligned, without a copy when they are
    /// [`Encoder::BORROW_THRESHOLD`] or more and there is room for one more chunk.
    #[inline]
    pub fn write_borrowed_octets(&mut self, octets: &'a [u8]) {
        if octets.len() >= Self::BORROW_THRESHOLD && !self.chunks.is_full() {
            self.chunks.push(Chunk { at: self.buffer.len(), octets });
            self.shift = self.shift.wrapping_add(octets.len());
            self.borrowed += octets.len();
        } else {
            self.buffer.extend_from_slice(octets);
        }
    }

    /// Writes a `sequence<octet>`: length and octets, borrowed when large.
    ///
    /// # Errors
    /// `BadParameter` when it is 4 GiB or longer.
    #[inline]
    pub fn write_octet_sequence(&mut self, octets: &'a [u8]) -> Result<(), Error> {
        self.write_length(octets.len())?;
        self.write_borrowed_octets(octets);
        Ok(())
    }

    /// Writes a `sequence<octet>`, copied whatever its size.
    ///
    /// # Errors
    /// `BadParameter` when it is 4 GiB or longer.
    #[inline]
    pub fn write_octet_sequence_copied(&mut self, octets: &[u8]) -> Result<(), Error> {
        self.write_length(octets.len())?;
        self.buffer.extend_from_slice(octets);
        Ok(())
    }

    /// Aligns on `N` and writes what `swap` makes of each value; for bulk primitives in the
    /// order that is not this machine's.
    pub(crate) fn write_converted<T: Copy, const N: usize>(
        &mut self,
        values: &[T],
        convert: impl Fn(T) -> [u8; N],
    ) {
        let start = self.buffer.len();
        self.buffer.resize(start + values.len() * N, 0);
        let slots = self.buffer.get_mut(start..).unwrap_or_default();
        for (slot, value) in slots.as_chunks_mut::<N>().0.iter_mut().zip(values) {
            *slot = convert(*value);
        }
    }
}
