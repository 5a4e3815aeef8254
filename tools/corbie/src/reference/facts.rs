//! A reference as JSON: every profile and component with typed values (`corbie ior dump --json`).
//!
//! Nothing is left out: what is not understood is shown as octets, what is malformed says why.
//! CORBA 3.3 P2 §7.6 (profiles and components), §7.10.2 (code sets).

use corbie::types::ior::{CompoundSecMech, MessagesProfile, component_tag, orb_type, profile_tag};
use corbie::types::{CodeSetComponent, Component, Ior, TaggedComponent, TaggedProfile};
use serde_json::{Map, Value as Json, json};

/// All of a reference.
pub(crate) fn facts(ior: &Ior) -> Json {
    let profiles: Vec<Json> = ior.profiles.iter().map(profile).collect();
    json!({ "type_id": ior.type_id, "nil": ior.is_nil(), "profiles": profiles })
}

fn profile(profile: &TaggedProfile) -> Json {
    let mut members = tagged(profile.tag, profile_tag::name(profile.tag));
    let body = match body(profile) {
        Ok(Some(body)) => body,
        Ok(None) => json!({ "data": octets(&profile.data) }),
        Err(error) => malformed(&error, &profile.data),
    };
    join(&mut members, body);
    Json::Object(members)
}

/// What a profile says, if it is understood.
fn body(profile: &TaggedProfile) -> Result<Option<Json>, corbie::cdr::Error> {
    let components = |all: &[TaggedComponent]| all.iter().map(component).collect::<Vec<_>>();
    if let Some(body) = profile.iiop()? {
        return Ok(Some(json!({
            "version": body.version.to_string(),
            "host": body.host,
            "port": body.port,
            "object_key": octets(&body.object_key),
            "components": components(&body.components),
        })));
    }
    if let Some(body) = profile.uiop()? {
        return Ok(Some(json!({
            "version": body.version.to_string(),
            "rendezvous_point": body.address,
            "object_key": octets(&body.object_key),
            "components": components(&body.components),
        })));
    }
    if let Some(messages) = MessagesProfile::of(profile.tag, &profile.data)? {
        let MessagesProfile { protocol, order, carrier } = messages;
        let is_nested = carrier.tag == profile_tag::CORBIE_MESSAGES;
        let over = match is_nested {
            true => json!({ "data": octets(&carrier.data) }),
            false => self::profile(&carrier),
        };
        let order = order.to_string();
        return Ok(Some(json!({ "protocol": protocol, "byte_order": order, "over": over })));
    }
    let all = profile.multiple_components()?;
    Ok(all.map(|all| json!({ "components": components(&all) })))
}

fn component(component: &TaggedComponent) -> Json {
    let mut members = tagged(component.tag, component_tag::name(component.tag));
    let body = match component.parse() {
        Err(error) => malformed(&error, &component.data),
        Ok(Component::OrbType(id)) => json!({ "orb": orb_type::name(id), "id": id }),
        Ok(Component::CodeSets(info)) => json!({
            "char": code_sets(&info.for_char_data),
            "wchar": code_sets(&info.for_wchar_data),
        }),
        Ok(Component::Policies(policies)) => {
            let policy =
                |(kind, value): &(u32, Vec<u8>)| json!({ "type": kind, "value": octets(value) });
            json!({ "policies": policies.iter().map(policy).collect::<Vec<_>>() })
        }
        Ok(Component::AlternateAddress(address)) => {
            json!({ "host": address.host, "port": address.port })
        }
        Ok(Component::SslSecTrans(ssl)) => json!({
            "port": ssl.port,
            "target_supports": ssl.target_supports,
            "target_requires": ssl.target_requires,
        }),
        Ok(Component::TlsSecTrans(tls)) => json!({
            "target_supports": tls.target_supports,
            "target_requires": tls.target_requires,
            "addresses": tls.addresses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        Ok(Component::CsiSecMechList(list)) => json!({
            "stateful": list.stateful,
            "mechanisms": list.mechanisms.iter().map(mechanism).collect::<Vec<_>>(),
        }),
        Ok(Component::JavaCodebase(place)) => json!({ "codebase": place }),
        Ok(_) => json!({ "data": octets(&component.data) }),
    };
    join(&mut members, body);
    Json::Object(members)
}

fn mechanism(mechanism: &CompoundSecMech) -> Json {
    let CompoundSecMech { target_requires, transport, authentication, attributes } = mechanism;
    let transport = match transport.tag {
        component_tag::CSI_SEC_MECH_LIST => json!({ "data": octets(&transport.data) }),
        _ => component(transport),
    };
    json!({
        "target_requires": target_requires,
        "transport": transport,
        "authentication": {
            "target_supports": authentication.target_supports,
            "target_requires": authentication.target_requires,
            "mechanism": octets(&authentication.mechanism),
            "target_name": octets(&authentication.target_name),
        },
        "attributes": {
            "target_supports": attributes.target_supports,
            "target_requires": attributes.target_requires,
            "identity_types": attributes.identity_types,
        },
    })
}

fn tagged(tag: u32, name: Option<&str>) -> Map<String, Json> {
    let mut members = Map::new();
    members.insert("tag".to_owned(), json!(tag));
    members.insert("name".to_owned(), json!(name));
    members
}

fn join(members: &mut Map<String, Json>, more: Json) {
    if let Json::Object(more) = more {
        members.extend(more);
    }
}

fn malformed(error: &corbie::cdr::Error, data: &[u8]) -> Json {
    json!({ "malformed": error.to_string(), "data": octets(data) })
}

fn code_sets(sets: &CodeSetComponent) -> Json {
    let conversion: Vec<String> = sets.conversion.iter().map(ToString::to_string).collect();
    json!({ "native": sets.native.to_string(), "conversion": conversion })
}

/// Octets in hexadecimal, and as text if all of them are printable.
fn octets(data: &[u8]) -> Json {
    let hex: String = data.iter().map(|octet| format!("{octet:02x}")).collect();
    let printable = data.iter().all(|octet| matches!(octet, 0x20..=0x7e));
    match std::str::from_utf8(data) {
        Ok(text) if printable && !data.is_empty() => json!({ "hex": hex, "text": text }),
        _ => json!({ "hex": hex }),
    }
}
