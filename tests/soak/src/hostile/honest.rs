//! Clients that behave: they resolve a name, push an event and wait for it, on a channel in memory,
//! on a durable and on a real-time one, and call an application and MSHN. How long each round takes
//! is what counts.

use super::plain::Plain;
use super::real_time::RealTime;
use corbie::{Any, Object, Operation, Orb, Servant, ServerRequest, SystemException};
use corbie_event::corbie_events::EventChannelFactory;
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPushConsumer};
use corbie_event::cos_event_comm::{
    PushConsumerServant, PushConsumerSkeleton, push_consumer::PushError,
};
use corbie_naming::Naming;
use std::fmt;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
static CALL: Operation = Operation::twoway("call");

/// What a round is made of.
const STEPS: [&str; 8] = [
    "name",
    "application",
    "MSHN",
    "push",
    "event",
    "durable push",
    "durable event",
    "real-time event",
];

/// How rounds went.
#[derive(Debug)]
pub(super) struct Rounds {
    pub(super) count: usize,
    pub(super) failed: usize,
    pub(super) why: Option<String>,
    p50: Duration,
    pub(super) p99: Duration,
    /// The same of plain exchanges, one after each round.
    plain_p50: Duration,
    pub(super) plain_p99: Duration,
    /// 99 of a hundred of each step took so long at most.
    steps: Vec<Duration>,
    /// How long the thread that makes the rounds waited for a processor in 99 of a hundred.
    waited_p99: Duration,
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rounds { count, failed, p50, p99, plain_p50, plain_p99, waited_p99, .. } = self;
        write!(
            f,
            "{count} rounds, {failed} failed, median {p50:?}, p99 {p99:?} (plain exchanges "
        )?;
        write!(
            f,
            "{plain_p50:?}, {plain_p99:?}; its thread waited {waited_p99:?} for a processor;"
        )?;
        STEPS.iter().zip(&self.steps).try_for_each(|(name, p99)| write!(f, " {name} {p99:?}"))?;
        f.write_str(")")
    }
}

/// The time of which so many of a hundred are no longer.
fn part(times: &mut [Duration], of_a_hundred: usize) -> Duration {
    times.sort_unstable();
    times.get(times.len() * of_a_hundred / 100).copied().unwrap_or_default()
}

/// For how long this thread has waited for a processor so far; zero where the system does not say.
fn waited() -> Duration {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let waited = said.split_whitespace().nth(1).and_then(|text| text.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}

/// The application: answers.
struct Application;

impl Servant for Application {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Soak/Application:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        request.reply(&|_| Ok(()))
    }
}

struct Listener(Mutex<Sender<Any>>);

impl PushConsumerServant for Listener {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).send(data.clone());
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

pub(super) struct Honest {
    server: Orb,
    clients: Orb,
    naming: Naming,
    application: Object,
    /// The root of a system of MSHN.
    system: Object,
    factory: EventChannelFactory,
    channels: Vec<Channel>,
    real_time: RealTime,
    plain: Plain,
    round: i32,
}

/// A channel with a supplier and a consumer of ours.
struct Channel {
    name: &'static str,
    supplier: ProxyPushConsumer,
    got: Receiver<Any>,
}

fn orb() -> Result<Orb, String> {
    Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).map_err(|e| e.to_string())
}

fn said(error: impl fmt::Display) -> String {
    error.to_string()
}

impl Honest {
    pub(super) fn start(
        names: &str,
        (events, real_time): (&str, &str),
        system: &str,
    ) -> Result<Self, String> {
        let (server, clients) = (orb()?, orb()?);
        for orb in [&server, &clients] {
            let poa = orb.root_poa().map_err(said)?;
            poa.the_poa_manager().activate().map_err(|e| format!("{e:?}"))?;
        }
        let poa = server.root_poa().map_err(said)?;
        let id = poa.activate_object(Arc::new(Application)).map_err(|e| format!("{e:?}"))?;
        let served = poa.id_to_reference(&id).map_err(|e| format!("{e:?}"))?;
        let application = Object::new(&clients, served.ior().clone());
        let naming = Naming::at(&clients, &format!("corbaloc::{names}/NameService"));
        let naming = naming.map_err(said)?;
        let system = clients.string_to_object(system).map_err(said)?;
        naming.bind("application", &application).map_err(said)?;
        let url = format!("corbaloc::{events}/EventChannelFactory");
        let factory = clients.string_to_object(&url).map_err(said)?;
        let factory = EventChannelFactory::unchecked_narrow(factory);
        let channels = ["plain", "durable"].into_iter().map(|name| {
            let channel = factory.find(name).map_err(|e| format!("{e:?}"))?.ok_or("nil")?;
            connect(&clients, name, &channel)
        });
        let channels = channels.collect::<Result<_, String>>()?;
        let real_time = RealTime::connect(&clients, real_time)?;
        let (plain, round) = (Plain::start().map_err(said)?, 0);
        Ok(Self {
            server,
            clients,
            naming,
            application,
            system,
            factory,
            channels,
            real_time,
            plain,
            round,
        })
    }

    /// The reference of the application.
    pub(super) fn application(&self) -> Object {
        self.application.clone()
    }

    /// One round: how long each step took.
    fn round(&mut self) -> Result<Vec<Duration>, String> {
        self.round += 1;
        let (mut steps, mut begun) = (Vec::with_capacity(STEPS.len()), Instant::now());
        let mut step = || {
            steps.push(begun.elapsed());
            begun = Instant::now();
        };
        let found = self.naming.resolve_object("application").map_err(said)?;
        step();
        found.invoke(&CALL, &|_| Ok(())).map_err(said)?;
        step();
        let is_gone = self.system.non_existent().map_err(|e| format!("MSHN: {e}"))?;
        if is_gone {
            return Err("MSHN: it does not exist".to_owned());
        }
        step();
        let event = Any::from_value::<i32>(&self.round).map_err(said)?;
        for Channel { name, supplier, got } in &self.channels {
            supplier.push(&event).map_err(|e| format!("{name}: {e:?}"))?;
            step();
            let end = Instant::now() + PATIENCE;
            let left = || end.saturating_duration_since(Instant::now());
            // Of events that others push to the channel it is one.
            while got.recv_timeout(left()).map_err(|_| self.not_come(name))? != event {}
            step();
        }
        self.real_time.round(self.round)?;
        step();
        Ok(steps)
    }

    /// An event did not come: what the server says of its channel.
    fn not_come(&self, name: &str) -> String {
        let counters = self.factory.statistics(name);
        format!("event {} of `{name}` did not come: {counters:?}", self.round)
    }

    /// Rounds one after the other for so long.
    pub(super) fn serve_for(&mut self, length: Duration) -> Result<Rounds, String> {
        let (end, mut times, mut plain) = (Instant::now() + length, Vec::new(), Vec::new());
        let (mut failed, mut why, mut waits) = (0, None, Vec::new());
        let mut steps = vec![Vec::new(); STEPS.len()];
        while Instant::now() < end {
            let (began, waited_before) = (Instant::now(), waited());
            match self.round() {
                Ok(took) => steps.iter_mut().zip(took).for_each(|(all, one)| all.push(one)),
                Err(sentence) => {
                    failed += 1;
                    why.get_or_insert(sentence);
                }
            }
            times.push(began.elapsed());
            waits.push(waited().saturating_sub(waited_before));
            let began = Instant::now();
            self.plain.exchange().map_err(said)?;
            plain.push(began.elapsed());
            std::thread::park_timeout(Duration::from_millis(5));
        }
        Ok(Rounds {
            count: times.len(),
            failed,
            why,
            p50: part(&mut times, 50),
            p99: part(&mut times, 99),
            plain_p50: part(&mut plain, 50),
            plain_p99: part(&mut plain, 99),
            steps: steps.iter_mut().map(|all| part(all, 99)).collect(),
            waited_p99: part(&mut waits, 99),
        })
    }
}

fn connect(orb: &Orb, name: &'static str, channel: &EventChannel) -> Result<Channel, String> {
    let (say, got) = mpsc::channel();
    let poa = orb.root_poa().map_err(said)?;
    let listener = PushConsumerSkeleton::new(Listener(Mutex::new(say)));
    let consumer = poa.activate(listener).map_err(|e| format!("{e:?}"))?;
    let consumers = channel.for_consumers().map_err(said)?.ok_or("nil")?;
    let proxy = consumers.obtain_push_supplier().map_err(said)?.ok_or("nil")?;
    proxy.connect_push_consumer(Some(&consumer)).map_err(|e| format!("{e:?}"))?;
    let suppliers = channel.for_suppliers().map_err(said)?.ok_or("nil")?;
    let supplier = suppliers.obtain_push_consumer().map_err(said)?.ok_or("nil")?;
    supplier.connect_push_supplier(None).map_err(|e| format!("{e:?}"))?;
    Ok(Channel { name, supplier, got })
}

impl Drop for Honest {
    fn drop(&mut self) {
        self.clients.shutdown(false);
        self.server.shutdown(false);
    }
}
