//! The dynamic interfaces over real IIOP on loopback: requests made at run time to a static
//! servant and to a dynamic one, static calls of a dynamic servant, deferred requests, and what
//! happens when things are called out of order.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;

use corbie::Marshal;
use corbie::dynamic::Exception;
use corbie::{
    ARG_IN, ARG_INOUT, ARG_OUT, Any, CompletionStatus, DynamicImplementation, DynamicObject,
    DynamicOrb, DynamicResponse, DynamicServant, DynamicServerRequest, Minor, NamedValue, NvList,
    Object, Orb, Request, SystemException, SystemExceptionKind, TypeCode, Value, minor,
};
use echo::{Echo, as_client, loopback_orb, serve};
use std::sync::mpsc;
use std::time::Duration;

const LEDGER: &str = "IDL:Test/Ledger:1.0";

fn refused() -> TypeCode {
    let members = [("why", TypeCode::string(0)), ("code", TypeCode::LONG)];
    TypeCode::exception("IDL:Test/Refused:1.0", "Refused", &members)
}

fn refusal() -> Any {
    let members = vec![Value::String("closed".into()), Value::Long(7)];
    Any::from_dynamic(refused(), &Value::Struct(members)).unwrap()
}

/// `long add(in long a, inout long b, out string c)`
fn parameters_of_add() -> NvList {
    let mut list = NvList::new();
    list.add_item("a", TypeCode::LONG, ARG_IN);
    list.add_item("b", TypeCode::LONG, ARG_INOUT);
    list.add_out("c", TypeCode::string(0));
    list
}

/// A servant that knows its operations at run time only.
struct Ledger {
    /// Requests that are answered after their upcall.
    deferred: mpsc::Sender<DynamicResponse>,
    /// What went wrong in order, as minor codes.
    disorder: mpsc::Sender<(SystemExceptionKind, Minor)>,
}

impl Ledger {
    fn add(&self, request: &mut DynamicServerRequest<'_, '_>) -> Result<(), SystemException> {
        let list = request.arguments(parameters_of_add())?;
        let a: i32 = list[0].value().extract::<i32>()?;
        let b: i32 = list[1].value().extract::<i32>()?;
        list[1].set_value(Any::from_value::<i32>(&(b * 10))?)?;
        list.named_mut("c").unwrap().set_value(Any::string(&format!("{a}+{b}"))?)?;
        request.set_result(Any::from_value::<i32>(&(a + b))?)
    }

    fn disorderly(
        &self,
        request: &mut DynamicServerRequest<'_, '_>,
    ) -> Result<(), SystemException> {
        let note = |outcome: Result<(), SystemException>| {
            let exception = outcome.unwrap_err();
            self.disorder.send((exception.kind, exception.minor)).unwrap();
        };
        note(request.ctx().map(drop));
        note(request.set_result(Any::default()));
        request.arguments(NvList::new())?;
        note(request.arguments(NvList::new()).map(drop));
        note(request.set_exception(Any::string("no exception")?));
        request.set_result(Any::from_value::<i32>(&1)?)?;
        note(request.set_result(Any::from_value::<i32>(&2)?));
        note(request.ctx().map(drop));
        Ok(())
    }
}

impl DynamicImplementation for Ledger {
    fn primary_interface(&self) -> &str {
        LEDGER
    }

    fn invoke(&self, request: &mut DynamicServerRequest<'_, '_>) -> Result<(), SystemException> {
        match request.operation() {
            "add" => self.add(request),
            "refuse" => request.set_exception(refusal()),
            "with_context" => {
                request.arguments(NvList::new())?;
                let context = request.ctx()?;
                let text: Vec<_> = context.iter().map(|(n, v)| format!("{n}={v}")).collect();
                request.set_result(Any::string(&text.join(","))?)
            }
            "later" => {
                request.arguments(parameters_of_add())?;
                let response = request.defer();
                self.deferred.send(response).unwrap();
                Ok(())
            }
            "double" => {
                let mut list = NvList::new();
                list.add_item("value", TypeCode::LONGLONG, ARG_IN);
                let value: i64 = request.arguments(list)?[0].value().extract::<i64>()?;
                request.set_result(Any::from_value::<i64>(&(2 * value))?)
            }
            "many" => {
                request.arguments(NvList::new())?;
                let many = Value::List(vec![Value::String("x".into()); 100]);
                let texts = TypeCode::sequence(TypeCode::string(0), 0);
                request.set_result(Any::from_dynamic(texts, &many)?)
            }
            "disorder" => self.disorderly(request),
            "_get_height" => request
                .arguments(NvList::new())
                .map(drop)
                .and_then(|()| request.set_result(Any::from_value::<i32>(&180)?)),
            _ => Err(request.unknown_operation()),
        }
    }
}

struct Served {
    server: Orb,
    client: Orb,
    /// The client's reference.
    ledger: Object,
    deferred: mpsc::Receiver<DynamicResponse>,
    disorder: mpsc::Receiver<(SystemExceptionKind, Minor)>,
}

fn serve_ledger() -> Served {
    serve_ledger_for(&[])
}

/// With more settings for the client.
fn serve_ledger_for(more: &[&str]) -> Served {
    serve_ledger_with(&[], more)
}

/// With more settings for the server and the client.
fn serve_ledger_with(server: &[&str], more: &[&str]) -> Served {
    let server = loopback_orb(server);
    let (deferred_sender, deferred) = mpsc::channel();
    let (disorder_sender, disorder) = mpsc::channel();
    let ledger = Ledger { deferred: deferred_sender, disorder: disorder_sender };
    let servant = DynamicServant::new(ledger);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let reference = poa.activate(servant).unwrap();
    assert_eq!(reference.ior().type_id, LEDGER);
    let client = loopback_orb(&[&["-ORBRequestTimeout", "60s"], more].concat());
    let ledger = client.string_to_object(&reference.to_string()).unwrap();
    Served { server, client, ledger, deferred, disorder }
}

fn long(value: i32) -> Any {
    Any::from_value::<i32>(&value).unwrap()
}

fn request_add(ledger: &Object, operation: &'static str, a: i32, b: i32) -> Request {
    let mut request = ledger.request(operation);
    request.add_in_arg("a", long(a)).add_inout_arg("b", long(b));
    request.add_out_arg("c", TypeCode::string(0)).set_return_type(TypeCode::LONG);
    request
}

fn check_added(request: &Request, a: i32, b: i32) {
    assert_eq!(request.returned::<i32>(), Ok(a + b));
    assert_eq!(request.argument::<i32>(0), Ok(a));
    assert_eq!(request.argument::<i32>(1), Ok(b * 10));
    assert_eq!(request.argument::<String>(2), Ok(format!("{a}+{b}")));
    assert!(request.exception().is_none());
}

fn system(outcome: Result<(), Exception>) -> SystemException {
    match outcome {
        Err(Exception::System(exception)) => exception,
        other => panic!("{other:?} is no system exception"),
    }
}

#[test]
fn a_dynamic_client_calls_a_static_servant() {
    let (server, echo, noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo).0;
    // The name is learnt at run time.
    let mut request = echo.request("double".to_owned());
    request.add_in::<i64>("value", &21).unwrap().set_return_type(TypeCode::LONGLONG);
    request.invoke().unwrap();
    assert_eq!(request.returned::<i64>(), Ok(42));
    let mut request = echo.request("length");
    request.add_in_arg("text", Any::string("Grüße").unwrap()).set_return_type(TypeCode::LONGLONG);
    request.invoke().unwrap();
    assert_eq!(request.returned::<i64>(), Ok("Grüße".len() as i64));
    let octets: Vec<u8> = (0..3_000_000u32).map(|i| i as u8).collect();
    let mut request = echo.request("octets");
    request.add_in::<corbie::idl::Sequence<u8>>("octets", &octets).unwrap();
    request.set_return_type(TypeCode::sequence(TypeCode::OCTET, 0));
    request.invoke().unwrap();
    assert!(request.returned::<corbie::idl::Sequence<u8>>().unwrap() == octets);
    for value in 0..10 {
        let mut request = echo.request("note");
        request.add_in::<i64>("value", &value).unwrap();
        request.send_oneway().unwrap();
    }
    assert_eq!(noted.iter().take(10).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    let mut request = echo.request("_is_a");
    request.add_in_arg("id", Any::string("IDL:Test/Echo:1.0").unwrap());
    request.set_return_type(TypeCode::BOOLEAN).invoke().unwrap();
    assert_eq!(request.returned::<bool>(), Ok(true));
    // Without a value nothing can be sent.
    let mut request = echo.request("double");
    request.add_arg(NamedValue::new("value", Any::without_value(TypeCode::LONGLONG), ARG_IN));
    assert_eq!(system(request.invoke()).kind, SystemExceptionKind::BadParam);
    server.shutdown(true);
}

#[test]
fn a_static_client_calls_a_dynamic_servant() {
    let served = serve_ledger();
    assert!(!served.ledger.is_a("IDL:Test/Echo:1.0").unwrap());
    assert!(served.ledger.is_a(LEDGER).unwrap());
    assert!(served.ledger.is_a("IDL:omg.org/CORBA/Object:1.0").unwrap());
    assert_eq!(served.ledger.repository_id().unwrap(), LEDGER);
    let echo = Echo(served.ledger.clone());
    assert_eq!(echo.double(21), Ok(42));
    let unknown = echo.note(1).and_then(|()| echo.length("x"));
    assert_eq!(unknown.unwrap_err().kind, SystemExceptionKind::BadOperation);
    // Arguments that are not those of the list.
    const DOUBLE: corbie::Operation = corbie::Operation::twoway("double");
    let short = served.ledger.invoke(&DOUBLE, &|e| {
        e.write_octet(1);
        Ok(())
    });
    assert_eq!(short.err().unwrap().kind, SystemExceptionKind::Marshal);
    served.server.shutdown(true);
}

#[test]
fn a_dynamic_client_calls_a_dynamic_servant() {
    let served = serve_ledger();
    let mut request = request_add(&served.ledger, "add", 3, 4);
    request.invoke().unwrap();
    check_added(&request, 3, 4);
    let list = served.client.create_operation_list(&[
        ("a", TypeCode::LONG, ARG_IN),
        ("b", TypeCode::LONG, ARG_INOUT),
        ("c", TypeCode::string(0), ARG_OUT),
    ]);
    let result = Some(TypeCode::LONG);
    let mut request =
        served.ledger.create_request(vec![], "add", list, result, vec![refused()], vec![]);
    request.arguments_mut()[0].set_value(long(5)).unwrap();
    request.arguments_mut()[1].set_value(long(6)).unwrap();
    let wrong = request.arguments_mut()[1].set_value(Any::string("six").unwrap()).unwrap_err();
    let expected = (SystemExceptionKind::BadParam, minor::BAD_PARAM_WRONG_TYPE);
    assert_eq!((wrong.kind, wrong.minor), expected);
    request.invoke().unwrap();
    check_added(&request, 5, 6);
    // Attributes are two operations.
    let mut request = served.ledger.request("_get_height");
    request.set_return_type(TypeCode::LONG).invoke().unwrap();
    assert_eq!(request.returned::<i32>(), Ok(180));
    // The properties that the clause names.
    let mut request = served.ledger.request("with_context");
    let entry = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    request.set_context(vec![entry("user", "me"), entry("sys_os", "any"), entry("other", "no")]);
    request.add_context("sys_*").add_context("user").set_return_type(TypeCode::string(0));
    request.invoke().unwrap();
    assert_eq!(request.returned::<String>(), Ok("user=me,sys_os=any".to_owned()));
    served.server.shutdown(true);
}

#[test]
fn user_exceptions_by_type_code() {
    let served = serve_ledger();
    let mut request = served.ledger.request("refuse");
    request.add_exception(TypeCode::exception("IDL:Test/Other:1.0", "Other", &[]));
    request.add_exception(refused());
    let raised = request.invoke().unwrap_err();
    assert_eq!(raised, Exception::User(refusal()));
    assert_eq!(raised.repository_id(), "IDL:Test/Refused:1.0");
    assert!(raised.to_string().contains("closed"), "{raised}");
    assert_eq!(request.exception(), Some(&raised));
    // One that the request does not list: UNKNOWN. CORBA 3.3 P1 §8.11.
    let exception = system(served.ledger.request("refuse").invoke());
    let expected =
        (SystemExceptionKind::Unknown, minor::UNKNOWN_USER_EXCEPTION, CompletionStatus::Yes);
    assert_eq!((exception.kind, exception.minor, exception.completed), expected);
    let exception = system(served.ledger.request("nothing").invoke());
    assert_eq!(exception.kind, SystemExceptionKind::BadOperation);
    served.server.shutdown(true);
}

#[test]
fn a_request_is_used_once_and_in_order() {
    let served = serve_ledger();
    let minor_of = |outcome: Result<(), SystemException>| {
        let exception = outcome.unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::BadInvOrder);
        assert_eq!(exception.completed, CompletionStatus::No);
        exception.minor
    };
    let mut request = request_add(&served.ledger, "add", 1, 2);
    assert_eq!(minor_of(request.poll_response().map(drop)), minor::BAD_INV_ORDER_REQUEST_NOT_SENT);
    let early = Err(system(request.get_response()));
    assert_eq!(minor_of(early), minor::BAD_INV_ORDER_REQUEST_NOT_SENT);
    request.invoke().unwrap();
    let again = Err(system(request.invoke()));
    assert_eq!(minor_of(again), minor::BAD_INV_ORDER_REQUEST_USED_TWICE);
    assert_eq!(minor_of(request.send_deferred()), minor::BAD_INV_ORDER_REQUEST_SENT);
    assert_eq!(minor_of(request.send_oneway()), minor::BAD_INV_ORDER_REQUEST_SENT);
    let synchronous = minor::BAD_INV_ORDER_REQUEST_SYNCHRONOUS;
    assert_eq!(minor_of(request.poll_response().map(drop)), synchronous);
    check_added(&request, 1, 2);
    let mut request = request_add(&served.ledger, "add", 1, 2);
    request.send_deferred().unwrap();
    assert_eq!(minor_of(request.send_deferred()), minor::BAD_INV_ORDER_REQUEST_SENT);
    request.get_response().unwrap();
    check_added(&request, 1, 2);
    let taken = minor::BAD_INV_ORDER_RESULT_TAKEN;
    assert_eq!(minor_of(request.poll_response().map(drop)), taken);
    assert_eq!(minor_of(Err(system(request.get_response()))), taken);
    // Only those of the implicit operations that the specification names.
    let exception = system(served.ledger.request("_get_policy_of_mine_").invoke());
    assert_eq!(exception.kind, SystemExceptionKind::BadOperation, "an attribute like any other");
    let exception = system(served.ledger.request("_policy").invoke());
    assert_eq!(exception.minor, minor::BAD_PARAM_DII_IMPLICIT_OPERATION);
    // A servant that does things out of order.
    let mut request = served.ledger.request("disorder");
    request.set_return_type(TypeCode::LONG).invoke().unwrap();
    assert_eq!(request.returned::<i32>(), Ok(1));
    let disorder: Vec<_> = served.disorder.try_iter().collect();
    let (inv_order, bad_param) = (SystemExceptionKind::BadInvOrder, SystemExceptionKind::BadParam);
    let expected = [
        (inv_order, minor::BAD_INV_ORDER_CTX),
        (inv_order, minor::BAD_INV_ORDER_SET_RESULT),
        (inv_order, minor::BAD_INV_ORDER_ARGUMENTS),
        (bad_param, minor::BAD_PARAM_NOT_AN_EXCEPTION),
        (inv_order, minor::BAD_INV_ORDER_SET_RESULT),
        (inv_order, minor::BAD_INV_ORDER_CTX),
    ];
    assert_eq!(disorder, expected);
    served.server.shutdown(true);
}

/// Answers a deferred `later` like `add`.
fn answer(mut response: DynamicResponse) {
    assert_eq!(response.operation(), "later");
    let list = response.arguments_mut();
    let a: i32 = list[0].value().extract::<i32>().unwrap();
    let b: i32 = list[1].value().extract::<i32>().unwrap();
    list[1].set_value(long(b * 10)).unwrap();
    list[2].set_value(Any::string(&format!("{a}+{b}")).unwrap()).unwrap();
    response.set_result(long(a + b)).unwrap();
    response.reply().unwrap();
    let second = response.reply().unwrap_err();
    assert_eq!(second.kind, SystemExceptionKind::BadInvOrder);
    assert_eq!(response.set_result(long(1)).unwrap_err().kind, SystemExceptionKind::BadInvOrder);
}

#[test]
fn deferred_requests_to_a_servant_that_answers_later() {
    let served = serve_ledger();
    let mut first = request_add(&served.ledger, "later", 1, 2);
    let mut second = request_add(&served.ledger, "later", 3, 4);
    first.send_deferred().unwrap();
    second.send_deferred().unwrap();
    assert_eq!(first.poll_response(), Ok(false));
    let to_first = served.deferred.recv().unwrap();
    answer(served.deferred.recv().unwrap());
    second.get_response().unwrap();
    check_added(&second, 3, 4);
    assert_eq!(first.poll_response(), Ok(false));
    answer(to_first);
    first.get_response().unwrap();
    check_added(&first, 1, 2);
    // With an exception; dropped unanswered.
    let mut request = request_add(&served.ledger, "later", 5, 6);
    request.add_exception(refused()).send_deferred().unwrap();
    let mut response = served.deferred.recv().unwrap();
    assert!(!response.is_client_gone());
    response.set_exception(refusal()).unwrap();
    response.reply().unwrap();
    assert_eq!(request.get_response(), Err(Exception::User(refusal())));
    let mut request = request_add(&served.ledger, "later", 5, 6);
    request.send_deferred().unwrap();
    drop(served.deferred.recv().unwrap());
    assert_eq!(system(request.get_response()).kind, SystemExceptionKind::NoResponse);
    let mut request = request_add(&served.ledger, "later", 5, 6);
    request.send_deferred().unwrap();
    let mut response = served.deferred.recv().unwrap();
    response
        .raise(&SystemException::no_permission(Minor::of::<5>(), CompletionStatus::No))
        .unwrap();
    let exception = system(request.get_response());
    assert_eq!(
        (exception.kind, exception.minor),
        (SystemExceptionKind::NoPermission, Minor::of::<5>())
    );
    served.server.shutdown(true);
}

#[test]
fn many_deferred_requests_come_back_in_the_order_of_their_answers() {
    let served = serve_ledger();
    let none = served.client.get_next_response().unwrap_err();
    assert_eq!(none.minor, minor::BAD_INV_ORDER_REQUEST_NOT_SENT);
    let requests = (0..20).map(|i| request_add(&served.ledger, "later", i, 1));
    served.client.send_multiple_requests_deferred(requests);
    assert_eq!(served.client.poll_next_response(), Ok(false));
    let mut responses: Vec<_> = served.deferred.iter().take(20).collect();
    responses.reverse();
    for (response, a) in responses.into_iter().zip((0..20).rev()) {
        answer(response);
        let mut request = served.client.get_next_response().unwrap();
        request.get_response().unwrap();
        check_added(&request, a, 1);
    }
    let none = served.client.poll_next_response().unwrap_err();
    assert_eq!(none.minor, minor::BAD_INV_ORDER_REQUEST_NOT_SENT);
    // One that is not sent is answered all the same.
    let used = request_add(&served.ledger, "_policy", 1, 1);
    served.client.send_multiple_requests_deferred([used]);
    assert_eq!(served.client.poll_next_response(), Ok(true));
    let mut request = served.client.get_next_response().unwrap();
    assert_eq!(system(request.get_response()).kind, SystemExceptionKind::BadParam);
    served.server.shutdown(true);
}

#[test]
fn deferred_requests_of_a_client_that_runs_the_event_loop_itself() {
    for event_loop in ["background", "application"] {
        let served = serve_ledger_for(&["-ORBEventLoop", event_loop]);
        let mut request = request_add(&served.ledger, "add", 1, 2);
        request.send_deferred().unwrap();
        request.get_response().unwrap();
        check_added(&request, 1, 2);
        let requests = (0..50).map(|i| request_add(&served.ledger, "add", i, 1));
        served.client.send_multiple_requests_deferred(requests);
        let mut sum = 0;
        for _ in 0..50 {
            let mut request = served.client.get_next_response().unwrap();
            request.get_response().unwrap();
            sum += request.returned::<i32>().unwrap();
        }
        assert_eq!(sum, (1..=50).sum());
        served.server.shutdown(true);
    }
}

#[test]
fn many_oneway_requests() {
    let (server, echo, noted) = serve(&[]);
    let client = loopback_orb(&[]);
    let echo = as_client(&client, &echo).0;
    let requests = (0..100).map(|value: i64| {
        let mut request = echo.request("note");
        request.add_in::<i64>("value", &value).unwrap();
        request
    });
    client.send_multiple_requests_oneway(requests).unwrap();
    assert_eq!(noted.iter().take(100).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    server.shutdown(true);
}

#[test]
fn a_thread_that_waits_for_the_next_response_is_woken_by_the_end_of_the_orb() {
    let served = serve_ledger();
    served.client.send_multiple_requests_deferred([request_add(&served.ledger, "later", 1, 1)]);
    let held = served.deferred.recv().unwrap();
    let client = served.client.clone();
    let waiter = std::thread::spawn(move || match client.get_next_response() {
        Ok(mut request) => system(request.get_response()).kind,
        Err(exception) => exception.kind,
    });
    served.client.shutdown(false);
    let kind = waiter.join().unwrap();
    assert_ne!(kind, SystemExceptionKind::Timeout, "woken long before any time-out");
    drop(held);
    served.server.shutdown(true);
}

#[test]
fn the_answer_to_a_deferred_request_is_a_future_too() {
    let served = serve_ledger();
    let (sender, finished) = mpsc::channel();
    let ledger = served.ledger.clone();
    std::thread::spawn(move || {
        let mut request = request_add(&ledger, "later", 8, 9);
        request.send_deferred().unwrap();
        block_on(request.response()).unwrap();
        sender.send(request).unwrap();
    });
    answer(served.deferred.recv().unwrap());
    let request = finished.recv_timeout(Duration::from_secs(60)).unwrap();
    check_added(&request, 8, 9);
    served.server.shutdown(true);
}

/// What a reply handler was called with.
#[derive(Debug, PartialEq)]
enum Reply {
    Added(i32, i32, String),
    Height(i32),
    Raised(&'static str, Exception),
}

/// A reply handler whose interface is known at run time only.
struct LedgerHandler(mpsc::Sender<Reply>);

impl LedgerHandler {
    fn reply(&self, request: &mut DynamicServerRequest<'_, '_>) -> Result<Reply, SystemException> {
        let mut list = NvList::new();
        match request.operation() {
            "add" => {
                list.add_item("ami_return_val", TypeCode::LONG, ARG_IN);
                list.add_item("b", TypeCode::LONG, ARG_IN);
                list.add_item("c", TypeCode::string(0), ARG_IN);
                let list = request.arguments(list)?;
                let (sum, b) =
                    (list[0].value().extract::<i32>()?, list[1].value().extract::<i32>()?);
                Ok(Reply::Added(sum, b, list[2].value().extract::<String>()?))
            }
            "get_height" => {
                list.add_item("ami_return_val", TypeCode::LONG, ARG_IN);
                let height = request.arguments(list)?[0].value().extract::<i32>()?;
                Ok(Reply::Height(height))
            }
            "refuse_excep" => Ok(Reply::Raised("refuse", held(request)?)),
            "nothing_excep" => Ok(Reply::Raised("nothing", held(request)?)),
            _ => Err(request.unknown_operation()),
        }
    }
}

/// The exception that a handler is told of.
fn held(request: &DynamicServerRequest<'_, '_>) -> Result<Exception, SystemException> {
    use corbie::messaging::{ExceptionHolder, Raised};
    let holder = ExceptionHolder::decode(&mut request.request().arguments())?;
    match holder.raise_exception_with_list(&[refused()]) {
        Err(Raised::System(exception)) => Ok(Exception::System(exception)),
        Err(Raised::Typed(exception)) => Ok(Exception::User(exception)),
        other => panic!("{other:?}"),
    }
}

impl DynamicImplementation for LedgerHandler {
    fn primary_interface(&self) -> &str {
        "IDL:Test/AMI_LedgerHandler:1.0"
    }

    fn invoke(&self, request: &mut DynamicServerRequest<'_, '_>) -> Result<(), SystemException> {
        let reply = self.reply(request)?;
        self.0.send(reply).unwrap();
        Ok(())
    }
}

fn call_back(served: &Served, handler: &Object, replies: &mpsc::Receiver<Reply>) {
    let next = || replies.recv_timeout(Duration::from_secs(60)).unwrap();
    let mut request = request_add(&served.ledger, "add", 3, 4);
    request.sendc(Some(handler)).unwrap();
    assert_eq!(next(), Reply::Added(7, 40, "3+4".to_owned()));
    let again = request.sendc(Some(handler)).unwrap_err();
    assert_eq!(again.minor, minor::BAD_INV_ORDER_REQUEST_SENT);
    let asked = request.poll_response().unwrap_err();
    assert_eq!(asked.minor, minor::BAD_INV_ORDER_REQUEST_SYNCHRONOUS);
    let mut request = served.ledger.request("_get_height");
    request.set_return_type(TypeCode::LONG).sendc(Some(handler)).unwrap();
    assert_eq!(next(), Reply::Height(180));
    served.ledger.request("refuse").sendc(Some(handler)).unwrap();
    assert_eq!(next(), Reply::Raised("refuse", Exception::User(refusal())));
    served.ledger.request("nothing").sendc(Some(handler)).unwrap();
    match next() {
        Reply::Raised("nothing", Exception::System(exception)) => {
            assert_eq!(exception.kind, SystemExceptionKind::BadOperation);
        }
        other => panic!("{other:?}"),
    }
    request_add(&served.ledger, "add", 1, 1).sendc(None).unwrap();
}

#[test]
fn answers_go_to_a_reply_handler_here_or_elsewhere() {
    let served = serve_ledger();
    let elsewhere = loopback_orb(&[]);
    for orb in [&served.client, &elsewhere] {
        let (sender, replies) = mpsc::channel();
        let servant = DynamicServant::new(LedgerHandler(sender));
        let poa = orb.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let handler = poa.activate(servant).unwrap();
        let handler = served.client.string_to_object(&handler.to_string()).unwrap();
        call_back(&served, &handler, &replies);
    }
    elsewhere.shutdown(true);
    served.server.shutdown(true);
}

#[test]
fn a_pollable_set_waits_for_deferred_requests_too() {
    use corbie::messaging::{GetReadyPollableError, PollableSet};
    let served = serve_ledger();
    let set = PollableSet::new(&served.client);
    let pollable = set.create_dii_pollable();
    assert!(!pollable.is_ready());
    set.add_pollable(&pollable).unwrap();
    let twice = set.add_pollable(&pollable).unwrap_err();
    assert_eq!(twice.minor, minor::BAD_PARAM_ALREADY_IN_POLLABLE_SET);
    served.client.send_multiple_requests_deferred([request_add(&served.ledger, "later", 1, 2)]);
    let nothing = set.get_ready_pollable(Some(Duration::ZERO)).unwrap_err();
    assert!(matches!(nothing, GetReadyPollableError::System(_)), "{nothing}");
    answer(served.deferred.recv().unwrap());
    assert_eq!(set.get_ready_pollable(Some(Duration::from_secs(60))), Ok(pollable.clone()));
    assert!(pollable.is_ready());
    let mut request = served.client.get_next_response().unwrap();
    request.get_response().unwrap();
    check_added(&request, 1, 2);
    assert!(!pollable.is_ready());
    served.server.shutdown(true);
}

#[test]
fn references_taken_out_of_anys_belong_to_an_orb() {
    let served = serve_ledger();
    let any = Any::from_value::<Object>(&Some(served.ledger.clone())).unwrap();
    assert!(any.extract::<Object>().is_err(), "to which ORB?");
    let object = served.client.extract::<Object>(&any).unwrap().unwrap();
    assert_eq!(Echo(object).double(2), Ok(4));
    served.server.shutdown(true);
}

#[test]
fn what_a_dynamic_value_may_cost_is_a_setting() {
    let cases: [(&[&str], bool); 3] = [
        (&["-ORBDynamicValuesMax", "64"], false),
        (&["-ORBDynamicValuesMax", "101"], true),
        (&[], true),
    ];
    for (more, is_enough) in cases {
        let served = serve_ledger_for(more);
        let mut request = served.ledger.request("many");
        request.set_return_type(TypeCode::sequence(TypeCode::string(0), 0));
        match request.invoke() {
            Ok(()) => assert!(is_enough, "{more:?}"),
            other => {
                let exception = system(other);
                assert_eq!(exception.kind, SystemExceptionKind::ImpLimit, "{exception}");
                assert!(!is_enough, "{more:?}: {exception}");
            }
        }
        served.server.shutdown(true);
    }
}

#[test]
fn dynamic_servants_work_under_every_concurrency_strategy() {
    let strategies = [
        "thread-per-connection",
        "thread-pool",
        "thread-per-request",
        "reactive",
        "reactor-per-thread",
    ];
    for strategy in strategies {
        let served = serve_ledger_with(&["-ORBServerConcurrency", strategy], &[]);
        let server = served.server.clone();
        let runs = std::thread::spawn(move || server.run());
        let mut now = request_add(&served.ledger, "add", 3, 4);
        now.invoke().unwrap_or_else(|error| panic!("{strategy}: {error}"));
        check_added(&now, 3, 4);
        let mut later = request_add(&served.ledger, "later", 5, 6);
        later.send_deferred().unwrap();
        let response = served.deferred.recv().unwrap();
        // The upcall has returned; others are served meanwhile.
        let mut meanwhile = request_add(&served.ledger, "add", 1, 1);
        meanwhile.invoke().unwrap();
        answer(response);
        later.get_response().unwrap();
        check_added(&later, 5, 6);
        served.server.shutdown(true);
        runs.join().unwrap();
    }
}

#[test]
fn threads_that_take_the_next_response_share_the_requests() {
    let served = serve_ledger();
    let requests = (0..200).map(|i| request_add(&served.ledger, "add", i, 1));
    served.client.send_multiple_requests_deferred(requests);
    let takers: Vec<_> = (0..4)
        .map(|_| {
            let client = served.client.clone();
            std::thread::spawn(move || {
                let mut sums = Vec::new();
                while let Ok(mut request) = client.get_next_response() {
                    request.get_response().unwrap();
                    sums.push(request.returned::<i32>().unwrap());
                }
                sums
            })
        })
        .collect();
    let mut sums: Vec<i32> = takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect();
    sums.sort_unstable();
    assert_eq!(sums, (1..=200).collect::<Vec<_>>(), "each once");
    served.server.shutdown(true);
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
