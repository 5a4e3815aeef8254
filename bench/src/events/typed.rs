//! Corbie's processes over a typed channel: events are calls of `ticks::Ticker`.
//!
//! Used by `events/corbie.rs` where the mode is [`Mode::Typed`](super::corbie::Mode::Typed); what
//! is counted and said is the same.

use super::corbie::{Pushes, say, supply_by};
use super::{Tally, typed_idl::ticks};
use crate::driver::Failure;
use corbie::{Described as _, Marshal as _, Object, Operation, Orb, SystemException};
use corbie_event::cos_event_comm::{PushConsumer, PushConsumerServant, push_consumer::PushError};
use corbie_event::cos_typed_event_channel_admin::TypedEventChannel;
use corbie_event::cos_typed_event_comm::{TypedPushConsumerServant, TypedPushConsumerSkeleton};
use corbie_event::{ChannelQos, EventServer};
use std::sync::Arc;
use ticks::{Ticker, TickerServant, TickerSkeleton};

static TICK: Operation = Operation::twoway("tick");

/// Makes the channel; its reference.
///
/// # Errors
/// When it cannot be made.
pub(super) fn create(server: &EventServer, qos: ChannelQos) -> Result<String, Failure> {
    let channel = server.create_typed("events", qos, [Ticker::describe()])?;
    Ok(channel.as_object().to_string())
}

fn channel(orb: &Orb, reference: &str) -> Result<TypedEventChannel, Failure> {
    Ok(TypedEventChannel::unchecked_narrow(orb.string_to_object(reference)?))
}

struct Called {
    tally: Arc<Tally>,
    number: usize,
}

impl TickerServant for Called {
    fn tick(&self, data: &[u8]) -> Result<(), SystemException> {
        if let Some(text) = self.tally.took(self.number, data) {
            // The harness is gone when it cannot be said.
            let _ = say(&text);
        }
        Ok(())
    }
}

/// What is connected; the calls go to its typed object.
struct TypedConsumer {
    called: Object,
}

impl PushConsumerServant for TypedConsumer {
    fn push(&self, _data: &corbie::Any) -> Result<(), PushError> {
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

impl TypedPushConsumerServant for TypedConsumer {
    fn get_typed_consumer(&self) -> Result<Option<Object>, SystemException> {
        Ok(Some(self.called.clone()))
    }
}

/// Connects so many consumers.
///
/// # Errors
/// When the channel cannot be reached.
pub(super) fn connect(orb: &Orb, reference: &str, count: usize) -> Result<(), Failure> {
    let poa = orb.root_poa()?;
    let admin = channel(orb, reference)?.for_consumers()?.ok_or("no consumer admin")?;
    let tally = Arc::new(Tally::new(count));
    for number in 0..count {
        let called = TickerSkeleton::new(Called { tally: Arc::clone(&tally), number });
        let called = poa.activate(called)?.into_object();
        let consumer = poa.activate(TypedPushConsumerSkeleton::new(TypedConsumer { called }))?;
        let consumer = PushConsumer::unchecked_narrow(consumer.into_object());
        let proxy = admin.obtain_typed_push_supplier(Ticker::REPOSITORY_ID)?.ok_or("no proxy")?;
        proxy.connect_push_consumer(Some(&consumer))?;
    }
    Ok(())
}

/// Supplies events of so many octets: a call for each, many on their way at once.
///
/// # Errors
/// When the channel cannot be reached, or refuses an event.
pub(super) fn supply(orb: &Orb, reference: &str, octets: usize) -> Result<(), Failure> {
    let admin = channel(orb, reference)?.for_suppliers()?.ok_or("no supplier admin")?;
    let proxy = admin.obtain_typed_push_consumer(Ticker::REPOSITORY_ID)?.ok_or("no proxy")?;
    proxy.connect_push_supplier(None)?;
    let ticker = proxy.get_typed_consumer()?.ok_or("no typed consumer")?;
    let pushes = Arc::new(Pushes::default());
    let push = |event: &Vec<u8>| -> Result<(), Failure> {
        let sink = pushes.sink();
        Ok(ticker.invoke_async(&TICK, &|e| corbie::idl::Sequence::<u8>::encode(event, e), sink)?)
    };
    supply_by(octets, push, || pushes.check())
}
