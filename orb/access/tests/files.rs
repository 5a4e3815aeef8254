//! Access files: the examples of the book, and what is said of files that are wrong.
#![cfg(feature = "file")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use corbie_access::{AccessFile, AccessRules, CalledObject, Pattern};
use corbie_transport::{PeerAddress, PeerCertificate, PeerIdentity, PeerProcess};
use std::sync::Arc;

const BOOK: &str = include_str!("../../../docs/src/access.md");

/// The access files in the book, in order.
fn examples() -> Vec<AccessRules> {
    let blocks = BOOK.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let files = blocks.filter(|block| block.contains("[[allow]]"));
    files.map(|text| AccessRules::parse("access.toml", text).unwrap()).collect()
}

struct Object<'o>(&'o str, &'o [&'o str]);

impl CalledObject for Object<'_> {
    fn has_name(&self, pattern: &Pattern) -> bool {
        pattern.matches(self.0.bytes())
    }
    fn has_interface(&self, pattern: &Pattern) -> Option<bool> {
        Some(self.1.iter().any(|id| pattern.matches(id.bytes())))
    }
}

fn tcp(address: &str) -> PeerIdentity {
    PeerAddress::Tcp(address.parse().unwrap()).into()
}

fn unix(user: u32) -> PeerIdentity {
    PeerAddress::Unix(PeerProcess { process: 1, user, group: 1 }).into()
}

fn certified(address: &str, subject: &str, name: &str) -> PeerIdentity {
    let certificate = PeerCertificate { subject: subject.into(), names: vec![name.into()] };
    PeerIdentity { certificate: Some(Arc::new(certificate)), ..tcp(address) }
}

const CONTEXT: &[&str] =
    &["IDL:omg.org/CosNaming/NamingContextExt:1.0", "IDL:omg.org/CosNaming/NamingContext:1.0"];
const CHANNEL: &[&str] = &["IDL:omg.org/CosEventChannelAdmin/EventChannel:1.0"];

#[test]
fn the_worked_examples_of_the_book_mean_what_it_says() {
    let [names, desks, users] = &examples()[..] else { panic!("three examples") };
    let may = |rules: &AccessRules, peer: &PeerIdentity, operation: &str, object: Object<'_>| {
        rules.for_peer(peer, 1000).permit(operation, &object)
    };
    let context = || Object("NameService", CONTEXT);
    let office = tcp("10.1.2.3:4");
    assert!(may(names, &office, "resolve", context()) && may(names, &office, "_is_a", context()));
    assert!(!may(names, &office, "unbind", context()));
    assert!(!may(names, &office, "_anything", context()), "no question that every object answers");
    assert!(!may(names, &tcp("10.1.66.1:4"), "resolve", context()), "the guests' network");
    assert!(may(names, &tcp("127.0.0.1:4"), "unbind", context()));
    assert!(!may(names, &tcp("192.0.2.1:4"), "resolve", context()));

    let feed = certified("192.0.2.1:4", "CN=feed,O=Example Bank", "feed.bank.example");
    let loud = certified("192.0.2.1:4", "CN=FEED,O=Example Bank", "Feed.Bank.Example");
    let desk = certified("192.0.2.2:4", "CN=d7,O=Example Bank", "d7.desks.bank.example");
    let channel = || Object("EventServer/prices", CHANNEL);
    assert!(may(desks, &feed, "for_suppliers", channel()));
    assert!(may(desks, &loud, "for_suppliers", channel()), "upper and lower case are the same");
    assert!(may(desks, &desk, "for_consumers", channel()));
    assert!(!may(desks, &desk, "for_suppliers", channel()));
    assert!(!may(desks, &feed, "destroy", channel()));
    assert!(!may(desks, &tcp("192.0.2.2:4"), "for_consumers", channel()), "no certificate");

    let any = || Object("anything", &[]);
    assert!(may(users, &unix(1000), "destroy", any()), "the server's own user");
    assert!(may(users, &unix(2001), "_get_state", any()));
    assert!(!may(users, &unix(2001), "destroy", any()));
    assert!(!may(users, &unix(3000), "_get_state", any()));
    assert!(!may(users, &tcp("127.0.0.1:4"), "_get_state", any()), "the user is not known");
}

#[test]
fn a_file_that_is_wrong_is_refused_with_its_line_and_what_to_write() {
    let cases: &[(&str, &[&str])] = &[
        ("[[allow]\n", &["access.toml line 1", "this is not TOML"]),
        ("\nallow = 3\n", &["line 2", "[[allow]]"]),
        ("[[alow]]\npeers = \"anyone\"\n", &["line 1", "`alow`", "[[allow]]"]),
        ("\n[[allow]]\noperations = \"x\"\n", &["line 2", "no peers", "\"anyone\""]),
        ("[[allow]]\npeers = \"desk\"\n", &["line 2", "there are anyone, loopback, own-user"]),
        ("[[allow]]\npeers = \"anyone\"\nops = \"x\"\n", &["line 3", "`ops`", "operations"]),
        ("[[allow]]\npeers = \"anyone\"\nobjects = []\n", &["line 3", "leave the line out"]),
        ("[[allow]]\npeers = \"anyone\"\nobjects = [1]\n", &["line 3", "quotation marks"]),
        ("[peers.a]\naddresses = \"10.0.0/8\"\n", &["line 2", "10.0.0/8", "10.0.0.0/8"]),
        ("[peers.a]\nuids = \"root\"\n", &["line 2", "numbers", "\"own\""]),
        ("[peers.a]\nuid = 5\n", &["line 2", "`uid`", "uids"]),
        ("[peers.a]\n", &["line 1", "says nothing"]),
        ("[peers.anyone]\nuids = 1\n", &["line 1", "known already"]),
        ("peers = 5\n", &["line 1", "[peers.NAME]"]),
        ("[peers.a]\naddresses = [5]\n", &["line 2", "quotation marks"]),
        ("[[allow]]\npeers = [[1]]\n", &["line 2", "`peers`", "a text"]),
        ("egress = 1\n", &["line 1", "[egress]"]),
        ("[egress]\notherwise = \"no\"\n", &["line 2", "\"careful\"", "\"refuse\""]),
        ("[egress]\nallows = 1\n", &["line 2", "`allows`", "[[egress.allow]]"]),
        ("[egress]\nallow = 1\n", &["line 2", "[[egress.allow]]"]),
        ("[[egress.allow]]\nsockets = \"*\"\n", &["line 1", "[[egress.allow]]", "no peers"]),
        ("[[egress.refuse]]\npeers = \"anyone\"\nports = 1\n", &["line 3", "quotation marks"]),
        (
            "[[egress.refuse]]\npeers = \"anyone\"\nhosts = \"a\"\n",
            &["line 3", "`hosts`", "sockets"],
        ),
        (
            "[[egress.allow]]\npeers = \"anyone\"\naddresses = \"me\"\n",
            &["line 3", "`me`", "loopback"],
        ),
    ];
    for (text, said) in cases {
        let exception = AccessRules::parse("access.toml", text).unwrap_err().to_string();
        assert!(said.iter().all(|part| exception.contains(part)), "{text}: {exception}");
    }
}

#[test]
fn the_example_of_egress_in_the_book_means_what_it_says() {
    let blocks = BOOK.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let text: Vec<&str> = blocks.filter(|block| block.contains("[egress]")).collect();
    let [text] = text[..] else { panic!("one example") };
    let file = AccessFile::parse("access.toml", text).unwrap();
    let rules = file.egress.unwrap();
    let reaches = |peer: &PeerIdentity, address: &str| {
        rules.for_peer(peer, 1000).permits_address(address.parse().unwrap())
    };
    let desk = tcp("10.1.2.3:4");
    assert!(reaches(&desk, "10.1.2.3"), "where it came from");
    assert!(!reaches(&desk, "10.1.2.4") && !reaches(&desk, "192.0.2.1"));
    assert!(reaches(&tcp("10.9.0.1:4"), "10.1.2.4"), "a gateway connects consumers of the office");
    assert!(!reaches(&tcp("10.9.0.1:4"), "10.1.0.1"), "but not the router");
    assert!(!reaches(&tcp("10.9.0.1:4"), "127.0.0.1"));
    assert!(rules.for_peer(&unix(1000), 1000).permits_socket("/run/desk/7"));
    assert!(!rules.for_peer(&unix(1000), 1000).permits_socket("/run/docker.sock"));
}
