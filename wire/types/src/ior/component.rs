//! Tagged components (CORBA 3.3 P2 §7.6.6): facts about a profile. Those that Corbie uses have a
//! typed view; all are kept as octets, so that unknown ones survive.

use corbie_cdr::{Decoder, Encoder, Error, Marshal};

use super::iiop::Address;
use super::security::{CsiSecMechList, SslSecTrans, TlsSecTrans};
use super::{CodeSetComponentInfo, component_tag, encapsulated};

/// A component: a tag and its data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaggedComponent {
    /// What it tells; see [`component_tag`].
    pub tag: u32,
    /// Its data, an encapsulation for nearly all standard tags.
    pub data: Vec<u8>,
}

/// What a component says, as far as Corbie reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Component {
    /// `TAG_ORB_TYPE`: which ORB made the reference; see [`orb_type`](super::orb_type).
    OrbType(u32),
    /// `TAG_CODE_SETS`: how the server encodes characters.
    CodeSets(CodeSetComponentInfo),
    /// `TAG_POLICIES`: policy types and their encapsulated values.
    Policies(Vec<(u32, Vec<u8>)>),
    /// `TAG_ALTERNATE_IIOP_ADDRESS`: another address of the same server.
    AlternateAddress(Address),
    /// `TAG_SSL_SEC_TRANS`: TLS.
    SslSecTrans(SslSecTrans),
    /// `TAG_CSI_SEC_MECH_LIST`: ways to call in safety.
    CsiSecMechList(CsiSecMechList),
    /// `TAG_TLS_SEC_TRANS`, within the above: TLS at several addresses.
    TlsSecTrans(TlsSecTrans),
    /// `TAG_JAVA_CODEBASE`: where classes can be loaded from; shown, never used.
    JavaCodebase(String),
    /// `CORBIE_MESSAGE_OCTETS`: octets of the largest message that the server takes.
    MessageOctets(u32),
    /// `TAG_NULL_TAG`: nothing.
    Null,
    /// Any other: kept as octets.
    Other,
}

impl TaggedComponent {
    /// Says which ORB made the reference.
    ///
    /// # Errors
    /// None in practice.
    pub fn orb_type(id: u32) -> Result<Self, Error> {
        let data = encapsulated(|e| {
            e.write_ulong(id);
            Ok(())
        })?;
        Ok(Self { tag: component_tag::ORB_TYPE, data })
    }

    /// Says how the server encodes characters.
    ///
    /// # Errors
    /// None in practice.
    pub fn code_sets(info: &CodeSetComponentInfo) -> Result<Self, Error> {
        let data = encapsulated(|e| info.write(e))?;
        Ok(Self { tag: component_tag::CODE_SETS, data })
    }

    /// Says how large a message the server takes, in octets with the header.
    ///
    /// # Errors
    /// None in practice.
    pub fn message_octets(most: u32) -> Result<Self, Error> {
        let data = encapsulated(|e| {
            e.write_ulong(most);
            Ok(())
        })?;
        Ok(Self { tag: component_tag::CORBIE_MESSAGE_OCTETS, data })
    }

    /// Names another address of the server.
    ///
    /// # Errors
    /// When the host name cannot be written.
    pub fn alternate_address(address: &Address) -> Result<Self, Error> {
        let data = encapsulated(|e| {
            e.write_string(&address.host)?;
            e.write_ushort(address.port);
            Ok(())
        })?;
        Ok(Self { tag: component_tag::ALTERNATE_IIOP_ADDRESS, data })
    }

    /// Its name, `TAG_ORB_TYPE` for example, when known.
    #[must_use]
    pub fn tag_name(&self) -> Option<&'static str> {
        component_tag::name(self.tag)
    }

    /// Reads what it says.
    ///
    /// # Errors
    /// When the data does not fit the tag.
    pub fn parse(&self) -> Result<Component, Error> {
        let decoder = || Decoder::from_encapsulation(&self.data);
        Ok(match self.tag {
            component_tag::ORB_TYPE => Component::OrbType(decoder()?.read_ulong()?),
            component_tag::CODE_SETS => {
                Component::CodeSets(CodeSetComponentInfo::read(&mut decoder()?)?)
            }
            component_tag::POLICIES => Component::Policies(read_policies(&mut decoder()?)?),
            component_tag::ALTERNATE_IIOP_ADDRESS => {
                let mut d = decoder()?;
                let host = d.read_string()?.into_owned();
                Component::AlternateAddress(Address { host, port: d.read_ushort()? })
            }
            component_tag::SSL_SEC_TRANS => {
                Component::SslSecTrans(SslSecTrans::read(&mut decoder()?)?)
            }
            component_tag::CSI_SEC_MECH_LIST => {
                Component::CsiSecMechList(CsiSecMechList::read(&mut decoder()?)?)
            }
            component_tag::TLS_SEC_TRANS => {
                Component::TlsSecTrans(TlsSecTrans::read(&mut decoder()?)?)
            }
            component_tag::JAVA_CODEBASE => {
                Component::JavaCodebase(decoder()?.read_string()?.into_owned())
            }
            component_tag::CORBIE_MESSAGE_OCTETS => {
                Component::MessageOctets(decoder()?.read_ulong()?)
            }
            component_tag::NULL_TAG => Component::Null,
            _ => Component::Other,
        })
    }

    pub(super) fn decode_list(d: &mut Decoder<'_>) -> Result<Vec<Self>, Error> {
        let length = d.read_length(Self::MIN_OCTETS)?;
        Self::decode_vec(length, d)
    }

    pub(super) fn encode_list(list: &[Self], e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_length(list.len())?;
        list.iter().try_for_each(|component| {
            e.write_ulong(component.tag);
            e.write_octet_sequence_copied(&component.data)
        })
    }
}

fn read_policies(d: &mut Decoder<'_>) -> Result<Vec<(u32, Vec<u8>)>, Error> {
    let length = d.read_length(8)?;
    (0..length).map(|_| Ok((d.read_ulong()?, d.read_octet_sequence()?.to_vec()))).collect()
}

impl Marshal for TaggedComponent {
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
