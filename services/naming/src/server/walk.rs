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
        let mut context = start;
        for (index, component) in path.iter().enumerate() {
            let rest = name.get(index..).unwrap_or_default();
            match self.store.lookup(context, component) {
                Ok(Target::Context(next)) => context = next,
                Ok(Target::ForeignContext(ior)) => {
                    let context = NamingContext::from_object(Object::new(&self.orb, ior));
                    return Ok(End::Elsewhere { context, rest: rest.get(1..).unwrap_or_default() });
                }
                Ok(Target::Object(_)) => {
                    return Err(Refusal::not_found(NotFoundReason::NotContext, rest));
                }
                Err(error) => return Err(refusal_at(error, index == 0, rest)),
            }
        }
        Ok(End::Here { context, last })
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
