//! What a client can make the server spend: limits with defaults for an open network.
//!
//! Set by flags of `corbie naming serve`; checked where names, references and iterators come in.

use crate::NameComponent;
use crate::store::Quota;
use corbie::{CompletionStatus, Minor, SystemException, minor};
use std::time::Duration;

/// Limits of one server. What is beyond them is refused with `IMP_LIMIT` (`COMPLETED_NO`).
#[derive(Clone, Debug)]
pub struct Limits {
    /// Components of a name.
    pub name_components: usize,
    /// Octets of the id and kind of one component together.
    pub component_octets: usize,
    /// Octets of a reference that is bound, as text.
    pub reference_octets: usize,
    /// Naming contexts in the store.
    pub contexts: u64,
    /// Bindings in one context.
    pub bindings_per_context: u64,
    /// Bindings in one answer of `list` or `next_n`; a client that asks for more gets these, and
    /// an iterator.
    pub list: usize,
    /// Iterators at a time; beyond it that of the peer with most which was not used for longest
    /// ends.
    pub iterators: usize,
    /// An iterator that is not used for so long ends.
    pub iterator_idle: Duration,
    /// Calls to contexts of other servers under way at a time; beyond it, `CannotProceed`.
    pub federated_calls: usize,
    /// How long a context of another server may take to answer.
    pub federated_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            name_components: 64,
            component_octets: 1024,
            reference_octets: 64 * 1024,
            contexts: 100_000,
            bindings_per_context: 100_000,
            list: 1000,
            iterators: 1000,
            iterator_idle: Duration::from_secs(300),
            federated_calls: 16,
            federated_timeout: Duration::from_secs(5),
        }
    }
}

impl Limits {
    pub(super) fn quota(&self) -> Quota {
        Quota { contexts: self.contexts, bindings_per_context: self.bindings_per_context }
    }

    /// Whether a name is within the limits.
    pub(super) fn check_name(&self, name: &[NameComponent]) -> Result<(), SystemException> {
        if name.len() > self.name_components {
            let (found, most) = (name.len(), self.name_components);
            let minor = minor::IMP_LIMIT_NAME;
            return Err(beyond(
                minor,
                format!("the name has {found} components; at most {most} may be"),
            ));
        }
        let octets = |component: &NameComponent| component.id.len() + component.kind.len();
        match name.iter().map(octets).max() {
            Some(longest) if longest > self.component_octets => {
                let most = self.component_octets;
                let text = format!("a component has {longest} octets; at most {most} may be");
                Err(beyond(minor::IMP_LIMIT_NAME, text))
            }
            _ => Ok(()),
        }
    }

    /// Whether a reference with so many octets as text may be bound.
    pub(super) fn check_reference(&self, octets: usize) -> Result<(), SystemException> {
        if octets <= self.reference_octets {
            return Ok(());
        }
        let most = self.reference_octets;
        let text = format!("the reference has {octets} octets as text; at most {most} may be");
        Err(beyond(minor::IMP_LIMIT_REFERENCE, text))
    }
}

pub(super) fn beyond(minor: Minor, detail: String) -> SystemException {
    SystemException::imp_limit(minor, CompletionStatus::No).with_detail(detail)
}
