//! A push supplier for many events: sends them in bundles, when the other side takes those, and
//! without waiting for each answer.
//!
//! An event leaves at once when nothing is on its way; what comes meanwhile leaves together, when
//! the answer is here or there is enough of it. So a single event is not delayed, and many cost
//! little each. No timer is needed.

use crate::bundle::{BUNDLE_CONSUMER, FULL_OCTETS, Frames, PUSH_BUNDLE};
use crate::cos_event_channel_admin::proxy_push_consumer::ConnectPushSupplierError;
use crate::cos_event_channel_admin::{EventChannel, ProxyPushConsumer};
use crate::cos_event_comm::{Disconnected, PushConsumer, push_consumer::PushError};
use corbie::{Any, CompletionStatus, Object, Reply, ReplySink, SystemException, minor};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Requests on their way at once.
const WINDOW: usize = 8;

/// Pushes events to a channel, or to any push consumer.
///
/// [`Supplier::push`] returns when the event is among those to be sent, and waits only when
/// the other side is slower. [`Supplier::flush`] waits until all were taken. Dropped, it sends
/// nothing more than what is on its way: flush first.
///
/// ```no_run
/// use corbie::{Any, Orb};
/// use corbie_event::Supplier;
/// use corbie_event::cos_event_channel_admin::EventChannel;
///
/// fn count(orb: &Orb, channel: &EventChannel) -> Result<(), Box<dyn std::error::Error>> {
///     let supplier = Supplier::connect(channel)?;
///     for number in 0..1_000_000 {
///         supplier.push(&Any::from_value::<i32>(&number)?)?;
///     }
///     Ok(supplier.flush()?)
/// }
/// ```
pub struct Supplier {
    shared: Arc<Shared>,
    consumer: PushConsumer,
}

struct Shared {
    object: Object,
    takes_bundles: bool,
    /// Lock "supplier": not held in calls.
    state: Mutex<SupplierState>,
    /// Signalled when a request was sent or answered and a thread waits.
    changed: Condvar,
}

#[derive(Default)]
struct SupplierState {
    /// What is to be sent next.
    open: Frames,
    /// Requests on their way.
    pending: usize,
    /// A thread sends.
    is_sending: bool,
    waiters: usize,
    /// Why events were not taken, until a caller was told.
    failure: Option<PushError>,
}

impl Supplier {
    /// Connects to a channel.
    ///
    /// # Errors
    /// Those of getting and connecting a proxy.
    pub fn connect(channel: &EventChannel) -> Result<Self, SystemException> {
        let suppliers = channel.for_suppliers()?.ok_or_else(nil)?;
        let proxy: ProxyPushConsumer = suppliers.obtain_push_consumer()?.ok_or_else(nil)?;
        proxy.connect_push_supplier(None).map_err(|error| match error {
            ConnectPushSupplierError::System(exception) => exception,
            // No other client knows the proxy.
            ConnectPushSupplierError::AlreadyConnected(_) => SystemException::bad_inv_order(
                minor::BAD_INV_ORDER_NOT_CONNECTED,
                CompletionStatus::No,
            ),
        })?;
        Self::of(&PushConsumer::unchecked_narrow(proxy.into_object()))
    }

    /// Pushes to `consumer`, which is connected already, or needs no connection.
    ///
    /// # Errors
    /// When it cannot be asked whether it takes bundles.
    pub fn of(consumer: &PushConsumer) -> Result<Self, SystemException> {
        let object = consumer.as_object();
        let takes_bundles = object.is_a(BUNDLE_CONSUMER)?;
        let (object, state) = (object.clone(), Mutex::default());
        let shared = Arc::new(Shared { object, takes_bundles, state, changed: Condvar::new() });
        Ok(Self { shared, consumer: consumer.clone() })
    }

    /// Sends an event: now, or soon, with others.
    ///
    /// # Errors
    /// When the value cannot be written. Or why earlier events were not taken; how many of them is
    /// not known, and this one is not sent.
    pub fn push(&self, data: &Any) -> Result<(), PushError> {
        if !self.shared.takes_bundles {
            return self.consumer.push(data);
        }
        let mut state = self.shared.lock();
        while state.open.is_full() && state.failure.is_none() {
            state = self.shared.send(state, false);
            if state.open.is_full() {
                state = self.shared.wait(state);
            }
        }
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        let before = state.open.len();
        state.open.add(data).map_err(SystemException::from)?;
        if state.open.len() - before > FULL_OCTETS {
            // It goes alone, behind the others.
            state.open.take_back(before);
            drop(state);
            self.flush()?;
            return self.consumer.push(data);
        }
        drop(self.shared.send(state, false));
        Ok(())
    }

    /// Waits until all events were taken.
    ///
    /// # Errors
    /// Why some were not.
    pub fn flush(&self) -> Result<(), PushError> {
        let mut state = self.shared.lock();
        loop {
            state = self.shared.send(state, true);
            if let Some(failure) = state.failure.take() {
                return Err(failure);
            }
            if state.pending == 0 && state.open.is_empty() && !state.is_sending {
                return Ok(());
            }
            state = self.shared.wait(state);
        }
    }

    /// The consumer that it pushes to: of a channel, the proxy.
    #[must_use]
    pub fn consumer(&self) -> &PushConsumer {
        &self.consumer
    }
}

fn nil() -> SystemException {
    SystemException::inv_objref(minor::INV_OBJREF_NIL, CompletionStatus::No)
        .with_detail("the channel gave a nil reference")
}

impl Shared {
    /// Sends what is open, when it is time for that, or at once (`now`).
    fn send<'s>(
        self: &'s Arc<Self>,
        mut state: MutexGuard<'s, SupplierState>,
        now: bool,
    ) -> MutexGuard<'s, SupplierState> {
        while !state.is_sending
            && !state.open.is_empty()
            && state.pending < WINDOW
            && (now || state.pending == 0 || state.open.is_full())
        {
            let bundle = state.open.take();
            state.pending += 1;
            state.is_sending = true;
            drop(state);
            let (shared, count) = (Arc::clone(self), bundle.count());
            let sink = ReplySink::function(move |outcome| shared.answered(count, outcome));
            let sent = self.object.invoke_async(&PUSH_BUNDLE, &|e| bundle.write(e), sink);
            state = self.lock();
            state.is_sending = false;
            if let Err(exception) = sent {
                state.ended(Err(exception.into()));
            }
            if state.waiters > 0 {
                self.changed.notify_all();
            }
        }
        state
    }

    fn answered(self: &Arc<Self>, count: usize, outcome: Result<Reply, SystemException>) {
        let outcome = outcome.map_err(PushError::from).and_then(|mut reply| {
            if reply.user_exception().is_some() {
                return Err(Disconnected {}.into());
            }
            let (taken, refused) =
                reply.results_only(|d| Ok((d.read_ulong()?, d.read_ulong()?)))?;
            if taken as usize == count && refused == 0 {
                return Ok(());
            }
            let text = format!("of {count} events {taken} were taken, {refused} of them refused");
            Err(SystemException::no_resources(minor::NO_RESOURCES_EVENTS, CompletionStatus::Maybe)
                .with_detail(text)
                .into())
        });
        let mut state = self.lock();
        state.ended(outcome);
        if state.waiters > 0 {
            self.changed.notify_all();
        }
        drop(self.send(state, false));
    }

    fn wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, SupplierState>,
    ) -> MutexGuard<'s, SupplierState> {
        state.waiters += 1;
        state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiters -= 1;
        state
    }

    fn lock(&self) -> MutexGuard<'_, SupplierState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SupplierState {
    /// A request was answered, or not accepted.
    fn ended(&mut self, outcome: Result<(), PushError>) {
        self.pending -= 1;
        if let Err(failure) = outcome {
            self.failure.get_or_insert(failure);
        }
    }
}

impl fmt::Debug for Supplier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let takes_bundles = self.shared.takes_bundles;
        f.debug_struct("Supplier").field("takes_bundles", &takes_bundles).finish()
    }
}
