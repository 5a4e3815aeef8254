//! Which references lead to objects of this process: calls to them need no connection.
//!
//! A reference is local when an address in it is one that this ORB publishes and its key is that of
//! an object which is active here. The key alone would not do, as persistent keys are the same in
//! every life and copy of a server; nor would the address, which others may share.

use crate::profile::Profile;
use crate::server::Location;
use crate::{Object, Orb};
use corbie_types::{Ior, TaggedProfile};

impl Orb {
    /// Whether `ior` leads to an object that is active in this ORB now. Costs a look at the
    /// reference and one at the object table: ask once for a reference, not for a call.
    #[must_use]
    pub fn is_local(&self, ior: &Ior) -> bool {
        self.local_key(ior).is_some()
    }

    /// The object key by which [`crate::server::dispatch::local`] finds the object of `ior`, if it
    /// is active here.
    pub(crate) fn local_key(&self, ior: &Ior) -> Option<Vec<u8>> {
        let published = self.server().published()?;
        let adapter = self.server().adapter.get()?;
        let is_ours = |profile: &Profile| {
            published.iter().any(|ours| {
                ours.protocol == profile.protocol
                    && profile.endpoints.iter().any(|theirs| ours.endpoints.contains(theirs))
            })
        };
        let decode = |profile: &TaggedProfile| {
            Profile::decode(self.known(), profile.tag, &profile.data).ok().flatten()
        };
        let profiles = ior.profiles.iter().filter_map(decode);
        profiles
            .filter(|profile| profile.is_within_reach() && is_ours(profile))
            .map(|profile| profile.object_key)
            .find(|key| adapter.locate(key) == Location::Here)
    }
}

impl Object {
    /// Whether this ORB serves the object itself.
    pub fn is_local(&self) -> bool {
        self.local_key().is_some()
    }

    /// The object's key, if this ORB serves it: found out once.
    pub(crate) fn local_key(&self) -> Option<&[u8]> {
        self.local_key_slot().get_or_init(|| self.orb().local_key(self.ior())).as_deref()
    }
}
