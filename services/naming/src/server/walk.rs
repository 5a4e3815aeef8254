//! The way of a name: from the context that was called, component by component, to the context
//! that has the last one (Naming Service 1.3 §2.2).
//!
//! Each step takes a component away, so a cycle of contexts ends with the name. Where a component
//! leads to another server, the walk ends there too and `federation` asks that server.

use super::Shared;
use crate::NameComponent;
use crate::cos_naming::NamingContext;
use crate::cos_naming::naming_context::{InvalidName, NotFoundReason};
use crate::refusal::{Refusal, system};
use crate::store::{ContextId, StoreError, Target};
use corbie::{Interface, Object};

/// Where a walk ended.
pub(super) enum End<'n> {
    /// The last component is this one's, in a context of ours.
    Here { context: ContextId, last: &'n NameComponent },
    /// The rest is for a context of another server.
    Elsewhere { context: NamingContext, rest: &'n [NameComponent] },
}

/// What a name leads to.
pub(super) enum Found<'n> {
    /// What its last component is bound to in a context of ours.
    Here(Target),
    /// What the rest is bound to in a context of another server.
    Elsewhere { context: NamingContext, rest: &'n [NameComponent] },
}

impl Shared {
    /// Follows all components of `name` but the last.
    pub(super) fn walk<'n>(
        &self,
        start: ContextId,
        name: &'n [NameComponent],
    ) -> Result<End<'n>, Refusal> {
        self.limits.check_name(name)?;
        let Some((last, path)) = name.split_last() else {
            return Err(Refusal::InvalidName(InvalidName {}));
        };
        if path.is_empty() {
            return Ok(End::Here { context: start, last });
        }
        let (index, target) = self.store.follow(start, path);
        match target {
            Ok(Target::Context(context)) => Ok(End::Here { context, last }),
            other => self
                .pass(name, index, other)
                .map(|(context, rest)| End::Elsewhere { context, rest }),
        }
    }

    /// Follows all components of `name`.
    pub(super) fn find<'n>(
        &self,
        start: ContextId,
        name: &'n [NameComponent],
    ) -> Result<Found<'n>, Refusal> {
        self.limits.check_name(name)?;
        if name.is_empty() {
            return Err(Refusal::InvalidName(InvalidName {}));
        }
        match self.store.follow(start, name) {
            (index, Ok(target)) if index + 1 == name.len() => Ok(Found::Here(target)),
            (index, other) => {
                let (context, rest) = self.pass(name, index, other)?;
                Ok(Found::Elsewhere { context, rest })
            }
        }
    }

    /// The context of another server that the component at `index` leads to, and what is left
    /// behind it; or why the name ends there.
    fn pass<'n>(
        &self,
        name: &'n [NameComponent],
        index: usize,
        target: Result<Target, StoreError>,
    ) -> Result<(NamingContext, &'n [NameComponent]), Refusal> {
        let rest = name.get(index..).unwrap_or_default();
        match target {
            Ok(Target::ForeignContext(ior)) => {
                let context = NamingContext::from_object(Object::kept(&self.orb, ior));
                Ok((context, rest.get(1..).unwrap_or_default()))
            }
            Ok(_) => Err(Refusal::not_found(NotFoundReason::NotContext, rest)),
            Err(error) => Err(refusal_at(error, index == 0, rest)),
        }
    }
}

/// What an error of the store means for the component that `rest` begins with. The context that
/// was called is gone: `OBJECT_NOT_EXIST`; one on the way is gone: nothing is bound in it.
pub(super) fn refusal_at(error: StoreError, is_first: bool, rest: &[NameComponent]) -> Refusal {
    match error {
        StoreError::NoContext if is_first => Refusal::System(system(&error)),
        StoreError::NoContext => Refusal::not_found(NotFoundReason::MissingNode, rest),
        other => Refusal::of_store(other, rest),
    }
}
