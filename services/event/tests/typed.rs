//! Typed channels: suppliers that call an interface, consumers whose interface is called
//! (Event Service 1.2 §2.6, §2.9), and untyped ones beside them.

mod fixture;
#[path = "fixture/ticker.rs"]
mod ticker;

use corbie::Any;
use corbie_event::ChannelQos;
use fixture::{block_on, until};
use ticker::{
    Clock, Giving, Heard, PULL_TICKER, PullClock, PullTicker, Quote, Reason, TICKER, Ticker,
    TypedFixture, Venue, next, quote,
};

#[test]
fn calls_of_a_supplier_are_calls_at_the_consumers() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (heard, _proxy) = fixture.consumer(TICKER);
    let (ticker, _proxy) = fixture.supplier::<Ticker>();
    let extra = Any::string("für alle").expect("an any");
    ticker.price("ACME", 4711).expect("taken");
    ticker.offer(&quote(), "wörtlich", &extra, &Reason::Code(9)).expect("taken");
    ticker.halt(1, 2.5).expect("sent");
    ticker.closed().expect("taken");
    ticker.tick(-1).expect("taken");
    assert_eq!(next(&heard), Heard::Price("ACME".to_owned(), 4711));
    let offered = Heard::Offer(quote(), "wörtlich".to_owned(), extra, Reason::Code(9));
    assert_eq!(next(&heard), offered);
    assert_eq!(next(&heard), Heard::Halt(1, 2.5));
    assert_eq!(next(&heard), Heard::Closed);
    assert_eq!(next(&heard), Heard::Tick(-1));
}

#[test]
fn a_consumer_gets_what_its_interface_has_and_nothing_else() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (clocks, _proxy) = fixture.consumer(Clock::REPOSITORY_ID);
    let (ticker, _proxy) = fixture.supplier::<Ticker>();
    let (clock, _proxy) = fixture.supplier::<Clock>();
    ticker.price("ACME", 1).expect("taken");
    ticker.tick(1).expect("taken");
    clock.tick(2).expect("taken");
    assert_eq!(next(&clocks), Heard::Tick(1));
    assert_eq!(next(&clocks), Heard::Tick(2));
}

#[test]
fn all_models_meet_in_one_channel() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (heard, _proxy) = fixture.consumer(TICKER);
    let (pulls, _proxy) = fixture.puller::<PullTicker>();
    let (ticker, _proxy) = fixture.supplier::<Ticker>();
    let (source, giving) = fixture.source();
    let pulled = fixture.pull_consumer(PULL_TICKER);
    pulled.connect_pull_supplier(Some(&source)).expect("connected");

    ticker.price("ACME", 1).expect("taken");
    assert_eq!(next(&heard), Heard::Price("ACME".to_owned(), 1), "push to push");
    assert_eq!(pulls.price().expect("pulled"), ("ACME".to_owned(), 1), "push to pull");
    giving.price.send(("EMCA".to_owned(), 2)).expect("it is pulled");
    assert_eq!(next(&heard), Heard::Price("EMCA".to_owned(), 2), "pull to push");
    assert_eq!(pulls.price().expect("pulled"), ("EMCA".to_owned(), 2), "pull to pull");
    giving.tick.send(3).expect("it is pulled");
    assert_eq!(next(&heard), Heard::Tick(3), "operations of a supplier do not wait for another");
    assert_eq!(pulls.tick().expect("pulled"), 3);
    let extra = Any::from_value::<f64>(&0.5).expect("an any");
    let why = Reason::Text("darum".to_owned());
    ticker.offer(&quote(), "", &extra, &why).expect("taken");
    let offered = pulls.offer().expect("pulled");
    assert_eq!(offered, (quote(), String::new(), extra, why));
    ticker.halt(7, -0.5).expect("taken");
    until("it is there", || fixture.core().statistics().received == 5);
    assert_eq!(pulls.try_halt().expect("an answer"), (true, 7, -0.5));
    pulled.disconnect_pull_consumer().expect("disconnected");
    assert_eq!(next(&giving.heard), Heard::Disconnected);
}

#[test]
fn a_pulled_supplier_without_an_operation_is_pulled_for_the_others() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (heard, _proxy) = fixture.consumer(TICKER);
    let (source, giving) = fixture.source_of_ticks();
    let pulled = fixture.pull_consumer(PULL_TICKER);
    pulled.connect_pull_supplier(Some(&source)).expect("connected");
    for number in 0..100 {
        giving.tick.send(number).expect("it is pulled");
        assert_eq!(next(&heard), Heard::Tick(number));
    }
    // Its last one.
    let Giving { tick, heard, .. } = giving;
    drop(tick);
    assert_eq!(next(&heard), Heard::Disconnected);
}

#[test]
fn a_pull_takes_events_of_its_operation_in_order_and_leaves_others() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (pulls, proxy) = fixture.puller::<PullTicker>();
    let (ticker, _proxy) = fixture.supplier::<Ticker>();
    ticker.price("one", 1).expect("taken");
    ticker.tick(1).expect("taken");
    ticker.price("two", 2).expect("taken");
    ticker.closed().expect("taken");
    ticker.tick(2).expect("taken");
    assert_eq!(pulls.try_tick().expect("an answer"), (true, 1));
    assert_eq!(pulls.tick().expect("an answer"), 2);
    assert_eq!(pulls.try_tick().expect("an answer"), (false, 0), "a value that the type allows");
    let (_, untyped) = proxy.try_pull().map(|(any, found)| (found, any)).expect("an answer");
    assert!(untyped.type_code().name().contains("PropertySeq"), "the oldest, as an untyped one");
    assert_eq!(pulls.price().expect("an answer"), ("two".to_owned(), 2));
    assert!(pulls.try_closed().expect("an answer"));
    assert!(!pulls.try_closed().expect("an answer"));
    let nothing = Quote { symbol: String::new(), cents: 0, at: Venue::Xetra, depth: vec![] };
    let (found, data, remark, _, why) = pulls.try_offer().expect("an answer");
    assert_eq!((found, data, remark), (false, nothing, String::new()));
    assert_eq!(why, Reason::Text(String::new()), "the first case");
}

#[test]
fn pulls_wait_without_a_thread_each_for_its_operation() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (pulls, proxy) = fixture.puller::<PullTicker>();
    let (ticker, _proxy) = fixture.supplier::<Ticker>();
    let prices: Vec<_> = (0..20).map(|_| pulls.price_async()).collect();
    let ticks: Vec<_> = (0..20).map(|_| pulls.tick_async()).collect();
    (0..20).for_each(|at| ticker.tick(at).expect("taken"));
    (0..20).for_each(|cents| ticker.price("ACME", cents).expect("taken"));
    let mut got = Vec::new();
    for tick in ticks {
        got.push(block_on(tick).expect("pulled"));
    }
    got.sort_unstable();
    assert_eq!(got, Vec::from_iter(0..20));
    let mut got = Vec::new();
    for price in prices {
        got.push(block_on(price).expect("pulled").1);
    }
    got.sort_unstable();
    assert_eq!(got, Vec::from_iter(0..20));

    let waits = pulls.price_async();
    until("the pull waits", || pulls.try_price().is_ok());
    proxy.disconnect_pull_supplier().expect("disconnected");
    let told = block_on(waits).expect_err("nothing comes any more");
    assert_eq!(told.kind, corbie::SystemExceptionKind::ObjectNotExist);
}

#[test]
fn a_pull_of_i_that_nobody_knows_is_made_of_i() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (clock, _proxy) = fixture.supplier::<Clock>();
    let (pulls, _proxy) = fixture.puller::<PullClock>();
    clock.tick(5).expect("taken");
    assert_eq!(pulls.tick().expect("pulled"), 5);
}
