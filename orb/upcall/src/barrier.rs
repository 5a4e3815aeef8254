//! The two halves of an asymmetric barrier: the one of a call costs nothing, the one of closing is
//! dear.
//!
//! Where the kernel has `membarrier`, [`light`] is only for the compiler, and [`heavy`] has every
//! thread of the process pass a full barrier. Elsewhere both are fences.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

/// Whether [`heavy`] reaches the other threads. Written before the first gate exists, so every call
/// of [`light`] sees the value that [`heavy`] goes by.
static REACHES_OTHERS: AtomicBool = AtomicBool::new(false);
static PREPARED: Once = Once::new();

/// To be called before anything can be entered.
pub(crate) fn prepare() {
    PREPARED.call_once(|| REACHES_OTHERS.store(register(), Ordering::SeqCst));
}

/// A thread that calls [`heavy`] meanwhile sees afterwards what this thread wrote before, or this
/// thread sees afterwards what that one wrote before.
#[inline(always)]
pub(crate) fn light() {
    if REACHES_OTHERS.load(Ordering::Relaxed) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// The other half of [`light`].
pub(crate) fn heavy() {
    fence(Ordering::SeqCst);
    if REACHES_OTHERS.load(Ordering::Relaxed) {
        reach_others();
    }
    fence(Ordering::SeqCst);
}

#[cfg(target_os = "linux")]
fn register() -> bool {
    use rustix::thread::{MembarrierCommand, membarrier};
    membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}

#[cfg(target_os = "linux")]
fn reach_others() {
    use rustix::thread::{MembarrierCommand, membarrier};
    if membarrier(MembarrierCommand::PrivateExpedited).is_ok() {
        return;
    }
    // A child process after `fork` may have to register anew.
    if !register() || membarrier(MembarrierCommand::PrivateExpedited).is_err() {
        tracing::error!("membarrier worked before and fails now: an object may close too early");
    }
}

#[cfg(not(target_os = "linux"))]
fn register() -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn reach_others() {}
