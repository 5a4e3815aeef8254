//! Client request interceptors: which points each kind of call passes, in which order, and what
//! becomes of it when one of them raises something.

use super::echo::{self, Echo, as_client, loopback_orb};
use corbie::policy::{Policy, PolicyType, SetOverrideType, SyncScope, UtcT};
use corbie::portable_interceptor::{
    ClientRequestInfo, ClientRequestInterceptor, ForwardRequest, Interceptor, Interruption,
    OrbInitError, OrbInitInfo, OrbInitializer, PiCurrent, ReplyStatus, ServiceContext, SlotId,
};
use corbie::{
    Any, CompletionStatus, Interface as _, Minor, Object, Operation, Orb, ReplySink,
    SystemException, SystemExceptionKind, minor,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// What an interceptor raises at a point, in words.
type Script = Arc<Mutex<VecDeque<(&'static str, Raise)>>>;

#[derive(Clone)]
enum Raise {
    System,
    Forward(Object),
    Panic,
}

/// Writes down the points that it sees; raises what the script says for its name and a point.
struct Witness {
    name: &'static str,
    seen: mpsc::Sender<String>,
    script: Script,
    slot: Arc<OnceLock<SlotId>>,
}

fn forbidden() -> SystemException {
    SystemException::no_permission(Minor::of::<7>(), CompletionStatus::No)
}

impl Witness {
    fn note(&self, point: &str, info: &ClientRequestInfo<'_>) -> Result<(), Interruption> {
        let status = info.reply_status().map_or(String::new(), |status| format!(" {status:?}"));
        let id = info.received_exception_id().map_or(String::new(), |id| format!(" {id}"));
        let line = format!("{} {point} {}{status}{id}", self.name, info.operation());
        // The test has its lines already.
        let _ = self.seen.send(line);
        let at = format!("{} {point}", self.name);
        let mut script = self.script.lock().unwrap();
        let Some((_, raise)) = script.pop_front_if(|(wanted, _)| *wanted == at) else {
            return Ok(());
        };
        drop(script);
        match raise {
            Raise::System => Err(forbidden().into()),
            Raise::Forward(forward) => Err(ForwardRequest { forward }.into()),
            Raise::Panic => panic!("as asked"),
        }
    }

    fn only_system(noted: Result<(), Interruption>) -> Result<(), SystemException> {
        noted.map_err(|interruption| match interruption {
            Interruption::System(exception) => exception,
            Interruption::Forward(_) => unreachable!("the script forwards where that may be"),
        })
    }
}

impl Interceptor for Witness {
    fn name(&self) -> &str {
        self.name
    }

    fn destroy(&self) {
        let _ = self.seen.send(format!("{} destroy", self.name));
    }
}

impl ClientRequestInterceptor for Witness {
    fn send_request(&self, info: &ClientRequestInfo<'_>) -> Result<(), Interruption> {
        check_validity(info, "send_request");
        info.add_request_service_context(ServiceContext::new(0x7e57, self.name), true)?;
        if let Some(slot) = self.slot.get() {
            let value = info.get_slot(*slot).unwrap().extract::<i32>();
            let _ = value.map(|value| self.seen.send(format!("slot {value}")));
        }
        self.note("send_request", info)
    }

    fn send_poll(&self, info: &ClientRequestInfo<'_>) -> Result<(), SystemException> {
        check_validity(info, "send_poll");
        Self::only_system(self.note("send_poll", info))
    }

    fn receive_reply(&self, info: &ClientRequestInfo<'_>) -> Result<(), SystemException> {
        check_validity(info, "receive_reply");
        Self::only_system(self.note("receive_reply", info))
    }

    fn receive_exception(&self, info: &ClientRequestInfo<'_>) -> Result<(), Interruption> {
        check_validity(info, "receive_exception");
        self.note("receive_exception", info)
    }

    fn receive_other(&self, info: &ClientRequestInfo<'_>) -> Result<(), Interruption> {
        check_validity(info, "receive_other");
        self.note("receive_other", info)
    }
}

/// CORBA 3.3 P1 Table 16.1: what is valid at which point.
fn check_validity(info: &ClientRequestInfo<'_>, point: &str) {
    let wrong = |minor: Minor| minor == minor::BAD_INV_ORDER_INTERCEPTOR_CALL;
    let here = |points: &[&str]| points.contains(&point);
    let not_polled = point != "send_poll";
    let is_over = !here(&["send_request", "send_poll"]);
    let absent = |result: Result<(), SystemException>| result.map_err(|e| e.minor).unwrap_err();
    for (found, is_valid) in [
        (info.arguments().map(drop), here(&["send_request", "receive_reply"])),
        (info.exceptions().map(drop), not_polled),
        (info.contexts().map(drop), not_polled),
        (info.operation_context().map(drop), not_polled),
        (info.result().map(drop), point == "receive_reply"),
    ] {
        let expected = match is_valid {
            true => minor::NO_RESOURCES_INTERCEPTOR,
            false => minor::BAD_INV_ORDER_INTERCEPTOR_CALL,
        };
        assert_eq!(absent(found), expected, "{point}");
    }
    let is_forward = info.reply_status() == Ok(ReplyStatus::LocationForward);
    for (name, found, is_valid) in [
        ("sync_scope", info.sync_scope().map(drop), not_polled),
        ("reply_status", info.reply_status().map(drop), is_over),
        ("forward_reference", info.forward_reference().map(drop), is_forward),
        ("received_exception", info.received_exception().map(drop), point == "receive_exception"),
        (
            "received_exception_id",
            info.received_exception_id().map(drop),
            point == "receive_exception",
        ),
        ("policy", info.get_request_policy(PolicyType::REBIND).map(drop), not_polled),
    ] {
        assert_eq!(found.is_ok(), is_valid, "{name} in {point}: {found:?}");
        assert!(found.is_ok() || wrong(found.unwrap_err().minor), "{name} in {point}");
    }
    let reply_context = info.get_reply_service_context(0xbad).unwrap_err().minor;
    let component = info.get_effective_component(0xbad).unwrap_err().minor;
    assert_eq!(wrong(reply_context), !is_over, "{point}");
    assert_eq!(wrong(component), !not_polled, "{point}");
    assert!(!is_over || reply_context == minor::BAD_PARAM_SERVICE_CONTEXT_ID);
    assert!(!not_polled || component == minor::BAD_PARAM_COMPONENT_ID);
    if point != "send_request" {
        let added = info.add_request_service_context(ServiceContext::new(1, [0]), true);
        assert!(wrong(added.unwrap_err().minor), "{point}");
    }
    assert_eq!(info.target().ior().profiles.len(), 1);
    assert!(info.effective_target().ior().profiles.contains(&info.effective_profile()));
    assert!(info.get_slot(99).is_err());
}

struct Registers {
    seen: mpsc::Sender<String>,
    script: Script,
    slot: Arc<OnceLock<SlotId>>,
}

impl OrbInitializer for Registers {
    fn pre_init(&self, info: &mut OrbInitInfo<'_>) -> Result<(), OrbInitError> {
        self.slot.set(info.allocate_slot_id()).unwrap();
        for name in ["a", "b"] {
            let (seen, script, slot) =
                (self.seen.clone(), Arc::clone(&self.script), Arc::clone(&self.slot));
            let witness = Witness { name, seen, script, slot };
            info.add_client_request_interceptor(Arc::new(witness))?;
        }
        let refused = info.resolve_initial_references("NameService").unwrap_err();
        assert_eq!(refused.minor, minor::BAD_INV_ORDER_INTERCEPTOR_CALL);
        Ok(())
    }

    fn post_init(&self, info: &mut OrbInitInfo<'_>) -> Result<(), OrbInitError> {
        let current = PiCurrent::narrow(&info.resolve_initial_references("PICurrent")?);
        assert!(current.is_some());
        assert!(info.arguments().iter().any(|argument| argument == "-ORBListenEndpoints"));
        Ok(())
    }
}

/// A client with the interceptors `a` and `b`.
pub(crate) struct Watched {
    client: Orb,
    seen: mpsc::Receiver<String>,
    script: Script,
    slot: SlotId,
}

fn watched_client(more: &[&str]) -> Watched {
    let (sees, seen) = mpsc::channel();
    let (script, slot) = (Script::default(), Arc::new(OnceLock::new()));
    let registers = Registers { seen: sees, script: Arc::clone(&script), slot: Arc::clone(&slot) };
    let mut arguments: Vec<String> =
        ["-ORBListenEndpoints", "iiop://127.0.0.1:0"].map(str::to_owned).to_vec();
    arguments.extend(more.iter().map(ToString::to_string));
    let builder = Orb::builder().arguments(&mut arguments).initializer(Arc::new(registers));
    Watched { client: builder.build().unwrap(), seen, script, slot: *slot.get().unwrap() }
}

impl Watched {
    pub(crate) fn new(more: &[&str]) -> Self {
        watched_client(more)
    }

    /// `echo` for this client, without a call.
    pub(crate) fn view(&self, echo: &Echo) -> Echo {
        Echo(self.client.string_to_object(&echo.0.to_string()).unwrap())
    }

    #[track_caller]
    fn saw(&self, expected: &[&str]) {
        for line in expected {
            assert_eq!(self.seen.recv_timeout(PATIENCE).as_deref(), Ok(*line));
        }
        assert_eq!(self.seen.try_recv(), Err(mpsc::TryRecvError::Empty));
    }

    /// So many lines, in whatever order.
    #[track_caller]
    fn lines(&self, count: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        while lines.len() < count {
            match self.seen.recv_timeout(PATIENCE) {
                Ok(line) => lines.push(line),
                Err(error) => panic!("{error}: {count} lines were to come, not {lines:?}"),
            }
        }
        lines
    }

    fn raise(&self, at: &'static str, raise: Raise) {
        self.script.lock().unwrap().push_back((at, raise));
    }

    /// The four lines of a request that both interceptors see whole.
    #[track_caller]
    pub(crate) fn saw_both(&self, operation: &str, end: &str) {
        let start = |name| format!("{name} send_request {operation}");
        let (point, status) = end.split_once(' ').unwrap();
        let end = |name| format!("{name} {point} {operation} {status}");
        self.saw(&[&start("a"), &start("b"), &end("b"), &end("a")].map(String::as_str));
    }
}

/// How a client sends and waits: what interceptors see is the same.
const CLIENTS: [&[&str]; 5] = [
    &["-ORBCollocation", "none"],
    &["-ORBCollocation", "none", "-ORBTransportMultiplexing", "muxed"],
    &["-ORBCollocation", "none", "-ORBReplyWait", "leader-followers"],
    &["-ORBCollocation", "global", "-ORBCollocationStrategy", "direct"],
    &["-ORBCollocation", "global", "-ORBCollocationStrategy", "through-poa"],
];

#[test]
fn synchronous_calls_of_all_kinds_pass_the_same_points() {
    for more in CLIENTS {
        let is_collocated = more[1] == "global";
        let server =
            loopback_orb(&["-ORBCollocation", if is_collocated { "global" } else { "none" }]);
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(echo::EchoServant::new().0).unwrap();
        let watched = watched_client(more);
        let echo = Echo(watched.client.string_to_object(&echo.0.to_string()).unwrap());
        for round in 0..3 {
            assert_eq!(echo.double(round).unwrap(), 2 * round);
            watched.saw_both("double", "receive_reply Successful");
        }
        echo.fail().unwrap();
        watched.saw_both("fail", "receive_exception UserException IDL:Test/Failed:1.0");
        let panicked = echo.panic().unwrap_err();
        assert_eq!(panicked.kind, SystemExceptionKind::Unknown);
        let end = "receive_exception SystemException IDL:omg.org/CORBA/UNKNOWN:1.0";
        watched.saw_both("panic", end);
        let dynamic = Operation::twoway("no_such");
        echo.0.invoke(&dynamic, &|_| Ok(())).map(drop).unwrap_err();
        let end = "receive_exception SystemException IDL:omg.org/CORBA/BAD_OPERATION:1.0";
        watched.saw_both("no_such", end);
        watched.client.destroy().unwrap();
        watched.saw(&["a destroy", "b destroy"]);
        server.shutdown(true);
    }
}

#[test]
fn oneways_end_when_their_caller_goes_on() {
    let (server, echo, noted) = echo::serve(&[]);
    let watched = watched_client(CLIENTS[0]);
    let echo = watched.view(&echo);
    for (scope, end) in [
        (SyncScope::None, "receive_other Unknown"),
        (SyncScope::WithTransport, "receive_other Successful"),
        (SyncScope::WithServer, "receive_reply Successful"),
        (SyncScope::WithTarget, "receive_reply Successful"),
    ] {
        let policy = Policy::SyncScope(scope);
        let echo = echo.set_policy_overrides(&[policy], SetOverrideType::Add).unwrap();
        for value in [1, 2] {
            echo.note(value).unwrap();
            watched.client.flush();
            assert_eq!(noted.recv_timeout(PATIENCE), Ok(value));
            watched.saw_both("note", end);
        }
    }
    server.shutdown(true);
}

#[test]
fn an_asynchronous_call_passes_when_sent_and_when_answered() {
    let (server, echo, _noted) = echo::serve(&[]);
    let watched = watched_client(CLIENTS[0]);
    let echo = watched.view(&echo);
    // Often, since two threads have a hand in each call.
    for round in 0..200 {
        for (name, poll) in [
            ("double", "receive_reply double Successful"),
            ("fail", "receive_exception fail UserException IDL:Test/Failed:1.0"),
        ] {
            let operation = Operation::twoway(name);
            let (tells, told) = mpsc::channel();
            let sink = ReplySink::function(move |outcome| tells.send(outcome.is_ok()).unwrap());
            let arguments = |e: &mut corbie::Encoder<'_>| {
                e.write_longlong(round);
                Ok(())
            };
            echo.0.invoke_async(&operation, &arguments, sink).unwrap();
            assert_eq!(told.recv_timeout(PATIENCE), Ok(true));
            // The thread that sends and the one that delivers may take turns.
            let mut lines = watched.lines(8);
            let polls = |line: &String| line.contains("send_poll");
            let first_poll = lines.iter().position(polls).unwrap();
            assert!(first_poll >= 2, "{lines:?}");
            let mut expected = vec![
                format!("a send_request {name}"),
                format!("b send_request {name}"),
                format!("b receive_other {name} Successful"),
                format!("a receive_other {name} Successful"),
                format!("a send_poll {name}"),
                format!("b send_poll {name}"),
                format!("b {poll}"),
                format!("a {poll}"),
            ];
            lines.sort();
            expected.sort();
            assert_eq!(lines, expected);
            let pending = echo.0.invoke_deferred(&operation, &arguments).unwrap();
            assert!(pending.wait(Some(PATIENCE)));
            pending.take().unwrap();
            let mut lines = watched.lines(8);
            lines.sort();
            assert_eq!(lines, expected);
        }
    }
    server.shutdown(true);
}

#[test]
fn what_is_raised_ends_the_request_or_changes_its_end() {
    for more in CLIENTS {
        let is_collocated = more[1] == "global";
        let server =
            loopback_orb(&["-ORBCollocation", if is_collocated { "global" } else { "none" }]);
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(echo::EchoServant::new().0).unwrap();
        let watched = watched_client(more);
        let echo = watched.view(&echo);
        let denied = "receive_exception double SystemException IDL:omg.org/CORBA/NO_PERMISSION:1.0";

        watched.raise("b send_request", Raise::System);
        assert_eq!(echo.double(1).unwrap_err(), forbidden());
        watched.saw(&["a send_request double", "b send_request double", &format!("a {denied}")]);

        watched.raise("b receive_reply", Raise::System);
        assert_eq!(echo.double(1).unwrap_err(), forbidden());
        watched.saw(&[
            "a send_request double",
            "b send_request double",
            "b receive_reply double Successful",
            &format!("a {denied}"),
        ]);

        watched.raise("a send_request", Raise::Panic);
        let panicked = echo.double(1).unwrap_err();
        assert_eq!(panicked.minor, minor::UNKNOWN_INTERCEPTOR_PANIC);
        watched.saw(&["a send_request double"]);

        assert_eq!(echo.double(4).unwrap(), 8, "the next call is as always");
        watched.saw_both("double", "receive_reply Successful");
        server.shutdown(true);
    }
}

#[test]
fn each_point_that_may_forwards() {
    for more in CLIENTS {
        let is_collocated = more[1] == "global";
        let server =
            loopback_orb(&["-ORBCollocation", if is_collocated { "global" } else { "none" }]);
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let goal = poa.activate(echo::EchoServant::new().0).unwrap();
        let gone = poa.activate(echo::EchoServant::new().0).unwrap();
        poa.deactivate_object(&poa.reference_to_id(&gone.0).unwrap()).unwrap();
        let start = ["a send_request double", "b send_request double"];
        let forwarded = "a receive_other double LocationForward";
        let done = ["b receive_reply double Successful", "a receive_reply double Successful"];

        let watched = watched_client(more);
        let echo = watched.view(&gone);
        watched.raise("b send_request", Raise::Forward(goal.0.clone()));
        assert_eq!(echo.double(21).unwrap(), 42);
        watched.saw(&[start[0], start[1], forwarded, start[0], start[1], done[0], done[1]]);
        // Later calls go there at once.
        assert_eq!(echo.double(1).unwrap(), 2);
        watched.saw(&[start[0], start[1], done[0], done[1]]);

        let echo = watched.view(&gone);
        watched.raise("b receive_exception", Raise::Forward(goal.0.clone()));
        assert_eq!(echo.double(21).unwrap(), 42);
        let missing = "b receive_exception double SystemException \
                       IDL:omg.org/CORBA/OBJECT_NOT_EXIST:1.0";
        watched
            .saw(&[start[0], start[1], missing, forwarded, start[0], start[1], done[0], done[1]]);

        let echo = watched.view(&gone);
        watched.raise("b send_request", Raise::System);
        watched.raise("a receive_exception", Raise::Forward(goal.0.clone()));
        assert_eq!(echo.double(21).unwrap(), 42);
        server.shutdown(true);
    }
}

#[test]
fn an_asynchronous_call_is_forwarded_and_ended() {
    let (server, goal, _noted) = echo::serve(&[]);
    let watched = watched_client(CLIENTS[0]);
    let call = |echo: &Echo| {
        let arguments = |e: &mut corbie::Encoder<'_>| {
            e.write_longlong(21);
            Ok(())
        };
        let pending = echo.0.invoke_deferred(&Operation::twoway("double"), &arguments)?;
        assert!(pending.wait(Some(PATIENCE)));
        pending.take()?.results_only(|d| d.read_longlong())
    };
    let nowhere = || {
        let unknown = goal.0.to_string();
        let mut echo = watched.client.string_to_object(&unknown).unwrap().ior().clone();
        let mut profile = echo.iiop_profiles().unwrap().remove(0);
        profile.object_key = b"nothing".to_vec();
        echo.profiles = vec![profile.to_tagged().unwrap()];
        Echo(Object::new(&watched.client, echo))
    };
    watched.raise("b send_request", Raise::Forward(goal.0.clone()));
    assert_eq!(call(&nowhere()).unwrap(), 42);
    watched.raise("b receive_exception", Raise::Forward(goal.0.clone()));
    assert_eq!(call(&nowhere()).unwrap(), 42);
    watched.raise("a send_request", Raise::System);
    assert_eq!(call(&nowhere()).unwrap_err(), forbidden());
    watched.raise("a send_poll", Raise::System);
    assert_eq!(call(&watched.view(&goal)).unwrap_err(), forbidden());
    watched.raise("b receive_reply", Raise::System);
    assert_eq!(call(&watched.view(&goal)).unwrap_err(), forbidden());
    watched.raise("b receive_exception", Raise::System);
    assert_eq!(call(&nowhere()).unwrap_err(), forbidden());
    assert!(watched.script.lock().unwrap().is_empty(), "all of it was raised");
    server.shutdown(true);
}

#[test]
fn a_request_takes_the_slots_of_its_thread_along() {
    let (server, echo, _noted) = echo::serve(&[]);
    let watched = watched_client(CLIENTS[0]);
    let echo = watched.view(&echo);
    let current = watched.client.pi_current();
    current.set_slot(watched.slot, Any::from_value::<i32>(&5).unwrap()).unwrap();
    echo.double(1).unwrap();
    let seen = watched.lines(6);
    assert_eq!(seen.iter().filter(|line| *line == "slot 5").count(), 2, "{seen:?}");
    std::thread::scope(|scope| {
        scope.spawn(|| echo.double(1).unwrap()).join().unwrap();
    });
    let seen = watched.lines(4);
    assert!(!seen.iter().any(|line| line.starts_with("slot")), "another thread: {seen:?}");
    assert_eq!(current.get_slot(watched.slot).unwrap().extract::<i32>().unwrap(), 5);
    server.shutdown(true);
}

#[test]
fn a_request_with_a_start_time_passes_on_the_thread_of_its_caller() {
    let (server, echo, noted) = echo::serve(&[]);
    for version in ["1.1", "1.2"] {
        let mut arguments = CLIENTS[0].to_vec();
        arguments.extend(["-ORBGIOPVersion", version]);
        let watched = watched_client(&arguments);
        let soon = Policy::RequestStartTime(UtcT::after(Duration::from_millis(100)));
        let policies = [soon, Policy::SyncScope(SyncScope::None)];
        let echo = watched.view(&echo).set_policy_overrides(&policies, SetOverrideType::Add);
        let echo = echo.unwrap();
        let current = watched.client.pi_current();
        current.set_slot(watched.slot, Any::from_value::<i32>(&5).unwrap()).unwrap();
        echo.note(3).unwrap();
        let slots = |name| ["slot 5".to_owned(), format!("{name} send_request note")];
        let mut expected: Vec<_> = ["a", "b"].into_iter().flat_map(slots).collect();
        expected.extend(["b", "a"].map(|name| format!("{name} receive_other note Unknown")));
        assert_eq!(watched.lines(6), expected, "{version}: before its time");
        assert_eq!(noted.recv_timeout(PATIENCE), Ok(3), "{version}");

        let (tells, told) = mpsc::channel();
        let sink = ReplySink::function(move |outcome| tells.send(outcome.is_ok()).unwrap());
        let arguments = |e: &mut corbie::Encoder<'_>| {
            e.write_longlong(4);
            Ok(())
        };
        echo.0.invoke_async(&Operation::twoway("double"), &arguments, sink).unwrap();
        assert_eq!(told.recv_timeout(PATIENCE), Ok(true), "{version}");
        let lines = watched.lines(10);
        let of = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
        let points = ["slot 5", "send_request", "receive_other", "send_poll", "receive_reply"];
        assert_eq!(points.map(of), [2; 5], "{version}: {lines:?}");
        watched.saw(&[]);
    }
    server.shutdown(true);
}

struct Twice;

impl OrbInitializer for Twice {
    fn pre_init(&self, info: &mut OrbInitInfo<'_>) -> Result<(), OrbInitError> {
        struct Named(&'static str);
        impl Interceptor for Named {
            fn name(&self) -> &str {
                self.0
            }
        }
        impl ClientRequestInterceptor for Named {}
        for name in ["", "", "same"] {
            info.add_client_request_interceptor(Arc::new(Named(name)))?;
        }
        info.add_client_request_interceptor(Arc::new(Named("same")))
    }
}

#[test]
fn two_interceptors_of_one_name_are_refused() {
    let refused = Orb::builder().initializer(Arc::new(Twice)).build().unwrap_err();
    assert_eq!(refused.minor, minor::INITIALIZE_INTERCEPTORS);
    assert!(refused.to_string().contains("\"same\""), "{refused}");
}

#[test]
fn echo_for_others_is_not_watched() {
    let (server, echo, _noted) = echo::serve(&[]);
    let watched = watched_client(CLIENTS[0]);
    let other = loopback_orb(&[]);
    assert_eq!(as_client(&other, &echo).double(2).unwrap(), 4);
    assert_eq!(watched.seen.try_recv(), Err(mpsc::TryRecvError::Empty));
    server.shutdown(true);
}
