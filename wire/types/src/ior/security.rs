//! Where and how a server can be reached in safety: the components of SSLIOP and CSIv2 (CORBA 3.3
//! P2 §10.7, §10.5). Written by `orb/core/profile` for servers with TLS, read when a reference is
//! bound and by `corbie ior`.

use super::component::{Component, TaggedComponent};
use super::iiop::{Address, IiopProfile};
use super::{component_tag, encapsulated};
use corbie_cdr::{Decoder, Encoder, Error};
use std::collections::HashSet;

/// Association options: what a server supports, and requires, as bits (CORBA 3.3 P2 §10.6.1).
pub mod association {
    /// Messages without protection are taken as well.
    pub const NO_PROTECTION: u16 = 0x0001;
    /// Messages cannot be changed unnoticed.
    pub const INTEGRITY: u16 = 0x0002;
    /// Messages cannot be read by others.
    pub const CONFIDENTIALITY: u16 = 0x0004;
    /// Messages cannot be sent twice unnoticed.
    pub const DETECT_REPLAY: u16 = 0x0008;
    /// Messages cannot be put in another order unnoticed.
    pub const DETECT_MISORDERING: u16 = 0x0010;
    /// The server proves what it is.
    pub const ESTABLISH_TRUST_IN_TARGET: u16 = 0x0020;
    /// The client proves what it is.
    pub const ESTABLISH_TRUST_IN_CLIENT: u16 = 0x0040;
    /// The client may say for which identity it calls.
    pub const IDENTITY_ASSERTION: u16 = 0x0400;
    /// The client may say which servers call for it.
    pub const DELEGATION_BY_CLIENT: u16 = 0x0800;
    /// What each connection over TLS has.
    pub const OF_TLS: u16 = INTEGRITY | CONFIDENTIALITY | DETECT_REPLAY | DETECT_MISORDERING;
}

/// `TAG_SSL_SEC_TRANS` (CORBA Security 1.8 §3.7.3; CORBA 3.3 P2 §10.7): TLS at this port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SslSecTrans {
    /// [`association`] options that the target supports.
    pub target_supports: u16,
    /// [`association`] options that the target requires.
    pub target_requires: u16,
    /// TCP port for TLS, on the host of the profile.
    pub port: u16,
}

/// `TAG_TLS_SEC_TRANS` (CORBA 3.3 P2 §10.5.1.3): TLS at these addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TlsSecTrans {
    /// [`association`] options that the target supports.
    pub target_supports: u16,
    /// [`association`] options that the target requires.
    pub target_requires: u16,
    /// Where, the preferred one first.
    pub addresses: Vec<Address>,
}

/// One mechanism of a `TAG_CSI_SEC_MECH_LIST` (CORBA 3.3 P2 §10.5.1.6).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompoundSecMech {
    /// [`association`] options that the three layers together require.
    pub target_requires: u16,
    /// The transport layer: `TAG_TLS_SEC_TRANS`, or `TAG_NULL_TAG` for none.
    pub transport: TaggedComponent,
    /// The authentication layer: user name and password.
    pub authentication: AsContextSec,
    /// The attribute layer: identity assertion.
    pub attributes: SasContextSec,
}

/// `AS_ContextSec`: how a client can authenticate above the transport.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AsContextSec {
    /// 0 or [`association::ESTABLISH_TRUST_IN_CLIENT`].
    pub target_supports: u16,
    /// 0 or [`association::ESTABLISH_TRUST_IN_CLIENT`].
    pub target_requires: u16,
    /// The object identifier of the mechanism, in DER: that of GSSUP.
    pub mechanism: Vec<u8>,
    /// The security domain, as an exported GSS name.
    pub target_name: Vec<u8>,
}

/// `SAS_ContextSec`: for which identities a client may call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SasContextSec {
    /// 0 or [`association::IDENTITY_ASSERTION`], with options of delegation.
    pub target_supports: u16,
    /// As `target_supports`.
    pub target_requires: u16,
    /// Authorities whose attributes are understood: syntax and name.
    pub privilege_authorities: Vec<(u32, Vec<u8>)>,
    /// Object identifiers, in DER, of the mechanisms whose names are understood.
    pub naming_mechanisms: Vec<Vec<u8>>,
    /// Kinds of identity tokens that are understood, as bits.
    pub identity_types: u32,
}

/// `TAG_CSI_SEC_MECH_LIST` (CORBA 3.3 P2 §10.5.1.6): ways to call in safety, the preferred first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CsiSecMechList {
    /// Whether the server keeps security contexts, so that a client says who it is only once.
    pub stateful: bool,
    /// The ways.
    pub mechanisms: Vec<CompoundSecMech>,
}

impl SslSecTrans {
    /// The component.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_component(self) -> Result<TaggedComponent, Error> {
        let data = encapsulated(|e| {
            e.write_ushort(self.target_supports);
            e.write_ushort(self.target_requires);
            e.write_ushort(self.port);
            Ok(())
        })?;
        Ok(TaggedComponent { tag: component_tag::SSL_SEC_TRANS, data })
    }

    pub(super) fn read(d: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self {
            target_supports: d.read_ushort()?,
            target_requires: d.read_ushort()?,
            port: d.read_ushort()?,
        })
    }
}

impl TlsSecTrans {
    /// The component.
    ///
    /// # Errors
    /// When a host name cannot be written.
    pub fn to_component(&self) -> Result<TaggedComponent, Error> {
        let data = encapsulated(|e| {
            e.write_ushort(self.target_supports);
            e.write_ushort(self.target_requires);
            e.write_length(self.addresses.len())?;
            self.addresses.iter().try_for_each(|address| {
                e.write_string(&address.host)?;
                e.write_ushort(address.port);
                Ok(())
            })
        })?;
        Ok(TaggedComponent { tag: component_tag::TLS_SEC_TRANS, data })
    }

    pub(super) fn read(d: &mut Decoder<'_>) -> Result<Self, Error> {
        let (target_supports, target_requires) = (d.read_ushort()?, d.read_ushort()?);
        let length = d.read_length(TRANSPORT_ADDRESS_OCTETS)?;
        let address = |_| Ok(Address::new(d.read_string()?.into_owned(), d.read_ushort()?));
        let addresses = (0..length).map(address).collect::<Result<_, Error>>()?;
        Ok(Self { target_supports, target_requires, addresses })
    }
}

impl CompoundSecMech {
    /// Where TLS is spoken; `None`: the transport layer is another, or none.
    #[must_use]
    pub fn tls(&self) -> Option<TlsSecTrans> {
        match self.transport.parse() {
            Ok(Component::TlsSecTrans(tls)) => Some(tls),
            _ => None,
        }
    }

    fn write(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_ushort(self.target_requires);
        e.write_ulong(self.transport.tag);
        e.write_octet_sequence_copied(&self.transport.data)?;
        let AsContextSec { target_supports, target_requires, mechanism, target_name } =
            &self.authentication;
        e.write_ushort(*target_supports);
        e.write_ushort(*target_requires);
        e.write_octet_sequence_copied(mechanism)?;
        e.write_octet_sequence_copied(target_name)?;
        let attributes = &self.attributes;
        e.write_ushort(attributes.target_supports);
        e.write_ushort(attributes.target_requires);
        e.write_length(attributes.privilege_authorities.len())?;
        for (syntax, name) in &attributes.privilege_authorities {
            e.write_ulong(*syntax);
            e.write_octet_sequence_copied(name)?;
        }
        e.write_length(attributes.naming_mechanisms.len())?;
        for mechanism in &attributes.naming_mechanisms {
            e.write_octet_sequence_copied(mechanism)?;
        }
        e.write_ulong(attributes.identity_types);
        Ok(())
    }

    fn read(d: &mut Decoder<'_>) -> Result<Self, Error> {
        let target_requires = d.read_ushort()?;
        let (tag, data) = (d.read_ulong()?, octets(d)?);
        let authentication = AsContextSec {
            target_supports: d.read_ushort()?,
            target_requires: d.read_ushort()?,
            mechanism: octets(d)?,
            target_name: octets(d)?,
        };
        let (supports, requires) = (d.read_ushort()?, d.read_ushort()?);
        let length = d.read_length(8)?;
        let authority = |_| Ok((d.read_ulong()?, octets(d)?));
        let privilege_authorities = (0..length).map(authority).collect::<Result<_, Error>>()?;
        let length = d.read_length(4)?;
        let naming_mechanisms = (0..length).map(|_| octets(d)).collect::<Result<_, Error>>()?;
        let attributes = SasContextSec {
            target_supports: supports,
            target_requires: requires,
            privilege_authorities,
            naming_mechanisms,
            identity_types: d.read_ulong()?,
        };
        let transport = TaggedComponent { tag, data };
        Ok(Self { target_requires, transport, authentication, attributes })
    }
}

impl CsiSecMechList {
    /// TLS alone: no user names, no identities.
    ///
    /// # Errors
    /// When a host name cannot be written.
    pub fn of_tls(tls: &TlsSecTrans) -> Result<Self, Error> {
        let mechanism = CompoundSecMech {
            target_requires: tls.target_requires,
            transport: tls.to_component()?,
            authentication: AsContextSec::default(),
            attributes: SasContextSec::default(),
        };
        Ok(Self { stateful: false, mechanisms: vec![mechanism] })
    }

    /// The component.
    ///
    /// # Errors
    /// None in practice: beyond 4 GiB.
    pub fn to_component(&self) -> Result<TaggedComponent, Error> {
        let data = encapsulated(|e| {
            e.write_boolean(self.stateful);
            e.write_length(self.mechanisms.len())?;
            self.mechanisms.iter().try_for_each(|mechanism| mechanism.write(e))
        })?;
        Ok(TaggedComponent { tag: component_tag::CSI_SEC_MECH_LIST, data })
    }

    pub(super) fn read(d: &mut Decoder<'_>) -> Result<Self, Error> {
        let stateful = d.read_boolean()?;
        let length = d.read_length(COMPOUND_SEC_MECH_OCTETS)?;
        let mechanisms = (0..length).map(|_| CompoundSecMech::read(d)).collect::<Result<_, _>>()?;
        Ok(Self { stateful, mechanisms })
    }
}

/// How many addresses of TLS the data of a `TAG_CSI_SEC_MECH_LIST` says it has. Keeps nothing of
/// them, as it measures what a peer sent.
///
/// # Errors
/// When the octets are no such list.
pub(super) fn count_tls_addresses(data: &[u8]) -> Result<usize, Error> {
    let mut d = Decoder::from_encapsulation(data)?;
    d.read_boolean()?;
    let mut addresses = 0;
    for _ in 0..d.read_length(COMPOUND_SEC_MECH_OCTETS)? {
        d.read_ushort()?;
        let (tag, transport) = (d.read_ulong()?, d.read_octet_sequence()?);
        if tag == component_tag::TLS_SEC_TRANS {
            addresses += declared_addresses(transport).unwrap_or_default();
        }
        pass_contexts(&mut d)?;
    }
    Ok(addresses)
}

fn declared_addresses(transport: &[u8]) -> Result<usize, Error> {
    let mut d = Decoder::from_encapsulation(transport)?;
    d.read_ushort()?;
    d.read_ushort()?;
    d.read_length(TRANSPORT_ADDRESS_OCTETS)
}

/// Passes over what a mechanism says of user names and identities.
fn pass_contexts(d: &mut Decoder<'_>) -> Result<(), Error> {
    d.read_ushort()?;
    d.read_ushort()?;
    d.read_octet_sequence()?;
    d.read_octet_sequence()?;
    d.read_ushort()?;
    d.read_ushort()?;
    for _ in 0..d.read_length(8)? {
        d.read_ulong()?;
        d.read_octet_sequence()?;
    }
    for _ in 0..d.read_length(4)? {
        d.read_octet_sequence()?;
    }
    d.read_ulong().map(drop)
}

/// The least that a `TransportAddress` takes on the wire.
const TRANSPORT_ADDRESS_OCTETS: usize = 7;

/// The least that a `CompoundSecMech` takes on the wire.
const COMPOUND_SEC_MECH_OCTETS: usize = 38;

fn octets(d: &mut Decoder<'_>) -> Result<Vec<u8>, Error> {
    Ok(d.read_octet_sequence()?.to_vec())
}

impl IiopProfile {
    /// Where its server speaks TLS, each address once: those of CSIv2, then that of SSLIOP, whose
    /// host is the profile's. Alternate addresses are plain and not among them. Malformed
    /// components are passed over.
    #[must_use]
    pub fn tls_addresses(&self) -> Vec<Address> {
        let (mut addresses, mut seen) = (Vec::new(), HashSet::new());
        let mut add = |address: Address| {
            let is_one = address.port != 0 && !address.host.is_empty();
            if is_one && seen.insert(address.clone()) {
                addresses.push(address);
            }
        };
        let parsed = || self.components.iter().filter_map(|component| component.parse().ok());
        for component in parsed() {
            let Component::CsiSecMechList(list) = component else { continue };
            let all = list.mechanisms.iter().filter_map(CompoundSecMech::tls);
            all.flat_map(|tls| tls.addresses).for_each(&mut add);
        }
        for component in parsed() {
            let Component::SslSecTrans(ssl) = component else { continue };
            add(Address::new(self.host.clone(), ssl.port));
        }
        addresses
    }
}
