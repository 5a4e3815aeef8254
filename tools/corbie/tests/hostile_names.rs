//! Names and events that other clients chose may have what a terminal obeys: each command that shows
//! them shows it as text. Files that servers write are for their user alone.

mod process;

use corbie::{Any, Object, Orb};
use corbie_event::corbie_events::{ChannelQos, EventChannelFactory, Overflow};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_naming::Naming;
use corbie_testkit::servers::{ScratchFolder, Server, free_port, say_missing};
use process::{Outcome, corbie};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Clears the screen, sets the title, goes back on the line; in C0 and in C1.
const HOSTILE: &str = "evil\u{1b}[2J\u{1b}]0;title\u{7}\r\u{9b}31m\u{7f}\nforged";

/// A server of `corbie`, and the first line that it wrote.
fn serve(arguments: &[&str]) -> (Server, String) {
    let mut process = start(arguments);
    let line = BufReader::new(process.stdout.take().expect("piped")).lines().next();
    (Server::of(process), line.expect("a line").expect("text"))
}

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_corbie"))
        .args(arguments)
        .env_remove("CORBIE_CONFIG_FILE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built with the test")
}

/// What was shown names it, and has nothing that a terminal obeys; no line was forged.
fn is_harmless(command: &str, shown: &str) {
    let harmful =
        |character: char| (character.is_control() && character != '\n') || character == '\u{202e}';
    assert!(!shown.contains(harmful), "{command}: {shown:?}");
    assert!(shown.contains(r"\u{1b}") || shown.contains(r"\u001b"), "{command}: {shown:?}");
    let is_forged = shown.lines().any(|line| line.trim_start().starts_with("forged"));
    assert!(!is_forged, "{command}: {shown:?}");
}

fn of(command: &str, Outcome { status, stdout, stderr }: &Outcome, succeeds: bool) {
    assert_eq!(*status == 0, succeeds, "{command}: {stdout} {stderr}");
    is_harmless(command, if succeeds { stdout } else { stderr });
}

fn are_private(folder: &Path) {
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let mode = path.metadata().expect("it").permissions().mode() & 0o777;
        match path.is_dir() {
            true => {
                assert_eq!(mode, 0o700, "{}", path.display());
                are_private(&path);
            }
            false => assert_eq!(mode, 0o600, "{}", path.display()),
        }
        files += 1;
    }
    assert!(files > 0, "{}", folder.display());
}

#[test]
fn naming_commands_show_what_a_terminal_would_obey() {
    let folder = ScratchFolder::new("hostile-names");
    let store = folder.path().join("names.redb");
    let listen = format!("127.0.0.1:{}", free_port());
    let store = store.to_str().expect("text");
    let serve = ["naming", "serve", "--print-reference", "--listen", &listen, "--store", store];
    let (_server, reference) = self::serve(&serve);
    are_private(folder.path());
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
    let root = orb.string_to_object(&reference).expect("a reference");
    let naming =
        Naming::at(&orb, &format!("corbaloc::{listen}/NameService")).expect("a naming context");
    let mut ior = root.ior().clone();
    ior.type_id = format!("IDL:{HOSTILE}:1.0");
    naming.bind(HOSTILE, &Object::new(&orb, ior.clone())).expect("bound");
    naming.bind_new_context(&format!("context {HOSTILE}")).expect("bound");
    let url = format!("corbaloc::{listen}/NameService");
    for command in ["list", "tree"] {
        of(command, &corbie(&["naming", command, "--name-service", &url]), true);
    }
    let missing = format!("missing {HOSTILE}");
    for command in ["resolve", "unbind", "list", "tree"] {
        let outcome = corbie(&["naming", command, &missing, "--name-service", &url]);
        of(command, &outcome, false);
    }
    let forged = Object::new(&orb, ior).to_string();
    of("ior dump", &corbie(&["ior", "dump", &forged]), true);
    let mut watch = start(&["naming", "watch", "--name-service", &url, "--interval", "0.05"]);
    let mut lines = BufReader::new(watch.stdout.take().expect("piped")).lines();
    let _watch = Server::of(watch);
    assert!(lines.next().expect("a line").expect("text").starts_with("watching"));
    naming.unbind(HOSTILE).expect("unbound");
    is_harmless("watch", &lines.next().expect("a line").expect("text"));
    orb.shutdown(true);
}

#[test]
fn event_commands_show_what_a_terminal_would_obey() {
    let folder = ScratchFolder::new("hostile-events");
    let store = folder.path().join("store");
    let listen = format!("127.0.0.1:{}", free_port());
    let store = store.to_str().expect("text");
    let serve = ["events", "serve", "--print-reference", "--listen", &listen, "--store", store];
    let (_server, reference) =
        self::serve(&[&serve[..], &["--durable-channel", "orders"]].concat());
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
    let factory = orb.string_to_object(&reference).expect("a reference");
    let factory = EventChannelFactory::unchecked_narrow(factory);
    let qos = ChannelQos {
        when_full: Overflow::DropOldest,
        queue_events: 0,
        queue_octets: 0,
        window: 0,
        push_timeout: 0,
        give_up_after: 0,
        is_durable: false,
        retain_seconds: 0,
        retain_octets: 0,
    };
    let channel = factory.create_channel(HOSTILE, &qos).expect("made").expect("not nil");
    let events = |arguments: &[&str]| corbie(&[&["events"], arguments, &["-f", &listen]].concat());
    of("list", &events(&["list"]), true);
    of("stats", &events(&["stats"]), true);
    of("stats of one", &events(&["stats", &format!("no {HOSTILE}")]), false);
    of("destroy", &events(&["destroy", &format!("no {HOSTILE}")]), false);

    let mut tail = start(&["events", "tail", HOSTILE, "-f", &listen]);
    let mut lines = BufReader::new(tail.stdout.take().expect("piped")).lines();
    let _tail = Server::of(tail);
    push_once_connected(&factory, &channel);
    is_harmless("tail", &lines.next().expect("a line").expect("text"));
    push(&orb, &factory);
    are_private(folder.path());
    orb.shutdown(true);
}

/// To the durable channel, so that there is a segment.
fn push(orb: &Orb, factory: &EventChannelFactory) {
    let channel = factory.find("orders").expect("an answer").expect("not nil");
    push_to(&EventChannel::unchecked_narrow(Object::new(orb, channel.as_object().ior().clone())));
}

fn push_once_connected(factory: &EventChannelFactory, channel: &EventChannel) {
    while factory.statistics(HOSTILE).expect("counters").consumers.is_empty() {
        std::thread::yield_now();
    }
    push_to(channel);
}

fn push_to(channel: &EventChannel) {
    let suppliers = channel.for_suppliers().expect("an answer").expect("not nil");
    let supplier = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
    supplier.connect_push_supplier(None).expect("connected");
    let event = Any::from_value::<String>(&HOSTILE.to_owned()).expect("an any");
    supplier.push(&event).expect("taken");
}

/// A server in a name space of processes of its own, as in a container, does not see the process
/// that calls it: the system says that it has the number 0.
#[test]
fn a_peer_whose_process_cannot_be_seen_is_served_and_named_as_such() {
    let folder = ScratchFolder::new("hostile-process");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (endpoint, store) = (format!("uiop://{}", path("socket")), path("names.redb"));
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", env!("CARGO_BIN_EXE_corbie")]);
    command.args(["naming", "serve", "--print-reference", "--store", &store, "--log", "debug"]);
    command.args(["-ORBListenEndpoints", &endpoint]).env_remove("CORBIE_CONFIG_FILE");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().expect("util-linux has `unshare`");
    let (output, errors) = (process.stdout.take(), process.stderr.take());
    let _server = Server::of(process);
    let mut log = BufReader::new(errors.expect("piped")).lines();
    let first = BufReader::new(output.expect("piped")).lines().next();
    let Some(Ok(reference)) = first else {
        return say_missing("a name space of processes (`unshare --pid`, as root)");
    };
    let listed = corbie(&["naming", "list", "-n", &reference]);
    assert_eq!(listed.status, 0, "{listed:?}");
    let parts = ["connection accepted", "of user", "that cannot be seen from here"];
    let named = log.find(|line| {
        let line = line.as_ref().expect("text");
        parts.iter().all(|part| line.contains(part))
    });
    assert!(named.is_some());
}

#[test]
fn a_server_says_what_it_refuses_where_its_operator_sees_it() {
    let listen = format!("127.0.0.1:{}", free_port());
    let serve = ["events", "serve", "--print-reference", "--listen", &listen];
    let mut process =
        start(&[&serve[..], &["--queues-octets-max", "1000", "--channel", "prices"]].concat());
    let said = BufReader::new(process.stderr.take().expect("piped")).lines();
    let line = BufReader::new(process.stdout.take().expect("piped")).lines().next();
    assert!(line.expect("a line").expect("text").starts_with("IOR:"));
    let _server = Server::of(process);
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
    let url = format!("corbaloc::{listen}/EventChannelFactory");
    let factory =
        EventChannelFactory::unchecked_narrow(orb.string_to_object(&url).expect("a reference"));
    let channel = factory.find("prices").expect("an answer").expect("not nil");
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    let puller = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
    puller.connect_pull_consumer(None).expect("connected");
    (0..20).for_each(|_| push_to(&channel));
    let line = said.map(|line| line.expect("text")).find(|line| line.contains(" WARN "));
    let line = line.expect("a line");
    assert!(line.contains("the queue of a consumer may not grow"), "{line}");
    orb.shutdown(true);
}
