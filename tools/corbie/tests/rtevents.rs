//! `corbie rtevents`: the server as a process of its own and the subcommands that use it.

mod process;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use corbie_testkit::servers::{Server, free_port};
use process::{Outcome, corbie};
use serde_json::{Value as Json, json};

const PATIENCE: Duration = Duration::from_secs(60);

fn start(arguments: &[&str]) -> (Server, impl Iterator<Item = String> + use<>) {
    let mut process: Child = Command::new(env!("CARGO_BIN_EXE_corbie"))
        .args(arguments)
        .env_remove("CORBIE_CONFIG_FILE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built with the test");
    let output = process.stdout.take().expect("its output is piped");
    let lines = BufReader::new(output).lines().map(|line| line.expect("it writes UTF-8"));
    (Server::of(process), lines)
}

struct Channels {
    _server: Server,
    address: String,
}

impl Channels {
    fn start(settings: &[&str]) -> Self {
        let listen = format!("127.0.0.1:{}", free_port());
        let given = ["rtevents", "serve", "--listen", &listen, "--channel", "vehicles"];
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let (server, mut lines) = start(&given.into_iter().chain(settings).collect::<Vec<_>>());
        let first = lines.next().expect("a line");
        assert_eq!(first, format!("serving corbaloc::{listen}/vehicles; Ctrl-C ends it"));
        Self { _server: server, address: listen }
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        corbie(&[&["rtevents"], arguments, &["-f", &self.address]].concat())
    }

    fn statistics(&self) -> Json {
        let outcome = self.run(&["stats", "vehicles"]);
        assert_eq!(outcome.status, 0, "{outcome:?}");
        serde_json::from_str(&outcome.stdout).expect("it is JSON")
    }

    fn wait_for_consumers(&self, count: usize) {
        let end = Instant::now() + PATIENCE;
        while self.statistics()["consumers"].as_array().map(Vec::len) != Some(count) {
            assert!(Instant::now() < end, "there are not {count} consumers");
        }
    }
}

#[test]
fn events_go_from_one_shell_to_those_that_want_them() {
    for settings in [&["preset=latency"][..], &["preset=throughput", "threads=2"]] {
        let channels = Channels::start(settings);
        let channel = format!("corbaloc::{}/vehicles", channels.address);
        let tails = [
            vec!["rtevents", "tail", &channel],
            vec!["rtevents", "tail", "vehicles", "--type", "17", "-f", &channels.address],
            vec![
                "rtevents",
                "tail",
                "vehicles",
                "--type",
                "16",
                "--type",
                "17",
                "--source",
                "2",
                "-f",
                &channels.address,
            ],
        ];
        let mut tails = tails.map(|arguments| start(&arguments));
        channels.wait_for_consumers(3);
        for (kind, source, text) in [("16", "1", "a"), ("17", "1", "b"), ("16", "2", "c")] {
            let arguments = ["push", "vehicles", "--type", kind, "--source", source, text];
            let outcome = channels.run(&arguments);
            assert_eq!(outcome.status, 0, "{outcome:?}");
        }
        let mut next = |tail: usize| -> Json {
            serde_json::from_str(&tails[tail].1.next().expect("a line")).expect("it is JSON")
        };
        let shown = |kind: i32, source: i32, text: &str| json!({ "type": kind, "source": source, "ttl": 1, "payload": { "text": text } });
        assert_eq!(
            [next(0), next(0), next(0)],
            [shown(16, 1, "a"), shown(17, 1, "b"), shown(16, 2, "c")]
        );
        assert_eq!(next(1), shown(17, 1, "b"));
        assert_eq!(next(2), shown(16, 2, "c"));
        assert_eq!(channels.statistics()["received"], 3);
    }
}

#[test]
fn channels_are_made_listed_and_destroyed() {
    let channels = Channels::start(&[]);
    let outcome = channels.run(&["create", "other", "--set", "preset=small"]);
    assert!(outcome.stdout.starts_with("IOR:"), "{outcome:?}");
    assert_eq!(channels.run(&["list"]).stdout, "other\nvehicles\n");
    let all: Json = serde_json::from_str(&channels.run(&["stats"]).stdout).expect("it is JSON");
    let settings = all["other"]["settings"].as_array().expect("settings");
    assert!(settings.contains(&json!("supplier-filter=global")), "{settings:?}");
    let outcome = channels.run(&["create", "more", "--set", "collection=immediate"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("dispatching=pool"), "{outcome:?}");
    assert_eq!(channels.run(&["destroy", "other"]).status, 0);
    let outcome = channels.run(&["push", "other", "--type", "16", "x"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("there is vehicles"), "{outcome:?}");
}
