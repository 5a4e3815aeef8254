//! The log: what was appended is read again, from any number, after a crash at any octet; damage is
//! named; a disk that fails leaves nothing half written.

use super::file::faults;
use super::format::{BATCH_HEADER, BatchHeader, SegmentHeader};
use super::{Log, LogError, Opened, Retention, check_segment};
use crate::event::{Event, Shape};
use crate::interfaces::Signature;
use corbie::{
    Any, CompletionStatus, Marshal as _, Operation, SystemExceptionKind, TypeCode, minor,
};
use corbie_testkit::servers::ScratchFolder;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn numbered(number: i32) -> Arc<Event> {
    let any = Any::from_value::<i32>(&number).expect("an any");
    Arc::new(Event::of_any(&any).expect("an event"))
}

fn of_octets(length: usize) -> Arc<Event> {
    let any = Any::from_value::<corbie::idl::Sequence<u8>>(&vec![7; length]).expect("an any");
    Arc::new(Event::of_any(&any).expect("an event"))
}

fn open(folder: &Path) -> Log {
    Log::open(folder, Retention::default(), 0).expect("a log").0
}

fn number(event: &Event) -> i32 {
    let any = Any::decode(&mut event.decoder()).expect("an any");
    any.extract::<i32>().expect("a long")
}

/// The numbers of all events from `from` on.
fn read_all(log: &Log, from: u64) -> Vec<i32> {
    let (mut next, mut place, mut found) = (from, None, Vec::new());
    while let Some(part) = log.read(next, place).expect("it can be read") {
        found.extend(part.events.iter().map(|event| number(event)));
        next = part.first + part.events.len() as u64;
        place = part.next;
    }
    found
}

fn mark_of(segment: &[u8]) -> u64 {
    SegmentHeader::read(segment).expect("a segment").mark
}

/// The files of a log, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn events_are_read_again_from_any_number_and_after_a_restart() {
    let folder = ScratchFolder::new("log");
    let log = open(folder.path());
    for batch in 0..20 {
        let events: Vec<_> = (batch * 5..batch * 5 + 5).map(numbered).collect();
        let (first, _) = log.append(&events).expect("appended");
        assert_eq!(first, u64::try_from(batch * 5).expect("small"));
    }
    for from in [0, 1, 4, 5, 50, 99, 100] {
        assert_eq!(read_all(&log, from), Vec::from_iter(from as i32..100), "from {from}");
    }
    drop(log);
    let (log, opened) = Log::open(folder.path(), Retention::default(), 0).expect("a log");
    assert_eq!((opened, log.first(), log.end()), (Opened::default(), 0, 100));
    assert_eq!(read_all(&log, 37), Vec::from_iter(37..100));
    log.append(&[numbered(100)]).expect("appended");
    assert_eq!(read_all(&log, 99), [99, 100]);
}

#[test]
fn everything_that_an_event_is_is_kept() {
    let folder = ScratchFolder::new("log");
    let log = open(folder.path());
    let parameters =
        [("symbol".to_owned(), TypeCode::string(0)), ("price".to_owned(), TypeCode::DOUBLE)];
    let signature = Arc::new(Signature::new("IDL:Ticker:1.0", "::Ticker", "price", parameters));
    let typed = Shape::Typed(Arc::clone(&signature));
    let typed = Event::written(signature.operation().clone(), typed, |e| {
        e.write_ulong(1);
        e.write_octets(&[0, 0, 0, 0]);
        e.write_double(2.5);
        Ok(())
    });
    let named = Event::written(Operation::oneway("shout"), Shape::Any, |e| {
        e.write_ulong(0);
        Ok(())
    });
    // Of GIOP 1.0, where arguments begin anywhere.
    let message: Vec<u8> = (0..20).collect();
    let mut d = corbie::Decoder::with_position(&message, 5, corbie::ByteOrder::BigEndian);
    d.set_version(corbie::Version::V1_0);
    let old = Event::read(Operation::twoway("push"), Shape::Any, &d);
    let events = [typed.expect("an event"), named.expect("an event"), old].map(Arc::new);
    log.append(&events).expect("appended");
    let read = log.read(0, None).expect("it can be read").expect("it is there").events;
    for (written, read) in events.iter().zip(&read) {
        assert_eq!(written.operation(), read.operation());
        assert_eq!(written.octets(), read.octets());
        let (one, other) = (written.decoder(), read.decoder());
        assert_eq!(
            (one.position(), one.order(), one.version(), one.code_sets()),
            (other.position(), other.order(), other.version(), other.code_sets())
        );
    }
    let Shape::Typed(read) = read[0].shape() else { panic!("it is typed") };
    assert_eq!(**read, *signature);
}

#[test]
fn the_oldest_segments_go_when_nobody_needs_them_or_there_are_too_many() {
    let folder = ScratchFolder::new("log");
    let retention = Retention { octets: 256 << 10, ..Retention::default() };
    let (log, _) = Log::open(folder.path(), retention, 0).expect("a log");
    for _ in 0..100 {
        log.append(&[of_octets(10_000)]).expect("appended");
    }
    assert_eq!(log.first(), 0, "nothing is dropped on the way");
    log.drop_below(20).expect("dropped");
    assert!(log.octets() <= 256 << 10, "{} octets", log.octets());
    let first = log.first();
    assert!(first > 70 && first < 90, "the first is {first}");
    let part = log.read(0, None).expect("it can be read").expect("it is there");
    assert_eq!(part.first, first, "what was dropped is passed over");
    log.drop_below(100).expect("dropped");
    assert_eq!(files(folder.path()).len(), 1, "the last one stays");
    assert_eq!(log.end(), 100);
    drop(log);
    assert_eq!(Log::open(folder.path(), retention, 0).expect("a log").0.end(), 100);
}

#[test]
fn a_file_that_cannot_be_removed_keeps_no_other() {
    let folder = ScratchFolder::new("log");
    let log = open(folder.path());
    for _ in 0..3 {
        log.append(&[of_octets(9 << 20)]).expect("appended");
    }
    let all = files(folder.path());
    assert_eq!(all.len(), 3, "one a segment");
    std::fs::remove_file(&all[0]).expect("removed");
    std::fs::create_dir(&all[0]).expect("a folder in its place");
    log.drop_below(3).expect_err("a folder is no file");
    assert_eq!(files(folder.path()), [all[0].clone(), all[2].clone()]);
    assert_eq!(log.first(), 2);
}

#[test]
fn old_events_go_even_when_nothing_comes() {
    let folder = ScratchFolder::new("log");
    let retention = Retention { age: Duration::ZERO, ..Retention::default() };
    let (log, _) = Log::open(folder.path(), retention, 0).expect("a log");
    log.append(&[numbered(0), numbered(1)]).expect("appended");
    log.drop_below(0).expect("dropped");
    assert_eq!((log.first(), log.end()), (2, 2));
    assert_eq!(read_all(&log, 0), []);
    log.append(&[numbered(2)]).expect("appended");
    drop(log);
    assert_eq!(read_all(&open(folder.path()), 0), [2]);
}

#[test]
fn a_full_disk_refuses_events_and_keeps_those_before() {
    let folder = ScratchFolder::new("log");
    let log = open(folder.path());
    log.append(&[numbered(0)]).expect("appended");
    for room in [0, 1, 31, 32, 33, 70] {
        faults::set_room(Some(room));
        let error = log.append(&[numbered(1), numbered(2)]).expect_err("there is no room");
        let exception = error.to_exception();
        assert_eq!(exception.minor, minor::NO_RESOURCES_STORE_FULL, "{exception}");
        assert_eq!(exception.completed, CompletionStatus::No);
        faults::set_room(None);
        assert_eq!(read_all(&log, 0), [0], "with room for {room}");
        assert_eq!(read_all(&open(folder.path()), 0), [0], "with room for {room}");
    }
    log.append(&[numbered(1)]).expect("there is room again");
    assert_eq!(read_all(&open(folder.path()), 0), [0, 1]);
}

#[test]
fn after_a_failed_flush_a_new_segment_begins() {
    let folder = ScratchFolder::new("log");
    let log = open(folder.path());
    log.append(&[numbered(0)]).expect("appended");
    faults::fail_syncs(1);
    let error = log.append(&[numbered(7)]).expect_err("it was not flushed");
    assert_eq!(error.to_exception().kind, SystemExceptionKind::PersistStore);
    assert_eq!(error.to_exception().completed, CompletionStatus::Maybe);
    // Nor can it be cut off, once.
    faults::fail_syncs(1);
    log.append(&[numbered(8)]).expect_err("the file is in doubt");
    log.append(&[numbered(1)]).expect("the disk works again");
    assert_eq!(files(folder.path()).len(), 2);
    assert_eq!(read_all(&log, 0), [0, 1]);
    drop(log);
    assert_eq!(read_all(&open(folder.path()), 0), [0, 1]);
}

#[test]
fn damage_is_named_wherever_it_is() {
    let folder = ScratchFolder::new("log");
    let log = open(folder.path());
    (0..3).for_each(|number| assert!(log.append(&[numbered(number)]).is_ok()));
    drop(log);
    let file = files(folder.path()).remove(0);
    let whole = std::fs::read(&file).expect("a file");
    let batch = (whole.len() - 40) / 3;
    for at in (0..40 + 2 * batch).filter(|at| !(36..40).contains(at)) {
        let mut octets = whole.clone();
        octets[at] ^= 1;
        std::fs::write(&file, &octets).expect("written");
        match Log::open(folder.path(), Retention::default(), 0) {
            Err(LogError::Damaged { path, .. }) => assert_eq!(path, file),
            other => panic!("octet {at}: {other:?}"),
        }
    }
    std::fs::write(&file, &whole).expect("written");
    assert_eq!(read_all(&open(folder.path()), 0), [0, 1, 2]);
}

#[test]
fn what_is_damaged_while_it_is_served_is_an_error_of_the_reader() {
    let folder = ScratchFolder::new("log");
    let log = open(folder.path());
    (0..3).for_each(|number| assert!(log.append(&[numbered(number)]).is_ok()));
    let file = files(folder.path()).remove(0);
    let mut octets = std::fs::read(&file).expect("a file");
    let at = octets.len() / 2;
    octets[at] ^= 1;
    std::fs::write(&file, &octets).expect("written");
    let part = log.read(0, None).expect("the first is whole").expect("it is there");
    let error = log.read(1, part.next).expect_err("the second is damaged");
    assert!(matches!(error, LogError::Damaged { .. }), "{error}");
    std::fs::write(&file, &octets[..60]).expect("written");
    let error = log.read(1, part.next).expect_err("it is gone");
    assert!(matches!(error, LogError::Damaged { .. }), "{error}");
}

#[test]
fn a_segment_that_was_moved_away_leaves_a_gap() {
    let folder = ScratchFolder::new("log");
    let retention = Retention { octets: 0, age: Duration::from_secs(3600) };
    let (log, _) = Log::open(folder.path(), retention, 0).expect("a log");
    (0..4).for_each(|_| assert!(log.append(&[of_octets(64 << 10)]).is_ok()));
    drop(log);
    let all = files(folder.path());
    assert_eq!(all.len(), 4);
    std::fs::remove_file(&all[1]).expect("removed");
    let (log, opened) = Log::open(folder.path(), retention, 0).expect("a log");
    assert_eq!((opened.missing, log.first(), log.end()), (1, 0, 4));
    let part = log.read(1, None).expect("it can be read").expect("it is there");
    assert_eq!(part.first, 2);
}

#[test]
fn a_log_that_is_gone_goes_on_behind_what_was_seen() {
    let folder = ScratchFolder::new("log");
    let (log, _) = Log::open(folder.path(), Retention::default(), 50).expect("a log");
    assert_eq!(log.append(&[numbered(7)]).expect("appended").0, 50);
    drop(log);
    let (log, _) = Log::open(folder.path(), Retention::default(), 60).expect("a log");
    assert_eq!(log.append(&[numbered(8)]).expect("appended").0, 60);
    assert_eq!(read_all(&log, 0), [7, 8]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// A crash leaves any beginning of what was written last, or other octets in its place.
    #[test]
    fn a_crash_at_any_octet_loses_nothing_that_was_acknowledged(
        batches in prop::collection::vec(1..6_usize, 1..8),
        keeps in 0.0..1.0_f64,
        garbage in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let folder = ScratchFolder::new("log-crash");
        let log = open(folder.path());
        let mut next = 0;
        let mut lengths = Vec::new();
        for count in &batches {
            let events: Vec<_> = (next..).take(*count).map(numbered).collect();
            log.append(&events).expect("appended");
            next += i32::try_from(*count).expect("small");
            lengths.push(log.octets());
        }
        drop(log);
        let file = files(folder.path()).remove(0);
        // The last batch is being written: what is before it was acknowledged.
        let acknowledged = lengths.iter().rev().nth(1).copied().unwrap_or(40);
        let written = lengths.last().copied().unwrap_or(40);
        let kept = acknowledged + ((written - acknowledged) as f64 * keeps) as u64;
        let before = std::fs::read(&file).expect("a file");
        let mut octets = before[..usize::try_from(kept).expect("small")].to_vec();
        octets.extend(&garbage);
        std::fs::write(&file, &octets).expect("written");
        // What came in its place may be the end of the last batch, to the last octet.
        let last = usize::try_from(acknowledged).expect("small");
        let header = BatchHeader::read(&before[last..], mark_of(&before)).expect("a batch");
        let is_whole = octets.starts_with(&before[..last + BATCH_HEADER + header.body()]);
        let sure: usize = batches.iter().rev().skip(usize::from(!is_whole)).sum();
        let log = open(folder.path());
        let sure = i32::try_from(sure).expect("small");
        prop_assert_eq!(read_all(&log, 0), Vec::from_iter(0..sure));
        log.append(&[numbered(sure)]).expect("it goes on");
        drop(log);
        prop_assert_eq!(read_all(&open(folder.path()), 0), Vec::from_iter(0..=sure));
    }

    /// Whatever a segment is: an answer, no panic.
    #[test]
    fn anything_can_be_checked(octets in prop::collection::vec(any::<u8>(), 0..300), is_last: bool) {
        let _ = check_segment(&octets, is_last);
    }
}

#[test]
fn a_torn_header_is_removed() {
    let folder = ScratchFolder::new("log");
    let log = open(folder.path());
    log.append(&[numbered(0)]).expect("appended");
    drop(log);
    for length in [0, 1, 39, 40] {
        let torn = folder.path().join("00000000000000000001.events");
        std::fs::write(&torn, vec![0; length]).expect("written");
        let log = open(folder.path());
        assert!(!torn.exists(), "{length}");
        assert_eq!(read_all(&log, 0), [0]);
    }
}
