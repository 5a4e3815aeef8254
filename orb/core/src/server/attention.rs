//! What wants to look at requests before their upcall: one word, so that a request costs one branch
//! when nothing does.

use std::sync::atomic::{AtomicU8, Ordering};

/// What wants to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Wanted {
    /// Access rules.
    Access = 1 << 0,
    /// Hooks of the server (`Orb::set_server_interceptors`).
    Hooks = 1 << 1,
    /// Portable interceptors.
    Interceptors = 1 << 2,
    /// The application has a `Current`.
    Current = 1 << 3,
    /// Each request is a span.
    Spans = 1 << 4,
    /// Rules of egress: references that are read from requests remember which peer sent them.
    Givers = 1 << 5,
    /// The server knows users, or requires them.
    Users = 1 << 6,
}

/// All that wants to look. Nothing of it is ever taken back.
#[derive(Default)]
pub(crate) struct Attention(AtomicU8);

impl Attention {
    /// From now on this wants to look; to be called when it can.
    pub(crate) fn want(&self, what: Wanted) {
        self.0.fetch_or(what as u8, Ordering::Release);
    }

    /// What wants to look now.
    #[inline]
    pub(crate) fn now(&self) -> Looking {
        Looking(self.0.load(Ordering::Relaxed))
    }

    /// Whether this wants to look.
    #[inline]
    pub(crate) fn has(&self, what: Wanted) -> bool {
        self.now().has(what)
    }
}

/// What wanted to look when it was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looking(u8);

impl Looking {
    /// Whether anything did.
    #[inline]
    pub(crate) fn is_any(self) -> bool {
        self.0 != 0
    }

    /// Whether this did.
    #[inline]
    pub(crate) fn has(self, what: Wanted) -> bool {
        self.0 & what as u8 != 0
    }
}
