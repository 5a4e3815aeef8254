//! Requests that do not find an active object behind an open gate: adapter activators, the state of
//! the POA manager, the thread model, servant managers and default servants, in this order
//! (CORBA 3.3 P1 §15.2.3, §15.3).
//!
//! Called by `dispatch`. What was found may change until it is entered; then all is looked at
//! again.

use super::admission::{Admitted, Pass};
use super::servant_search::{Awaited, Found, Located, Search};
use super::target::{self, RequestTarget, Step};
use super::{no_object, not_permitted, serve};
use crate::dispatch::RootPoa;
use crate::poa::upcall_context;
use corbie_core::Object;
use corbie_core::server::{LocalRefusal, Servant, ServerRequest, caught};
use corbie_types::{SystemException, minor};
use corbie_upcall::Upcall;
use std::borrow::Cow;
use std::sync::Arc;

/// What the way to a servant ended in.
pub(super) enum Way<R> {
    /// The servant was called.
    Called(R),
    /// The client is to call another object.
    Forward(Object),
    /// A thread is busy with the object.
    Wait(Awaited),
    /// Something has changed on the way.
    Again,
}

/// What is done with the servant; a locator that gave it is to be told afterwards.
type Run<'f, 'o, R> = dyn FnMut(&Arc<dyn Servant>, Option<Located<'o>>) -> R + 'f;

impl RootPoa {
    #[cold]
    pub(super) fn dispatch_the_long_way<'r>(
        &self,
        request: &mut ServerRequest<'r>,
    ) -> Result<(), SystemException> {
        let key = request.object_key();
        loop {
            let target = match self.step(key, request.operation())? {
                Step::There(target) => target,
                Step::Missing { parent, name } => {
                    let Admitted::Serve(_pass) = parent.0.admit(request)? else { return Ok(()) };
                    match target::activate(&parent, name)? {
                        Some(epoch)
                            if parent.0.making().hold(name.as_bytes(), epoch, request)? =>
                        {
                            return Ok(());
                        }
                        _ => continue,
                    }
                }
            };
            if !target.poa.permits(request) {
                return Err(not_permitted(&target.poa, request.operation()));
            }
            let Admitted::Serve(pass) = target.poa.admit(request)? else { return Ok(()) };
            if target.poa.keeps_waiting(target.key.id(), request)? {
                return Ok(());
            }
            let operation = request.operation();
            let mut run = |servant: &Arc<dyn Servant>, located: Option<Located<'r>>| {
                request.upcall_begins();
                match located {
                    None => serve(&**servant, request),
                    Some(located) => serve_located(located, request),
                }
            };
            match target.call(&pass, operation, key, &mut run)? {
                Way::Called(outcome) => return outcome,
                Way::Forward(object) => return request.forward(&object),
                Way::Wait(awaited) => {
                    let transitions = &target.poa.transitions;
                    if transitions.hold(target.key.id(), awaited.epoch, request)? {
                        return Ok(());
                    }
                }
                Way::Again => {}
            }
        }
    }

    #[cold]
    pub(super) fn call_the_long_way(
        &self,
        object_key: &[u8],
        operation: &str,
        upcall: &mut dyn FnMut(&Arc<dyn Servant>),
    ) -> Result<(), LocalRefusal> {
        let key = Cow::Borrowed(object_key);
        loop {
            let target = match self.step(&key, operation)? {
                Step::There(target) => target,
                Step::Missing { parent, name } => {
                    let _pass = parent.0.admit_call()?;
                    if target::activate(&parent, name)?.is_some() {
                        return Err(elsewhere_unless(parent.0.is_making(name)));
                    }
                    continue;
                }
            };
            let pass = target.poa.admit_call()?;
            if target.poa.is_being_made() {
                return Err(elsewhere_unless(target.poa.is_made_by_this_thread()));
            }
            if target.poa.locates_for_messages() {
                return Err(LocalRefusal::Remote);
            }
            let mut run = |servant: &Arc<dyn Servant>, located: Option<Located<'_>>| {
                upcall(servant);
                located.map_or(Ok(()), |it| caught(operation, None, || it.postinvoke()))
            };
            match target.call(&pass, operation, &key, &mut run)? {
                Way::Called(ended) => return ended.map_err(LocalRefusal::Raised),
                Way::Forward(object) => return Err(LocalRefusal::Forward(object)),
                Way::Wait(awaited) => return Err(elsewhere_unless(awaited.is_own)),
                Way::Again => {}
            }
        }
    }
}

impl RequestTarget<'_> {
    /// Finds the servant and runs `run` with it, inside the POA; a servant that a locator gave,
    /// with what is to be done afterwards.
    fn call<'o, R>(
        &self,
        pass: &Pass<'_>,
        operation: &'o str,
        object_key: &[u8],
        run: &mut Run<'_, 'o, R>,
    ) -> Result<Way<R>, SystemException> {
        let in_spite_of = pass.in_spite_of();
        // Servant managers are inside the POA too: its destruction waits for them.
        let Ok(_inside) = self.poa.gate.enter(Upcall::UNLISTED, in_spite_of) else {
            return Ok(Way::Again);
        };
        let id = self.key.id();
        let search = Search { poa: &self.poa, key: &self.key, operation };
        let _serving = upcall_context::serve_unlisted(id, None);
        Ok(match search.find()? {
            // The request has begun: only the end of the object itself stops it now.
            Found::Listed(object) => match object.activation().enter_in_spite_of(u32::MAX) {
                Some(_entered) => Way::Called(run(object.servant(), None)),
                None => Way::Again,
            },
            Found::Default(servant) => {
                let _serving = upcall_context::serve_unlisted(id, Some(&servant));
                Way::Called(run(&servant, None))
            }
            Found::Located(located) => {
                let servant = Arc::clone(located.servant());
                self.poa.note_located(&*servant);
                let _serving = upcall_context::serve_unlisted(id, Some(&servant));
                Way::Called(run(&servant, Some(located)))
            }
            Found::Forward(object) => Way::Forward(object),
            Found::Nothing => return Err(no_object(operation, object_key)),
            Found::Wait(awaited) => Way::Wait(awaited),
            Found::Again => Way::Again,
        })
    }
}

/// Serves `request` with a servant for this request alone. Its locator is told before the answer
/// leaves, and when there is none, when the upcall has ended; also by a panic, but not while that
/// unwinds.
fn serve_located<'o>(
    located: Located<'o>,
    request: &mut ServerRequest<'o>,
) -> Result<(), SystemException> {
    let servant = Arc::clone(located.servant());
    let (operation, peer) = (request.operation(), request.peer());
    request.set_postinvoke(Box::new(move || located.postinvoke()));
    let served = caught(operation, Some(peer), || serve(&*servant, request));
    request.postinvoke().and(served)
}

/// A call of this process has to wait, which a request does in no thread. One that the calling
/// thread would wait for itself is refused (`is_own`).
fn elsewhere_unless(is_own: bool) -> LocalRefusal {
    if !is_own {
        return LocalRefusal::Remote;
    }
    let why = "the calling thread is making or ending this object or its POA right now";
    LocalRefusal::Raised(minor::TRANSIENT_REQUEST_DISCARDED.no(why))
}
