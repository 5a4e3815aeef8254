//! Inputs of the target of CSIv2. Called by `generate`.

use super::Input;
use corbie_types::TaggedComponent;
use corbie_types::csi::gss::{self, GSSUP};
use corbie_types::csi::gssup::{self, InitialContextToken};
use corbie_types::csi::{
    AuthorizationElement, CompleteEstablishContext, ContextError, EstablishContext, IdentityToken,
    MessageInContext, SasMessage, status,
};
use corbie_types::ior::{
    AsContextSec, CompoundSecMech, CsiSecMechList, SasContextSec, association, component_tag,
};

/// Messages, a token, a name and a component, in the order of little-endian machines.
pub(super) fn security_messages() -> Vec<Input> {
    let realm = gssup::exported_name("realm").expect("short");
    let token =
        InitialContextToken { username: b"alice", password: b"secret", target_name: &realm };
    let token = token.encode().expect("short");
    let (major_status, minor_status) = status::NO_CONTEXT;
    let establish = |identity, client_context_id| {
        SasMessage::Establish(EstablishContext {
            client_context_id,
            authorization: vec![AuthorizationElement { kind: 1, contents: b"element" }],
            identity,
            authentication: &token,
        })
    };
    let messages = [
        ("establish", establish(IdentityToken::Absent, 1)),
        ("anonymous", establish(IdentityToken::Anonymous, 0)),
        ("principal", establish(IdentityToken::PrincipalName(&realm), 0)),
        ("certificates", establish(IdentityToken::CertificateChain(b"der"), 0)),
        ("subject", establish(IdentityToken::DistinguishedName(b"der"), 0)),
        ("other", establish(IdentityToken::Other { kind: 16, data: b"other" }, 0)),
        (
            "complete",
            SasMessage::Complete(CompleteEstablishContext {
                client_context_id: 1,
                context_stateful: true,
                final_token: &[],
            }),
        ),
        (
            "error",
            SasMessage::Error(ContextError {
                client_context_id: 1,
                major_status,
                minor_status,
                error_token: &[],
            }),
        ),
        (
            "in-context",
            SasMessage::InContext(MessageInContext { client_context_id: 1, discard_context: true }),
        ),
    ];
    let mut inputs: Vec<Input> = messages
        .iter()
        .map(|(name, message)| ((*name).to_owned(), message.encode().expect("short")))
        .collect();
    inputs.push(("mechanisms".to_owned(), mechanisms(&realm)));
    inputs.extend([("token".to_owned(), token.clone()), ("name".to_owned(), realm.clone())]);
    inputs
}

fn mechanisms(realm: &[u8]) -> Vec<u8> {
    let mechanism = CompoundSecMech {
        target_requires: association::ESTABLISH_TRUST_IN_CLIENT,
        transport: TaggedComponent { tag: component_tag::NULL_TAG, data: Vec::new() },
        authentication: AsContextSec {
            target_supports: association::ESTABLISH_TRUST_IN_CLIENT,
            target_requires: association::ESTABLISH_TRUST_IN_CLIENT,
            mechanism: gss::tagged_oid(GSSUP),
            target_name: realm.to_vec(),
        },
        attributes: SasContextSec {
            target_supports: association::IDENTITY_ASSERTION,
            target_requires: 0,
            privilege_authorities: vec![(1, b"authority".to_vec())],
            naming_mechanisms: vec![gss::tagged_oid(GSSUP)],
            identity_types: 15,
        },
    };
    let list = CsiSecMechList { stateful: true, mechanisms: vec![mechanism] };
    list.to_component().expect("short").data
}
