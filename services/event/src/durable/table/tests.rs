//! Proxies without a channel: none is kept, and those of earlier versions go at a start.

use super::*;
use corbie_testkit::servers::ScratchFolder;

fn connected(channel: u64) -> Change {
    let progress = Some(Progress::default());
    Change::Connected { channel, proxy: 7, row: ProxyRow::default(), progress }
}

fn rows(table: &Table) -> usize {
    let counted = table.with(|database| {
        let transaction = database.begin_read()?;
        let proxies = transaction.open_table(PROXIES)?.iter()?.count();
        Ok(proxies + transaction.open_table(PROGRESS)?.iter()?.count())
    });
    counted.expect("they are counted")
}

#[test]
fn a_proxy_that_connects_while_its_channel_is_destroyed_is_not_kept() {
    let folder = ScratchFolder::new("table");
    let table = Table::open(&folder.path().join("channels.redb")).expect("a table");
    table.change(connected(1)).expect("written");
    assert_eq!(rows(&table), 0);
}

#[test]
fn proxies_without_a_channel_are_dropped_at_a_start() {
    let folder = ScratchFolder::new("table");
    let path = folder.path().join("channels.redb");
    let table = Table::open(&path).expect("a table");
    let qos = crate::qos::ChannelQos::default();
    let row = ChannelRow { name: "there".to_owned(), kind: String::new(), qos };
    table.change(Change::Made { channel: 2, row, interfaces: Vec::new() }).expect("written");
    table.change(connected(2)).expect("written");
    let left = |database: &Database| {
        let transaction = database.begin_write()?;
        let key = (1, 7);
        transaction.open_table(PROXIES)?.insert(key, ProxyRow::default().value())?;
        transaction.open_table(PROGRESS)?.insert(key, Progress::default().value())?;
        Ok(transaction.commit()?)
    };
    table.with(left).expect("written");
    assert_eq!(rows(&table), 4);
    table.close();
    let table = Table::open(&path).expect("a table");
    assert_eq!((rows(&table), table.proxies(2).expect("read").len()), (2, 1));
}
