//! Finding a servant allocates nothing, however the POA finds it (invariant 4 of
//! `ARCHITECTURE.md`). One test in a file of its own: it counts those of the whole process.

#![allow(clippy::unwrap_used)] // also in the functions that the test uses

mod echo;

use corbie::{
    IdAssignment, IdUniqueness, Lifespan, ObjectId, PoaPolicy, RequestProcessing, ServantDemux,
    ServantRetention, ThreadModel,
};
use corbie_testkit::CountingAllocator;
use echo::{Echo, EchoServant, as_client, loopback_orb};
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const CALLS: i64 = 2_000;

fn check(more: &[PoaPolicy]) {
    let server = loopback_orb(&[]);
    let root = server.root_poa().unwrap();
    let manager = root.the_poa_manager();
    manager.activate().unwrap();
    let policies = [&[IdAssignment::UserId.into()], more].concat();
    let poa = root.create_poa("poa", Some(&manager), &policies).unwrap();
    let id = ObjectId::from("echo");
    let servant = Arc::new(EchoServant::new().0);
    if poa.policies().request_processing == RequestProcessing::DefaultServant {
        poa.set_servant(servant).unwrap();
    } else {
        poa.activate_object_with_id(&id, servant).unwrap();
    }
    let echo = Echo(poa.create_reference_with_id(&id, "IDL:Test/Echo:1.0").unwrap());
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    let calls = || {
        for value in 0..CALLS {
            assert_eq!(echo.double(value).unwrap(), value * 2);
        }
    };
    let allocations = CountingAllocator::needed(CountingAllocator::of_all_threads, 0, calls);
    assert_eq!(allocations, 0, "in {CALLS} calls, {more:?}");
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn no_policy_makes_a_call_allocate() {
    check(&[]);
    check(&[Lifespan::Persistent.into()]);
    check(&[Lifespan::Persistent.into(), ServantDemux::DynamicHash.into()]);
    check(&[ThreadModel::SingleThread.into()]);
    let default = [RequestProcessing::DefaultServant.into(), IdUniqueness::MultipleId.into()];
    check(&default);
    check(&[&default[..], &[ServantRetention::NonRetain.into()]].concat());
}
