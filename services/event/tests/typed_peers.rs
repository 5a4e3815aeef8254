//! Clients of other ORBs at our typed channel: omniORB (C++) and JacORB (Java, big-endian) as
//! typed suppliers and consumers, pushing and pulling, with ours at the same channel. Values are
//! compared.
//!
//! What is not installed is named as missing and passed over; `cargo xtask test` installs it.

mod fixture;
#[path = "fixture/ticker.rs"]
mod ticker;

use corbie::{Any, Described};
use corbie_event::ChannelQos;
use corbie_testkit::clients::{self, CppProgram, JavaProgram};
use fixture::until;
use std::process::{Command, Stdio};
use ticker::{Heard, PullTicker, Quote, Reason, TICKER, Ticker, TypedFixture, Venue, next, stock};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// The events that each supplier pushes, as the clients write them.
const TEXTS: [&str; 6] = [
    "price ACME 4711",
    "offer 'EMCA' -7 1 [ 1.5 -2 ] \"gr\\u00f6\\u00dfer\" any long 70000 text darum",
    "offer '' 2147483647 2 [ ] \"\" any string zwei other 2 255",
    "halt 200 -0.25",
    "closed",
    "tick -5000000000",
];

/// The same.
fn events() -> Vec<Heard> {
    let any = |value: i32| Any::from_value::<i32>(&value).expect("an any");
    let quote = |symbol: &str, cents, at, depth| {
        let symbol = symbol.to_owned();
        Quote { symbol, cents, at, depth }
    };
    let why = Reason::Other { discriminator: Venue::Lse, value: 255 };
    vec![
        Heard::Price("ACME".to_owned(), 4711),
        Heard::Offer(
            quote("EMCA", -7, Venue::Nyse, vec![1.5, -2.0]),
            "größer".to_owned(),
            any(70000),
            Reason::Text("darum".to_owned()),
        ),
        Heard::Offer(
            quote("", i32::MAX, Venue::Lse, vec![]),
            String::new(),
            Any::string("zwei").expect("an any"),
            why,
        ),
        Heard::Halt(200, -0.25),
        Heard::Closed,
        Heard::Tick(-5_000_000_000),
    ]
}

/// What every client prints.
fn expected() -> String {
    let lines = |before: &str, texts: &[&str]| {
        texts.iter().map(|text| format!("{before}: {text}\n")).collect::<String>()
    };
    // A pull of `closed` gives nothing to print.
    let pulled = [TEXTS[0], TEXTS[1], TEXTS[2], TEXTS[3], TEXTS[5]];
    [
        "InterfaceNotSupported\nNoSuchImplementation\nTypeError\nis a Clock: 1\n",
        &lines("pushed", &TEXTS),
        &lines("pulled", &pulled),
        "try_offer: 0\ntry_halt: 0\ntry_closed: 0\n",
        "pull to push: price pulled 3\npull to push: tick 4\n",
        "pull to pull: price pulled 3, tick 4\n",
        &lines("from the test", &TEXTS),
        &lines("pulled", &pulled),
        "destroyed: disconnected\n",
    ]
    .concat()
}

/// Pulls what [`events`] has.
fn pull_all(pulls: &PullTicker) -> Vec<Heard> {
    let offer = || {
        let (data, remark, extra, why) = pulls.offer().expect("pulled");
        Heard::Offer(data, remark, extra, why)
    };
    let (symbol, cents) = pulls.price().expect("pulled");
    let (first, second) = pulls.halt().expect("pulled");
    pulls.closed().expect("pulled");
    let offers = [offer(), offer()];
    let tick = Heard::Tick(pulls.tick().expect("pulled"));
    let mut all = vec![Heard::Price(symbol, cents)];
    all.extend(offers);
    all.extend([Heard::Halt(first, second), Heard::Closed, tick]);
    all
}

/// Makes the call that was heard so.
fn call(ticker: &Ticker, event: &Heard) {
    match event {
        Heard::Price(symbol, cents) => ticker.price(symbol, *cents),
        Heard::Offer(data, remark, extra, why) => ticker.offer(data, remark, extra, why),
        Heard::Halt(first, second) => ticker.halt(*first, *second),
        Heard::Closed => ticker.closed(),
        Heard::Tick(at) => ticker.tick(*at),
        other => panic!("{other:?} is no call"),
    }
    .expect("taken");
}

/// Runs a client of another ORB at a channel with ours.
fn meet(client: &mut Command, more: &[&str]) {
    let fixture = TypedFixture::new(ChannelQos::default());
    fixture.server.interfaces().add(stock::HasOut::describe());
    let (heard, _proxy) = fixture.consumer(TICKER);
    let (pulls, _proxy) = fixture.puller::<PullTicker>();
    let (ticker, _proxy) = fixture.supplier::<Ticker>();
    let mut client = client
        .arg(fixture.channel.as_object().to_string())
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built");
    for event in events() {
        assert_eq!(next(&heard), event, "pushed by the client");
    }
    assert_eq!(pull_all(&pulls), events(), "pushed by the client");
    assert_eq!(next(&heard), Heard::Price("pulled".to_owned(), 3), "pulled from the client");
    assert_eq!(next(&heard), Heard::Tick(4), "pulled from the client");
    assert_eq!(pulls.price().expect("pulled"), ("pulled".to_owned(), 3));
    assert_eq!(pulls.tick().expect("pulled"), 4);
    // Suppliers have no order among each other: all that the client supplies is to be everywhere.
    until("all have taken it", || {
        let consumers = fixture.core().statistics().consumers;
        consumers.len() == 4 && consumers.iter().all(|consumer| consumer.delivered == 8)
    });
    events().iter().for_each(|event| call(&ticker, event));
    for event in events() {
        assert_eq!(next(&heard), event, "pushed by ours");
    }
    // Ours have heard everything: the client may end the channel.
    drop(client.stdin.take());
    let output = client.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected());
}

#[test]
fn omniorb_calls_and_is_called_in_all_models() {
    let source = format!("{FOLDER}/tests/peers/omniorb/typed_client.cc");
    let idl = [
        "CosEventComm",
        "CosEventChannelAdmin",
        "CosTypedEventComm",
        "CosTypedEventChannelAdmin",
        "../tests/idl/Stock",
    ];
    let Some(program) = CppProgram::compile(&source, &format!("{FOLDER}/idl"), &idl) else {
        return;
    };
    meet(&mut program.command(), &["-ORBendPoint", "giop:tcp:127.0.0.1:"]);
}

#[test]
fn jacorb_calls_and_is_called_in_all_models() {
    let Some(libraries) = clients::jacorb(env!("CARGO_TARGET_TMPDIR")) else { return };
    let source = format!("{FOLDER}/tests/peers/jacorb/TypedClient.java");
    let idl = format!("{FOLDER}/tests/idl/Stock.idl");
    let program = JavaProgram::compile_with(libraries, &source, &[&idl]);
    let mut client = program.command();
    client.args(["-DOAIAddr=127.0.0.1", "TypedClient"]);
    meet(&mut client, &[]);
}
