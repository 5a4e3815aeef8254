//! CSIv2: the messages of the Security Attribute Service with the tokens and names in them, and
//! what references say of it. What is accepted is written again and has to read the same.

use corbie_types::csi::gss::{self, ExportedName};
use corbie_types::csi::gssup::{self, InitialContextToken, ScopedName};
use corbie_types::csi::{IdentityToken, SasMessage};
use corbie_types::ior::component_tag;
use corbie_types::{Component, TaggedComponent};

/// The octets of a service context, of a token, of a name and of a component at once.
pub fn security_message(data: &[u8]) {
    if let Ok(message) = SasMessage::decode(data)
        && let Ok(octets) = message.encode()
    {
        assert_eq!(SasMessage::decode(&octets), Ok(message.clone()), "own octets");
        if let SasMessage::Establish(establish) = &message {
            token(establish.authentication);
            if let IdentityToken::PrincipalName(octets) = establish.identity {
                name(octets);
            }
        }
    }
    token(data);
    name(data);
    mechanisms(data);
}

fn token(octets: &[u8]) {
    if let Ok((mechanism, inner)) = gss::unframed(octets) {
        let again = gss::framed(mechanism, inner);
        assert_eq!(gss::unframed(&again), Ok((mechanism, inner)));
    }
    let Ok(token) = InitialContextToken::decode(octets) else { return };
    let again = token.encode().expect("what was read is within the bounds");
    let second = InitialContextToken::decode(&again).expect("own octets");
    assert_eq!((second.username, second.password), (token.username, token.password));
    assert_eq!(second.target_name, token.target_name);
    name(token.target_name);
}

fn name(octets: &[u8]) {
    let Ok(name) = ExportedName::decode(octets) else { return };
    let again = name.encode().expect("what was read has a length");
    assert_eq!(ExportedName::decode(&again), Ok(name));
    let Ok(text) = gssup::read_exported_name(octets) else { return };
    let scoped = ScopedName::parse(text);
    let again = scoped.to_string();
    assert_eq!(ScopedName::parse(&again), scoped);
}

fn mechanisms(data: &[u8]) {
    let of = |data: &[u8]| TaggedComponent {
        tag: component_tag::CSI_SEC_MECH_LIST,
        data: data.to_vec(),
    };
    let Ok(Component::CsiSecMechList(list)) = of(data).parse() else { return };
    let again = list.to_component().expect("what was read has a length");
    assert_eq!(again.parse().ok(), Some(Component::CsiSecMechList(list)));
}
