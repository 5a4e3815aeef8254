//! Durable channels whose store fails, or has what this server cannot serve.

use super::EventServer;
use crate::cos_event_channel_admin::{EventChannel, ProxyPullSupplier};
use crate::cos_event_comm::{pull_supplier::PullError, push_consumer::PushError};
use crate::durable::{ChannelRow, Progress, ProxyRow};
use crate::log::Retention;
use crate::qos::{ChannelQos, Limits};
use corbie::{Any, CompletionStatus, Orb, SystemExceptionKind};
use corbie_testkit::servers::{ScratchFolder, free_port};
use std::path::Path;

fn orb() -> Orb {
    let listen = format!("iiop://127.0.0.1:{}", free_port());
    Orb::init(["-ORBListenEndpoints", &listen]).expect("an ORB")
}

fn serve(orb: &Orb, folder: &Path) -> EventServer {
    EventServer::start_with_store(orb, Limits::default(), folder).expect("a server")
}

/// With segments of 64 KiB.
fn qos() -> ChannelQos {
    let retention = Retention { octets: 512 << 10, ..Retention::default() };
    ChannelQos { durable: Some(retention), ..ChannelQos::default() }
}

fn puller(channel: &EventChannel) -> ProxyPullSupplier {
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    let proxy = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
    proxy.connect_pull_consumer(None).expect("connected");
    proxy
}

fn push(channel: &EventChannel, event: &Any) -> Result<(), PushError> {
    let suppliers = channel.for_suppliers()?.expect("not nil");
    let proxy = suppliers.obtain_push_consumer()?.expect("not nil");
    proxy.connect_push_supplier(None).expect("connected");
    proxy.push(event)
}

fn number(value: i32) -> Any {
    Any::from_value::<i32>(&value).expect("an any")
}

#[test]
fn what_the_store_cannot_forget_goes_on() {
    let (folder, orb) = (ScratchFolder::new("server"), orb());
    let server = serve(&orb, folder.path());
    let channel = server.create("test", qos()).expect("a channel");
    let puller = puller(&channel);
    let store = &server.registry.kept().expect("a store").store;

    store.lose_table();
    let path = folder.path().join("channels.redb");
    let away = folder.path().join("away");
    std::fs::rename(&path, &away).expect("renamed");
    for refused in [puller.disconnect_pull_supplier(), channel.destroy()] {
        let refused = refused.expect_err("the disk fails");
        // The table could not be opened.
        let expected = (SystemExceptionKind::PersistStore, CompletionStatus::No);
        assert_eq!((refused.kind, refused.completed), expected, "{refused}");
    }
    std::fs::rename(&away, &path).expect("renamed");
    assert!(server.find("test").is_some(), "its name is not free");
    push(&channel, &number(1)).expect("pushed");
    assert_eq!(puller.pull().expect("pulled"), number(1), "it is connected");

    puller.disconnect_pull_supplier().expect("forgotten");
    let gone = puller.pull().expect_err("it does not exist");
    assert!(
        matches!(gone, PullError::System(why) if why.kind == SystemExceptionKind::ObjectNotExist)
    );
    channel.destroy().expect("forgotten");
    assert!(server.find("test").is_none());
    drop(server);
    let server = serve(&orb, folder.path());
    assert!(server.find("test").is_none());
    drop(server);
    orb.shutdown(true);
}

#[test]
fn what_the_store_is_too_late_to_forget_goes_on_in_the_next_life() {
    let (folder, orb) = (ScratchFolder::new("server"), orb());
    let server = serve(&orb, folder.path());
    let channel = server.create("test", qos()).expect("a channel");
    let puller = puller(&channel);
    let registry = &server.registry;
    // As for requests that are being served while the server ends.
    registry.kept().expect("a store").store.close();
    for refused in [puller.disconnect_pull_supplier(), channel.destroy()] {
        let refused = refused.expect_err("it would be there again");
        assert_eq!(refused.kind, SystemExceptionKind::Transient, "{refused}");
    }
    let core = server.channel("test").expect("it is there");
    core.suspend();
    for refused in [puller.disconnect_pull_supplier(), channel.destroy()] {
        let refused = refused.expect_err("it would be there again");
        assert_eq!(refused.kind, SystemExceptionKind::Transient, "{refused}");
    }
    match push(&channel, &number(1)) {
        Err(PushError::System(why)) => assert_eq!(why.kind, SystemExceptionKind::Transient),
        other => panic!("the server ends: {other:?}"),
    }
    drop(server);
    let server = serve(&orb, folder.path());
    let statistics = server.channel("test").expect("it is there").statistics();
    assert_eq!(statistics.consumers.len(), 1);
    drop(server);
    orb.shutdown(true);
}

#[test]
fn a_channel_that_lost_its_name_does_not_take_that_of_another() {
    let (folder, orb) = (ScratchFolder::new("server"), orb());
    let server = serve(&orb, folder.path());
    let older = server.create("test", qos()).expect("a channel");
    // As earlier versions could leave it.
    let row = ChannelRow { name: "test".to_owned(), kind: String::new(), qos: qos() };
    let store = &server.registry.kept().expect("a store").store;
    store.make(&row, Vec::new()).expect("a place");
    drop(server);
    let server = serve(&orb, folder.path());
    assert_eq!(number_of(&server), Some(2), "the younger has the name");
    older.destroy().expect("destroyed");
    assert_eq!(number_of(&server), Some(2));
    drop(server);
    let server = serve(&orb, folder.path());
    assert_eq!(number_of(&server), Some(2));
    drop(server);
    orb.shutdown(true);
}

/// The number of the channel `test` in the store.
fn number_of(server: &EventServer) -> Option<u64> {
    server.channel("test")?.journal().map(|journal| journal.number())
}

#[test]
fn what_a_proxy_needs_that_cannot_be_served_is_kept() {
    let (folder, orb) = (ScratchFolder::new("server"), orb());
    let server = serve(&orb, folder.path());
    let channel = server.create("test", qos()).expect("a channel");
    let core = server.channel("test").expect("it is there");
    let row = |kind: &str| ProxyRow { kind: kind.to_owned(), ..ProxyRow::default() };
    let journal = core.journal().expect("it is durable");
    journal.connected(7, row("of a later version"), Some(Progress::default())).expect("kept");
    journal.connected(8, row("supplier of a later version"), None).expect("kept");
    drop((core, server));
    let server = serve(&orb, folder.path());
    // Each is a segment.
    let large = Any::from_value::<String>(&"0".repeat(64 << 10)).expect("an any");
    (0..3).for_each(|_| push(&channel, &large).expect("pushed"));
    // It drops once more what no consumer needs.
    drop(server);
    let server = serve(&orb, folder.path());
    let statistics = server.channel("test").expect("it is there").statistics();
    assert_eq!((statistics.kept_events, statistics.received), (3, 3));
    drop(server);
    orb.shutdown(true);
}
