//! Access rules over real sockets: what they do not allow is refused before anything else sees it,
//! whatever kind of servant stands for the object; from a file and from code; for open connections.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;
#[path = "access/egress.rs"]
mod egress;
#[path = "access/users.rs"]
mod users;

use corbie::access::{AccessRules, Peers, Rule};
use corbie::codegen::Marshal as _;
use corbie::{
    CompletionStatus, Cookie, DynamicImplementation, DynamicServant, DynamicServerRequest,
    IdAssignment, Lifespan, NvList, Object, ObjectId, Operation, Orb, Poa, PoaPolicy,
    RequestProcessing, Servant, ServantLocator, ServantManager, ServantRefusal, ServantRetention,
    ServerRequest, SystemException, SystemExceptionKind, minor,
};
use corbie_testkit::CapturedLog;
use corbie_testkit::servers::ScratchFolder;
use echo::{Echo, EchoServant, as_client, loopback_orb, serve};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
/// An address that no peer of these tests has.
const ELSEWHERE: &str = "192.0.2.0/24";

fn elsewhere() -> Peers {
    Peers::anyone().address(ELSEWHERE.parse().unwrap())
}

fn anyone() -> Rule {
    Rule::of([Peers::anyone()])
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, SystemException>) {
    assert_refused_with(outcome, minor::NO_PERMISSION_ACCESS);
}

#[track_caller]
fn assert_refused_with<T: std::fmt::Debug>(
    outcome: Result<T, SystemException>,
    code: corbie::Minor,
) {
    let exception = outcome.unwrap_err();
    let found = (exception.minor, exception.completed);
    assert_eq!(found, (code, CompletionStatus::No), "{exception}");
}

#[test]
fn what_no_rule_allows_is_refused_and_the_log_says_which_peer_asked_for_what() {
    let log = CapturedLog::install();
    let (server, echo, noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    assert_eq!(echo.double(2).unwrap(), 4, "an ORB without rules is open");
    server.set_access(AccessRules::none().allow(anyone().operations(["double", "note"])));
    assert_eq!(echo.double(2).unwrap(), 4);
    assert_refused(echo.length("four"));
    echo.note(7).unwrap();
    assert_eq!(noted.recv_timeout(PATIENCE).unwrap(), 7);
    assert!(log.line_with(&["a call was refused", "127.0.0.1", "length"], PATIENCE).is_some());
    server.set_access(AccessRules::none().allow(Rule::of([elsewhere()])));
    assert_refused(echo.double(2));
    echo.note(8).unwrap();
    assert!(log.line_with(&["a call was refused", "note"], PATIENCE).is_some());
    server.set_access(AccessRules::local());
    assert_eq!(echo.double(3).unwrap(), 6, "the same connection, by the rules of now");
    assert!(noted.try_recv().is_err(), "the oneway that was refused never came");
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn names_of_objects_are_bound_names_poas_with_ids_and_keys() {
    let (server, echo, _noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    let policies = [PoaPolicy::from(Lifespan::Persistent), IdAssignment::UserId.into()];
    let desk = poa.create_poa("desk", Some(&poa.the_poa_manager()), &policies).unwrap();
    let order = desk.activate_with_id("order-7", EchoServant::new().0).unwrap();
    server.bind_object_key("TheEcho", &echo.0);
    let port = server.listen_addresses()[0].port();
    let client = loopback_orb(&[]);
    let by_name = client.string_to_object(&format!("corbaloc::127.0.0.1:{port}/TheEcho")).unwrap();
    let (by_name, order) = (Echo(by_name), as_client(&client, &order));
    let only = |name: &str| {
        server.set_access(AccessRules::none().allow(anyone().objects([name])));
        let may = |echo: &Echo| match echo.double(1) {
            Ok(_) => true,
            refused => {
                assert_refused(refused);
                false
            }
        };
        // The bound one anew each time, so that its name is what is sent.
        let again = client.string_to_object(&by_name.0.to_string()).unwrap();
        (may(&Echo(again)), may(&order))
    };
    assert_eq!(only("TheEcho"), (true, false), "by its name, and where that leads");
    assert_eq!(only("desk/order-7"), (false, true));
    assert_eq!(only("desk/*"), (false, true));
    assert_eq!(only("desk"), (false, false));
    assert_eq!(only("*"), (true, true));
    server.shutdown(true);
    client.shutdown(true);
}

/// The reference of an object by its key, as a peer may make one up.
fn by_key(client: &Orb, port: u16, key: &[u8]) -> Echo {
    let key: String = key.iter().map(|octet| format!("%{octet:02x}")).collect();
    Echo(client.string_to_object(&format!("corbaloc::127.0.0.1:{port}/{key}")).unwrap())
}

/// Panics when it is asked what it is.
struct Unsaid;

impl Servant for Unsaid {
    fn _interfaces(&self) -> &'static [&'static str] {
        panic!("it does not say")
    }

    fn _dispatch(&self, _: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        Ok(())
    }

    fn _keeps_order(&self) -> bool {
        false
    }
}

#[test]
fn a_servant_that_panics_when_rules_ask_it_is_not_called_and_ends_nothing() {
    let (server, echo, _noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    let id = poa.activate_object(Arc::new(Unsaid)).unwrap();
    let unsaid = poa.create_reference_with_id(&id, "IDL:Test/Unsaid:1.0").unwrap();
    let client = loopback_orb(&[]);
    let unsaid = Echo(client.string_to_object(&unsaid.to_string()).unwrap());
    let echo = as_client(&client, &echo);
    server.set_access(AccessRules::none().allow(anyone().interfaces(["IDL:Test/*"])));
    assert_refused(unsaid.double(1));
    let rules = AccessRules::none().allow(anyone());
    server.set_access(rules.refuse(anyone().interfaces(["IDL:Test/Unsaid:1.0"])));
    assert_refused(unsaid.double(1));
    assert_eq!(echo.double(1).unwrap(), 2);
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn a_made_up_key_leads_nowhere_but_where_its_name_says() {
    let (server, _echo, _noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    let policies = [PoaPolicy::from(Lifespan::Persistent), IdAssignment::UserId.into()];
    let made = ["public", "secret"].map(|name| {
        let poa = poa.create_poa(name, Some(&poa.the_poa_manager()), &policies).unwrap();
        poa.activate_with_id("one", EchoServant::new().0).unwrap()
    });
    poa.find_poa("public", false).unwrap().deactivate_object(&ObjectId::from("one")).unwrap();
    let port = server.listen_addresses()[0].port();
    let client = loopback_orb(&[]);
    let secret = made[1].0.object_key().unwrap();
    let at = secret.windows(6).position(|octets| octets == b"secret").unwrap();
    let (hint, names) = secret.split_at(at);
    // The hint leads to `secret`, the path says `public`.
    let forged = [hint, b"public", &names[6..]].concat();
    server.set_access(AccessRules::none().allow(anyone().objects(["public/*"])));
    assert_refused(by_key(&client, port, &secret).double(1));
    let exception = by_key(&client, port, &forged).double(1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist, "{exception}");
    // Octets of the hint are no name.
    let mut renamed = secret.clone();
    renamed[2..18].fill(b'x');
    assert_refused(by_key(&client, port, &renamed).double(1));
    server.set_access(AccessRules::none().allow(anyone().objects(["*xxxx*"])));
    assert_refused(by_key(&client, port, &renamed).double(1));
    server.set_access(AccessRules::none().allow(anyone().objects(["secret/*"])));
    assert_eq!(by_key(&client, port, &secret).double(1).unwrap(), 2);
    server.shutdown(true);
    client.shutdown(true);
}

/// Answers every operation, and counts what it is asked.
#[derive(Clone, Default)]
struct Dynamic(Arc<AtomicUsize>);

impl DynamicImplementation for Dynamic {
    fn invoke(&self, request: &mut DynamicServerRequest<'_, '_>) -> Result<(), SystemException> {
        self.0.fetch_add(1, Ordering::Relaxed);
        request.arguments(NvList::new())?;
        Ok(())
    }

    fn primary_interface(&self) -> &str {
        "IDL:Test/Dynamic:1.0"
    }
}

#[test]
fn interfaces_are_known_of_static_and_dynamic_servants() {
    let (server, echo, _noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    let counted = Dynamic::default();
    let dynamic = poa.activate(DynamicServant::new(counted.clone())).unwrap();
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    let dynamic = client.string_to_object(&dynamic.to_string()).unwrap();
    let call = |object: &Object| object.invoke(&Operation::twoway("anything"), &|_| Ok(()));
    server.set_access(AccessRules::none().allow(anyone().interfaces(["IDL:Test/Echo:1.0"])));
    assert_eq!(echo.double(2).unwrap(), 4);
    assert_refused(call(&dynamic).map(drop));
    assert_eq!(counted.0.load(Ordering::Relaxed), 0);
    server.set_access(AccessRules::none().allow(anyone().interfaces(["IDL:Test/D*"])));
    assert_refused(echo.double(2));
    call(&dynamic).map(drop).unwrap();
    assert_eq!(counted.0.load(Ordering::Relaxed), 1);
    server.shutdown(true);
    client.shutdown(true);
}

/// Makes a servant for each request, and counts them.
struct Locator(Arc<AtomicUsize>);

impl ServantLocator for Locator {
    fn preinvoke(
        &self,
        _id: &ObjectId,
        _poa: &Poa,
        _operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok((Arc::new(EchoServant::new().0), Box::new(())))
    }

    fn postinvoke(
        &self,
        _: &ObjectId,
        _: &Poa,
        _: &str,
        _: Cookie,
        _: &Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        Ok(())
    }
}

#[test]
fn no_servant_manager_hears_of_a_call_that_is_refused() {
    let (server, _echo, _noted) = serve(&[]);
    let poa = server.root_poa().unwrap();
    let policies = [
        PoaPolicy::from(RequestProcessing::ServantManager),
        ServantRetention::NonRetain.into(),
        IdAssignment::UserId.into(),
    ];
    let lazy = poa.create_poa("lazy", Some(&poa.the_poa_manager()), &policies).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let locator = Arc::new(Locator(Arc::clone(&asked)));
    lazy.set_servant_manager(ServantManager::Locator(locator)).unwrap();
    let object = lazy.create_reference_with_id(&ObjectId::new(b"a"), "IDL:Test/Echo:1.0").unwrap();
    let client = loopback_orb(&[]);
    let echo = Echo(client.string_to_object(&object.to_string()).unwrap());
    let of_interface = || anyone().interfaces(["IDL:Test/Echo:1.0"]);
    server.set_access(AccessRules::none().allow(of_interface()));
    assert_refused(echo.double(2));
    server.set_access(AccessRules::none().allow(anyone()).refuse(of_interface()));
    assert_refused(echo.double(2));
    assert_eq!(asked.load(Ordering::Relaxed), 0, "what it would make is not known");
    server.set_access(AccessRules::none().allow(anyone().objects(["lazy/a"])));
    assert_eq!(echo.double(2).unwrap(), 4);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn a_locate_request_learns_nothing_that_a_call_may_not() {
    let (server, echo, _noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    server.set_access(AccessRules::none().allow(anyone().operations(["double"])));
    echo.0.validate_connection().unwrap();
    server.set_access(AccessRules::none());
    assert_refused(echo.0.validate_connection());
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn users_are_told_apart_over_unix_domain_sockets() {
    let (server, echo) = {
        let server = Orb::init(["-ORBListenEndpoints", "uiop://"]).unwrap();
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(EchoServant::new().0).unwrap();
        (server, echo)
    };
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    let of = |peers| AccessRules::none().allow(Rule::of([peers]));
    server.set_access(of(Peers::own_user()));
    assert_eq!(echo.double(2).unwrap(), 4);
    server.set_access(of(Peers::loopback()));
    assert_refused(echo.double(2));
    server.set_access(of(Peers::anyone().uid(u32::MAX - 1)));
    assert_refused(echo.double(2));
    server.set_access(of(Peers::anyone().certificate("*")));
    assert_refused(echo.double(2));
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn the_file_is_read_at_the_start_and_again_when_asked() {
    let folder = ScratchFolder::new("access-file");
    let path = folder.path().join("access.toml");
    let path = path.to_str().unwrap();
    let write = |operations: &str| {
        let text = format!("[[allow]]\npeers = \"loopback\"\noperations = {operations}\n");
        std::fs::write(path, text).unwrap();
    };
    write("\"double\"");
    let (server, echo, _noted) = serve(&["-ORBAccessFile", path]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo);
    assert_eq!(echo.double(2).unwrap(), 4);
    assert_refused(echo.length("four"));
    write("\"length\"");
    assert_refused(echo.length("four"));
    assert!(server.reload_access().unwrap());
    assert_eq!(echo.length("four").unwrap(), 4);
    assert_refused(echo.double(2));
    write("[double");
    let wrong = server.reload_access().unwrap_err().to_string();
    assert!(wrong.contains(path) && wrong.contains("line 3"), "{wrong}");
    assert_eq!(echo.length("four").unwrap(), 4, "the rules are as they were");
    assert!(!client.reload_access().unwrap(), "it has no file");
    server.shutdown(true);
    client.shutdown(true);
    let missing = Orb::init(["-ORBAccessFile", "/nowhere/access.toml"]).unwrap_err().to_string();
    assert!(missing.contains("/nowhere/access.toml"), "{missing}");
}

#[test]
fn older_versions_of_giop_are_refused_as_well() {
    let (server, echo, _noted) = serve(&["-ORBGIOPVersion", "1.0"]);
    server.set_access(AccessRules::none().allow(Rule::of([elsewhere()])));
    let client = loopback_orb(&[]);
    assert_refused(Echo(client.string_to_object(&echo.0.to_string()).unwrap()).double(2));
    server.shutdown(true);
    client.shutdown(true);
}

/// Takes its answers out of the upcall, and gives them on another thread.
struct Later(Arc<AtomicUsize>);

impl Servant for Later {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Later:1.0"]
    }

    fn _dispatch(&self, request: &mut corbie::ServerRequest<'_>) -> Result<(), SystemException> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let response = request.defer();
        std::thread::spawn(move || response.reply(&|e| i64::encode(&7, e)));
        Ok(())
    }
}

impl corbie::TypedServant for Later {
    type Reference = Object;
}

#[test]
fn deferred_asynchronous_and_collocated_calls() {
    let (server, echo) = egress::listening("iiop://127.0.0.1:0");
    let upcalls = Arc::new(AtomicUsize::new(0));
    let later = server.root_poa().unwrap().activate(Later(Arc::clone(&upcalls))).unwrap();
    let client = loopback_orb(&["-ORBCollocation", "none"]);
    // What its peer answers is no call of the client's objects.
    client.set_access(AccessRules::none());
    let there = client.string_to_object(&later.to_string()).unwrap();
    let ask = |operation: &'static str| {
        let (tell, told) = std::sync::mpsc::channel();
        let sink = corbie::ReplySink::function(move |reply| {
            tell.send(reply.and_then(|mut reply| reply.results_only(i64::decode))).unwrap();
        });
        there.invoke_async(&Operation::twoway(operation), &|_| Ok(()), sink).unwrap();
        told.recv_timeout(PATIENCE).unwrap()
    };
    server.set_access(AccessRules::none().allow(anyone().operations(["ask"])));
    assert_eq!(ask("ask").unwrap(), 7, "a servant that answers later, an asynchronous call");
    assert_refused(ask("tell"));
    let call = |operation| there.invoke(&Operation::twoway(operation), &|_| Ok(())).map(drop);
    call("ask").unwrap();
    assert_refused(call("tell"));
    assert_eq!(upcalls.load(Ordering::Relaxed), 2, "what is refused is not deferred either");
    server.set_access(AccessRules::none());
    assert_eq!(echo.double(2).unwrap(), 4, "calls of the process are the application's own");
    server.shutdown(true);
    client.shutdown(true);
}
