//! Suppliers and consumers that come, and go without a word, for a while: who stays gets every
//! event whose push returned, in the order of each supplier, and queues stay bounded.
//!
//! `CORBIE_SOAK_SECONDS` makes it longer.

mod fixture;

use corbie::{Any, Object, SystemException};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_event::cos_event_comm::{
    PushConsumerServant, PushConsumerSkeleton, push_consumer::PushError,
};
use corbie_event::{ChannelQos, Overflow};
use fixture::{Fixture, Said, any, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const SUPPLIERS: i32 = 2;
const QUEUE: usize = 200;

fn qos() -> ChannelQos {
    ChannelQos {
        when_full: Overflow::BlockSupplier,
        queue_events: QUEUE,
        window: 16,
        // Those that are gone refuse connections; only who stays is ever waited for.
        push_timeout: Duration::from_secs(5),
        give_up_after: Duration::from_millis(500),
        ..ChannelQos::default()
    }
}

fn seconds() -> u64 {
    std::env::var("CORBIE_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// The same channel, through another ORB.
fn through(orb: &corbie::Orb, channel: &EventChannel) -> EventChannel {
    EventChannel::unchecked_narrow(Object::new(orb, channel.as_object().ior().clone()))
}

/// Pushes numbers that are 1 modulo their supplier's, now and then from a new ORB; how many.
fn supply(channel: &EventChannel, which: i32, is_over: &AtomicBool) -> i32 {
    let mut number = 0;
    while !is_over.load(Ordering::SeqCst) {
        let orb = fixture::orb();
        let suppliers = through(&orb, channel).for_suppliers().expect("an answer");
        let proxy = suppliers.expect("not nil").obtain_push_consumer().expect("an answer");
        let proxy = proxy.expect("not nil");
        proxy.connect_push_supplier(None).expect("connected");
        for _ in 0..50 + (number * 7) % 100 {
            proxy.push(&any(number * SUPPLIERS + which)).expect("pushed");
            number += 1;
        }
        orb.shutdown(false);
    }
    number
}

struct Counting(Arc<AtomicUsize>);

impl PushConsumerServant for Counting {
    fn push(&self, _: &Any) -> Result<(), PushError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// Consumers that take some events and are gone, one after the other; how many.
fn come_and_go(channel: &EventChannel, is_over: &AtomicBool) -> usize {
    let mut came = 0;
    while !is_over.load(Ordering::SeqCst) {
        let orb = fixture::orb();
        let poa = orb.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("active");
        let taken = Arc::new(AtomicUsize::new(0));
        let servant = PushConsumerSkeleton::new(Counting(Arc::clone(&taken)));
        let reference = poa.activate(servant).expect("active");
        let consumers = through(&orb, channel).for_consumers().expect("an answer");
        let proxy = consumers.expect("not nil").obtain_push_supplier().expect("an answer");
        let proxy = proxy.expect("not nil");
        proxy.connect_push_consumer(Some(&reference)).expect("connected");
        let wanted = 10 + (came * 13) % 40;
        until("events come", || {
            taken.load(Ordering::SeqCst) >= wanted || is_over.load(Ordering::SeqCst)
        });
        came += 1;
        orb.shutdown(false);
    }
    came
}

#[test]
fn who_stays_gets_everything_while_others_come_and_go() {
    let fixture = Fixture::new(qos());
    let (said, _proxy) = fixture.consumer();
    let is_over = AtomicBool::new(false);
    let (channel, core) = (&fixture.channel, fixture.core());
    let (pushed, came) = std::thread::scope(|scope| {
        let suppliers: Vec<_> = (0..SUPPLIERS)
            .map(|which| {
                let is_over = &is_over;
                scope.spawn(move || supply(channel, which, is_over))
            })
            .collect();
        let consumers = scope.spawn(|| come_and_go(channel, &is_over));
        let end = Instant::now() + Duration::from_secs(seconds());
        while Instant::now() < end {
            for consumer in core.statistics().consumers {
                // Of each supplier one event more may be there, for which it waits.
                let most = (QUEUE + SUPPLIERS as usize) as u64;
                assert!(consumer.queued <= most, "{consumer:?}");
            }
            std::thread::yield_now();
        }
        is_over.store(true, Ordering::SeqCst);
        let pushed: Vec<i32> =
            suppliers.into_iter().map(|thread| thread.join().expect("no panic")).collect();
        (pushed, consumers.join().expect("no panic"))
    });
    until("the dead are given up", || core.statistics().consumers.len() == 1);
    until("all is taken", || core.statistics().consumers[0].queued == 0);
    let mut next = [0; SUPPLIERS as usize];
    for event in said.try_iter() {
        let Said::Event(value) = event else { panic!("it stays connected: {event:?}") };
        let (which, number) = ((value % SUPPLIERS) as usize, value / SUPPLIERS);
        // What was sent again may come twice.
        assert!(number <= next[which], "{number} of {which} came before {}", next[which]);
        next[which] = next[which].max(number + 1);
    }
    assert_eq!(Vec::from(next), pushed);
    assert!(came > 0 && pushed.iter().all(|&count| count > 0), "{came} {pushed:?}");
    assert_eq!(core.statistics().consumers[0].dropped, 0);
}
