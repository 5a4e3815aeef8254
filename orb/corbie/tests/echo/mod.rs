//! An interface with a stub and a skeleton written by hand: what generated code does, without the
//! generator. Shared by the tests of calls.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)] // a part of each test

#[path = "../../../../examples/protocol/crc.rs"]
pub mod crc;

use corbie::codegen::{Marshal, Operation, View};
use corbie::transport::Endpoint;
use corbie::{
    EventLoop, Interface, Object, Orb, Servant, ServerConcurrency, ServerRequest, SystemException,
    TypedServant,
};
use corbie_testkit::certificates::{Authority, Folder};
use std::sync::{LazyLock, mpsc};
use std::time::Duration;

/// What a servant notes when it begins to wait.
pub const WAITING: i64 = i64::MIN;

#[derive(Clone, Debug)]
pub struct Echo(pub Object);

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
    pub fn double(&self, value: i64) -> Result<i64, SystemException> {
        const OPERATION: Operation = Operation::twoway("double");
        let upcall = |echo: &EchoServant| echo.double(value);
        self.0.call(&OPERATION, upcall, || {
            let mut reply = self.0.invoke(&OPERATION, &|e| i64::encode(&value, e))?;
            reply.results_only(i64::decode)
        })
    }

    pub fn note(&self, value: i64) -> Result<(), SystemException> {
        const OPERATION: Operation = Operation::oneway("note");
        self.0.invoke_oneway(&OPERATION, &|e| i64::encode(&value, e))
    }

    pub fn wait(&self, time: Duration) -> Result<i64, SystemException> {
        const OPERATION: Operation = Operation::twoway("wait");
        let milliseconds = time.as_millis() as i64;
        self.0.call(
            &OPERATION,
            |echo: &EchoServant| echo.wait(milliseconds),
            || {
                let mut reply = self.0.invoke(&OPERATION, &|e| i64::encode(&milliseconds, e))?;
                reply.results_only(i64::decode)
            },
        )
    }

    pub fn length(&self, text: &str) -> Result<i64, SystemException> {
        const OPERATION: Operation = Operation::twoway("length");
        self.0.call(
            &OPERATION,
            |_: &EchoServant| Ok(text.len() as i64),
            || {
                let mut reply = self.0.invoke(&OPERATION, &|e| e.write_string(text))?;
                reply.results_only(i64::decode)
            },
        )
    }

    pub fn fail(&self) -> Result<String, SystemException> {
        const OPERATION: Operation = Operation::twoway("fail");
        let mut reply = self.0.invoke(&OPERATION, &|_| Ok(()))?;
        Ok(reply.user_exception().unwrap_or("none").to_owned())
    }

    pub fn call_back(&self, other: &Echo, value: i64) -> Result<i64, SystemException> {
        const OPERATION: Operation = Operation::twoway("call_back");
        self.0.call(
            &OPERATION,
            |_: &EchoServant| other.double(value),
            || {
                let other = Some(other.0.clone());
                let mut reply = self.0.invoke(&OPERATION, &|e| {
                    Object::encode(&other, e)?;
                    i64::encode(&value, e)
                })?;
                reply.results_only(i64::decode)
            },
        )
    }

    /// Has `next` call `then`, which calls `next` …, `depth` calls deep; returns the depth reached.
    pub fn bounce(&self, next: &Echo, then: &Echo, depth: i64) -> Result<i64, SystemException> {
        const OPERATION: Operation = Operation::twoway("bounce");
        self.0.call(
            &OPERATION,
            |_: &EchoServant| bounced(next, then, depth),
            || {
                let (next, then) = (Some(next.0.clone()), Some(then.0.clone()));
                let mut reply = self.0.invoke(&OPERATION, &|e| {
                    Object::encode(&next, e)?;
                    Object::encode(&then, e)?;
                    i64::encode(&depth, e)
                })?;
                reply.results_only(i64::decode)
            },
        )
    }

    pub fn panic(&self) -> Result<(), SystemException> {
        const OPERATION: Operation = Operation::twoway("panic");
        self.0.call(
            &OPERATION,
            |_: &EchoServant| panic!("as asked"),
            || self.0.invoke(&OPERATION, &|_| Ok(())).map(|_| ()),
        )
    }

    pub fn octets(&self, octets: &[u8]) -> Result<Vec<u8>, SystemException> {
        const OPERATION: Operation = Operation::twoway("octets");
        self.0.call(
            &OPERATION,
            |_: &EchoServant| Ok(octets.to_vec()),
            || {
                let mut reply = self.0.invoke(&OPERATION, &|e| e.write_octet_sequence(octets))?;
                reply.results_only(|d| Ok(d.read_octet_sequence()?.to_vec()))
            },
        )
    }
}

pub struct EchoServant {
    notes: mpsc::Sender<i64>,
}

impl EchoServant {
    /// A servant, and what oneways told it.
    pub fn new() -> (Self, mpsc::Receiver<i64>) {
        let (notes, noted) = mpsc::channel();
        (EchoServant { notes }, noted)
    }

    fn double(&self, value: i64) -> Result<i64, SystemException> {
        Ok(value.wrapping_mul(2))
    }

    fn wait(&self, milliseconds: i64) -> Result<i64, SystemException> {
        let _ = self.notes.send(WAITING);
        // tidy: sleep: a servant that takes its time is what is being tested
        std::thread::sleep(Duration::from_millis(milliseconds as u64));
        Ok(milliseconds)
    }
}

fn bounced(next: &Echo, then: &Echo, depth: i64) -> Result<i64, SystemException> {
    match depth {
        0 => Ok(0),
        depth => Ok(next.bounce(then, next, depth - 1)? + 1),
    }
}

impl Servant for EchoServant {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let mut d = request.arguments();
        match request.operation() {
            "double" => {
                let value = self.double(d.read_longlong()?)?;
                request.reply(&|e| i64::encode(&value, e))
            }
            "note" => {
                // A test that does not listen has dropped the receiver.
                let _ = self.notes.send(d.read_longlong()?);
                request.reply(&|_| Ok(()))
            }
            "wait" => {
                let milliseconds = self.wait(d.read_longlong()?)?;
                request.reply(&|e| i64::encode(&milliseconds, e))
            }
            "length" => {
                let length = d.read_string()?.len() as i64;
                request.reply(&|e| i64::encode(&length, e))
            }
            "fail" => request.reply_exception("IDL:Test/Failed:1.0", &|_| Ok(())),
            "call_back" => {
                let other = Echo(Object::decode(&mut d)?.unwrap());
                let value = d.read_longlong()?;
                let result = other.double(value)?;
                request.reply(&|e| i64::encode(&result, e))
            }
            "bounce" => {
                let next = Echo(Object::decode(&mut d)?.unwrap());
                let then = Echo(Object::decode(&mut d)?.unwrap());
                let depth = bounced(&next, &then, d.read_longlong()?)?;
                request.reply(&|e| i64::encode(&depth, e))
            }
            "octets" => {
                let octets = d.read_octet_sequence()?.to_vec();
                request.reply(&|e| e.write_octet_sequence(&octets))
            }
            "panic" => panic!("as asked"),
            _ => Err(request.unknown_operation()),
        }
    }

    fn _view<'a>(&'a self, view: &mut View<'a>) {
        view.offer::<EchoServant>(self);
    }
}

impl TypedServant for EchoServant {
    type Reference = Echo;
}

/// How the ORBs of a test crate are reached: `tests/gioplite….rs` has the same suites over GIOPlite,
/// `tests/unix_….rs` over unix-domain sockets, `tests/tls_calls.rs` over TLS, `tests/shmiop.rs` over shared memory,
/// `tests/plugged_….rs` in a message protocol that an application brings along.
fn transport() -> &'static [&'static str] {
    match env!("CARGO_CRATE_NAME") {
        "gioplite_unix" => &["-ORBListenEndpoints", "giopl+uiop://", "-ORBgioplite"],
        // Without GIOPlite they would be reached over TCP.
        "gioplite_shmiop" => {
            &["-ORBListenEndpoints", "iiop://127.0.0.1:0,giopl+shmiop://", "-ORBgioplite"]
        }
        // Clients that have it prefer it; peers of the tests that speak GIOP find that, too.
        "plugged_tcp" => &["-ORBListenEndpoints", "iiop://127.0.0.1:0,crc+iiop://127.0.0.1:0"],
        // Alone: what cannot be called in it cannot be called at all.
        "plugged_unix" => &["-ORBListenEndpoints", "crc+uiop://"],
        name if name.starts_with("gioplite") => &[
            "-ORBListenEndpoints",
            "iiop://127.0.0.1:0,giopl://127.0.0.1:0",
            "-ORBgioplite",
            "-ORBCollocation",
            "none",
        ],
        "tls_calls" => certificates(),
        name if name.starts_with("unix_") => &["-ORBListenEndpoints", "uiop://"],
        // Shared memory comes before TCP in references, unless a setting says otherwise.
        "shmiop" => &["-ORBListenEndpoints", "iiop://127.0.0.1:0,shmiop://"],
        _ => &["-ORBListenEndpoints", "iiop://127.0.0.1:0"],
    }
}

/// Arguments that name certificates, before those that say where to listen.
const CERTIFICATES: usize = 6;

/// Servers listen for TLS, and show and require certificates; clients use nothing else where a
/// reference has it. Peers of the tests that speak plain GIOP find that, too.
fn certificates() -> &'static [&'static str] {
    static ARGUMENTS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        // Kept until the process ends, as ORBs look at the files again.
        let folder: &Folder = Box::leak(Box::default());
        let authority = Authority::new("tests of calls");
        let own = authority.issue("a test", &["127.0.0.1", "localhost"]);
        let mut arguments = folder.arguments("own", &own, &authority);
        let more = ["-ORBListenEndpoints", "iiop://127.0.0.1:0,ssliop://127.0.0.1:0"];
        arguments.extend(more.map(str::to_owned));
        arguments.into_iter().map(|argument| &*argument.leak()).collect()
    });
    &ARGUMENTS
}

/// A reference for people to the object with this key at the first endpoint of `server`.
pub fn corbaloc(server: &Orb, key: &str) -> String {
    let spoken = spoken();
    match &server.listen_endpoints()[0] {
        Endpoint::Tcp { port, .. } => format!("corbaloc:{spoken}iiop:1.2@127.0.0.1:{port}/{key}"),
        Endpoint::Unix(name) => format!("corbaloc:{spoken}uiop:1.2@{name}|{key}"),
        other => panic!("{other}"),
    }
}

/// The endpoints of `server`, as another ORB is to listen on them.
pub fn to_listen_again(server: &Orb) -> String {
    let endpoints = server.listen_endpoints();
    // Of two protocols of a suite, the first is enough, unless clients never go back to it.
    let again =
        if env!("CARGO_CRATE_NAME") == "tls_calls" { &endpoints[..] } else { &endpoints[..1] };
    again.iter().map(listened_again).collect::<Vec<_>>().join(",")
}

fn listened_again(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Plugged(tls) => format!("ssliop://{}", tls.address()),
        Endpoint::Tcp { port, .. } => format!("{}iiop://127.0.0.1:{port}", spoken()),
        Endpoint::Unix(name) => format!("{}uiop://{name}", spoken()),
        other => panic!("{other}"),
    }
}

/// The message protocol of the first endpoint, as it stands before the transport.
fn spoken() -> &'static str {
    match env!("CARGO_CRATE_NAME") {
        "gioplite_unix" => "giopl+",
        "plugged_unix" => "crc+",
        _ => "",
    }
}

/// How calls reach objects of the process: most suites mean the wire, although client and server
/// are one process; `tests/collocation_direct.rs` and `tests/collocation_through_poa.rs` have the
/// same suites without it.
pub fn collocation() -> &'static [&'static str] {
    match env!("CARGO_CRATE_NAME") {
        "collocation_direct" => &["-ORBCollocation", "global", "-ORBCollocationStrategy", "direct"],
        "collocation_through_poa" => {
            &["-ORBCollocation", "global", "-ORBCollocationStrategy", "through-poa"]
        }
        _ => &["-ORBCollocation", "none"],
    }
}

/// An ORB that listens on loopback only.
pub fn loopback_orb(more: &[&str]) -> Orb {
    // References of 1.0 have no place for TLS.
    let has_no_tls = env!("CARGO_CRATE_NAME") == "tls_calls" && more.contains(&"1.0");
    let plain = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    let mut arguments = if has_no_tls { plain.to_vec() } else { transport().to_vec() };
    arguments.extend(collocation());
    arguments.extend(more);
    orb(&arguments)
}

/// An ORB with these arguments, which has the message protocol of the example.
pub fn orb(arguments: &[&str]) -> Orb {
    let mut arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    let has = |part: &str| arguments.iter().any(|argument| argument.contains(part));
    if has("ssliop://") && !has("-ORBTlsTrust") {
        let (own, _) = certificates().split_at(CERTIFICATES);
        arguments.splice(0..0, own.iter().map(ToString::to_string));
    }
    Orb::builder().message_protocol(&crc::Crc).arguments(&mut arguments).build().unwrap()
}

/// Every server concurrency strategy.
pub const STRATEGIES: [&str; 5] = [
    "thread-per-connection",
    "thread-pool",
    "thread-per-request",
    "reactive",
    "reactor-per-thread",
];

/// Lends the ORB a thread if it needs one of the application.
pub fn lend_a_thread(orb: &Orb) {
    let settings = orb.settings();
    if settings.server_concurrency == ServerConcurrency::Reactive
        || settings.event_loop == EventLoop::Application
    {
        let orb = orb.clone();
        let thread = std::thread::Builder::new().name("corbie-lent".to_owned());
        thread.spawn(move || orb.run()).unwrap();
    }
}

/// For servers whose two-way requests of one connection are to be served in their order.
/// Otherwise, while the system does not run the thread of an upcall for a while, another thread
/// serves the next; oneways keep their order in any case.
pub const IN_ORDER: [&str; 4] = ["-ORBPoolThreadsMin", "1", "-ORBPoolThreadsMax", "1"];

/// A server of one echo object.
pub fn serve(more: &[&str]) -> (Orb, Echo, mpsc::Receiver<i64>) {
    let orb = loopback_orb(more);
    lend_a_thread(&orb);
    let (servant, noted) = EchoServant::new();
    let poa = orb.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(servant).unwrap();
    (orb, echo, noted)
}

/// A client's own view of a reference: through the string, as another process gets it.
pub fn as_client(client: &Orb, echo: &Echo) -> Echo {
    let object = client.string_to_object(&echo.0.to_string()).unwrap();
    Echo::narrow(&object).unwrap().unwrap()
}
