//! Clients that behave: they resolve a name, push an event and wait for it, on a channel in memory
//! and on a durable one, and call an application. How long each round takes is what counts.

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

/// How rounds went.
#[derive(Debug)]
pub(super) struct Rounds {
    pub(super) count: usize,
    pub(super) failed: usize,
    pub(super) why: Option<String>,
    p50: Duration,
    pub(super) p99: Duration,
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rounds { count, failed, p50, p99, .. } = self;
        write!(f, "{count} rounds, {failed} failed, median {p50:?}, p99 {p99:?}")
    }
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
    pub(super) fn start(names: &str, events: &str, system: &str) -> Result<Self, String> {
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
        Ok(Self { server, clients, naming, application, system, factory, channels, round: 0 })
    }

    /// The reference of the application.
    pub(super) fn application(&self) -> Object {
        self.application.clone()
    }

    fn round(&mut self) -> Result<(), String> {
        self.round += 1;
        let found = self.naming.resolve_object("application").map_err(said)?;
        found.invoke(&CALL, &|_| Ok(())).map_err(said)?;
        let is_gone = self.system.non_existent().map_err(|e| format!("MSHN: {e}"))?;
        if is_gone {
            return Err("MSHN: it does not exist".to_owned());
        }
        let event = Any::from_value::<i32>(&self.round).map_err(said)?;
        for Channel { name, supplier, got } in &self.channels {
            supplier.push(&event).map_err(|e| format!("{name}: {e:?}"))?;
            let end = Instant::now() + PATIENCE;
            let left = || end.saturating_duration_since(Instant::now());
            // Of events that others push to the channel it is one.
            while got.recv_timeout(left()).map_err(|_| self.not_come(name))? != event {}
        }
        Ok(())
    }

    /// An event did not come: what the server says of its channel.
    fn not_come(&self, name: &str) -> String {
        let counters = self.factory.statistics(name);
        format!("event {} of `{name}` did not come: {counters:?}", self.round)
    }

    /// Rounds one after the other for so long.
    pub(super) fn serve_for(&mut self, length: Duration) -> Rounds {
        let (end, mut times) = (Instant::now() + length, Vec::new());
        let (mut failed, mut why) = (0, None);
        while Instant::now() < end {
            let began = Instant::now();
            if let Err(sentence) = self.round() {
                failed += 1;
                why.get_or_insert(sentence);
            }
            times.push(began.elapsed());
            std::thread::park_timeout(Duration::from_millis(5));
        }
        times.sort_unstable();
        let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
        Rounds { count: times.len(), failed, why, p50: at(50), p99: at(99) }
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
