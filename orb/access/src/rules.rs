//! Rules, and what they say of a call.
//!
//! A call passes when a rule that allows holds for it and none that refuses does: the order of the
//! rules means nothing.

use crate::Pattern;
use crate::peers::{Peers, holds};
use corbie_transport::PeerIdentity;
use std::sync::Arc;

/// What calls a rule is about: those for which all that is said here holds. What nothing is said
/// of, holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    peers: Vec<Peers>,
    objects: Vec<Pattern>,
    interfaces: Vec<Pattern>,
    operations: Vec<Pattern>,
}

impl Rule {
    /// Calls of one of these `peers`.
    #[must_use]
    pub fn of(peers: impl IntoIterator<Item = Peers>) -> Self {
        let peers = peers.into_iter().collect();
        Rule { peers, objects: Vec::new(), interfaces: Vec::new(), operations: Vec::new() }
    }

    /// Only of objects with one of these names: the object key as text, a name that was bound with
    /// `bind_object_key`, or `POA/POA/ID`.
    #[must_use]
    pub fn objects<P: Into<Pattern>>(mut self, names: impl IntoIterator<Item = P>) -> Self {
        self.objects.extend(names.into_iter().map(Into::into));
        self
    }

    /// Only of objects that have an interface with one of these repository ids.
    #[must_use]
    pub fn interfaces<P: Into<Pattern>>(mut self, ids: impl IntoIterator<Item = P>) -> Self {
        self.interfaces.extend(ids.into_iter().map(Into::into));
        self
    }

    /// Only of these operations, as they are named on the wire: those of an attribute `x` are
    /// `_get_x` and `_set_x`. A rule that allows lets the questions pass as well that every object
    /// answers (`_is_a`, `_non_existent` and their like).
    #[must_use]
    pub fn operations<P: Into<Pattern>>(mut self, names: impl IntoIterator<Item = P>) -> Self {
        self.operations.extend(names.into_iter().map(Into::into));
        self
    }

    fn is_of(&self, peer: &PeerIdentity, own_user: u32) -> bool {
        self.peers.iter().any(|peers| peers.include(peer, own_user))
    }

    fn holds_for_all_calls(&self) -> bool {
        self.objects.is_empty() && self.interfaces.is_empty() && self.operations.is_empty()
    }

    fn names_operation(&self, operation: &str) -> bool {
        holds(&self.operations, |name| name.matches(operation.bytes()))
    }

    fn names_object(&self, object: &impl CalledObject) -> bool {
        holds(&self.objects, |name| object.has_name(name))
    }

    fn allows(&self, operation: &str, object: &impl CalledObject) -> bool {
        (is_question(operation) || self.names_operation(operation))
            && self.names_object(object)
            && holds(&self.interfaces, |id| object.has_interface(id) == Some(true))
    }

    /// What is not known of an object counts against the call.
    fn refuses(&self, operation: &str, object: &impl CalledObject) -> bool {
        self.names_operation(operation)
            && self.names_object(object)
            && holds(&self.interfaces, |id| object.has_interface(id) != Some(false))
    }
}

/// Whether every object answers `operation` itself. By name, since a servant that forwards gets all
/// operations, also such as only begin with an underscore.
fn is_question(operation: &str) -> bool {
    const QUESTIONS: [&str; 7] = [
        "_component",
        "_domain_managers",
        "_interface",
        "_is_a",
        "_non_existent",
        "_not_existent",
        "_repository_id",
    ];
    QUESTIONS.contains(&operation)
}

/// The object that is called, as rules see it.
pub trait CalledObject {
    /// Whether one of its names is as `pattern`.
    fn has_name(&self, pattern: &Pattern) -> bool;

    /// Whether it has an interface whose repository id is as `pattern`; `None` when that is not
    /// known before the call, as of objects that a servant manager makes when they are called.
    fn has_interface(&self, pattern: &Pattern) -> Option<bool>;
}

/// All rules of an ORB. Without any, every call is refused.
///
/// ```
/// # use corbie_access::{AccessRules, Peers, Rule};
/// let rules = AccessRules::none()
///     .allow(Rule::of([Peers::loopback()]))
///     .allow(Rule::of([Peers::anyone()]).objects(["NameService"]).operations(["resolve", "list"]))
///     .refuse(Rule::of([Peers::anyone().address("10.6.6.0/24".parse()?)]));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRules {
    allow: Vec<Arc<Rule>>,
    refuse: Vec<Arc<Rule>>,
}

impl AccessRules {
    /// No rule: every call is refused.
    #[must_use]
    pub fn none() -> Self {
        AccessRules::default()
    }

    /// What the shipped servers start with: peers over loopback, and those of the server's own user
    /// over a unix-domain socket or shared memory, may call everything; others nothing.
    #[must_use]
    pub fn local() -> Self {
        AccessRules::none().allow(Rule::of([Peers::loopback(), Peers::own_user()]))
    }

    /// Calls for which `rule` holds pass, unless one that refuses holds as well.
    #[must_use]
    pub fn allow(mut self, rule: Rule) -> Self {
        self.allow.push(Arc::new(rule));
        self
    }

    /// Calls for which `rule` holds are refused.
    #[must_use]
    pub fn refuse(mut self, rule: Rule) -> Self {
        self.refuse.push(Arc::new(rule));
        self
    }

    /// The rules that are about `peer`, for a server that runs as the user `own_user`.
    #[must_use]
    pub fn for_peer(&self, peer: &PeerIdentity, own_user: u32) -> PeerRules {
        let of = |rules: &[Arc<Rule>]| {
            let mut own: Vec<_> =
                rules.iter().filter(|rule| rule.is_of(peer, own_user)).cloned().collect();
            // One that holds for all calls says what the others could.
            if let Some(all) = own.iter().position(|rule| rule.holds_for_all_calls()) {
                own = vec![own.swap_remove(all)];
            }
            own
        };
        PeerRules { allow: of(&self.allow), refuse: of(&self.refuse) }
    }
}

/// What rules say of one peer.
#[derive(Clone, Debug)]
pub struct PeerRules {
    allow: Vec<Arc<Rule>>,
    refuse: Vec<Arc<Rule>>,
}

impl PeerRules {
    /// Whether the peer may call `operation` of `object`. Allocates nothing; `object` is asked only
    /// for what a rule names.
    pub fn permit(&self, operation: &str, object: &impl CalledObject) -> bool {
        self.allow.iter().any(|rule| rule.allows(operation, object))
            && !self.refuse.iter().any(|rule| rule.refuses(operation, object))
    }
}
