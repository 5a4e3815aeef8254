//! Requests that interceptors see: what is done between upcall and answer for them alone, so that
//! others spend a branch (CORBA 3.3 P1 §16.3.3).
//!
//! Called by the answers of [`ServerRequest`] and of the `ResponseHandler`, and by the object
//! adapter before an upcall.

use super::{Body, Progress, ReplyTo, ServerRequest, unwritable};
use crate::Object;
use crate::portable_interceptor::{FlowEnd, Interruption, ServerWatch};
use crate::server::interceptor::{AnsweredRequest, Intercepted, Outcome};
use crate::server::service_contexts::RequestContext;
use crate::server::{Servant, ServerConnection};
use corbie_cdr::{ByteOrder, Encoder, Error, Marshal as _};
use corbie_giop::ResponseFlags;
use corbie_types::{Ior, SystemException};
use std::sync::Arc;

impl ServerRequest<'_> {
    /// As [`ServerRequest::answer`], past interceptors. `forward`: where the client is sent.
    #[cold]
    pub(super) fn answer_intercepted<'a>(
        &mut self,
        outcome: Outcome<'_>,
        forward: Option<&Object>,
        body: Body<'_, 'a>,
    ) -> Result<(), SystemException> {
        let Some(intercepted) = self.carried.intercepted.take() else {
            return self.answer(outcome, body);
        };
        let to = self.reply_to();
        let waits = self.response != ResponseFlags::None;
        if let Some(connection) = self.connection.filter(|_| waits)
            && let Err(error) = check_body(connection, &to, body)
        {
            // Interceptors see the exception that the skeleton makes of it.
            self.carried.intercepted = Some(intercepted);
            return Err(unwritable(error));
        }
        let settled = intercepted.watch().and_then(|watch| {
            let end = if waits { outcome.as_end(forward) } else { FlowEnd::WithoutReply };
            settle(watch, end, || self.context())
        });
        let answered = match &settled {
            Some(FlowEnd::SystemException(exception)) => {
                let outcome = Outcome::SystemException(exception);
                self.answer(outcome, &|e| exception.encode_reply(e)).map(|()| outcome)
            }
            Some(FlowEnd::Forward(object)) => self
                .answer(Outcome::Forward, &|e| Ior::encode(object.ior(), e))
                .map(|()| Outcome::Forward),
            _ => self.answer(outcome, body).map(|()| outcome),
        };
        self.carried.intercepted = Some(intercepted);
        self.tell_interceptors(if waits { answered? } else { Outcome::NoReply });
        Ok(())
    }

    /// Whether it was answered, or the answer was put off.
    pub(crate) fn is_answered(&self) -> bool {
        self.progress != Progress::Unanswered
    }

    /// Whether interceptors have to be told that its servant is about to be called.
    #[inline]
    #[must_use]
    pub fn is_intercepted(&self) -> bool {
        self.carried.intercepted.is_some()
    }

    /// Tells interceptors that `servant` is about to be called, and does so by `upcall`, unless
    /// they refuse or forward the request. For object adapters.
    ///
    /// # Errors
    /// What an interceptor raised, or `upcall` says.
    #[cold]
    pub fn past_interceptors(
        &mut self,
        servant: &dyn Servant,
        upcall: impl FnOnce(&mut Self) -> Result<(), SystemException>,
    ) -> Result<(), SystemException> {
        let intercepted = self.carried.intercepted.as_ref();
        let Some(watch) = intercepted.and_then(|intercepted| intercepted.watch()).cloned() else {
            return upcall(self);
        };
        match watch.receive_request(&servant) {
            Ok(()) => {
                let _slots = watch.slots_for_upcall();
                upcall(self)
            }
            Err(Interruption::System(exception)) => Err(exception),
            Err(Interruption::Forward(to)) => self.forward(&to.forward),
        }
    }

    /// What interceptors keep of the request from now on.
    pub(crate) fn set_intercepted(&mut self, intercepted: Box<Intercepted>) {
        self.carried.intercepted = Some(intercepted);
    }

    #[cold]
    pub(super) fn tell_interceptors(&mut self, outcome: Outcome<'_>) {
        let Some(intercepted) = self.carried.intercepted.take() else { return };
        let (operation, request_id) = (self.operation(), self.header.request_id);
        let answered = AnsweredRequest { operation, request_id, peer: self.peer(), outcome };
        intercepted.done(self.orb, &answered);
    }
}

/// Whether the body of a reply can be written: asked before interceptors see how a request ended.
///
/// # Errors
/// What `body` says.
#[cold]
pub(crate) fn check_body<'a>(
    connection: &ServerConnection,
    to: &ReplyTo,
    body: Body<'_, 'a>,
) -> Result<(), Error> {
    let mut encoder: Encoder<'a> = Encoder::pooled(ByteOrder::NATIVE);
    encoder.set_version(to.version);
    encoder.set_code_sets(connection.state().code_sets.get());
    body(&mut encoder)
}

/// Shows portable interceptors how a request ends, with the service contexts that the servant has
/// set; theirs go back, too. What they made of it, if anything.
pub(crate) fn settle<'c>(
    watch: &ServerWatch,
    end: FlowEnd,
    context: impl Fn() -> &'c Arc<RequestContext>,
) -> Option<FlowEnd> {
    let context = context();
    watch.note_reply_contexts(context.reply_contexts());
    let changed = watch.end(end);
    watch.reply_contexts().into_iter().for_each(|one| context.set_reply(one));
    changed
}
