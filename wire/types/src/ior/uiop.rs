//! Profiles whose address is one string: the form of TAO's UIOP (unix-domain sockets), which is
//! that of IIOP (CORBA 3.3 P2 §9.7.2) with a rendezvous point instead of host and port. Ours for
//! shared memory have it too, and those of third-party transports unless they choose another.

use corbie_cdr::{Decoder, Error, ErrorKind, Version};

use super::component::TaggedComponent;
use super::{TaggedProfile, encapsulated, profile_tag};

/// The body of a profile with tag [`profile_tag::UIOP`].
///
/// ```text
/// | order | major minor | rendezvous point string | object_key octets | components (1.1+) |
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UiopProfile {
    /// Highest GIOP version that the server understands.
    pub version: Version,
    /// Where to connect: a path, or `@` and an abstract name.
    pub address: String,
    /// What the server calls the object; opaque to clients.
    pub object_key: Vec<u8>,
    /// Components; empty in version 1.0.
    pub components: Vec<TaggedComponent>,
}

impl UiopProfile {
    /// A profile without components.
    #[must_use]
    pub fn new(
        version: Version,
        address: impl Into<String>,
        object_key: impl Into<Vec<u8>>,
    ) -> Self {
        let (address, object_key) = (address.into(), object_key.into());
        Self { version, address, object_key, components: Vec::new() }
    }

    /// Reads the data of a profile. Octets behind the body are passed over, as in IIOP.
    ///
    /// # Errors
    /// When it is no profile body, or its major version is not 1.
    pub fn decode(data: &[u8]) -> Result<Self, Error> {
        let mut d = Decoder::from_encapsulation(data)?;
        let version = Version { major: d.read_octet()?, minor: d.read_octet()? };
        if version.major != 1 {
            let found = format!("version {version}");
            return Err(d.error(ErrorKind::InvalidReference, "UIOP profile", found, "1.0 to 1.2"));
        }
        let address = d.read_str()?.to_owned();
        let object_key = d.read_octet_sequence()?.to_vec();
        let components = if version.minor == 0 || d.remaining() == 0 {
            Vec::new()
        } else {
            TaggedComponent::decode_list(&mut d)?
        };
        Ok(Self { version, address, object_key, components })
    }

    /// Writes the data of a profile. Components are left out of version 1.0, which has none.
    ///
    /// # Errors
    /// When the address contains a NUL.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let Self { version, address, object_key, components } = self;
        encapsulated(|e| {
            e.write_octet(version.major);
            e.write_octet(version.minor);
            e.write_str(address)?;
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
    /// As [`UiopProfile::encode`].
    pub fn to_tagged(&self) -> Result<TaggedProfile, Error> {
        Ok(TaggedProfile { tag: profile_tag::UIOP, data: self.encode()? })
    }
}
