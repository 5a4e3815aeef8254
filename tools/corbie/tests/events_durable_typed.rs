//! Durable channels of typed events through SIGKILL: `corbie events serve --store` is killed again
//! and again under streams of typed events in all four models, started again at the same port, and
//! everything is accounted for. No client obtains a reference a second time: all go on with the
//! objects that they got first.

mod durable_server;

use std::process::Command;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use corbie::SystemExceptionKind;
use corbie::{Any, CompletionStatus, Minor, Object, Orb, Poa, SystemException};
use corbie_event::corbie_events::{ChannelStatistics, EventChannelFactory};
use corbie_event::cos_event_comm::{
    PullSupplier, PullSupplierServant, PushConsumer, PushConsumerServant, pull_supplier::PullError,
    pull_supplier::TryPullError, push_consumer::PushError,
};
use corbie_event::cos_typed_event_channel_admin::{TypedConsumerAdmin, TypedSupplierAdmin};
use corbie_event::cos_typed_event_comm::{
    TypedPullSupplierServant, TypedPullSupplierSkeleton, TypedPushConsumerServant,
    TypedPushConsumerSkeleton,
};
use durable_server::{PATIENCE, Served, until};
use std::sync::Arc;
use stock::{
    ClockServant, PullClock, PullClockServant, PullClockSkeleton, PullTicker, Quote, Reason,
    Ticker, TickerServant, TickerSkeleton,
};

#[allow(missing_docs, dead_code, reason = "the IDL is that of the tests")]
mod generated {
    corbie::include_idl!("Stock");
}
use generated::stock;

const STOCK: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../services/event/tests/idl/Stock.idl");

/// Programs of all four kinds in this process, and the channel `test`.
struct Clients {
    orb: Orb,
    poa: Poa,
    factory: EventChannelFactory,
    consumers: TypedConsumerAdmin,
    suppliers: TypedSupplierAdmin,
}

impl Clients {
    /// The channel is made by `corbie events create`.
    fn new(served: &Served) -> Self {
        let mut create = Command::new(env!("CARGO_BIN_EXE_corbie"));
        create.args(["events", "create", "test", "--durable", "--window", "16"]);
        create.args(["--typed", "Stock::Ticker", "--idl", STOCK, "-f", &served.listen]);
        let created = create.env_remove("CORBIE_CONFIG_FILE").output().expect("it runs");
        assert!(created.status.success(), "{created:?}");
        let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
        let poa = orb.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("active");
        let factory = served.factory(&orb);
        let channel = factory.find_typed("test").expect("it was made").expect("not nil");
        let consumers = channel.for_consumers().expect("an answer").expect("not nil");
        let suppliers = channel.for_suppliers().expect("an answer").expect("not nil");
        Self { orb, poa, factory, consumers, suppliers }
    }

    fn supplier(&self) -> Ticker {
        let proxy = self.suppliers.obtain_typed_push_consumer(Ticker::REPOSITORY_ID);
        let proxy = proxy.expect("supported").expect("not nil");
        proxy.connect_push_supplier(None).expect("connected");
        let typed = proxy.get_typed_consumer().expect("an answer").expect("not nil");
        Ticker::unchecked_narrow(typed)
    }

    fn puller(&self) -> PullTicker {
        let proxy = self.consumers.obtain_typed_pull_supplier(PullTicker::REPOSITORY_ID);
        let proxy = proxy.expect("supported").expect("not nil");
        proxy.connect_pull_consumer(None).expect("connected");
        let typed = proxy.get_typed_supplier().expect("an answer").expect("not nil");
        PullTicker::unchecked_narrow(typed)
    }

    fn consumer(&self) -> Receiver<Heard> {
        let (say, heard) = mpsc::channel();
        let called = TickerSkeleton::new(Called { say: Mutex::new(say) });
        let called = self.poa.activate(called).expect("active").into_object();
        let peer = self.poa.activate(TypedPushConsumerSkeleton::new(Peer(called)));
        let peer = PushConsumer::unchecked_narrow(peer.expect("active").into_object());
        let proxy = self.consumers.obtain_typed_push_supplier(Ticker::REPOSITORY_ID);
        let proxy = proxy.expect("supported").expect("not nil");
        proxy.connect_push_consumer(Some(&peer)).expect("connected");
        heard
    }

    /// A supplier that is pulled and has the ticks below `end`: how many it gave.
    fn source(&self, end: i64) -> Arc<AtomicI64> {
        let next = Arc::new(AtomicI64::new(0));
        let source = PullClockSkeleton::new(Source { next: Arc::clone(&next), end });
        let source = self.poa.activate(source).expect("active").into_object();
        let peer = self.poa.activate(TypedPullSupplierSkeleton::new(Peer(source)));
        let peer = PullSupplier::unchecked_narrow(peer.expect("active").into_object());
        let proxy = self.suppliers.obtain_typed_pull_consumer(PullClock::REPOSITORY_ID);
        let proxy = proxy.expect("supported").expect("not nil");
        proxy.connect_pull_supplier(Some(&peer)).expect("connected");
        next
    }

    fn statistics(&self) -> ChannelStatistics {
        self.factory.statistics("test").expect("counters")
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.orb.shutdown(false);
    }
}

#[derive(Debug)]
enum Heard {
    /// A supplier, and its number.
    Price(usize, i32),
    Tick(i64),
}

/// What is connected: it has a typed object.
struct Peer(Object);

impl PushConsumerServant for Peer {
    fn push(&self, _data: &Any) -> Result<(), PushError> {
        Err(never().into())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

impl TypedPushConsumerServant for Peer {
    fn get_typed_consumer(&self) -> Result<Option<Object>, SystemException> {
        Ok(Some(self.0.clone()))
    }
}

impl PullSupplierServant for Peer {
    fn pull(&self) -> Result<Any, PullError> {
        Err(never().into())
    }

    fn try_pull(&self) -> Result<(Any, bool), TryPullError> {
        Err(never().into())
    }

    fn disconnect_pull_supplier(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

impl TypedPullSupplierServant for Peer {
    fn get_typed_supplier(&self) -> Result<Option<Object>, SystemException> {
        Ok(Some(self.0.clone()))
    }
}

fn never() -> SystemException {
    SystemException::no_permission(Minor::of::<1>(), CompletionStatus::No)
        .with_detail("no client asks for that")
}

struct Called {
    say: Mutex<Sender<Heard>>,
}

impl Called {
    fn say(&self, what: Heard) -> Result<(), SystemException> {
        let _ = self.say.lock().unwrap_or_else(PoisonError::into_inner).send(what);
        Ok(())
    }
}

impl ClockServant for Called {
    fn tick(&self, at: i64) -> Result<(), SystemException> {
        self.say(Heard::Tick(at))
    }
}

impl TickerServant for Called {
    fn price(&self, symbol: &str, cents: i32) -> Result<(), SystemException> {
        self.say(Heard::Price(symbol.parse().expect("the number of a supplier"), cents))
    }

    fn offer(&self, _: &Quote, _: &str, _: &Any, _: &Reason) -> Result<(), SystemException> {
        Err(never())
    }

    fn halt(&self, _: u8, _: f64) -> Result<(), SystemException> {
        Err(never())
    }

    fn closed(&self) -> Result<(), SystemException> {
        Err(never())
    }
}

struct Source {
    next: Arc<AtomicI64>,
    end: i64,
}

impl PullClockServant for Source {
    fn tick(&self) -> Result<i64, SystemException> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        // It has no more: that ends its proxy.
        if number < self.end { Ok(number) } else { Err(never()) }
    }

    fn try_tick(&self) -> Result<(bool, i64), SystemException> {
        Err(never())
    }
}

/// What may be tried again: the server was away.
fn passes(exception: &SystemException, end: Instant) {
    assert_ne!(exception.kind, SystemExceptionKind::ObjectNotExist, "{exception}");
    assert_ne!(exception.kind, SystemExceptionKind::BadInvOrder, "{exception}");
    assert!(Instant::now() < end, "{exception}");
}

/// Calls until it was answered.
fn insist<T>(mut call: impl FnMut() -> Result<T, SystemException>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        match call() {
            Ok(answer) => return answer,
            Err(exception) => passes(&exception, end),
        }
    }
}

/// What one consumer got: each supplier's numbers come in order, what comes twice aside.
#[derive(Default)]
struct Account {
    prices: [Vec<i32>; 2],
    ticks: Vec<i64>,
}

fn add<T: Ord + Copy + std::fmt::Debug>(got: &mut Vec<T>, number: T) {
    let Err(place) = got.binary_search(&number) else { return };
    assert_eq!(place, got.len(), "{number:?} came after {:?}", got.last());
    got.push(number);
}

impl Account {
    fn add(&mut self, heard: Heard) {
        match heard {
            Heard::Price(supplier, number) => add(&mut self.prices[supplier], number),
            Heard::Tick(number) => add(&mut self.ticks, number),
        }
    }

    /// Whether it has the last price of each.
    fn has_all_prices(&self) -> bool {
        self.prices.iter().all(|numbers| numbers.len() == PUSHES as usize)
    }
}

const PUSHES: i32 = 300;
const TICKS: i64 = 200;
const KILLS: usize = 4;

#[test]
fn no_typed_event_that_was_acknowledged_is_lost_in_any_model() {
    let mut served = Served::new();
    let clients = Clients::new(&served);
    let heard = clients.consumer();
    let (puller, suppliers) = (clients.puller(), [clients.supplier(), clients.supplier()]);
    let source = clients.source(TICKS);
    let acknowledged = AtomicUsize::new(0);
    let (mut pushed, mut pulled) = std::thread::scope(|scope| {
        let threads: Vec<_> = suppliers
            .iter()
            .zip(["0", "1"])
            .map(|(ticker, which)| {
                let acknowledged = &acknowledged;
                scope.spawn(move || {
                    for number in 0..PUSHES {
                        insist(|| ticker.price(which, number));
                        acknowledged.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        // It pulls prices alone; ticks stay where they are.
        let pulling = scope.spawn(|| {
            let mut account = Account::default();
            while !account.has_all_prices() {
                let (supplier, number) = insist(|| puller.price());
                account.add(Heard::Price(supplier.parse().expect("a number"), number));
            }
            account
        });
        for kill in 1..=KILLS {
            let enough = kill * 2 * PUSHES as usize / (KILLS + 1);
            until("some are acknowledged", || acknowledged.load(Ordering::SeqCst) >= enough);
            served.kill();
            served.start();
        }
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        until("all ticks were pulled", || source.load(Ordering::SeqCst) > TICKS);
        let mut pushed = Account::default();
        while !pushed.has_all_prices() {
            pushed.add(heard.recv_timeout(PATIENCE).expect("everything comes"));
        }
        (pushed, pulling.join().expect("no panic"))
    });
    // Nothing comes any more: two suppliers that push are left, and the one that was pulled is not.
    until("its proxy has ended", || clients.statistics().suppliers == 2);
    let is_pushed = |statistics: &ChannelStatistics| {
        statistics.consumers.iter().all(|one| one.is_pulling || one.queued == 0)
    };
    until("all is taken", || is_pushed(&clients.statistics()));
    heard.try_iter().for_each(|event| pushed.add(event));
    while pulled.ticks.len() < pushed.ticks.len() {
        pulled.add(Heard::Tick(insist(|| puller.tick())));
    }
    assert_eq!(pushed.ticks, pulled.ticks, "both get what is in the log");
    // A reply to a pull cannot be acknowledged: one may be under way at each kill.
    let lost = TICKS as usize - pushed.ticks.len();
    assert!(lost <= KILLS, "{lost} ticks of the supplier that is pulled did not come");
    let statistics = clients.statistics();
    let of_consumers = &statistics.consumers;
    let counted = |count: fn(&corbie_event::corbie_events::ConsumerCounters) -> u64| {
        of_consumers.iter().map(count).sum::<u64>()
    };
    assert_eq!(of_consumers.len(), 2);
    assert_eq!((counted(|one| one.dropped), counted(|one| one.refused)), (0, 0));
    let unsure = statistics.received - (2 * PUSHES as u64 + pushed.ticks.len() as u64);
    // Pushes that were taken and never answered are pushed again.
    assert!(unsure <= 2 * KILLS as u64, "{unsure} events too many");
}
