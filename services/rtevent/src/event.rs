//! An event on its way through a channel, or the set that a filter has put together.
//!
//! Proxies make it of requests (octets, of which only the header is read) or of calls of their own
//! process (values); each consumer takes the form that it needs, which is made once for all. The
//! payload is not touched on the way from one message to the next.

use crate::rtec_event_comm::{
    Event as Value, EventHeader, EventSet, EventSetIdl, PushConsumer as Consumer,
};
use corbie::{Decoder, Marshal, SystemException, Typed as _};
use corbie_event::interfaces::Signature;
use corbie_event::{Event as Octets, Shape};
use std::sync::{Arc, LazyLock, OnceLock};

/// Octets of a set with one event that stand before the event.
const COUNT_OCTETS: usize = 4;

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
            return Ok(events.into_iter().map(Self::of).collect());
        }
        let header = <EventHeader as Marshal>::decode(&mut ahead)?;
        let octets = OnceLock::from(Arc::new(Octets::read_typed(&PUSH, d)));
        Ok(vec![Arc::new(Self { header, values: OnceLock::new(), octets })])
    }

    /// An event.
    #[must_use]
    pub(crate) fn of(event: Value) -> Arc<Self> {
        let header = event.header;
        Arc::new(Self { header, values: OnceLock::from(vec![event]), octets: OnceLock::new() })
    }

    /// What a filter has put together.
    ///
    /// # Errors
    /// `MARSHAL` when an event of it cannot be read.
    pub(crate) fn joined(parcels: &[Arc<Self>]) -> Result<Arc<Self>, SystemException> {
        let mut set = EventSet::new();
        for parcel in parcels {
            set.extend_from_slice(parcel.values()?);
        }
        let header = set.first().map(|first| first.header).unwrap_or_default();
        Ok(Arc::new(Self { header, values: OnceLock::from(set), octets: OnceLock::new() }))
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
        let octets = self.octets()?;
        let values = <EventSetIdl as Marshal>::decode(&mut octets.decoder())?;
        Ok(self.values.get_or_init(|| values))
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
}
