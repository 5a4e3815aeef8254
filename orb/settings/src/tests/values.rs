//! How single values are read, and ranges.
//! Every form that the documentation names, and forms that must be refused.

use std::time::Duration;

use super::super::{
    ListenAt, ListenEndpoint, ListenHost, ListenMessages, PublishedAddress, ServerConcurrency,
    WhenFull,
};
use super::*;
use crate::preference::ProtocolPreference;
use crate::value::SettingValue as _;

fn with(args: &str) -> Settings {
    join(args, &[], None).unwrap_or_else(|e| panic!("{args}: {:?}", e.detail))
}

#[test]
fn durations_have_units() {
    for (text, microseconds) in
        [("50us", 50), ("50µs", 50), ("1.5ms", 1_500), ("0.1s", 100_000), ("0s", 0), ("20 us", 20)]
    {
        let mut partial = PartialSettings::new();
        partial.set("spin_budget", text).unwrap();
        assert_eq!(partial.spin_budget, Some(Duration::from_micros(microseconds)), "{text}");
    }
    let settings = with("-ORBClientIdleTimeout=2min -ORBServerIdleTimeout=1h");
    assert_eq!(settings.client_idle_timeout, Some(Duration::from_secs(120)));
    assert_eq!(settings.server_idle_timeout, Some(Duration::from_secs(3_600)));
    for wrong in ["50", "fast", "-1s", "1e3s", "nans", "infs", "1.2.3s", "s", "100001us", "200000h"]
    {
        let text = refusal(&format!("-ORBSpinBudget={wrong}"));
        assert!(text.contains("-ORBSpinBudget"), "{text}");
    }
}

#[test]
fn octets_have_units() {
    for (text, octets) in [
        ("65536", 65_536),
        ("64KiB", 65_536),
        ("1_024", 1_024),
        ("2 mib", 2 << 20),
        ("4096B", 4_096),
    ] {
        let mut partial = PartialSettings::new();
        partial.set("message_octets_max", text).unwrap();
        assert_eq!(partial.message_octets_max, Some(octets), "{text}");
    }
    for wrong in ["", "x", "-1", "1TiB", "99999999999999999999", "17179869184GiB", "5GiB", "1"] {
        let text = refusal(&format!("-ORBMessageOctetsMax={wrong}"));
        assert!(text.contains("-ORBMessageOctetsMax"), "{wrong}: {text}");
    }
}

#[test]
fn a_range_is_named_in_the_refusal() {
    let text = refusal("-ORBPoolThreadsMax 0");
    assert!(text.contains("0 is outside of 1 to 10000"), "{text}");
}

#[test]
fn ranges_hold_for_the_builder_too() {
    let builder = PartialSettings::new().nesting_depth_max(5_u32);
    let outcome = Settings::from_sources(builder, &mut Vec::new(), &|_| None, None);
    let text = sentence(outcome);
    assert!(text.contains("nesting_depth_max") && text.contains("8 to 1000"), "{text}");
}

#[test]
fn choices_are_read_by_name() {
    let settings = with("-ORBServerConcurrency thread_pool -ORBWhenFull REFUSE");
    assert_eq!(settings.server_concurrency, ServerConcurrency::ThreadPool);
    assert_eq!(settings.when_full, WhenFull::Refuse);
    let text = refusal("-ORBWaitStrategy sometimes");
    assert!(text.contains("`block`, `spin` or `adaptive`"), "{text}");
}

#[test]
fn bare_arguments_may_be_given_a_value_with_an_equals_sign() {
    assert!(with("-ORBPublishAllAddresses").publish_all_addresses);
    assert!(!with("-ORBPublishAllAddresses=off").publish_all_addresses);
    assert!(refusal("-ORBPublishAllAddresses=maybe").contains("neither true nor false"));
}

#[test]
fn endpoints_of_every_form() {
    for (text, host, port) in [
        ("iiop://host:2809", Some("host"), 2809),
        ("iiop://:0", None, 0),
        ("iiop://", None, 0),
        ("iiop://*:5", None, 5),
        ("iiop://host", Some("host"), 0),
        ("iiop://127.0.0.1:0", Some("127.0.0.1"), 0),
        ("iiop://[::1]:2809", Some("::1"), 2809),
        ("iiop://[fe80::1%eth0]:1/", Some("fe80::1%eth0"), 1),
        ("iiop://[::1]", Some("::1"), 0),
        ("giop:tcp:host:2809", Some("host"), 2809),
        ("giop:tcp::2809", None, 2809),
        ("giop:tcp:[::]:7", Some("::"), 7),
        ("giop:tcp:host:", Some("host"), 0),
    ] {
        let endpoint: ListenEndpoint = text.parse().unwrap();
        let expected = ListenHost { host: host.map(str::to_owned), port };
        assert_eq!(endpoint.at, ListenAt::Iiop(expected), "{text}");
    }
    assert_eq!(with("-ORBListenEndpoints iiop://a:1,giop:tcp:b:2").listen_endpoints.len(), 2);
}

#[test]
fn endpoints_name_protocol_and_transport() {
    for (text, messages, transport, shown) in [
        ("iiop://a:1", ListenMessages::Giop, "iiop", "iiop://a:1"),
        ("giopl://a:1", ListenMessages::GiopLite, "iiop", "giopl://a:1"),
        ("giopl+iiop://a:1", ListenMessages::GiopLite, "iiop", "giopl://a:1"),
        (
            "giopl+uiop:///a|mode=0660",
            ListenMessages::GiopLite,
            "uiop",
            "giopl+uiop:///a|mode=0660",
        ),
        ("giopl+shmiop://", ListenMessages::GiopLite, "shmiop", "giopl+shmiop://"),
        ("giopl+veil://x", ListenMessages::GiopLite, "veil", "giopl+veil://x"),
        ("crc+iiop://a:1", ListenMessages::Plugged("crc".to_owned()), "iiop", "crc+iiop://a:1"),
        ("crc+veil://x", ListenMessages::Plugged("crc".to_owned()), "veil", "crc+veil://x"),
    ] {
        let endpoint: ListenEndpoint = text.parse().unwrap();
        assert_eq!((&endpoint.messages, endpoint.transport_scheme()), (&messages, transport));
        assert_eq!(endpoint.to_string(), shown);
        assert_eq!(shown.parse::<ListenEndpoint>().unwrap(), endpoint);
    }
    for wrong in ["+iiop://a:1", "a+b+iiop://a:1", "crc+giopl://a:1", "crc+://a:1", "C+iiop://a"] {
        wrong.parse::<ListenEndpoint>().unwrap_err();
    }
}

#[test]
fn message_protocols_stand_before_giop_over_the_same_transport() {
    let order = |preference: &str| {
        let preference = ProtocolPreference::parse(preference).unwrap();
        let mut all = [
            (None, "iiop"),
            (Some("giopl"), "iiop"),
            (None, "uiop"),
            (Some("crc"), "uiop"),
            (None, "veil"),
        ];
        all.sort_by_key(|(messages, transport)| preference.rank(*messages, transport));
        let show = |(messages, transport): (Option<&str>, &str)| match messages {
            Some(messages) => format!("{messages}+{transport}"),
            None => transport.to_owned(),
        };
        all.map(show).join(" ")
    };
    assert_eq!(order("shmiop,uiop,*,iiop"), "crc+uiop uiop veil giopl+iiop iiop");
    assert_eq!(order("iiop,giopl,uiop,crc+uiop"), "iiop giopl+iiop uiop crc+uiop veil");
    assert_eq!(order("giopl+iiop,*"), "giopl+iiop crc+uiop iiop uiop veil");
}

#[test]
fn wrong_endpoints_say_what_to_write() {
    for (text, expected) in [
        ("host:1", "write `iiop://host:1`"),
        ("giop:tls:host:1", "transport of `giop:tls:host:1` is not known"),
        ("IIOP://host:1", "`IIOP` cannot be the name of a transport"),
        ("iiop://::1:5", "stands in brackets"),
        ("iiop://[::1", "no closing `]`"),
        ("iiop://[host]:1", "not an IPv6 address"),
        ("iiop://[::1]x", "only `:port`"),
        ("iiop://host:70000", "the port `70000` is not 0 to 65535"),
        ("iiop://host:x", "the port `x`"),
        ("iiop://a/b:1", "the option `b:1` has no `=`"),
        ("iiop://a:1/portspan=2", "no option `portspan` here"),
        ("iiop://a:1/mode=600", "no option `mode` here"),
        ("uiop:///a|mode=980", "`980` is no mode"),
        ("uiop://@", "needs a path"),
        ("iiop://1.2@host:1", "`@` cannot stand in the host"),
        (",", "it is empty"),
    ] {
        let text = refusal(&format!("-ORBListenEndpoints={text}"));
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn published_addresses_can_be_reached() {
    let settings = with("-ORBPublishedAddress example.org:2809,[2001:db8::1],10.0.0.1");
    let expected = [("example.org", Some(2809)), ("2001:db8::1", None), ("10.0.0.1", None)];
    let expected = expected.map(|(host, port)| PublishedAddress { host: host.to_owned(), port });
    assert_eq!(settings.published_addresses, expected);
    for wrong in ["0.0.0.0", "[::]:1", "[::ffff:0.0.0.0]", "0", "*", ":2809", "host:0", "::1"] {
        assert!(wrong.parse::<PublishedAddress>().is_err(), "{wrong}");
    }
}

#[test]
fn a_builder_cannot_publish_a_wildcard_either() {
    for (host, port) in [("0.0.0.0", None), ("", None), ("::", Some(1)), ("host", Some(0))] {
        let address = PublishedAddress { host: host.to_owned(), port };
        let builder = PartialSettings::new().published_addresses(vec![address]);
        let outcome = Settings::from_sources(builder, &mut Vec::new(), &|_| None, None);
        assert!(sentence(outcome).contains("published_addresses"), "{host}");
    }
    let endpoint = ListenHost { host: Some(String::new()), port: 1 };
    assert!(endpoint.is_wildcard());
}

#[test]
fn init_refs_need_a_name_and_a_url() {
    for (text, expected) in [
        ("corbaloc::host/x", "there is no `=`"),
        ("=IOR:00", "no name before `=`"),
        ("A=host:2809", "does not begin with `IOR:`"),
    ] {
        let text = refusal(&format!("-ORBInitRef {text}"));
        assert!(text.contains(expected), "{text}");
    }
}
