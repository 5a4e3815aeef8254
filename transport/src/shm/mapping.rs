//! The memory that two processes share: the only file here with `unsafe`.
//!
//! A [`Mapping`] is a sealed memory file, mapped, and given out as atomics only: the other process
//! may write whatever it likes, whenever it likes. An atomic load yields one value, which the
//! compiler neither splits, repeats nor assumes to stay; so what a hostile peer writes while we
//! read is wrong octets and never undefined behaviour. The seals keep the file from being made
//! shorter, so that no access is a signal. Used by `segment`; `ring` gives the words a meaning.

#![allow(unsafe_code)]

use super::ring::{Consumer, Control, Octets};
use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// What precedes the rings: the control words of both.
pub(super) const HEADER_OCTETS: usize = 4096;

/// The sizes that a ring may have; powers of two.
pub(super) const RING_OCTETS: std::ops::RangeInclusive<u32> = 4 << 10..=16 << 20;

/// The mapped memory of one connection: control words, then two rings.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    ring_octets: u32,
}

/// How long the file of a connection with rings of `ring_octets` is.
pub(super) fn file_octets(ring_octets: u32) -> usize {
    HEADER_OCTETS + 2 * ring_octets as usize
}

impl Mapping {
    /// Maps `file`, which was made for rings of `ring_octets`. Its pages are made now, so that no
    /// call meets a page fault.
    ///
    /// # Errors
    /// `InvalidData` when the file could become shorter than what is mapped, or has another size;
    /// else what the system says.
    pub(super) fn new(file: impl AsFd, ring_octets: u32) -> io::Result<Mapping> {
        let file = file.as_fd();
        if !RING_OCTETS.contains(&ring_octets) || !ring_octets.is_power_of_two() {
            return Err(refused(&format!("rings of {ring_octets} octets are offered")));
        }
        let octets = file_octets(ring_octets);
        let seals = fcntl_get_seals(file)?;
        if !seals.contains(SealFlags::SHRINK) {
            return Err(refused("the file can be made shorter"));
        }
        let size = fstat(file)?.st_size;
        if u64::try_from(size) != Ok(octets as u64) {
            return Err(refused(&format!("the file has {size} octets, not {octets}")));
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: the address is the system's choice, so nothing that exists is replaced.
        let base = unsafe { mmap(std::ptr::null_mut(), octets, access, flags, file, 0)? };
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { base, ring_octets })
    }

    /// The control words of ring `index`, 0 or 1.
    #[inline]
    pub(super) fn control(&self, index: usize) -> &Control<AtomicU32> {
        // SAFETY: the mapping begins with HEADER_OCTETS octets, which hold both (asserted below),
        // at the beginning of a page, so they are aligned. They are atomics, valid whatever their
        // octets are, and live as long as `self`. Nothing else refers to these octets.
        let both = unsafe { self.base.cast::<[Control<AtomicU32>; 2]>().as_ref() };
        &both[index]
    }

    /// How a connection begins: the first message of either side rings, since an event loop may
    /// come to watch after it was sent.
    pub(super) fn arm_both(&self) {
        for index in [0, 1] {
            Consumer::default().arm(self.control(index));
        }
    }

    /// The octets of ring `index`, 0 or 1.
    #[inline]
    pub(super) fn octets(&self, index: usize) -> SharedOctets<'_> {
        let octets = self.ring_octets as usize;
        let offset = HEADER_OCTETS + (index & 1) * octets;
        // SAFETY: the mapping has HEADER_OCTETS and twice `octets` octets, so the result is inside.
        let first = unsafe { self.base.add(offset) };
        // SAFETY: `octets` octets from here are mapped (see above) and live as long as `self`; the
        // offset and the length are multiples of 4096, so words are aligned. Both views are of
        // atomics, valid whatever the octets are. That they overlap matters only where one octet
        // is accessed through both at once: `ring` never gives the same octet to reader and writer,
        // and what the other process does is nothing that the language knows of.
        let (words, single) = unsafe {
            let words = std::slice::from_raw_parts(first.cast::<AtomicU64>().as_ptr(), octets / 8);
            (words, std::slice::from_raw_parts(first.cast::<AtomicU8>().as_ptr(), octets))
        };
        SharedOctets { words, single }
    }
}

const _: () = assert!(size_of::<[Control<AtomicU32>; 2]>() <= HEADER_OCTETS);
const _: () = assert!(align_of::<Control<AtomicU32>>() <= 4096);

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives out nothing but atomics.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what was mapped, and every reference into it borrows from `self`.
        // It can only fail for arguments that were never mapped.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), file_octets(self.ring_octets)) };
    }
}

/// The octets of one ring, as words and one by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedOctets<'m> {
    words: &'m [AtomicU64],
    single: &'m [AtomicU8],
}

const WORD: usize = size_of::<u64>();

impl SharedOctets<'_> {
    /// The place of position `at`, and how many of `octets` follow before the ring's end.
    #[inline]
    fn place(&self, at: u32, octets: usize) -> (usize, usize) {
        let at = at as usize & (self.single.len() - 1);
        (at, octets.min(self.single.len() - at))
    }

    #[inline]
    fn store(&self, at: usize, from: &[u8]) {
        let (head, from) = from.split_at((at.next_multiple_of(WORD) - at).min(from.len()));
        let (whole, tail) = from.as_chunks::<WORD>();
        for (octet, value) in self.single[at..].iter().zip(head) {
            octet.store(*value, Ordering::Relaxed);
        }
        let at = at + head.len();
        for (word, value) in self.words[at / WORD..].iter().zip(whole) {
            word.store(u64::from_ne_bytes(*value), Ordering::Relaxed);
        }
        let at = at + whole.len() * WORD;
        for (octet, value) in self.single[at..].iter().zip(tail) {
            octet.store(*value, Ordering::Relaxed);
        }
    }

    #[inline]
    fn load(&self, at: usize, into: &mut [u8]) {
        let (head, into) = into.split_at_mut((at.next_multiple_of(WORD) - at).min(into.len()));
        let (whole, tail) = into.as_chunks_mut::<WORD>();
        for (octet, value) in self.single[at..].iter().zip(&mut *head) {
            *value = octet.load(Ordering::Relaxed);
        }
        let at = at + head.len();
        for (word, value) in self.words[at / WORD..].iter().zip(&mut *whole) {
            *value = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        let at = at + whole.len() * WORD;
        for (octet, value) in self.single[at..].iter().zip(tail) {
            *value = octet.load(Ordering::Relaxed);
        }
    }
}

impl Octets for SharedOctets<'_> {
    #[inline]
    fn capacity(&self) -> u32 {
        self.single.len() as u32
    }

    #[inline]
    fn write(&self, at: u32, from: &[u8]) {
        let (place, octets) = self.place(at, from.len());
        let (first, rest) = from.split_at(octets);
        self.store(place, first);
        if !rest.is_empty() {
            self.store(0, rest);
        }
    }

    #[inline]
    fn read(&self, at: u32, into: &mut [u8]) {
        let (place, octets) = self.place(at, into.len());
        let (first, rest) = into.split_at_mut(octets);
        self.load(place, first);
        if !rest.is_empty() {
            self.load(0, rest);
        }
    }
}

#[cold]
fn refused(why: &str) -> io::Error {
    let text = format!("the shared memory that the peer offers is refused: {why}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
