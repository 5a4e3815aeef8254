//! Payloads in memory of the application: sent from it and received into it without a copy (paper
//! POA §3.2: special allocators).
//!
//! [`SharedOctets`] are octets that several hold. [`SharedOctets::lend`] sends them by any stub,
//! also when the call returns before they are sent. A [`PayloadAllocator`] gives the memory that
//! large messages are received into, and [`keep`] holds on to a part of it beyond the upcall.

use std::cell::RefCell;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Memory whose octets do not change while it is shared: `Vec<u8>`, `bytes::Bytes`, a mapped file.
///
/// `as_ref` has to return the same octets each time. Where it does not, messages made of them are
/// broken, and nothing else.
pub trait OctetSource: AsRef<[u8]> + Send + Sync + 'static {}

impl<T: AsRef<[u8]> + Send + Sync + 'static> OctetSource for T {}

/// Memory that a message can be received into.
pub trait PayloadMemory: OctetSource + AsMut<[u8]> {}

impl<T: OctetSource + AsMut<[u8]>> PayloadMemory for T {}

/// Gives the memory that large messages are received into: from a pool of the application, from
/// locked or shared memory, from what a device reads.
///
/// ```
/// use corbie_cdr::payload::{PayloadAllocator, PayloadMemory};
/// use std::sync::Arc;
///
/// /// Frames of one size; what is larger is not for us.
/// #[derive(Debug)]
/// struct Frames;
///
/// impl PayloadAllocator for Frames {
///     fn allocate(&self, octets: usize) -> Option<Arc<dyn PayloadMemory>> {
///         const FRAME: usize = 1 << 20;
///         (octets <= FRAME).then(|| Arc::new(vec![0_u8; FRAME]) as Arc<dyn PayloadMemory>)
///     }
/// }
/// assert!(Frames.allocate(2 << 20).is_none());
/// ```
pub trait PayloadAllocator: fmt::Debug + Send + Sync + 'static {
    /// Memory of at least `octets` octets that has no other owner; `None`: the ORB is to use its
    /// own. Called by the thread that receives, when the header of the message was read: what a
    /// peer claims there is at most `message_octets`, but need not be true.
    ///
    /// What is too small, or is shared, is given back and the ORB uses its own. When the last
    /// holder drops the memory, its `Drop` runs: that is where it goes back to a pool.
    fn allocate(&self, octets: usize) -> Option<Arc<dyn PayloadMemory>>;
}

/// Octets in memory that several hold; cheap to clone and to cut.
#[derive(Clone)]
pub struct SharedOctets {
    memory: Arc<dyn OctetSource>,
    /// Within the memory, when that is what it was.
    range: Range<usize>,
}

thread_local! {
    /// What this thread lends, innermost last.
    static LENT: RefCell<Vec<SharedOctets>> = const { RefCell::new(Vec::new()) };
    /// The memory of the message that this thread reads, if it is to be had; innermost last.
    static RECEIVED: RefCell<Vec<Arc<dyn PayloadMemory>>> = const { RefCell::new(Vec::new()) };
}

impl SharedOctets {
    /// All octets of `memory`. One allocation; what is in an `Arc` already needs none:
    /// [`SharedOctets::from_arc`].
    #[must_use]
    pub fn new(memory: impl OctetSource) -> Self {
        Self::from_arc(Arc::new(memory))
    }

    /// All octets of `memory`.
    #[must_use]
    pub fn from_arc(memory: Arc<dyn OctetSource>) -> Self {
        let range = 0..(*memory).as_ref().len();
        SharedOctets { memory, range }
    }

    /// A part of them; what is beyond their end is left out.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let end = range.end.min(self.range.len());
        let start = range.start.min(end);
        let range = self.range.start + start..self.range.start + end;
        SharedOctets { memory: Arc::clone(&self.memory), range }
    }

    /// Runs `call` with the octets, lent to it: a request or reply that is encoded meanwhile on
    /// this thread holds on to them, where it would borrow what has to be copied if it cannot be
    /// sent at once. For asynchronous calls, oneways and replies with much in them.
    ///
    /// ```
    /// use corbie_cdr::{Encoder, payload::SharedOctets};
    /// let frame = SharedOctets::new(vec![7; 1 << 20]);
    /// let mut e = Encoder::native();
    /// frame.lend(|octets| e.write_octet_sequence(octets))?;
    /// assert_eq!(e.len(), 4 + (1 << 20));
    /// # Ok::<(), corbie_cdr::Error>(())
    /// ```
    pub fn lend<'o, T>(&'o self, call: impl FnOnce(&'o [u8]) -> T) -> T {
        let _lent = Lent::new(self.clone());
        call(self)
    }
}

impl Deref for SharedOctets {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        (*self.memory).as_ref().get(self.range.clone()).unwrap_or_default()
    }
}

impl AsRef<[u8]> for SharedOctets {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for SharedOctets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedOctets").field("octets", &self.len()).finish()
    }
}

/// Takes back what is lent, also when the call unwinds.
struct Lent;

impl Lent {
    fn new(octets: SharedOctets) -> Self {
        LENT.with_borrow_mut(|lent| lent.push(octets));
        Lent
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let _ = LENT.try_with(|lent| lent.borrow_mut().pop());
    }
}

/// Where `octets` lie within `whole`, if they do.
fn place(octets: &[u8], whole: &[u8]) -> Option<Range<usize>> {
    let start = octets.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    let end = start.checked_add(octets.len())?;
    (end <= whole.len()).then_some(start..end)
}

/// `octets` as shared ones, when they are lent to this thread.
pub(crate) fn lent(octets: &[u8]) -> Option<SharedOctets> {
    LENT.with_borrow(|lent| {
        let find = |shared: &SharedOctets| Some(shared.slice(place(octets, shared)?));
        lent.iter().rev().find_map(find)
    })
}

/// Holds on to `octets`, which a servant got as an argument or a client as a result, beyond the
/// upcall: without a copy when the message was received into memory of a [`PayloadAllocator`], and
/// as a copy otherwise. To be called by the thread that was given them.
#[must_use]
pub fn keep(octets: &[u8]) -> SharedOctets {
    let received = RECEIVED.with_borrow(|received| {
        received.iter().rev().find_map(|memory| {
            let range = place(octets, (**memory).as_ref())?;
            Some(SharedOctets { memory: Arc::clone(memory) as Arc<dyn OctetSource>, range })
        })
    });
    received.unwrap_or_else(|| SharedOctets::new(octets.to_vec()))
}

/// Runs `read`, which may [`keep`] octets of `memory`: for the thread that hands out a received
/// message.
pub fn reading<T>(memory: Option<&Arc<dyn PayloadMemory>>, read: impl FnOnce() -> T) -> T {
    struct Reading;
    impl Drop for Reading {
        fn drop(&mut self) {
            let _ = RECEIVED.try_with(|received| received.borrow_mut().pop());
        }
    }
    let Some(memory) = memory else { return read() };
    RECEIVED.with_borrow_mut(|received| received.push(Arc::clone(memory)));
    let _reading = Reading;
    read()
}
