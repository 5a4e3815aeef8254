//! The rule that chooses the address in references.
//! Machines are lists of addresses: no socket is opened (CORBA 3.3 P2 §9.7.2, host).

use std::net::IpAddr;

use super::super::{ListenAt, ListenEndpoint, ListenHost, published_hosts};
use super::*;

fn host(endpoint: &ListenEndpoint) -> ListenHost {
    match &endpoint.at {
        ListenAt::Iiop(host) => host.clone(),
        other => panic!("{other:?} has no host"),
    }
}

/// Publishes with `args` on a machine with `interfaces`; every port bound is 4711.
fn publish(args: &str, interfaces: &str) -> (Vec<String>, usize) {
    let settings = join(args, &[], None).unwrap();
    let interfaces: Vec<IpAddr> =
        interfaces.split_whitespace().map(|a| a.parse().unwrap()).collect();
    let bound: Vec<_> = settings.listen_endpoints.iter().map(|e| (host(e), 4711)).collect();
    let published = published_hosts(&settings, &bound, &interfaces);
    let addresses = published.addresses.iter().map(|(h, p)| format!("{h} {p}")).collect();
    (addresses, published.warnings.len())
}

#[test]
fn a_wildcard_is_replaced_by_the_first_reachable_address() {
    let machine = "127.0.0.1 ::1 fe80::1 2001:db8::7 10.0.0.5 192.168.1.9";
    for (args, expected) in [
        ("", "10.0.0.5 4711"),
        ("-ORBListenEndpoints iiop://0.0.0.0:0", "10.0.0.5 4711"),
        ("-ORBListenEndpoints iiop://[::]:0", "2001:db8::7 4711"),
        ("-ORBAddressFamily ipv6", "2001:db8::7 4711"),
        ("-ORBListenEndpoints iiop://0.0.0.0:0 -ORBAddressFamily ipv6", "10.0.0.5 4711"),
    ] {
        assert_eq!(publish(args, machine), (vec![expected.to_owned()], 0), "{args}");
    }
}

#[test]
fn all_addresses_are_published_when_asked() {
    let (addresses, _) =
        publish("-ORBPublishAllAddresses", "127.0.0.1 2001:db8::7 10.0.0.5 169.254.1.1 fe80::1");
    assert_eq!(addresses, ["10.0.0.5 4711", "2001:db8::7 4711", "169.254.1.1 4711"]);
}

#[test]
fn a_named_host_is_published_as_named() {
    let (addresses, warnings) =
        publish("-ORBListenEndpoints iiop://127.0.0.1:0,iiop://localhost:0", "127.0.0.1 10.0.0.5");
    assert_eq!(addresses, ["127.0.0.1 4711", "localhost 4711"]);
    assert_eq!(warnings, 0, "loopback was asked for");
}

#[test]
fn only_a_machine_without_other_addresses_publishes_loopback_and_warns() {
    assert_eq!(publish("", "127.0.0.1 ::1"), (vec!["127.0.0.1 4711".to_owned()], 1));
    let v6 = publish("-ORBListenEndpoints iiop://[::]:0", "127.0.0.1 ::1");
    assert_eq!(v6, (vec!["::1 4711".to_owned()], 1));
    assert_eq!(publish("", ""), (vec!["127.0.0.1 4711".to_owned()], 1));
}

#[test]
fn a_self_assigned_address_is_the_last_resort_before_loopback() {
    let (addresses, warnings) = publish("", "127.0.0.1 169.254.7.7");
    assert_eq!((addresses, warnings), (vec!["169.254.7.7 4711".to_owned()], 0));
    assert_eq!(publish("", "169.254.7.7 2001:db8::7").0, ["2001:db8::7 4711"]);
}

#[test]
fn configured_addresses_replace_everything() {
    let (addresses, warnings) =
        publish("-ORBPublishedAddress nat.example:2809,[2001:db8::9]", "127.0.0.1");
    assert_eq!(addresses, ["nat.example 2809", "2001:db8::9 4711"]);
    assert_eq!(warnings, 0);
}

#[test]
fn two_endpoints_give_two_addresses_once_each() {
    let (addresses, _) =
        publish("-ORBListenEndpoints iiop://:0,iiop://10.0.0.5:0", "127.0.0.1 10.0.0.5");
    assert_eq!(addresses, ["10.0.0.5 4711"], "the same address and port is named once");
}

#[test]
fn nothing_is_published_when_nothing_listens() {
    let settings = join("-ORBPublishedAddress nat.example", &[], None).unwrap();
    assert!(published_hosts(&settings, &[], &[]).addresses.is_empty());
}
