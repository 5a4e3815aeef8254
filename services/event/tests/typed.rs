//! Typed channels: suppliers that call an interface, consumers whose interface is called
//! (Event Service 1.2 §2.6, §2.9), and untyped ones beside them.

mod fixture;

use corbie::Any;
use corbie_event::ChannelQos;
use fixture::typed::{Clock, Heard, Reason, TICKER, Ticker, TypedFixture, next, quote};

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
