//! The evaluator against one that is as naive as the sentences of the book.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use corbie_access::{
    AccessRules, CalledObject, EgressRule, EgressRules, Otherwise, Pattern, Peers, Rule,
};
use corbie_transport::{PeerAddress, PeerCertificate, PeerIdentity, PeerProcess};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, TestRunner};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

const OWN: u32 = 1000;
const NETS: [&str; 4] = ["10.0.0.0/8", "10.1.0.0/16", "loopback", "2001:db8::/32"];
const ADDRESSES: [&str; 6] =
    ["10.1.2.3", "10.2.0.1", "127.0.0.1", "::ffff:10.1.9.9", "2001:db8::7", "192.0.2.1"];
const NAMES: [&str; 4] = ["CN=a,O=bank", "a.example", "b.example", "CN=b"];
const NAME_PATTERNS: [&str; 5] = ["*", "CN=*", "*.example", "b*e", "a.example"];
const OBJECTS: [&str; 4] = ["NameService", "desk/orders/1", "desk/orders/12", "x"];
const OBJECT_PATTERNS: [&str; 5] = ["NameService", "desk/*", "*/1", "*e*r*", "y"];
const INTERFACES: [&str; 3] = ["IDL:A:1.0", "IDL:B:1.0", "IDL:omg.org/C:1.0"];
const INTERFACE_PATTERNS: [&str; 3] = ["IDL:A:1.0", "IDL:*:1.0", "IDL:omg.org/*"];
const OPERATIONS: [&str; 6] = ["resolve", "rebind", "_is_a", "_get_x", "_set_x", "list"];
const OPERATION_PATTERNS: [&str; 5] = ["re*", "list", "_get_*", "_is_a", "*"];

/// Peers as plain lists; an empty one was left out.
#[derive(Clone, Debug)]
struct PlainPeers {
    nets: Vec<&'static str>,
    certificates: Vec<&'static str>,
    users: Vec<&'static str>,
    uids: Vec<u32>,
}

#[derive(Clone, Debug)]
struct PlainRule {
    allows: bool,
    peers: Vec<PlainPeers>,
    objects: Vec<&'static str>,
    interfaces: Vec<&'static str>,
    operations: Vec<&'static str>,
}

#[derive(Clone, Debug)]
struct Call {
    address: &'static str,
    uid: Option<u32>,
    subject: Option<&'static str>,
    names: Vec<&'static str>,
    user: Option<&'static str>,
    objects: Vec<&'static str>,
    interfaces: Option<Vec<&'static str>>,
    operation: &'static str,
}

impl CalledObject for Call {
    fn has_name(&self, pattern: &Pattern) -> bool {
        self.objects.iter().any(|name| pattern.matches(name.bytes()))
    }

    fn has_interface(&self, pattern: &Pattern) -> Option<bool> {
        let all = self.interfaces.as_ref()?;
        Some(all.iter().any(|id| pattern.matches(id.bytes())))
    }
}

/// Stars by trying everything.
fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', rest @ ..] => (0..=text.len()).any(|taken| is_like(rest, &text[taken..])),
        [first, rest @ ..] => text.first() == Some(first) && is_like(rest, &text[1..]),
    }
}

fn any_like(patterns: &[&str], texts: &[&str]) -> bool {
    let like = |p: &&str| texts.iter().any(|text| is_like(p.as_bytes(), text.as_bytes()));
    patterns.is_empty() || patterns.iter().any(like)
}

fn is_in(net: &str, address: IpAddr) -> bool {
    match (net, address.to_canonical()) {
        ("10.0.0.0/8", IpAddr::V4(a)) => a.octets()[0] == 10,
        ("10.1.0.0/16", IpAddr::V4(a)) => a.octets()[..2] == [10, 1],
        ("loopback", a) => a.is_loopback(),
        ("2001:db8::/32", IpAddr::V6(a)) => a.segments()[..2] == [0x2001, 0xdb8],
        _ => false,
    }
}

impl PlainPeers {
    fn include(&self, call: &Call) -> bool {
        let address = call.uid.is_none().then(|| call.address.parse().unwrap());
        let in_nets = self.nets.is_empty()
            || address.is_some_and(|address| self.nets.iter().any(|net| is_in(net, address)));
        let names: Vec<&str> = call.names.iter().copied().chain(call.subject).collect();
        let names = if call.subject.is_some() { names } else { Vec::new() };
        let user: Vec<&str> = call.user.into_iter().collect();
        let has_uid = self.uids.is_empty() || call.uid.is_some_and(|uid| self.uids.contains(&uid));
        in_nets && any_like(&self.certificates, &names) && any_like(&self.users, &user) && has_uid
    }
}

impl PlainRule {
    fn holds(&self, call: &Call) -> bool {
        let is_question = call.operation == "_is_a";
        let operation =
            (self.allows && is_question) || any_like(&self.operations, &[call.operation]);
        let interface = match &call.interfaces {
            _ if self.interfaces.is_empty() => true,
            Some(all) => any_like(&self.interfaces, all),
            None => !self.allows,
        };
        self.peers.iter().any(|peers| peers.include(call))
            && any_like(&self.objects, &call.objects)
            && interface
            && operation
    }
}

fn naive(rules: &[PlainRule], call: &Call) -> bool {
    rules.iter().any(|rule| rule.allows && rule.holds(call))
        && !rules.iter().any(|rule| !rule.allows && rule.holds(call))
}

fn built(rules: &[PlainRule]) -> AccessRules {
    rules.iter().fold(AccessRules::none(), |all, plain| {
        let peers = plain.peers.iter().map(|plain| {
            let peers = Peers::anyone();
            let peers = plain.nets.iter().fold(peers, |p, net| p.address(net.parse().unwrap()));
            let peers = plain.certificates.iter().fold(peers, |p, name| p.certificate(*name));
            let peers = plain.users.iter().fold(peers, |p, name| p.user(*name));
            plain.uids.iter().fold(peers, |p, uid| p.uid(*uid))
        });
        let rule = Rule::of(peers)
            .objects(plain.objects.clone())
            .interfaces(plain.interfaces.clone())
            .operations(plain.operations.clone());
        if plain.allows { all.allow(rule) } else { all.refuse(rule) }
    })
}

fn identity(call: &Call) -> PeerIdentity {
    let address = match call.uid {
        Some(user) => PeerAddress::Unix(PeerProcess { process: 7, user, group: 7 }),
        None => PeerAddress::Tcp(SocketAddr::new(call.address.parse().unwrap(), 4711)),
    };
    let certificate = call.subject.map(|subject| {
        let names = call.names.iter().map(|name| (*name).to_owned()).collect();
        Arc::new(PeerCertificate { subject: subject.to_owned(), names })
    });
    PeerIdentity { address, certificate, user: call.user.map(Arc::from) }
}

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![2 => Just(Vec::new()), 3 => subsequence(of, 0..=of.len())]
}

prop_compose! {
    fn peers()(
        nets in some(&NETS),
        certificates in some(&NAME_PATTERNS),
        users in some(&NAME_PATTERNS),
        uids in prop_oneof![3 => Just(vec![]), 1 => subsequence(vec![0, OWN, 1001], 1..=2)],
    ) -> PlainPeers {
        PlainPeers { nets, certificates, users, uids }
    }
}

prop_compose! {
    fn rule()(
        allows in prop_oneof![2 => Just(true), 1 => Just(false)],
        peers in prop::collection::vec(peers(), 1..3),
        objects in some(&OBJECT_PATTERNS),
        interfaces in some(&INTERFACE_PATTERNS),
        operations in some(&OPERATION_PATTERNS),
    ) -> PlainRule {
        PlainRule { allows, peers, objects, interfaces, operations }
    }
}

prop_compose! {
    fn call()(
        address in select(&ADDRESSES),
        uid in prop::option::of(select(vec![0, OWN, 1001])),
        subject in prop::option::of(select(&NAMES)),
        names in subsequence(NAMES.to_vec(), 0..=2),
        user in prop::option::of(select(&NAMES)),
        objects in subsequence(OBJECTS.to_vec(), 1..=2),
        interfaces in prop::option::of(subsequence(INTERFACES.to_vec(), 0..=2)),
        operation in select(&OPERATIONS),
    ) -> Call {
        Call { address, uid, subject, names, user, objects, interfaces, operation }
    }
}

#[test]
fn the_evaluator_says_what_the_naive_one_says() {
    let rules = prop::collection::vec(rule(), 0..6);
    let cases = (rules, prop::collection::vec(call(), 1..8));
    let mut runner = TestRunner::new(Config::with_cases(2_000));
    let outcome = runner.run(&cases, |(rules, calls)| {
        let all = built(&rules);
        for call in calls {
            let said = all.for_peer(&identity(&call), OWN).permit(call.operation, &call);
            prop_assert_eq!(said, naive(&rules, &call), "{:?}", call);
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn stars_stand_for_any_octets() {
    let mut runner = TestRunner::default();
    let outcome = runner.run(&("[ab*]{0,8}", "[ab]{0,10}"), |(pattern, text)| {
        let expected = is_like(pattern.as_bytes(), text.as_bytes());
        prop_assert_eq!(Pattern::new(&pattern).matches(text.bytes()), expected);
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn both_answers_are_tried() {
    let of = |peers| Rule::of([peers]);
    let peer = PeerIdentity::from(PeerAddress::Tcp("10.1.2.3:5".parse().unwrap()));
    let call = Call {
        address: "10.1.2.3",
        uid: None,
        subject: None,
        names: vec![],
        user: None,
        objects: vec!["x"],
        interfaces: None,
        operation: "list",
    };
    let permits = |rules: &AccessRules| rules.for_peer(&peer, OWN).permit(call.operation, &call);
    assert!(!permits(&AccessRules::none()));
    assert!(!permits(&AccessRules::local()), "it is of another machine");
    assert!(permits(&AccessRules::none().allow(of(Peers::anyone()))));
    let unknown = of(Peers::anyone()).interfaces(["IDL:A:1.0"]);
    assert!(!permits(&AccessRules::none().allow(unknown.clone())), "it may be of the interface");
    let all = AccessRules::none().allow(of(Peers::anyone()));
    assert!(!permits(&all.refuse(unknown)), "it may be of the interface that is refused");
}

const PLACES: [&str; 10] = [
    "10.1.2.3",
    "10.2.0.1",
    "127.0.0.1",
    "127.9.9.9",
    "::1",
    "::ffff:127.0.0.1",
    "0.0.0.0",
    "169.254.169.254",
    "fe80::1",
    "2001:db8::7",
];
const SOCKETS: [&str; 3] = ["/run/desk", "/run/docker.sock", "@desk"];
const SOCKET_PATTERNS: [&str; 3] = ["/run/*", "@desk", "*sock"];
const SCHEMES: [&str; 2] = ["fifo", "crc"];

#[derive(Clone, Debug)]
struct PlainEgress {
    allows: bool,
    nets: Vec<&'static str>,
    own: bool,
    sockets: Vec<&'static str>,
}

#[derive(Clone, Debug)]
enum Place {
    Address(&'static str),
    Socket(&'static str),
    Transport(&'static str),
}

#[derive(Clone, Debug)]
enum From {
    Address(&'static str),
    User(u32),
    Transport(&'static str),
}

impl PlainEgress {
    fn holds(&self, from: &From, to: &Place) -> bool {
        let says_nothing = self.nets.is_empty() && !self.own && self.sockets.is_empty();
        says_nothing
            || match (to, from) {
                (Place::Address(to), from) => {
                    let to = to.parse::<IpAddr>().unwrap().to_canonical();
                    let is_own = matches!(from, From::Address(a)
                        if a.parse::<IpAddr>().unwrap().to_canonical() == to);
                    (self.own && is_own) || self.nets.iter().any(|net| is_in(net, to))
                }
                (Place::Socket(name), _) => {
                    self.sockets.iter().any(|p| is_like(p.as_bytes(), name.as_bytes()))
                }
                (Place::Transport(_), _) => false,
            }
    }
}

/// The sentences of the book on what careful servers do.
fn carefully(from: &From, to: &Place) -> bool {
    const LOOPBACK: [&str; 5] = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0"];
    const LINK_LOCAL: [&str; 2] = ["169.254.169.254", "fe80::1"];
    match (to, from) {
        (Place::Address(to), From::Address(from)) if LOOPBACK.contains(to) => {
            LOOPBACK.contains(from)
        }
        (Place::Address(to), From::User(_)) if LOOPBACK.contains(to) => true,
        (Place::Address(to), From::Address(from)) if LINK_LOCAL.contains(to) => {
            LINK_LOCAL.contains(from)
        }
        (Place::Address(to), _) => !LOOPBACK.contains(to) && !LINK_LOCAL.contains(to),
        (Place::Socket(_), from) => matches!(from, From::User(OWN)),
        (Place::Transport(to), from) => matches!(from, From::Transport(scheme) if scheme == to),
    }
}

prop_compose! {
    fn egress_rule()(
        allows in prop_oneof![Just(true), Just(false)],
        nets in some(&NETS),
        own in prop_oneof![2 => Just(false), 1 => Just(true)],
        sockets in some(&SOCKET_PATTERNS),
    ) -> PlainEgress {
        PlainEgress { allows, nets, own, sockets }
    }
}

#[test]
fn where_handed_references_may_lead_is_what_the_naive_evaluator_says() {
    let otherwise = select(vec![Otherwise::Careful, Otherwise::Allow, Otherwise::Refuse]);
    let from = prop_oneof![
        select(&PLACES).prop_map(From::Address),
        select(vec![0, OWN, 1001]).prop_map(From::User),
        select(&SCHEMES).prop_map(From::Transport),
    ];
    let to = prop_oneof![
        select(&PLACES).prop_map(Place::Address),
        select(&SOCKETS).prop_map(Place::Socket),
        select(&SCHEMES).prop_map(Place::Transport),
    ];
    let rules = prop::collection::vec(egress_rule(), 0..4);
    let cases = (otherwise, rules, prop::collection::vec((from, to), 1..8));
    let mut runner = TestRunner::new(Config::with_cases(2_000));
    let outcome = runner.run(&cases, |(otherwise, rules, ways)| {
        let built = rules.iter().fold(EgressRules::otherwise(otherwise), |all, plain| {
            let rule = EgressRule::of([Peers::anyone()]);
            let rule = plain.nets.iter().fold(rule, |r, net| r.address(net.parse().unwrap()));
            let rule = plain.sockets.iter().fold(rule, |r, name| r.socket(*name));
            let rule = if plain.own { rule.own_address() } else { rule };
            if plain.allows { all.allow(rule) } else { all.refuse(rule) }
        });
        for (from, to) in ways {
            let address = match from {
                From::Address(from) => PeerAddress::Tcp(SocketAddr::new(from.parse().unwrap(), 7)),
                From::User(user) => PeerAddress::Unix(PeerProcess { process: 7, user, group: 7 }),
                From::Transport(scheme) => PeerAddress::Plugged(scheme, "there".into()),
            };
            let reach = built.for_peer(&address.into(), OWN);
            let said = match to {
                Place::Address(to) => reach.permits_address(to.parse().unwrap()),
                Place::Socket(to) => reach.permits_socket(to),
                Place::Transport(to) => reach.permits_transport(to),
            };
            let by_default = match otherwise {
                Otherwise::Careful => carefully(&from, &to),
                Otherwise::Allow => true,
                Otherwise::Refuse => false,
            };
            let any = |allows| rules.iter().any(|r| r.allows == allows && r.holds(&from, &to));
            prop_assert_eq!(said, (by_default || any(true)) && !any(false), "{:?} {:?}", from, to);
        }
        Ok(())
    });
    outcome.unwrap();
}
