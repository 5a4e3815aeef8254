//! Real-time channels: a client that behaves, and what others do to them meanwhile. `honest` makes
//! its rounds with the former, `attacks` has the latter carried out.

use corbie::{Object, Orb, SystemException};
use corbie_rtevent::filter::{Filter, Publication, any_event, event as of_kind};
use corbie_rtevent::rtec_event_channel_admin::{EventChannel, ProxyPushConsumer};
use corbie_rtevent::rtec_event_comm::{
    Event, PushConsumer, PushConsumerServant, PushConsumerSkeleton,
};
use std::net::TcpListener;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
/// The channels of the server: of clients that behave, and of those that do not.
pub(super) const QUIET: &str = "quiet";
pub(super) const ATTACKED: &str = "attacked";
const KIND: i32 = 16;

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn channel(orb: &Orb, address: &str, name: &str) -> Result<EventChannel, String> {
    let object = orb.string_to_object(&format!("corbaloc::{address}/{name}")).map_err(said)?;
    Ok(EventChannel::unchecked_narrow(object))
}

fn supplier(channel: &EventChannel) -> Result<ProxyPushConsumer, String> {
    let suppliers = channel.for_suppliers().map_err(said)?.ok_or("nil")?;
    let proxy = suppliers.obtain_push_consumer().map_err(said)?.ok_or("nil")?;
    let published = Publication::of([Publication::new(1, KIND)]);
    proxy.connect_push_supplier(None, &published).map_err(|e| format!("{e:?}"))?;
    Ok(proxy)
}

fn connect(channel: &EventChannel, filter: &Filter, consumer: &PushConsumer) -> Result<(), String> {
    let consumers = channel.for_consumers().map_err(said)?.ok_or("nil")?;
    let proxy = consumers.obtain_push_supplier().map_err(said)?.ok_or("nil")?;
    let wanted = filter.subscription();
    proxy.connect_push_consumer(Some(consumer), &wanted).map_err(|e| format!("{e:?}"))
}

fn an_event(payload: Vec<u8>) -> Event {
    let mut event = Event::default();
    (event.header.source, event.header.r#type, event.header.ttl) = (1, KIND, 3);
    event.data.payload = payload;
    event
}

struct Subscriber(Mutex<Sender<Vec<u8>>>);

impl PushConsumerServant for Subscriber {
    fn push(&self, data: &[Event]) -> Result<(), SystemException> {
        let say = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        data.iter().for_each(|event| drop(say.send(event.data.payload.clone())));
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// A supplier and a consumer that behave.
pub(super) struct RealTime {
    supplier: ProxyPushConsumer,
    got: Receiver<Vec<u8>>,
}

impl RealTime {
    pub(super) fn connect(orb: &Orb, address: &str) -> Result<Self, String> {
        let (channel, (say, got)) = (channel(orb, address, QUIET)?, mpsc::channel());
        let listener = PushConsumerSkeleton::new(Subscriber(Mutex::new(say)));
        let poa = orb.root_poa().map_err(said)?;
        let consumer = poa.activate(listener).map_err(|e| format!("{e:?}"))?;
        self::connect(&channel, &of_kind(KIND), &consumer)?;
        Ok(Self { supplier: supplier(&channel)?, got })
    }

    /// Pushes an event and waits for it.
    pub(super) fn round(&self, number: i32) -> Result<(), String> {
        let (event, end) = (an_event(number.to_be_bytes().to_vec()), Instant::now() + PATIENCE);
        self.supplier.push(std::slice::from_ref(&event)).map_err(|e| format!("real-time: {e}"))?;
        let left = || end.saturating_duration_since(Instant::now());
        let not_come = |_| format!("real-time event {number} did not come");
        while self.got.recv_timeout(left()).map_err(not_come)? != event.data.payload {}
        Ok(())
    }
}

/// Consumers that never answer a connect and those that take nothing, subscriptions without end,
/// time-outs, rings, and more events than any of them is given.
pub(super) fn attack(orb: Orb, address: &str) -> Option<impl FnMut() -> Option<()> + use<>> {
    let channel = channel(&orb, address, ATTACKED).ok()?;
    let into = supplier(&channel).ok()?;
    // The channel connected to itself.
    let itself = PushConsumer::unchecked_narrow(into.as_object().clone());
    connect(&channel, &any_event(), &itself).ok()?;
    // It takes connections, and reads nothing.
    let deaf = TcpListener::bind("127.0.0.1:0").ok()?;
    let url = format!("corbaloc:iiop:1.2@{}/deaf", deaf.local_addr().ok()?);
    let deaf_consumer: Object = orb.string_to_object(&url).ok()?;
    let deaf_consumer = PushConsumer::unchecked_narrow(deaf_consumer);
    let large = vec![an_event(vec![7; 30_000]); 10];
    let many = Filter::any_of((0..5_000).map(of_kind));
    let timers = Filter::any_of((1..50).map(|n| Filter::every(Duration::from_millis(n))));
    let mut number = 0;
    Some(move || {
        let _ = (&orb, &deaf);
        number += 1;
        // Refused beyond the proxies of the server, or for what they ask; all is one to them.
        let filter = match number % 10 {
            0 => &many,
            1 => &timers,
            _ => &any_event(),
        };
        let _ = connect(&channel, filter, &deaf_consumer);
        into.push(&large).ok()
    })
}
