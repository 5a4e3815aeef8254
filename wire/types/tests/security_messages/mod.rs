//! CSIv2: octets by the book, round trips, and hostile input.

use corbie_types::csi::gss::{self, ExportedName, GSSUP};
use corbie_types::csi::gssup::{self, InitialContextToken, RefusedToken, ScopedName, error_code};
use corbie_types::csi::{
    AuthorizationElement, CompleteEstablishContext, ContextError, EstablishContext, IdentityToken,
    MESSAGE_OCTETS_MAX, MessageInContext, SasMessage, status,
};
use proptest::prelude::*;

const GSSUP_OID: [u8; 8] = [0x06, 0x06, 0x67, 0x81, 0x02, 0x01, 0x01, 0x01];

/// GSSUP of alice, `secret`, realm `bank`, in big-endian order: frame, CDR, exported name.
fn token_of_alice() -> Vec<u8> {
    let mut name = vec![0x04, 0x01, 0x00, 0x08];
    name.extend(GSSUP_OID);
    name.extend([0, 0, 0, 4]);
    name.extend(*b"bank");
    let mut inner = vec![0, 0, 0, 0, 0, 0, 0, 5];
    inner.extend(*b"alice\0\0\0");
    inner.extend([0, 0, 0, 6]);
    inner.extend(*b"secret\0\0");
    inner.extend([0, 0, 0, 20]);
    inner.extend(&name);
    let mut token = vec![0x60, u8::try_from(GSSUP_OID.len() + inner.len()).expect("short")];
    token.extend(GSSUP_OID);
    token.extend(inner);
    token
}

fn parts(token: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let read = InitialContextToken::decode(token).expect("a token");
    (read.username, read.password, read.target_name)
}

#[test]
fn no_message_shows_a_password_to_a_log() {
    let token = token_of_alice();
    let message = SasMessage::Establish(EstablishContext {
        client_context_id: 1,
        authorization: Vec::new(),
        identity: IdentityToken::Absent,
        authentication: &token,
    });
    let shown = format!("{message:?}");
    assert!(!shown.contains("secret") && !shown.contains("115, 101"), "{shown}");
}

#[test]
fn tokens_of_gssup_have_the_octets_of_the_specification() {
    let token = token_of_alice();
    let read = InitialContextToken::decode(&token).expect("by the book");
    assert_eq!((read.username, read.password), (&b"alice"[..], &b"secret"[..]));
    assert_eq!(gssup::read_exported_name(read.target_name), Ok("bank"));
    assert!(!format!("{read:?}").contains("secret"), "{read:?}");
    let written = read.encode().expect("short");
    assert_eq!(parts(&written), parts(&token), "in the order of this machine");
    assert_eq!(&written[..10], &token[..10], "the frame has no order");
    assert_eq!(gss::tagged_oid(GSSUP), GSSUP_OID);
    let error = gssup::error_token(error_code::BAD_TARGET);
    assert_eq!(gssup::read_error_token(&error), Ok(error_code::BAD_TARGET));
}

#[test]
fn messages_have_the_octets_of_the_specification() {
    let establish = [
        [0, 0, 0, 0, 0, 0, 0, 0], // big-endian, MTEstablishContext
        [0, 0, 0, 0, 0, 0, 0, 7], // client_context_id
        [0, 0, 0, 0, 0, 0, 0, 1], // no authorization, ITTAnonymous
        [1, 0, 0, 0, 0, 0, 0, 2], // anonymous, the token's length
        [0xca, 0xfe, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let expected = SasMessage::Establish(EstablishContext {
        client_context_id: 7,
        authorization: Vec::new(),
        identity: IdentityToken::Anonymous,
        authentication: &[0xca, 0xfe],
    });
    assert_eq!(SasMessage::decode(&establish), Ok(expected));
    let complete = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0, 0, 0, 0];
    let expected =
        CompleteEstablishContext { client_context_id: 7, context_stateful: true, final_token: &[] };
    assert_eq!(SasMessage::decode(&complete), Ok(SasMessage::Complete(expected)));
    let error =
        [[0, 0, 0, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 7], [0, 0, 0, 4, 0, 0, 0, 1], [0; 8]]
            .concat();
    let (major_status, minor_status) = status::NO_CONTEXT;
    let expected =
        ContextError { client_context_id: 7, major_status, minor_status, error_token: &[] };
    assert_eq!(SasMessage::decode(&error), Ok(SasMessage::Error(expected)));
    let in_context = [0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 1];
    let expected = MessageInContext { client_context_id: 7, discard_context: true };
    assert_eq!(SasMessage::decode(&in_context), Ok(SasMessage::InContext(expected)));
    assert!(SasMessage::decode(&[0, 0, 0, 2, 0, 0, 0, 0]).is_err(), "no message has the number 2");
}

#[test]
fn messages_keep_what_follows_them_aligned() {
    for length in 0..20 {
        let token = vec![7; length];
        let message = SasMessage::Establish(EstablishContext {
            client_context_id: 0,
            authorization: Vec::new(),
            identity: IdentityToken::Absent,
            authentication: &token,
        });
        let octets = message.encode().expect("short");
        assert_eq!(octets.len() % 8, 0);
        assert_eq!(SasMessage::decode(&octets), Ok(message));
    }
}

#[test]
fn what_is_too_long_or_of_another_mechanism_is_refused() {
    let long = vec![b'a'; gssup::NAME_OCTETS_MAX + 1];
    let token = |username, password| InitialContextToken { username, password, target_name: b"" };
    assert!(token(&long, b"").encode().is_err());
    assert!(token(b"", &long).encode().is_err());
    assert_eq!(gssup::exported_name(&"r".repeat(gssup::NAME_OCTETS_MAX + 1)), None);
    let kerberos = gss::framed(&[0x2a, 0x86, 0x48], b"ticket");
    let refused = InitialContextToken::decode(&kerberos).expect_err("another mechanism");
    assert_eq!(refused, RefusedToken::OtherMechanism);
    let of_all = vec![1; MESSAGE_OCTETS_MAX];
    let message = SasMessage::Establish(EstablishContext {
        client_context_id: 1,
        authorization: Vec::new(),
        identity: IdentityToken::CertificateChain(&of_all),
        authentication: &[],
    });
    assert!(message.encode().is_err());
    let mut octets = vec![0; MESSAGE_OCTETS_MAX + 1];
    octets[3] = 5;
    assert!(SasMessage::decode(&octets).is_err(), "too long, whatever it says");
    // Each element takes eight octets, and there are more than are read.
    let mut many = vec![0; 16 + 4 + 8 * 65];
    many[19] = 65;
    assert!(SasMessage::decode(&many).expect_err("65 elements").to_string().contains("64"));
    for cut in 0..token_of_alice().len() {
        assert!(InitialContextToken::decode(&token_of_alice()[..cut]).is_err(), "{cut} octets");
    }
    for length in [[0x80, 0, 0, 0, 0], [0x85, 0, 0, 0, 0], [0x84, 0xff, 0xff, 0xff, 0xff]] {
        let octets = [&[0x60][..], &length].concat();
        assert!(gss::unframed(&octets).is_err(), "{length:x?}");
    }
}

#[test]
fn scoped_names_are_split_at_the_first_plain_at_sign() {
    for (text, name, scope) in [
        ("alice", "alice", None),
        ("alice@bank", "alice", Some("bank")),
        ("@bank", "", Some("bank")),
        (r"a\@b@c@d", "a@b", Some("c@d")),
        (r"a\\@b", r"a\", Some("b")),
        (r"a\", r"a\", None),
        ("", "", None),
    ] {
        let read = ScopedName::parse(text);
        assert_eq!((&*read.name, read.scope.as_deref()), (name, scope), "{text}");
    }
}

fn octets(most: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..most)
}

proptest! {
    #[test]
    fn messages_are_read_as_they_were_written(
        id in any::<u64>(),
        elements in proptest::collection::vec((any::<u32>(), octets(20)), 0..5),
        kind in 0u32..20,
        identity in octets(40),
        token in octets(300),
        numbers in any::<(i32, i32, bool)>(),
    ) {
        let establish = SasMessage::Establish(EstablishContext {
            client_context_id: id,
            authorization: elements
                .iter()
                .map(|(kind, contents)| AuthorizationElement { kind: *kind, contents })
                .collect(),
            identity: match kind {
                0 => IdentityToken::Absent,
                1 => IdentityToken::Anonymous,
                2 => IdentityToken::PrincipalName(&identity),
                4 => IdentityToken::CertificateChain(&identity),
                8 => IdentityToken::DistinguishedName(&identity),
                kind => IdentityToken::Other { kind, data: &identity },
            },
            authentication: &token,
        });
        let (major_status, minor_status, flag) = numbers;
        let others = [
            SasMessage::Complete(CompleteEstablishContext {
                client_context_id: id, context_stateful: flag, final_token: &token,
            }),
            SasMessage::Error(ContextError {
                client_context_id: id, major_status, minor_status, error_token: &token,
            }),
            SasMessage::InContext(MessageInContext { client_context_id: id, discard_context: flag }),
        ];
        for message in [establish].into_iter().chain(others) {
            let written = message.encode().expect("short");
            prop_assert_eq!(SasMessage::decode(&written), Ok(message));
        }
    }

    #[test]
    fn names_and_tokens_are_read_as_they_were_written(
        mechanism in proptest::collection::vec(any::<u8>(), 1..65),
        inner in octets(200),
        repeated in 1usize..400,
        username in octets(100),
        password in octets(100),
    ) {
        // Lengths of every form.
        let inner = inner.repeat(repeated);
        let framed = gss::framed(&mechanism, &inner);
        prop_assert_eq!(gss::unframed(&framed), Ok((&*mechanism, &*inner)));
        let name = ExportedName { mechanism: &mechanism, name: &inner };
        let encoded = name.encode().expect("short");
        prop_assert_eq!(ExportedName::decode(&encoded), Ok(name));
        let target = gssup::exported_name("realm").expect("short");
        let token = InitialContextToken {
            username: &username, password: &password, target_name: &target,
        };
        let written = token.encode().expect("within the bounds");
        prop_assert_eq!(parts(&written), (&*username, &*password, &*target));
    }

    #[test]
    fn scoped_names_are_read_as_they_were_written(
        name in ".{0,20}", scope in proptest::option::of(".{0,20}"),
    ) {
        let name = ScopedName { name: name.into(), scope: scope.map(Into::into) };
        let text = name.to_string();
        prop_assert_eq!(ScopedName::parse(&text), name);
    }

    #[test]
    fn no_octets_make_it_panic(octets in octets(200)) {
        let _ = SasMessage::decode(&octets);
        let _ = gss::unframed(&octets);
        let _ = InitialContextToken::decode(&octets);
        let _ = gssup::read_exported_name(&octets);
        let _ = gssup::read_error_token(&octets);
    }
}
