//! Interoperable object references (CORBA 3.3 P2 §7.6): type id and tagged profiles, as on the
//! wire; the text is in `url`. Used by the ORB to bind, by the POA to publish, by `corbie ior`.
//!
//! Profiles are kept as the octets that came, so that a reference passed on is not changed.

mod code_set_info;
mod component;
mod describe;
mod extent;
mod identity;
mod iiop;
mod messages;
mod security;
mod tags;
mod uiop;

use corbie_cdr::{Decoder, Encoder, Error, Marshal};

pub use code_set_info::{CodeSetComponent, CodeSetComponentInfo, NoCommonCodeSet};
pub use component::{Component, TaggedComponent};
pub use describe::Description;
pub use extent::ProfileExtent;
pub use identity::Identity;
pub use iiop::{Address, IiopProfile};
pub use messages::{GIOPLITE, MessagesProfile};
pub use security::{
    AsContextSec, CompoundSecMech, CsiSecMechList, SasContextSec, SslSecTrans, TlsSecTrans,
    association,
};
pub use tags::{component_tag, orb_type, profile_tag};
pub use uiop::UiopProfile;

/// A profile: how the object can be reached, in the terms of one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaggedProfile {
    /// Which protocol; see [`profile_tag`].
    pub tag: u32,
    /// Its data, an encapsulation for all standard tags.
    pub data: Vec<u8>,
}

impl TaggedProfile {
    /// The IIOP profile that it is; `None` when it is of another protocol.
    ///
    /// # Errors
    /// When the data is no IIOP profile body.
    pub fn iiop(&self) -> Result<Option<IiopProfile>, Error> {
        match self.tag {
            profile_tag::INTERNET_IOP => IiopProfile::decode(&self.data).map(Some),
            _ => Ok(None),
        }
    }

    /// The profile in the form of UIOP that it is: of unix-domain sockets or of our shared memory;
    /// `None` when it is of another protocol.
    ///
    /// # Errors
    /// When the data is no such profile body.
    pub fn uiop(&self) -> Result<Option<UiopProfile>, Error> {
        match self.tag {
            profile_tag::UIOP | profile_tag::CORBIE_SHMIOP => {
                UiopProfile::decode(&self.data).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The components of a multiple-component profile; `None` when it is another profile.
    ///
    /// # Errors
    /// When the data is no list of components.
    pub fn multiple_components(&self) -> Result<Option<Vec<TaggedComponent>>, Error> {
        match self.tag {
            profile_tag::MULTIPLE_COMPONENTS => {
                let mut d = Decoder::from_encapsulation(&self.data)?;
                TaggedComponent::decode_list(&mut d).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A multiple-component profile of these components.
    ///
    /// # Errors
    /// None in practice: beyond 4 GiB.
    pub fn from_components(components: &[TaggedComponent]) -> Result<Self, Error> {
        let data = encapsulated(|e| TaggedComponent::encode_list(components, e))?;
        Ok(Self { tag: profile_tag::MULTIPLE_COMPONENTS, data })
    }
}

impl Marshal for TaggedProfile {
    type Value = Self;
    const MIN_OCTETS: usize = 8;

    fn encode<'a>(value: &'a Self, e: &mut Encoder<'a>) -> Result<(), Error> {
        e.write_ulong(value.tag);
        e.write_octet_sequence(&value.data)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self { tag: d.read_ulong()?, data: d.read_octet_sequence()?.to_vec() })
    }
}

/// An object reference (CORBA 3.3 P2 §7.6.2). Equal ones have the same octets; whether two are to
/// one object, their [`identity`](Ior::identity) tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ior {
    /// Repository id of the most derived interface known; empty when unknown.
    pub type_id: String,
    /// The ways to reach the object. None: a nil reference.
    pub profiles: Vec<TaggedProfile>,
}

impl Ior {
    /// The nil reference: no type id, no profiles.
    #[must_use]
    pub fn nil() -> Self {
        Self::default()
    }

    /// Whether it is nil: it has no profiles (CORBA 3.3 P2 §7.6.2).
    #[must_use]
    pub fn is_nil(&self) -> bool {
        self.profiles.is_empty()
    }

    /// A reference with one IIOP profile.
    ///
    /// # Errors
    /// When the host name cannot be written.
    pub fn from_iiop(type_id: impl Into<String>, profile: &IiopProfile) -> Result<Self, Error> {
        Ok(Self { type_id: type_id.into(), profiles: vec![profile.to_tagged()?] })
    }

    /// Its IIOP profiles in order, decoded; others are left out.
    ///
    /// # Errors
    /// When one of them is malformed.
    pub fn iiop_profiles(&self) -> Result<Vec<IiopProfile>, Error> {
        self.profiles.iter().filter_map(|profile| profile.iiop().transpose()).collect()
    }

    /// Writes it without borrowing from it.
    pub(crate) fn encode_copied(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_str(&self.type_id)?;
        e.write_length(self.profiles.len())?;
        self.profiles.iter().try_for_each(|profile| {
            e.write_ulong(profile.tag);
            e.write_octet_sequence_copied(&profile.data)
        })
    }

    /// It in words, for people: every profile and component.
    #[must_use]
    pub fn describe(&self) -> Description {
        describe::ior(self)
    }
}

impl Marshal for Ior {
    type Value = Self;
    /// Two lengths; the type id of a nil reference may come without its NUL.
    const MIN_OCTETS: usize = 8;

    fn encode<'a>(value: &'a Self, e: &mut Encoder<'a>) -> Result<(), Error> {
        e.write_str(&value.type_id)?;
        e.write_length(value.profiles.len())?;
        TaggedProfile::encode_slice(&value.profiles, e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        let type_id = d.read_str()?.to_owned();
        let length = d.read_length(TaggedProfile::MIN_OCTETS)?;
        Ok(Self { type_id, profiles: TaggedProfile::decode_vec(length, d)? })
    }
}

/// The octets of an encapsulation, without a length before it.
pub(crate) fn encapsulated(
    body: impl FnOnce(&mut Encoder<'_>) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let mut e = Encoder::native();
    e.write_octet(e.order().flag());
    body(&mut e)?;
    Ok(e.into_buffer())
}
