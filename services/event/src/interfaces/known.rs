//! What one typed channel knows: the interfaces handed over with it, then those of its server.
//!
//! Asked by `server::typed` for each proxy. Here is also what ties `Pull<I>` to I: its name.
//! A durable channel keeps what it was told, wherever from, since its proxies have to be made again
//! when no repository can be asked yet.

use super::rules::event_interface_of;
use super::{EventInterface, InterfaceTable, Interfaces, NotForEvents};
use corbie::types::InterfaceDescription;
use corbie::{Object, SystemException};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

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
    sources: Arc<Sources>,
    /// Of a durable channel: what it was told by its server, and is kept. Lock "interfaces told".
    told: Mutex<BTreeMap<String, Told>>,
    keep: Option<Keep>,
}

/// Keeps what a durable channel was told; returns when it is on the disk.
pub(crate) type Keep = Box<dyn Fn(&Told) -> Result<(), SystemException> + Send + Sync>;

/// Why there is no interface to work with.
pub(crate) enum Refusal {
    /// No source knows it.
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
            Refusal::Unknown(id) => write!(f, "the interface {id} is not known here"),
            Refusal::Rules(why) => why.fmt(f),
            Refusal::System(exception) => exception.fmt(f),
        }
    }
}

/// What a source says of an interface.
#[derive(Clone)]
pub(crate) struct Told {
    pub(crate) description: Arc<InterfaceDescription>,
    pub(crate) definition: Option<Object>,
}

impl Known {
    /// What a channel knows that was handed over `table`.
    pub(crate) fn new(table: InterfaceTable, sources: &Arc<Sources>) -> Self {
        let sources = Arc::clone(sources);
        Self { table, sources, told: Mutex::default(), keep: None }
    }

    /// The same, of a durable channel that was `told` this before.
    pub(crate) fn kept(self, told: impl IntoIterator<Item = Told>, keep: Keep) -> Self {
        let by_id = |told: Told| (told.description.id.clone(), told);
        let told = Mutex::new(told.into_iter().map(by_id).collect());
        Self { told, keep: Some(keep), ..self }
    }

    fn describe(&self, repository_id: &str) -> Result<Option<Told>, SystemException> {
        if let Some(description) = self.table.describe(repository_id)? {
            return Ok(Some(Told { description, definition: None }));
        }
        if let Some(description) = self.sources.table.describe(repository_id)? {
            return self.remember(Told { description, definition: None }).map(Some);
        }
        let told = self.told().get(repository_id).cloned();
        if told.is_some() {
            return Ok(told);
        }
        let others = self.sources.others.read().unwrap_or_else(PoisonError::into_inner).clone();
        for source in others {
            if let Some(description) = source.describe(repository_id)? {
                let definition = source.definition(repository_id)?;
                return self.remember(Told { description, definition }).map(Some);
            }
        }
        Ok(None)
    }

    /// A durable channel keeps what it is told, before anything is made of it.
    fn remember(&self, told: Told) -> Result<Told, SystemException> {
        let Some(keep) = &self.keep else { return Ok(told) };
        let id = &told.description.id;
        let is_new =
            self.told().get(id).is_none_or(|before| before.description != told.description);
        if is_new {
            keep(&told)?;
            self.told().insert(id.clone(), told.clone());
        }
        Ok(told)
    }

    fn told(&self) -> MutexGuard<'_, BTreeMap<String, Told>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// The interface `Pull<I>` with this repository id. If no source knows it, but one knows I, it
    /// is made of I.
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
            (None, Some(events)) => Ok(Arc::new(events?.as_pulled(repository_id)?)),
            (None, None) => Err(Refusal::Unknown(repository_id.to_owned())),
        }
    }
}
