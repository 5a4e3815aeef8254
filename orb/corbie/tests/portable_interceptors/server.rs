//! Server request interceptors: which points each kind of request passes, on whichever thread it is
//! answered, and what becomes of it when one of them raises something.

use super::client::Watched;
use super::echo::{Echo, STRATEGIES, lend_a_thread, loopback_orb};
use corbie::policy::{Policy, SetOverrideType, SyncScope};
use corbie::portable_interceptor::{
    ForwardRequest, Interceptor, Interruption, OrbInitError, OrbInitInfo, OrbInitializer,
    PiCurrent, ReplyStatus, ServerRequestInfo, ServerRequestInterceptor, ServiceContext, SlotId,
};
use corbie::{
    Any, CompletionStatus, Interface as _, Minor, Object, Operation, Orb, ResponseHandler, Servant,
    ServerRequest, SystemException, TypedServant, View, minor,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
/// The context that clients of these tests send.
const TEST: u32 = 0x7e57;
/// The context that servers of these tests send back.
const BACK: u32 = 0x7e58;

#[derive(Clone)]
enum Raise {
    System,
    Forward(Object),
}

type Script = Arc<Mutex<VecDeque<(&'static str, Raise)>>>;

struct Witness {
    name: &'static str,
    seen: mpsc::Sender<String>,
    script: Script,
    slot: SlotId,
}

fn forbidden() -> SystemException {
    SystemException::no_permission(Minor::of::<7>(), CompletionStatus::No)
}

impl Witness {
    fn note(&self, point: &str, info: &ServerRequestInfo<'_>) -> Result<(), Interruption> {
        check_validity(info, point);
        let status = info.reply_status().map_or(String::new(), |status| format!(" {status:?}"));
        let id = info.sending_exception_id().map_or(String::new(), |id| format!(" {id}"));
        let _ = self.seen.send(format!("{} {point} {}{status}{id}", self.name, info.operation()));
        let at = format!("{} {point}", self.name);
        let raise = self.script.lock().unwrap().pop_front_if(|(wanted, _)| *wanted == at);
        match raise {
            None => Ok(()),
            Some((_, Raise::System)) => Err(forbidden().into()),
            Some((_, Raise::Forward(forward))) => Err(ForwardRequest { forward }.into()),
        }
    }
}

/// CORBA 3.3 P1 Table 16.2.
fn check_validity(info: &ServerRequestInfo<'_>, point: &str) {
    let is_over = point.starts_with("send_");
    let has_target = point != "receive_contexts";
    let is_upcall = point == "receive_request";
    let minor = |result: Result<(), SystemException>| result.map_err(|e| e.minor).unwrap_err();
    for (found, is_valid) in [
        (info.arguments().map(drop), is_upcall || point == "send_reply"),
        (info.exceptions().map(drop), has_target),
        (info.contexts().map(drop), has_target),
        (info.operation_context().map(drop), is_upcall || point == "send_reply"),
        (info.result().map(drop), point == "send_reply"),
    ] {
        let expected = match is_valid {
            true => minor::NO_RESOURCES_INTERCEPTOR,
            false => minor::BAD_INV_ORDER_INTERCEPTOR_CALL,
        };
        assert_eq!(minor(found), expected, "{point}");
    }
    let is_forward = info.reply_status() == Ok(ReplyStatus::LocationForward);
    for (name, found, is_valid) in [
        ("reply_status", info.reply_status().map(drop), is_over),
        ("forward_reference", info.forward_reference().map(drop), is_forward),
        ("sending_exception", info.sending_exception().map(drop), point == "send_exception"),
        ("object_id", info.object_id().map(drop), has_target),
        ("adapter_id", info.adapter_id().map(drop), has_target),
        ("adapter_name", info.adapter_name().map(drop), has_target),
        ("server_id", info.server_id().map(drop), has_target),
        ("orb_id", info.orb_id().map(drop), has_target),
        ("most derived", info.target_most_derived_interface().map(drop), is_upcall),
        ("is_a", info.target_is_a("IDL:Test/Echo:1.0").map(drop), is_upcall),
    ] {
        assert_eq!(found.is_ok(), is_valid, "{name} in {point}: {found:?}");
        assert!(is_valid || minor(found) == minor::BAD_INV_ORDER_INTERCEPTOR_CALL);
    }
    if is_upcall {
        assert_eq!(info.target_is_a("IDL:Test/Echo:1.0"), Ok(true));
        assert_eq!(info.adapter_name().unwrap(), ["RootPOA"]);
        assert!(!info.object_id().unwrap().is_empty());
    }
    let absent = info.get_request_service_context(0xbad).unwrap_err().minor;
    assert_eq!(absent, minor::BAD_PARAM_SERVICE_CONTEXT_ID);
    assert!(info.get_slot(99).is_err() && info.set_slot(99, Any::default()).is_err());
}

fn only_system(noted: Result<(), Interruption>) -> Result<(), SystemException> {
    noted.map_err(|interruption| match interruption {
        Interruption::System(exception) => exception,
        Interruption::Forward(_) => unreachable!("the script forwards where that may be"),
    })
}

impl Interceptor for Witness {
    fn name(&self) -> &str {
        self.name
    }
}

impl ServerRequestInterceptor for Witness {
    fn receive_request_service_contexts(
        &self,
        info: &ServerRequestInfo<'_>,
    ) -> Result<(), Interruption> {
        if let Ok(context) = info.get_request_service_context(TEST) {
            let came = String::from_utf8(context.data).unwrap();
            info.set_slot(self.slot, Any::string(&came)?).unwrap();
        }
        self.note("receive_contexts", info)
    }

    fn receive_request(&self, info: &ServerRequestInfo<'_>) -> Result<(), Interruption> {
        self.note("receive_request", info)
    }

    fn send_reply(&self, info: &ServerRequestInfo<'_>) -> Result<(), SystemException> {
        let came = info.get_slot(self.slot).unwrap().extract::<String>().unwrap_or_default();
        let back = format!("{}{came}", self.name);
        info.add_reply_service_context(ServiceContext::new(BACK, back), true)?;
        let twice = info.add_reply_service_context(ServiceContext::new(BACK, [0]), false);
        assert_eq!(twice.unwrap_err().minor, minor::BAD_INV_ORDER_SERVICE_CONTEXT_EXISTS);
        only_system(self.note("send_reply", info))
    }

    fn send_exception(&self, info: &ServerRequestInfo<'_>) -> Result<(), Interruption> {
        self.note("send_exception", info)
    }

    fn send_other(&self, info: &ServerRequestInfo<'_>) -> Result<(), Interruption> {
        self.note("send_other", info)
    }
}

struct Registers {
    seen: mpsc::Sender<String>,
    script: Script,
    slot: OnceLock<SlotId>,
}

impl OrbInitializer for Registers {
    fn pre_init(&self, info: &mut OrbInitInfo<'_>) -> Result<(), OrbInitError> {
        let slot = *self.slot.get_or_init(|| info.allocate_slot_id());
        for name in ["a", "b"] {
            let (seen, script) = (self.seen.clone(), Arc::clone(&self.script));
            let witness = Arc::new(Witness { name, seen, script, slot });
            info.add_server_request_interceptor(witness)?;
        }
        Ok(())
    }
}

/// Answers in all ways; `slot` with what PICurrent has in its thread.
struct Answers {
    current: PiCurrent,
    slot: SlotId,
    deferred: Mutex<mpsc::Sender<ResponseHandler>>,
    elsewhere: Option<Object>,
}

impl Servant for Answers {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        match (request.operation(), &self.elsewhere) {
            ("forwarded", Some(elsewhere)) => request.forward(elsewhere),
            ("slot", _) => {
                let slot = self.current.get_slot(self.slot).unwrap();
                let text = slot.extract::<String>().unwrap_or_default();
                request.reply(&|e| e.write_string(&text))
            }
            ("fail", _) => request.reply_exception("IDL:Test/Failed:1.0", &|_| Ok(())),
            ("later", _) => {
                self.deferred.lock().unwrap().send(request.defer()).unwrap();
                Ok(())
            }
            ("note" | "forwarded", _) => request.reply(&|_| Ok(())),
            _ => Err(request.unknown_operation()),
        }
    }

    fn _view<'a>(&'a self, view: &mut View<'a>) {
        view.offer::<Answers>(self);
    }
}

impl TypedServant for Answers {
    type Reference = Echo;
}

struct Server {
    orb: Orb,
    seen: mpsc::Receiver<String>,
    script: Script,
    deferred: mpsc::Receiver<ResponseHandler>,
    echo: Echo,
    other: Echo,
}

impl Server {
    fn new(more: &[&str]) -> Self {
        let (sees, seen) = mpsc::channel();
        let (script, slot) = (Script::default(), OnceLock::new());
        let registers = Arc::new(Registers { seen: sees, script: Arc::clone(&script), slot });
        let mut arguments: Vec<String> =
            ["-ORBListenEndpoints", "iiop://127.0.0.1:0"].map(str::to_owned).to_vec();
        arguments.extend(more.iter().map(ToString::to_string));
        let initializer: Arc<dyn OrbInitializer> = registers.clone();
        let orb = Orb::builder().arguments(&mut arguments).initializer(initializer);
        let orb = orb.build().unwrap();
        lend_a_thread(&orb);
        let (defers, deferred) = mpsc::channel();
        let poa = orb.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let answers = |elsewhere| Answers {
            current: orb.pi_current(),
            slot: *registers.slot.get().unwrap(),
            deferred: Mutex::new(defers.clone()),
            elsewhere,
        };
        let other = poa.activate(answers(None)).unwrap();
        let echo = poa.activate(answers(Some(other.0.clone()))).unwrap();
        Server { orb, seen, script, deferred, echo, other }
    }

    #[track_caller]
    fn saw(&self, operation: &str, points: &[&str]) {
        for point in points {
            let (at, status) = point.split_once(' ').unwrap();
            let (at, status) = match status.split_once(' ') {
                Some((name, status)) => (format!("{at} {name}"), format!(" {status}")),
                None => (point.to_string(), String::new()),
            };
            let line = self.seen.recv_timeout(PATIENCE);
            assert_eq!(line.as_deref(), Ok(&*format!("{at} {operation}{status}")), "{status}");
        }
        assert_eq!(self.seen.try_recv(), Err(mpsc::TryRecvError::Empty));
    }

    fn raise(&self, at: &'static str, raise: Raise) {
        self.script.lock().unwrap().push_back((at, raise));
    }
}

const IN: [&str; 4] =
    ["a receive_contexts", "b receive_contexts", "a receive_request", "b receive_request"];

/// Both interceptors see it in and out.
fn whole(end: &str) -> Vec<String> {
    let ends = ["b", "a"].map(|name| format!("{name} {end}"));
    IN.map(str::to_owned).into_iter().chain(ends).collect()
}

fn lines(points: &[String]) -> Vec<&str> {
    points.iter().map(String::as_str).collect()
}

fn call(object: &Object, name: &str) -> Result<Option<String>, SystemException> {
    let operation = Operation { name: corbie::OperationName::Learnt(name.into()), ..TWOWAY };
    let mut reply = object.invoke(&operation, &|_| Ok(()))?;
    assert!(name != "slot" || reply.context(BACK).is_some());
    let back = reply.context(BACK).map(|data| String::from_utf8(data.to_vec()).unwrap());
    if name == "slot" {
        let text = reply.results(|d| Ok(d.read_string()?.into_owned()))?;
        return Ok(Some(format!("{text}, {}", back.unwrap())));
    }
    Ok(back)
}

const TWOWAY: Operation = Operation::twoway("");

/// The points, whichever thread serves.
#[test]
fn requests_of_all_kinds_pass_the_same_points() {
    for strategy in STRATEGIES {
        let server = Server::new(&["-ORBCollocation", "none", "-ORBServerConcurrency", strategy]);
        let watched = Watched::new(&["-ORBCollocation", "none"]);
        let echo = watched.view(&server.echo);
        let see = |name: &str, end: &str| {
            let points = whole(end);
            server.saw(name, &lines(&points));
        };
        // What the client's interceptor "b" sent last is in the slot of the upcall.
        assert_eq!(call(&echo.0, "slot").unwrap().as_deref(), Some("b, ab"), "{strategy}");
        see("slot", "send_reply Successful");
        call(&echo.0, "fail").unwrap();
        see("fail", "send_exception UserException IDL:Test/Failed:1.0");
        call(&echo.0, "no_such").unwrap_err();
        see("no_such", "send_exception SystemException IDL:omg.org/CORBA/BAD_OPERATION:1.0");
        call(&echo.0, "forwarded").unwrap();
        let mut points = whole("send_other LocationForward");
        points.extend(whole("send_reply Successful"));
        server.saw("forwarded", &lines(&points));
        server.orb.shutdown(true);
    }
}

#[test]
fn deferred_answers_and_oneways_are_followed_to_their_end() {
    let server = Server::new(&["-ORBCollocation", "none"]);
    let client = loopback_orb(&[]);
    let echo = Echo(client.string_to_object(&server.echo.0.to_string()).unwrap());
    type End = fn(ResponseHandler, &Object);
    let ends: [(End, &str); 4] = [
        (|answer, _| answer.reply(&|_| Ok(())).unwrap(), "send_reply Successful"),
        (
            |answer, _| drop(answer),
            "send_exception SystemException IDL:omg.org/CORBA/NO_RESPONSE:1.0",
        ),
        (
            |answer, _| answer.reply_exception("IDL:Odd:1.0", &|_| Ok(())).unwrap(),
            "send_exception UserException IDL:Odd:1.0",
        ),
        (|answer, other| answer.forward(other).unwrap(), "send_other LocationForward"),
    ];
    for (answer, end) in ends {
        std::thread::scope(|scope| {
            let calls = scope.spawn(|| call(&echo.0, "later"));
            let handler = server.deferred.recv_timeout(PATIENCE).unwrap();
            server.saw("later", &IN);
            answer(handler, &server.other.0);
            let ends = ["b", "a"].map(|name| format!("{name} {end}"));
            let mut ends = ends.to_vec();
            let is_forwarded = end.starts_with("send_other");
            if is_forwarded {
                // The request comes again at once.
                ends.extend(IN.map(str::to_owned));
            }
            server.saw("later", &lines(&ends));
            if is_forwarded {
                let again = server.deferred.recv_timeout(PATIENCE).unwrap();
                again.reply(&|_| Ok(())).unwrap();
                server.saw("later", &["b send_reply Successful", "a send_reply Successful"]);
            }
            let outcome = calls.join().unwrap();
            assert_eq!(outcome.is_err(), end.contains("NO_RESPONSE"), "{end}: {outcome:?}");
        });
    }
    for scope in [SyncScope::WithTransport, SyncScope::WithServer] {
        let policy = Policy::SyncScope(scope);
        let echo = server.echo.0.to_string();
        let echo = Echo(client.string_to_object(&echo).unwrap());
        let echo = echo.set_policy_overrides(&[policy], SetOverrideType::Add).unwrap();
        for name in ["note", "fail"] {
            echo.0.invoke_oneway(&Operation::oneway(name), &|_| Ok(())).unwrap();
            let points = whole("send_other Successful");
            server.saw(name, &lines(&points));
        }
    }
    server.orb.shutdown(true);
}

#[test]
fn what_is_raised_answers_the_request_or_changes_its_answer() {
    let server = Server::new(&["-ORBCollocation", "none"]);
    let client = loopback_orb(&[]);
    let denied = "send_exception SystemException IDL:omg.org/CORBA/NO_PERMISSION:1.0";
    let fresh = || client.string_to_object(&server.echo.0.to_string()).unwrap();
    let (ended_a, ended_b) = (format!("a {denied}"), format!("b {denied}"));
    for (at, seen) in [
        ("b receive_contexts", vec![IN[0], IN[1], &*ended_a]),
        ("b receive_request", vec![IN[0], IN[1], IN[2], IN[3], &ended_b, &ended_a]),
        ("b send_reply", vec![IN[0], IN[1], IN[2], IN[3], "b send_reply Successful", &ended_a]),
    ] {
        server.raise(at, Raise::System);
        let refused = call(&fresh(), "note").unwrap_err();
        assert_eq!((refused.kind, refused.minor), (forbidden().kind, forbidden().minor), "{at}");
        server.saw("note", &seen);
    }
    let forward = "send_other LocationForward";
    for (at, name, before) in [
        ("b receive_contexts", "note", vec!["a receive_contexts", "b receive_contexts"]),
        ("b receive_request", "note", IN.to_vec()),
    ] {
        server.raise(at, Raise::Forward(server.other.0.clone()));
        call(&fresh(), name).unwrap();
        let mut points: Vec<String> = before.iter().map(ToString::to_string).collect();
        if at == "b receive_request" {
            points.push(format!("b {forward}"));
        }
        points.push(format!("a {forward}"));
        points.extend(whole("send_reply Successful"));
        server.saw(name, &lines(&points));
    }
    server.raise("b send_exception", Raise::Forward(server.other.0.clone()));
    call(&fresh(), "fail").unwrap();
    let mut points: Vec<String> = IN.map(str::to_owned).to_vec();
    points.push("b send_exception UserException IDL:Test/Failed:1.0".to_owned());
    points.push(format!("a {forward}"));
    points.extend(whole("send_exception UserException IDL:Test/Failed:1.0"));
    server.saw("fail", &lines(&points));
    server.orb.shutdown(true);
}

#[test]
fn calls_within_the_process_pass_both_sides_without_a_message() {
    for strategy in ["direct", "through-poa"] {
        let more = ["-ORBCollocation", "global", "-ORBCollocationStrategy", strategy];
        let server = Server::new(&more);
        let watched = Watched::new(&more);
        let echo = watched.view(&server.echo);
        const NOTE: Operation = Operation::twoway("note");
        let by_message = || -> Result<String, SystemException> { Ok("by a message".to_owned()) };
        let local = || {
            let upcall = |servant: &Answers| -> Result<String, SystemException> {
                let slot = servant.current.get_slot(servant.slot).unwrap();
                slot.extract::<String>()
            };
            echo.0.call(&NOTE, upcall, by_message)
        };
        for _ in 0..3 {
            // The context of the client's interceptor came, and is in the slot of the upcall.
            assert_eq!(local().as_deref(), Ok("b"), "{strategy}");
            watched.saw_both("note", "receive_reply Successful");
            let points = whole("send_reply Successful");
            server.saw("note", &lines(&points));
        }
        server.raise("a receive_request", Raise::System);
        assert_eq!(local(), Err(forbidden()));
        let denied = "SystemException IDL:omg.org/CORBA/NO_PERMISSION:1.0";
        watched.saw_both("note", &format!("receive_exception {denied}"));
        let ends = ["b", "a"].map(|name| format!("{name} send_exception {denied}"));
        server.saw("note", &[IN[0], IN[1], IN[2], &ends[0], &ends[1]]);
        // Without interceptors of its own, a client passes those of the server.
        let plain = loopback_orb(&more);
        let plain = plain.string_to_object(&server.echo.0.to_string()).unwrap();
        for _ in 0..2 {
            let upcall = |_: &Answers| -> Result<String, SystemException> { Ok("here".to_owned()) };
            assert_eq!(plain.call(&NOTE, upcall, by_message).as_deref(), Ok("here"));
            let points = whole("send_reply Successful");
            server.saw("note", &lines(&points));
        }
        server.orb.shutdown(true);
    }
}
