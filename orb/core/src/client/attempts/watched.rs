//! The loop of calls that wait, past portable interceptors: each attempt is a request of its own to
//! them (CORBA 3.3 P1 §16.3.2), and what they raise is an outcome of it.

use super::{Answer, Redirect, after, after_forward};
use crate::Object;
use crate::client::{Binding, BindingRef, CallFault, Invocation};
use crate::portable_interceptor::{FlowEnd, Kind, Outgoing, Watch};
use corbie_giop::Attempts;
use corbie_types::SystemException;
use std::sync::Arc;

/// A call on its way past interceptors.
pub(crate) struct Watched<'w, 'c, 'a> {
    invocation: &'w Invocation<'c, 'a>,
    kind: Kind,
}

/// What an attempt leads to.
enum Next<T> {
    Return(T),
    Again(FlowEnd),
    End(SystemException),
}

impl<'w, 'c, 'a> Watched<'w, 'c, 'a> {
    pub(crate) fn new(invocation: &'w Invocation<'c, 'a>, kind: Kind) -> Self {
        Watched { invocation, kind }
    }

    /// An attempt at the place of `binding` that is next.
    pub(crate) fn watch(
        &self,
        binding: &Binding,
        attempts: &Attempts,
        before: Option<&Watch>,
    ) -> Arc<Watch> {
        let Invocation { object, operation, response, policies, .. } = *self.invocation;
        let outgoing = Outgoing {
            object,
            operation: &operation.name,
            kind: self.kind,
            response,
            sync_scope: policies.sync_scope,
            forwarded: binding.ior(),
            profile: binding.target(attempts.address()).profile,
        };
        Arc::new(Watch::new(&outgoing, before))
    }

    /// As [`run`](super::run). `ending_of`: how interceptors see what the caller wants.
    ///
    /// # Errors
    /// What the last attempt, or an interceptor, ended with.
    pub(crate) fn run<T>(
        &self,
        mut binding: BindingRef<'c>,
        mut attempt: impl FnMut(
            &BindingRef<'_>,
            &mut Attempts,
            &Arc<Watch>,
        ) -> Result<Answer<T>, CallFault>,
        ending_of: impl Fn(&mut T) -> FlowEnd,
    ) -> Result<T, SystemException> {
        let Invocation { object, operation, policies, .. } = *self.invocation;
        let mut attempts = Attempts::default();
        let mut before: Option<Arc<Watch>> = None;
        loop {
            let watch = self.watch(&binding, &attempts, before.as_deref());
            let (next, mut ending) = match watch.send_request() {
                Err(interruption) => (None, interruption.into()),
                Ok(()) => {
                    let answer = attempt(&binding, &mut attempts, &watch);
                    let mut next = self.next(&binding, &mut attempts, answer);
                    let ending = ending(&mut next, &ending_of);
                    (Some(next), ending)
                }
            };
            let is_changed = watch.end(&mut ending);
            match (next.filter(|_| !is_changed), ending) {
                (Some(Next::Return(done)), _) => return Ok(done),
                (Some(Next::End(exception)), _) => return Err(exception),
                (Some(Next::Again(_)), _) => {}
                (None, FlowEnd::Forward(to)) => {
                    after_forward(object, operation, &binding, policies, &mut attempts, &to)?;
                }
                (None, FlowEnd::SystemException(exception)) => return Err(exception),
                // Interceptors raise nothing else.
                (None, _) => {}
            }
            binding = object.binding()?;
            before = Some(watch);
        }
    }

    fn next<T>(
        &self,
        binding: &BindingRef<'_>,
        attempts: &mut Attempts,
        answer: Result<Answer<T>, CallFault>,
    ) -> Next<T> {
        let Invocation { object, operation, policies, .. } = *self.invocation;
        if answer.is_ok() {
            binding.prefer(attempts.address());
        }
        let again = match &answer {
            Ok(Answer::Redirected(Redirect::Reference(ior))) => {
                FlowEnd::Forward(object.related(ior.clone()))
            }
            _ => FlowEnd::Retry,
        };
        match after(object, operation, policies, binding, attempts, answer) {
            Ok(Some(done)) => Next::Return(done),
            Ok(None) => Next::Again(again),
            Err(exception) => Next::End(exception),
        }
    }
}

fn ending<T>(next: &mut Next<T>, ending_of: impl Fn(&mut T) -> FlowEnd) -> FlowEnd {
    match next {
        Next::Return(done) => ending_of(done),
        Next::Again(ending) => ending.clone(),
        Next::End(exception) => FlowEnd::SystemException(exception.clone()),
    }
}

/// What follows an attempt of `object` at `binding` after which there is another: a forward, where
/// calls go elsewhere now.
#[cold]
pub(crate) fn next(object: &Object, binding: &BindingRef<'_>) -> FlowEnd {
    let now = object.binding().ok();
    let forward = now.and_then(|now| now.ior().cloned());
    match forward.filter(|ior| binding.ior() != Some(ior)) {
        Some(ior) => FlowEnd::Forward(object.related(ior)),
        None => FlowEnd::Retry,
    }
}
