//! Entering, leaving, closing and waiting, with real threads.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak, mpsc};

/// As the core has it: behind a trait object.
trait Servant: Send + Sync {}

struct Idle;

impl Servant for Idle {}

type ActiveObject = super::ActiveObject<dyn Servant>;

/// Two reasons of the owner of the gate.
const HOLDING: u32 = closed::FIRST_OF_OWNER;
const SERIALISED: u32 = closed::FIRST_OF_OWNER << 1;

/// Counts the threads that left.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Owner for Counter {
    fn left(&self, index: u32) {
        assert_eq!(index, 7);
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn object() -> (Arc<Gate>, ActiveObject, Arc<Counter>) {
    let gate = Arc::new(Gate::new().unwrap());
    let counter = Arc::new(Counter::default());
    let owner: Weak<dyn Owner> = Arc::<Counter>::downgrade(&counter);
    gate.set_owner(owner);
    let object = ActiveObject::new(Activation::new(&gate, 7, b"id"), Arc::new(Idle));
    (gate, object, counter)
}

#[test]
fn an_upcall_is_known_while_it_lasts() {
    let (gate, object, counter) = object();
    assert_eq!(current(), None);
    let upcall = Upcall { gate: gate.number(), index: 7 };
    let inside = object.call(|_| {
        assert_eq!(current(), Some(upcall));
        assert!(is_inside_any(|its| its == upcall));
        assert_eq!((gate.count_inside(), object.activation().count_inside()), (1, 1));
        "inside"
    });
    assert_eq!(inside, Some("inside"));
    assert_eq!((current(), gate.count_inside()), (None, 0));
    assert_eq!(counter.0.load(Ordering::SeqCst), 0, "no thread closes, so the owner is not told");
}

#[test]
fn an_object_that_came_to_rest_goes_although_its_index_is_used_again() {
    let (gate, _, _counter) = object();
    let servant = Arc::new(Idle);
    let gone = Arc::downgrade(&servant);
    let former = ActiveObject::new(Activation::new(&gate, 7, b"former"), servant);
    assert!(!former.activation().comes_to_rest(), "it is active");
    former.activation().close_at_once();
    assert!(former.activation().comes_to_rest());
    let next = ActiveObject::new(Activation::new(&gate, 7, b"next"), Arc::new(Idle));
    // A thread that has served a request may be the last one to hold the former object.
    next.call(|_| drop(former)).unwrap();
    assert!(gone.upgrade().is_none(), "the former servant is kept for ever");
    next.activation().close_at_once();
}

#[test]
fn an_object_dropped_around_an_upcall_leaves_its_servant_alive() {
    let gate = Arc::new(Gate::new().unwrap());
    let servant = Arc::new(Idle);
    let alive = Arc::downgrade(&servant);
    let object = ActiveObject::new(Activation::new(&gate, 7, b"id"), servant);
    let activation = Arc::clone(object.activation());
    let entered = activation.enter().unwrap();
    drop(object);
    assert!(alive.upgrade().is_some(), "a thread is inside");
    assert!(activation.enter().is_none(), "the object was closed");
    drop(entered);
}

#[test]
fn upcalls_that_are_not_left_in_order_stay_known() {
    let gate = Gate::new().unwrap();
    let first = gate.enter(1, 0).unwrap();
    let second = gate.enter(2, 0).unwrap();
    drop(first);
    let third = gate.enter(3, 0).unwrap();
    assert_eq!([1, 2, 3].map(|index| gate.count_inside_object(index)), [0, 1, 1]);
    assert!(is_inside_any(|upcall| upcall.index == 2));
    drop(third);
    assert_eq!([1, 2, 3].map(|index| gate.count_inside_object(index)), [0, 1, 0]);
    drop(second);
    assert_eq!((gate.count_inside(), current()), (0, None));
}

#[test]
fn a_closed_object_and_a_closed_gate_let_no_thread_in() {
    let (gate, object, counter) = object();
    gate.change(HOLDING | SERIALISED, 0);
    assert!(object.activation().enter().is_none());
    assert!(object.activation().enter_in_spite_of(SERIALISED).is_none());
    assert_eq!(gate.enter(7, HOLDING).err(), Some(SERIALISED));
    assert!(object.activation().enter_in_spite_of(HOLDING | SERIALISED).is_some());
    gate.change(0, HOLDING | SERIALISED);
    let inside = object.activation().enter().unwrap();
    object.activation().close_at_once();
    assert!(object.call(|_| ()).is_none());
    assert_eq!(object.activation().count_inside(), 1);
    assert_eq!(counter.0.swap(0, Ordering::SeqCst), 1, "a thread that was not let in left, too");
    drop(inside);
    assert_eq!(counter.0.load(Ordering::SeqCst), 1);
    assert_eq!(object.activation().count_inside(), 0);
}

#[test]
fn upcalls_may_be_nested_deeper_than_a_record_has_places() {
    fn descend(object: &ActiveObject, depth: usize) {
        object
            .call(|_| {
                assert_eq!(current().unwrap().index, 7);
                if depth > 1 {
                    descend(object, depth - 1);
                } else {
                    assert_eq!(object.activation().count_inside(), 20);
                    object.activation().close_at_once();
                }
            })
            .unwrap();
    }
    let (gate, object, counter) = object();
    descend(&object, 20);
    assert_eq!((gate.count_inside(), current()), (0, None));
    assert_eq!(counter.0.load(Ordering::SeqCst), 20);
}

#[test]
fn a_panic_leaves_too() {
    let (gate, object, _counter) = object();
    let call = std::panic::AssertUnwindSafe(|| object.call(|_| panic!("as asked")));
    assert!(std::panic::catch_unwind(call).is_err());
    assert_eq!((gate.count_inside(), current()), (0, None));
}

#[test]
fn waiting_for_a_gate_ends_with_the_last_upcall() {
    let (gate, object, _counter) = object();
    let object = Arc::new(object);
    let (inside, is_inside) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    let caller = {
        let object = Arc::clone(&object);
        std::thread::spawn(move || {
            object.call(|_| {
                inside.send(()).unwrap();
                may_leave.recv().unwrap();
            })
        })
    };
    is_inside.recv().unwrap();
    let waiting = {
        let gate = Arc::clone(&gate);
        std::thread::spawn(move || gate.wait_until_idle())
    };
    while gate.bits() & closed::AWAITED == 0 {
        std::thread::yield_now();
    }
    assert!(!waiting.is_finished());
    leave.send(()).unwrap();
    waiting.join().unwrap();
    assert_eq!(caller.join().unwrap(), Some(()));
    assert_eq!(gate.bits(), 0, "no thread waits any more");
}

#[test]
fn threads_that_end_leave_their_records_to_others() {
    let (_gate, object, _counter) = object();
    let object = Arc::new(object);
    let before = record::records_in_use();
    for _ in 0..100 {
        let object = Arc::clone(&object);
        std::thread::spawn(move || object.call(|_| ()).unwrap()).join().unwrap();
    }
    // Other tests run at the same time and have threads of their own.
    assert!(record::records_in_use() < before + 50);
}

/// Closing while many threads call: each call is either made whole before the closing is done, or
/// not at all.
#[test]
fn no_thread_is_inside_once_an_object_is_closed_and_empty() {
    for _ in 0..200 {
        let (_gate, object, _counter) = object();
        let object = Arc::new(object);
        let gone = Arc::new(AtomicUsize::new(0));
        let callers: Vec<_> = (0..3)
            .map(|_| {
                let (object, gone) = (Arc::clone(&object), Arc::clone(&gone));
                std::thread::spawn(move || {
                    let alive = |_: &(dyn Servant + 'static)| gone.load(Ordering::SeqCst);
                    while let Some(gone) = object.call(alive) {
                        assert_eq!(gone, 0, "called after the end");
                    }
                })
            })
            .collect();
        object.activation().close_at_once();
        while object.activation().count_inside() > 0 {
            std::hint::spin_loop();
        }
        gone.store(1, Ordering::SeqCst);
        for caller in callers {
            caller.join().unwrap();
        }
    }
}
