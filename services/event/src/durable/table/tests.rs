//! Proxies without a channel: none is kept, and those of earlier versions go at a start. A disk
//! that fails for a while.

use super::*;
use corbie_testkit::servers::ScratchFolder;
use redb::StorageBackend;
use redb::backends::FileBackend;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// A file on a disk that is full while the flag is set.
#[derive(Debug)]
struct Failing(FileBackend, Arc<AtomicBool>);

impl Failing {
    fn check(&self) -> io::Result<()> {
        let is_full = self.1.load(Ordering::SeqCst);
        if is_full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl StorageBackend for Failing {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.0.write(offset, data)
    }
}

#[test]
fn after_a_failure_of_the_disk_the_file_is_opened_again() {
    let folder = ScratchFolder::new("table");
    let path = folder.path().join("channels.redb");
    let table = Table::open(&path).expect("a table");
    assert_eq!(table.next_channel().expect("written"), 1);
    *table.database.write().expect("a lock") = Held::Closed;
    let file = std::fs::File::options().read(true).write(true).open(&path).expect("a file");
    let is_full = Arc::new(AtomicBool::new(false));
    let failing = Failing(FileBackend::new(file).expect("a file"), Arc::clone(&is_full));
    let database = Database::builder().create_with_backend(failing).expect("a database");
    *table.database.write().expect("a lock") = Held::Open(database);
    assert_eq!(table.next_channel().expect("written"), 2);
    is_full.store(true, Ordering::SeqCst);
    table.next_channel().expect_err("the disk is full");
    is_full.store(false, Ordering::SeqCst);
    let number = table.next_channel().expect("there is room again");
    assert!(number >= 3, "{number}");
    // A number that nobody got is not missed; none is given twice.
    assert_eq!(table.next_channel().expect("written"), number + 1);

    // Away for a while, so that opening fails as well.
    *table.database.write().expect("a lock") = Held::Lost;
    let away = folder.path().join("away");
    std::fs::rename(&path, &away).expect("renamed");
    table.next_channel().expect_err("it is not there");
    std::fs::rename(&away, &path).expect("renamed");
    assert_eq!(table.next_channel().expect("written"), number + 2);
    table.close();
    assert!(matches!(table.next_channel(), Err(LogError::Closed)));
}
