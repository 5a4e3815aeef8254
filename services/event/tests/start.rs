//! A server that starts: who calls it meanwhile is not told that its objects do not exist.

use std::sync::atomic::{AtomicBool, Ordering};

use corbie::{Orb, SystemException, SystemExceptionKind};
use corbie_event::{EventServer, Limits};

fn serve(port: u16) -> Result<(Orb, EventServer), SystemException> {
    let endpoint = format!("iiop://127.0.0.1:{port}");
    let orb = Orb::init(["-ORBListenEndpoints", &endpoint])?;
    let server = EventServer::start(&orb, Limits::default())?;
    orb.root_poa()?.the_poa_manager().activate()?;
    Ok((orb, server))
}

#[test]
fn a_client_that_calls_while_the_server_starts_never_hears_that_there_is_no_factory() {
    let port = corbie_testkit::servers::free_port();
    let (orb, server) = serve(port).expect("it starts");
    let reference = server.factory().as_object().to_string();
    drop(server);
    orb.shutdown(true);
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let calls = threads.spawn(|| {
            let client = Orb::init(["-ORBCollocation", "none"]).expect("a client");
            let factory = client.string_to_object(&reference).expect("its reference");
            let (mut answered, mut denied) = (0, 0);
            while !has_ended.load(Ordering::Relaxed) {
                match factory.is_a("IDL:corbie/CorbieEvents/EventChannelFactory:1.0") {
                    Ok(_) => answered += 1,
                    Err(error) if error.kind == SystemExceptionKind::ObjectNotExist => denied += 1,
                    Err(_) => {}
                }
            }
            (answered, denied)
        });
        for _ in 0..20 {
            let (orb, server) = serve(port).expect("it starts again");
            // The server ends as a process does: its port first.
            orb.shutdown(true);
            drop(server);
        }
        has_ended.store(true, Ordering::Relaxed);
        let (answered, denied) = calls.join().expect("the client");
        assert_eq!(denied, 0, "{answered} calls were answered");
        assert!(answered > 0);
    });
}
