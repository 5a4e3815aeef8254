//! What one typed channel knows: the interfaces handed over with it, then those of its server.
//!
//! Asked by `server::typed` for each proxy. Here is also what ties `Pull<I>` to I: its name.

use super::rules::event_interface_of;
use super::{EventInterface, InterfaceTable, Interfaces, NotForEvents};
use corbie::types::InterfaceDescription;
use corbie::{Object, SystemException};
use std::sync::{Arc, PoisonError, RwLock};

/// What a server knows for all its channels.
#[derive(Default)]
pub(crate) struct Sources {
    /// What was compiled in.
    pub(crate) table: InterfaceTable,
    /// Lock "sources of interfaces": held to take the list.
    others: RwLock<Vec<Arc<dyn Interfaces>>>,
}

impl Sources {
    /// These are asked, too, after those that were added before.
    pub(crate) fn add(&self, source: Arc<dyn Interfaces>) {
        self.others.write().unwrap_or_else(PoisonError::into_inner).push(source);
    }
}

/// What a channel knows.
pub(crate) struct Known {
    /// What was handed over with the channel.
    pub(crate) table: InterfaceTable,
    pub(crate) sources: Arc<Sources>,
}

/// Why there is no interface to work with.
pub(crate) enum Refusal {
    /// Nobody knows it.
    Unknown(String),
    /// It does not follow the rules.
    Rules(NotForEvents),
    /// It could not be asked for.
    System(SystemException),
}

impl From<NotForEvents> for Refusal {
    fn from(why: NotForEvents) -> Self {
        Refusal::Rules(why)
    }
}

impl From<SystemException> for Refusal {
    fn from(exception: SystemException) -> Self {
        Refusal::System(exception)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Unknown(id) => write!(f, "nobody here knows the interface {id}"),
            Refusal::Rules(why) => why.fmt(f),
            Refusal::System(exception) => exception.fmt(f),
        }
    }
}

/// What somebody says of an interface.
struct Told {
    description: Arc<InterfaceDescription>,
    definition: Option<Object>,
}

impl Known {
    fn describe(&self, repository_id: &str) -> Result<Option<Told>, SystemException> {
        let others = self.sources.others.read().unwrap_or_else(PoisonError::into_inner).clone();
        let near: [&dyn Interfaces; 2] = [&self.table, &self.sources.table];
        for source in near.into_iter().chain(others.iter().map(|source| &**source)) {
            if let Some(description) = source.describe(repository_id)? {
                let definition = source.definition(repository_id)?;
                return Ok(Some(Told { description, definition }));
            }
        }
        Ok(None)
    }

    /// The interface `<I>` with this repository id.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(crate) fn pushed(&self, repository_id: &str) -> Result<Arc<EventInterface>, Refusal> {
        match self.describe(repository_id)? {
            Some(Told { description, definition }) => {
                let interface = EventInterface::pushed(&description)?;
                Ok(Arc::new(interface.defined_by(definition)))
            }
            None => Err(Refusal::Unknown(repository_id.to_owned())),
        }
    }

    /// The interface `Pull<I>` with this repository id. If nobody knows it but I, it is made of I.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(crate) fn pulled(&self, repository_id: &str) -> Result<Arc<EventInterface>, Refusal> {
        let event_id = event_interface_of(repository_id);
        let events = match event_id == repository_id {
            true => None,
            false => self.describe(&event_id)?,
        };
        let events = events.map(|told| EventInterface::pushed(&told.description));
        match (self.describe(repository_id)?, events) {
            (Some(Told { description, definition }), events) => {
                let mut pulled = EventInterface::pulled(&description)?;
                if let Some(events) = events {
                    pulled = pulled.of_events(&events?)?;
                }
                Ok(Arc::new(pulled.defined_by(definition)))
            }
            (None, Some(events)) => Ok(Arc::new(events?.as_pulled(repository_id))),
            (None, None) => Err(Refusal::Unknown(repository_id.to_owned())),
        }
    }
}
