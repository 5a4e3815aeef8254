//! Service contexts as interceptors see and add them: data with a number that rides along with a
//! request or a reply (CORBA 3.3 P2 §9.7, P1 §16.4.12).

use corbie_giop::{ServiceContexts, Tagged};
use corbie_types::{SystemException, minor};

/// What travels with a request or a reply beside its arguments or results (`IOP::ServiceContext`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceContext {
    /// What the data means: a number that the OMG assigned, see
    /// [`service_context_id`](corbie_giop::service_context_id).
    pub id: u32,
    /// The context itself, mostly an encapsulation: its first octet is the byte order of the rest.
    pub data: Vec<u8>,
}

impl ServiceContext {
    /// The context `id` with this data.
    #[must_use]
    pub fn new(id: u32, data: impl Into<Vec<u8>>) -> Self {
        ServiceContext { id, data: data.into() }
    }

    /// As it is written.
    pub(crate) fn as_tagged(&self) -> Tagged<'_> {
        Tagged { tag: self.id, data: &self.data }
    }
}

/// Copies of those that came with a message.
pub(super) fn copied(contexts: &ServiceContexts<'_>) -> Vec<ServiceContext> {
    contexts.iter().map(|one| ServiceContext::new(one.tag, one.data)).collect()
}

/// Octets of the contexts of one request that are kept beyond its message. A deferred answer may
/// keep them for long, and a client chooses how many there are.
const KEPT_OCTETS_MAX: usize = 16 << 10;

/// Copies of those that came with a request; `None` where they are more than is kept.
pub(crate) fn kept(contexts: &ServiceContexts<'_>) -> Option<Vec<ServiceContext>> {
    let octets: usize = contexts.iter().map(|context| context.data.len()).sum();
    let is_kept = octets <= KEPT_OCTETS_MAX && contexts.len() <= KEPT_OCTETS_MAX / 8;
    is_kept.then(|| copied(contexts))
}

/// What [`kept`] gave.
///
/// # Errors
/// `IMP_LIMIT` (`COMPLETED_NO`) where they were more than is kept.
pub(crate) fn all(kept: Option<&[ServiceContext]>) -> Result<&[ServiceContext], SystemException> {
    kept.ok_or_else(|| {
        minor::IMP_LIMIT_MESSAGE_SIZE.no(format!(
            "the service contexts of this request have more than {KEPT_OCTETS_MAX} octets \
             together, so they were not kept; a servant that gets the ServerRequest can read them \
             in place"
        ))
    })
}

/// The context with this number.
///
/// # Errors
/// `BAD_PARAM` with the OMG's minor code 26 (`COMPLETED_NO`) when there is none.
pub(crate) fn find(
    contexts: &[ServiceContext],
    id: u32,
) -> Result<ServiceContext, SystemException> {
    let found = contexts.iter().find(|one| one.id == id);
    found.cloned().ok_or_else(|| {
        minor::BAD_PARAM_SERVICE_CONTEXT_ID
            .no(format!("the message has no service context {id:#x}"))
    })
}

/// Adds `context`; where one of its number is there, in its place if `replace` says so.
///
/// # Errors
/// `BAD_INV_ORDER` with the OMG's minor code 15 (`COMPLETED_NO`) when it is there and is not to be
/// replaced.
pub(crate) fn add(
    contexts: &mut Vec<ServiceContext>,
    context: ServiceContext,
    replace: bool,
) -> Result<(), SystemException> {
    match contexts.iter_mut().find(|one| one.id == context.id) {
        Some(there) if replace => *there = context,
        Some(there) => {
            return Err(minor::BAD_INV_ORDER_SERVICE_CONTEXT_EXISTS.no(format!(
                "the message has a service context {:#x} already; replace it",
                there.id
            )));
        }
        None => contexts.push(context),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_contexts_than_are_kept_are_refused_and_none_of_them_is_copied() {
        let of = |octets: &[u8], count: usize| {
            let tagged: Vec<_> = (0..count).map(|_| Tagged { tag: 1, data: octets }).collect();
            kept(&ServiceContexts::new(&tagged)).map(|contexts| contexts.len())
        };
        assert_eq!(of(&[0; KEPT_OCTETS_MAX], 1), Some(1));
        assert_eq!(of(&[0; KEPT_OCTETS_MAX / 2 + 1], 2), None);
        assert_eq!(of(&[], KEPT_OCTETS_MAX / 8 + 1), None, "empty ones take memory, too");
        let refused = all(None).expect_err("they are not there");
        assert_eq!(refused.minor, minor::IMP_LIMIT_MESSAGE_SIZE);
    }

    #[test]
    fn a_context_is_replaced_only_when_told_to() {
        let mut contexts = Vec::new();
        add(&mut contexts, ServiceContext::new(7, [1]), false).expect("the first");
        add(&mut contexts, ServiceContext::new(8, [2]), true).expect("another");
        let refused = add(&mut contexts, ServiceContext::new(7, [3]), false).expect_err("twice");
        assert_eq!(refused.minor, minor::BAD_INV_ORDER_SERVICE_CONTEXT_EXISTS);
        assert_eq!(find(&contexts, 7).expect("is there").data, [1]);
        add(&mut contexts, ServiceContext::new(7, [3]), true).expect("replaced");
        assert_eq!(find(&contexts, 7).expect("is there").data, [3]);
        assert_eq!(contexts.len(), 2);
        let missing = find(&contexts, 9).expect_err("is not there");
        assert_eq!(missing.minor, minor::BAD_PARAM_SERVICE_CONTEXT_ID);
    }
}
