//! Proxies without a channel: none is kept, and those of earlier versions go at a start. A disk
//! that fails for a while.

use super::*;
use corbie_testkit::disk::{FailingDisk, Refused};
use corbie_testkit::servers::ScratchFolder;

fn connected(channel: u64) -> Change {
    let progress = Some(Progress::default());
    Change::Connected { channel, proxy: 7, row: ProxyRow::default(), progress }
}

fn rows(table: &Table) -> usize {
    let counted = table.read(|transaction| {
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
    let left = |transaction: &WriteTransaction| {
        let key = (1, 7);
        transaction.open_table(PROXIES)?.insert(key, ProxyRow::default().value())?;
        transaction.open_table(PROGRESS)?.insert(key, Progress::default().value())?;
        Ok(())
    };
    table.file.write(left).expect("written");
    assert_eq!(rows(&table), 4);
    table.close();
    let table = Table::open(&path).expect("a table");
    assert_eq!((rows(&table), table.proxies(2).expect("read").len()), (2, 1));
}

#[test]
fn after_a_failure_of_the_disk_the_file_is_opened_again() {
    let folder = ScratchFolder::new("table");
    let path = folder.path().join("channels.redb");
    let table = Table::open(&path).expect("a table");
    assert_eq!(table.next_channel().expect("written"), 1);
    table.close();
    let disk = FailingDisk::new(&path);
    let opened = disk.clone();
    let file = StoreFile::with_storage("a test's", move || opened.open()).expect("a file");
    let begun =
        Begun { format: 1, uid: table.uid, secret: table.secret.clone(), lives: table.lives };
    let table = Table::of(file, &path, begun);
    assert_eq!(table.next_channel().expect("written"), 2);
    disk.refuse(Refused::Changes);
    let failed = table.next_channel().expect_err("the disk is full");
    assert!(matches!(failed, LogError::Table { is_unsure: true, .. }), "{failed:?}");
    disk.refuse(Refused::Nothing);
    let number = table.next_channel().expect("there is room again");
    assert!(number >= 3, "{number}");
    // A number that no channel got is not missed; none is given twice.
    assert_eq!(table.next_channel().expect("written"), number + 1);

    // Away for a while, so that opening fails as well.
    table.lose();
    disk.refuse(Refused::All);
    let failed = table.next_channel().expect_err("it is not there");
    assert!(matches!(failed, LogError::Table { is_unsure: false, .. }), "{failed:?}");
    disk.refuse(Refused::Nothing);
    assert_eq!(table.next_channel().expect("written"), number + 2);
    table.close();
    assert!(matches!(table.next_channel(), Err(LogError::Closed)));
}
