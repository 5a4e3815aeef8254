//! A store between two lives of its server: what a consumer that is not there yet needs is kept.

use super::{Change, ChannelRow, Progress, ProxyRow, Store};
use crate::channel::Channel;
use crate::event::Event;
use crate::log::Retention;
use crate::resources::Resources;
use crate::ticket::Ticket;
use crate::{ChannelQos, Limits};
use corbie::Any;
use corbie_testkit::servers::ScratchFolder;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// The channel as it is before its proxies are there.
fn channel(store: &Store, journal: &Arc<super::Journal>, qos: &ChannelQos) -> Arc<Channel> {
    let resources = Resources::new(Limits::default());
    let kept = Some((Arc::clone(journal), 1));
    let channel = Channel::kept("test", qos.clone(), &resources, kept);
    store.serve(journal, &channel);
    channel
}

#[test]
fn nothing_is_dropped_before_those_are_there_who_need_it() {
    let folder = ScratchFolder::new("store");
    // Some events fill a segment.
    let retention = Retention { octets: 64 << 20, age: Duration::from_secs(3_600) };
    let qos = ChannelQos { durable: Some(retention), ..ChannelQos::default() };
    let store = Store::open(folder.path()).expect("a store");
    let row = ChannelRow { name: "test".into(), kind: "untyped".into(), qos: qos.clone() };
    let journal = store.make(&row, Vec::new()).expect("a journal");
    let _first = channel(&store, &journal, &qos);
    let proxy = ProxyRow { kind: "pull".into(), interface: String::new(), peer: String::new() };
    journal.connected(1, proxy, Some(Progress::default())).expect("kept");
    let (say, said) = mpsc::channel();
    let any = Any::from_value::<String>(&"0".repeat(4 << 20)).expect("an any");
    let event = Arc::new(Event::of_any(&any).expect("an event"));
    for _ in 0..8 {
        let (ticket, say) = (Arc::new(Ticket::default()), say.clone());
        ticket.then(move |outcome| say.send(outcome.is_ok()).expect("it is waited for"));
        journal.take(&event, &ticket);
        drop(ticket);
        assert_eq!(said.recv(), Ok(true), "it is written");
    }
    store.close();

    let store = Store::open(folder.path()).expect("a store");
    let (journal, proxies) = store.open_channel(1, &row).expect("a journal");
    assert_eq!((journal.log().first(), journal.log().end(), proxies.len()), (0, 8, 1));
    let _second = channel(&store, &journal, &qos);
    // What is done once a second is done once more; the proxy is not there yet.
    store.close();
    assert_eq!(journal.log().first(), 0);
}

#[test]
fn folders_of_channels_that_are_no_more_are_removed_at_a_start() {
    let folder = ScratchFolder::new("store");
    // Each is made, and flushed.
    let path = folder.path().join("in").join("others");
    let store = Store::open(&path).expect("a store");
    let qos = ChannelQos { durable: Some(Retention::default()), ..ChannelQos::default() };
    let row = ChannelRow { name: "test".into(), kind: String::new(), qos };
    let made: Vec<_> = (0..2).map(|_| store.make(&row, Vec::new()).expect("a journal")).collect();
    // The server dies before it has removed the folder.
    store.table.change(Change::Destroyed { channel: made[0].number() }).expect("forgotten");
    store.close();
    std::fs::create_dir(path.join("channel-77")).expect("made");
    let folders = || [1, 2, 77].map(|number| path.join(format!("channel-{number}")).exists());
    assert_eq!(folders(), [true, true, true]);
    Store::open(&path).expect("a store").close();
    assert_eq!(folders(), [false, true, true], "of the last one nothing is known");
}
