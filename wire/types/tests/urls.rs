//! Object URLs: what each form means, and where an error is (CORBA 3.3 P2 §7.6.10).
//! Stringified names, which are part of `corbaname:`.

use corbie_cdr::Version;
use corbie_types::ior::MessagesProfile;
use corbie_types::url::{
    Corbaloc, Corbaname, NameComponent, ObjectAddress, ObjectUrl, UrlError, escape, parse_name,
    stringify_name, unescape,
};
use corbie_types::{Address, Ior, SystemException, SystemExceptionKind, minor};
use proptest::prelude::*;

fn parse(text: &str) -> Result<ObjectUrl, UrlError> {
    text.parse()
}

fn corbaloc(text: &str) -> Corbaloc {
    match parse(text) {
        Ok(ObjectUrl::Corbaloc(url)) => url,
        other => panic!("{text}: {other:?}"),
    }
}

fn iiop(host: &str, port: u16, version: Version) -> ObjectAddress {
    ObjectAddress::Iiop { version, address: Address::new(host, port) }
}

#[test]
fn corbaloc_forms() {
    let one = corbaloc("corbaloc:iiop:1.2@host.example:4711/Prod/TradingService");
    assert_eq!(one.addresses, [iiop("host.example", 4711, Version::V1_2)]);
    assert_eq!(one.key, b"Prod/TradingService");
    // Defaults: version 1.0, port 2809 (CORBA 3.3 P2 §7.6.10.3); an empty protocol is iiop.
    assert_eq!(corbaloc("corbaloc::h/k").addresses, [iiop("h", 2809, Version::V1_0)]);
    assert_eq!(corbaloc("corbaloc:iiop:h/k").addresses, [iiop("h", 2809, Version::V1_0)]);
    // Several addresses, IPv6 in brackets.
    let many = corbaloc("corbaloc::1.1@a:1,iiop:[::1]:2,:[2001:db8::7]/k");
    assert_eq!(
        many.addresses,
        [
            iiop("a", 1, Version::V1_1),
            iiop("::1", 2, Version::V1_0),
            iiop("2001:db8::7", 2809, Version::V1_0)
        ]
    );
    let ior = many.to_ior().expect("ASCII").expect("addresses");
    let profiles = ior.iiop_profiles().expect("ours");
    assert_eq!(profiles.len(), 3);
    assert_eq!((profiles[1].host.as_str(), &profiles[1].object_key[..]), ("::1", &b"k"[..]));
    // Escapes.
    assert_eq!(corbaloc("corbaloc::h/a%20b%2Fc%00").key, b"a b/c\0");
    assert_eq!(corbaloc("CorbaLoc:IIOP:h").key, b"");
}

#[test]
fn initial_references() {
    let rir = corbaloc("corbaloc:rir:/TradingService");
    assert_eq!(rir.addresses, [ObjectAddress::InitialReference]);
    assert_eq!(rir.initial_reference().as_deref(), Some("TradingService"));
    assert_eq!(rir.to_ior(), Ok(None));
    let default = corbaloc("corbaloc:rir:");
    assert_eq!(default.initial_reference().as_deref(), Some("NameService"));
    assert_eq!(corbaloc("corbaloc::h/NameService").initial_reference(), None);
}

#[test]
fn corbaname_forms() {
    let Ok(ObjectUrl::Corbaname(url)) = parse("corbaname::h:1/Ctx#a%5c.b.c/d%20e") else {
        panic!("a corbaname");
    };
    assert_eq!((&url.context.key[..], url.name.as_str()), (&b"Ctx"[..], "a\\.b.c/d e"));
    let components = parse_name(&url.name).expect("a name");
    assert_eq!(components[0], NameComponent { id: "a.b".into(), kind: "c".into() });
    assert_eq!(components[1], NameComponent { id: "d e".into(), kind: String::new() });
    for text in ["corbaname::h", "corbaname::h#", "corbaname:rir:", "corbaname:rir:#"] {
        let Ok(ObjectUrl::Corbaname(Corbaname { context, name })) = parse(text) else {
            panic!("{text}");
        };
        assert_eq!((&context.key[..], name.as_str()), (&b"NameService"[..], ""), "{text}");
    }
}

#[test]
fn files_and_iors() {
    for text in ["file:///etc/a%20b.ior", "file:/etc/a b.ior", "file://localhost/etc/a b.ior"] {
        assert_eq!(parse(text), Ok(ObjectUrl::File("/etc/a b.ior".into())), "{text}");
    }
    assert_eq!(parse("file:ref.ior"), Ok(ObjectUrl::File("ref.ior".into())));
    let nil = Ior::nil().to_string();
    assert_eq!(parse(&format!("\n{nil} ")), Ok(ObjectUrl::Ior(Ior::nil())));
}

#[test]
fn errors_say_where_and_what() {
    for (text, at, code) in [
        ("", 0, minor::BAD_PARAM_URL_SCHEME),
        ("NameService", 0, minor::BAD_PARAM_URL_SCHEME),
        ("http://h/x", 0, minor::BAD_PARAM_URL_SCHEME),
        ("corbaloc:", 9, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc:host/k", 9, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc:ssliop:1.0@h/k", 16, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::h:1,uiop:x/k", 14, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::/k", 10, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::h:0/k", 12, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::h:99999/k", 12, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::2.0@h/k", 10, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::x@h/k", 10, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::::1/k", 10, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::[::1/k", 10, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::[::1]x/k", 15, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc:rir:x/k", 13, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc:rir:,:h/k", 9, minor::BAD_PARAM_URL_ADDRESS),
        ("corbaloc::h/a%2", 13, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
        ("corbaloc::h/a%zz", 13, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
        ("corbaloc::h/a b", 13, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
        ("corbaloc::h/aé", 13, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
        ("corbaname::h#a//b", 15, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
        ("corbaname::h#a.b.c", 16, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
        ("corbaname::h#%ff", 13, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
        ("file:", 5, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
        ("file://elsewhere/x", 5, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
        ("IOR:x", 4, minor::BAD_PARAM_URL_SCHEME_SPECIFIC),
    ] {
        let error = parse(text).expect_err(text);
        println!("{text}: {error}");
        assert_eq!((error.at, error.minor), (at, code), "{text}: {error}");
        assert!(error.to_string().starts_with(&format!("at character {} of", at + 1)));
        let exception = SystemException::from(error);
        assert_eq!((exception.kind, exception.minor), (SystemExceptionKind::BadParam, code));
    }
}

#[test]
fn names() {
    assert_eq!(parse_name(""), Ok(vec![]));
    assert_eq!(parse_name("."), Ok(vec![NameComponent::default()]));
    let kind_only = NameComponent { id: String::new(), kind: "k".into() };
    assert_eq!(parse_name(".k"), Ok(vec![kind_only]));
    for (text, at) in [("a.", 2), ("/", 0), ("a/", 2), ("a\\x", 1), ("a\\", 1), ("a.b.", 3)] {
        assert_eq!(parse_name(text).expect_err(text).at, at, "{text}");
    }
}

proptest! {
    #[test]
    fn escapes_round_trip(octets: Vec<u8>) {
        prop_assert_eq!(unescape(&escape(&octets), 0), Ok(octets));
    }

    #[test]
    fn names_round_trip(parts in proptest::collection::vec(("[ -~]{0,6}", "[ -~]{0,6}"), 0..4)) {
        let name: Vec<_> = parts.into_iter().map(|(id, kind)| NameComponent { id, kind }).collect();
        prop_assert_eq!(parse_name(&stringify_name(&name)), Ok(name));
    }

    #[test]
    fn urls_round_trip(
        key: Vec<u8>,
        hosts in proptest::collection::vec(("[a-z]{1,8}|::1", 1u16.., 0u8..3), 1..4),
        id in "[ -~]{1,8}",
    ) {
        let address = |(host, port, minor): (String, u16, u8)| {
            iiop(&host, port, Version { major: 1, minor })
        };
        let context = Corbaloc { addresses: hosts.into_iter().map(address).collect(), key };
        let url = ObjectUrl::Corbaloc(context.clone());
        prop_assert_eq!(parse(&url.to_string()), Ok(url.clone()));
        if !context.key.is_empty() {
            let name = stringify_name(&[NameComponent { id, kind: String::new() }]);
            let url = ObjectUrl::Corbaname(Corbaname { context, name });
            prop_assert_eq!(parse(&url.to_string()), Ok(url.clone()));
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text: String, rest: String) {
        let _ = parse(&text);
        for scheme in ["corbaloc:", "corbaname:", "corbaloc::", "corbaname::h#", "file:", "IOR:"] {
            let _ = parse(&format!("{scheme}{rest}"));
        }
        let _ = parse_name(&text);
    }
}

#[test]
fn other_protocols_are_written_as_tao_does() {
    let parse = |text: &str| match text.parse() {
        Ok(ObjectUrl::Corbaloc(url)) => url,
        other => panic!("{text}: {other:?}"),
    };
    let uiop = |version, address: &str| ObjectAddress::Rendezvous {
        protocol: "uiop".to_owned(),
        version,
        address: address.to_owned(),
    };
    let url = parse("corbaloc:uiop:1.2@/tmp/stock|Desk/1");
    assert_eq!(url.addresses, [uiop(Version::V1_2, "/tmp/stock")]);
    assert_eq!(url.key, b"Desk/1");
    assert_eq!(url.to_string(), "corbaloc:uiop:1.2@/tmp/stock|Desk/1");
    let ior = url.to_ior().expect("ASCII").expect("an address");
    let profile = ior.profiles[0].uiop().expect("ours").expect("a tag of TAO's");
    assert_eq!((ior.profiles[0].tag, &*profile.address), (0x5441_4f00, "/tmp/stock"));
    // Abstract names, several addresses, escapes.
    assert_eq!(parse("corbaloc:uiop:@stock|x").addresses, [uiop(Version::V1_0, "@stock")]);
    assert_eq!(parse("corbaloc:uiop:1.1@@stock|x").addresses, [uiop(Version::V1_1, "@stock")]);
    let both = parse("corbaloc:uiop:/a%2cb%7c,iiop:host:4711|x");
    let iiop = iiop("host", 4711, Version::V1_0);
    assert_eq!(both.addresses, [uiop(Version::V1_0, "/a,b|"), iiop]);
    assert_eq!(parse(&both.to_string()), both);
    let other = parse("corbaloc:fifo:somewhere|x");
    assert_eq!(other.to_ior().expect("ASCII").expect("no rir").profiles, [], "the ORB's affair");
    for (wrong, found) in [
        ("corbaloc:uiop:/tmp/stock/x", "without a `|`"),
        ("corbaloc:uiop:|x", "found \"\""),
        ("corbaloc:uiop:2.0@/tmp/stock|x", "the version \"2.0\""),
        ("corbaloc:uiop:/a%00|x", "an address"),
        ("corbaloc:fifo:somewhere/x", "the protocol \"fifo\""),
        ("corbaloc:fi-fo:somewhere|x", "the protocol \"fi-fo\""),
    ] {
        let error = wrong.parse::<ObjectUrl>().expect_err(wrong);
        assert!(error.to_string().contains(found), "{wrong}: {error}");
    }
}

#[test]
fn message_protocols_stand_before_the_transport() {
    let parse = |text: &str| match text.parse() {
        Ok(ObjectUrl::Corbaloc(url)) => url,
        other => panic!("{text}: {other:?}"),
    };
    for (text, written, tag) in [
        ("corbaloc:giopl:1.2@host:1/x", "corbaloc:giopl+iiop:1.2@host:1/x", 0x4342_0002),
        ("corbaloc:giopl+iiop:1.2@host:1/x", "corbaloc:giopl+iiop:1.2@host:1/x", 0x4342_0002),
        ("corbaloc:giopl+uiop:1.2@/a/b|x", "corbaloc:giopl+uiop:1.2@/a/b|x", 0x4342_0004),
        ("corbaloc:CRC+shmiop:@a|x", "corbaloc:crc+shmiop:1.0@@a|x", 0x4342_0004),
        ("corbaloc:crc+iiop:host/x", "corbaloc:crc+iiop:host:2809/x", 0x4342_0004),
    ] {
        let url = parse(text);
        assert_eq!(url.to_string(), written, "{text}");
        assert_eq!(parse(written), url);
        let ior = url.to_ior().expect("ASCII").expect("no rir");
        let profile = &ior.profiles[0];
        assert_eq!(profile.tag, tag, "{text}");
        let read = MessagesProfile::of(tag, &profile.data).expect("ours").expect("ours");
        let ObjectAddress::Spoken { messages, over } = &url.addresses[0] else { panic!("{url}") };
        assert_eq!(&read.protocol, messages);
        assert_eq!(Some(read.carrier), over.to_profile(b"x").expect("ASCII"));
    }
    let ior = parse("corbaloc:crc+fifo:somewhere|x").to_ior().expect("ASCII").expect("no rir");
    assert_eq!(ior.profiles, [], "the ORB's affair");
    for (wrong, found) in [
        ("corbaloc:+uiop:/a|x", "the message protocol \"\""),
        ("corbaloc:g-l+uiop:/a|x", "the message protocol \"g-l\""),
        ("corbaloc:crc+giopl:host:1/x", "the transport \"giopl\""),
        ("corbaloc:crc+rir:/x", "the transport \"rir\""),
        ("corbaloc:crc+:host:1/x", "the transport \"\""),
        ("corbaloc:a+b+c+iiop:host:1/x", "the transport \"b+c+iiop\""),
        ("corbaloc:crc+uiop:/a/x", "without a `|`"),
    ] {
        let error = wrong.parse::<ObjectUrl>().expect_err(wrong);
        assert!(error.to_string().contains(found), "{wrong}: {error}");
    }
}

#[test]
fn a_corbaname_may_be_of_another_protocol() {
    let Ok(ObjectUrl::Corbaname(url)) = "corbaname:uiop:/tmp/names|#a/b".parse() else {
        panic!("no corbaname");
    };
    assert_eq!((&*url.context.key, &*url.name), (&b"NameService"[..], "a/b"));
    assert_eq!(url.to_string(), "corbaname:uiop:1.0@/tmp/names|NameService#a/b");
}
