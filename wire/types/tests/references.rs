//! Object references: octets, text, profiles, components, code sets, and their description.
//! Repository ids, which are part of them.

mod security_messages;

use corbie_cdr::{ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Marshal, Version};
use corbie_types::ior::{
    CsiSecMechList, TlsSecTrans, association, component_tag, orb_type, profile_tag,
};
use corbie_types::{
    Address, CodeSetComponent, CodeSetComponentInfo, Component, Description, IdlVersion,
    IiopProfile, Ior, RepositoryId, SslSecTrans, TaggedComponent, TaggedProfile, UiopProfile,
};
use proptest::prelude::*;

fn sample() -> IiopProfile {
    let mut profile = IiopProfile::new(Version::V1_2, "192.0.2.7", 4711, *b"key");
    let ssl = SslSecTrans { target_supports: 0x66, target_requires: 0x20, port: 4712 };
    profile.components = vec![
        TaggedComponent::orb_type(orb_type::CORBIE).expect("small"),
        TaggedComponent::code_sets(&CodeSetComponentInfo::corbie()).expect("small"),
        TaggedComponent::alternate_address(&Address::new("2001:db8::7", 4711)).expect("small"),
        ssl.to_component().expect("small"),
        TaggedComponent { tag: 0x4154_5403, data: vec![0, 1, 2] },
        TaggedComponent { tag: component_tag::NULL_TAG, data: vec![] },
    ];
    profile
}

#[test]
fn profiles_keep_everything() {
    let profile = sample();
    let data = profile.encode().expect("ASCII");
    assert_eq!(IiopProfile::decode(&data).as_ref(), Ok(&profile));
    let addresses: Vec<String> = profile.addresses().iter().map(Address::to_string).collect();
    assert_eq!(addresses, ["192.0.2.7:4711", "[2001:db8::7]:4711"]);
    assert_eq!(profile.code_sets(), Some(CodeSetComponentInfo::corbie()));
    let parsed: Vec<_> = profile.components.iter().map(|c| c.parse().expect("ours")).collect();
    assert_eq!(parsed[0], Component::OrbType(orb_type::CORBIE));
    assert!(matches!(parsed[3], Component::SslSecTrans(ssl) if ssl.port == 4712));
    assert_eq!(parsed[4..], [Component::Other, Component::Null]);
}

/// TLS at two addresses of CSIv2, one of them also that of SSLIOP; the alternate address is plain.
#[test]
fn tls_addresses_are_those_of_both_components_and_no_others() {
    let tls = TlsSecTrans {
        target_supports: association::OF_TLS,
        target_requires: association::OF_TLS | association::ESTABLISH_TRUST_IN_CLIENT,
        addresses: vec![Address::new("192.0.2.7", 4712), Address::new("2001:db8::7", 4713)],
    };
    let list = CsiSecMechList::of_tls(&tls).expect("ASCII");
    let mut profile = sample();
    profile.components.push(list.to_component().expect("ASCII"));
    let profile = IiopProfile::decode(&profile.encode().expect("ASCII")).expect("ours");
    let parsed = profile.components.last().map(TaggedComponent::parse);
    assert_eq!(parsed, Some(Ok(Component::CsiSecMechList(list))));
    let shown = |all: Vec<Address>| all.iter().map(Address::to_string).collect::<Vec<_>>();
    assert_eq!(shown(profile.tls_addresses()), ["192.0.2.7:4712", "[2001:db8::7]:4713"]);
    assert_eq!(shown(sample().tls_addresses()), ["192.0.2.7:4712"], "of SSLIOP alone");
    let ior = Ior::from_iiop("IDL:X:1.0", &profile).expect("ASCII");
    let described = format!("{:?}", ior.describe());
    for part in ["TAG_CSI_SEC_MECH_LIST (33)", "TAG_TLS_SEC_TRANS (36)", "[2001:db8::7]:4713"] {
        assert!(described.contains(part), "{part}: {described}");
    }
}

#[test]
fn very_many_tls_addresses_take_no_longer_than_their_number() {
    let addresses: Vec<_> = (1..=u16::MAX).map(|port| Address::new("ab", port)).collect();
    let tls = TlsSecTrans { target_supports: 0, target_requires: 0, addresses: addresses.clone() };
    let mut profile = sample();
    profile.components =
        vec![CsiSecMechList::of_tls(&tls).expect("ASCII").to_component().expect("ASCII"); 4];
    let begun = std::time::Instant::now();
    assert_eq!(profile.tls_addresses(), addresses);
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}

/// A list as the specification lays it out, octet by octet.
#[test]
fn a_list_of_mechanisms_by_hand() {
    let transport = [
        &[0, 0, 0, 0x66, 0, 0x26][..], // big-endian; supports, requires
        &[0, 0],
        &[0, 0, 0, 1, 0, 0, 0, 2, b'h', 0, 2, 0xac], // one address: "h", 684
    ]
    .concat();
    let mut data = vec![0, 1, 0, 0, 0, 0, 0, 1, 0, 0x26, 0, 0]; // stateful; one; requires
    data.extend([0, 0, 0, 36, 0, 0, 0, 20]);
    data.extend(&transport);
    data.extend([0; 12]); // no authentication
    data.extend([0; 4]); // attributes: supports, requires
    data.extend([0; 12]); // authorities, naming mechanisms, identity types
    let component = TaggedComponent { tag: component_tag::CSI_SEC_MECH_LIST, data };
    let Ok(Component::CsiSecMechList(list)) = component.parse() else { panic!("{component:?}") };
    assert!(list.stateful);
    let tls = list.mechanisms[0].tls().expect("TLS");
    assert_eq!((tls.target_supports, tls.target_requires), (0x66, 0x26));
    assert_eq!(tls.addresses, [Address::new("h", 684)]);
    for length in 0..component.data.len() {
        let data = component.data[..length].to_vec();
        let cut = TaggedComponent { tag: component.tag, data };
        assert!(cut.parse().is_err(), "{length} octets of it");
    }
}

/// What TAO's `UIOP_Profile::create_profile_body` writes, octet by octet.
#[test]
fn a_profile_of_a_path_by_hand() {
    let mut body = vec![0, 1, 2, 0];
    body.extend([0, 0, 0, 5]);
    body.extend(b"/tmp\0");
    body.extend([0; 3]);
    body.extend([0, 0, 0, 3]);
    body.extend(b"key");
    body.extend([0, 0, 0, 0, 0]);
    let profile = UiopProfile::decode(&body).expect("TAO's form");
    assert_eq!(profile, UiopProfile::new(Version::V1_2, "/tmp", *b"key"));
}

#[test]
fn a_profile_body_by_the_book() {
    // CORBA 3.3 P2 §9.7.2, big-endian, version 1.0: no components.
    let body = [
        0, 1, 0, 0, // byte order, version 1.0, padding
        0, 0, 0, 2, b'h', 0, // host
        0x0a, 0xf9, // port 2809
        0, 0, 0, 3, b'k', b'e', b'y',
    ];
    let profile = IiopProfile::decode(&body).expect("by the book");
    assert_eq!(profile, IiopProfile::new(Version::V1_0, "h", 2809, *b"key"));
    // Trailing octets are tolerated; what is missing is not.
    let longer = [&body[..], &[9, 9, 9]].concat();
    assert_eq!(IiopProfile::decode(&longer), Ok(profile));
    for end in 0..body.len() {
        assert!(IiopProfile::decode(&body[..end]).is_err(), "cut at {end}");
    }
    // Version 1.1 without a component list at all: seen in the wild.
    let mut without = body;
    without[2] = 1;
    assert_eq!(IiopProfile::decode(&without).map(|p| p.components), Ok(vec![]));
    let mut version_2 = body;
    version_2[1] = 2;
    assert!(IiopProfile::decode(&version_2).is_err());
    // An IPv6 address in brackets, as some ORBs write it.
    let bracketed = IiopProfile::new(Version::V1_0, "[::1]", 1, *b"k").encode().expect("ASCII");
    assert_eq!(IiopProfile::decode(&bracketed).map(|p| p.host), Ok("::1".to_owned()));
}

#[test]
fn nil_is_no_profiles() {
    assert!(Ior::nil().is_nil());
    assert_eq!(Ior::nil().to_string().len(), "IOR:".len() + 2 * 16);
    assert_eq!(Ior::nil().to_string().parse(), Ok(Ior::nil()));
    // With the empty type id as length 0, as some ORBs write it.
    let octets = [0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(Ior::decode(&mut Decoder::new(&octets, ByteOrder::BigEndian)), Ok(Ior::nil()));
}

#[test]
fn a_big_endian_reference_by_hand() {
    // CORBA 3.3 P2 §7.6.9: byte order, type id, one profile with tag 0 and 24 octets.
    let text = "IOR:\
        00000000 0000000d 49444c3a4563686f3a312e3000 000000\
        00000001 00000000 00000018\
        00010000 00000002 68000af9 00000005 616263646500 0000"
        .replace([' ', '\n'], "");
    let ior: Ior = text.parse().expect("by the book");
    assert_eq!(ior.type_id, "IDL:Echo:1.0");
    let profile = IiopProfile::new(Version::V1_0, "h", 2809, *b"abcde");
    assert_eq!(ior.iiop_profiles(), Ok(vec![profile]));
    // An octet less: said, with the place of what is missing.
    let error = text[..text.len() - 4].parse::<Ior>().expect_err("cut short");
    assert!(error.to_string().contains("the whole IOR"), "{error}");
    assert_eq!(error.at, "IOR:".len() + 2 * 32, "the length of the profile that is cut");
}

#[test]
fn text_errors_say_where() {
    let good = Ior::from_iiop("IDL:Echo:1.0", &sample()).expect("ASCII").to_string();
    assert_eq!(good.parse::<Ior>().map(|ior| ior.to_string()).as_ref(), Ok(&good));
    assert_eq!(format!("  ior:{}\n", good[4..].to_uppercase()).parse::<Ior>(), good.parse());
    for (text, at) in
        [("", 0), ("XYZ:00", 0), ("IOR:0g", 5), ("IOR:010", 7), ("IOR:00\u{e9}", 6), (" IOR:zz", 5)]
    {
        assert_eq!(text.parse::<Ior>().expect_err(text).at, at, "{text}");
    }
    for end in 0..good.len() {
        assert!(good[..end].parse::<Ior>().is_err(), "cut at {end}");
    }
}

#[test]
fn any_type_id_can_be_shown() {
    // Found by fuzzing: a type id with a NUL, which only a program can make now.
    for (id, shown) in [("a\0b", "ab"), ("€\u{ff}", "€\u{ff}")] {
        let ior = Ior { type_id: id.into(), profiles: vec![] };
        assert_eq!(ior.to_string().parse::<Ior>().map(|ior| ior.type_id), Ok(shown.to_owned()));
    }
    let octets = [0, 0, 0, 4, b'a', 0, b'b', 0, 0, 0, 0, 0];
    assert!(Ior::decode(&mut Decoder::new(&octets, ByteOrder::BigEndian)).is_err());
}

#[test]
fn hostile_references() {
    // 2^32 profiles claimed.
    let octets = [0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
    assert!(Ior::decode(&mut Decoder::new(&octets, ByteOrder::BigEndian)).is_err());
    // A malformed component does not make the profile unusable.
    let mut profile = sample();
    profile.components.push(TaggedComponent { tag: component_tag::CODE_SETS, data: vec![7] });
    let back = IiopProfile::decode(&profile.encode().expect("ASCII")).expect("well-formed");
    assert!(back.components.last().is_some_and(|component| component.parse().is_err()));
    assert_eq!(back.addresses().len(), 2);
}

fn tagged() -> impl Strategy<Value = TaggedProfile> {
    (any::<u32>(), any::<Vec<u8>>()).prop_map(|(tag, data)| TaggedProfile { tag, data })
}

proptest! {
    #[test]
    fn references_round_trip(
        type_id in "[ -~]{0,40}",
        profiles in proptest::collection::vec(tagged(), 0..4),
        little: bool,
        lead in 0usize..8,
    ) {
        let order = if little { ByteOrder::LittleEndian } else { ByteOrder::BigEndian };
        let ior = Ior { type_id, profiles };
        let mut e = Encoder::new(Vec::new(), order);
        (0..lead).for_each(|_| e.write_octet(0xff));
        Ior::encode(&ior, &mut e).expect("ASCII");
        let octets = e.to_vec();
        let mut d = Decoder::with_position(&octets, lead, order);
        prop_assert_eq!(Ior::decode(&mut d), Ok(ior.clone()));
        prop_assert_eq!(d.remaining(), 0);
        prop_assert_eq!(ior.to_string().parse::<Ior>(), Ok(ior.clone()));
        prop_assert!(!ior.describe().name.is_empty());
    }

    #[test]
    fn profiles_round_trip(host in "[ -Z\\^-~]{0,30}", port: u16, key: Vec<u8>, minor in 0u8..3) {
        let version = Version { major: 1, minor };
        let profile = IiopProfile::new(version, host, port, key);
        prop_assert_eq!(IiopProfile::decode(&profile.encode().expect("ASCII")), Ok(profile));
    }

    #[test]
    fn profiles_of_paths_round_trip(
        address in "[^\\x00]{0,30}", key: Vec<u8>, minor in 0u8..3, tag in 0u32..41,
    ) {
        let version = Version { major: 1, minor };
        let mut profile = UiopProfile::new(version, address, key);
        if minor > 0 {
            profile.components.push(TaggedComponent { tag, data: vec![1, 2, 3] });
        }
        let tagged = profile.to_tagged().expect("no NUL");
        prop_assert_eq!(tagged.tag, 0x5441_4f00, "TAO's");
        prop_assert_eq!(tagged.uiop(), Ok(Some(profile)));
        for end in 0..tagged.data.len() {
            let _ = UiopProfile::decode(&tagged.data[..end]);
        }
    }

    #[test]
    fn arbitrary_octets_never_panic(octets: Vec<u8>, tag in 0u32..41) {
        let _ = IiopProfile::decode(&octets);
        let _ = UiopProfile::decode(&octets);
        let _ = TaggedComponent { tag, data: octets.clone() }.parse();
        let profile = TaggedProfile { tag: tag % 3, data: octets.clone() };
        let ior = Ior { type_id: String::new(), profiles: vec![profile] };
        prop_assert!(!ior.describe().children.is_empty());
        let _ = Ior::decode(&mut Decoder::new(&octets, ByteOrder::LittleEndian));
        let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
        let _ = format!("IOR:{hex}").parse::<Ior>();
    }
}

fn lines(description: &Description, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    out.push_str(&format!("{indent}{}: {}\n", description.name, description.value));
    description.children.iter().for_each(|child| lines(child, depth + 1, out));
}

#[test]
fn descriptions_leave_nothing_out() {
    let mut ior = Ior::from_iiop("IDL:Stock/Quoter:1.0", &sample()).expect("ASCII");
    let components = [TaggedComponent::orb_type(orb_type::JACORB).expect("small")];
    ior.profiles.push(TaggedProfile::from_components(&components).expect("small"));
    ior.profiles.push(TaggedProfile { tag: profile_tag::UIPMC, data: vec![1, 2] });
    ior.profiles.push(TaggedProfile { tag: profile_tag::INTERNET_IOP, data: vec![9] });
    let mut text = String::new();
    lines(&ior.describe(), 0, &mut text);
    println!("{text}");
    for part in [
        "reference: 4 profiles",
        "type id: IDL:Stock/Quoter:1.0 (interface Stock::Quoter, version 1.0)",
        "profile 1: TAG_INTERNET_IOP (0)",
        "version: IIOP 1.2",
        "host: 192.0.2.7",
        "port: 4711",
        "object key: 3 octets: 6b6579 \"key\"",
        "TAG_ORB_TYPE (0): Corbie (0x43420000)",
        "char: native UTF-8 (0x05010001), converts ISO 8859-1 (0x00010001)",
        "TAG_ALTERNATE_IIOP_ADDRESS (3): [2001:db8::7]:4711",
        "supports: 0x0066 Integrity, Confidentiality, EstablishTrustInTarget, EstablishTrustIn",
        "omniORB persistent id (1096045571): 3 octets: 000102",
        "TAG_NULL_TAG (34): (nothing)",
        "profile 2: TAG_MULTIPLE_COMPONENTS (1)",
        "TAG_ORB_TYPE (0): JacORB (0x4a414300)",
        "profile 3: TAG_UIPMC (3)",
        "malformed: cannot read byte order of an encapsulation",
    ] {
        assert!(text.contains(part), "{part:?} is missing");
    }
    assert_eq!(Ior::nil().describe(), Description::leaf("reference", "nil"));
    let naming =
        Ior { type_id: "IDL:omg.org/CosNaming/NamingContext:1.0".into(), profiles: vec![] };
    let meaning = &naming.describe().children[0].value;
    assert!(meaning.ends_with("(interface CosNaming::NamingContext of omg.org, version 1.0)"));
}

fn component(native: CodeSet, conversion: &[CodeSet]) -> CodeSetComponent {
    CodeSetComponent { native, conversion: conversion.to_vec() }
}

#[test]
fn code_sets_are_negotiated_as_the_specification_says() {
    let corbie = CodeSetComponentInfo::corbie();
    let (latin, utf8, utf16) = (CodeSet::ISO_8859_1, CodeSet::UTF_8, CodeSet::UTF_16);
    let chosen = |char_data: CodeSetComponent, wchar_data: CodeSetComponent| {
        let server = CodeSetComponentInfo { for_char_data: char_data, for_wchar_data: wchar_data };
        corbie.negotiate(Some(&server)).map(|sets| (sets.char_data, sets.wchar_data))
    };
    let wide = || component(utf16, &[]);
    // Nothing said.
    assert_eq!(corbie.negotiate(None), Ok(CodeSets::DEFAULT));
    // The same native code sets.
    assert_eq!(chosen(component(utf8, &[latin]), wide()), Ok((utf8, utf16)));
    // omniORB as it comes: native ISO 8859-1, which we convert to.
    assert_eq!(chosen(component(latin, &[utf8]), wide()), Ok((latin, utf16)));
    // Windows 1252 and UTF-8: the server converts.
    let windows = CodeSet(0x1002_04e4);
    assert_eq!(chosen(component(windows, &[utf8]), wide()), Ok((utf8, utf16)));
    // Both convert.
    assert_eq!(chosen(component(windows, &[latin]), wide()), Ok((latin, utf16)));
    // Nothing in common: the fallback.
    assert_eq!(chosen(component(windows, &[]), wide()), Ok((utf8, utf16)));
    // Nothing said about wchar (some JacORB and TAO configurations): the fallback.
    assert_eq!(chosen(component(latin, &[]), component(CodeSet(0), &[])), Ok((latin, utf16)));
    // Code sets that neither side knows.
    let unknown = CodeSet(0xdead_0001);
    let error = chosen(component(unknown, &[]), wide()).expect_err("no common code set");
    assert!(error.to_string().contains("0xdead0001"), "{error}");
    assert_eq!(chosen(component(utf8, &[]), component(unknown, &[])), Ok((utf8, CodeSet(0))));
}

#[test]
fn repository_ids() {
    let version = |major, minor| IdlVersion { major, minor };
    let parse = RepositoryId::parse;
    let naming = parse("IDL:omg.org/CosNaming/NamingContext:1.2").expect("well-formed");
    let name = "omg.org/CosNaming/NamingContext";
    assert_eq!(naming, RepositoryId::Idl { name, version: version(1, 2) });
    assert!(naming.serves(&parse("IDL:omg.org/CosNaming/NamingContext:1.0").expect("ok")));
    assert!(!naming.serves(&parse("IDL:omg.org/CosNaming/NamingContext:1.3").expect("ok")));
    assert!(!naming.serves(&parse("IDL:omg.org/CosNaming/NamingContext:2.0").expect("ok")));
    assert!(matches!(parse("RMI:java.util.Map:1:2"), Ok(RepositoryId::Rmi { .. })));
    assert!(matches!(parse("LOCAL:x"), Ok(RepositoryId::Local { rest: "x" })));
    assert!(matches!(
        parse("DCE:700dc518-0110-11ce-ac8f-0800090b5d3e:1"),
        Ok(RepositoryId::Dce { minor: 1, .. })
    ));
    assert!(matches!(parse("X:y"), Ok(RepositoryId::Other { format: "X", rest: "y" })));
    for (id, at) in
        [("", 0), ("IDL", 3), ("IDL:A", 5), ("IDL:A:1", 7), ("IDL:A:x.0", 6), ("IDL:A:1.y", 8)]
    {
        assert_eq!(parse(id).expect_err(id).at, at, "{id}");
    }
}

/// The octets of an IIOP profile as another ORB may write them: its byte order, its padding, its
/// order of components.
fn written_by_a_peer(
    profile: &IiopProfile,
    is_little: bool,
    padding: &mut impl FnMut() -> u8,
    rotate: usize,
) -> TaggedProfile {
    let mut octets = vec![u8::from(is_little), profile.version.major, profile.version.minor];
    let mut align = |octets: &mut Vec<u8>, to: usize| {
        while !octets.len().is_multiple_of(to) {
            octets.push(padding());
        }
    };
    let ulong = |number: usize| {
        let number = u32::try_from(number).expect("small");
        if is_little { number.to_le_bytes() } else { number.to_be_bytes() }
    };
    align(&mut octets, 4);
    octets.extend(ulong(profile.host.len() + 1));
    octets.extend(profile.host.as_bytes());
    octets.push(0);
    align(&mut octets, 2);
    let port = profile.port;
    octets.extend(if is_little { port.to_le_bytes() } else { port.to_be_bytes() });
    align(&mut octets, 4);
    octets.extend(ulong(profile.object_key.len()));
    octets.extend(&profile.object_key);
    let mut components = profile.components.clone();
    let count = components.len().max(1);
    components.rotate_left(rotate % count);
    align(&mut octets, 4);
    octets.extend(ulong(components.len()));
    for component in &components {
        align(&mut octets, 4);
        octets.extend(ulong(component.tag as usize));
        octets.extend(ulong(component.data.len()));
        octets.extend(&component.data);
    }
    TaggedProfile { tag: profile_tag::INTERNET_IOP, data: octets }
}

proptest! {
    /// A reference that a peer has encoded again is to the same object; one to another address,
    /// port, key or protocol is not.
    #[test]
    fn a_reference_that_is_encoded_again_is_to_the_same_object(
        host in "[a-z][a-z0-9.]{0,12}",
        port in 1_u16..,
        key in proptest::collection::vec(any::<u8>(), 0..9),
        is_little in any::<bool>(),
        junk in proptest::collection::vec(any::<u8>(), 16),
        rotate in 0_usize..6,
    ) {
        let profile = IiopProfile { host, port, object_key: key, ..sample() };
        let ours = Ior::from_iiop("IDL:A:1.0", &profile).expect("ASCII");
        let mut junk = junk.into_iter().cycle();
        let mut again = |profile: &IiopProfile| {
            let mut padding = || junk.next().unwrap_or_default();
            let profiles = vec![written_by_a_peer(profile, is_little, &mut padding, rotate)];
            Ior { type_id: String::new(), profiles }
        };
        let theirs = again(&profile);
        prop_assert_eq!(ours.identity(), theirs.identity());
        let mut both = theirs.clone();
        both.profiles.extend(ours.profiles.clone());
        prop_assert_eq!(ours.identity(), both.identity());
        let upper = IiopProfile { host: profile.host.to_uppercase(), ..profile.clone() };
        prop_assert_eq!(ours.identity(), again(&upper).identity());

        let other_host = IiopProfile { host: format!("{}x", profile.host), ..profile.clone() };
        let other_port = IiopProfile { port: profile.port ^ 1, ..profile.clone() };
        let longer = [&profile.object_key[..], b"x"].concat();
        let other_key = IiopProfile { object_key: longer, ..profile.clone() };
        for other in [other_host, other_port, other_key] {
            prop_assert_ne!(ours.identity(), again(&other).identity());
        }
        let unix = UiopProfile::new(Version::V1_2, &*profile.host, &*profile.object_key);
        let unix = Ior { profiles: vec![unix.to_tagged().expect("ASCII")], ..Ior::default() };
        prop_assert_ne!(ours.identity(), unix.identity());
    }
}

#[test]
fn two_tls_servers_without_a_plain_port_are_two() {
    let at = |port| {
        let ssl = SslSecTrans { target_supports: 0x66, target_requires: 0x66, port };
        let mut profile = IiopProfile::new(Version::V1_2, "h", 0, *b"NameService");
        profile.components = vec![ssl.to_component().expect("small")];
        Ior::from_iiop("", &profile).expect("ASCII").identity()
    };
    assert_eq!(at(4712), at(4712));
    assert_ne!(at(4712), at(4713));
}

#[test]
fn what_cannot_be_read_is_compared_as_it_is() {
    let of = |tag, data: &[u8]| {
        let profiles = vec![TaggedProfile { tag, data: data.to_vec() }];
        Ior { type_id: String::new(), profiles }.identity()
    };
    assert_eq!(of(0x4242, b"abc"), of(0x4242, b"abc"));
    assert_ne!(of(0x4242, b"abc"), of(0x4242, b"abd"));
    assert_ne!(of(profile_tag::INTERNET_IOP, b"\0"), of(profile_tag::UIOP, b"\0"));
    assert_ne!(of(profile_tag::MULTIPLE_COMPONENTS, b"\0"), Ior::nil().identity());
}
