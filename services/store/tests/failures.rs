//! A store on a disk that fails for a while: what is said of a change, and that all that was
//! acknowledged is there afterwards.

use corbie_store::redb::{self, ReadTransaction, ReadableTable, TableDefinition};
use corbie_store::{StoreFailure, StoreFile};
use corbie_testkit::disk::{FailingDisk, Refused};
use corbie_testkit::servers::ScratchFolder;
use std::sync::atomic::{AtomicUsize, Ordering};

const NUMBERS: TableDefinition<'_, u64, &str> = TableDefinition::new("numbers");

fn write(file: &StoreFile, number: u64) -> Result<(), StoreFailure> {
    file.write(|transaction| {
        transaction.open_table(NUMBERS)?.insert(number, "a value")?;
        Ok(())
    })
}

fn numbers(file: &StoreFile) -> Result<Vec<u64>, StoreFailure> {
    file.read(|transaction: &ReadTransaction| {
        let table = transaction.open_table(NUMBERS)?;
        table.iter()?.map(|entry| Ok(entry?.0.value())).collect()
    })
}

fn on_disk(folder: &ScratchFolder) -> (StoreFile, FailingDisk) {
    let disk = FailingDisk::new(folder.path().join("store.redb"));
    let opened = disk.clone();
    let file = StoreFile::with_storage("a test's", move || opened.open()).expect("a store");
    (file, disk)
}

#[test]
fn a_commit_that_failed_is_uncertain_and_the_next_works() {
    for refused in [Refused::Changes, Refused::Flushes] {
        let folder = ScratchFolder::new("store");
        let (file, disk) = on_disk(&folder);
        write(&file, 1).expect("written");
        disk.refuse(refused);
        let failed = write(&file, 2).expect_err("the disk is full");
        assert!(failed.is_uncertain(), "{refused:?}: {failed:?}");
        // What was there before is there now, whether the file can be opened at the moment or not.
        if let Ok(found) = numbers(&file) {
            assert!(found.contains(&1), "{refused:?}: {found:?}");
        }
        disk.refuse(Refused::Nothing);
        write(&file, 3).expect("there is room again");
        let found = numbers(&file).expect("read");
        assert!(found == [1, 3] || found == [1, 2, 3], "{refused:?}: {found:?}");
        drop(file);
        let file = StoreFile::create(folder.path().join("store.redb")).expect("a store");
        assert_eq!(numbers(&file).expect("read"), found, "{refused:?}");
    }
}

#[test]
fn while_the_file_cannot_be_opened_nothing_is_changed() {
    let folder = ScratchFolder::new("store");
    let (file, disk) = on_disk(&folder);
    write(&file, 1).expect("written");
    disk.refuse(Refused::All);
    write(&file, 2).expect_err("the disk is away");
    for _ in 0..3 {
        let failed = write(&file, 3).expect_err("the disk is away");
        assert!(matches!(failed, StoreFailure::Unchanged(redb::Error::Io(_))), "{failed:?}");
        numbers(&file).expect_err("there is nothing to read from");
    }
    disk.refuse(Refused::Nothing);
    assert_eq!(numbers(&file).expect("read"), [1], "nothing reached the disk");
    write(&file, 4).expect("the disk is back");
    assert_eq!(numbers(&file).expect("read"), [1, 4]);
    file.close();
    assert!(matches!(write(&file, 5), Err(StoreFailure::Closed)));
    assert!(matches!(numbers(&file), Err(StoreFailure::Closed)));
}

#[test]
fn a_file_that_was_let_go_is_opened_when_it_is_needed_and_never_made_anew() {
    let folder = ScratchFolder::new("store");
    let path = folder.path().join("store.redb");
    let file = StoreFile::create(&path).expect("a store");
    write(&file, 1).expect("written");
    file.let_go();
    drop(StoreFile::create(&path).expect("another may have it meanwhile"));
    assert_eq!(numbers(&file).expect("read"), [1]);
    file.let_go();
    let away = folder.path().join("away");
    std::fs::rename(&path, &away).expect("renamed");
    write(&file, 2).expect_err("it is not there");
    assert!(!path.exists(), "it did not come back empty");
    std::fs::rename(&away, &path).expect("renamed");
    write(&file, 3).expect("it is there again");
    assert_eq!(numbers(&file).expect("read"), [1, 3]);
    file.close();
    file.let_go();
    assert!(matches!(numbers(&file), Err(StoreFailure::Closed)), "closed is closed");
}

#[test]
fn work_that_fails_leaves_nothing() {
    let file = StoreFile::in_memory().expect("a store");
    write(&file, 1).expect("written");
    let failed: Result<(), _> = file.write(|transaction| {
        transaction.open_table(NUMBERS)?.insert(2, "half")?;
        Err(redb::Error::Corrupted("the work's own".to_owned()))
    });
    assert!(matches!(failed, Err(StoreFailure::Unchanged(_))), "{failed:?}");
    assert_eq!(numbers(&file).expect("read"), [1]);
}

#[test]
fn many_who_fail_at_once_open_the_file_once() {
    let folder = ScratchFolder::new("store");
    let disk = FailingDisk::new(folder.path().join("store.redb"));
    let opened = std::sync::Arc::new(AtomicUsize::new(0));
    let (counted, from) = (std::sync::Arc::clone(&opened), disk.clone());
    let open = move || {
        counted.fetch_add(1, Ordering::SeqCst);
        from.open()
    };
    let file = StoreFile::with_storage("a test's", open).expect("a store");
    write(&file, 0).expect("written");
    disk.refuse(Refused::Changes);
    write(&file, 1).expect_err("the disk is full");
    disk.refuse(Refused::Nothing);
    std::thread::scope(|scope| {
        for number in 2..10 {
            let file = &file;
            scope.spawn(move || write(file, number).expect("there is room again"));
        }
    });
    assert_eq!(opened.load(Ordering::SeqCst), 2);
    let found = numbers(&file).expect("read");
    assert!((2..10).all(|number| found.contains(&number)), "{found:?}");
}

#[test]
fn a_change_that_finds_no_room_before_its_commit_was_not_made() {
    let folder = ScratchFolder::new("store");
    let (file, disk) = on_disk(&folder);
    write(&file, 1).expect("written");
    let large = "x".repeat(20_000_000);
    let grow = || {
        file.write(|transaction| {
            transaction.open_table(NUMBERS)?.insert(2, large.as_str())?;
            Ok(())
        })
    };
    disk.refuse(Refused::Changes);
    let failed = grow().expect_err("the disk is full");
    assert!(matches!(failed, StoreFailure::Unchanged(redb::Error::Io(_))), "{failed:?}");
    disk.refuse(Refused::Nothing);
    assert_eq!(numbers(&file).expect("read"), [1]);
    grow().expect("there is room again");
    assert_eq!(numbers(&file).expect("read"), [1, 2]);
}
