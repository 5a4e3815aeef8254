//! A server that starts: clients that call it meanwhile are not told that its objects do not exist.

use corbie::Orb;
use corbie_naming::cos_naming::NamingContextExt;
use corbie_naming::store::embedded::Embedded;
use corbie_naming::{Limits, NamingServer, parse};
use corbie_testkit::servers::{ScratchFolder, free_port};
use std::sync::Arc;

#[test]
fn a_client_that_calls_before_the_server_is_made_is_answered_when_it_is_ready() {
    let (port, folder) = (free_port(), ScratchFolder::new("naming-start"));
    let listening = || {
        let endpoint = format!("iiop://127.0.0.1:{port}");
        let orb = Orb::init(["-ORBListenEndpoints", &endpoint]).expect("an ORB");
        let manager = orb.root_poa().expect("it listens").the_poa_manager();
        (orb, manager)
    };
    let start = |orb: &Orb| {
        let store = Embedded::open(folder.path().join("names")).expect("a store");
        NamingServer::start(orb, Arc::new(store), Limits::default()).expect("it starts")
    };
    let (orb, manager) = listening();
    let server = start(&orb);
    manager.activate().expect("active");
    let context = parse("context").expect("a name");
    let context = server.root().bind_new_context(&context).expect("made").expect("not nil");
    let references =
        [context.as_object().to_string(), format!("corbaloc::127.0.0.1:{port}/NameService")];
    drop(server);
    orb.shutdown(true);

    let (orb, manager) = listening();
    let client = Orb::init(["-ORBCollocation", "none"]).expect("a client");
    let server = std::thread::scope(|threads| {
        let calls = references.map(|reference| {
            let object = client.string_to_object(&reference).expect("a reference");
            threads.spawn(move || NamingContextExt::unchecked_narrow(object).new_context())
        });
        while manager.requests_held() < 2 {
            assert!(calls.iter().all(|call| !call.is_finished()), "one was answered too soon");
            std::thread::yield_now();
        }
        let server = start(&orb);
        manager.activate().expect("active");
        for call in calls {
            call.join().expect("the client").expect("it was answered");
        }
        server
    });
    client.shutdown(true);
    orb.shutdown(true);
    drop(server);
}
