//! Servers as processes that get signals: SIGTERM and SIGINT end them in peace, a second one at
//! once, SIGHUP has the log's filter read again; the service manager is told.

mod etcd;
mod served;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use corbie::{Any, Orb, SystemException, SystemExceptionKind};
use corbie_event::corbie_events::EventChannelFactory;
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPushConsumer};
use corbie_event::cos_event_comm::push_consumer::PushError;
use corbie_event::cos_event_comm::{PushConsumerServant, PushConsumerSkeleton};
use corbie_naming::cos_naming::NamingContext;
use corbie_naming::{NameComponent, Naming};
use corbie_rtevent::filter::Publication;
use corbie_rtevent::rtec_event_channel_admin::{
    EventChannel as RtEventChannel, ProxyPushConsumer as RtProxyPushConsumer,
};
use corbie_rtevent::rtec_event_comm;
use corbie_testkit::certificates::{Authority, Folder, Validity};
use corbie_testkit::servers::{ScratchFolder, free_port, free_ports};
use etcd::Etcd;
use served::{PATIENCE, Served, Signal, command};

/// Tells which events came; waits in each while `gate` is closed.
struct Listener {
    tell: Mutex<Sender<i32>>,
    gate: Mutex<Option<Receiver<()>>>,
}

impl PushConsumerServant for Listener {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        let event = data.extract::<i32>().expect("a number");
        let _ = self.tell.lock().expect("no panic").send(event);
        if let Some(gate) = &*self.gate.lock().expect("no panic") {
            let _ = gate.recv_timeout(PATIENCE);
        }
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// A channel of a server, and an ORB that talks to it.
struct Client {
    orb: Orb,
    channel: EventChannel,
}

impl Client {
    fn new(listen: &str, channel: &str) -> Self {
        let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
        orb.root_poa().expect("a POA").the_poa_manager().activate().expect("active");
        let url = format!("corbaloc::{listen}/EventChannelFactory");
        let factory = orb.string_to_object(&url).expect("a reference");
        let factory = EventChannelFactory::unchecked_narrow(factory);
        let channel = factory.find(channel).expect("an answer").expect("not nil");
        let ior = channel.as_object().ior().clone();
        let channel = EventChannel::unchecked_narrow(corbie::Object::new(&orb, ior));
        Self { orb, channel }
    }

    fn supplier(&self) -> ProxyPushConsumer {
        let admin = self.channel.for_suppliers().expect("an answer").expect("not nil");
        let proxy = admin.obtain_push_consumer().expect("an answer").expect("not nil");
        proxy.connect_push_supplier(None).expect("connected");
        proxy
    }

    /// A consumer that waits in each event when it has a gate.
    fn consumer(&self, gate: Option<Receiver<()>>) -> Receiver<i32> {
        let (tell, told) = channel();
        let listener = Listener { tell: Mutex::new(tell), gate: Mutex::new(gate) };
        let poa = self.orb.root_poa().expect("a POA");
        let consumer = poa.activate(PushConsumerSkeleton::new(listener)).expect("active");
        let admin = self.channel.for_consumers().expect("an answer").expect("not nil");
        let proxy = admin.obtain_push_supplier().expect("an answer").expect("not nil");
        proxy.connect_push_consumer(Some(&consumer)).expect("connected");
        told
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.orb.shutdown(false);
    }
}

fn event(number: i32) -> Any {
    Any::from_value::<i32>(&number).expect("an any")
}

/// Pushes until the server takes no more; how many were acknowledged.
fn push_until_the_end(supplier: &ProxyPushConsumer, acknowledged: &AtomicBool) -> i32 {
    for number in 0.. {
        match supplier.push(&event(number)) {
            Ok(()) => acknowledged.store(true, Ordering::Release),
            Err(_) => return number,
        }
    }
    unreachable!("a server is told to end long before")
}

#[test]
fn no_event_that_was_acknowledged_is_lost_when_a_server_is_told_to_end() {
    for signal in [Signal::TERM, Signal::INT] {
        let listen = format!("127.0.0.1:{}", free_port());
        let served =
            Served::start(&["events", "serve", "--listen", &listen, "--channel", "prices"]);
        let client = Client::new(&listen, "prices");
        let (told, supplier) = (client.consumer(None), client.supplier());
        let is_busy = Arc::new(AtomicBool::new(false));
        let (pushed, seen) = (Arc::clone(&is_busy), Arc::clone(&is_busy));
        let pushing = std::thread::spawn(move || push_until_the_end(&supplier, &pushed));
        while !seen.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        served.signal(signal);
        let (status, log) = served.ends();
        assert_eq!(status.code(), Some(0), "{log:?}");
        let acknowledged = pushing.join().expect("no panic");
        let came: Vec<i32> = told.try_iter().take_while(|event| *event < acknowledged).collect();
        assert_eq!(came, (0..acknowledged).collect::<Vec<_>>(), "{log:?}");
    }
}

#[test]
fn a_durable_channel_goes_on_where_it_was_after_a_peaceful_end() {
    let store = ScratchFolder::new("ending");
    let listen = format!("127.0.0.1:{}", free_port());
    let folder = store.path().to_str().expect("text").to_owned();
    let serve =
        ["events", "serve", "--listen", &listen, "--store", &folder, "--durable-channel", "orders"];
    let served = Served::start(&serve);
    let client = Client::new(&listen, "orders");
    let (told, supplier) = (client.consumer(None), client.supplier());
    let is_busy = Arc::new(AtomicBool::new(false));
    let (pushed, again) = (Arc::clone(&is_busy), client.supplier());
    let pushing = std::thread::spawn(move || push_until_the_end(&supplier, &pushed));
    while !is_busy.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    served.ends_in_peace();
    let acknowledged = pushing.join().expect("no panic");
    let served = Served::start(&serve);
    again.push(&event(-1)).expect("taken");
    let mut came = Vec::new();
    while came.last() != Some(&-1) {
        came.push(told.recv_timeout(PATIENCE).expect("an event"));
    }
    came.pop();
    // The last push may have been taken although its supplier heard of no answer.
    came.truncate(usize::try_from(acknowledged).expect("a count"));
    assert_eq!(came, (0..acknowledged).collect::<Vec<_>>(), "each once, in order");
    served.ends_in_peace();
}

#[test]
fn a_pull_that_waits_is_refused_when_the_server_ends() {
    let listen = format!("127.0.0.1:{}", free_port());
    let served = Served::start(&["events", "serve", "--listen", &listen, "--channel", "prices"]);
    let client = Client::new(&listen, "prices");
    let admin = client.channel.for_consumers().expect("an answer").expect("not nil");
    let puller = admin.obtain_pull_supplier().expect("an answer").expect("not nil");
    puller.connect_pull_consumer(None).expect("connected");
    let pulling = std::thread::spawn(move || puller.pull());
    let url = format!("corbaloc::{listen}/EventChannelFactory");
    let factory = client.orb.string_to_object(&url).expect("a reference");
    let factory = EventChannelFactory::unchecked_narrow(factory);
    // The pull is there when the server has seen it: it asks for nothing else.
    while !factory.statistics("prices").is_ok_and(|all| !all.consumers.is_empty()) {
        std::thread::yield_now();
    }
    served.ends_in_peace();
    assert!(pulling.join().expect("no panic").is_err());
}

#[test]
fn a_second_signal_ends_a_server_at_once() {
    let listen = format!("127.0.0.1:{}", free_port());
    let serve = ["events", "serve", "--listen", &listen, "--channel", "prices", "--grace", "600"];
    let mut served = Served::start(&serve);
    let client = Client::new(&listen, "prices");
    let (open, gate) = channel();
    let told = client.consumer(Some(gate));
    client.supplier().push(&event(1)).expect("taken");
    assert_eq!(told.recv_timeout(PATIENCE), Ok(1));
    served.signal(Signal::TERM);
    served.says(&["ending in peace", "grace=600s"]);
    served.signal(Signal::TERM);
    let (status, _) = served.ends();
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    drop(open);
}

#[test]
fn the_end_takes_no_longer_than_the_grace() {
    let listen = format!("127.0.0.1:{}", free_port());
    let serve = ["events", "serve", "--listen", &listen, "--channel", "prices", "--grace", "0.5"];
    let served = Served::start(&serve);
    let client = Client::new(&listen, "prices");
    let (open, gate) = channel();
    let told = client.consumer(Some(gate));
    client.supplier().push(&event(1)).expect("taken");
    assert_eq!(told.recv_timeout(PATIENCE), Ok(1));
    served.signal(Signal::TERM);
    let (status, log) = served.ends();
    assert_eq!(status.code(), Some(0), "{log:?}");
    assert!(log.iter().any(|line| line.contains("events are lost")), "{log:?}");
    drop(open);
}

#[test]
fn a_naming_server_ends_in_peace_and_keeps_what_was_bound() {
    let folder = ScratchFolder::new("ending-names");
    let store = folder.path().join("names.redb");
    let listen = format!("127.0.0.1:{}", free_port());
    let serve = ["naming", "serve", "--listen", &listen, "--store", store.to_str().expect("text")];
    let served = Served::start(&serve);
    let orb = Orb::init(["-ORBId", "client"]).expect("an ORB");
    let naming = Naming::at(&orb, &format!("corbaloc::{listen}/NameService")).expect("a context");
    let root = format!("corbaloc::{listen}/NameService");
    let object = orb.string_to_object(&root).expect("a reference");
    let (tell, told) = channel();
    let binding = std::thread::spawn(move || {
        for number in 0.. {
            if naming.bind(&format!("name {number}"), &object).is_err() {
                return number;
            }
            let _ = tell.send(());
        }
        unreachable!("a server is told to end long before")
    });
    told.recv_timeout(PATIENCE).expect("bound");
    served.ends_in_peace();
    let acknowledged = binding.join().expect("no panic");
    let served = Served::start(&serve);
    let naming = Naming::at(&orb, &format!("corbaloc::{listen}/NameService")).expect("a context");
    for number in 0..acknowledged {
        assert!(
            naming.resolve::<corbie::Object>(&format!("name {number}")).is_ok(),
            "name {number}"
        );
    }
    served.ends_in_peace();
    orb.shutdown(true);
}

/// Tells the payloads that came; waits in each while `gate` is closed.
struct RtListener {
    tell: Mutex<Sender<i32>>,
    gate: Mutex<Option<Receiver<()>>>,
}

impl rtec_event_comm::PushConsumerServant for RtListener {
    fn push(&self, data: &[rtec_event_comm::Event]) -> Result<(), SystemException> {
        for event in data {
            let number = event.data.payload.first_chunk().expect("four octets");
            let _ = self.tell.lock().expect("no panic").send(i32::from_be_bytes(*number));
        }
        if let Some(gate) = &*self.gate.lock().expect("no panic") {
            let _ = gate.recv_timeout(PATIENCE);
        }
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// A client of the real-time channel at `listen`: its ORB, what its consumer is told, and a
/// supplier.
fn real_time(
    listen: &str,
    gate: Option<Receiver<()>>,
) -> (Orb, Receiver<i32>, RtProxyPushConsumer) {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
    let poa = orb.root_poa().expect("a POA");
    poa.the_poa_manager().activate().expect("active");
    let object = orb.string_to_object(&format!("corbaloc::{listen}/EventService"));
    let channel = RtEventChannel::unchecked_narrow(object.expect("a reference"));
    let (tell, told) = std::sync::mpsc::channel();
    let listener = RtListener { tell: Mutex::new(tell), gate: Mutex::new(gate) };
    let listener = rtec_event_comm::PushConsumerSkeleton::new(listener);
    let consumer = poa.activate(listener).expect("active");
    let admin = channel.for_consumers().expect("an answer").expect("not nil");
    let proxy = admin.obtain_push_supplier().expect("an answer").expect("not nil");
    let all = corbie_rtevent::filter::any_event().subscription();
    proxy.connect_push_consumer(Some(&consumer), &all).expect("connected");
    let admin = channel.for_suppliers().expect("an answer").expect("not nil");
    let supplier = admin.obtain_push_consumer().expect("an answer").expect("not nil");
    supplier
        .connect_push_supplier(None, &Publication::of([Publication::new(1, 16)]))
        .expect("connected");
    (orb, told, supplier)
}

fn real_time_event(number: i32) -> rtec_event_comm::Event {
    let mut event = rtec_event_comm::Event::default();
    (event.header.r#type, event.header.source, event.header.ttl) = (16, 1, 1);
    event.data.payload = number.to_be_bytes().to_vec();
    event
}

#[test]
fn no_real_time_event_that_was_acknowledged_is_lost_when_a_server_is_told_to_end() {
    let listen = format!("127.0.0.1:{}", free_port());
    let served = Served::start(&["rtevents", "serve", "--listen", &listen]);
    let (orb, told, supplier) = real_time(&listen, None);
    let is_busy = Arc::new(AtomicBool::new(false));
    let pushed = Arc::clone(&is_busy);
    let pushing = std::thread::spawn(move || {
        for number in 0_i32.. {
            let event = real_time_event(number);
            // Without an answer; that of the next question says that all before it have come.
            let is_taken =
                supplier.push(&[event]).is_ok() && supplier.as_object().non_existent() == Ok(false);
            if !is_taken {
                return number;
            }
            pushed.store(true, Ordering::Release);
        }
        unreachable!("a server is told to end long before")
    });
    while !is_busy.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    served.ends_in_peace();
    let acknowledged = pushing.join().expect("no panic");
    let came: Vec<i32> = told.try_iter().take_while(|event| *event < acknowledged).collect();
    let expected: Vec<i32> = (0..acknowledged).collect();
    assert!(came == expected, "{} of {acknowledged} came", came.len());
    orb.shutdown(false);
}

#[test]
fn a_whole_system_of_mshn_leaves_nothing_behind_when_it_is_told_to_end() {
    let folder = ScratchFolder::new("ending-mshn");
    let metrics = format!("127.0.0.1:{}", free_ports(16));
    let mut up =
        command(&["mshn", "up", "--machines", "1", "--proxies", "0", "--jobs", "0", "--stay"]);
    up.args(["--log", "info", "--metrics", &metrics]);
    let (read, write) = std::io::pipe().expect("a pipe");
    let sockets = ScratchFolder::new("ending-mshn-sockets");
    let own = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(sockets.path(), own).expect("a folder of one user");
    up.env("TMPDIR", folder.path()).env("XDG_RUNTIME_DIR", sockets.path());
    let (served, lines) = Served::showing(up.stdin(Stdio::from(read)), "corbie mshn submit");
    assert!(page(&metrics).contains("\ncorbie_up 1\n"));
    let places = lines.iter().filter_map(|line| line.split(", metrics at http://").nth(1));
    let places: Vec<&str> = places.filter_map(|place| place.strip_suffix("/metrics")).collect();
    assert_eq!(places.len(), 5, "{lines:?}");
    places.iter().for_each(|place| assert!(page(place).contains("\ncorbie_up 1\n"), "{place}"));
    let has_any = |folder: &Path| std::fs::read_dir(folder).expect("a folder").next().is_some();
    let is_left = || has_any(folder.path()) || has_any(sockets.path());
    assert!(is_left(), "it keeps its stores there");
    served.signal(Signal::TERM);
    let (status, log) = served.ends();
    assert_eq!(status.code(), Some(0), "{log:?}");
    // Each process logs what was asked for.
    let serving = log.iter().filter(|line| line.contains("serving metrics"));
    assert_eq!(serving.count(), 6, "{log:?}");
    assert!(!is_left());
    drop(write);
}

/// The service manager of one server.
struct Manager {
    folder: ScratchFolder,
    socket: UnixDatagram,
}

impl Manager {
    fn start() -> Self {
        let folder = ScratchFolder::new("ending-notify");
        let socket = UnixDatagram::bind(folder.path().join("socket")).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        Self { folder, socket }
    }

    /// Waits until it is told this.
    fn hears(&self, what: &str) {
        let mut octets = [0; 1024];
        loop {
            let count = self.socket.recv(&mut octets).expect("a message");
            if String::from_utf8_lossy(&octets[..count]).contains(what) {
                return;
            }
        }
    }

    /// Watches the server with these arguments from its start to its end.
    fn watch(&self, arguments: &[&str]) {
        let filter = self.folder.path().join("filter");
        std::fs::write(&filter, "info").expect("written");
        let log = format!("file:{}", filter.display());
        let mut serve = command(&[arguments, &["--log", &log]].concat());
        serve.env("NOTIFY_SOCKET", self.folder.path().join("socket"));
        serve.env("WATCHDOG_USEC", "200000").env("XDG_RUNTIME_DIR", sockets().path());
        let mut served = Served::of(serve.args(["--metrics", "127.0.0.1:0"]));
        self.hears("READY=1");
        self.hears("WATCHDOG=1");
        self.hears("WATCHDOG=1");
        let line = served.has_said(&["INFO", "serving metrics"]);
        let metrics = line.split("http://").nth(1).and_then(|url| url.split('/').next());
        assert!(page(metrics.expect("a URL")).contains("\ncorbie_up 1\n"), "{arguments:?}");
        std::fs::write(&filter, "corbie_core=loud").expect("written");
        served.signal(Signal::HUP);
        self.hears("RELOADING=1");
        self.hears("READY=1");
        served.says(&["WARN", "the log's filter stays as it was", "corbie_core=loud"]);
        std::fs::write(&filter, "corbie_core=debug,info").expect("written");
        served.signal(Signal::HUP);
        served.says(&["INFO", "the log's filter was read"]);
        served.signal(Signal::TERM);
        self.hears("STOPPING=1");
        let (status, log) = served.ends();
        assert_eq!(status.code(), Some(0), "{arguments:?}: {log:?}");
        assert!(log.iter().any(|line| line.contains("ending in peace")), "{log:?}");
    }
}

/// The page of metrics at this place.
fn page(place: &str) -> String {
    let mut stream = TcpStream::connect(place).expect("it serves metrics");
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("written");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    page
}

/// A folder of this user alone, for unix-domain sockets.
fn sockets() -> ScratchFolder {
    let sockets = ScratchFolder::new("ending-sockets");
    let own = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(sockets.path(), own).expect("a folder of one user");
    sockets
}

/// All servers of the command: each tells when it is ready, alive, reading files again and
/// stopping, has metrics and a log, reads its filter again at SIGHUP, and ends with status 0.
#[test]
fn every_server_tells_the_service_manager_and_obeys_signals() {
    let folder = ScratchFolder::new("ending-servers");
    let store = folder.path().join("names.redb");
    let store = store.to_str().expect("text");
    let naming = Served::start(&["mshn", "serve", "naming", "--name", "naming"]);
    let reference = &*naming.first;
    let component = |kind| ["mshn", "serve", kind, "--name", "one", "-n", reference].to_vec();
    let kinds = ["events", "status", "requirements", "status-proxy", "requirements-proxy"];
    let kinds = kinds.into_iter().chain(["advisor", "daemon", "naming"]);
    let mut servers: Vec<Vec<&str>> = kinds.map(component).collect();
    servers.push(["naming", "serve", "--listen", "127.0.0.1:0", "--store", store].to_vec());
    servers.push(["events", "serve", "--listen", "127.0.0.1:0"].to_vec());
    servers.push(["rtevents", "serve", "--listen", "127.0.0.1:0"].to_vec());
    std::thread::scope(|scope| {
        for half in servers.chunks(servers.len().div_ceil(2)) {
            let watch = || half.iter().for_each(|server| Manager::start().watch(server));
            scope.spawn(watch);
        }
    });
    naming.ends_in_peace();
}

/// A second signal ends servers at once in which a request waits: one of a naming server for its
/// store, an event of a real-time server for its consumer.
#[test]
fn a_second_signal_ends_servers_that_wait() {
    let etcd = Etcd::start();
    let listen = ["naming", "serve", "--listen", "127.0.0.1:0", "--grace", "600"];
    let served = Served::start(&[&listen[..], &["--store", &etcd.store]].concat());
    let url = served.first.split_whitespace().find(|word| word.contains("corbaloc:"));
    let url = url.expect("where it is").trim_end_matches(';');
    let orb = Orb::init(["-ORBId", "client"]).expect("an ORB");
    let root = orb.string_to_object(url).expect("a reference");
    let root = NamingContext::unchecked_narrow(root);
    etcd.hold();
    let name = NameComponent { id: "a".to_owned(), kind: String::new() };
    let resolving = std::thread::spawn(move || root.resolve(&[name]).is_err());
    let _held = etcd.held();
    ends_at_once(served);
    assert!(resolving.join().expect("no panic"));
    orb.shutdown(false);

    let listen = format!("127.0.0.1:{}", free_port());
    let served = Served::start(&["rtevents", "serve", "--listen", &listen, "--grace", "600"]);
    let (open, gate) = channel();
    let (client, told, supplier) = real_time(&listen, Some(gate));
    supplier.push(&[real_time_event(1)]).expect("taken");
    assert_eq!(told.recv_timeout(PATIENCE), Ok(1));
    ends_at_once(served);
    drop(open);
    client.shutdown(false);
}

/// By the second signal: the first has begun an end that takes longer.
fn ends_at_once(mut served: Served) {
    served.signal(Signal::TERM);
    served.says(&["ending in peace", "grace=600s"]);
    served.signal(Signal::TERM);
    assert_eq!(served.ends().0.signal(), Some(Signal::TERM.as_raw()));
}

/// Leaves the processor to others.
fn pause() {
    // tidy: sleep: between two looks at what other processes have done
    std::thread::sleep(std::time::Duration::from_millis(10));
}

/// Commands that go on until they are interrupted: at a signal they disconnect, and end with 0.
#[test]
fn commands_that_are_interrupted_disconnect_and_end_with_status_0() {
    let listen = format!("127.0.0.1:{}", free_port());
    let served = Served::start(&["events", "serve", "--listen", &listen, "--channel", "prices"]);
    let statistics = || {
        let output = command(&["events", "stats", "prices", "-f", &listen]).output();
        String::from_utf8(output.expect("it ends").stdout).expect("UTF-8")
    };
    let until = |holds: &dyn Fn(&str) -> bool| {
        let end = Instant::now() + PATIENCE;
        while let statistics = statistics()
            && !holds(&statistics)
        {
            assert!(Instant::now() < end, "{statistics}");
            pause();
        }
    };
    let are = |count| move |text: &str| text.matches("\"queued\"").count() == count;
    for kind in [&[][..], &["--pushed"][..]] {
        for signal in [Signal::INT, Signal::TERM] {
            let tail = ["events", "tail", "prices", "-f", &listen, "--log", "info"];
            let mut tail = Served::beginning(&[&tail[..], kind].concat());
            until(&are(1));
            tail.signal(signal);
            tail.says(&["ending in peace"]);
            let (status, log) = tail.ends();
            assert_eq!(status.code(), Some(0), "{kind:?}: {log:?}");
            until(&are(0));
        }
    }
    served.ends_in_peace();

    let served = Served::start(&["rtevents", "serve", "--listen", &listen, "--channel", "prices"]);
    let statistics = || {
        let output = command(&["rtevents", "stats", "prices", "-f", &listen]).output();
        String::from_utf8(output.expect("it ends").stdout).expect("UTF-8")
    };
    let tail = Served::beginning(&["rtevents", "tail", "prices", "-f", &listen]);
    let end = Instant::now() + PATIENCE;
    while statistics().matches("\"queued\"").count() != 1 {
        assert!(Instant::now() < end, "{}", statistics());
        pause();
    }
    tail.signal(Signal::INT);
    assert_eq!(tail.ends().0.code(), Some(0));
    assert_eq!(statistics().matches("\"queued\"").count(), 0, "{}", statistics());
    served.ends_in_peace();

    let folder = ScratchFolder::new("ending-watch");
    let store = folder.path().join("names.redb");
    let store = ["--store", store.to_str().expect("text")];
    let served = Served::start(&[&["naming", "serve", "--listen", &listen], &store[..]].concat());
    let mut watch = Served::start(&["naming", "watch", "-n", &listen, "--log", "info"]);
    assert_eq!(watch.first, "watching; Ctrl-C ends it");
    watch.signal(Signal::INT);
    watch.says(&["ending in peace"]);
    assert_eq!(watch.ends().0.code(), Some(0));
    served.ends_in_peace();
}

/// As the book's page on TLS has it; and what an operator does when a certificate is to end.
#[test]
fn a_server_of_tls_is_reached_and_reads_its_certificate_again() {
    let folder = Folder::default();
    let authority = Authority::new("the authority");
    let old = authority.issue_for("the server", &["127.0.0.1"], Validity::Days(20));
    let tls = folder.arguments("server", &old, &authority);
    let names = folder.path().join("names");
    let serve = ["naming", "serve", "--listen", "ssliop://127.0.0.1:0", "--store"];
    let serve = serve.into_iter().chain(names.to_str()).chain(tls.iter().map(String::as_str));
    let mut served = Served::start(&serve.collect::<Vec<_>>());
    served.says(&["WARN", "CN=the server", "expires in 19 days"]);
    let mut words = served.first.split_whitespace();
    let place = words.find_map(|word| Some(&word[word.find("corbaloc:ssliop:")?..]));
    let place = place.expect("where it is").trim_end_matches(';').to_owned();
    let list = |tls: &[String]| {
        let list = ["naming", "list", "--name-service", &place].into_iter();
        let list: Vec<_> = list.chain(tls.iter().map(String::as_str)).collect();
        command(&list).output().expect("it ends")
    };
    let client = authority.issue("a client", &[]);
    let client = folder.arguments("client", &client, &authority);
    let listed = list(&client);
    assert!(listed.status.success(), "{listed:?}");
    let refused = list(&client[4..]);
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && why.contains("wants a certificate"), "{why}");
    folder.arguments("server", &authority.issue("the server", &["127.0.0.1"]), &authority);
    served.signal(Signal::HUP);
    served.says(&["INFO", "the files of certificates were read"]);
    folder.write("server.key", "no key");
    served.signal(Signal::HUP);
    served.says(&["WARN", "certificates stay as they were", "tls_key"]);
    assert!(list(&client).status.success());
    served.ends_in_peace();
}

#[test]
fn any_orb_runs_until_it_is_shut_down() {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
    orb.root_poa().expect("a POA");
    let url = format!("corbaloc::{}/None", orb.listen_addresses()[0]);
    let other = orb.clone();
    let ends = std::thread::spawn(move || other.run_until_signal());
    orb.shutdown(true);
    assert_eq!(ends.join().expect("no panic"), Ok(()));
    let client = Orb::init(["-ORBId", "client"]).expect("an ORB");
    let gone = client.string_to_object(&url).and_then(|object| object.non_existent());
    let kind = gone.expect_err("it does not listen").kind;
    assert!(matches!(kind, SystemExceptionKind::Transient | SystemExceptionKind::CommFailure));
    client.shutdown(true);
}
