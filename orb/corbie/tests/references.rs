//! What references carry and how they are found: published addresses, initial references, URLs,
//! persistent keys, several addresses.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;

use corbie::policy::{Policy, PolicyCurrent, PolicyManager, SetOverrideType};
use corbie::{
    Interface, Ior, ObjectUrl, Orb, Poa, PoaError, PoaPolicy, SystemException, SystemExceptionKind,
    Version, minor,
};
use echo::{Echo, EchoServant, loopback_orb, serve};
use std::net::{IpAddr, TcpListener};
use std::time::Duration;

fn profile(echo: &Echo) -> corbie::types::IiopProfile {
    echo.0.ior().iiop_profiles().unwrap().remove(0)
}

#[test]
fn the_published_address_is_never_a_wildcard_nor_an_unasked_loopback() {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://:0"]).unwrap();
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    let host = profile(&echo).host;
    if let Ok(address) = host.parse::<IpAddr>() {
        assert!(!address.is_unspecified(), "{host}");
        let interfaces = if_addrs::get_if_addrs().unwrap();
        let has_other = interfaces.iter().any(|i| !i.is_loopback() && !i.is_link_local());
        assert!(!address.is_loopback() || !has_other, "{host} while others are there");
    }
    assert_ne!(profile(&echo).port, 0);
    orb.shutdown(true);
}

#[test]
fn the_published_address_can_be_chosen() {
    let more = ["-ORBPublishedAddress", "corba.example.org:4711,other.example.org"];
    let (orb, echo, _noted) = serve(&more);
    let addresses: Vec<_> =
        profile(&echo).addresses().into_iter().map(|a| (a.host, a.port)).collect();
    let listening = orb.listen_addresses()[0].port();
    assert_eq!(addresses[0], ("corba.example.org".to_owned(), 4711));
    assert_eq!(addresses[1], ("other.example.org".to_owned(), listening));
    orb.shutdown(true);
}

#[test]
fn a_call_goes_over_ipv6() {
    if TcpListener::bind("[::1]:0").is_err() {
        // A machine without IPv6: the interop matrix says so too.
        return;
    }
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://[::1]:0"]).unwrap();
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    assert_eq!(profile(&echo).host, "::1");
    assert_eq!(echo.double(21).unwrap(), 42);
    let port = profile(&echo).port;
    orb.bind_object_key("Echo", &echo.0);
    let object = orb.string_to_object(&format!("corbaloc:iiop:[::1]:{port}/Echo")).unwrap();
    assert_eq!(Echo(object).double(4).unwrap(), 8);
    orb.shutdown(true);
}

#[test]
fn a_dead_first_address_is_passed_over() {
    let (orb, echo, _noted) = serve(&[]);
    let dead_port = corbie_testkit::servers::free_port();
    orb.bind_object_key("Echo", &echo.0);
    let port = profile(&echo).port;
    let url = format!("corbaloc::127.0.0.1:{dead_port},:127.0.0.1:{port}/Echo");
    let found = Echo(loopback_orb(&[]).string_to_object(&url).unwrap());
    assert_eq!(found.double(2).unwrap(), 4);
    // Several profiles in one reference do the same.
    let mut ior: Ior = echo.0.ior().clone();
    let mut first = profile(&echo);
    first.port = dead_port;
    ior.profiles.insert(0, first.to_tagged().unwrap());
    let client = loopback_orb(&[]);
    let found = Echo(client.string_to_object(&ior.to_string()).unwrap());
    assert_eq!(found.double(3).unwrap(), 6);
    orb.shutdown(true);
}

#[test]
fn initial_references_come_from_every_source() {
    let (server, echo, _noted) = serve(&[]);
    server.bind_object_key("Here", &echo.0);
    server.bind_object_key("There", &echo.0);
    let port = profile(&echo).port;
    let given = format!("Given={}", echo.0);
    let default = format!("corbaloc::127.0.0.1:{port}");
    let client = loopback_orb(&[
        "-ORBInitRef",
        &given,
        "-ORBInitRef",
        &format!("Here=corbaloc::127.0.0.1:{port}/Here"),
        "-ORBDefaultInitRef",
        &default,
    ]);
    client.register_initial_reference("Mine", &echo.0).unwrap();
    for name in ["Given", "Here", "There", "Mine"] {
        let object = client.resolve_initial_references(name).unwrap();
        assert_eq!(Echo(object).double(8).unwrap(), 16, "{name}");
        let object = client.string_to_object(&format!("corbaloc:rir:/{name}")).unwrap();
        assert_eq!(Echo(object).double(9).unwrap(), 18, "{name}");
    }
    let own = ["ORBPolicyManager", "PICurrent", "POACurrent", "PolicyCurrent", "RootPOA"];
    assert_eq!(client.list_initial_services(), [&["Given", "Here", "Mine"][..], &own].concat());
    for taken in own.into_iter().chain(["Mine", ""]) {
        let refused = client.register_initial_reference(taken, &echo.0).unwrap_err();
        assert_eq!(refused.name, taken);
        assert_eq!(SystemException::from(refused).kind, SystemExceptionKind::BadParam);
    }
    let exception = loopback_orb(&[]).resolve_initial_references("Nothing").unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::BadParam);
    assert!(exception.to_string().contains("-ORBInitRef Nothing="), "{exception}");
    server.shutdown(true);
}

#[test]
fn a_reference_can_come_from_a_file() {
    let (server, echo, _noted) = serve(&[]);
    let path = std::env::temp_dir().join(format!("corbie-reference-{}.ior", std::process::id()));
    std::fs::write(&path, format!("{}\n", echo.0)).unwrap();
    let url = format!("file://{}", path.display());
    let object = loopback_orb(&[]).string_to_object(&url).unwrap();
    assert_eq!(Echo(object).double(1).unwrap(), 2);
    std::fs::remove_file(&path).unwrap();
    let exception = server.string_to_object(&url).unwrap_err();
    assert!(exception.to_string().contains("cannot be read"), "{exception}");
    server.shutdown(true);
}

#[test]
fn strings_that_are_no_references_are_refused_with_a_reason() {
    let orb = loopback_orb(&[]);
    for text in ["", "IOR:", "IOR:0", "IOR:zz", "http://x", "corbaloc:ftp:x/y", "IOR:00"] {
        let exception = orb.string_to_object(text).unwrap_err();
        assert!(!exception.to_string().is_empty(), "{text:?}");
    }
    let nil = Ior::nil().to_string();
    let exception = orb.string_to_object(&nil).unwrap_err();
    assert_eq!(exception.minor, minor::INV_OBJREF_NIL);
}

#[test]
fn the_profile_says_what_the_orb_speaks() {
    let (orb, echo, _noted) = serve(&[]);
    let profile = profile(&echo);
    assert_eq!(profile.version, Version::V1_2);
    assert!(profile.code_sets().is_some());
    assert!(matches!(echo.0.to_string().parse(), Ok(ObjectUrl::Ior(ior)) if ior == *echo.0.ior()));
    orb.shutdown(true);
    let (old, echo, _noted) = serve(&["-ORBGIOPVersion", "1.0"]);
    let profile = echo.0.ior().iiop_profiles().unwrap().remove(0);
    assert_eq!(profile.version, Version::V1_0);
    assert!(profile.components.is_empty(), "1.0 has no components");
    old.shutdown(true);
}

#[test]
fn poas_refuse_what_their_policies_do_not_allow() {
    let orb = loopback_orb(&[]);
    let root = orb.root_poa().unwrap();
    root.the_poa_manager().activate().unwrap();
    let child = root
        .create_poa("child", Some(&root.the_poa_manager()), &PoaPolicy::PERSISTENT_USER_ID)
        .unwrap();
    let error = child.activate(EchoServant::new().0).unwrap_err();
    assert!(matches!(error, PoaError::WrongPolicy { .. }), "{error}");
    let again = root.create_poa("child", None, &[]).unwrap_err();
    assert_eq!(again, PoaError::AdapterAlreadyExists("child".to_owned()));
    let echo = child.activate_with_id("one", EchoServant::new().0).unwrap();
    let twice = child.activate_with_id("one", EchoServant::new().0).unwrap_err();
    assert!(matches!(twice, PoaError::ObjectAlreadyActive(_)), "{twice}");
    let foreign = root.reference_to_id(echo.as_object()).unwrap_err();
    assert_eq!(foreign, PoaError::WrongAdapter);
    assert_eq!(root.find_poa("child", false).unwrap().the_name(), "child");
    child.destroy(true, true).unwrap();
    assert!(root.find_poa("other", true).is_err());
    let exception = echo.double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist);
    orb.shutdown(true);
}

#[test]
fn an_orb_that_was_shut_down_says_so() {
    let (orb, echo, _noted) = serve(&[]);
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    orb.shutdown(true);
    assert!(poa.activate(EchoServant::new().0).is_err());
    let exception = echo.double(1).unwrap_err();
    assert!(
        [SystemExceptionKind::BadInvOrder, SystemExceptionKind::Transient]
            .contains(&exception.kind),
        "{exception}"
    );
    orb.run();
}

#[test]
fn the_objects_of_the_orb_itself_are_initial_references() {
    let orb = loopback_orb(&[]);
    let initial = |name: &str| orb.resolve_initial_references(name).unwrap();
    let root = Poa::narrow(&initial("RootPOA")).unwrap().unwrap();
    assert!(root == orb.root_poa().unwrap(), "the root POA is one");
    assert!(root == Poa::narrow(&initial("RootPOA")).unwrap().unwrap());
    assert!(Poa::narrow(&initial("POACurrent")).unwrap().is_none());
    let timeout = Policy::RelativeRoundtripTimeout(Duration::from_secs(7));
    let manager = PolicyManager::narrow(&initial("ORBPolicyManager")).unwrap();
    manager.set_policy_overrides(&[timeout], SetOverrideType::Add).unwrap();
    assert_eq!(orb.policy_manager().get_policy_overrides(&[]), [timeout]);
    let current = PolicyCurrent::narrow(&initial("PolicyCurrent")).unwrap();
    current.set_policy_overrides(&[timeout], SetOverrideType::Add).unwrap();
    assert_eq!(orb.policy_current().get_policy_overrides(&[]), [timeout]);
    current.set_policy_overrides(&[], SetOverrideType::Set).unwrap();
    assert!(PolicyManager::narrow(&initial("PolicyCurrent")).is_none());
    orb.shutdown(true);
    let late = Poa::narrow(&initial("RootPOA")).unwrap_err();
    assert_eq!(late.kind, SystemExceptionKind::BadInvOrder, "{late}");
}

#[test]
#[allow(clippy::mutable_key_type, reason = "what a reference is hashed by does not change")]
fn references_are_compared_by_what_they_say() {
    let orb = loopback_orb(&[]);
    let mut profile = corbie::types::IiopProfile::new(Version::V1_2, "192.0.2.7", 4711, *b"key");
    profile.components = vec![
        corbie::types::TaggedComponent { tag: 0x4154_5403, data: vec![1] },
        corbie::types::TaggedComponent { tag: 0x4154_5404, data: vec![2] },
    ];
    let object = |type_id: &str, profile: &corbie::types::IiopProfile| {
        let ior = Ior::from_iiop(type_id, profile).unwrap();
        orb.string_to_object(&ior.to_string()).unwrap()
    };
    let ours = object("IDL:Test/Echo:1.0", &profile);
    profile.components.reverse();
    let mut bounced = object("", &profile);
    assert_ne!(ours.ior(), bounced.ior());
    assert_eq!(ours, bounced);
    assert!(ours.is_equivalent(&bounced));
    assert_eq!(ours.hash(u32::MAX), bounced.hash(u32::MAX));
    assert!(ours.hash(9) <= 9 && ours.hash(0) == 0);
    let callbacks = std::collections::HashSet::from([ours.clone()]);
    assert!(callbacks.contains(&bounced), "a table keyed by references finds it");
    profile.port = 4712;
    bounced = object("", &profile);
    assert!(ours != bounced && !callbacks.contains(&bounced));
}
