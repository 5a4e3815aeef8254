//! Which object a reference is to, as far as it says: protocol, address and object key of each
//! profile, whatever octets they are written with (CORBA 3.3 P1 §8.3.5).
//!
//! A peer that encodes a reference again may choose the byte order, what stands in padding, and the
//! order of components. None of that makes it another object, and neither does what components tell
//! about the way to it. `Object` compares and hashes by this.

use super::component::{Component, TaggedComponent};
use super::{Ior, MessagesProfile, TaggedProfile, profile_tag};

/// The places where an object is to be found, in an order of their own. Equal identities are surely
/// one object; two that differ may still be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(Vec<Whereabouts>);

/// Hosts or paths with their ports, in order.
type Addresses = Vec<(String, u16)>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Whereabouts {
    Known {
        /// What is spoken there; `None` for GIOP.
        messages: Option<String>,
        /// The tag of the transport's profile.
        transport: u32,
        addresses: Addresses,
        object_key: Vec<u8>,
    },
    /// A profile of another protocol, or one that cannot be read.
    Octets(TaggedProfile),
}

impl Ior {
    /// What the reference is to; its type id is no part of that.
    #[must_use]
    pub fn identity(&self) -> Identity {
        let tells = |profile: &&TaggedProfile| profile.tag != profile_tag::MULTIPLE_COMPONENTS;
        let mut places: Vec<_> = self.profiles.iter().filter(tells).map(place).collect();
        if places.is_empty() {
            places = self.profiles.iter().cloned().map(Whereabouts::Octets).collect();
        }
        places.sort_unstable();
        places.dedup();
        Identity(places)
    }
}

fn place(profile: &TaggedProfile) -> Whereabouts {
    let messages = MessagesProfile::of(profile.tag, &profile.data).ok().flatten();
    let (messages, carrier) = match messages {
        Some(spoken) => (Some(spoken.protocol), spoken.carrier),
        None => (None, profile.clone()),
    };
    let transport = carrier.tag;
    match where_it_is(&carrier) {
        Some((addresses, object_key)) => {
            Whereabouts::Known { messages, transport, addresses, object_key }
        }
        None => Whereabouts::Octets(profile.clone()),
    }
}

/// The addresses and the object key; `None`: it is of a protocol that is not known here.
fn where_it_is(profile: &TaggedProfile) -> Option<(Addresses, Vec<u8>)> {
    if let Ok(Some(iiop)) = profile.iiop() {
        let own = (iiop.host.to_ascii_lowercase(), iiop.port);
        let others = iiop.components.iter().filter_map(|component| address(&iiop.host, component));
        let mut addresses: Vec<_> = std::iter::once(own).chain(others).collect();
        addresses.sort_unstable();
        addresses.dedup();
        return Some((addresses, iiop.object_key));
    }
    let unix = profile.uiop().ok().flatten()?;
    Some((vec![(unix.address, 0)], unix.object_key))
}

/// Another address that a component of a profile at `host` names.
fn address(host: &str, component: &TaggedComponent) -> Option<(String, u16)> {
    match component.parse().ok()? {
        Component::AlternateAddress(other) => Some((other.host.to_ascii_lowercase(), other.port)),
        // With port 0 in the profile itself, this alone tells two servers apart.
        Component::SslSecTrans(tls) => Some((host.to_ascii_lowercase(), tls.port)),
        _ => None,
    }
}
