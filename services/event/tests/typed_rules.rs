//! Which interfaces events may be calls of, and what the objects of a typed channel answer when
//! they are asked the wrong thing (Event Service 1.2 §2.6 to §2.9).

mod fixture;
#[path = "fixture/ticker.rs"]
mod ticker;

use corbie::types::InterfaceDescription;
use corbie::{Any, Described, Object, SystemExceptionKind, TypeCode, Value, minor};
use corbie_event::corbie_events::event_channel_factory::{
    CreateChannelError, CreateTypedChannelError, FindError, FindTypedError,
};
use corbie_event::corbie_events::{self, EventChannelFactory};
use corbie_event::cos_event_channel_admin::proxy_pull_consumer::ConnectPullSupplierError;
use corbie_event::cos_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use corbie_event::cos_event_comm::PushConsumer;
use corbie_event::cos_typed_event_channel_admin::typed_consumer_admin::{
    ObtainTypedPullSupplierError, ObtainTypedPushSupplierError,
};
use corbie_event::cos_typed_event_channel_admin::typed_supplier_admin::{
    ObtainTypedPullConsumerError, ObtainTypedPushConsumerError,
};
use corbie_event::interfaces::EventInterface;
use corbie_event::{ChannelQos, Limits};
use std::sync::{Arc, Mutex, mpsc};
use ticker::{Clock, Heard, PULL_TICKER, PullTicker, TICKER, Ticker, TypedFixture, next, stock};

/// Interfaces that break a rule of `<I>`, with what is said of it.
fn not_pushed() -> Vec<(InterfaceDescription, &'static str)> {
    vec![
        (stock::ReturnsSomething::describe(), "price has to return nothing"),
        (stock::HasOut::describe(), "price: symbol is out, and has to be in"),
        (stock::HasInOut::describe(), "price: symbol is inout, and has to be in"),
        (stock::RaisesSomething::describe(), "price raises IDL:test.corbie/Stock/Closed:1.0"),
        (stock::HasAttribute::describe(), "last is an attribute"),
        (stock::HasContext::describe(), "price has a context clause"),
        (stock::InheritsWrong::describe(), "price: symbol is out, and has to be in"),
        (stock::Empty::describe(), "it has no operations"),
    ]
}

/// Interfaces that break a rule of `Pull<I>`.
fn not_pulled() -> Vec<(InterfaceDescription, &'static str)> {
    vec![
        (stock::PullWithoutTry::describe(), "price has no boolean try_price"),
        (stock::PullWithoutWait::describe(), "is not the try_ of another operation"),
        (stock::PullDiffers::describe(), "price and try_price have different parameters"),
        (stock::PullTakesIn::describe(), "price: symbol is in, and has to be out"),
        (stock::PullTryReturnsLong::describe(), "try_price has to return"),
        (stock::Empty::describe(), "it has no operations"),
    ]
}

#[test]
fn interfaces_that_break_a_rule_are_refused_with_a_sentence() {
    for (broken, why) in not_pushed() {
        let refused = EventInterface::pushed(&broken).expect_err(why).to_string();
        assert!(refused.contains(why) && refused.contains(&broken.id), "{refused}");
    }
    for (broken, why) in not_pulled() {
        let refused = EventInterface::pulled(&broken).expect_err(why).to_string();
        assert!(refused.contains(why) && refused.contains(&broken.id), "{refused}");
    }
}

#[test]
fn proxies_for_them_are_refused_as_the_specification_says() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (suppliers, consumers) = (fixture.suppliers(), fixture.consumers());
    let unknown = InterfaceDescription::new("IDL:Never/Declared:1.0", "::Never::Declared");
    for (broken, why) in not_pushed() {
        fixture.server.interfaces().add(broken.clone());
        let refused = suppliers.obtain_typed_push_consumer(&broken.id);
        let is_refused =
            matches!(refused, Err(ObtainTypedPushConsumerError::InterfaceNotSupported(_)));
        assert!(is_refused, "{why}: {refused:?}");
        let refused = consumers.obtain_typed_push_supplier(&broken.id);
        let is_refused =
            matches!(refused, Err(ObtainTypedPushSupplierError::NoSuchImplementation(_)));
        assert!(is_refused, "{why}: {refused:?}");
    }
    let mut wrong = not_pulled();
    fixture.server.interfaces().add(stock::Stranger::describe());
    wrong.push((stock::PullStranger::describe(), "price is no operation of Stranger like this"));
    wrong.push((Ticker::describe(), "it follows the rules of <I>"));
    for (broken, why) in &wrong {
        fixture.server.interfaces().add(broken.clone());
        let refused = consumers.obtain_typed_pull_supplier(&broken.id);
        let is_refused =
            matches!(refused, Err(ObtainTypedPullSupplierError::InterfaceNotSupported(_)));
        assert!(is_refused, "{why}: {refused:?}");
        let refused = suppliers.obtain_typed_pull_consumer(&broken.id);
        let is_refused =
            matches!(refused, Err(ObtainTypedPullConsumerError::NoSuchImplementation(_)));
        assert!(is_refused, "{why}: {refused:?}");
    }
    let refused = suppliers.obtain_typed_push_consumer(&unknown.id);
    assert!(
        matches!(refused, Err(ObtainTypedPushConsumerError::InterfaceNotSupported(_))),
        "{refused:?}"
    );
}

#[test]
fn no_pull_interface_is_made_of_one_with_an_operation_and_its_try() {
    let fixture = TypedFixture::new(ChannelQos::default());
    fixture.server.interfaces().add(stock::Twice::describe());
    let twice = stock::Twice::REPOSITORY_ID;
    let pull = twice.replace("Twice", "PullTwice");
    let refused = fixture.consumers().obtain_typed_pull_supplier(&pull);
    let is_refused = matches!(refused, Err(ObtainTypedPullSupplierError::InterfaceNotSupported(_)));
    assert!(is_refused, "{refused:?}");
    let refused = fixture.suppliers().obtain_typed_pull_consumer(&pull);
    let is_refused = matches!(refused, Err(ObtainTypedPullConsumerError::NoSuchImplementation(_)));
    assert!(is_refused, "{refused:?}");
    // Its calls are events as any.
    fixture.suppliers().obtain_typed_push_consumer(twice).expect("supported");
    fixture.consumers().obtain_typed_push_supplier(twice).expect("supported");
}

#[test]
fn what_is_connected_has_to_have_the_interface() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (say, _heard) = mpsc::channel();
    let say = Arc::new(Mutex::new(say));
    let untyped: PushConsumer = {
        // It does not know get_typed_consumer.
        let object = fixture.channel.as_object().clone();
        PushConsumer::unchecked_narrow(object)
    };
    let nil = fixture.consumer_with(None, Arc::clone(&say));
    let wrong = fixture.channel.as_object().clone();
    let wrong = fixture.consumer_with(Some(wrong), Arc::clone(&say));
    for (consumer, what) in [(untyped, "untyped"), (nil, "nil"), (wrong, "of another type")] {
        let proxy = fixture.push_supplier(TICKER);
        let refused = proxy.connect_push_consumer(Some(&consumer));
        assert!(
            matches!(refused, Err(ConnectPushConsumerError::TypeError(_))),
            "{what}: {refused:?}"
        );
        // It may still be connected rightly.
        let (right, heard) = fixture.listener();
        proxy.connect_push_consumer(Some(&right)).expect("connected");
        let again = proxy.connect_push_consumer(Some(&right));
        assert!(
            matches!(again, Err(ConnectPushConsumerError::AlreadyConnected(_))),
            "{what}: {again:?}"
        );
        proxy.disconnect_push_supplier().expect("disconnected");
        assert_eq!(next(&heard), Heard::Disconnected);
    }
    let refused = fixture.push_supplier(TICKER).connect_push_consumer(None);
    let Err(ConnectPushConsumerError::System(nil)) = refused else { panic!("{refused:?}") };
    assert_eq!(nil.kind, SystemExceptionKind::BadParam);

    let nil = fixture.supplier_with(None, Arc::clone(&say));
    let wrong = fixture.supplier_with(Some(fixture.channel.as_object().clone()), say);
    for supplier in [nil, wrong] {
        let refused = fixture.pull_consumer(PULL_TICKER).connect_pull_supplier(Some(&supplier));
        assert!(matches!(refused, Err(ConnectPullSupplierError::TypeError(_))), "{refused:?}");
    }
    let refused = fixture.pull_consumer(PULL_TICKER).connect_pull_supplier(None);
    let Err(ConnectPullSupplierError::System(nil)) = refused else { panic!("{refused:?}") };
    assert_eq!(nil.kind, SystemExceptionKind::BadParam);
}

#[test]
fn typed_objects_say_rightly_what_they_are() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let proxy = fixture.push_consumer(TICKER);
    let typed = proxy.get_typed_consumer().expect("an answer").expect("not nil");
    assert_eq!(typed.ior().type_id, TICKER);
    // Asked without the short way of the reference.
    let mut ior = typed.ior().clone();
    ior.type_id = String::new();
    let asked = Object::new(typed.orb(), ior);
    assert!(asked.is_a(TICKER).expect("an answer"));
    assert!(asked.is_a(Clock::REPOSITORY_ID).expect("an answer"), "a base");
    assert!(asked.is_a("IDL:omg.org/CORBA/Object:1.0").expect("an answer"));
    assert!(!asked.is_a(PULL_TICKER).expect("an answer"));
    assert!(!asked.is_a(PushConsumer::REPOSITORY_ID).expect("an answer"));
    assert_eq!(asked.repository_id().expect("an answer"), TICKER);
    assert!(!asked.non_existent().expect("an answer"));
    assert!(Ticker::narrow(&asked).expect("an answer").is_some());
    assert_eq!(proxy.get_typed_consumer().expect("an answer").expect("not nil"), typed, "the same");

    let ticker = Ticker::unchecked_narrow(typed.clone());
    let early = ticker.price("ACME", 1).expect_err("no proxy is connected");
    assert_eq!(early.minor, minor::BAD_INV_ORDER_NOT_CONNECTED);
    proxy.connect_push_supplier(None).expect("connected");
    ticker.price("ACME", 1).expect("taken");
    let stranger = stock::PullStranger::unchecked_narrow(typed.clone());
    let unknown = stranger.try_price().expect_err("I has no try_price");
    assert_eq!(unknown.kind, SystemExceptionKind::BadOperation);
    proxy.disconnect_push_consumer().expect("disconnected");
    let gone = ticker.price("ACME", 1).expect_err("it has ended with its proxy");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    assert!(typed.non_existent().expect("an answer"));

    let proxy = fixture.pull_supplier(PULL_TICKER);
    let typed = proxy.get_typed_supplier().expect("an answer").expect("not nil");
    let pulls = PullTicker::narrow(&typed).expect("an answer").expect("it is one");
    let early = pulls.price().expect_err("no proxy is connected");
    assert_eq!(early.kind, SystemExceptionKind::BadInvOrder);
    proxy.connect_pull_consumer(None).expect("connected");
    let unknown = stock::HasAttribute::unchecked_narrow(typed).last().expect_err("no attribute");
    assert_eq!(unknown.kind, SystemExceptionKind::BadOperation);
}

#[test]
fn the_factory_makes_typed_channels_and_refuses_what_they_cannot_be() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let ior = fixture.server.factory().as_object().ior().clone();
    let factory = EventChannelFactory::unchecked_narrow(Object::new(&fixture.orb, ior));
    let qos = corbie_events::ChannelQos {
        when_full: corbie_events::Overflow::DropOldest,
        queue_events: 0,
        queue_octets: 0,
        window: 0,
        push_timeout: 0,
        give_up_after: 0,
        is_durable: false,
        retain_seconds: 0,
        retain_octets: 0,
    };
    let given = [(&Clock::describe()).into()];
    let made = factory.create_typed_channel("clocks", &qos, &given).expect("made");
    let again = factory.create_typed_channel("clocks", &qos, &given).expect("found");
    assert_eq!(made, again);
    assert_eq!(factory.find_typed("clocks").expect("found"), made);
    let suppliers = made.expect("not nil").for_suppliers().expect("an answer").expect("not nil");
    suppliers.obtain_typed_push_consumer(Clock::REPOSITORY_ID).expect("it was handed over");
    let refused = suppliers.obtain_typed_push_consumer(TICKER);
    assert!(
        matches!(refused, Err(ObtainTypedPushConsumerError::InterfaceNotSupported(_))),
        "another channel knows it: {refused:?}"
    );
    fixture.server.interfaces().add(Ticker::describe());
    suppliers.obtain_typed_push_consumer(TICKER).expect("the server knows it now");

    let bad = factory.create_typed_channel("bad", &qos, &[(&stock::HasInOut::describe()).into()]);
    let Err(CreateTypedChannelError::BadInterface(bad)) = bad else { panic!("{bad:?}") };
    assert_eq!(bad.id, stock::HasInOut::REPOSITORY_ID);
    assert!(bad.why.contains("symbol is inout"), "{}", bad.why);
    let many = vec![(&Clock::describe()).into(); 101];
    let many = factory.create_typed_channel("many", &qos, &many);
    let Err(CreateTypedChannelError::System(many)) = many else { panic!("{many:?}") };
    assert_eq!(many.kind, SystemExceptionKind::ImpLimit);
    let other = factory.create_channel("clocks", &qos);
    assert!(matches!(other, Err(CreateChannelError::AlreadyExists(_))), "{other:?}");
    let untyped = factory.find("clocks");
    assert!(matches!(untyped, Err(FindError::NotFound(_))), "{untyped:?}");
    factory.create_channel("plain", &qos).expect("made");
    let typed = factory.find_typed("plain");
    assert!(matches!(typed, Err(FindTypedError::NotFound(_))), "{typed:?}");
    let typed = factory.create_typed_channel("plain", &qos, &[]);
    assert!(matches!(typed, Err(CreateTypedChannelError::AlreadyExists(_))), "{typed:?}");
    assert_eq!(factory.list().expect("an answer"), ["clocks", "plain", "test"]);
}

#[test]
fn a_channel_is_not_given_more_interfaces_bit_by_bit() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let give = |number: usize| {
        let id = format!("IDL:Clock{number}:1.0");
        let one = InterfaceDescription { id, ..Clock::describe() };
        fixture.server.create_typed("test", ChannelQos::default(), [one])
    };
    let known = 3;
    let most = Limits::default().interfaces;
    (known..most).for_each(|number| drop(give(number).expect("there is room")));
    give(known).expect("it has that one");
    let Err(CreateTypedChannelError::System(refused)) = give(most) else { panic!("too many") };
    assert_eq!(refused.kind, SystemExceptionKind::ImpLimit);
}

/// What an untyped supplier gives for a typed event.
fn listed(operation: &str, properties: &[(&str, Any)]) -> Any {
    let property = TypeCode::structure(
        "IDL:omg.org/CosNotification/Property:1.0",
        "Property",
        &[("name", TypeCode::string(0)), ("value", TypeCode::ANY)],
    );
    let list = [("operation", Any::string(operation).expect("an any"))];
    let list = list.iter().chain(properties).map(|(name, value)| {
        Value::Struct(vec![Value::String((*name).to_owned()), Value::Any(Box::new(value.clone()))])
    });
    Any::from_dynamic(TypeCode::sequence(property, 0), &Value::List(list.collect()))
        .expect("an any")
}

/// Its value; the names of aliases do not matter.
fn value(any: &Any) -> Value {
    any.to_value().expect("a value")
}

#[test]
fn typed_and_untyped_clients_meet_in_one_channel() {
    let fixture = TypedFixture::new(ChannelQos::default());
    let (heard, _proxy) = fixture.consumer(TICKER);
    let untyped = fixture.consumers().obtain_pull_supplier().expect("an answer").expect("not nil");
    untyped.connect_pull_consumer(None).expect("connected");
    let (ticker, typed_proxy) = fixture.supplier::<Ticker>();

    ticker.price("ACME", 7).expect("taken");
    let price = [
        ("symbol", Any::string("ACME").expect("an any")),
        ("cents", Any::from_value::<i32>(&7).expect("an any")),
    ];
    let expected = listed("::Stock::Ticker::price", &price);
    assert_eq!(value(&untyped.pull().expect("pulled")), value(&expected), "a typed event, untyped");
    assert_eq!(next(&heard), Heard::Price("ACME".to_owned(), 7));
    ticker.tick(1).expect("taken");
    let at = [("at", Any::from_value::<i64>(&1).expect("an any"))];
    let expected = listed("::Stock::Clock::tick", &at);
    assert_eq!(
        value(&untyped.pull().expect("pulled")),
        value(&expected),
        "the interface that declares it"
    );
    assert_eq!(next(&heard), Heard::Tick(1));

    // A TypedProxyPushConsumer takes untyped events, too.
    typed_proxy.push(&listed("::Stock::Ticker::price", &price)).expect("taken");
    assert_eq!(next(&heard), Heard::Price("ACME".to_owned(), 7), "a list of properties");
    let expected = listed("::Stock::Ticker::price", &price);
    assert_eq!(value(&untyped.pull().expect("pulled")), value(&expected));
    let no_events = [
        Any::string("something else").expect("an any"),
        listed("::Stock::Other::price", &price),
        listed("::Stock::Ticker::prize", &price),
        listed("::Stock::Ticker::price", &price[..1]),
        listed("::Stock::Ticker::tick", &price),
    ];
    for any in &no_events {
        typed_proxy.push(any).expect("taken");
        assert_eq!(&untyped.pull().expect("pulled"), any, "it goes to untyped consumers alone");
    }
    let plain = fixture.suppliers().obtain_push_consumer().expect("an answer").expect("not nil");
    plain.connect_push_supplier(None).expect("connected");
    plain.push(&Any::string("plain").expect("an any")).expect("taken");
    assert_eq!(untyped.pull().expect("pulled"), Any::string("plain").expect("an any"));
    ticker.closed().expect("taken");
    assert_eq!(next(&heard), Heard::Closed, "nothing was between them");
}
