//! The attacks, a thread each, from other addresses of this machine where they use sockets of their
//! own. Whether a step succeeds is nothing to them.

use super::served::CONNECTION_RATE;
use corbie::types::TypeCode;
use corbie::{Any, Object, Orb, Value};
use corbie_event::corbie_events::{ChannelQos, EventChannelFactory, Overflow};
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPullSupplier, ProxyPushConsumer};
use corbie_event::cos_event_comm::PushConsumer;
use corbie_naming::Naming;
use corbie_testkit::{RawRequest, object_key_in};
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two steps of an attack.
const PAUSE: Duration = Duration::from_millis(5);

/// What is attacked.
#[derive(Clone)]
pub(super) struct Targets {
    pub(super) names: String,
    pub(super) events: String,
    pub(super) real_time: String,
    /// Two components of MSHN.
    pub(super) advisor: String,
    pub(super) system: String,
    pub(super) application: Object,
}

/// One that is carried out.
pub(super) struct Attack {
    pub(super) name: &'static str,
    times: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Attack {
    /// How often a step of it was carried out.
    pub(super) fn times(&self) -> u64 {
        self.times.load(Ordering::SeqCst)
    }

    /// Waits until it has ended.
    pub(super) fn end(self) {
        let _ = self.thread.join();
    }
}

type Step = Box<dyn FnMut() -> Option<()>>;
type Begin = fn(&Targets) -> Option<Step>;

/// Begins all attacks; they go on until `is_over`.
pub(super) fn start(targets: &Targets, is_over: &Arc<AtomicBool>) -> Vec<Attack> {
    let attacks: [(&str, Begin); 12] = [
        ("queues without end", greedy_channels),
        ("hosts that never answer", black_holes),
        ("pulls that wait on many sockets", waiting_pulls),
        ("peers that never read", never_reads),
        ("a channel connected to itself", rings),
        ("values that are long to convert", values),
        ("references with many addresses", references),
        ("messages that never end", unfinished),
        ("names without end", names),
        ("connections without end", connections),
        ("calls that no rule allows", forbidden),
        ("real-time channels", real_time),
    ];
    let begin = |(name, begin): (&'static str, Begin)| {
        let (targets, is_over) = (targets.clone(), Arc::clone(is_over));
        let times = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&times);
        let thread = std::thread::spawn(move || {
            be_another_machine();
            let begun = std::iter::repeat_with(|| begin(&targets).or_else(pause));
            let begun = begun.take_while(|_| !is_over.load(Ordering::SeqCst)).flatten().next();
            let Some(mut step) = begun else { return };
            while !is_over.load(Ordering::SeqCst) {
                counted.fetch_add(u64::from(step().is_some()), Ordering::SeqCst);
                std::thread::park_timeout(PAUSE);
            }
        });
        Attack { name, times, thread }
    };
    attacks.into_iter().map(begin).collect()
}

/// It could not begin: tries again a little later.
fn pause<T>() -> Option<T> {
    std::thread::park_timeout(20 * PAUSE);
    None
}

/// Attackers have processors of their own, if they are on other machines. Here they get what others
/// leave: this thread, and those that it starts.
fn be_another_machine() {
    let _ = rustix::process::setpriority_process(None, 19);
}

fn orb() -> Option<Orb> {
    let settings = ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBRequestTimeout", "5s"];
    Orb::init(settings).ok()
}

fn factory(targets: &Targets) -> Option<(Orb, EventChannelFactory)> {
    let orb = orb()?;
    let url = format!("corbaloc::{}/EventChannelFactory", targets.events);
    let object = orb.string_to_object(&url).ok()?;
    Some((orb, EventChannelFactory::unchecked_narrow(object)))
}

fn qos(when_full: Overflow, queue_octets: u64) -> ChannelQos {
    ChannelQos {
        when_full,
        queue_events: 0,
        queue_octets,
        window: 0,
        push_timeout: 0,
        give_up_after: 0,
        is_durable: false,
        retain_seconds: 0,
        retain_octets: 0,
    }
}

fn channel(factory: &EventChannelFactory, name: &str) -> Option<EventChannel> {
    factory.create_channel(name, &qos(Overflow::DropOldest, 0)).ok()?
}

fn supplier(channel: &EventChannel) -> Option<ProxyPushConsumer> {
    let supplier = channel.for_suppliers().ok()??.obtain_push_consumer().ok()??;
    supplier.connect_push_supplier(None).ok()?;
    Some(supplier)
}

fn puller(channel: &EventChannel) -> Option<ProxyPullSupplier> {
    let puller = channel.for_consumers().ok()??.obtain_pull_supplier().ok()??;
    puller.connect_pull_consumer(None).ok()?;
    Some(puller)
}

fn pushed_to(channel: &EventChannel, consumer: &PushConsumer) -> Option<()> {
    let proxy = channel.for_consumers().ok()??.obtain_push_supplier().ok()??;
    proxy.connect_push_consumer(Some(consumer)).ok()
}

fn text(octets: usize) -> Option<Any> {
    Any::from_value::<String>(&"0".repeat(octets)).ok()
}

/// A connection from another address of this machine, as from another machine.
fn connect_from(host: u8, to: &str) -> Option<TcpStream> {
    let to: SocketAddr = to.parse().ok()?;
    let (domain, kind) = (socket2::Domain::IPV4, socket2::Type::STREAM);
    let socket = socket2::Socket::new(domain, kind, None).ok()?;
    let from: SocketAddr = ([127, 0, 0, host], 0).into();
    socket.bind(&from.into()).ok()?;
    socket.connect_timeout(&to.into(), Duration::from_secs(1)).ok()?;
    Some(socket.into())
}

fn greedy_channels(targets: &Targets) -> Option<Step> {
    let (orb, factory) = factory(targets)?;
    let greedy: Option<Vec<_>> = (0..30)
        .map(|number| {
            let channel = channel(&factory, &format!("greedy {number}"))?;
            Some((supplier(&channel)?, puller(&channel)?))
        })
        .collect();
    let (greedy, event, mut next) = (greedy?, text(64 << 10)?, 0);
    Some(Box::new(move || {
        let _ = (&orb, factory.create_channel("endless", &qos(Overflow::BlockSupplier, u64::MAX)));
        next = (next + 1) % greedy.len();
        greedy.get(next)?.0.push(&event).ok()
    }))
}

fn black_holes(targets: &Targets) -> Option<Step> {
    let (orb, factory) = factory(targets)?;
    let channel = channel(&factory, "holes")?;
    let mut holes = Vec::new();
    for number in 0..30 {
        let domain = socket2::Domain::IPV4;
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, None).ok()?;
        let address: SocketAddr = ([127, 0, 0, 1], 0).into();
        socket.bind(&address.into()).ok()?;
        socket.listen(0).ok()?;
        let listener: TcpListener = socket.into();
        let address = listener.local_addr().ok()?;
        let mut taken = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(50)) {
            taken.push(stream);
        }
        let url = format!("corbaloc:iiop:1.2@{address}/hole-{number}");
        let consumer = PushConsumer::unchecked_narrow(orb.string_to_object(&url).ok()?);
        pushed_to(&channel, &consumer)?;
        holes.push((listener, taken));
    }
    let (supplier, event) = (supplier(&channel)?, text(100)?);
    Some(Box::new(move || {
        let _ = &holes;
        supplier.push(&event).ok()
    }))
}

fn pulls(targets: &Targets, name: &str) -> Option<(Orb, ProxyPushConsumer, Vec<Vec<u8>>)> {
    let (orb, factory) = factory(targets)?;
    let channel = channel(&factory, name)?;
    let message = |_| {
        let object_key = &object_key_in(&puller(&channel)?.as_object().to_string());
        let (operation, request_id, arguments) = ("pull", 1, &[]);
        Some(RawRequest { object_key, operation, request_id, arguments }.octets())
    };
    let messages = (0..20).map(message).collect::<Option<_>>()?;
    Some((orb, supplier(&channel)?, messages))
}

fn waiting_pulls(targets: &Targets) -> Option<Step> {
    let (orb, _, messages) = pulls(targets, "waiting")?;
    let (events, mut sockets, mut number) = (targets.events.clone(), Vec::new(), 0);
    Some(Box::new(move || {
        let _ = &orb;
        number += 1;
        let mut socket = connect_from(2, &events)?;
        socket.write_all(messages.get(number % messages.len())?).ok()?;
        sockets.push(socket);
        if sockets.len() > 600 {
            sockets.drain(..300);
        }
        Some(())
    }))
}

fn never_reads(targets: &Targets) -> Option<Step> {
    let (orb, supplier, messages) = pulls(targets, "unread")?;
    let (events, event, mut sockets) = (targets.events.clone(), text(300_000)?, Vec::new());
    Some(Box::new(move || {
        let _ = &orb;
        let mut socket = connect_from(3, &events)?;
        for message in &messages {
            socket.write_all(message).ok()?;
        }
        sockets.push(socket);
        if sockets.len() > 60 {
            sockets.clear();
        }
        supplier.push(&event).ok()
    }))
}

fn rings(targets: &Targets) -> Option<Step> {
    let (orb, factory) = factory(targets)?;
    let mut number = 0;
    Some(Box::new(move || {
        let _ = &orb;
        number += 1;
        let channel = channel(&factory, &format!("ring {number}"))?;
        let into = supplier(&channel)?;
        pushed_to(&channel, &PushConsumer::unchecked_narrow(into.as_object().clone()))?;
        supplier(&channel)?.push(&text(10)?).ok()?;
        // One at a time, and some time to go round.
        std::thread::park_timeout(Duration::from_secs(3));
        channel.destroy().ok()
    }))
}

fn values(targets: &Targets) -> Option<Step> {
    let (orb, factory) = factory(targets)?;
    let channel = channel(&factory, "values")?;
    let (supplier, _puller) = (supplier(&channel)?, puller(&channel)?);
    let texts = Value::List(vec![Value::String("text".to_owned()); 50_000]);
    let event = Any::from_dynamic(TypeCode::sequence(TypeCode::string(0), 0), &texts).ok()?;
    Some(Box::new(move || {
        let _ = &orb;
        supplier.push(&event).ok()?;
        std::thread::park_timeout(Duration::from_millis(100));
        Some(())
    }))
}

fn references(targets: &Targets) -> Option<Step> {
    let (orb, factory) = factory(targets)?;
    let channel = channel(&factory, "references")?;
    let addresses: Vec<_> =
        (1..=2000).map(|port| format!("iiop:1.2@127.0.0.1:{}", 1 + port % 100)).collect();
    let url = format!("corbaloc:{}/{}", addresses.join(","), "k".repeat(60_000));
    let consumer = PushConsumer::unchecked_narrow(orb.string_to_object(&url).ok()?);
    Some(Box::new(move || {
        // It is refused, or costs little.
        let _ = (&orb, pushed_to(&channel, &consumer));
        std::thread::park_timeout(Duration::from_millis(200));
        Some(())
    }))
}

fn unfinished(targets: &Targets) -> Option<Step> {
    let body = targets.application.ior().iiop_profiles().ok()?.first()?.clone();
    let application = format!("{}:{}", body.host, body.port);
    let all = [&targets.names, &targets.events, &targets.real_time, &application];
    let all = [&all[..], &[&targets.advisor, &targets.system]].concat();
    let all: Vec<_> = all.into_iter().cloned().collect();
    let mut sockets = Vec::new();
    Some(Box::new(move || {
        for address in &all {
            let mut socket = connect_from(4, address)?;
            // The first fragment of a request, big-endian, of 64 KiB.
            let header = [b'G', b'I', b'O', b'P', 1, 2, 2, 0, 0, 1, 0, 0];
            socket.write_all(&header).ok()?;
            socket.write_all(&vec![0; 60_000]).ok()?;
            sockets.push(socket);
        }
        if sockets.len() > 250 {
            sockets.clear();
        }
        Some(())
    }))
}

fn names(targets: &Targets) -> Option<Step> {
    let orb = orb()?;
    let naming = Naming::at(&orb, &format!("corbaloc::{}/NameService", targets.names)).ok()?;
    let mut number = 0;
    Some(Box::new(move || {
        let _ = &orb;
        number += 1;
        let long = format!("{number}{}", "n".repeat(1000));
        // As many as may be; and iterators that stay.
        let context = naming.bind_new_context(&long);
        context.as_ref().unwrap_or(&naming).list_at_most("", 1).ok().map(drop)
    }))
}

fn connections(targets: &Targets) -> Option<Step> {
    let all = [&targets.names, &targets.events, &targets.real_time];
    let all = [&all[..], &[&targets.advisor, &targets.system]].concat();
    let all: Vec<_> = all.into_iter().cloned().collect();
    Some(Box::new(move || {
        // More than a peer may open in a second, and all of them closed at once.
        for address in &all {
            for _ in 0..2 * CONNECTION_RATE {
                let socket = socket2::Socket::from(connect_from(5, address)?);
                // Without waiting in the system for what may still come.
                socket.set_linger(Some(Duration::ZERO)).ok()?;
            }
        }
        std::thread::park_timeout(Duration::from_secs(1));
        Some(())
    }))
}

fn real_time(targets: &Targets) -> Option<Step> {
    Some(Box::new(super::real_time::attack(orb()?, &targets.real_time)?))
}

fn forbidden(targets: &Targets) -> Option<Step> {
    let all = [targets.advisor.clone(), targets.system.clone()];
    let request = |request_id| {
        let (object_key, operation, arguments) = (&b"NameService"[..], "submit", &[0; 64][..]);
        RawRequest { object_key, operation, request_id, arguments }.octets()
    };
    let requests: Vec<u8> = (0..100).flat_map(request).collect();
    let mut sockets = Vec::new();
    Some(Box::new(move || {
        for address in &all {
            let mut socket = connect_from(6, address)?;
            socket.write_all(&requests).ok()?;
            sockets.push(socket);
        }
        if sockets.len() > 60 {
            sockets.clear();
        }
        std::thread::park_timeout(Duration::from_millis(50));
        Some(())
    }))
}
