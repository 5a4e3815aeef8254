//! Of the request that a thread serves, for servants of generated code, which get arguments only:
//! the peer that sent it, which service contexts came with it, and which go back with its reply.
//!
//! Requests are shown to their thread once an application has asked for a [`Current`]
//! ([`Orb::current`]). Before that they cost one branch, which access rules and interceptors share
//! (`admission`). A call of this process costs nothing at all: it is known by the upcalls of its
//! thread, of which there are more than the request that is shown has.

use crate::Orb;
use crate::portable_interceptor::ServiceContext;
use crate::server::service_contexts::RequestContext;
use crate::server::{Caller, Wanted};
use corbie_threads::thread::is_serving;
use corbie_transport::{PeerAddress, PeerIdentity};
use corbie_types::{SystemException, minor};
use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

/// Tells a servant of the request that the calling thread serves: in every kind of servant, `async`
/// ones wherever their future runs.
///
/// Made by [`Orb::current`], before the first request comes. All values are alike: each method
/// tells of the thread that calls it, and of the innermost call.
///
/// ```
/// # use corbie_core::{Orb, server::{Current, ServiceContext}};
/// # use corbie_types::SystemException;
/// struct Account { current: Current } // made with `orb.current()`
///
/// impl Account {
///     fn withdraw(&self) -> Result<(), SystemException> {
///         tracing::info!(peer = %self.current.peer()?, "a withdrawal");
///         self.current.set_reply_context(ServiceContext::new(0x434f_5201, [1, 2, 3]))
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Current(());

impl Orb {
    /// What tells servants of the requests that they serve. From the first call on, requests of
    /// this ORB are written down for it, which costs each an allocation; so it is to be called
    /// before the first request, best before the POA manager is activated.
    #[must_use]
    pub fn current(&self) -> Current {
        self.server().attention.want(Wanted::Current);
        Current(())
    }
}

impl Current {
    /// The peer that called: its address, over a unix-domain socket its process and user, over TLS
    /// its certificate; and the user, as [`Current::user`]. [`PeerAddress::Here`] for a call of
    /// this process without a message.
    ///
    /// # Errors
    /// `BAD_INV_ORDER` (`COMPLETED_NO`) when the calling thread serves no request, or one that came
    /// before the first [`Orb::current`] of its ORB.
    pub fn peer(&self) -> Result<PeerIdentity, SystemException> {
        innermost(RequestContext::peer, || PeerIdentity::from(PeerAddress::Here))
    }

    /// The user that the request is made for, as CSIv2 says it: proven by a password, or asserted
    /// by a peer that is trusted to (the book: "Users"). `None`: no user, as for a call of this
    /// process.
    ///
    /// # Errors
    /// As [`Current::peer`].
    pub fn user(&self) -> Result<Option<String>, SystemException> {
        let user = |context: &RequestContext| context.caller()?.user().map(|user| (**user).into());
        innermost(user, || None)
    }

    /// The service contexts that came with the request, in their order; none for a call of this
    /// process without a message.
    ///
    /// # Errors
    /// As [`Current::peer`]; `IMP_LIMIT` (`COMPLETED_NO`) when they have more than 16 KiB.
    pub fn request_contexts(&self) -> Result<Vec<ServiceContext>, SystemException> {
        let read = |context: &RequestContext| context.came().map(<[_]>::to_vec);
        innermost(read, || Ok(Vec::new()))?
    }

    /// The data of the service context `id` that came with the request, if one did.
    ///
    /// # Errors
    /// As [`Current::request_contexts`].
    pub fn request_context(&self, id: u32) -> Result<Option<Vec<u8>>, SystemException> {
        let read = |context: &RequestContext| {
            let found = context.came()?.iter().find(|one| one.id == id);
            Ok(found.map(|one| one.data.clone()))
        };
        innermost(read, || Ok(None))?
    }

    /// Has `context` go back with the reply, whether that brings results or an exception; instead
    /// of one that was set with the same id. A call of this process without a message has no reply
    /// that could carry it: then this does nothing.
    ///
    /// # Errors
    /// As [`Current::peer`].
    pub fn set_reply_context(&self, context: ServiceContext) -> Result<(), SystemException> {
        innermost(|request| request.set_reply(context), || ())
    }
}

/// What a thread serves.
struct Shown {
    context: Arc<RequestContext>,
    /// How many upcalls the thread is in when it runs the servant: in more, it makes a call of its
    /// own process.
    upcalls: usize,
}

thread_local! {
    /// The innermost last.
    static SHOWN: RefCell<Vec<Shown>> = const { RefCell::new(Vec::new()) };
}

/// Until the guard is dropped, this thread serves the request of `context`, in an upcall that
/// follows.
pub(crate) fn show(context: &Arc<RequestContext>) -> Showing {
    show_in(context, corbie_upcall::depth() + 1)
}

fn show_in(context: &Arc<RequestContext>, upcalls: usize) -> Showing {
    let context = Arc::clone(context);
    SHOWN.with_borrow_mut(|shown| shown.push(Shown { context, upcalls }));
    Showing(())
}

/// See [`show`].
#[must_use]
pub(crate) struct Showing(());

impl Drop for Showing {
    fn drop(&mut self) {
        // Dropped with the stack given back: it may be the last of its connection.
        let ended = SHOWN.with_borrow_mut(Vec::pop);
        drop(ended);
    }
}

/// The upcall of the request that is shown has begun: what its way here made belongs to it.
pub(crate) fn upcall_begins() {
    SHOWN.with_borrow_mut(|shown| {
        if let Some(innermost) = shown.last_mut() {
            innermost.upcalls = corbie_upcall::depth();
        }
    });
}

/// As `served`, and shown to each thread that polls it.
pub(crate) async fn showing<F: Future>(context: Arc<RequestContext>, served: F) -> F::Output {
    let mut served = pin!(served);
    std::future::poll_fn(|cx| {
        let _showing = show_in(&context, corbie_upcall::depth());
        served.as_mut().poll(cx)
    })
    .await
}

/// The user of the request that this thread serves: `None` when it serves none that is known, so
/// that its calls are its own.
pub(crate) fn caller() -> Option<Option<Arc<Caller>>> {
    innermost(|context| context.caller().cloned(), || None).ok()
}

/// What `asked` says of the request that this thread serves, or `here` for a call of this process.
fn innermost<R>(
    asked: impl FnOnce(&RequestContext) -> R,
    here: impl FnOnce() -> R,
) -> Result<R, SystemException> {
    let upcalls = corbie_upcall::depth();
    let shown = SHOWN.with_borrow(|all| {
        let shown = all.last()?;
        Some((upcalls <= shown.upcalls).then(|| Arc::clone(&shown.context)))
    });
    match shown {
        Some(Some(context)) => Ok(asked(&context)),
        Some(None) => Ok(here()),
        // A thread of the application calls an object of its own process.
        None if upcalls > 0 && !is_serving() => Ok(here()),
        None => Err(unknown(upcalls)),
    }
}

#[cold]
fn unknown(upcalls: usize) -> SystemException {
    minor::BAD_INV_ORDER_NO_UPCALL.no(match upcalls {
        0 => "the calling thread serves no request".to_owned(),
        _ => "this request came before Orb::current was called for its ORB, so nothing was kept \
              of it; call it before requests come"
            .to_owned(),
    })
}
