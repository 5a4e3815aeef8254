//! Values that are cheap to send and dear to take: references with long keys and many addresses,
//! and unions with many cases. Each costs its receiver about what it cost to send.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;

use corbie::codegen::{Marshal, Operation};
use corbie::idl::Sequence;
use corbie::types::ior::{CsiSecMechList, TlsSecTrans};
use corbie::types::{Address, IiopProfile, TaggedComponent, TaggedProfile, UnionValue};
use corbie::{
    Any, Interface, Ior, Object, Orb, Servant, ServerRequest, SystemException, SystemExceptionKind,
    TypeCode, TypedServant, Value, Version, buffers, minor,
};
use corbie_testkit::{AllocationCounts, CountingAllocator};
use echo::{Echo, as_client, loopback_orb, serve};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Memory is counted for the process, so one test runs at a time.
static STAGE: Mutex<()> = Mutex::new(());

/// Keeps the references that it gets, and has a look at anys.
#[derive(Default)]
struct Keeper(Mutex<Vec<Object>>);

impl Servant for Keeper {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let mut d = request.arguments();
        match request.operation() {
            "keep" => {
                let object = Object::decode(&mut d)?.unwrap();
                self.0.lock().unwrap_or_else(PoisonError::into_inner).push(object.clone());
                let doubled = Echo(object).double(4)?;
                request.reply(&|e| i64::encode(&doubled, e))
            }
            "anys" => {
                let anys = Sequence::<Any>::decode(&mut d)?;
                let number = anys.len() as i64;
                request.reply(&|e| i64::encode(&number, e))
            }
            _ => Err(request.unknown_operation()),
        }
    }
}

impl TypedServant for Keeper {
    type Reference = Echo;
}

const KEEP: Operation = Operation::twoway("keep");
const ANYS: Operation = Operation::twoway("anys");

/// A server with a [`Keeper`], and its reference at a client.
fn keeper(more: &[&str]) -> (Orb, Echo) {
    let server = loopback_orb(more);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let reference = poa.activate(Keeper::default()).unwrap();
    (server, as_client(&loopback_orb(&[]), &reference))
}

fn keep(keeper: &Echo, object: &Object) -> Result<i64, SystemException> {
    let object = Some(object.clone());
    let mut reply = keeper.0.invoke(&KEEP, &|e| Object::encode(&object, e))?;
    reply.results_only(i64::decode)
}

/// A reference to the object that `echo` leads to, under the key `Echo` filled up to `key_octets`,
/// at so many addresses.
fn costly(echo: &Echo, key_octets: usize, addresses: usize) -> (Ior, usize) {
    let port = echo.0.ior().iiop_profiles().unwrap().remove(0).port;
    let key = [&b"Echo"[..], &vec![b'.'; key_octets - 4]].concat();
    let mut profile = IiopProfile::new(Version::V1_2, "127.0.0.1", port, key);
    for number in 1..addresses {
        let host = format!("127.0.{}.{}", number / 250, number % 250 + 1);
        let component = TaggedComponent::alternate_address(&Address::new(host, port));
        profile.components.push(component.unwrap());
    }
    let tagged = profile.to_tagged().unwrap();
    let octets = tagged.data.len();
    (Ior { type_id: Echo::REPOSITORY_ID.to_owned(), profiles: vec![tagged] }, octets)
}

/// How many octets are held beyond those of `before`, once they are at most so many. What the pools
/// keep for the next messages is no cost of a reference: threads give it back in their own time.
fn held_since(before: AllocationCounts, most: i64) -> i64 {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        buffers::trim();
        let held = CountingAllocator::of_all_threads().since(before).held_octets();
        if held <= most || Instant::now() >= deadline {
            return held;
        }
        // tidy: sleep: other threads trim their pools in their own time
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_reference_costs_four_times_its_octets_at_most() {
    let _alone = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let (target_orb, target, _noted) = serve(&[]);
    let (server, keeper) = keeper(&[]);
    let client = keeper.0.orb().clone();
    for (key_octets, addresses, is_taken) in [
        (60 << 10, 64, true),
        (60 << 10, 65, false),
        (1 << 10, 20_000, false),
        (64 << 10, 64, true),
        ((64 << 10) + 1, 1, false),
        (1 << 20, 1_000, false),
    ] {
        let case = format!("a key of {key_octets} octets and {addresses} addresses");
        let (ior, octets) = costly(&target, key_octets, addresses);
        let key = ior.iiop_profiles().unwrap().remove(0).object_key;
        target_orb.bind_object_key(&key, &target.0);
        let object = Object::new(&client, ior);
        let before = CountingAllocator::of_all_threads();
        let outcome = keep(&keeper, &object);
        let taken = CountingAllocator::of_all_threads().since(before).octets;
        match (is_taken, outcome) {
            (true, outcome) => assert_eq!(outcome.unwrap(), 8, "{case}"),
            (false, outcome) => {
                let exception = outcome.unwrap_err();
                assert_eq!(exception.minor, minor::IMP_LIMIT_REFERENCE, "{case}: {exception}");
            }
        }
        let most = 16 * octets as u64 + (2 << 20);
        assert!(taken <= most, "{case}: {taken} octets were taken");
        let held = held_since(before, 4 * octets as i64 + (1 << 20));
        assert!(held <= 4 * octets as i64 + (1 << 20), "{case}: {held} octets for {octets}");
    }
    server.shutdown(true);
    target_orb.shutdown(true);
}

/// What `corbie ping` does with a reference from elsewhere.
#[test]
fn a_client_refuses_a_reference_that_is_too_long_and_says_which_limit() {
    let _alone = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let (target_orb, target, _noted) = serve(&[]);
    let client = loopback_orb(&[]);
    for (key_octets, addresses, setting) in
        [(1 << 20, 20_000, "object_key_octets_max"), (100, 20_000, "reference_addresses_max")]
    {
        let (ior, octets) = costly(&target, key_octets, addresses);
        let object = client.string_to_object(&ior.to_string()).unwrap();
        let before = CountingAllocator::of_all_threads();
        let exception = object.non_existent().unwrap_err();
        let taken = CountingAllocator::of_all_threads().since(before).octets;
        assert_eq!(exception.kind, SystemExceptionKind::ImpLimit, "{exception}");
        assert!(exception.to_string().contains(setting), "{exception}");
        assert!(taken <= 4 * octets as u64, "{taken} octets were taken for {octets}");
    }
    // The limits are the operator's.
    let generous = loopback_orb(&["-ORBReferenceAddressesMax", "70"]);
    let (ior, _) = costly(&target, 4, 70);
    target_orb.bind_object_key("Echo", &target.0);
    assert_eq!(Echo(Object::new(&generous, ior)).double(1).unwrap(), 2);
    target_orb.shutdown(true);
}

/// The profile of the object that `echo` leads to, with so many addresses of TLS.
fn profile_with_tls_addresses(echo: &Echo, addresses: u16) -> TaggedProfile {
    let mut profile = echo.0.ior().iiop_profiles().unwrap().remove(0);
    let addresses = (1..=addresses).map(|port| Address::new("ab", port)).collect();
    let tls = TlsSecTrans { target_supports: 0, target_requires: 0, addresses };
    profile.components.push(CsiSecMechList::of_tls(&tls).unwrap().to_component().unwrap());
    profile.to_tagged().unwrap()
}

/// A GIOP 1.2 request for `_non_existent` whose target is a profile, little-endian.
fn request_to_profile(profile: &TaggedProfile) -> Vec<u8> {
    let mut body = vec![7, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0];
    let number = |octets: usize| u32::try_from(octets).unwrap().to_le_bytes();
    body.extend(profile.tag.to_le_bytes());
    body.extend(number(profile.data.len()));
    body.extend(&profile.data);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(number(14));
    body.extend(b"_non_existent\0");
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(number(0));
    let head = [b'G', b'I', b'O', b'P', 1, 2, 1, 0];
    head.into_iter().chain(number(body.len())).chain(body).collect()
}

/// Before access rules are asked, and in a client that is handed such a reference.
#[test]
fn addresses_of_tls_cost_no_more_than_their_octets() {
    let (target_orb, target, _noted) = serve(&[]);
    let profile = profile_with_tls_addresses(&target, u16::MAX);
    let begun = Instant::now();
    let address = target_orb.listen_addresses()[0];
    let mut peer = TcpStream::connect(address).unwrap();
    peer.write_all(&request_to_profile(&profile)).unwrap();
    let mut reply = [0; 25];
    peer.read_exact(&mut reply).unwrap();
    assert_eq!((&reply[..4], reply[7]), (&b"GIOP"[..], 1), "a reply");
    assert_eq!(reply[16..25], [0; 9], "NO_EXCEPTION, no contexts, and it exists");
    let ior = Ior { type_id: Echo::REPOSITORY_ID.to_owned(), profiles: vec![profile] };
    let refused = Object::new(&loopback_orb(&[]), ior).non_existent().unwrap_err();
    assert!(refused.to_string().contains("reference_addresses_max"), "{refused}");
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
    target_orb.shutdown(true);
}

/// A sequence of so many unions, each of the type's last case.
fn unions(cases: u32, elements: usize) -> Any {
    let case = |label| (Some(i128::from(label)), "m", TypeCode::OCTET);
    let cases: Vec<_> = (0..cases).map(case).collect();
    let of = TypeCode::union("IDL:Many:1.0", "Many", TypeCode::ULONG, &cases);
    let last = cases.len() as i128 - 1;
    let value = UnionValue { discriminator: last, member: Some(Value::Octet(7)) };
    let value = Value::List(vec![Value::Union(Box::new(value)); elements]);
    Any::from_dynamic(TypeCode::sequence(of, 0), &value).unwrap()
}

fn send_anys(keeper: &Echo, anys: &Vec<Any>) -> Result<i64, SystemException> {
    let mut reply = keeper.0.invoke(&ANYS, &|e| Sequence::<Any>::encode(anys, e))?;
    reply.results_only(i64::decode)
}

/// The least time of three calls with these anys.
fn time_of(keeper: &Echo, anys: &Vec<Any>) -> Duration {
    let once = || {
        let begin = Instant::now();
        assert_eq!(send_anys(keeper, anys).unwrap(), anys.len() as i64);
        begin.elapsed()
    };
    (0..3).map(|_| once()).min().unwrap()
}

#[test]
fn a_value_of_a_union_costs_the_same_whatever_cases_its_type_has() {
    let _alone = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    const ELEMENTS: usize = 20_000;
    let (server, keeper) = keeper(&[]);
    let few = time_of(&keeper, &vec![unions(3, ELEMENTS)]);
    let of_the_type = time_of(&keeper, &vec![unions(60_000, 1)]);
    let many = time_of(&keeper, &vec![unions(60_000, ELEMENTS)]);
    // Looking through all cases, a value would cost a thousand times as much.
    let most = of_the_type * 2 + few * 30;
    assert!(many < most, "{many:?} with 60,000 cases, {few:?} with 3; the type: {of_the_type:?}");
    server.shutdown(true);
}

#[test]
fn values_are_counted_for_the_message_not_for_each_any() {
    let _alone = STAGE.lock().unwrap_or_else(PoisonError::into_inner);
    let (server, keeper) = keeper(&["-ORBDynamicValuesMax", "1000"]);
    let anys = |number| vec![unions(3, 90); number];
    assert_eq!(send_anys(&keeper, &anys(5)).unwrap(), 5);
    let exception = send_anys(&keeper, &anys(12)).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ImpLimit, "{exception}");
    // An any of type null takes octets of its own: its TypeCode.
    assert_eq!(send_anys(&keeper, &vec![Any::default(); 999]).unwrap(), 999);
    server.shutdown(true);
}
