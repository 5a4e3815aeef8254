//! `corbie events`: the server as a process of its own and the subcommands that use it; channels
//! found by name.

mod process;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corbie_testkit::servers::{Server, free_port};
use process::{Outcome, corbie};
use serde_json::Value as Json;

const PATIENCE: Duration = Duration::from_secs(60);

fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_corbie"))
        .args(arguments)
        .env_remove("CORBIE_CONFIG_FILE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built with the test")
}

fn lines(process: &mut Child) -> impl Iterator<Item = String> + use<> {
    let output = process.stdout.take().expect("its output is piped");
    BufReader::new(output).lines().map(|line| line.expect("it writes UTF-8"))
}

/// `corbie events serve`, killed when it is dropped.
struct Events {
    _server: Server,
    factory: String,
    address: String,
}

impl Events {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(more: &[&str]) -> Self {
        let listen = format!("127.0.0.1:{}", free_port());
        let given =
            ["events", "serve", "--print-reference", "--listen", &listen, "--channel", "prices"];
        let mut process = start(&[&given, more].concat());
        let first = lines(&mut process).next().expect("a line");
        assert!(first.starts_with("IOR:"), "the first line is {first:?}");
        let factory = format!("corbaloc::{listen}/EventChannelFactory");
        Self { _server: Server::of(process), factory, address: listen }
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        corbie(&[&["events"], arguments, &["-f", &self.factory]].concat())
    }

    fn statistics(&self) -> Json {
        let outcome = self.run(&["stats", "prices"]);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        serde_json::from_str(&outcome.stdout).expect("it is JSON")
    }

    fn wait_for_consumers(&self, count: usize) {
        self.wait_for_consumers_of("prices", count);
    }

    fn wait_for_consumers_of(&self, channel: &str, count: usize) {
        let end = Instant::now() + PATIENCE;
        loop {
            let outcome = self.run(&["stats", channel]);
            let counters: Json = serde_json::from_str(&outcome.stdout).expect("it is JSON");
            if counters["consumers"].as_array().map(Vec::len) == Some(count) {
                return;
            }
            assert!(Instant::now() < end, "there are not {count} consumers: {counters}");
        }
    }
}

#[test]
fn events_go_from_one_shell_to_another() {
    let events = Events::start();
    let mut tail = start(&["events", "tail", "prices", "-f", &events.factory]);
    let mut shown = lines(&mut tail);
    let _tail = Server::of(tail);
    events.wait_for_consumers(1);
    let point = r#"{"type":{"kind":"struct","id":"IDL:Point:1.0","name":"Point","members":[
        {"name":"x","type":"long"}]},"value":{"x":7}}"#;
    let outcome = events.run(&["push", "prices", "42", "\"IBM\"", "true", "2.5", point]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let mut next =
        || -> Json { serde_json::from_str(&shown.next().expect("a line")).expect("it is JSON") };
    for (kind, value) in [("long", "42"), ("string", "\"IBM\""), ("boolean", "true")] {
        let event = next();
        assert_eq!(
            (event["type"].as_str(), event["value"].to_string()),
            (Some(kind), value.into())
        );
    }
    assert_eq!(next()["value"].as_f64(), Some(2.5));
    assert_eq!(next()["value"]["x"].as_i64(), Some(7));
    assert_eq!(events.statistics()["received"].as_u64(), Some(5));
}

#[test]
fn an_event_may_be_longer_in_coming_than_calls_may_take() {
    let events = Events::start();
    let pull = ["events", "pull", "prices", "-t", "9", "-f", &events.factory];
    let mut pull = start(&pull);
    let mut shown = lines(&mut pull);
    let mut pull = Server::of(pull);
    events.wait_for_consumers(1);
    // tidy: sleep: longer than `-t`, which is the subject
    std::thread::sleep(Duration::from_secs(11));
    assert!(pull.is_running(), "it waits for its event longer than for an answer");
    assert_eq!(events.run(&["push", "prices", "7"]).status, 0);
    assert_eq!(shown.next().as_deref(), Some(r#"{"type":"long","value":7}"#));
}

#[test]
fn a_supplier_that_is_pulled_may_be_silent_for_longer_than_calls_may_take() {
    let events = Events::start_with(&["-t", "9"]);
    let mut pull = start(&["events", "pull", "prices", "-c", "2", "-f", &events.factory]);
    let mut shown = lines(&mut pull);
    let _pull = Server::of(pull);
    let mut push = Command::new(env!("CARGO_BIN_EXE_corbie"))
        .args(["events", "push", "prices", "-", "--pulled", "-f", &events.factory])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the binary was built with the test");
    let mut input = push.stdin.take().expect("its input is piped");
    let mut push = Server::of(push);
    events.wait_for_consumers(1);
    let end = Instant::now() + PATIENCE;
    while events.statistics()["suppliers"] != 1 {
        assert!(push.is_running() && Instant::now() < end, "it has not connected");
    }
    // tidy: sleep: longer than `-t`, which is the subject
    std::thread::sleep(Duration::from_secs(11));
    input.write_all(b"1\n2\n").expect("it reads");
    assert_eq!(shown.next().as_deref(), Some(r#"{"type":"long","value":1}"#));
    assert_eq!(shown.next().as_deref(), Some(r#"{"type":"long","value":2}"#));
}

#[test]
fn a_channel_is_made_and_found_by_name() {
    let events = Events::start();
    let names = format!("127.0.0.1:{}", free_port());
    let store = process::scratch_folder("events-names").join("names.redb");
    let store = store.to_str().expect("UTF-8");
    let given = ["naming", "serve", "--print-reference", "--listen", &names, "--store", store];
    let mut process = start(&given);
    lines(&mut process).next().expect("it serves");
    let _names = Server::of(process);
    let naming = format!("corbaloc::{names}/NameService");
    let made = events.run(&["create", "alarms", "--bind", "alarms", "-n", &naming]);
    assert!(made.stdout.starts_with("IOR:"), "{made:?}");
    let again = events.run(&["create", "alarms", "--when-full", "disconnect"]);
    assert_eq!(again.status, 2, "it has another quality of service: {again:?}");
    let url = format!("corbaname::{names}#alarms");
    let mut pull = start(&["events", "pull", &url, "--count", "2"]);
    let mut shown = lines(&mut pull);
    let _pull = Server::of(pull);
    let end = Instant::now() + PATIENCE;
    while !events.run(&["stats", "alarms"]).stdout.contains("\"is_pulling\": true") {
        assert!(Instant::now() < end, "no consumer pulls");
    }
    let pushed = corbie(&["events", "push", &url, "1", "2"]);
    assert_eq!(pushed.status, 0, "{pushed:?}");
    let texts: Vec<String> = shown.by_ref().take(2).collect();
    let values = texts.iter().map(|text| serde_json::from_str::<Json>(text).expect("JSON"));
    assert_eq!(values.map(|v| v["value"].as_i64()).collect::<Vec<_>>(), [Some(1), Some(2)]);
}

/// Runs a command with these lines as its standard input; what it prints.
fn fed(arguments: &[&str], lines: &str) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_corbie"))
        .args(arguments)
        .env_remove("CORBIE_CONFIG_FILE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built with the test");
    let mut input = process.stdin.take().expect("its input is piped");
    input.write_all(lines.as_bytes()).expect("it reads");
    drop(input);
    let output = process.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("it writes UTF-8")
}

#[test]
fn suppliers_and_consumers_of_all_four_kinds_meet() {
    let events = Events::start();
    let tail = |more: &[&str]| {
        let given = ["events", "tail", "prices", "-f", &events.address];
        let mut process = start(&[&given, more].concat());
        let shown = lines(&mut process);
        (shown, Server::of(process))
    };
    let (mut pulling, _pulling) = tail(&[]);
    let (mut pushed_to, _pushed_to) = tail(&["--pushed"]);
    events.wait_for_consumers(2);
    let push = ["events", "push", "prices", "-", "--show", "-f", &events.address];
    let given = "1\n\"two\"\n-3.5\n";
    assert_eq!(fed(&push, given), given, "pushed");
    assert_eq!(fed(&[&push[..], &["--pulled"]].concat(), given), given, "pulled");
    for (who, shown) in [("pulling", &mut pulling), ("pushed to", &mut pushed_to)] {
        for expected in ["1", "\"two\"", "-3.5", "1", "\"two\"", "-3.5"] {
            let line = shown.next().expect("a line");
            let event: Json = serde_json::from_str(&line).expect("it is JSON");
            assert_eq!(event["value"].to_string(), expected, "{who}");
        }
    }
    assert_eq!(events.statistics()["suppliers"].as_u64(), Some(0), "they have taken leave");
}

#[test]
fn a_consumer_that_was_killed_is_found_out() {
    let events = Events::start_with(&["--idle-limit", "0.1"]);
    let made = events.run(&["create", "watched", "--give-up-after", "100"]);
    assert_eq!(made.status, 0, "{made:?}");
    let tail = ["events", "tail", "watched", "-f", &events.address];
    let mut tails = [start(&tail), start(&[&tail[..], &["--pushed"]].concat())];
    events.wait_for_consumers_of("watched", 2);
    for process in &mut tails {
        process.kill().expect("killed");
        process.wait().expect("it ended");
    }
    events.wait_for_consumers_of("watched", 0);
}

#[test]
fn a_server_binds_its_channels_by_name() {
    let names = format!("127.0.0.1:{}", free_port());
    let store = process::scratch_folder("events-server-names").join("names.redb");
    let store = store.to_str().expect("UTF-8");
    let given = ["naming", "serve", "--print-reference", "--listen", &names, "--store", store];
    let mut process = start(&given);
    lines(&mut process).next().expect("it serves");
    let _names = Server::of(process);
    let events = Events::start_with(&["--name", "shop/events", "-n", &names]);
    let channel = format!("corbaname::{names}#shop/events/prices");
    let mut pull = start(&["events", "pull", &channel]);
    let mut shown = lines(&mut pull);
    let _pull = Server::of(pull);
    events.wait_for_consumers(1);
    let factory = format!("corbaname::{names}#shop/events/EventChannelFactory");
    let pushed = corbie(&["events", "push", "prices", "7", "-f", &factory]);
    assert_eq!(pushed.status, 0, "{pushed:?}");
    let event: Json = serde_json::from_str(&shown.next().expect("a line")).expect("JSON");
    assert_eq!(event["value"].as_i64(), Some(7));
}

#[test]
fn channels_are_listed_and_destroyed() {
    let events = Events::start();
    assert_eq!(events.run(&["create", "alarms"]).status, 0);
    assert_eq!(events.run(&["list"]).stdout, "alarms\nprices\n");
    let all: Json = serde_json::from_str(&events.run(&["stats"]).stdout).expect("JSON");
    assert_eq!(all["alarms"]["received"].as_u64(), Some(0), "{all}");
    let initial = format!("EventChannelFactory={}", events.factory);
    let gone = corbie(&["events", "destroy", "alarms", "-ORBInitRef", &initial]);
    assert_eq!(gone.status, 0, "{gone:?}");
    assert_eq!(events.run(&["list"]).stdout, "prices\n");
    let tail = start(&["events", "tail", "prices", "-f", &events.address]);
    events.wait_for_consumers(1);
    assert_eq!(events.run(&["destroy", "prices"]).status, 0);
    let output = tail.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn mistakes_are_said() {
    let events = Events::start();
    let unknown = events.run(&["push", "nothing", "1"]);
    assert_eq!((unknown.status, unknown.stderr.contains("no channel")), (2, true), "{unknown:?}");
    let nowhere = corbie(&["events", "stats", "prices"]);
    assert_eq!(nowhere.status, 64, "{nowhere:?}");
    assert!(unknown.stderr.contains("prices"), "it says what there is: {unknown:?}");
    let nowhere = corbie(&["events", "list", "-f", "localhost"]);
    assert_eq!((nowhere.status, nowhere.stderr.contains("HOST:PORT")), (64, true), "{nowhere:?}");
    let unnamed = corbie(&["events", "serve", "--channel", "x", "-n", "localhost:1"]);
    assert_eq!((unnamed.status, unnamed.stderr.contains("--name")), (64, true), "{unnamed:?}");
    let minus = events.run(&["push", "prices", "-5"]);
    assert_eq!(minus.status, 0, "a negative number is no option: {minus:?}");
    let wrong = events.run(&["push", "prices", "IBM"]);
    assert_eq!((wrong.status, wrong.stderr.contains("events[0]")), (64, true), "{wrong:?}");
}

/// The IDL of typed events.
const STOCK: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../services/event/tests/idl/Stock.idl");

#[test]
fn typed_events_go_from_one_shell_to_another() {
    let events = Events::start();
    let made = events.run(&["create", "ticker", "--typed", "Stock::Ticker", "--idl", STOCK]);
    assert!(made.stdout.starts_with("IOR:"), "{made:?}");
    let reference = made.stdout.trim();
    let mut pushed = start(&["events", "tail", "ticker", "--pushed", "-f", &events.factory]);
    let mut all = lines(&mut pushed);
    let _pushed = Server::of(pushed);
    let clock = ["--typed", "Stock::Clock", "--idl", STOCK];
    let mut clock = start(&[&["events", "pull", reference, "-c", "1"], &clock[..]].concat());
    let mut ticks = lines(&mut clock);
    let _clock = Server::of(clock);
    let end = Instant::now() + PATIENCE;
    while events.run(&["stats", "ticker"]).stdout.matches("is_pulling").count() != 2 {
        assert!(Instant::now() < end, "there are not two consumers");
    }

    let offer = r#"{"operation": "::Stock::Ticker::offer", "arguments": {
        "data": {"symbol": "EMCA", "cents": -7, "at": "NYSE", "depth": [1.5]}, "remark": "größer",
        "extra": {"type": "long", "value": 5}, "why": {"_d": "NYSE", "code": 9}}}"#;
    let price = r#"{"operation": "price", "arguments": {"symbol": "ACME", "cents": 4711}}"#;
    let tick = r#"{"operation": "tick", "arguments": {"at": 3}}"#;
    let closed = r#"{"operation": "closed"}"#;
    let given = ["push", "ticker", "--typed", "Stock::Ticker", "--idl", STOCK];
    let outcome = events.run(&[&given[..], &[price, offer, tick, closed]].concat());
    assert_eq!(outcome.status, 0, "{outcome:?}");

    let mut next =
        || -> Json { serde_json::from_str(&all.next().expect("a line")).expect("it is JSON") };
    let shown = next();
    assert_eq!(shown["operation"], "::Stock::Ticker::price");
    assert_eq!(shown["arguments"].to_string(), r#"{"symbol":"ACME","cents":4711}"#);
    let offered = next();
    assert_eq!(offered["operation"], "::Stock::Ticker::offer");
    assert_eq!(offered["arguments"]["data"]["at"], "NYSE");
    assert_eq!(offered["arguments"]["remark"], "größer");
    assert_eq!(offered["arguments"]["extra"]["value"], 5);
    assert_eq!(offered["arguments"]["why"]["code"], 9);
    assert_eq!(next()["operation"], "::Stock::Clock::tick");
    assert_eq!(next()["operation"], "::Stock::Ticker::closed");
    let tick: Json = serde_json::from_str(&ticks.next().expect("a line")).expect("it is JSON");
    assert_eq!(tick["arguments"]["at"], 3, "{tick}: only what the interface has");
}

#[test]
fn mistakes_about_typed_events_are_said() {
    let events = Events::start();
    let says = |arguments: &[&str], status: i32, what: &str| {
        let outcome = events.run(arguments);
        assert_eq!((outcome.status, outcome.stderr.contains(what)), (status, true), "{outcome:?}");
    };
    says(
        &["create", "wrong", "--typed", "Stock::HasInOut", "--idl", STOCK],
        64,
        "price: symbol is inout, and has to be in",
    );
    says(&["create", "wrong", "--typed", "Stock::Tickr", "--idl", STOCK], 64, "Stock::Ticker");
    let typed = ["--typed", "Stock::Clock", "--idl", STOCK];
    let made = events.run(&[&["create", "clocks"], &typed[..]].concat());
    assert_eq!(made.status, 0, "{made:?}");
    let tick = r#"{"operation": "tick", "arguments": {"at": 3}}"#;
    says(&[&["push", "prices", tick], &typed[..]].concat(), 2, "not for typed events");
    let push = |event: &'static str| [&["push", "clocks", event], &typed[..]].concat();
    says(&push(r#"{"operation": "tock"}"#), 64, "::Stock::Clock has no operation `tock`");
    says(&push(r#"{"operation": "tick"}"#), 64, "tick needs `at`");
    says(&push(r#"{"operation": "tick", "arguments": {"at": 1, "on": 2}}"#), 64, "`on`");
    says(&push(r#"{"operation": "tick", "arguments": {"at": "noon"}}"#), 64, "events[0].at");
    says(&push("42"), 64, "events[0] is no call");
    let other = ["push", "clocks", tick, "--typed", "Stock::Stranger", "--idl", STOCK];
    says(&other, 64, "has no operation `tick`");
    let price = r#"{"operation": "price", "arguments": {"symbol": "ACME", "cents": 4711}}"#;
    let other = ["push", "clocks", price, "--typed", "Stock::Stranger", "--idl", STOCK];
    says(&other, 2, "knows no interface IDL:test.corbie/Stock/Stranger:1.0");
}
