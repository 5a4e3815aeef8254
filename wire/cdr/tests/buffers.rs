//! The pools of buffers: what is given back is taken again, within limits, and trimmed. One test,
//! since the process's pool is one.

use corbie_cdr::buffers::{self, BufferLimits, BufferStatistics};
use corbie_cdr::{ByteOrder, Encoder};

/// What `work` does on a thread with a pool of its own, in `BufferStatistics`.
fn on_a_thread(work: impl FnOnce() + Send) -> BufferStatistics {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            work();
            buffers::statistics()
        });
        thread.join().expect("it does not panic")
    })
}

fn empty_everything() {
    buffers::trim();
    buffers::trim();
    assert_eq!(buffers::shared_octets(), 0, "no thread needed what is there");
}

#[test]
fn pools() {
    taken_again();
    sizes();
    beyond_a_threads_share();
    from_one_thread_to_another();
    limits();
    what_is_used_now_replaces_the_rest();
    trimming();
    encoders();
    a_thread_that_ends();
    a_thread_that_only_gives_back();
}

fn taken_again() {
    let did = on_a_thread(|| {
        for _ in 0..100 {
            let (one, two) = (buffers::take(100), buffers::take_filled(100));
            assert!(one.is_empty() && one.capacity() >= 100 && two.len() >= 100);
            buffers::give(one);
            buffers::give_filled(two);
        }
    });
    assert_eq!((did.taken, did.given, did.allocated, did.freed), (200, 200, 2, 0), "{did:?}");
    assert_eq!((did.held_buffers, did.held_octets), (2, 2 * buffers::MIN_OCTETS));
    empty_everything();
}

fn sizes() {
    on_a_thread(|| {
        buffers::give(buffers::take(1 << 16));
        assert!(buffers::take(100).capacity() < 1 << 16, "too large for so little");
        assert!(buffers::take(1 << 15).capacity() >= 1 << 16, "at most four times too large");
        for octets in [0, 1, 4096, 4097, 1 << 20, (1 << 20) + 1, (16 << 20) + 60] {
            let (one, two) = (buffers::take(octets), buffers::take_filled(octets));
            assert!(one.capacity() >= octets && two.len() >= octets);
            let (at, of) = (one.as_ptr(), two.as_ptr());
            buffers::give(one);
            buffers::give_filled(two);
            let (one, two) = (buffers::take(octets), buffers::take_filled(octets));
            assert!(at == one.as_ptr() && of == two.as_ptr(), "{octets}: the same again");
        }
        // What was made elsewhere is taken, too, if it is of use.
        buffers::give(Vec::new());
        buffers::give(vec![1; 5000]);
        assert!(buffers::take(4096).capacity() >= 4096);
    });
    empty_everything();
}

fn beyond_a_threads_share() {
    let did = on_a_thread(|| {
        let many: Vec<_> = (0..100).map(|_| buffers::take(0)).collect();
        many.into_iter().for_each(buffers::give);
    });
    assert_eq!(did.to_shared + did.held_buffers as u64, 100, "{did:?}");
    assert!(did.held_buffers <= BufferLimits::DEFAULT.thread_buffers && did.to_shared > 0);
    let did = on_a_thread(|| {
        // Large ones are for all.
        buffers::give_filled(buffers::take_filled(8 << 20));
        assert!(buffers::take_kept_filled(8 << 20).is_some());
    });
    assert_eq!((did.to_shared, did.from_shared, did.allocated), (1, 1, 1), "{did:?}");
    empty_everything();
}

fn from_one_thread_to_another() {
    let (to, from) = std::sync::mpsc::sync_channel::<Vec<u8>>(4);
    let (takes, gives) = std::thread::scope(|scope| {
        let takes = scope.spawn(move || {
            for _ in 0..5000 {
                to.send(buffers::take(100)).expect("the other thread receives");
            }
            buffers::statistics()
        });
        let gives = scope.spawn(move || {
            from.into_iter().for_each(buffers::give);
            buffers::statistics()
        });
        (takes.join().expect("no panic"), gives.join().expect("no panic"))
    });
    assert_eq!((takes.taken, gives.given), (5000, 5000));
    // The lock is tried only, so a few batches may have been missed.
    assert!(takes.allocated < 500, "{takes:?}, {gives:?}");
    empty_everything();
}

fn limits() {
    let limits = BufferLimits { thread_buffers: 3, thread_octets: 1 << 16, shared_octets: 1 << 17 };
    buffers::set_limits(limits);
    assert_eq!(buffers::limits(), limits);
    let did = on_a_thread(|| {
        let many: Vec<_> = (0..1000).map(|at| buffers::take(at * 100)).collect();
        many.into_iter().for_each(buffers::give);
        let now = buffers::statistics();
        assert!(now.held_buffers <= 3 && now.held_octets <= 1 << 16, "{now:?}");
        assert!(buffers::shared_octets() <= 1 << 17, "{}", buffers::shared_octets());
    });
    assert!(did.freed > 900, "{did:?}");
    buffers::set_limits(BufferLimits { thread_buffers: 0, ..limits });
    empty_everything();
    let did = on_a_thread(|| buffers::give(buffers::take(0)));
    assert_eq!((did.held_buffers, did.freed, buffers::shared_octets()), (0, 1, 0));
    buffers::set_limits(BufferLimits::default());
}

fn what_is_used_now_replaces_the_rest() {
    let limits = BufferLimits { thread_buffers: 2, thread_octets: 1 << 20, shared_octets: 1 << 20 };
    buffers::set_limits(limits);
    let give = |count: usize, octets| {
        let many: Vec<_> = (0..count).map(|_| buffers::take(octets)).collect();
        many.into_iter().for_each(buffers::give);
    };
    on_a_thread(|| give(20, 1 << 16));
    assert_eq!(buffers::shared_octets(), 1 << 20, "full of large ones");
    on_a_thread(|| give(40, 1 << 12));
    assert!(buffers::shared_octets() <= 1 << 20);
    let did = on_a_thread(|| give(40, 1 << 12));
    assert_eq!((did.allocated, did.freed), (0, 0), "small ones took their place: {did:?}");
    let did = on_a_thread(|| give(12, 1 << 16));
    assert_eq!(did.allocated, 0, "most of the large ones are still there: {did:?}");
    buffers::set_limits(BufferLimits::default());
    empty_everything();
}

fn trimming() {
    on_a_thread(|| {
        let four: Vec<_> = (0..4).map(|_| buffers::take(0)).collect();
        four.into_iter().for_each(buffers::give);
        let use_two = || {
            let two = [buffers::take(0), buffers::take(0)];
            two.into_iter().for_each(buffers::give);
        };
        buffers::trim();
        use_two();
        assert_eq!(buffers::statistics().held_buffers, 4, "all four were needed before");
        use_two();
        buffers::trim();
        use_two();
        let now = buffers::statistics();
        assert_eq!((now.held_buffers, now.trimmed), (2, 2), "two were enough since: {now:?}");
    });
    empty_everything();
}

fn encoders() {
    let write = || {
        let mut e = Encoder::pooled(ByteOrder::NATIVE);
        (0..100_000).for_each(|value| e.write_ulong(value));
        e.len()
    };
    let did = on_a_thread(|| {
        (0..10).for_each(|_| assert_eq!(write(), 400_000));
    });
    assert_eq!(did.taken, did.given, "an encoder gives back what it took");
    assert_eq!(did.taken, 10 * did.allocated, "and takes the same again: {did:?}");
    empty_everything();
}

fn a_thread_that_ends() {
    on_a_thread(|| buffers::give(buffers::take(0)));
    let did = on_a_thread(|| drop(buffers::take(0)));
    assert_eq!((did.from_shared, did.allocated), (1, 0), "left by the first: {did:?}");
    empty_everything();
}

/// As a thread that sends what others wrote: nothing stays with it, so no thread allocates again.
fn a_thread_that_only_gives_back() {
    let (to, from) = std::sync::mpsc::sync_channel::<Vec<u8>>(0);
    let (done, is_done) = std::sync::mpsc::sync_channel::<BufferStatistics>(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for buffer in from {
                buffers::give(buffer);
                buffers::leave_to_others();
                done.send(buffers::statistics()).expect("it waits");
            }
        });
        let did = on_a_thread(move || {
            for _ in 0..100 {
                to.send(buffers::take(100)).expect("it listens");
                let other = is_done.recv().expect("it answers");
                assert_eq!((other.held_buffers, other.held_octets), (0, 0), "{other:?}");
                assert_eq!((other.to_shared, other.freed), (other.given, 0), "{other:?}");
            }
        });
        assert_eq!((did.taken, did.allocated, did.from_shared), (100, 1, 99), "{did:?}");
    });
    empty_everything();
}
