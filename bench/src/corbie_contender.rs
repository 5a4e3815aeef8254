//! Corbie's contenders: the strategies compared, and the server and client process behind them.
//!
//! `serve` and [`CorbieClient`] are an ordinary application of the façade, with the code that
//! `build.rs` makes of `idl/bench.idl`; whatever strategy a contender names goes in as `-ORB…`
//! arguments, as with the peers.

use crate::contender::{Contender, Family};
use crate::driver::{Client, Failure, count_oneways, serve_until_input_ends};
use crate::echo::bench::{CubitServant, CubitSkeleton, Echoer, EchoerServant, Many};
use crate::mechanism::Mechanism;
use crate::orders::Answer;
use crate::raw_tls;
use crate::relay::Relay;
use corbie::types::ior::profile_tag;
use corbie::{Ior, Orb, SystemException};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Both sides sleep until something comes.
const BLOCK: &[&str] = &["-ORBWaitStrategy", "block", "-ORBServerWaitStrategy", "block"];
/// Both sides watch the socket for a while as long as that pays.
const ADAPTIVE: &[&str] = &["-ORBWaitStrategy", "adaptive", "-ORBServerWaitStrategy", "adaptive"];

/// Over shared memory and over a unix-domain socket: sleeping at once, or watching for a while.
pub(crate) fn of_one_machine() -> Vec<Contender> {
    const SERVER: &str = "-ORBServerWaitStrategy";
    const CLIENT: &str = "-ORBWaitStrategy";
    let with = |series, arguments| Contender::new(series, "", Family::Corbie, arguments);
    vec![
        unix("corbie-unix"),
        with("corbie-unix-spin", &["--unix", CLIENT, "adaptive", SERVER, "adaptive"]),
        with("corbie-shm", &["--shm", CLIENT, "block", SERVER, "block"]),
        with("corbie-shm-spin", &["--shm", CLIENT, "adaptive", SERVER, "adaptive"]),
    ]
}

/// Over a unix-domain socket, waiting as [`smi`] does.
pub(crate) fn unix(series: &str) -> Contender {
    const ARGUMENTS: &[&str] =
        &["--unix", "-ORBWaitStrategy", "block", "-ORBServerWaitStrategy", "block"];
    Contender::new(series, "", Family::Corbie, ARGUMENTS)
}

/// Over TLS, waiting as [`smi`] does.
pub(crate) fn tls(series: &str) -> Contender {
    const ARGUMENTS: &[&str] =
        &["--tls", "-ORBWaitStrategy", "block", "-ORBServerWaitStrategy", "block"];
    Contender::new(series, "", Family::Corbie, ARGUMENTS)
}

/// Waiting by blocking on both sides.
pub(crate) fn smi(series: &str) -> Contender {
    Contender::new(series, "", Family::Corbie, BLOCK)
}

/// Waiting adaptively on both sides.
pub(crate) fn smi_spin(series: &str) -> Contender {
    Contender::new(series, "", Family::Corbie, ADAPTIVE)
}

/// The asynchronous and dynamic ways of making the same call, waiting as [`smi`] does. Callbacks
/// are dispatched by the thread that sent the request, which runs the event loop.
pub(crate) fn mechanisms() -> Vec<Contender> {
    let with = |series, config, client| {
        let server = &["-ORBServerWaitStrategy", "block"];
        Contender::sides(series, config, Family::Corbie, server, client)
    };
    const BLOCK: &str = "-ORBWaitStrategy";
    vec![
        with(
            "corbie-ami-callback",
            "",
            &["callback", BLOCK, "block", "-ORBEventLoop", "application"],
        ),
        with("corbie-ami-poller", "", &["poller", BLOCK, "block"]),
        with("corbie-ami-future", "", &["future", BLOCK, "block"]),
        with("corbie-dii", "deferred", &["dii-deferred", BLOCK, "block"]),
        with("corbie-dii", "invoke", &["dii", BLOCK, "block"]),
    ]
}

/// Asynchronous calls that no thread waits for one by one: callbacks, and DII deferred.
pub(crate) fn pipelines() -> Vec<Contender> {
    let with = |series, config, server, client| {
        Contender::sides(series, config, Family::Corbie, server, client)
    };
    vec![
        with("corbie-ami", "stock", &[], &["callback"]),
        with("corbie-ami", "pool", &["-ORBServerConcurrency", "thread-pool"], &["callback"]),
        with("corbie-dii", "deferred", &[], &["dii-deferred"]),
    ]
}

/// Oneways by what they wait for: `SYNC_WITH_TRANSPORT` (the default: until the system has taken
/// the request), each in a write of its own, and `SYNC_NONE`: several in one write.
pub(crate) fn oneways() -> Vec<Contender> {
    const SERVER: &[&str] = &["-ORBServerWaitStrategy", "block"];
    let with =
        |config, client| Contender::sides("corbie-oneway", config, Family::Corbie, SERVER, client);
    vec![
        with("SYNC_WITH_TRANSPORT", &["-ORBWaitStrategy", "block"]),
        with("SYNC_NONE", &["-ORBWaitStrategy", "block", "-ORBSyncScope", "none"]),
    ]
}

/// What an endless loop of asynchronous calls does.
pub(crate) fn unbounded() -> Contender {
    Contender::sides("corbie-ami-unbounded", "", Family::Corbie, &[], &["callback"])
}

/// What is tried with many threads: as it comes, one connection for one call at a time, one that
/// all calls share (paper AMI §3.1), and as many as threads, with either way of serving them.
pub(crate) fn smi_configurations(series: &str) -> Vec<Contender> {
    let with = |config, arguments| Contender::new(series, config, Family::Corbie, arguments);
    vec![
        with("stock", &[]),
        with("1 connection", &["-ORBConnectionsPerEndpoint", "1"]),
        with("muxed", MUXED),
        with("400 connections", &["-ORBConnectionsPerEndpoint", "400"]),
        with("400 connections, blocking", MANY_BLOCK),
        with("400 connections, pool", MANY_POOL),
    ]
}

const MUXED: &[&str] = &["-ORBTransportMultiplexing", "muxed", "-ORBWaitStrategy", "block"];
const MANY_BLOCK: &[&str] = &[
    "-ORBConnectionsPerEndpoint",
    "400",
    "-ORBWaitStrategy",
    "block",
    "-ORBServerWaitStrategy",
    "block",
];
const MANY_POOL: &[&str] =
    &["-ORBConnectionsPerEndpoint", "400", "-ORBServerConcurrency", "thread-pool"];

/// The servant.
#[derive(Default)]
struct EchoServant {
    taken: AtomicU64,
}

impl EchoerServant for EchoServant {
    fn echo(&self, v: i64) -> Result<i64, SystemException> {
        Ok(v)
    }

    fn send(&self, _v: i64) -> Result<(), SystemException> {
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn received(&self) -> Result<u64, SystemException> {
        Ok(self.taken.load(Ordering::Relaxed))
    }

    fn echo_octets(&self, data: &[u8]) -> Result<Vec<u8>, SystemException> {
        Ok(data.to_vec())
    }
}

impl CubitServant for EchoServant {
    fn cube_struct(&self, v: &Many) -> Result<Many, SystemException> {
        Ok(Many {
            o: v.o.wrapping_mul(v.o).wrapping_mul(v.o),
            l: v.l.wrapping_mul(v.l).wrapping_mul(v.l),
            s: v.s.wrapping_mul(v.s).wrapping_mul(v.s),
        })
    }

    fn noop(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// Loopback TCP, or alone what `--shm`, `--unix` or `--tls` among the arguments say.
///
/// # Errors
/// When there are no certificates to be had.
fn listen(arguments: &mut Vec<String>) -> Result<(), Failure> {
    let mut endpoint = "iiop://127.0.0.1:0";
    for (word, other) in
        [("--shm", "shmiop://"), ("--unix", "uiop://"), ("--tls", "ssliop://127.0.0.1:0")]
    {
        if let Some(place) = arguments.iter().position(|argument| argument == word) {
            arguments.remove(place);
            endpoint = other;
        }
    }
    if endpoint.starts_with("ssliop") {
        let files = raw_tls::files()?;
        for (setting, file) in [
            ("-ORBTlsTrust", files.trust),
            ("-ORBTlsCertificate", files.certificate),
            ("-ORBTlsKey", files.key),
        ] {
            arguments.extend([setting.to_owned(), file.display().to_string()]);
        }
        arguments.extend(["-ORBTlsClients", "none"].map(str::to_owned));
    }
    arguments.extend(["-ORBListenEndpoints".into(), endpoint.into()]);
    Ok(())
}

/// Serves until standard input ends.
///
/// # Errors
/// When the ORB cannot start.
pub(crate) fn serve(mut arguments: Vec<String>) -> Result<(), Failure> {
    listen(&mut arguments)?;
    let orb = Orb::init(arguments)?;
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    let echoer = poa.activate(CubitSkeleton::new(EchoServant::default()))?;
    serve_until_input_ends(&orb.object_to_string(echoer.as_object()))?;
    orb.shutdown(false);
    Ok(())
}

/// The client of the server above.
pub(crate) struct CorbieClient {
    orb: Orb,
    reference: Ior,
    echoer: Echoer,
    mechanism: Mechanism,
}

impl CorbieClient {
    /// A client of the object that `reference` names, which calls by `mechanism`.
    ///
    /// # Errors
    /// When the ORB cannot start or the reference cannot be read.
    pub(crate) fn new(
        reference: &str,
        mechanism: Mechanism,
        mut arguments: Vec<String>,
    ) -> Result<Self, Failure> {
        // Reply handlers are objects, too.
        listen(&mut arguments)?;
        let orb = Orb::init(arguments)?;
        let object = orb.string_to_object(reference)?;
        let (reference, echoer) = (object.ior().clone(), Echoer::unchecked_narrow(object));
        Ok(CorbieClient { orb, reference, echoer, mechanism })
    }
}

impl Client for CorbieClient {
    fn echo(&self) -> Result<impl FnMut(i64) -> Result<i64, Failure>, Failure> {
        self.mechanism.call(&self.orb, &self.echoer)
    }

    fn oneways(&self, window: Duration) -> Result<Answer, Failure> {
        let send = |value| self.echoer.send(value).map_err(Failure::from);
        count_oneways(window, send, || self.echoer.received().map_err(Failure::from))
    }

    fn pipelined(&self, calls: u64) -> Result<Answer, Failure> {
        self.mechanism.pipelined(&self.orb, &self.echoer, calls)
    }

    fn unbounded(&self, window: Duration, step: Duration) -> Result<Answer, Failure> {
        self.mechanism.unbounded(&self.orb, &self.echoer, window, step)
    }

    fn wire(&self) -> Result<Answer, Failure> {
        let protocol = if self.orb.settings().gioplite {
            profile_tag::CORBIE_GIOPLITE
        } else {
            profile_tag::INTERNET_IOP
        };
        let relay = Relay::start(&self.reference, protocol)?;
        let object = self.orb.string_to_object(&relay.reference()?.to_string())?;
        let echoer = Echoer::unchecked_narrow(object);
        let mut call = self.mechanism.call(&self.orb, &echoer)?;
        // By the third call, whatever a connection says only once has been said.
        call(1)?;
        call(2)?;
        let before = relay.carried();
        call(3)?;
        let (request, reply) = relay.carried();
        Ok(Answer::Wire { request: request - before.0, reply: reply - before.1 })
    }

    fn octets(&self) -> Result<impl FnMut(&[u8], bool) -> Result<(), Failure>, Failure> {
        Ok(|data: &[u8], check: bool| {
            let back = self.echoer.echo_octets(data)?;
            if back.len() != data.len() || (check && back != data) {
                return Err("the octets came back changed".into());
            }
            Ok(())
        })
    }
}
