//! Profiles of every protocol, to and from what the ORB makes of them: endpoints, version, object
//! key, components (CORBA 3.3 P2 §7.6.2, §9.7.2).
//!
//! The codec by profile tag: `client/bind` reads references with it, `orb/publish` writes them, and
//! code that looks for the object key of a reference asks here. What differs between protocols is
//! the address; the rest of a profile is alike.

pub(crate) mod security;

use crate::machine;
use corbie_cdr::{ByteOrder, Limits, Version};
use corbie_giop::{self as giop, Plugged};
use corbie_settings::{
    ListenAt, ListenEndpoint, ListenMessages, ProtocolPreference, Settings, TlsProtection,
};
use corbie_transport::{Endpoint, PluggedEndpoint, Registry, SSLIOP, Transport, UnixName};
use corbie_types::ior::{
    GIOPLITE, MessagesProfile, ProfileExtent, component_tag, orb_type, profile_tag,
};
use corbie_types::{
    Address, CodeSetComponentInfo, Component, IiopProfile, SystemException, TaggedComponent,
    TaggedProfile, UiopProfile, minor,
};
use std::sync::Arc;

/// What an ORB reads profiles and endpoints with: its limits, and what was registered with it.
#[derive(Clone, Copy)]
pub(crate) struct Known<'o> {
    pub(crate) settings: &'o Settings,
    pub(crate) transports: &'o Registry,
    pub(crate) protocols: &'o [Plugged],
}

impl Known<'_> {
    /// The message protocol of this name; `None`: it was not registered.
    fn messages(self, name: &str) -> Option<giop::Protocol> {
        if name == GIOPLITE {
            return Some(giop::Protocol::GiopLite);
        }
        let mut protocols = self.protocols.iter();
        let found = protocols.find(|plugged| plugged.protocol().name() == name);
        found.copied().map(giop::Protocol::Plugged)
    }
}

/// What a profile is of: what is spoken, over which transport.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Protocol {
    pub(crate) messages: giop::Protocol,
    pub(crate) carrier: Carrier,
}

/// The transport of a profile.
#[derive(Clone, Debug)]
pub(crate) enum Carrier {
    /// TCP, and TLS, whose addresses stand in components of the same profiles.
    Iiop,
    Unix,
    Shm,
    Plugged(Arc<dyn Transport>),
}

impl PartialEq for Carrier {
    fn eq(&self, other: &Self) -> bool {
        self.tag() == other.tag()
    }
}

impl Protocol {
    /// The protocol that is spoken on an endpoint.
    ///
    /// # Errors
    /// What was not registered, in words.
    pub(crate) fn of_listener(
        known: Known<'_>,
        configured: &ListenEndpoint,
    ) -> Result<Protocol, &'static str> {
        let carrier = match &configured.at {
            ListenAt::Iiop(_) | ListenAt::Ssliop(_) => Carrier::Iiop,
            ListenAt::Uiop(_) => Carrier::Unix,
            ListenAt::Shmiop(_) => Carrier::Shm,
            ListenAt::Plugged { scheme, .. } => {
                let transport = known.transports.by_scheme(scheme).cloned().map(Carrier::Plugged);
                transport
                    .ok_or("no transport of this name was registered with the ORB's builder")?
            }
        };
        let messages = match &configured.messages {
            ListenMessages::Giop => giop::Protocol::Giop,
            ListenMessages::GiopLite => giop::Protocol::GiopLite,
            ListenMessages::Plugged(name) => known
                .messages(name)
                .ok_or("no message protocol of this name was registered with the ORB's builder")?,
        };
        Ok(Protocol { messages, carrier })
    }

    /// The place of an endpoint of such a profile in `protocol_preference`: the least first.
    pub(crate) fn rank(&self, preference: &ProtocolPreference, endpoint: &Endpoint) -> usize {
        let scheme = if is_tls(endpoint) { SSLIOP } else { self.carrier.scheme() };
        preference.rank(self.messages_name(), scheme)
    }

    /// The name of the message protocol in profiles and endpoints; GIOP has none.
    fn messages_name(&self) -> Option<&'static str> {
        match self.messages {
            giop::Protocol::Giop => None,
            giop::Protocol::GiopLite => Some(GIOPLITE),
            giop::Protocol::Plugged(plugged) => Some(plugged.protocol().name()),
        }
    }
}

impl Carrier {
    /// The transport of profiles with this tag; `None`: an unknown one.
    fn of_tag(transports: &Registry, tag: u32) -> Option<Carrier> {
        match tag {
            profile_tag::INTERNET_IOP => Some(Carrier::Iiop),
            profile_tag::UIOP => Some(Carrier::Unix),
            profile_tag::CORBIE_SHMIOP => Some(Carrier::Shm),
            _ => transports.by_tag(tag).cloned().map(Carrier::Plugged),
        }
    }

    fn tag(&self) -> u32 {
        match self {
            Carrier::Iiop => profile_tag::INTERNET_IOP,
            Carrier::Unix => profile_tag::UIOP,
            Carrier::Shm => profile_tag::CORBIE_SHMIOP,
            Carrier::Plugged(transport) => transport.profile_tag(),
        }
    }

    /// As in endpoints and in `protocol_preference`.
    fn scheme(&self) -> &'static str {
        match self {
            Carrier::Iiop => "iiop",
            Carrier::Unix => "uiop",
            Carrier::Shm => "shmiop",
            Carrier::Plugged(transport) => transport.scheme(),
        }
    }
}

/// What a profile says, whatever its protocol.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pub(crate) protocol: Protocol,
    /// Highest GIOP version that the server understands.
    pub(crate) version: Version,
    /// The server's byte order, where the profile says it: in GIOPlite that of all messages.
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
    /// `INV_OBJREF` when it cannot be read, `IMP_LIMIT` when it has a longer key or more addresses
    /// than `settings` allow; both `COMPLETED_NO`.
    pub(crate) fn decode(
        known: Known<'_>,
        tag: u32,
        data: &[u8],
    ) -> Result<Option<Profile>, SystemException> {
        let Known { settings, transports, .. } = known;
        let spoken = MessagesProfile::of(tag, data).map_err(|error| malformed(&error))?;
        let (messages, order, tag, data) = match &spoken {
            None => (giop::Protocol::Giop, ByteOrder::NATIVE, tag, data),
            Some(MessagesProfile { protocol, order, carrier }) => match known.messages(protocol) {
                Some(messages) => (messages, *order, carrier.tag, &*carrier.data),
                None => return Ok(None),
            },
        };
        let Some(carrier) = Carrier::of_tag(transports, tag) else { return Ok(None) };
        let profile = match &carrier {
            Carrier::Iiop => {
                check_extent(settings, ProfileExtent::of_iiop(data))?;
                let body = IiopProfile::decode(data).map_err(|error| malformed(&error))?;
                let protocol = Protocol { messages, carrier };
                return Ok(Some(Self::of_iiop(transports, protocol, order, body)));
            }
            Carrier::Unix | Carrier::Shm => {
                check_extent(settings, ProfileExtent::of_uiop(data))?;
                UiopProfile::decode(data).map_err(|error| malformed(&error))?
            }
            Carrier::Plugged(transport) => {
                let body = transport.decode_profile(data).map_err(|error| malformed(&error))?;
                let (object_key, components) = (body.object_key.len(), body.components.len());
                let extent = ProfileExtent { object_key, addresses: 1, components };
                check_extent(settings, Ok(extent))?;
                body
            }
        };
        let UiopProfile { version, address, object_key, components } = profile;
        let name = || address.parse::<UnixName>().map_err(|error| malformed(&error));
        let endpoint = match &carrier {
            Carrier::Shm => Endpoint::Shm(name()?),
            Carrier::Plugged(transport) => {
                Endpoint::Plugged(PluggedEndpoint::new(Arc::clone(transport), &*address))
            }
            _ => Endpoint::Unix(name()?),
        };
        let (protocol, endpoints) = (Protocol { messages, carrier }, vec![endpoint]);
        Ok(Some(Self { protocol, version, order, endpoints, object_key, components }))
    }

    /// Addresses of TLS, then the plain ones, of which one with the port 0 is none.
    fn of_iiop(
        transports: &Registry,
        protocol: Protocol,
        order: ByteOrder,
        body: IiopProfile,
    ) -> Self {
        let tls = |address: Address| {
            transports.endpoint(SSLIOP, &address.to_string()).map(Endpoint::Plugged)
        };
        let tcp = |address: Address| Endpoint::tcp(address.host, address.port);
        let plain = body.addresses().into_iter().filter(|address| address.port != 0).map(tcp);
        let endpoints = body.tls_addresses().into_iter().filter_map(tls).chain(plain).collect();
        let IiopProfile { version, object_key, components, .. } = body;
        Self { protocol, version, order, endpoints, object_key, components }
    }

    /// Writes it; of TCP endpoints all (the first as the profile's address, the others as
    /// alternates from version 1.2 on), of others the first.
    ///
    /// # Errors
    /// When an address cannot be written.
    pub(crate) fn encode(mut self) -> Result<Option<TaggedProfile>, SystemException> {
        let Some(first) = self.endpoints.first() else { return Ok(None) };
        let tag = self.protocol.carrier.tag();
        let messages = self.protocol.messages_name();
        let tagged = |data| {
            let carrier = TaggedProfile { tag, data };
            messages.map_or(Ok(carrier.clone()), |name| MessagesProfile::around(name, carrier))
        };
        if self.protocol.carrier == Carrier::Iiop {
            return Ok(Some(tagged(self.into_iiop()?.encode()?)?));
        }
        let address = match first {
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
        let data = match protocol.carrier {
            Carrier::Plugged(transport) => transport.encode_profile(&body)?,
            _ => body.encode()?,
        };
        Ok(Some(tagged(data)?))
    }

    /// The body of an IIOP profile; its components have the addresses of TLS already.
    fn into_iiop(mut self) -> Result<IiopProfile, SystemException> {
        let mut plain = self.endpoints.iter().filter_map(|endpoint| match endpoint {
            Endpoint::Tcp { host, port } => Some(Address::new(host.clone(), *port)),
            _ => None,
        });
        let without_plain = || tls_addresses(&self.endpoints).next().map(|tls| (tls.host, 0));
        let first = plain.next().map(|address| (address.host, address.port));
        let (host, port) = first.or_else(without_plain).unwrap_or_default();
        // CORBA 3.3 P2 §7.6.6.7: alternate addresses are for 1.2.
        if self.version >= Version::V1_2 {
            for address in plain {
                self.components.push(TaggedComponent::alternate_address(&address)?);
            }
        }
        let Self { version, object_key, components, .. } = self;
        Ok(IiopProfile { version, host, port, object_key, components })
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
        match self.protocol.messages {
            giop::Protocol::GiopLite if !settings.gioplite => {
                Err("one is of GIOPlite, which gioplite (-ORBgioplite) turns on")
            }
            giop::Protocol::GiopLite if self.order != ByteOrder::NATIVE => {
                Err("one is of GIOPlite in the other byte order: let the server listen on iiop:// \
                     as well")
            }
            _ => Ok(()),
        }
    }

    /// What its server says about code sets, if anything.
    pub(crate) fn code_sets(&self) -> Option<CodeSetComponentInfo> {
        match self.component(component_tag::CODE_SETS)? {
            Component::CodeSets(info) => Some(info),
            _ => None,
        }
    }

    /// The largest message that its server takes, as far as is known: Corbie says so where it is
    /// not the default.
    pub(crate) fn message_octets_max(&self) -> Option<usize> {
        match self.component(component_tag::CORBIE_MESSAGE_OCTETS) {
            Some(Component::MessageOctets(most)) => usize::try_from(most).ok(),
            _ => match self.component(component_tag::ORB_TYPE)? {
                Component::OrbType(orb_type::CORBIE) => Some(Limits::DEFAULT.message_octets),
                _ => None,
            },
        }
    }

    /// The first component with this tag; a malformed one counts as none.
    fn component(&self, tag: u32) -> Option<Component> {
        let mut components = self.components.iter().filter(|component| component.tag == tag);
        components.find_map(|component| component.parse().ok())
    }
}

/// Whether `protection` lets an endpoint be used, or published. Those of this machine
/// (unix-domain sockets, shared memory) and of transports of the application always may.
pub(crate) fn permits(protection: TlsProtection, endpoint: &Endpoint) -> bool {
    match protection {
        TlsProtection::Required => !is_plain(endpoint),
        TlsProtection::Preferred => true,
        TlsProtection::Forbidden => !is_tls(endpoint),
    }
}

/// Whether octets to an endpoint leave the machine as they are.
pub(crate) fn is_plain(endpoint: &Endpoint) -> bool {
    matches!(endpoint, Endpoint::Tcp { .. } | Endpoint::TcpWithin { .. })
}

/// Whether an endpoint is of TLS.
pub(crate) fn is_tls(endpoint: &Endpoint) -> bool {
    matches!(endpoint, Endpoint::Plugged(plugged) if plugged.transport().scheme() == SSLIOP)
}

/// The addresses among `endpoints` where TLS is spoken.
fn tls_addresses(endpoints: &[Endpoint]) -> impl Iterator<Item = Address> {
    endpoints.iter().filter_map(|endpoint| {
        let Endpoint::Plugged(plugged) = endpoint else { return None };
        let (host, port) = plugged.address().rsplit_once(':').filter(|_| is_tls(endpoint))?;
        Some(Address::new(host.trim_matches(['[', ']']), port.parse().ok()?))
    })
}

/// The object key of a profile, if it can be read. Of IIOP nothing else is: a client may send a
/// profile with each request.
pub(crate) fn object_key(known: Known<'_>, tag: u32, data: &[u8]) -> Option<Vec<u8>> {
    if tag != profile_tag::INTERNET_IOP {
        return Some(Profile::decode(known, tag, data).ok()??.object_key);
    }
    let key = ProfileExtent::key_of_iiop(data).ok()?;
    (key.len() <= known.settings.object_key_octets_max).then(|| key.to_vec())
}

/// What would help where a profile is passed over as its message protocol was not registered.
#[cold]
pub(crate) fn unregistered(known: Known<'_>, profile: &TaggedProfile) -> Option<String> {
    let spoken = MessagesProfile::of(profile.tag, &profile.data).ok()??;
    if known.messages(&spoken.protocol).is_some() {
        return None;
    }
    let name = spoken.protocol.escape_debug().take(64).collect::<String>();
    Some(format!(
        "one is of the message protocol \"{name}\", which `Orb::builder().message_protocol(..)` \
         would register"
    ))
}

/// Measures a profile before memory is taken for its parts.
fn check_extent(
    settings: &Settings,
    extent: Result<ProfileExtent, corbie_cdr::Error>,
) -> Result<(), SystemException> {
    let ProfileExtent { object_key, addresses, components } =
        extent.map_err(|error| malformed(&error))?;
    if object_key > settings.object_key_octets_max {
        let (most, name) = (settings.object_key_octets_max, "object_key_octets_max");
        return Err(too_long(format!("an object key of {object_key} octets"), most, name));
    }
    let most = settings.reference_addresses_max as usize;
    if addresses > most || components > most.saturating_mul(4) {
        let what = format!("a profile with {addresses} addresses and {components} components");
        return Err(too_long(what, most, "reference_addresses_max"));
    }
    Ok(())
}

/// The reference, or a part of it, is longer than the setting `name` allows.
#[cold]
pub(crate) fn too_long(what: String, most: usize, name: &str) -> SystemException {
    minor::IMP_LIMIT_REFERENCE.no(format!("the reference has {what}; {name} is {most}"))
}

fn malformed(error: &dyn std::fmt::Display) -> SystemException {
    minor::INV_OBJREF_MALFORMED.no(format!("a profile of the reference cannot be read: {error}"))
}
