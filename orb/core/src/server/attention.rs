//! Whether there is anything that wants to look at requests before their upcall: one word, so that
//! a request costs one branch when there is nothing.

use std::sync::atomic::{AtomicU8, Ordering};

/// Access rules.
const ACCESS: u8 = 1 << 0;
/// Interceptors.
const INTERCEPTORS: u8 = 1 << 1;
/// The application has a `Current`.
const CURRENT: u8 = 1 << 2;
/// Each request is a span.
const SPANS: u8 = 1 << 3;

/// What wants to look. Nothing of it is ever taken back.
#[derive(Default)]
pub(crate) struct Attention(AtomicU8);

impl Attention {
    /// Whether anything wants to look.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Access rules were set.
    pub(crate) fn want_access(&self) {
        self.0.fetch_or(ACCESS, Ordering::Release);
    }

    /// Interceptors were registered.
    pub(crate) fn want_interceptors(&self) {
        self.0.fetch_or(INTERCEPTORS, Ordering::Release);
    }

    /// The application asked for a `Current`.
    pub(crate) fn want_current(&self) {
        self.0.fetch_or(CURRENT, Ordering::Release);
    }

    /// The setting `request_spans` is on.
    pub(crate) fn want_spans(&self) {
        self.0.fetch_or(SPANS, Ordering::Release);
    }

    /// Whether each request is a span.
    pub(crate) fn are_spans_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed) & SPANS != 0
    }

    /// Whether the application has a `Current`.
    pub(crate) fn is_current_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed) & CURRENT != 0
    }
}
