//! The IIOP profile body, versions 1.0 to 1.2 (CORBA 3.3 P2 §9.7.2): host, port, object key and,
//! from 1.1 on, components. Decoded once when the ORB binds a reference.

use std::fmt;

use corbie_cdr::{Decoder, Error, ErrorKind, Version};

use super::component::{Component, TaggedComponent};
use super::{CodeSetComponentInfo, TaggedProfile, encapsulated, profile_tag};

/// A host and a TCP port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Name or address; an IPv6 address without brackets.
    pub host: String,
    /// TCP port; 0 means that only secure addresses in the components can be used.
    pub port: u16,
}

impl Address {
    /// An address.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }
}

impl fmt::Display for Address {
    /// `host:port`, an IPv6 address in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// The body of a profile with tag `TAG_INTERNET_IOP`.
///
/// ```text
/// | order | major minor | host string | port ushort | object_key octets | components (1.1+) |
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IiopProfile {
    /// Highest GIOP version that the server understands.
    pub version: Version,
    /// Name or address; an IPv6 address without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// What the server calls the object; opaque to clients.
    pub object_key: Vec<u8>,
    /// Components; empty in version 1.0.
    pub components: Vec<TaggedComponent>,
}

impl IiopProfile {
    /// A profile without components.
    #[must_use]
    pub fn new(
        version: Version,
        host: impl Into<String>,
        port: u16,
        object_key: impl Into<Vec<u8>>,
    ) -> Self {
        let (host, object_key) = (host.into(), object_key.into());
        Self { version, host, port, object_key, components: Vec::new() }
    }

    /// The address of the profile itself.
    #[must_use]
    pub fn address(&self) -> Address {
        Address::new(self.host.clone(), self.port)
    }

    /// All addresses in the order to be tried: its own, then those of its
    /// `TAG_ALTERNATE_IIOP_ADDRESS` components; malformed components are passed over.
    #[must_use]
    pub fn addresses(&self) -> Vec<Address> {
        let alternates = self.components.iter().filter_map(|component| match component.parse() {
            Ok(Component::AlternateAddress(address)) => Some(address),
            _ => None,
        });
        std::iter::once(self.address()).chain(alternates).collect()
    }

    /// What its server says about code sets, if anything; a malformed component counts as none.
    #[must_use]
    pub fn code_sets(&self) -> Option<CodeSetComponentInfo> {
        self.components.iter().find_map(|component| match component.parse() {
            Ok(Component::CodeSets(info)) => Some(info),
            _ => None,
        })
    }

    /// Reads the data of a profile. Octets behind the body are passed over: later versions may
    /// append members (CORBA 3.3 P2 §9.7.2).
    ///
    /// # Errors
    /// When it is no profile body, or its major version is not 1.
    pub fn decode(data: &[u8]) -> Result<Self, Error> {
        let mut d = Decoder::from_encapsulation(data)?;
        let version = Version { major: d.read_octet()?, minor: d.read_octet()? };
        if version.major != 1 {
            let found = format!("version {version}");
            return Err(d.error(ErrorKind::InvalidReference, "IIOP profile", found, "1.0 to 1.2"));
        }
        let host = d.read_string()?.into_owned();
        let host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(inner) => inner.to_owned(),
            None => host,
        };
        let port = d.read_ushort()?;
        let object_key = d.read_octet_sequence()?.to_vec();
        // Some ORBs end a 1.1 or 1.2 body here when it has no components.
        let components = if version.minor == 0 || d.remaining() == 0 {
            Vec::new()
        } else {
            TaggedComponent::decode_list(&mut d)?
        };
        Ok(Self { version, host, port, object_key, components })
    }

    /// Writes the data of a profile. Components are left out of version 1.0, which has none.
    ///
    /// # Errors
    /// When the host name cannot be written.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let Self { version, host, port, object_key, components } = self;
        encapsulated(|e| {
            e.write_octet(version.major);
            e.write_octet(version.minor);
            e.write_string(host)?;
            e.write_ushort(*port);
            e.write_octet_sequence_copied(object_key)?;
            if version.minor > 0 {
                TaggedComponent::encode_list(components, e)?;
            }
            Ok(())
        })
    }

    /// It as one of the profiles of a reference.
    ///
    /// # Errors
    /// As [`IiopProfile::encode`].
    pub fn to_tagged(&self) -> Result<TaggedProfile, Error> {
        Ok(TaggedProfile { tag: profile_tag::INTERNET_IOP, data: self.encode()? })
    }
}
