//! Little-endian numbers out of octets that may be anything.
//!
//! What is too short has none: nothing here fails.

/// What is left to read.
pub(super) struct Octets<'o>(pub(super) &'o [u8]);

impl<'o> Octets<'o> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'o [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Octets with their length before them.
    pub(super) fn block(&mut self) -> Option<&'o [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        self.take(length)
    }
}
