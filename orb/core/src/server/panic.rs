//! A servant that panicked: which exception its caller gets, and what the log says.
//!
//! What a panic leaves behind does not say where it was. So a hook, put before the one that the
//! application has, writes the place down for the thread that panics.

use corbie_transport::PeerAddress;
use corbie_types::{CompletionStatus, SystemException, minor};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Where this thread panicked last.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has the places of panics written down from now on. The hook that the application has set is
/// called as before; one that it sets later replaces this one, and places are unknown then.
pub(super) fn note_places() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A thread that ends has no record any more.
            let _ = PLACE.try_with(|place| place.replace(info.location().map(ToString::to_string)));
            before(info);
        }));
    });
}

/// Runs application code that serves a request of `peer`.
///
/// # Errors
/// What it raised; `UNKNOWN` (`COMPLETED_MAYBE`) when it panicked.
pub fn caught<R>(
    operation: &str,
    peer: Option<PeerAddress>,
    code: impl FnOnce() -> Result<R, SystemException>,
) -> Result<R, SystemException> {
    catch_unwind(AssertUnwindSafe(code))
        .unwrap_or_else(|payload| Err(panicked(operation, peer, &*payload)))
}

/// The exception for a servant that panicked; `peer`: the caller, if that was another process.
#[cold]
pub(crate) fn panicked(
    operation: &str,
    peer: Option<PeerAddress>,
    panic: &(dyn Any + Send),
) -> SystemException {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or_default();
    let place = PLACE.take().unwrap_or_else(|| "a place that is not known".to_owned());
    tracing::error!(operation, ?peer, place, text, "a servant panicked");
    minor::UNKNOWN_SERVANT_PANIC.raise(
        CompletionStatus::Maybe,
        format!("the servant panicked in {operation} at {place}: {text}"),
    )
}
