//! The user that a request is made for, as CSIv2 says it. Made by `csi` once for each context or
//! token of a connection, carried by requests, asked by `access` and by a `Current`.

use crate::server::access::{Access, RulesOf};
use corbie_access::PeerRules;
use corbie_transport::PeerIdentity;
use std::fmt;
use std::sync::Arc;

/// See the module.
pub(crate) struct Caller {
    /// The peer of the connection, with the user.
    identity: Arc<PeerIdentity>,
    /// Whether the peer has proven with a password which user it is, perhaps another.
    is_proven: bool,
    rules: RulesOf,
}

impl Caller {
    pub(super) fn new(identity: PeerIdentity, is_proven: bool) -> Arc<Self> {
        let identity = Arc::new(identity);
        Arc::new(Caller { identity, is_proven, rules: RulesOf::default() })
    }

    /// The peer, with the user.
    pub(crate) fn identity(&self) -> &Arc<PeerIdentity> {
        &self.identity
    }

    /// The user; `None`: a caller without a name.
    pub(crate) fn user(&self) -> Option<&Arc<str>> {
        self.identity.user.as_ref()
    }

    /// Whether the peer has proven with a password which user it is, or for which it may call.
    pub(super) fn is_proven(&self) -> bool {
        self.is_proven
    }

    /// What rules say of it.
    pub(crate) fn rules(&self, access: &Access) -> Arc<PeerRules> {
        self.rules.get(access, &self.identity)
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Caller({})", self.identity)
    }
}
