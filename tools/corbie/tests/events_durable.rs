//! Durable channels through SIGKILL: `corbie events serve --store` as a process of its own is killed
//! again and again under streams of events in all four models, started again at the same port, and
//! everything is accounted for.

mod durable_server;

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use corbie::{Any, Orb, Poa, SystemException, SystemExceptionKind, minor};
use corbie_event::corbie_events::{
    ChannelQos, ChannelStatistics, EventChannelFactory, Overflow,
    event_channel_factory::CreateChannelError,
};
use corbie_event::cos_event_channel_admin::{
    EventChannel, ProxyPullSupplier, ProxyPushConsumer, ProxyPushSupplier,
};
use corbie_event::cos_event_comm::{
    Disconnected, PullSupplierServant, PullSupplierSkeleton, PushConsumerServant,
    PushConsumerSkeleton, pull_supplier::PullError, pull_supplier::TryPullError,
    push_consumer::PushError,
};
use corbie_testkit::servers::free_port;
use durable_server::{PATIENCE, Served, command, start, until};

fn durable() -> ChannelQos {
    ChannelQos {
        when_full: Overflow::DropOldest,
        queue_events: 0,
        queue_octets: 0,
        window: 16,
        push_timeout: 0,
        give_up_after: 200,
        is_durable: true,
        retain_seconds: 0,
        retain_octets: 0,
    }
}

/// Suppliers and consumers in this process, and the channel `test`.
struct Clients {
    orb: Orb,
    poa: Poa,
    channel: EventChannel,
    factory: EventChannelFactory,
}

impl Clients {
    fn new(served: &Served, qos: &ChannelQos) -> Self {
        let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
        let poa = orb.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("active");
        let factory = served.factory(&orb);
        let channel = factory.create_channel("test", qos).expect("made").expect("not nil");
        Self { orb, poa, channel, factory }
    }

    fn supplier(&self) -> ProxyPushConsumer {
        let suppliers = self.channel.for_suppliers().expect("an answer").expect("not nil");
        let proxy = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
        proxy.connect_push_supplier(None).expect("connected");
        proxy
    }

    fn puller(&self) -> ProxyPullSupplier {
        let consumers = self.channel.for_consumers().expect("an answer").expect("not nil");
        let proxy = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
        proxy.connect_pull_consumer(None).expect("connected");
        proxy
    }

    fn consumer(&self) -> (ProxyPushSupplier, Arc<Listener>, Receiver<i32>) {
        let (listener, heard) = Listener::new();
        let reference = self.poa.activate(PushConsumerSkeleton::new(Hears(Arc::clone(&listener))));
        let consumers = self.channel.for_consumers().expect("an answer").expect("not nil");
        let proxy = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
        let reference = reference.expect("active");
        proxy.connect_push_consumer(Some(&reference)).expect("connected");
        (proxy, listener, heard)
    }

    /// A supplier that is pulled and has numbers from `first` up to `end`: how many it gave.
    fn source(&self, first: i32, end: i32) -> Arc<AtomicI32> {
        let next = Arc::new(AtomicI32::new(first));
        let source = PullSupplierSkeleton::new(Source { next: Arc::clone(&next), end });
        let source = self.poa.activate(source).expect("active");
        let suppliers = self.channel.for_suppliers().expect("an answer").expect("not nil");
        let proxy = suppliers.obtain_pull_consumer().expect("an answer").expect("not nil");
        proxy.connect_pull_supplier(Some(&source)).expect("connected");
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

struct Listener {
    heard: Mutex<Sender<i32>>,
    is_away: AtomicBool,
}

impl Listener {
    fn new() -> (Arc<Self>, Receiver<i32>) {
        let (say, heard) = mpsc::channel();
        (Arc::new(Self { heard: Mutex::new(say), is_away: AtomicBool::new(false) }), heard)
    }
}

struct Hears(Arc<Listener>);

impl PushConsumerServant for Hears {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        if self.0.is_away.load(Ordering::SeqCst) {
            return Err(SystemException::transient(
                minor::TRANSIENT_OVERLOAD,
                corbie::CompletionStatus::No,
            )
            .into());
        }
        let heard = self.0.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = heard.send(number(data));
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

struct Source {
    next: Arc<AtomicI32>,
    end: i32,
}

impl PullSupplierServant for Source {
    fn pull(&self) -> Result<Any, PullError> {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        match number < self.end {
            true => Ok(any(number)),
            false => Err(Disconnected {}.into()),
        }
    }

    fn try_pull(&self) -> Result<(Any, bool), TryPullError> {
        Ok((Any::default(), false))
    }

    fn disconnect_pull_supplier(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

fn any(value: i32) -> Any {
    Any::from_value::<i32>(&value).expect("an any")
}

/// A number in a text of a KiB.
fn padded(value: i32) -> Any {
    Any::string(&format!("{value} {}", "x".repeat(1000))).expect("an any")
}

/// The number in either.
fn number(event: &Any) -> i32 {
    event.extract::<i32>().unwrap_or_else(|_| {
        let text = event.extract::<String>().expect("a text");
        text.split(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    })
}

/// Pushes until it was acknowledged: a server that is away is waited for.
fn push(proxy: &ProxyPushConsumer, event: &Any) {
    let end = Instant::now() + PATIENCE;
    while let Err(error) = proxy.push(event) {
        let PushError::System(exception) = &error else { panic!("it stays connected: {error:?}") };
        assert_ne!(exception.kind, SystemExceptionKind::ObjectNotExist, "{exception}");
        assert!(Instant::now() < end, "{exception}");
    }
}

/// The next event; none, when the server was away.
fn pull(proxy: &ProxyPullSupplier) -> Option<i32> {
    match proxy.pull() {
        Ok(event) => Some(number(&event)),
        Err(PullError::System(exception)) => {
            assert_ne!(exception.kind, SystemExceptionKind::ObjectNotExist, "{exception}");
            None
        }
        Err(other) => panic!("it stays connected: {other:?}"),
    }
}

/// Each supplier's numbers begin here.
const SUPPLIER: i32 = 1_000_000;

/// Checks what one consumer got, one after the other: each supplier's numbers come in order, what
/// comes twice aside.
#[derive(Default)]
struct Account {
    got: [Vec<i32>; 3],
}

impl Account {
    fn add(&mut self, event: i32) {
        let (which, number) = ((event / SUPPLIER) as usize, event % SUPPLIER);
        let got = &mut self.got[which];
        let Err(place) = got.binary_search(&number) else { return };
        assert_eq!(place, got.len(), "{number} of {which} came after {:?}", got.last());
        got.push(number);
    }

    fn has_all(&self, which: usize, count: i32) -> bool {
        self.got[which].len() == count as usize
    }
}

const PUSHES: i32 = 500;
const PULLED: i32 = 300;
const KILLS: usize = 4;

#[test]
fn nothing_that_was_acknowledged_is_lost_in_any_model() {
    let mut served = Served::new();
    let clients = Clients::new(&served, &durable());
    let (_proxy, _listener, heard) = clients.consumer();
    let (puller, suppliers) = (clients.puller(), [clients.supplier(), clients.supplier()]);
    let source = clients.source(2 * SUPPLIER, 2 * SUPPLIER + PULLED);
    let acknowledged = AtomicUsize::new(0);
    let (mut pushed, pulled) = std::thread::scope(|scope| {
        let threads: Vec<_> = suppliers
            .iter()
            .zip(0..)
            .map(|(proxy, which)| {
                let acknowledged = &acknowledged;
                scope.spawn(move || {
                    for number in 0..PUSHES {
                        push(proxy, &any(which * SUPPLIER + number));
                        acknowledged.fetch_add(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        let pulling = scope.spawn(|| {
            let mut account = Account::default();
            // The event that is pushed when all others are there.
            while !account.has_all(0, PUSHES + 1) {
                pull(&puller).into_iter().for_each(|event| account.add(event));
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
        until("all were pulled", || source.load(Ordering::SeqCst) > 2 * SUPPLIER + PULLED);
        let mut pushed = Account::default();
        while !(pushed.has_all(0, PUSHES) && pushed.has_all(1, PUSHES)) {
            pushed.add(heard.recv_timeout(PATIENCE).expect("everything comes"));
        }
        until("all is taken", || clients.statistics().consumers.iter().all(|c| c.queued == 0));
        push(&suppliers[0], &any(PUSHES));
        (pushed, pulling.join().expect("no panic"))
    });
    until("the last event has come", || {
        heard.try_iter().for_each(|event| pushed.add(event));
        pushed.has_all(0, PUSHES + 1)
    });
    for (who, account) in [("pushed to", &pushed), ("pulling", &pulled)] {
        assert!(account.has_all(0, PUSHES + 1) && account.has_all(1, PUSHES), "{who}");
        // A reply to a pull cannot be acknowledged: one may be under way at each kill.
        let lost = PULLED as usize - account.got[2].len();
        assert!(lost <= KILLS, "{lost} events of the supplier that is pulled did not come: {who}");
    }
    assert_eq!(pushed.got[2], pulled.got[2], "both get what is in the log");
    let statistics = clients.statistics();
    let of_consumers = &statistics.consumers;
    assert_eq!((of_consumers.len(), of_consumers.iter().map(|c| c.dropped).sum()), (2, 0));
}

#[test]
fn who_disconnects_or_is_destroyed_does_not_come_back() {
    let mut served = Served::new();
    let clients = Clients::new(&served, &durable());
    let (puller, supplier, stays) = (clients.puller(), clients.supplier(), clients.supplier());
    let other = clients.factory.create_channel("other", &durable()).expect("made").expect("one");
    puller.disconnect_pull_supplier().expect("disconnected");
    supplier.disconnect_push_consumer().expect("disconnected");
    other.destroy().expect("destroyed");
    served.kill();
    served.start();
    push(&stays, &any(1));
    let Err(PushError::System(gone)) = supplier.push(&any(2)) else { panic!("it is gone") };
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    let Err(PullError::System(gone)) = puller.pull() else { panic!("it is gone") };
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    let gone = other.for_consumers().expect_err("it is gone");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    assert_eq!(clients.factory.list().expect("names"), ["test"]);
    let statistics = clients.statistics();
    assert_eq!((statistics.suppliers, statistics.consumers.len(), statistics.received), (1, 0, 1));
    assert!(!served.store.path().join("channel-2").exists(), "its events are gone");
    let again = clients.factory.create_channel("test", &durable()).expect("it is there");
    assert_eq!(again.expect("not nil").as_object().ior(), clients.channel.as_object().ior());
    let otherwise = ChannelQos { retain_seconds: 5, ..durable() };
    let refused = clients.factory.create_channel("test", &otherwise);
    assert!(matches!(refused, Err(CreateChannelError::AlreadyExists(_))), "{refused:?}");
}

/// Pushes with several on their way: what the disk flushes once for.
fn push_many(proxy: &ProxyPushConsumer, events: &[Any]) {
    for part in events.chunks(64) {
        let pushes: Vec<_> = part.iter().map(|event| proxy.push_async(event)).collect();
        pushes.into_iter().for_each(|push| block_on(push).expect("pushed"));
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        let mut context = std::task::Context::from_waker(&waker);
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::park_timeout(PATIENCE);
    }
}

/// Resident octets of a process.
fn memory(process: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id()));
    let status = status.expect("Linux has it");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it has memory");
    let kilobytes = line.split_whitespace().nth(1).expect("a number");
    kilobytes.parse::<u64>().expect("a number") << 10
}

#[test]
fn a_backlog_takes_no_memory_and_is_delivered_in_order() {
    const EVENTS: i32 = 24_000;
    let mut served = Served::new();
    let clients = Clients::new(&served, &durable());
    let (_proxy, listener, heard) = clients.consumer();
    let supplier = clients.supplier();
    listener.is_away.store(true, Ordering::SeqCst);
    let events: Vec<Any> = (0..EVENTS).map(padded).collect();
    let (warm, rest) = events.split_at(2000);
    push_many(&supplier, warm);
    let before = memory(&served.process);
    push_many(&supplier, rest);
    let after = memory(&served.process);
    let statistics = clients.statistics();
    assert_eq!(statistics.consumers[0].queued, EVENTS as u64);
    assert!(after < before + (8 << 20), "{} KiB more", (after - before) >> 10);
    served.kill();
    listener.is_away.store(false, Ordering::SeqCst);
    served.start();
    let got: Vec<i32> =
        (0..EVENTS).map(|_| heard.recv_timeout(PATIENCE).expect("it comes")).collect();
    assert_eq!(got, Vec::from_iter(0..EVENTS));
    until("nothing is kept without consumers", || clients.statistics().kept_octets < 9 << 20);
}

#[test]
fn what_is_kept_no_longer_is_counted_as_dropped() {
    const EVENTS: i32 = 1000;
    let mut served = Served::new();
    let qos = ChannelQos { retain_octets: 256 << 10, ..durable() };
    let clients = Clients::new(&served, &qos);
    let (_proxy, listener, heard) = clients.consumer();
    let puller = clients.puller();
    listener.is_away.store(true, Ordering::SeqCst);
    let supplier = clients.supplier();
    let events: Vec<Any> = (0..EVENTS).map(padded).collect();
    push_many(&supplier, &events);
    let octets = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
    let on_disk = || served.log().iter().map(octets).sum::<u64>();
    until("the oldest are dropped", || on_disk() <= 320 << 10);
    served.kill();
    served.start();
    // What it had in memory before it died is gone as well: now its place is in the log.
    listener.is_away.store(false, Ordering::SeqCst);
    let first = heard.recv_timeout(PATIENCE).expect("an event");
    assert!(first > EVENTS / 2, "the first that is kept is {first}");
    for expected in first + 1..EVENTS {
        assert_eq!(heard.recv_timeout(PATIENCE).expect("an event"), expected);
    }
    assert_eq!(pull(&puller), Some(first));
    until("all is accounted for", || {
        let counted = |c: &corbie_event::corbie_events::ConsumerCounters| {
            c.dropped == first as u64 && c.delivered + c.queued == (EVENTS - first) as u64
        };
        clients.statistics().consumers.iter().all(counted)
    });
}

#[test]
fn a_full_disk_refuses_pushes_and_loses_none_of_the_others() {
    let mut served = Served::new();
    served.kill();
    // Files may have 2 MiB: what is beyond fails as on a full disk.
    let mut limited = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 4096; exec \"$@\"";
    limited.args(["-c", script, "sh", env!("CARGO_BIN_EXE_corbie"), "events", "serve"]);
    limited.args(["--print-reference", "--listen", &served.listen, "--store"]);
    limited.arg(served.store.path()).env_remove("CORBIE_CONFIG_FILE");
    limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    served.process = start(&mut limited).expect("it serves");
    let clients = Clients::new(&served, &durable());
    let (puller, supplier) = (clients.puller(), clients.supplier());
    let (mut taken, mut refused) = (Vec::new(), 0);
    for number in 0..200 {
        let text = Any::string(&format!("{number} {}", "x".repeat(20_000))).expect("an any");
        match supplier.push(&text) {
            Ok(()) => taken.push(number),
            Err(PushError::System(exception)) => {
                assert_eq!(exception.kind, SystemExceptionKind::NoResources, "{exception}");
                assert_eq!(exception.completed, corbie::CompletionStatus::No, "{exception}");
                refused += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(taken.len() > 50 && refused > 50, "{} taken, {refused} refused", taken.len());
    let small = Any::string("1000 ").expect("an any");
    let fits = supplier.push(&small).is_ok();
    served.kill();
    served.start();
    push(&supplier, &Any::string("1001 ").expect("an any"));
    let all = taken.into_iter().chain(fits.then_some(1000)).chain([1001]);
    for expected in all {
        assert_eq!(puller.pull().map(|event| number(&event)).expect("an event"), expected);
    }
}

#[test]
fn damage_and_strangers_are_named_and_nothing_is_served() {
    let mut served = Served::new();
    let clients = Clients::new(&served, &ChannelQos { retain_octets: 1 << 20, ..durable() });
    let (puller, supplier) = (clients.puller(), clients.supplier());
    push_many(&supplier, &(0..600).map(padded).collect::<Vec<_>>());
    let other = format!("127.0.0.1:{}", free_port());
    let said = start(&mut command(&other, served.store.path())).expect_err("it is in use");
    assert!(said.contains("in use by another process"), "{said}");
    served.kill();
    let log = served.log();
    assert!(log.len() > 3, "{log:?}");
    let mut octets = std::fs::read(&log[1]).expect("a file");
    let middle = octets.len() / 2;
    octets[middle] ^= 1;
    std::fs::write(&log[1], &octets).expect("written");
    let said = start(&mut command(&other, served.store.path())).expect_err("it is damaged");
    let name = log[1].file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(said.contains(name) && said.contains("is damaged at octet"), "{said}");
    // As it says: away with it, and on without its events.
    std::fs::rename(&log[1], served.store.path().join("damaged")).expect("moved");
    served.start();
    let (mut got, mut last) = (0, -1);
    while last < 599 {
        let Some(next) = pull(&puller) else { continue };
        assert!(next > last, "{next} came after {last}");
        (got, last) = (got + 1, next);
    }
    let statistics = clients.statistics();
    assert_eq!(statistics.consumers[0].dropped, 600 - got);
    assert!(got < 600 && got > 300, "{got}");
}

#[test]
fn a_server_without_a_store_makes_no_durable_channels() {
    let listen = format!("127.0.0.1:{}", free_port());
    let mut plain = Command::new(env!("CARGO_BIN_EXE_corbie"));
    plain.args(["events", "serve", "--print-reference", "--listen", &listen]);
    plain.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = start(plain.env_remove("CORBIE_CONFIG_FILE")).expect("it serves");
    let _served = corbie_testkit::servers::Server::of(process);
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
    let url = format!("corbaloc::{listen}/EventChannelFactory");
    let factory = orb.string_to_object(&url).expect("a reference");
    let factory = EventChannelFactory::unchecked_narrow(factory);
    let Err(CreateChannelError::BadQos(bad)) = factory.create_channel("test", &durable()) else {
        panic!("there is no store");
    };
    assert!(bad.why.contains("--store"), "{}", bad.why);
    let blocking = ChannelQos { when_full: Overflow::BlockSupplier, ..durable() };
    let Err(CreateChannelError::BadQos(bad)) = factory.create_channel("test", &blocking) else {
        panic!("its log is what waits");
    };
    assert!(bad.why.contains("retain_octets"), "{}", bad.why);
    orb.shutdown(false);
}
