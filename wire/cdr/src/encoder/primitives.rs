//! Fixed-size values, lengths and octets (CORBA 3.3 P2 §9.3.1.1 to §9.3.1.4): aligned on their
//! size, `long double` on 8. The hot path: a branch on the byte order, a store.

use super::{Chunk, Elsewhere, Encoder};
use crate::payload::{self, SharedOctets};
use crate::{ByteOrder, Error, ErrorKind, LongDouble};

macro_rules! write_method {
    (plain $name:ident $type:ident $idl:literal) => {
        #[doc = concat!("Writes a value of type `", $idl, "`.")]
        #[inline]
        pub fn $name(&mut self, value: $type) {
            self.align(size_of::<$type>());
            let octets = match self.order {
                ByteOrder::BigEndian => value.to_be_bytes(),
                ByteOrder::LittleEndian => value.to_le_bytes(),
            };
            self.put(&octets);
        }
    };
    (own $($_rest:tt)+) => {};
}

macro_rules! write_methods {
    (
        kinds { $(
            $kind:ident $type:ident $type_code:tt ($read:ident $write:ident $codec:ident)
            { $idl:literal $($facts:tt)+ };
        )+ }
        $aliases:ident $rows:tt
    ) => {
        /// The plain ones of the table.
        impl Encoder<'_> {
            $(write_method! { $codec $write $type $idl })+
        }
    };
}
corbie_primitives::primitives!(write_methods);

impl<'a> Encoder<'a> {
    /// Writes octets that lie in one piece.
    #[inline]
    fn put<const N: usize>(&mut self, octets: &[u8; N]) {
        if self.room() >= N {
            self.buffer.extend_from_slice(octets);
        } else {
            self.write_behind(octets);
        }
    }

    /// Writes a `boolean`: one octet, 1 or 0.
    #[inline]
    pub fn write_boolean(&mut self, value: bool) {
        self.put(&[u8::from(value)]);
    }

    /// Writes an `octet` (`uint8`).
    #[inline]
    pub fn write_octet(&mut self, value: u8) {
        self.put(&[value]);
    }

    /// Writes an `int8`.
    #[inline]
    pub fn write_int8(&mut self, value: i8) {
        self.put(&[value.cast_unsigned()]);
    }

    /// Writes a `long double`: 16 octets, aligned on 8.
    #[inline]
    pub fn write_longdouble(&mut self, value: LongDouble) {
        self.align(8);
        let octets = match self.order {
            ByteOrder::BigEndian => value.to_bits().to_be_bytes(),
            ByteOrder::LittleEndian => value.to_bits().to_le_bytes(),
        };
        self.put(&octets);
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
        if self.room() >= octets.len() {
            self.buffer.extend_from_slice(octets);
        } else {
            self.write_across(octets);
        }
    }

    /// Writes octets as they are, unaligned, without a copy when they are
    /// [`Encoder::BORROW_THRESHOLD`] or more and there is room for one more chunk.
    #[inline]
    pub fn write_borrowed_octets(&mut self, octets: &'a [u8]) {
        if octets.len() >= Self::BORROW_THRESHOLD && !self.chunks.is_full() {
            self.borrow_octets(octets);
        } else {
            self.write_octets(octets);
        }
    }

    #[inline(never)]
    fn borrow_octets(&mut self, octets: &'a [u8]) {
        match payload::lent(octets) {
            _ if self.is_copying() => self.write_octets(octets),
            None => self.chunk(Elsewhere::Borrowed(octets), octets.len()),
            Some(shared) => self.share(shared),
        }
    }

    /// As [`Encoder::write_borrowed_octets`], for octets that the encoder is to hold on to.
    pub fn write_shared_octets(&mut self, octets: SharedOctets) {
        let is_large = octets.len() >= Self::BORROW_THRESHOLD;
        if is_large && !self.chunks.is_full() && !self.is_copying() {
            self.share(octets);
        } else {
            self.write_octets(&octets);
        }
    }

    fn share(&mut self, octets: SharedOctets) {
        // No more than chunks.
        let (number, length) = (self.shared.len() as u32, octets.len());
        self.shared.push(octets);
        self.chunk(Elsewhere::Shared(number), length);
    }

    /// There is room for one more chunk.
    fn chunk(&mut self, octets: Elsewhere<'a>, length: usize) {
        self.chunks.push(Chunk { at: self.own_len(), octets });
        self.shift = self.shift.wrapping_add(length);
        self.borrowed += length;
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
        self.write_octets(octets);
        Ok(())
    }

    /// Writes what `convert` makes of each value, `N` octets each; for bulk primitives in the order
    /// that is not this machine's.
    pub(crate) fn write_converted<T: Copy, const N: usize>(
        &mut self,
        values: &[T],
        convert: impl Fn(T) -> [u8; N],
    ) {
        let mut rest = values;
        while !rest.is_empty() {
            self.make_room(self.wanted_block(rest.len().saturating_mul(N), N));
            let (now, later) = rest.split_at(rest.len().min(self.room() / N));
            let start = self.buffer.len();
            self.buffer.resize(start + now.len() * N, 0);
            let slots = self.buffer.get_mut(start..).unwrap_or_default();
            for (slot, value) in slots.as_chunks_mut::<N>().0.iter_mut().zip(now) {
                *slot = convert(*value);
            }
            rest = later;
        }
    }
}
