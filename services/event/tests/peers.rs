//! Clients of other ORBs at our channel: omniORB (C++) and JacORB (Java, big-endian) as suppliers
//! and consumers, pushing and pulling, with ours at the same channel. Values are compared.
//!
//! What is not installed is named as missing and passed over; `cargo xtask test` installs it.

mod fixture;

use corbie::{Any, Object};
use corbie_event::ChannelQos;
use corbie_event::cos_event_channel_admin::ProxyPullSupplier;
use corbie_testkit::clients::{self, CppProgram, JavaProgram};
use fixture::values::{TEXTS, all, text};
use fixture::{Fixture, until};
use std::process::{Command, Stdio};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// What every client prints.
fn expected() -> String {
    let both = |first: &str, second: &str| {
        let lines = TEXTS.map(|event| format!("{first}: {event}\n{second}: {event}\n"));
        lines.concat()
    };
    let from_test = both("from the test, pushed", "from the test, pulled");
    [
        "AlreadyConnected\nBAD_PARAM\n",
        &both("push to push", "push to pull"),
        "try_pull: 0\n",
        &both("pull to push", "pull to pull"),
        // Pushed by ours, then pulled from ours.
        &from_test,
        &from_test,
        "from the test, pushed: short -300\nfrom the test, pulled: short -300\n",
        "last: long 4\ndestroyed: disconnected\n",
    ]
    .concat()
}

/// What ours pulls and is pushed.
struct Ours {
    channel: Object,
    pulled: ProxyPullSupplier,
    pushed: std::sync::mpsc::Receiver<Any>,
}

impl Ours {
    fn see_all(&self) {
        for expected in TEXTS {
            let event = self.pulled.pull().expect("pulled");
            assert_eq!(text(&event, &self.channel), expected, "pulled");
            let event = self.pushed.recv_timeout(fixture::PATIENCE).expect("an event");
            assert_eq!(text(&event, &self.channel), expected, "pushed");
        }
    }
}

/// Runs a client of another ORB at a channel with four kinds of ours.
fn meet(client: &mut Command, more: &[&str]) {
    let fixture = Fixture::new(ChannelQos::default());
    let pulled = fixture.pull_supplier();
    pulled.connect_pull_consumer(None).expect("connected");
    let (pushed, _proxy) = fixture.any_consumer();
    let supplier = fixture.supplier();
    let (source, give) = fixture.any_source();
    fixture.pull_consumer().connect_pull_supplier(Some(&source)).expect("connected");
    let channel = fixture.channel.as_object().clone();
    let ours = Ours { channel: channel.clone(), pulled, pushed };
    let client = client
        .args([channel.to_string(), (2 * TEXTS.len() + 1).to_string()])
        .args(more)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built");
    ours.see_all();
    ours.see_all();
    // Suppliers have no order among each other: all that one supplies is to be everywhere before
    // another one begins.
    let all_have_taken = |times: usize| {
        until("all have taken it", || {
            let consumers = fixture.core().statistics().consumers;
            let delivered = (times * TEXTS.len()) as u64;
            consumers.len() == 4 && consumers.iter().all(|consumer| consumer.delivered == delivered)
        });
    };
    all_have_taken(2);
    for event in all(&channel) {
        supplier.push(&event).expect("pushed");
    }
    ours.see_all();
    all_have_taken(3);
    for event in all(&channel) {
        give.send(event).expect("it listens");
    }
    ours.see_all();
    all_have_taken(4);
    // Now the client may end the channel.
    supplier.push(&all(&channel)[0]).expect("pushed");
    let output = client.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected());
}

#[test]
fn omniorb_supplies_and_consumes_in_all_models() {
    let source = format!("{FOLDER}/tests/peers/omniorb/event_client.cc");
    let idl = ["CosEventComm", "CosEventChannelAdmin"];
    let Some(program) = CppProgram::compile(&source, &format!("{FOLDER}/idl"), &idl) else {
        return;
    };
    meet(&mut program.command(), &["-ORBendPoint", "giop:tcp:127.0.0.1:"]);
}

#[test]
fn jacorb_supplies_and_consumes_in_all_models() {
    let Some(libraries) = clients::jacorb(env!("CARGO_TARGET_TMPDIR")) else { return };
    let source = format!("{FOLDER}/tests/peers/jacorb/EventClient.java");
    let program = JavaProgram::compile(libraries, &source);
    let mut client = program.command();
    client.args(["-DOAIAddr=127.0.0.1", "EventClient"]);
    meet(&mut client, &[]);
}
