//! `corbie events push --pulled`: a supplier that the channel pulls from.
//!
//! One thread reads the events, requests of the channel take them, and this thread shows what was
//! taken: the event before, whenever the channel asks for the next.
//!
//! When the channel's server ends, no message says so, and the answer to a pull that waits here
//! reaches no one: of all pulls only the newest is answered.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use clap::ArgMatches;
use corbie::{Any, CompletionStatus, SystemException, minor};
use corbie_event::cos_event_channel_admin::ProxyPullConsumer;
use corbie_event::cos_event_comm::pull_supplier::{PullError, TryPullError};
use corbie_event::cos_event_comm::{
    Disconnected, PullSupplier, PullSupplierServant, PullSupplierSkeleton,
};

use super::persistence::Patience;
use super::supply::{Events, Given, Shown};
use super::{failed, is_nil, the_channel};
use crate::failure::Failure;
use crate::session::Session;

/// Connects, and waits until all events are taken.
pub(super) fn supply(
    session: &Session,
    matches: &ArgMatches,
    events: Events,
    shown: &mut Shown<'_>,
) -> Result<(), Failure> {
    let exchange = Arc::new(Exchange::default());
    connect(session, matches, &exchange)?;
    let feeding = Arc::clone(&exchange);
    // It may wait for a line for ever; the process does not wait for it.
    std::thread::spawn(move || feeding.feed(events));
    let outcome = wait(&exchange, shown);
    // The last pull is answered before the process ends.
    session.orb().shutdown(true);
    outcome
}

fn wait(exchange: &Exchange, shown: &mut Shown<'_>) -> Result<(), Failure> {
    loop {
        let mut state = exchange.wait_while(|s| s.taken.is_empty() && s.end.is_none());
        let (taken, end) = (std::mem::take(&mut state.taken), state.end.take());
        drop(state);
        for text in taken {
            shown.taken(&text)?;
        }
        match end {
            None => {}
            Some(End::AllTaken) => return Ok(()),
            Some(End::Mistake(failure)) => return Err(failure),
            Some(End::Disconnected) => {
                return Err(Failure::new("the channel disconnected this supplier"));
            }
        }
    }
}

fn connect(
    session: &Session,
    matches: &ArgMatches,
    exchange: &Arc<Exchange>,
) -> Result<(), Failure> {
    let root = session.orb().root_poa().and_then(|poa| {
        poa.the_poa_manager().activate()?;
        Ok(poa)
    });
    let root = root.map_err(|e| failed("the ORB", &e))?;
    let source = PullSupplierSkeleton::new(Source(Arc::clone(exchange)));
    let supplier: PullSupplier = root.activate(source).map_err(|e| failed("the ORB", &e))?;
    let obtain = || {
        let channel = the_channel(session, matches)?;
        let suppliers = channel.for_suppliers()?.ok_or_else(|| is_nil("the channel"))?;
        Ok(suppliers.obtain_pull_consumer()?.ok_or_else(|| is_nil("the proxy"))?)
    };
    let connect = |proxy: &ProxyPullConsumer| Ok(proxy.connect_pull_supplier(Some(&supplier))?);
    Patience::of(matches)?.connect(obtain, connect).map(drop)
}

/// Where events go from who reads them to who pulls them.
#[derive(Default)]
struct Exchange {
    /// Lock "exchange".
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The pull that is answered: the newest.
    pull: u64,
    /// The next event.
    offered: Option<Given>,
    /// What was given to the last pull.
    last: Option<Given>,
    /// What the channel has taken for sure.
    taken: VecDeque<String>,
    /// No event will be offered any more.
    is_last: bool,
    end: Option<End>,
}

enum End {
    AllTaken,
    Disconnected,
    Mistake(Failure),
}

impl Exchange {
    fn feed(&self, events: Events) {
        for given in events {
            let mut state = self.wait_while(|s| s.offered.is_some() && s.end.is_none());
            match given {
                Ok(given) => state.offered = Some(given),
                Err(failure) => state.end = Some(End::Mistake(failure)),
            }
            self.changed.notify_all();
        }
        self.lock().is_last = true;
        self.changed.notify_all();
    }

    /// The channel asks for the next event, for which it waits or not: it has taken the last one.
    fn next(&self, waits: bool) -> Result<Option<Any>, PullError> {
        let mut state = self.lock();
        if let Some(last) = state.last.take() {
            state.taken.push_back(last.text);
        }
        state.pull += 1;
        let pull = state.pull;
        self.changed.notify_all();
        if waits {
            drop(state);
            let is_idle = |s: &State| s.offered.is_none() && !s.is_last && s.end.is_none();
            state = self.wait_while(|s| s.pull == pull && is_idle(s));
        }
        if state.pull != pull {
            let superseded =
                SystemException::transient(minor::TRANSIENT_NOT_NOW, CompletionStatus::No);
            return Err(superseded.with_detail("another pull came after this one").into());
        }
        let given = state.offered.take();
        if given.is_none() && (state.is_last || state.end.is_some()) {
            state.end.get_or_insert(End::AllTaken);
            self.changed.notify_all();
            return Err(Disconnected {}.into());
        }
        self.changed.notify_all();
        Ok(given.map(|given| {
            let event = given.event.clone();
            state.last = Some(given);
            event
        }))
    }

    fn wait_while(&self, condition: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_while(self.lock(), |state| condition(state));
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The object that the channel pulls from.
struct Source(Arc<Exchange>);

impl PullSupplierServant for Source {
    fn pull(&self) -> Result<Any, PullError> {
        Ok(self.0.next(true)?.unwrap_or_default())
    }

    fn try_pull(&self) -> Result<(Any, bool), TryPullError> {
        let event = self.0.next(false).map_err(|error| match error {
            PullError::Disconnected(disconnected) => TryPullError::Disconnected(disconnected),
            PullError::System(exception) => TryPullError::System(exception),
        })?;
        let has_event = event.is_some();
        Ok((event.unwrap_or_default(), has_event))
    }

    fn disconnect_pull_supplier(&self) -> Result<(), SystemException> {
        self.0.lock().end.get_or_insert(End::Disconnected);
        self.0.changed.notify_all();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(exchange: &Exchange, number: i32) {
        let event = Any::from_value::<i32>(&number).expect("an any");
        exchange.lock().offered = Some(Given { event, text: number.to_string() });
        exchange.changed.notify_all();
    }

    fn pulled(source: &Source) -> i32 {
        source.pull().expect("an event").extract::<i32>().expect("a number")
    }

    fn taken(exchange: &Exchange) -> Vec<String> {
        exchange.lock().taken.drain(..).collect()
    }

    #[test]
    fn the_pull_of_a_server_that_has_ended_takes_no_events() {
        let exchange = Arc::new(Exchange::default());
        let source = Arc::new(Source(Arc::clone(&exchange)));
        let pull = || {
            let before = exchange.lock().pull;
            let source = Arc::clone(&source);
            let pull = std::thread::spawn(move || source.pull());
            drop(exchange.wait_while(|state| state.pull == before));
            pull
        };
        let (old, new) = (pull(), pull());
        assert!(matches!(old.join().expect("it ends"), Err(PullError::System(_))));
        offer(&exchange, 1);
        assert!(new.join().expect("it ends").is_ok());
        offer(&exchange, 2);
        assert_eq!(pulled(&source), 2);
        assert_eq!(taken(&exchange), ["1"], "none was passed over");
    }
}
