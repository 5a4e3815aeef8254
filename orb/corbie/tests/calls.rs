//! Calls over real IIOP on loopback, with a stub and a skeleton written by hand: what generated
//! code does, without the generator.

use corbie::codegen::{Marshal, Operation};
use corbie::{
    IdAssignment, Interface, Lifespan, Object, ObjectId, Orb, PoaPolicies, Servant, ServerRequest,
    SystemException, SystemExceptionKind, TypedServant,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};

#[derive(Clone, Debug)]
struct Echo(Object);

impl Interface for Echo {
    const REPOSITORY_ID: &'static str = "IDL:Test/Echo:1.0";
    const BASES: &'static [&'static str] = &[];
    fn from_object(object: Object) -> Self {
        Echo(object)
    }
    fn as_object(&self) -> &Object {
        &self.0
    }
    fn into_object(self) -> Object {
        self.0
    }
}

impl Echo {
    fn double(&self, value: i64) -> Result<i64, SystemException> {
        const OPERATION: Operation = Operation::twoway("double");
        let mut reply = self.0.invoke(&OPERATION, &|e| i64::encode(&value, e))?;
        reply.results_only(i64::decode)
    }

    fn note(&self, value: i64) -> Result<(), SystemException> {
        const OPERATION: Operation = Operation::oneway("note");
        self.0.invoke_oneway(&OPERATION, &|e| i64::encode(&value, e))
    }

    fn fail(&self) -> Result<String, SystemException> {
        const OPERATION: Operation = Operation::twoway("fail");
        let mut reply = self.0.invoke(&OPERATION, &|_| Ok(()))?;
        Ok(reply.user_exception().unwrap_or("none").to_owned())
    }

    fn call_back(&self, other: &Echo, value: i64) -> Result<i64, SystemException> {
        const OPERATION: Operation = Operation::twoway("call_back");
        let other = Some(other.0.clone());
        let mut reply = self.0.invoke(&OPERATION, &|e| {
            Object::encode(&other, e)?;
            i64::encode(&value, e)
        })?;
        reply.results_only(i64::decode)
    }

    fn panic(&self) -> Result<(), SystemException> {
        const OPERATION: Operation = Operation::twoway("panic");
        self.0.invoke(&OPERATION, &|_| Ok(())).map(|_| ())
    }

    fn octets(&self, octets: &[u8]) -> Result<Vec<u8>, SystemException> {
        const OPERATION: Operation = Operation::twoway("octets");
        let mut reply = self.0.invoke(&OPERATION, &|e| e.write_octet_sequence(octets))?;
        reply.results_only(|d| Ok(d.read_octet_sequence()?.to_vec()))
    }
}

struct EchoServant {
    notes: mpsc::Sender<i64>,
    calls: AtomicU32,
}

impl Servant for EchoServant {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let mut d = request.arguments();
        match request.operation() {
            "double" => {
                let value = d.read_longlong()?.wrapping_mul(2);
                request.reply(&|e| i64::encode(&value, e))
            }
            "note" => {
                self.notes.send(d.read_longlong()?).unwrap();
                Ok(())
            }
            "fail" => request.reply_exception("IDL:Test/Failed:1.0", &|_| Ok(())),
            "call_back" => {
                let other = Echo(Object::decode(&mut d)?.unwrap());
                let value = d.read_longlong()?;
                let result = other.double(value)?;
                request.reply(&|e| i64::encode(&result, e))
            }
            "octets" => {
                let octets = d.read_octet_sequence()?.to_vec();
                request.reply(&|e| e.write_octet_sequence(&octets))
            }
            "panic" => panic!("as asked"),
            _ => Err(request.unknown_operation()),
        }
    }
}

impl TypedServant for EchoServant {
    type Reference = Echo;
}

fn loopback_orb(more: &[&str]) -> Orb {
    let mut arguments = vec!["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    arguments.extend(more);
    Orb::init(arguments).unwrap()
}

fn serve(more: &[&str]) -> (Orb, Echo, mpsc::Receiver<i64>) {
    let orb = loopback_orb(more);
    let (notes, noted) = mpsc::channel();
    let servant = EchoServant { notes, calls: AtomicU32::new(0) };
    let echo = orb.root_poa().unwrap().activate(servant).unwrap();
    (orb, echo, noted)
}

/// A client's own view of a reference: through the string, as another process gets it.
fn as_client(client: &Orb, echo: &Echo) -> Echo {
    let object = client.string_to_object(&echo.0.to_string()).unwrap();
    Echo::narrow(&object).unwrap().unwrap()
}

fn call_everything(more: &[&str]) {
    let (server, echo, noted) = serve(more);
    let client = loopback_orb(more);
    let echo = as_client(&client, &echo);
    for value in [0, 21, -1, i64::MAX] {
        assert_eq!(echo.double(value).unwrap(), value.wrapping_mul(2));
    }
    for value in 0..100 {
        echo.note(value).unwrap();
    }
    let noted: Vec<i64> = noted.iter().take(100).collect();
    assert_eq!(noted, (0..100).collect::<Vec<_>>(), "oneways keep their order");
    assert_eq!(echo.fail().unwrap(), "IDL:Test/Failed:1.0");
    let octets: Vec<u8> = (0..3_000_000u32).map(|i| i as u8).collect();
    assert!(echo.octets(&octets).unwrap() == octets);
    assert_eq!(echo.double(4).unwrap(), 8);
    assert!(echo.0.is_a("IDL:omg.org/CORBA/Object:1.0").unwrap());
    assert!(!echo.0.is_a("IDL:Test/Other:1.0").unwrap());
    assert!(!echo.0.non_existent().unwrap());
    assert_eq!(echo.0.repository_id().unwrap(), "IDL:Test/Echo:1.0");
    echo.0.locate().unwrap();
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn calls_with_a_thread_per_connection() {
    call_everything(&[]);
}

#[test]
fn calls_with_a_thread_pool() {
    call_everything(&["-ORBServerConcurrency", "thread-pool"]);
}

#[test]
fn calls_with_blocking_waits() {
    call_everything(&["-ORBWaitStrategy", "block", "-ORBServerWaitStrategy", "block"]);
}

#[test]
fn calls_with_spinning_waits() {
    call_everything(&["-ORBWaitStrategy", "spin", "-ORBServerWaitStrategy", "spin"]);
}

#[test]
fn calls_in_every_version_and_in_fragments() {
    for version in ["1.0", "1.1", "1.2"] {
        call_everything(&["-ORBGIOPVersion", version]);
    }
    call_everything(&["-ORBFragmentOctets", "1024"]);
}

#[test]
fn a_panicking_servant_fails_its_request_only() {
    let (server, echo, _noted) = serve(&[]);
    let exception = echo.panic().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Unknown);
    assert_eq!(echo.double(1).unwrap(), 2, "the server goes on");
    server.shutdown(true);
}

#[test]
fn a_servant_may_call_back_its_client_over_the_same_connection() {
    for concurrency in ["thread-per-connection", "thread-pool"] {
        let options = ["-ORBServerConcurrency", concurrency, "-ORBRequestTimeout", "20s"];
        let (server, echo, _noted) = serve(&options);
        // The middle object calls the server again, which is the nested call of `relief`.
        let client = loopback_orb(&options);
        let (notes, _) = mpsc::channel();
        let middle = EchoServant { notes, calls: AtomicU32::new(0) };
        let middle = client.root_poa().unwrap().activate(middle).unwrap();
        let echo = as_client(&client, &echo);
        for value in 0..50 {
            assert_eq!(echo.call_back(&middle, value).unwrap(), value * 2);
        }
        server.shutdown(true);
        client.shutdown(true);
    }
}

#[test]
fn many_threads_share_a_reference() {
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(&["-ORBConnectionsPerEndpoint", "3"]);
    let echo = as_client(&client, &echo);
    std::thread::scope(|scope| {
        for thread in 0..16i64 {
            let echo = &echo;
            scope.spawn(move || {
                for call in 0..200 {
                    let value = thread * 1_000 + call;
                    assert_eq!(echo.double(value).unwrap(), value * 2);
                }
            });
        }
    });
    server.shutdown(true);
}

#[test]
fn a_deactivated_object_is_gone_and_a_stale_key_finds_nobody() {
    let (server, echo, _noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    let id = poa.reference_to_id(&echo.0).unwrap();
    poa.deactivate_object(&id).unwrap();
    let (notes, _) = mpsc::channel();
    poa.activate(EchoServant { notes, calls: AtomicU32::new(0) }).unwrap();
    let exception = echo.double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist);
    assert!(echo.0.non_existent().unwrap());
    server.shutdown(true);
}

#[test]
fn forwarding_and_plain_keys_lead_to_the_object() {
    let (server, echo, _noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    let forward: Arc<dyn Servant> = Arc::new(corbie::ForwardServant::new(echo.0.clone()));
    let id = poa.activate_object(forward).unwrap();
    let moved = Echo(poa.id_to_reference(&id).unwrap());
    assert_eq!(moved.double(5).unwrap(), 10);
    assert_eq!(moved.double(6).unwrap(), 12);
    server.bind_object_key("Echo", &echo.0);
    let port = server.listen_addresses()[0].port();
    let client = loopback_orb(&["-ORBInitRef", &format!("E=corbaloc::1.2@127.0.0.1:{port}/Echo")]);
    let found = client.resolve_initial_references("E").unwrap();
    let found = Echo::narrow(&found).unwrap().unwrap();
    assert_eq!(found.double(7).unwrap(), 14);
    server.shutdown(true);
}

#[test]
fn a_client_reconnects_to_a_restarted_server() {
    let activate = |orb: &Orb| {
        let poa = orb.root_poa().unwrap();
        let policies = PoaPolicies {
            lifespan: Lifespan::Persistent,
            id_assignment: IdAssignment::UserId,
            ..PoaPolicies::default()
        };
        let child = poa.create_poa("persistent", policies).unwrap();
        let (notes, _) = mpsc::channel();
        let servant = EchoServant { notes, calls: AtomicU32::new(0) };
        child.activate_with_id(ObjectId::from("echo").as_octets(), servant).unwrap()
    };
    let first = loopback_orb(&[]);
    let port = first.listen_addresses().first().map(std::net::SocketAddr::port);
    assert_eq!(port, None, "nothing is listened on before there is a POA");
    let echo = activate(&first);
    let port = first.listen_addresses()[0].port();
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    assert_eq!(echo.double(1).unwrap(), 2);
    first.shutdown(true);
    let endpoint = format!("iiop://127.0.0.1:{port}");
    let second = Orb::init(["-ORBListenEndpoints", &endpoint]).unwrap();
    activate(&second);
    assert_eq!(echo.double(2).unwrap(), 4, "the same reference, after the restart");
    second.shutdown(true);
    let exception = echo.double(3).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Transient, "{exception}");
}

#[test]
fn a_late_reply_is_a_timeout_and_does_not_confuse_the_next_call() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = loopback_orb(&["-ORBRequestTimeout", "100ms"]);
    let url = format!("corbaloc::127.0.0.1:{port}/Nobody");
    let echo = Echo(client.string_to_object(&url).unwrap());
    let exception = echo.double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Timeout, "{exception}");
}
