//! A whole run as `cargo xtask bench` starts it, with one contender, and a process of each kind.
//!
//! Run by `cargo test`; the numbers of a debug build on a busy machine mean nothing and are not
//! looked at, only that they are there and fit together.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_corbie-bench");

#[test]
fn a_run_writes_table_json_and_picture() {
    let name = format!("whole-run-{}", std::process::id());
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new(PROGRAM)
        .args(["ami-latency", "--quick", "--only", "raw-unix", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(table.contains("| raw-unix | same-core |"), "{table}");
    let json = std::fs::read_to_string(out.join("ami-latency.json")).unwrap();
    let record: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(record["rounds"], 5);
    assert!(
        record["machine"]["request_octets"].as_u64() > record["machine"]["reply_octets"].as_u64()
    );
    let rows = record["rows"].as_array().unwrap();
    let p50 = rows.iter().find(|row| row["metric"] == "rtt_p50_us").unwrap();
    let number = |name: &str| p50[name].as_f64().unwrap();
    assert!(0.0 < number("low") && number("low") <= number("value"));
    assert!(number("value") <= number("high"));
    assert!(record["ratios"]["corbie-smi / raw-tcp : rtt_p50_us @ same-core"].is_null());
    let picture = std::fs::read_to_string(out.join("ami-latency.svg")).unwrap();
    assert!(picture.contains("raw-unix"));
    std::fs::remove_dir_all(&out).unwrap();
}

/// A server or client of Corbie; ends when dropped.
struct Process {
    child: Child,
    input: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Process {
    fn start(arguments: &[&str]) -> Process {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Process { input: child.stdin.take(), child, lines }
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap().unwrap()
    }

    fn ask(&mut self, order: &str) -> String {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{order}").unwrap();
        input.flush().unwrap();
        self.line()
    }

    /// Closes the input; the process has to end of itself.
    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn corbie_obeys_every_order() {
    let mut server = Process::start(&["serve", "corbie"]);
    let ready = server.line();
    let reference = ready.strip_prefix("ready ").unwrap();
    let mut client = Process::start(&["drive", "corbie", reference]);
    assert!(client.ask("latency 10 100").starts_with("samples "));
    for order in ["threads 3 5 50", "oneways 20", "octets 100000 5 20"] {
        let answer = client.ask(order);
        let calls: u64 = answer.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(answer.starts_with("rate ") && calls > 0, "{order}: {answer}");
    }
    assert!(client.ask("dance 5").starts_with("error "));
    client.end();
    server.end();
}

#[test]
fn contenders_of_tls_obey_the_orders_of_the_experiment() {
    for (kind, arguments) in [("corbie", &["--tls"][..]), ("raw", &["--sizes=92:32"])] {
        let mut serve = vec!["serve", kind, "--tls"];
        if kind == "raw" {
            serve.extend(arguments);
        }
        let mut server = Process::start(&serve);
        let ready = server.line();
        let address = ready.strip_prefix("ready ").unwrap();
        let mut client = Process::start(&[&["drive", kind, address], arguments].concat());
        let answer = client.ask("latency 10 100");
        assert!(answer.starts_with("samples "), "{kind}: {answer}");
        let answer = client.ask("octets 100000 5 20");
        assert!(answer.starts_with("rate "), "{kind}: {answer}");
        client.end();
        server.end();
    }
    let picked = Command::new(PROGRAM).arg("--list").output().unwrap();
    assert!(String::from_utf8_lossy(&picked.stdout).contains("\ntls "));
}

#[test]
fn every_mechanism_makes_the_same_call() {
    let mut server = Process::start(&["serve", "corbie"]);
    let ready = server.line();
    let reference = ready.strip_prefix("ready ").unwrap();
    for arguments in [
        &["callback", "-ORBEventLoop", "application"][..],
        &["poller"],
        &["future"],
        &["dii"],
        &["dii-deferred"],
    ] {
        let drive = [&["drive", "corbie", reference], arguments].concat();
        let mut client = Process::start(&drive);
        let answer = client.ask("latency 5 50");
        assert!(answer.starts_with("samples "), "{arguments:?}: {answer}");
        client.end();
    }
    for (mechanism, order, start) in [
        ("callback", "pipelined 5000", "rate 5000 "),
        ("dii-deferred", "pipelined 2000", "rate 2000 "),
        ("callback", "unbounded 60 20", "steps "),
    ] {
        let mut client = Process::start(&["drive", "corbie", reference, mechanism]);
        let answer = client.ask(order);
        assert!(answer.starts_with(start), "{mechanism}, {order}: {answer}");
        client.end();
    }
    server.end();
}

#[test]
fn gioplite_saves_octets() {
    let endpoint = ["-ORBListenEndpoints", "giopl://127.0.0.1:0"];
    let mut server = Process::start(&[&["serve", "corbie"], &endpoint[..]].concat());
    let ready = server.line();
    let reference = ready.strip_prefix("ready ").unwrap();
    let octets = |mechanism: &'static str, more: &[&'static str]| -> (u64, u64) {
        let drive = [&["drive", "corbie", reference, mechanism], more].concat();
        let mut client = Process::start(&drive);
        let answer = client.ask("wire");
        client.end();
        let mut numbers = answer.strip_prefix("wire ").unwrap().split(' ').map(|n| n.parse());
        (numbers.next().unwrap().unwrap(), numbers.next().unwrap().unwrap())
    };
    for (mechanism, less_in_request) in [("cube", 16..=24), ("noop", 16..=19)] {
        let giop = octets(mechanism, &[]);
        let lite = octets(mechanism, &["-ORBgioplite"]);
        assert!(less_in_request.contains(&(giop.0 - lite.0)), "{mechanism}: {giop:?} {lite:?}");
        assert_eq!(giop.1 - lite.1, 12, "{mechanism}: {giop:?} {lite:?}");
    }
    server.end();
}

#[test]
fn mshn_answers_every_request_by_every_mechanism() {
    for arguments in [
        &["local"][..],
        &["sii"],
        &["dii", "--unix"],
        &["ami", "--advisors", "2"],
        &["untyped", "--channels", "2"],
        &["typed", "--servers", "2", "--advisors", "2"],
    ] {
        let mut client = Process::start(&[&["drive", "mshn"], arguments].concat());
        assert!(client.ask("requests 0 5 0 0 0").starts_with("error the components have not"));
        let answer = client.ask("components 100");
        assert!(answer.starts_with("rate "), "{arguments:?}: {answer}");
        // One after the other with the name resolved for each, then all at once.
        for order in ["requests 2 10 0 0 1", "requests 0 40 1 50 0"] {
            let count = order.split(' ').nth(2).unwrap();
            let answer = client.ask(order);
            let expected = format!("answered {count} {count} ");
            assert!(answer.starts_with(&expected), "{arguments:?}, {order}: {answer}");
        }
        client.end();
    }
}

#[test]
fn every_middle_tier_passes_calls_on() {
    let mut sink = Process::start(&["serve", "sink", "--delay-ms=2"]);
    let ready = sink.line();
    let sink_reference = ready.strip_prefix("ready ").unwrap();
    for arguments in [
        &["synchronous"][..],
        &["synchronous:1", "-ORBServerConcurrency", "reactive", "-ORBReplyWait", "reactor"],
        &["amh:2", "-ORBServerConcurrency", "reactive"],
        &["async:1", "-ORBServerConcurrency", "reactive"],
    ] {
        let tier = [&["tier", "corbie", sink_reference], arguments].concat();
        let mut tier = Process::start(&tier);
        let ready = tier.line();
        let mut sources =
            Process::start(&["drive", "sources", ready.strip_prefix("ready ").unwrap()]);
        let answer = sources.ask("connect 20");
        assert!(answer.starts_with("rate 20 "), "{arguments:?}: {answer}");
        let answer = sources.ask("sources 20 20 300");
        assert!(answer.starts_with("rate "), "{arguments:?}: {answer}");
        sources.end();
        tier.end();
    }
    sink.end();
}
