//! An event on its way through a channel, or the set that a filter has put together.
//!
//! Proxies make it of requests (octets, of which only the header is read) or of calls of their own
//! process (values); each consumer takes the form that it needs, which is made once for all. The
//! payload is not touched on the way from one message to the next.

use crate::rtec_event_comm::{
    Event as Value, EventHeader, EventSet, EventSetIdl, PushConsumer as Consumer,
};
use corbie::{Any, CompletionStatus, Decoder, Marshal, SystemException, Typed as _, minor};
use corbie_event::interfaces::Signature;
use corbie_event::{Event as Octets, Shape};
use std::sync::{Arc, LazyLock, OnceLock};

/// Octets of a set with one event that stand before the event.
const COUNT_OCTETS: usize = 4;

/// Channels through which an event goes at most, whatever its header says.
const MOST_HOPS: i32 = 16;

/// A `push` to a consumer.
static PUSH: LazyLock<Arc<Signature>> = LazyLock::new(|| {
    let parameters = [("data".to_owned(), EventSetIdl::type_code())];
    let scope = "::RtecEventComm::PushConsumer";
    Arc::new(Signature::new(Consumer::REPOSITORY_ID, scope, "push", parameters))
});

/// What one push carries.
#[derive(Debug)]
pub(crate) struct Parcel {
    header: EventHeader,
    values: OnceLock<EventSet>,
    octets: OnceLock<Arc<Octets>>,
    /// For a channel that gets it of this one; none when it may go no further.
    relayed: OnceLock<Option<Arc<Octets>>>,
}

impl Parcel {
    /// The events of a push, each for itself: of a set with one, the octets of the request; of a
    /// larger one, its values.
    ///
    /// # Errors
    /// `MARSHAL` when it cannot be read.
    pub(crate) fn read(d: &Decoder<'_>) -> Result<Vec<Arc<Self>>, SystemException> {
        let mut ahead = d.clone();
        if ahead.read_length(COUNT_OCTETS)? != 1 {
            let events = <EventSetIdl as Marshal>::decode(&mut d.clone())?;
            return events.into_iter().map(Self::of_many).collect();
        }
        let header = <EventHeader as Marshal>::decode(&mut ahead)?;
        let octets = OnceLock::from(Arc::new(Octets::read_typed(&PUSH, d)));
        Ok(vec![Self::new(header, OnceLock::new(), octets)])
    }

    /// One of several of a push. Its values may take many times the octets of an `any`, so that is
    /// kept as octets.
    fn of_many(event: Value) -> Result<Arc<Self>, SystemException> {
        let (header, has_any) = (event.header, event.data.any_value != Any::default());
        let parcel = Self::of(event);
        if !has_any {
            return Ok(parcel);
        }
        let octets = OnceLock::from(Arc::clone(parcel.octets()?));
        Ok(Self::new(header, OnceLock::new(), octets))
    }

    /// What it counts as where memory is bounded.
    #[must_use]
    pub(crate) fn weight(&self) -> usize {
        match (self.octets.get(), self.values.get()) {
            (Some(octets), _) => octets.weight(),
            (None, Some(events)) => {
                let payload = events.iter().map(|event| event.data.payload.len()).sum::<usize>();
                payload.saturating_add(events.len().saturating_mul(Octets::BESIDE))
            }
            (None, None) => Octets::BESIDE,
        }
    }

    fn new(
        header: EventHeader,
        values: OnceLock<EventSet>,
        octets: OnceLock<Arc<Octets>>,
    ) -> Arc<Self> {
        Arc::new(Self { header, values, octets, relayed: OnceLock::new() })
    }

    /// An event.
    #[must_use]
    pub(crate) fn of(event: Value) -> Arc<Self> {
        let header = event.header;
        Self::new(header, OnceLock::from(vec![event]), OnceLock::new())
    }

    /// What a filter has put together.
    ///
    /// # Errors
    /// `MARSHAL` when an event of it cannot be read.
    pub(crate) fn joined(parcels: &[Arc<Self>]) -> Result<Arc<Self>, SystemException> {
        let mut set = EventSet::new();
        for parcel in parcels {
            // Not kept with the parcel, which others may have for long.
            match parcel.values.get() {
                Some(values) => set.extend_from_slice(values),
                None => set.extend(parcel.decoded()?),
            }
        }
        let header = set.first().map(|first| first.header).unwrap_or_default();
        Ok(Self::new(header, OnceLock::from(set), OnceLock::new()))
    }

    /// The header of the event, or of the first one of the set.
    #[must_use]
    pub(crate) fn header(&self) -> &EventHeader {
        &self.header
    }

    /// The set as values.
    ///
    /// # Errors
    /// `MARSHAL` when the octets are no set of events.
    pub(crate) fn values(&self) -> Result<&EventSet, SystemException> {
        if let Some(values) = self.values.get() {
            return Ok(values);
        }
        let values = self.decoded()?;
        Ok(self.values.get_or_init(|| values))
    }

    fn decoded(&self) -> Result<EventSet, SystemException> {
        Ok(<EventSetIdl as Marshal>::decode(&mut self.octets()?.decoder())?)
    }

    /// The set as the octets of a request.
    ///
    /// # Errors
    /// `MARSHAL` and others when the values cannot be written.
    pub(crate) fn octets(&self) -> Result<&Arc<Octets>, SystemException> {
        if let Some(octets) = self.octets.get() {
            return Ok(octets);
        }
        let shape = Shape::Typed(Arc::clone(&PUSH));
        let written =
            Octets::written(PUSH.operation().clone(), shape, |e| match self.values.get() {
                Some(values) => <EventSetIdl as Marshal>::encode(values, e),
                None => e.write_length(0),
            })?;
        Ok(self.octets.get_or_init(|| Arc::new(written)))
    }

    /// What another channel is given of it: with one hop less to go, as TAO's gateways do. None
    /// when it may go no further.
    ///
    /// # Errors
    /// `MARSHAL` and others when it cannot be read or written.
    pub(crate) fn relayed(&self) -> Result<Option<&Arc<Octets>>, SystemException> {
        if let Some(relayed) = self.relayed.get() {
            return Ok(relayed.as_ref());
        }
        let relayed = match self.octets.get() {
            Some(octets) if self.values.get().is_none() => self.with_a_hop_less(octets)?,
            _ => self.set_with_a_hop_less()?,
        };
        Ok(self.relayed.get_or_init(|| relayed).as_ref())
    }

    /// Of the octets of one event.
    fn with_a_hop_less(
        &self,
        octets: &Arc<Octets>,
    ) -> Result<Option<Arc<Octets>>, SystemException> {
        let Some(ttl) = a_hop_less(self.header.ttl) else { return Ok(None) };
        let mut d = octets.decoder();
        d.read_length(COUNT_OCTETS)?;
        // Type, source, and the number that is to be another one.
        for _ in 0..3 {
            d.read_long()?;
        }
        let patched = octets.with_long(ttl, d.rest().len());
        patched.map(|octets| Some(Arc::new(octets))).ok_or_else(|| {
            SystemException::marshal(minor::MARSHAL_INVALID_VALUE, CompletionStatus::No)
                .with_detail("an event has no place for the hops that are left")
        })
    }

    fn set_with_a_hop_less(&self) -> Result<Option<Arc<Octets>>, SystemException> {
        let mut set = EventSet::new();
        for event in self.values()? {
            if let Some(ttl) = a_hop_less(event.header.ttl) {
                let mut event = event.clone();
                event.header.ttl = ttl;
                set.push(event);
            }
        }
        let Some(first) = set.first() else { return Ok(None) };
        let header = first.header;
        let relayed = Self::new(header, OnceLock::from(set), OnceLock::new());
        Ok(Some(Arc::clone(relayed.octets()?)))
    }
}

/// How many hops are left behind the next one; none when there is none left for it.
fn a_hop_less(ttl: i32) -> Option<i32> {
    (ttl > 0).then(|| ttl.min(MOST_HOPS) - 1)
}
