//! Where a server connects on behalf of references that it was handed: as arguments, in answers of
//! such objects, and where their servers send on; addresses, names and sockets; over connections of
//! each kind.

use super::echo::{Echo, EchoServant, as_client, loopback_orb, serve};
use super::{PATIENCE, assert_refused_with};
use corbie::access::{EgressRule, EgressRules, Otherwise, Peers};
use corbie::codegen::Marshal as _;
use corbie::types::{Ior, TaggedProfile};
use corbie::{Object, Operation, Orb, Servant, ServerRequest, SystemException, TypedServant};
use corbie::{ReplySink, minor};
use corbie_testkit::CapturedLog;
use std::net::TcpListener;

const GIVE: Operation = Operation::twoway("give");

fn anyone() -> EgressRule {
    EgressRule::of([Peers::anyone()])
}

fn refusing(address: &str) -> EgressRules {
    EgressRules::otherwise(Otherwise::Allow).refuse(anyone().address(address.parse().unwrap()))
}

#[track_caller]
fn assert_not_permitted<T: std::fmt::Debug>(outcome: Result<T, SystemException>) {
    assert_refused_with(outcome, minor::NO_PERMISSION_EGRESS);
}

/// An ORB with an echo that listens at `endpoint`.
pub(super) fn listening(endpoint: &str) -> (Orb, Echo) {
    let orb = Orb::init(["-ORBListenEndpoints", endpoint]).unwrap();
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    (orb, echo)
}

/// `echo` of a server, and a client that does not call past its connection.
fn called(server_arguments: &[&str]) -> (Orb, Echo, Orb) {
    let (server, echo, _) = serve(server_arguments);
    let client = loopback_orb(&["-ORBCollocation", "none"]);
    let echo = as_client(&client, &echo);
    (server, echo, client)
}

const APART: [&str; 2] = ["-ORBCollocation", "none"];

#[test]
fn careful_servers_connect_to_loopback_for_peers_on_it_and_to_no_socket() {
    let log = CapturedLog::install();
    let (server, echo, client) = called(&APART);
    let (there, at_address) = listening("iiop://127.0.0.1:0");
    let (elsewhere, at_socket) = listening("uiop://");
    assert_eq!(echo.call_back(&at_socket, 2).unwrap(), 4, "an ORB without rules connects anywhere");
    server.set_egress(EgressRules::careful());
    assert_eq!(echo.call_back(&at_address, 3).unwrap(), 6, "the peer came from loopback itself");
    assert_not_permitted(echo.call_back(&at_socket, 4));
    let parts = ["is not called", "127.0.0.1", "unix ", "IDL:Test/Echo:1.0"];
    assert!(log.line_with(&parts, PATIENCE).is_some());
    server.set_egress(EgressRules::careful().allow(anyone().socket("*")));
    assert_eq!(echo.call_back(&at_socket, 5).unwrap(), 10, "a reference that comes anew");
    [server, client, there, elsewhere].iter().for_each(|orb| orb.shutdown(true));
}

#[test]
fn peers_over_a_unix_domain_socket_may_hand_over_such_sockets() {
    let (server, echo) = {
        let arguments = ["-ORBListenEndpoints", "uiop://", APART[0], APART[1]];
        let server = Orb::init(arguments).unwrap();
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(EchoServant::new().0).unwrap();
        (server, echo)
    };
    server.set_egress(EgressRules::careful());
    let client = loopback_orb(&APART);
    let echo = as_client(&client, &echo);
    let (there, at_address) = listening("iiop://127.0.0.1:0");
    let (elsewhere, at_socket) = listening("uiop://");
    assert_eq!(echo.call_back(&at_address, 3).unwrap(), 6, "it is of this machine");
    assert_eq!(echo.call_back(&at_socket, 4).unwrap(), 8, "it is of the server's user");
    [server, client, there, elsewhere].iter().for_each(|orb| orb.shutdown(true));
}

#[test]
fn no_connection_is_opened_where_a_rule_refuses_whatever_name_leads_there() {
    let log = CapturedLog::install();
    let (server, echo, client) = called(&APART);
    server.set_egress(refusing("loopback"));
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let port = trap.local_addr().unwrap().port();
    // A name, ways of writing an address that resolvers take for one, and an address.
    for host in ["localhost", "127.1", "0x7f000001", "127.0.0.1", "[::ffff:127.0.0.1]"] {
        let text = format!("corbaloc:iiop:1.2@{host}:{port}/Secret");
        let handed = Echo(client.string_to_object(&text).unwrap());
        assert_not_permitted(echo.call_back(&handed, 1));
        assert!(log.line_with(&["is not called", host, "127.0.0.1"], PATIENCE).is_some(), "{host}");
        assert!(trap.accept().is_err(), "{host}: the server has connected");
    }
    server.set_egress(refusing("10.0.0.0/8"));
    let (there, at_address) = listening("iiop://127.0.0.1:0");
    there.bind_object_key("Echo", &at_address.0);
    let port = there.listen_addresses()[0].port();
    let named = format!("corbaloc:iiop:1.2@localhost:{port}/Echo");
    let named = Echo(client.string_to_object(&named).unwrap());
    assert_eq!(echo.call_back(&named, 2).unwrap(), 4, "where it may, a name is as good");
    [server, client, there].iter().for_each(|orb| orb.shutdown(true));
}

#[test]
fn a_forward_does_not_lead_where_a_rule_refuses() {
    let log = CapturedLog::install();
    let (server, echo, client) = called(&APART);
    let (away, at_other_address) = listening("iiop://127.0.0.2:0");
    let (there, _) = listening("iiop://127.0.0.1:0");
    // By this name a client is sent on.
    there.bind_object_key("Away", &Object::new(&there, at_other_address.0.ior().clone()));
    let port = there.listen_addresses()[0].port();
    let handed = format!("corbaloc::127.0.0.1:{port}/Away");
    let handed = Echo(client.string_to_object(&handed).unwrap());
    assert_eq!(echo.call_back(&handed, 2).unwrap(), 4);
    server.set_egress(refusing("127.0.0.2"));
    assert_not_permitted(echo.call_back(&handed, 2));
    assert!(log.line_with(&["is not called", "127.0.0.2"], PATIENCE).is_some());
    [server, client, there, away].iter().for_each(|orb| orb.shutdown(true));
}

/// Gives a reference; asked for `again`, calls what the object that it is handed gives, at once or
/// asynchronously.
struct Giver(Option<Object>);

impl Servant for Giver {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Giver:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        if request.operation() == GIVE.name() {
            return request.reply(&|e| Object::encode(&self.0, e));
        }
        let giver = Object::decode(&mut request.arguments())?.unwrap();
        let given = match request.operation() {
            "again" => giver.invoke(&GIVE, &|_| Ok(()))?.results_only(Object::decode)?,
            "later" => {
                let (tell, told) = std::sync::mpsc::channel();
                let sink = ReplySink::function(move |reply| {
                    let given = reply.and_then(|mut reply| reply.results_only(Object::decode));
                    tell.send(given).unwrap();
                });
                giver.invoke_async(&GIVE, &|_| Ok(()), sink)?;
                told.recv_timeout(PATIENCE).unwrap()?
            }
            _ => {
                let ior = Ior::decode(&mut request.arguments())?;
                Some(request.reference(ior).related(self.0.as_ref().unwrap().ior().clone()))
            }
        };
        let doubled = Echo(given.unwrap()).double(2)?;
        request.reply(&|e| i64::encode(&doubled, e))
    }
}

impl TypedServant for Giver {
    type Reference = Object;
}

#[test]
fn what_a_handed_object_answers_is_handed_by_the_same_peer() {
    let (there, at_other_address) = listening("iiop://127.0.0.2:0");
    let (server, _, _) = serve(&APART);
    let gives = |orb: &Orb| {
        let given = Object::new(orb, at_other_address.0.ior().clone());
        orb.root_poa().unwrap().activate(Giver(Some(given))).unwrap()
    };
    let asked = gives(&server);
    let client = loopback_orb(&APART);
    client.root_poa().unwrap().the_poa_manager().activate().unwrap();
    let handed = Some(gives(&client));
    let asked = client.string_to_object(&asked.to_string()).unwrap();
    let call = |operation: &'static str| {
        let operation = Operation::twoway(operation);
        asked.invoke(&operation, &|e| Object::encode(&handed, e))?.results_only(i64::decode)
    };
    for operation in ["again", "later", "related"] {
        server.set_egress(EgressRules::otherwise(Otherwise::Allow));
        assert_eq!(call(operation).unwrap(), 4);
        server.set_egress(refusing("127.0.0.2"));
        assert_not_permitted(call(operation));
    }
    [server, client, there].iter().for_each(|orb| orb.shutdown(true));
}

#[test]
fn references_in_stores_keep_their_giver_and_those_of_the_application_are_its_own() {
    let orb = loopback_orb(&[]);
    let text = "corbaloc::127.0.0.1:1/x";
    let before = orb.string_to_object(text).unwrap();
    assert_eq!(before.kept_ior(), *before.ior(), "without rules there is no note");
    let mut noted = before.ior().clone();
    // TAG CORBIE_GIVER.
    let (tag, data) = (0x4342_0005, b"own".to_vec());
    noted.profiles.push(TaggedProfile { tag, data });
    let noted = Object::new(&orb, noted).kept_ior();
    assert_eq!(noted, *before.ior(), "a note that the peer wrote is none");
    orb.set_egress(EgressRules::careful());
    let own = orb.string_to_object(text).unwrap();
    assert_ne!(own.kept_ior(), *own.ior());
    let kept = Object::kept(&orb, own.kept_ior());
    assert_eq!(kept.ior(), own.ior());
    kept.check_egress().unwrap();
    assert_not_permitted(Object::kept(&orb, before.ior().clone()).check_egress());
    orb.shutdown(true);
}

#[test]
fn the_access_file_has_rules_of_egress() {
    let folder = corbie_testkit::servers::ScratchFolder::new("egress-file");
    let path = folder.path().join("access.toml");
    let write = |egress: &str| {
        let text = format!("[[allow]]\npeers = \"loopback\"\n{egress}");
        std::fs::write(&path, text).unwrap();
    };
    write("");
    let arguments = [APART[0], APART[1], "-ORBAccessFile", path.to_str().unwrap()];
    let (server, echo, client) = called(&arguments);
    let (there, other) = listening("iiop://127.0.0.1:0");
    assert!(!server.has_egress_rules());
    assert_eq!(echo.call_back(&other, 2).unwrap(), 4);
    write("[egress]\notherwise = \"refuse\"\n");
    assert!(server.reload_access().unwrap() && server.has_egress_rules());
    assert_not_permitted(echo.call_back(&other, 2));
    write(
        "[egress]\notherwise = \"refuse\"\n[[egress.allow]]\npeers = \"anyone\"\naddresses = \"own\"\n",
    );
    server.reload_access().unwrap();
    assert_eq!(echo.call_back(&other, 3).unwrap(), 6, "the address that the peer came from");
    [server, client, there].iter().for_each(|orb| orb.shutdown(true));
}
