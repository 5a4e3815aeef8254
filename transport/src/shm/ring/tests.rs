//! The ring by itself: against a queue, against a hostile other side, and in every interleaving of
//! small runs (loom).

use super::super::mapping::{Mapping, RING_OCTETS};
use super::super::segment::sealed_file_for;
use super::{Broken, Consumer, Control, Octets, Producer, Wish, Word};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

const CAPACITY: u32 = *RING_OCTETS.start();

fn mapping() -> Mapping {
    Mapping::new(sealed_file_for(CAPACITY).unwrap(), CAPACITY).unwrap()
}

/// Both sides of a ring of which `at` octets were sent before.
fn sides(mapping: &Mapping, at: u32) -> (Producer, Consumer) {
    let control = mapping.control(0);
    control.tail.0.store(at, Ordering::Relaxed);
    control.head.0.store(at, Ordering::Relaxed);
    let producer = Producer { tail: AtomicU32::new(at), head_seen: AtomicU32::new(at) };
    (producer, Consumer { head: AtomicU32::new(at) })
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(usize),
    Publish,
    Take(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let octets = prop_oneof![0..40usize, 0..2 * CAPACITY as usize];
    prop_oneof![
        octets.clone().prop_map(Step::Write),
        Just(Step::Publish),
        octets.prop_map(Step::Take),
    ]
}

proptest! {
    /// Whatever pieces octets are written and taken in, and wherever the positions wrap around:
    /// they come out in order, none before it was published, and no more than there is room for.
    #[test]
    fn a_ring_is_a_queue(at in any::<u32>(), steps in prop::collection::vec(step(), 1..60)) {
        let mapping = mapping();
        let (control, area) = (mapping.control(0), mapping.octets(0));
        let (producer, consumer) = sides(&mapping, at);
        let (mut hidden, mut shown) = (VecDeque::<u8>::new(), VecDeque::<u8>::new());
        let mut next = 0u8;
        for step in steps {
            match step {
                Step::Write(octets) => {
                    let octets: Vec<u8> = (0..octets).map(|i| next.wrapping_add(i as u8)).collect();
                    let written = producer.write(control, &area, &octets).unwrap();
                    let room = CAPACITY as usize - hidden.len() - shown.len();
                    prop_assert_eq!(written, octets.len().min(room));
                    hidden.extend(octets.iter().take(written));
                    next = next.wrapping_add(written as u8);
                }
                Step::Publish => {
                    prop_assert!(!producer.publish(control), "no reader sleeps");
                    shown.append(&mut hidden);
                }
                Step::Take(octets) => {
                    let available = consumer.available(control, &area).unwrap() as usize;
                    prop_assert_eq!(available, shown.len());
                    let mut into = vec![0; octets.min(available)];
                    consumer.take(control, &area, &mut into);
                    prop_assert!(shown.drain(..into.len()).eq(into));
                }
            }
        }
    }

    /// Whatever the other side writes into the control words: an error or octets, never more than
    /// the ring has, and no panic.
    #[test]
    fn what_a_hostile_side_writes_is_checked(
        at in any::<u32>(),
        words in prop::array::uniform4(any::<u32>()),
        octets in 0..3 * CAPACITY as usize,
    ) {
        let mapping = mapping();
        let (control, area) = (mapping.control(0), mapping.octets(0));
        let (producer, consumer) = sides(&mapping, at);
        let shared = [&control.tail, &control.head, &control.sleeping, &control.wants_room];
        for (word, value) in shared.into_iter().zip(words) {
            word.0.store(value, Ordering::Relaxed);
        }
        match consumer.available(control, &area) {
            Ok(available) => {
                prop_assert!(available <= CAPACITY);
                prop_assert_eq!(available, words[0].wrapping_sub(at));
                consumer.take(control, &area, &mut vec![0; available as usize]);
            }
            Err(Broken) => prop_assert!(words[0].wrapping_sub(at) > CAPACITY),
        }
        let _ = consumer.room_wish(control, &area);
        let _ = consumer.arm(control);
        let has_room = producer.has_room_or_wish(control, &area, Wish::Wake);
        prop_assert_eq!(has_room.is_err(), at.wrapping_sub(words[1]) > CAPACITY);
        if let Ok(written) = producer.write(control, &area, &vec![1; octets]) {
            prop_assert!(written <= CAPACITY as usize);
            let _ = producer.publish(control);
        }
    }
}

#[test]
fn who_sleeps_is_signalled_once() {
    let mapping = mapping();
    let (control, area) = (mapping.control(0), mapping.octets(0));
    let (producer, consumer) = sides(&mapping, 0);
    assert!(consumer.arm(control));
    assert!(!consumer.arm(control), "it is armed");
    producer.write(control, &area, b"ab").unwrap();
    assert!(producer.publish(control), "the consumer sleeps");
    producer.write(control, &area, b"cd").unwrap();
    assert!(!producer.publish(control), "it was signalled");
    assert_eq!(consumer.available(control, &area), Ok(4));
    assert!(consumer.arm(control));
    consumer.disarm(control);
    assert!(!producer.publish(control), "it woke by itself");
}

#[test]
fn room_is_told_when_half_of_the_ring_is_free() {
    let mapping = mapping();
    let (control, area) = (mapping.control(0), mapping.octets(0));
    let (producer, consumer) = sides(&mapping, 77);
    let all = vec![1; CAPACITY as usize];
    assert_eq!(producer.write(control, &area, &all), Ok(all.len()));
    let _ = producer.publish(control);
    assert_eq!(producer.write(control, &area, &all), Ok(0));
    assert_eq!(producer.has_room_or_wish(control, &area, Wish::Wake), Ok(false));
    let mut into = vec![0; all.len() / 2];
    consumer.take(control, &area, &mut into[1..]);
    assert_eq!(consumer.room_wish(control, &area), None, "not enough for a wake");
    consumer.take(control, &area, &mut into[..1]);
    assert_eq!(consumer.room_wish(control, &area), Some(Wish::Wake));
    assert_eq!(consumer.room_wish(control, &area), None, "told once");
    assert_eq!(producer.has_room_or_wish(control, &area, Wish::Doorbell), Ok(true));
    assert_eq!(consumer.room_wish(control, &area), None, "the wish was taken back");
}

/// Loom's words and octets. The octets are cells: reader and writer at one of them at the same time
/// is a failure.
mod interleavings {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;
    use std::sync::atomic::AtomicU8;

    impl Word for loom::sync::atomic::AtomicU32 {
        fn load(&self, order: Ordering) -> u32 {
            self.load(order)
        }

        fn store(&self, value: u32, order: Ordering) {
            self.store(value, order);
        }

        fn swap(&self, value: u32, order: Ordering) -> u32 {
            self.swap(value, order)
        }

        fn fence() {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }
    }

    /// Each octet, and a cell with which loom sees who uses it.
    struct Cells(Vec<(UnsafeCell<()>, AtomicU8)>);

    impl Cells {
        fn at(&self, position: u32) -> &(UnsafeCell<()>, AtomicU8) {
            &self.0[position as usize & (self.0.len() - 1)]
        }
    }

    impl Octets for Cells {
        fn capacity(&self) -> u32 {
            self.0.len() as u32
        }

        fn write(&self, at: u32, from: &[u8]) {
            for (position, value) in (at..).zip(from) {
                let (cell, octet) = self.at(position);
                cell.with_mut(|_| octet.store(*value, Ordering::Relaxed));
            }
        }

        fn read(&self, at: u32, into: &mut [u8]) {
            for (position, value) in (at..).zip(into) {
                let (cell, octet) = self.at(position);
                *value = cell.with(|_| octet.load(Ordering::Relaxed));
            }
        }
    }

    /// What a signal does: it is kept until a thread waits for it.
    struct Signal(Mutex<bool>, Condvar);

    impl Signal {
        fn new() -> Self {
            Signal(Mutex::new(false), Condvar::new())
        }

        fn notify(&self) {
            *self.0.lock().unwrap() = true;
            self.1.notify_one();
        }

        fn wait(&self) {
            let mut is_set = self.0.lock().unwrap();
            while !*is_set {
                is_set = self.1.wait(is_set).unwrap();
            }
            *is_set = false;
        }
    }

    /// Every interleaving with so many preemptions: more take minutes, and show nothing more.
    fn model(run: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(Some(3));
        builder.check(run);
    }

    struct Shared {
        control: Control<loom::sync::atomic::AtomicU32>,
        area: Cells,
        bell: Signal,
        room: Signal,
    }

    fn shared(capacity: usize) -> Arc<Shared> {
        Arc::new(Shared {
            control: Control::default(),
            area: Cells((0..capacity).map(|_| (UnsafeCell::new(()), AtomicU8::new(0))).collect()),
            bell: Signal::new(),
            room: Signal::new(),
        })
    }

    fn send(shared: &Shared, octets: &[u8]) {
        let (producer, mut sent) = (Producer::default(), 0);
        let Shared { control, area, bell, room } = shared;
        while sent < octets.len() {
            let written = producer.write(control, area, &octets[sent..]).unwrap();
            sent += written;
            if written > 0 && producer.publish(control) {
                bell.notify();
            }
            if written == 0 && !producer.has_room_or_wish(control, area, Wish::Wake).unwrap() {
                room.wait();
            }
        }
    }

    fn take(shared: &Shared, consumer: &Consumer) -> Vec<u8> {
        let Shared { control, area, room, .. } = shared;
        let mut into = vec![0; consumer.available(control, area).unwrap() as usize];
        consumer.take(control, area, &mut into);
        if consumer.room_wish(control, area).is_some() {
            room.notify();
        }
        into
    }

    /// As a thread that blocks: it says that it sleeps, looks, and sleeps. A lost wake would be a
    /// deadlock, which loom finds.
    #[test]
    fn no_wake_is_lost_by_a_thread_that_blocks() {
        model(|| {
            let shared = shared(2);
            let sender = Arc::clone(&shared);
            let sender = thread::spawn(move || send(&sender, &[0, 1, 2]));
            let (consumer, mut came) = (Consumer::default(), vec![]);
            while came.len() < 3 {
                came.extend(take(&shared, &consumer));
                if came.len() == 3 {
                    break;
                }
                consumer.arm(&shared.control);
                if consumer.available(&shared.control, &shared.area) == Ok(0) {
                    shared.bell.wait();
                }
                consumer.disarm(&shared.control);
            }
            assert_eq!(came, [0, 1, 2]);
            sender.join().unwrap();
        });
    }

    /// As an event loop: armed from the beginning, it looks only after the bell, once, and arms
    /// before it looks.
    #[test]
    fn no_event_is_lost_by_an_event_loop() {
        model(|| {
            let shared = shared(4);
            let consumer = Consumer::default();
            consumer.arm(&shared.control);
            let sender = Arc::clone(&shared);
            let sender = thread::spawn(move || {
                let producer = Producer::default();
                for octet in [0, 1] {
                    producer.write(&sender.control, &sender.area, &[octet]).unwrap();
                    if producer.publish(&sender.control) {
                        sender.bell.notify();
                    }
                }
            });
            let mut came = vec![];
            while came.len() < 2 {
                shared.bell.wait();
                consumer.arm(&shared.control);
                came.extend(take(&shared, &consumer));
            }
            assert_eq!(came, [0, 1]);
            sender.join().unwrap();
        });
    }

    /// One side sends an octet while the other falls asleep; whether it may sleep for ever: it saw
    /// nothing, and was not signalled.
    fn sleeps_for_ever(fall_asleep: fn(&Shared, &Consumer) -> bool) -> bool {
        let found = std::sync::Arc::new(AtomicU8::new(0));
        let note = std::sync::Arc::clone(&found);
        model(move || {
            let shared = shared(2);
            let sender = Arc::clone(&shared);
            let sender = thread::spawn(move || {
                let producer = Producer::default();
                producer.write(&sender.control, &sender.area, &[0]).unwrap();
                producer.publish(&sender.control)
            });
            let saw = fall_asleep(&shared, &Consumer::default());
            let was_signalled = sender.join().unwrap();
            note.fetch_max((!saw && !was_signalled).into(), Ordering::Relaxed);
        });
        found.load(Ordering::Relaxed) != 0
    }

    /// A model that cannot fail shows nothing: this is the protocol, and what it is not.
    #[test]
    fn the_order_of_the_two_looks_matters() {
        fn looks(shared: &Shared, consumer: &Consumer) -> bool {
            consumer.available(&shared.control, &shared.area) != Ok(0)
        }
        assert!(!sleeps_for_ever(|shared, consumer| {
            consumer.arm(&shared.control);
            looks(shared, consumer)
        }));
        assert!(sleeps_for_ever(|shared, consumer| {
            let saw = looks(shared, consumer);
            consumer.arm(&shared.control);
            saw
        }));
        assert!(sleeps_for_ever(|shared, consumer| {
            shared.control.sleeping.0.store(1, Ordering::Relaxed); // Without the fence.
            looks(shared, consumer)
        }));
    }
}
