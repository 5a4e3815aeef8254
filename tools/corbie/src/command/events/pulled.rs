//! `corbie events push --pulled`: a supplier that the channel pulls from.
//!
//! One thread reads the events, requests of the channel take them, and this thread shows what was
//! taken: the event before, whenever the channel asks for the next.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use clap::ArgMatches;
use corbie::{Any, SystemException};
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
    connect(session, matches, PullSupplierSkeleton::new(Source(Arc::clone(&exchange))))?;
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
    servant: PullSupplierSkeleton<Source>,
) -> Result<(), Failure> {
    let root = session.orb().root_poa();
    let active = root.and_then(|poa| {
        poa.the_poa_manager().activate()?;
        Ok(poa.activate(servant)?)
    });
    let supplier: PullSupplier = active.map_err(|e| failed("the ORB", &e))?;
    Patience::of(matches)?.connect(|| {
        let channel = the_channel(session, matches)?;
        let suppliers = channel.for_suppliers()?.ok_or_else(|| is_nil("the channel"))?;
        let proxy = suppliers.obtain_pull_consumer()?.ok_or_else(|| is_nil("the proxy"))?;
        Ok(proxy.connect_pull_supplier(Some(&supplier))?)
    })
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
    offered: Option<Given>,
    /// What was given to the last pull.
    last: Option<String>,
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
    fn next(&self, waits: bool) -> Result<Option<Any>, Disconnected> {
        let mut state = self.lock();
        if let Some(last) = state.last.take() {
            state.taken.push_back(last);
            self.changed.notify_all();
        }
        if waits {
            drop(state);
            state = self.wait_while(|s| s.offered.is_none() && !s.is_last && s.end.is_none());
        }
        let given = state.offered.take();
        if given.is_none() && (state.is_last || state.end.is_some()) {
            state.end.get_or_insert(End::AllTaken);
            self.changed.notify_all();
            return Err(Disconnected {});
        }
        self.changed.notify_all();
        Ok(given.map(|given| {
            state.last = Some(given.text);
            given.event
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
        let event = self.0.next(false)?;
        let has_event = event.is_some();
        Ok((event.unwrap_or_default(), has_event))
    }

    fn disconnect_pull_supplier(&self) -> Result<(), SystemException> {
        self.0.lock().end.get_or_insert(End::Disconnected);
        self.0.changed.notify_all();
        Ok(())
    }
}
