//! Which peers may say for which users they call (identity assertion of CSIv2). Asked by the server
//! half of `orb/core` when a request says so.

use crate::Pattern;
use crate::peers::Peers;
use corbie_transport::PeerIdentity;

/// Which peers are trusted to assert which users. Without a rule, none is.
///
/// ```
/// # use corbie_access::{AssertionRules, Peers};
/// let gateway = Peers::anyone().certificate("CN=gateway");
/// let rules = AssertionRules::none().allow([gateway], ["alice", "guest-*"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssertionRules(Vec<Trusted>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Trusted {
    peers: Vec<Peers>,
    users: Vec<Pattern>,
}

impl AssertionRules {
    /// No peer is trusted.
    #[must_use]
    pub fn none() -> Self {
        AssertionRules::default()
    }

    /// Trusts `peers` to call for users with one of these names; without any, for all users.
    #[must_use]
    pub fn allow<P: Into<Pattern>>(
        mut self,
        peers: impl IntoIterator<Item = Peers>,
        users: impl IntoIterator<Item = P>,
    ) -> Self {
        let peers = peers.into_iter().collect();
        let users = users.into_iter().map(Into::into).collect();
        self.0.push(Trusted { peers, users });
        self
    }

    /// Whether no peer is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `peer` may call for `user`; `None`: for a caller without a name. For a server that
    /// runs as the user `own_user` of its machine.
    #[must_use]
    pub fn permit(&self, peer: &PeerIdentity, user: Option<&str>, own_user: u32) -> bool {
        let names = |users: &[Pattern]| {
            let is_named = |user: &str| users.iter().any(|name| name.matches(user.bytes()));
            users.is_empty() || user.is_none_or(is_named)
        };
        let is_of = |one: &&Trusted| one.peers.iter().any(|peers| peers.include(peer, own_user));
        self.0.iter().filter(is_of).any(|one| names(&one.users))
    }
}
