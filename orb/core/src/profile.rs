//! Profiles of every protocol, to and from what the ORB makes of them: endpoints, version, object
//! key, components (CORBA 3.3 P2 §7.6.2, §9.7.2).
//!
//! The codec by profile tag: `client/bind` reads references with it, `orb/publish` writes them, and
//! code that looks for the object key of a reference asks here. What differs between protocols is
//! the address; the rest of a profile is alike.

use crate::machine;
use corbie_cdr::{ByteOrder, Version};
use corbie_giop as giop;
use corbie_settings::{ListenAt, Settings};
use corbie_transport::{Endpoint, PluggedEndpoint, Registry, Transport, UnixName};
use corbie_types::ior::{component_tag, profile_tag};
use corbie_types::{
    Address, CodeSetComponentInfo, CompletionStatus, Component, IiopProfile, SystemException,
    TaggedComponent, TaggedProfile, UiopProfile, minor,
};
use std::sync::Arc;

/// What a profile is of.
#[derive(Clone, Debug)]
pub(crate) enum Protocol {
    Iiop,
    GiopLite,
    Uiop,
    Shmiop,
    Plugged(Arc<dyn Transport>),
}

impl PartialEq for Protocol {
    fn eq(&self, other: &Self) -> bool {
        self.tag() == other.tag()
    }
}

impl Protocol {
    /// The protocol of profiles with this tag; `None`: an unknown one.
    pub(crate) fn of_tag(transports: &Registry, tag: u32) -> Option<Protocol> {
        match tag {
            profile_tag::INTERNET_IOP => Some(Protocol::Iiop),
            profile_tag::CORBIE_GIOPLITE => Some(Protocol::GiopLite),
            profile_tag::UIOP => Some(Protocol::Uiop),
            profile_tag::CORBIE_SHMIOP => Some(Protocol::Shmiop),
            _ => transports.by_tag(tag).cloned().map(Protocol::Plugged),
        }
    }

    /// The protocol that is spoken on an endpoint; `None`: its transport was not registered.
    pub(crate) fn of_listener(transports: &Registry, at: &ListenAt) -> Option<Protocol> {
        match at {
            ListenAt::Iiop(_) => Some(Protocol::Iiop),
            ListenAt::GiopLite(_) => Some(Protocol::GiopLite),
            ListenAt::Uiop(_) => Some(Protocol::Uiop),
            ListenAt::Shmiop(_) => Some(Protocol::Shmiop),
            ListenAt::Plugged { scheme, .. } => {
                transports.by_scheme(scheme).cloned().map(Protocol::Plugged)
            }
        }
    }

    /// What messages look like.
    pub(crate) fn messages(&self) -> giop::Protocol {
        match self {
            Protocol::GiopLite => giop::Protocol::GiopLite,
            _ => giop::Protocol::Giop,
        }
    }

    pub(crate) fn tag(&self) -> u32 {
        match self {
            Protocol::Iiop => profile_tag::INTERNET_IOP,
            Protocol::GiopLite => profile_tag::CORBIE_GIOPLITE,
            Protocol::Uiop => profile_tag::UIOP,
            Protocol::Shmiop => profile_tag::CORBIE_SHMIOP,
            Protocol::Plugged(transport) => transport.profile_tag(),
        }
    }

    /// As in endpoints and in `protocol_preference`.
    pub(crate) fn scheme(&self) -> &'static str {
        match self {
            Protocol::Iiop => "iiop",
            Protocol::GiopLite => "giopl",
            Protocol::Uiop => "uiop",
            Protocol::Shmiop => "shmiop",
            Protocol::Plugged(transport) => transport.scheme(),
        }
    }
}

/// What a profile says, whatever its protocol.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) protocol: Protocol,
    /// Highest GIOP version that the server understands.
    pub(crate) version: Version,
    /// The byte order of the profile's data: in GIOPlite that of all messages, too.
    pub(crate) order: ByteOrder,
    /// Where to connect, in the order to be tried; at least one.
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) object_key: Vec<u8>,
    pub(crate) components: Vec<TaggedComponent>,
}

impl Profile {
    /// Reads a profile; `None` when it is of an unknown protocol.
    ///
    /// # Errors
    /// `INV_OBJREF` (`COMPLETED_NO`) when it cannot be read.
    pub(crate) fn decode(
        transports: &Registry,
        tag: u32,
        data: &[u8],
    ) -> Result<Option<Profile>, SystemException> {
        let Some(protocol) = Protocol::of_tag(transports, tag) else { return Ok(None) };
        // Of data without a first octet nothing can be read.
        let order = data.first().map_or(ByteOrder::NATIVE, |flag| ByteOrder::from_flag(*flag));
        let read = |data| UiopProfile::decode(data).map_err(|error| malformed(&error));
        let profile = match &protocol {
            Protocol::Iiop | Protocol::GiopLite => {
                let body = IiopProfile::decode(data).map_err(|error| malformed(&error))?;
                return Ok(Some(Self::over_tcp(protocol, order, body)));
            }
            Protocol::Uiop | Protocol::Shmiop => read(data)?,
            Protocol::Plugged(transport) => {
                transport.decode_profile(data).map_err(|error| malformed(&error))?
            }
        };
        let UiopProfile { version, address, object_key, components } = profile;
        let name = || address.parse::<UnixName>().map_err(|error| malformed(&error));
        let endpoint = match &protocol {
            Protocol::Shmiop => Endpoint::Shm(name()?),
            Protocol::Plugged(transport) => {
                Endpoint::Plugged(PluggedEndpoint::new(Arc::clone(transport), &*address))
            }
            _ => Endpoint::Unix(name()?),
        };
        let endpoints = vec![endpoint];
        Ok(Some(Self { protocol, version, order, endpoints, object_key, components }))
    }

    fn over_tcp(protocol: Protocol, order: ByteOrder, body: IiopProfile) -> Self {
        let to_endpoint = |address: Address| Endpoint::tcp(address.host, address.port);
        let endpoints = body.addresses().into_iter().map(to_endpoint).collect();
        let IiopProfile { version, object_key, components, .. } = body;
        Self { protocol, version, order, endpoints, object_key, components }
    }

    /// Writes it; of TCP endpoints all (the first as the profile's address, the others as
    /// alternates from version 1.2 on), of others the first.
    ///
    /// # Errors
    /// When an address cannot be written.
    pub(crate) fn encode(mut self) -> Result<Option<TaggedProfile>, SystemException> {
        let Some((first, others)) = self.endpoints.split_first() else { return Ok(None) };
        let tag = self.protocol.tag();
        let address = match first {
            Endpoint::Tcp { host, port } => {
                // CORBA 3.3 P2 §7.6.6.7: alternate addresses are for 1.2.
                let alternates = if self.version >= Version::V1_2 { others } else { &[] };
                for alternate in alternates {
                    let Endpoint::Tcp { host, port } = alternate else { continue };
                    let address = Address::new(host.clone(), *port);
                    self.components.push(TaggedComponent::alternate_address(&address)?);
                }
                let (version, host, port) = (self.version, host.clone(), *port);
                let Self { object_key, components, .. } = self;
                let body = IiopProfile { version, host, port, object_key, components };
                return Ok(Some(TaggedProfile { tag, data: body.encode()? }));
            }
            Endpoint::Unix(name) | Endpoint::Shm(name) => name.to_string(),
            Endpoint::Plugged(plugged) => plugged.address().to_owned(),
            _ => return Ok(None),
        };
        // CORBA 3.3 P2 §9.7.2: components exist since 1.1.
        if first.is_of_one_machine() && self.version > Version::V1_0 {
            self.components.extend(machine::component());
        }
        let Self { protocol, version, object_key, components, .. } = self;
        let body = UiopProfile { version, address, object_key, components };
        let data = match protocol {
            Protocol::Plugged(transport) => transport.encode_profile(&body)?,
            _ => body.encode()?,
        };
        Ok(Some(TaggedProfile { tag, data }))
    }

    /// Whether its endpoints can be reached from here at all: those of one machine say which.
    pub(crate) fn is_within_reach(&self) -> bool {
        let is_here = |endpoint: &Endpoint| {
            !endpoint.is_of_one_machine() || machine::is_this(&self.components)
        };
        self.endpoints.iter().all(is_here)
    }

    /// Whether messages can be exchanged: GIOPlite has to be wanted, and has no byte order but the
    /// server's.
    ///
    /// # Errors
    /// Why not, and what would help.
    pub(crate) fn check_spoken(&self, settings: &Settings) -> Result<(), &'static str> {
        match self.protocol {
            Protocol::GiopLite if !settings.gioplite => {
                Err("one is of GIOPlite, which gioplite (-ORBgioplite) turns on")
            }
            Protocol::GiopLite if self.order != ByteOrder::NATIVE => {
                Err("one is of GIOPlite in the other byte order: let the server listen on iiop:// \
                     as well")
            }
            _ => Ok(()),
        }
    }

    /// What its server says about code sets, if anything; a malformed component counts as none.
    pub(crate) fn code_sets(&self) -> Option<CodeSetComponentInfo> {
        let mut components =
            self.components.iter().filter(|component| component.tag == component_tag::CODE_SETS);
        components.find_map(|component| match component.parse() {
            Ok(Component::CodeSets(info)) => Some(info),
            _ => None,
        })
    }
}

/// The object key of a profile, if it can be read.
pub(crate) fn object_key(transports: &Registry, tag: u32, data: &[u8]) -> Option<Vec<u8>> {
    Some(Profile::decode(transports, tag, data).ok()??.object_key)
}

fn malformed(error: &dyn std::fmt::Display) -> SystemException {
    SystemException::inv_objref(minor::INV_OBJREF_MALFORMED, CompletionStatus::No)
        .with_detail(format!("a profile of the reference cannot be read: {error}"))
}
