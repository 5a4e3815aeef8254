//! All four models in one channel, with the exceptions and nil rules of the specification, over
//! the wire (Event Service 1.2 §2.1 to §2.4).

mod fixture;

use corbie::SystemExceptionKind;
use corbie_event::ChannelQos;
use corbie_event::cos_event_channel_admin::{
    proxy_pull_consumer::ConnectPullSupplierError, proxy_pull_supplier::ConnectPullConsumerError,
    proxy_push_consumer::ConnectPushSupplierError, proxy_push_supplier::ConnectPushConsumerError,
};
use corbie_event::cos_event_comm::{pull_supplier::PullError, push_consumer::PushError};
use fixture::{Fixture, PATIENCE, Said, any, events, until};

#[test]
fn all_models_meet_in_one_channel() {
    let fixture = Fixture::new(ChannelQos::default());
    let (pushed, _proxy) = fixture.consumer();
    let pulled = fixture.pull_supplier();
    pulled.connect_pull_consumer(None).expect("nil is allowed");
    let (source, give, _) = fixture.source();
    fixture.pull_consumer().connect_pull_supplier(Some(&source)).expect("connected");
    let supplier = fixture.supplier();
    supplier.push(&any(1)).expect("pushed");
    assert_eq!(events(&pushed, 1), [1], "push to push");
    assert_eq!(pulled.pull().expect("pulled"), any(1), "push to pull");
    give.send(2).expect("it listens");
    assert_eq!(events(&pushed, 1), [2], "pull to push");
    assert_eq!(pulled.pull().expect("pulled"), any(2), "pull to pull");
    let (nothing, has_event) = pulled.try_pull().expect("an answer");
    assert!(!has_event, "{nothing:?}");
    supplier.push(&any(3)).expect("pushed");
    assert_eq!(pulled.try_pull().expect("an answer"), (any(3), true));
    let statistics = fixture.core().statistics();
    assert_eq!((statistics.received, statistics.suppliers), (3, 2));
    assert_eq!(statistics.consumers.len(), 2);
    drop(give);
}

#[test]
fn events_keep_their_order_in_every_window() {
    for window in [1, 64] {
        let fixture = Fixture::new(ChannelQos { window, ..ChannelQos::default() });
        let (pushed, _proxy) = fixture.consumer();
        let supplier = fixture.supplier();
        (0..1000).for_each(|value| supplier.push(&any(value)).expect("pushed"));
        assert_eq!(events(&pushed, 1000), Vec::from_iter(0..1000), "window {window}");
    }
}

#[test]
fn a_pull_waits_without_a_thread_until_there_is_an_event() {
    let fixture = Fixture::new(ChannelQos::default());
    let pulled = fixture.pull_supplier();
    pulled.connect_pull_consumer(None).expect("connected");
    let waiting: Vec<_> = (0..50).map(|_| pulled.pull_async()).collect();
    let supplier = fixture.supplier();
    (0..50).for_each(|value| supplier.push(&any(value)).expect("pushed"));
    let mut got: Vec<i32> = Vec::new();
    for pull in waiting {
        let event = fixture::block_on(pull).expect("pulled");
        got.push(event.extract::<i32>().expect("a long"));
    }
    got.sort_unstable();
    assert_eq!(got, Vec::from_iter(0..50));
}

#[test]
fn proxies_are_connected_once_and_by_whom_the_specification_allows() {
    let fixture = Fixture::new(ChannelQos::default());
    let proxy = fixture.push_consumer();
    let early = proxy.push(&any(1));
    assert!(matches!(early, Err(PushError::Disconnected(_))), "{early:?}");
    proxy.connect_push_supplier(None).expect("nil is allowed");
    let again = proxy.connect_push_supplier(None);
    assert!(matches!(again, Err(ConnectPushSupplierError::AlreadyConnected(_))), "{again:?}");

    let proxy = fixture.pull_supplier();
    let early = proxy.pull();
    assert!(matches!(early, Err(PullError::Disconnected(_))), "{early:?}");
    proxy.connect_pull_consumer(None).expect("nil is allowed");
    let again = proxy.connect_pull_consumer(None);
    assert!(matches!(again, Err(ConnectPullConsumerError::AlreadyConnected(_))), "{again:?}");

    let (_said, proxy) = fixture.consumer();
    let (other, _) = fixture.listener();
    let again = proxy.connect_push_consumer(Some(&other));
    assert!(matches!(again, Err(ConnectPushConsumerError::AlreadyConnected(_))), "{again:?}");
    let Err(ConnectPushConsumerError::System(nil)) =
        fixture.push_supplier().connect_push_consumer(None)
    else {
        panic!("nil push consumers are refused");
    };
    assert_eq!(nil.kind, SystemExceptionKind::BadParam);
    let Err(ConnectPullSupplierError::System(nil)) =
        fixture.pull_consumer().connect_pull_supplier(None)
    else {
        panic!("nil pull suppliers are refused");
    };
    assert_eq!(nil.kind, SystemExceptionKind::BadParam);
}

#[test]
fn who_is_disconnected_is_told_and_does_not_exist_any_more() {
    let fixture = Fixture::new(ChannelQos::default());
    let (told, heard) = fixture.told_supplier();
    let proxy = fixture.push_consumer();
    proxy.connect_push_supplier(Some(&told)).expect("connected");
    proxy.disconnect_push_consumer().expect("disconnected");
    assert_eq!(heard.recv_timeout(PATIENCE), Ok(Said::Disconnected));
    let Err(PushError::System(gone)) = proxy.push(&any(1)) else { panic!("it is gone") };
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    let (said, proxy) = fixture.consumer();
    proxy.disconnect_push_supplier().expect("disconnected");
    assert_eq!(said.recv_timeout(PATIENCE), Ok(Said::Disconnected));
    let proxy = fixture.pull_supplier();
    proxy.connect_pull_consumer(None).expect("connected");
    let waits = proxy.pull_async();
    until("the pull waits", || proxy.try_pull().is_ok());
    proxy.disconnect_pull_supplier().expect("disconnected");
    let told = fixture::block_on(waits);
    assert!(told.is_err(), "{told:?}");
    assert_eq!(fixture.core().statistics().consumers, []);
}

#[test]
fn a_destroyed_channel_tells_everybody() {
    let fixture = Fixture::new(ChannelQos::default());
    let (told, supplier_heard) = fixture.told_supplier();
    let supplier = fixture.push_consumer();
    supplier.connect_push_supplier(Some(&told)).expect("connected");
    let (consumer_heard, _proxy) = fixture.consumer();
    let (told, puller_heard) = fixture.told_consumer();
    fixture.pull_supplier().connect_pull_consumer(Some(&told)).expect("connected");
    fixture.channel.destroy().expect("destroyed");
    for heard in [&supplier_heard, &consumer_heard, &puller_heard] {
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(Said::Disconnected));
        assert!(heard.try_recv().is_err(), "they are told once");
    }
    let gone = fixture.channel.for_consumers().expect_err("it is gone");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    assert!(fixture.server.channel("test").is_none());
}
