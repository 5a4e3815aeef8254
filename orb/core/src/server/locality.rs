//! Which references lead to objects of this process: calls to them need no connection.
//!
//! A reference is local when an address in it is one that this ORB publishes and its key is that of
//! an object which is active here. The key alone would not do, as persistent keys are the same in
//! every life and copy of a server; nor would the address, which others may share.

use crate::Orb;
use crate::server::Location;
use corbie_types::ior::profile_tag;
use corbie_types::{IiopProfile, Ior};

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
        let profiles = ior.profiles.iter().filter(|p| p.tag == profile_tag::INTERNET_IOP);
        profiles
            .filter_map(|profile| IiopProfile::decode(&profile.data).ok())
            .filter(|p| published.addresses.iter().any(|(h, n)| *h == p.host && *n == p.port))
            .map(|profile| profile.object_key)
            .find(|key| adapter.locate(key) == Location::Here)
    }
}
