//! References in words: a tree of names, values and children that `corbie ior dump` prints as
//! text or JSON. Nothing is left out: what is unknown or malformed is shown as octets.

use super::component::{Component, TaggedComponent};
use super::iiop::Address;
use super::security::CompoundSecMech;
use super::{
    IiopProfile, Ior, MessagesProfile, TaggedProfile, UiopProfile, component_tag, orb_type,
    profile_tag,
};
use crate::RepositoryId;
use corbie_cdr::Error;

/// A node of the tree: a name, perhaps a value, perhaps children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What it is: "profile", "host", "TAG_CODE_SETS".
    pub name: String,
    /// Its value in words; empty when its children say it all.
    pub value: String,
    /// Its parts, in the order of the wire.
    pub children: Vec<Description>,
}

impl Description {
    /// A node without children.
    #[must_use]
    pub fn leaf(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), children: Vec::new() }
    }

    /// A node with children.
    #[must_use]
    pub fn node(
        name: impl Into<String>,
        value: impl Into<String>,
        children: Vec<Description>,
    ) -> Self {
        Self { name: name.into(), value: value.into(), children }
    }
}

pub(super) fn ior(ior: &Ior) -> Description {
    if ior.is_nil() && ior.type_id.is_empty() {
        return Description::leaf("reference", "nil");
    }
    let mut children = vec![type_id(&ior.type_id)];
    children.extend(ior.profiles.iter().enumerate().map(|(i, profile)| tagged(i, profile)));
    let profiles = match ior.profiles.len() {
        0 => "nil (a type id without profiles)".to_owned(),
        1 => "1 profile".to_owned(),
        n => format!("{n} profiles"),
    };
    Description::node("reference", profiles, children)
}

fn type_id(id: &str) -> Description {
    let meaning = match RepositoryId::parse(id) {
        _ if id.is_empty() => "(empty: the type is not known)".to_owned(),
        Ok(RepositoryId::Idl { name, version }) => {
            // A domain name in front is a `#pragma prefix`: IDL identifiers have no dots.
            let (name, of) = match name.split_once('/') {
                Some((prefix, rest)) if prefix.contains('.') => (rest, format!(" of {prefix}")),
                _ => (name, String::new()),
            };
            let name = name.replace('/', "::");
            format!("{id} (interface {name}{of}, version {version})")
        }
        Ok(_) => id.to_owned(),
        Err(problem) => format!("{id} (malformed: {problem})"),
    };
    Description::leaf("type id", meaning)
}

fn tagged(index: usize, profile: &TaggedProfile) -> Description {
    let name = format!("profile {}", index + 1);
    let tag = named(profile_tag::name(profile.tag), profile.tag);
    let children = match parts(profile) {
        Ok(Some(parts)) => parts,
        Ok(None) => vec![octets("data", &profile.data)],
        Err(error) => {
            vec![Description::leaf("malformed", error.to_string()), octets("data", &profile.data)]
        }
    };
    Description::node(name, tag, children)
}

/// The parts of a profile that is understood.
fn parts(profile: &TaggedProfile) -> Result<Option<Vec<Description>>, Error> {
    if let Some(messages) = MessagesProfile::of(profile.tag, &profile.data)? {
        return spoken(messages).map(Some);
    }
    if let Some(body) = profile.iiop()? {
        return Ok(Some(iiop(&body)));
    }
    if let Some(body) = profile.uiop()? {
        return Ok(Some(uiop(&body)));
    }
    let components = profile.multiple_components()?;
    Ok(components.map(|components| components.iter().map(component).collect()))
}

/// What is spoken, then the parts of the transport's profile.
fn spoken(profile: MessagesProfile) -> Result<Vec<Description>, Error> {
    let MessagesProfile { protocol, order, carrier } = profile;
    let mut all = vec![
        Description::leaf("message protocol", protocol),
        Description::leaf("byte order", order.to_string()),
        Description::leaf("over", named(profile_tag::name(carrier.tag), carrier.tag)),
    ];
    // A profile within a profile within a profile is nothing that an ORB writes.
    let is_nested = carrier.tag == profile_tag::CORBIE_MESSAGES;
    match if is_nested { None } else { parts(&carrier)? } {
        Some(parts) => all.extend(parts),
        None => all.push(octets("data", &carrier.data)),
    }
    Ok(all)
}

fn uiop(body: &UiopProfile) -> Vec<Description> {
    let UiopProfile { version, address, object_key, components } = body;
    let mut parts = vec![
        Description::leaf("version", format!("GIOP {version}")),
        Description::leaf("rendezvous point", address.clone()),
        octets("object key", object_key),
    ];
    parts.extend(components.iter().map(component));
    parts
}

fn iiop(body: &IiopProfile) -> Vec<Description> {
    let IiopProfile { version, host, port, object_key, components } = body;
    let mut parts = vec![
        Description::leaf("version", format!("IIOP {version}")),
        Description::leaf("host", host.clone()),
        Description::leaf("port", port.to_string()),
        octets("object key", object_key),
    ];
    parts.extend(components.iter().map(component));
    parts
}

fn component(component: &TaggedComponent) -> Description {
    let name = named(component_tag::name(component.tag), component.tag);
    match component.parse() {
        Err(error) => {
            let data = octets("data", &component.data);
            Description::node(name, format!("malformed: {error}"), vec![data])
        }
        Ok(Component::OrbType(id)) => Description::leaf(name, named_orb(id)),
        Ok(Component::CodeSets(info)) => Description::node(
            name,
            "",
            vec![
                Description::leaf("char", info.for_char_data.to_string()),
                Description::leaf("wchar", info.for_wchar_data.to_string()),
            ],
        ),
        Ok(Component::Policies(policies)) => {
            let each = |(kind, value): &(u32, Vec<u8>)| octets(&format!("policy {kind}"), value);
            Description::node(name, "", policies.iter().map(each).collect())
        }
        Ok(Component::AlternateAddress(address)) => Description::leaf(name, address.to_string()),
        Ok(Component::SslSecTrans(ssl)) => Description::node(
            name,
            "",
            vec![
                Description::leaf("port", ssl.port.to_string()),
                Description::leaf("supports", association_options(ssl.target_supports)),
                Description::leaf("requires", association_options(ssl.target_requires)),
            ],
        ),
        Ok(Component::TlsSecTrans(tls)) => {
            let mut parts = vec![
                Description::leaf("supports", association_options(tls.target_supports)),
                Description::leaf("requires", association_options(tls.target_requires)),
            ];
            let address = |address: &Address| Description::leaf("address", address.to_string());
            parts.extend(tls.addresses.iter().map(address));
            Description::node(name, "", parts)
        }
        Ok(Component::CsiSecMechList(list)) => {
            let stateful = Description::leaf("stateful", list.stateful.to_string());
            let mechanisms = list.mechanisms.iter().map(mechanism);
            Description::node(name, "", std::iter::once(stateful).chain(mechanisms).collect())
        }
        Ok(Component::JavaCodebase(place)) => Description::leaf(name, place),
        Ok(Component::MessageOctets(most)) => Description::leaf(name, format!("{most} octets")),
        Ok(Component::Null) => Description::leaf(name, "(nothing)"),
        Ok(Component::Other) => octets(&name, &component.data),
    }
}

/// A way to call in safety: transport, authentication, attributes. A transport within it is
/// described once: what stands for TLS has no components of its own.
fn mechanism(mechanism: &CompoundSecMech) -> Description {
    let CompoundSecMech { target_requires, transport, authentication, attributes } = mechanism;
    let transport = match transport.tag {
        component_tag::CSI_SEC_MECH_LIST => octets("a list within a list", &transport.data),
        _ => component(transport),
    };
    let options = |name, bits| Description::leaf(name, association_options(bits));
    let authenticates = Description::node(
        "authentication",
        "",
        vec![
            options("supports", authentication.target_supports),
            options("requires", authentication.target_requires),
            octets("mechanism", &authentication.mechanism),
            octets("target name", &authentication.target_name),
        ],
    );
    let mut attribute_parts = vec![
        options("supports", attributes.target_supports),
        options("requires", attributes.target_requires),
    ];
    let authority = |(syntax, name): &(u32, Vec<u8>)| octets(&format!("authority {syntax}"), name);
    attribute_parts.extend(attributes.privilege_authorities.iter().map(authority));
    let naming = |oid: &Vec<u8>| octets("naming mechanism", oid);
    attribute_parts.extend(attributes.naming_mechanisms.iter().map(naming));
    let types = format!("0x{:08x}", attributes.identity_types);
    attribute_parts.push(Description::leaf("identity types", types));
    let attributes = Description::node("attributes", "", attribute_parts);
    let requires = options("requires", *target_requires);
    Description::node("mechanism", "", vec![requires, transport, authenticates, attributes])
}

fn named(name: Option<&str>, number: u32) -> String {
    match name {
        Some(name) => format!("{name} ({number})"),
        None => format!("unknown tag {number} (0x{number:08x})"),
    }
}

fn named_orb(id: u32) -> String {
    match orb_type::name(id) {
        Some(name) => format!("{name} (0x{id:08x})"),
        None => format!("unknown ORB 0x{id:08x} ({})", printable(&id.to_be_bytes())),
    }
}

/// CORBA Security association options (CORBA 3.3 P2 §10.6.1).
fn association_options(bits: u16) -> String {
    const NAMES: [&str; 11] = [
        "NoProtection",
        "Integrity",
        "Confidentiality",
        "DetectReplay",
        "DetectMisordering",
        "EstablishTrustInTarget",
        "EstablishTrustInClient",
        "NoDelegation",
        "SimpleDelegation",
        "CompositeDelegation",
        "IdentityAssertion",
    ];
    let set = NAMES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
    let names: Vec<&str> = set.map(|(_, name)| *name).collect();
    format!("0x{bits:04x} {}", if names.is_empty() { "none".to_owned() } else { names.join(", ") })
}

fn octets(name: &str, data: &[u8]) -> Description {
    let hex: String = data.iter().map(|octet| format!("{octet:02x}")).collect();
    let count = if data.len() == 1 { "1 octet".into() } else { format!("{} octets", data.len()) };
    if data.is_empty() {
        return Description::leaf(name, "0 octets");
    }
    Description::leaf(name, format!("{count}: {hex} \"{}\"", printable(data)))
}

fn printable(data: &[u8]) -> String {
    let shown = |octet: &u8| match octet {
        0x20..=0x7e => char::from(*octet),
        _ => '.',
    };
    data.iter().map(shown).collect()
}
