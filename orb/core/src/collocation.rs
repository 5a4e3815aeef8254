//! Calls to objects of the same process without a message (paper POA §3.1).
//!
//! A generated stub makes each call by [`Object::call`]. The usual one goes by a shortcut
//! (`handles/shortcuts`) straight to the servant; the others go by `call` through the object
//! adapter, as requests do; what neither can do as a message would, becomes one. `neighbours` tells
//! which endpoints are of this process, `locality` asks for the places of a reference. What must
//! hold of all of them: `docs/src/collocation.md`.

mod call;
mod locality;
mod object;

pub use crate::handles::View;
pub(crate) use call::ask;

use crate::client::Raised;
use crate::portable_interceptor::FlowEnd;
use crate::server::{Servant, panic};
use crate::{Object, Operation};
use call::{Called, Upcall};
use corbie_types::SystemException;
use std::any::TypeId;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Object {
    /// Calls `operation`: runs `upcall` on the servant of the object, seen as `T` (`dyn
    /// QuoterServant`), where the object is in this process and nothing asks for a message; else
    /// `by_message`, which invokes it. Generated stubs are made of this.
    ///
    /// What the object adapter promises of a request holds here too: the state of the POA manager,
    /// servant managers, thread policies, `Current`, forwards.
    ///
    /// # Errors
    /// What `upcall` or `by_message` says; `UNKNOWN` (`COMPLETED_MAYBE`) for a servant that
    /// panicked; what the object adapter raises instead of an upcall.
    #[inline]
    pub fn call<T, R, E>(
        &self,
        operation: &Operation,
        upcall: impl FnOnce(&T) -> Result<R, E>,
        by_message: impl FnOnce() -> Result<R, E>,
    ) -> Result<R, E>
    where
        T: ?Sized + 'static,
        E: Raised,
    {
        if let Some(first) = self.shortcuts().first(|| self.orb().policies().generation())
            && let Some(servant) = first.enter::<T>()
        {
            return guarded(operation, || upcall(&servant));
        }
        if !self.is_surely_elsewhere()
            && let Some(outcome) = through_the_adapter(self, operation, upcall)
        {
            return outcome;
        }
        by_message()
    }
}

/// Everything but the usual call, and the first ones of a reference.
#[inline(never)]
fn through_the_adapter<T, R, E>(
    object: &Object,
    operation: &Operation,
    upcall: impl FnOnce(&T) -> Result<R, E>,
) -> Option<Result<R, E>>
where
    T: ?Sized + 'static,
    E: Raised,
{
    // Not beside the first one, as two ways to enter would meet in memory, which costs the usual
    // call as much as all the rest.
    let generation = object.orb().policies().generation();
    if let Some(servant) = object.shortcuts().enter_another::<T>(generation) {
        return Some(guarded(operation, || upcall(&servant)));
    }
    if let Some(servant) = call::enter_looked_up::<T>(object) {
        return Some(guarded(operation, || upcall(&servant)));
    }
    let mut upcall =
        TypedUpcall { operation, upcall: Some(upcall), outcome: None, seen_as: PhantomData };
    let called = call::call(object, operation, TypeId::of::<T>(), &mut upcall);
    match called {
        Called::Done => upcall.outcome,
        Called::Raised(exception) => Some(Err(exception.into())),
        Called::Elsewhere | Called::ForMessages => None,
    }
}

/// What a stub does with a servant, seen as `T`, and what came of it.
struct TypedUpcall<'o, T: ?Sized, F, R, E> {
    operation: &'o Operation,
    /// `None` once it was run.
    upcall: Option<F>,
    outcome: Option<Result<R, E>>,
    seen_as: PhantomData<fn(&T)>,
}

impl<T, F, R, E> Upcall for TypedUpcall<'_, T, F, R, E>
where
    T: ?Sized + 'static,
    F: FnOnce(&T) -> Result<R, E>,
    E: Raised,
{
    fn run(&mut self, servant: &dyn Servant) -> bool {
        let Some(servant) = view::<T>(servant) else { return false };
        let Some(upcall) = self.upcall.take() else { return false };
        self.outcome = Some(guarded(self.operation, || upcall(servant)));
        true
    }

    fn fits(&self, servant: &dyn Servant) -> bool {
        self.upcall.is_some() && view::<T>(servant).is_some()
    }

    fn ending(&self) -> FlowEnd {
        match self.outcome.as_ref().map(|outcome| outcome.as_ref().map_err(E::user_exception)) {
            Some(Err(Ok((id, _)))) => FlowEnd::UserException(id.to_owned()),
            Some(Err(Err(exception))) => FlowEnd::SystemException(exception.clone()),
            Some(Ok(_)) | None => FlowEnd::Results,
        }
    }
}

/// Whether `servant` shows itself as anything: else it takes requests only.
#[must_use]
pub fn shows_itself(servant: &dyn Servant) -> bool {
    let mut view = View::new(TypeId::of::<()>());
    servant._view(&mut view);
    view.is_offered()
}

/// The servant as `T`, if it shows itself so.
fn view<T: ?Sized + 'static>(servant: &dyn Servant) -> Option<&T> {
    let mut view = View::new(TypeId::of::<T>());
    servant._view(&mut view);
    view.get()
}

/// Runs an upcall. A servant that panics fails its one call, as it would fail one request.
#[inline]
fn guarded<R, E: From<SystemException>>(
    operation: &Operation,
    upcall: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    // Taken apart and put together again, so that an outcome which holds next to nothing is not
    // copied as a whole: reading what was written in small pieces costs as much as the call.
    match catch_unwind(AssertUnwindSafe(upcall)) {
        Ok(Ok(results)) => Ok(results),
        Ok(Err(exception)) => Err(exception),
        Err(payload) => Err(panic::panicked(operation.name(), None, &*payload).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::ServerRequest;
    use corbie_types::SystemException;

    trait Named: Send + Sync {
        fn name(&self) -> &str;
    }

    struct Someone(String);

    impl Named for Someone {
        fn name(&self) -> &str {
            &self.0
        }
    }

    impl Servant for Someone {
        fn _interfaces(&self) -> &'static [&'static str] {
            &[]
        }

        fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
            Err(request.unknown_operation())
        }

        fn _view<'a>(&'a self, view: &mut View<'a>) {
            view.offer::<dyn Named>(self);
            view.offer::<str>(&self.0);
            view.offer::<Someone>(self);
        }
    }

    struct Silent;

    impl Servant for Silent {
        fn _interfaces(&self) -> &'static [&'static str] {
            &[]
        }

        fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
            Err(request.unknown_operation())
        }
    }

    #[test]
    fn what_was_found_is_of_the_type_asked_for() {
        let someone = Someone("a".to_owned());
        let mut found = View::new(TypeId::of::<str>());
        someone._view(&mut found);
        assert!(found.get::<String>().is_none() && found.get::<str>().is_some());
    }

    #[test]
    fn a_servant_is_seen_as_what_it_offers() {
        let someone = Someone("a".to_owned());
        assert_eq!(view::<dyn Named>(&someone).map(Named::name), Some("a"));
        assert_eq!(view::<str>(&someone), Some("a"));
        assert_eq!(view::<Someone>(&someone).map(Named::name), Some("a"), "a thin reference");
        assert!(view::<dyn Send>(&someone).is_none());
        assert!(shows_itself(&someone));
        assert!(!shows_itself(&Silent));
    }
}
