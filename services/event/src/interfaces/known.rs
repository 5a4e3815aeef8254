//! What one typed channel knows: the interfaces handed over with it, then those of its server.
//!
//! Asked by `server::typed` for each proxy. Here is also what ties `Pull<I>` to I: its name.

use super::rules::event_interface_of;
use super::{EventInterface, InterfaceTable, Interfaces, NotForEvents};
use corbie::SystemException;
use corbie::types::InterfaceDescription;
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

impl Known {
    fn describe(
        &self,
        repository_id: &str,
    ) -> Result<Option<Arc<InterfaceDescription>>, SystemException> {
        let others = self.sources.others.read().unwrap_or_else(PoisonError::into_inner).clone();
        let near: [&dyn Interfaces; 2] = [&self.table, &self.sources.table];
        for source in near.into_iter().chain(others.iter().map(|source| &**source)) {
            if let Some(found) = source.describe(repository_id)? {
                return Ok(Some(found));
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
            Some(description) => Ok(Arc::new(EventInterface::pushed(&description)?)),
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
        match (self.describe(repository_id)?, events) {
            (Some(description), None) => Ok(Arc::new(EventInterface::pulled(&description)?)),
            (Some(description), Some(events)) => {
                let pulled = EventInterface::pulled(&description)?;
                pulled.check_against(&EventInterface::pushed(&events)?)?;
                Ok(Arc::new(pulled))
            }
            (None, Some(events)) => {
                Ok(Arc::new(EventInterface::pushed(&events)?.as_pulled(repository_id)))
            }
            (None, None) => Err(Refusal::Unknown(repository_id.to_owned())),
        }
    }
}
