//! Fixed-size values, lengths and octets (CORBA 3.3 P2 §9.3.1.1 to §9.3.1.4). The hot path: one
//! bounds check, a load, a branch on the byte order.

use super::{Decoder, octets_left};
use crate::{ByteOrder, Error, ErrorKind, LongDouble};

macro_rules! read_method {
    (plain $name:ident $type:ident $idl:literal) => {
        #[doc = concat!("Reads a value of type `", $idl, "`.")]
        ///
        /// # Errors
        /// `UnexpectedEnd`.
        #[inline]
        pub fn $name(&mut self) -> Result<$type, Error> {
            const SIZE: usize = size_of::<$type>();
            let octets = self.take::<SIZE, SIZE>($idl)?;
            Ok(match self.order {
                ByteOrder::BigEndian => <$type>::from_be_bytes(octets),
                ByteOrder::LittleEndian => <$type>::from_le_bytes(octets),
            })
        }
    };
    (own $($_rest:tt)+) => {};
}

macro_rules! read_methods {
    (
        kinds { $(
            $kind:ident $type:ident $type_code:tt ($read:ident $write:ident $codec:ident)
            { $idl:literal $($facts:tt)+ };
        )+ }
        $aliases:ident $rows:tt
    ) => {
        /// The plain ones of the table.
        impl Decoder<'_> {
            $(read_method! { $codec $read $type $idl })+
        }
    };
}
corbie_primitives::primitives!(read_methods);

impl<'a> Decoder<'a> {
    #[inline]
    fn take<const N: usize, const ALIGN: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], Error> {
        // No overflow: a slice is at most isize::MAX octets long.
        let start = (self.position + (ALIGN - 1)) & !(ALIGN - 1);
        match self.data.get(start..).and_then(<[u8]>::first_chunk::<N>) {
            Some(octets) => {
                self.position = start + N;
                Ok(*octets)
            }
            None => self.take_elsewhere::<N, ALIGN>(what),
        }
    }

    /// Takes what is not here: it may be in the next chunk of a value, whose end cuts no primitive.
    #[cold]
    #[inline(never)]
    fn take_elsewhere<const N: usize, const ALIGN: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], Error> {
        let start = self.position.next_multiple_of(ALIGN);
        if self.is_in_chunks() && start >= self.data.len() {
            self.next_chunk(what)?;
            let start = self.position.next_multiple_of(ALIGN);
            if let Some(octets) = self.data.get(start..).and_then(<[u8]>::first_chunk::<N>) {
                self.position = start + N;
                return Ok(*octets);
            }
        }
        if self.is_in_chunks() {
            return Err(self.invalid(what, "the end of a chunk in its midst", "whole primitives"));
        }
        Err(self.unexpected_end(what, start + N - self.position))
    }

    /// Reads a `boolean`.
    ///
    /// # Errors
    /// `UnexpectedEnd`; `InvalidValue` for an octet that is neither 0 nor 1
    /// (CORBA 3.3 P2 §9.3.1.4).
    #[inline]
    pub fn read_boolean(&mut self) -> Result<bool, Error> {
        match self.take::<1, 1>("boolean")? {
            [0] => Ok(false),
            [1] => Ok(true),
            [octet] => Err(self.invalid_boolean(octet)),
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn invalid_boolean(&self, octet: u8) -> Error {
        let (kind, found) = (ErrorKind::InvalidValue, format!("octet {octet}"));
        self.error_back(1, kind, "boolean", found, "0 (FALSE) or 1 (TRUE)")
    }

    /// Reads an `octet` (`uint8`).
    ///
    /// # Errors
    /// `UnexpectedEnd`.
    #[inline]
    pub fn read_octet(&mut self) -> Result<u8, Error> {
        self.take::<1, 1>("octet").map(|[octet]| octet)
    }

    /// Reads an `int8`.
    ///
    /// # Errors
    /// `UnexpectedEnd`.
    #[inline]
    pub fn read_int8(&mut self) -> Result<i8, Error> {
        self.take::<1, 1>("int8").map(|[octet]| octet.cast_signed())
    }

    /// Reads a `long double`: 16 octets, aligned on 8.
    ///
    /// # Errors
    /// `UnexpectedEnd`.
    #[inline]
    pub fn read_longdouble(&mut self) -> Result<LongDouble, Error> {
        let octets = self.take::<16, 8>("long double")?;
        Ok(LongDouble::from_bits(match self.order {
            ByteOrder::BigEndian => u128::from_be_bytes(octets),
            ByteOrder::LittleEndian => u128::from_le_bytes(octets),
        }))
    }

    /// Reads the number of elements of a sequence, each of which takes at least
    /// `min_element_octets` octets, and checks that they can be there.
    ///
    /// # Errors
    /// `UnexpectedEnd`; `LimitExceeded` for more than `sequence_elements`, or more than
    /// `empty_elements` when an element may take no octets.
    #[inline]
    pub fn read_length(&mut self, min_element_octets: usize) -> Result<usize, Error> {
        let length = self.read_ulong()?;
        self.check_length(length, min_element_octets)?;
        Ok(length as usize)
    }

    #[inline]
    fn check_length(&self, length: u32, min_element_octets: usize) -> Result<(), Error> {
        let elements = length as usize;
        if min_element_octets == 0 {
            if length > self.limits.empty_elements {
                return Err(self.too_many("empty_elements", length, self.limits.empty_elements));
            }
        } else if elements.saturating_mul(min_element_octets) > self.remaining() {
            return Err(self.too_few_octets(elements, min_element_octets));
        }
        if length > self.limits.sequence_elements {
            return Err(self.too_many("sequence_elements", length, self.limits.sequence_elements));
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn too_many(&self, limit: &'static str, found: u32, allowed: u32) -> Error {
        let found = format!("a length of {found} elements");
        let needed = format!("at most {allowed} (limit {limit})");
        self.error_back(4, ErrorKind::LimitExceeded, "sequence", found, needed)
    }

    #[cold]
    #[inline(never)]
    fn too_few_octets(&self, elements: usize, each: usize) -> Error {
        let found = format!("a length of {elements} and {}", octets_left(self.remaining()));
        let needed = format!("at least {each} octets for each element");
        self.error_back(4, ErrorKind::UnexpectedEnd, "sequence", found, needed)
    }

    /// Takes `n` octets as they are, unaligned, without a copy.
    ///
    /// # Errors
    /// `UnexpectedEnd`.
    #[inline]
    pub fn read_octets(&mut self, n: usize) -> Result<&'a [u8], Error> {
        match self.data.get(self.position..).and_then(|rest| rest.get(..n)) {
            Some(octets) => {
                self.position += n;
                Ok(octets)
            }
            None if self.is_in_chunks() => self.octets_elsewhere(n),
            None => Err(self.unexpected_end("octets", n)),
        }
    }

    /// Octets of the next chunk of a value.
    #[cold]
    #[inline(never)]
    fn octets_elsewhere(&mut self, n: usize) -> Result<&'a [u8], Error> {
        if self.position == self.data.len() {
            self.next_chunk("octets")?;
        }
        match self.data.get(self.position..).and_then(|rest| rest.get(..n)) {
            Some(octets) => {
                self.position += n;
                Ok(octets)
            }
            None => Err(self.invalid("octets", "the end of a chunk in their midst", "one chunk")),
        }
    }

    /// Reads a `sequence<octet>` without a copy.
    ///
    /// # Errors
    /// `UnexpectedEnd`, `LimitExceeded`.
    #[inline]
    pub fn read_octet_sequence(&mut self) -> Result<&'a [u8], Error> {
        let length = self.read_ulong()?;
        let rest = self.data.get(self.position..).unwrap_or_default();
        if length <= self.limits.sequence_elements
            && let Some(octets) = rest.get(..length as usize)
        {
            self.position += length as usize;
            return Ok(octets);
        }
        self.octet_sequence_elsewhere(length)
    }

    /// A sequence that is too long, or in chunks of a value.
    #[cold]
    #[inline(never)]
    fn octet_sequence_elsewhere(&mut self, length: u32) -> Result<&'a [u8], Error> {
        self.check_length(length, 1)?;
        self.read_octets(length as usize)
    }

    /// Aligns on `N` and takes `n` values of `N` octets each, as octets.
    #[inline]
    pub(crate) fn read_elements<const N: usize>(
        &mut self,
        n: usize,
        align: usize,
    ) -> Result<&'a [[u8; N]], Error> {
        if n == 0 {
            return Ok(&[]);
        }
        self.align(align)?;
        match n.checked_mul(N) {
            Some(octets) => Ok(self.read_octets(octets)?.as_chunks::<N>().0),
            None => Err(self.too_few_octets(n, N)),
        }
    }
}
