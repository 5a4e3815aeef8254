//! A server that starts: clients that call it meanwhile are not told that its objects do not exist.

use corbie::{Orb, SystemException};
use corbie_event::{ChannelQos, EventServer, Limits, Retention};

#[test]
fn a_client_that_calls_before_the_server_is_made_is_answered_when_it_is_ready() {
    let port = corbie_testkit::servers::free_port();
    let folder = corbie_testkit::servers::ScratchFolder::new("events-start");
    let start = |orb: &Orb| {
        let server = EventServer::start_with_store(orb, Limits::default(), folder.path())?;
        orb.root_poa()?.the_poa_manager().activate()?;
        Ok::<_, SystemException>(server)
    };
    let listening = || {
        let endpoint = format!("iiop://127.0.0.1:{port}");
        let orb = Orb::init(["-ORBListenEndpoints", &endpoint]).expect("an ORB");
        let manager = orb.root_poa().expect("it listens").the_poa_manager();
        (orb, manager)
    };
    let (orb, _) = listening();
    let server = start(&orb).expect("it starts");
    let channel = server.create("news", kept()).expect("a channel").as_object().to_string();
    let typed =
        server.create_typed("typed", kept(), []).expect("a channel").as_object().to_string();
    let references = [
        server.factory().as_object().to_string(),
        channel,
        typed,
        format!("corbaloc::127.0.0.1:{port}/EventChannelFactory"),
    ];
    drop(server);
    orb.shutdown(true);

    let (orb, manager) = listening();
    let client = Orb::init(["-ORBCollocation", "none"]).expect("a client");
    let server = std::thread::scope(|threads| {
        let calls = references.map(|reference| {
            let object = client.string_to_object(&reference).expect("a reference");
            threads.spawn(move || object.is_a("IDL:omg.org/CORBA/Object:1.0"))
        });
        while manager.requests_held() < 4 {
            assert!(calls.iter().all(|call| !call.is_finished()), "one was answered too soon");
            std::thread::yield_now();
        }
        let server = start(&orb).expect("it starts again");
        for call in calls {
            assert!(call.join().expect("the client").expect("it was answered"));
        }
        server
    });
    client.shutdown(true);
    orb.shutdown(true);
    drop(server);
}

fn kept() -> ChannelQos {
    ChannelQos { durable: Some(Retention::default()), ..ChannelQos::default() }
}
