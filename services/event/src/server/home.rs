//! Where all channels of a server are at home: their POA, their names, and the threads that make
//! connections for them.

use super::{administration, typed};
use crate::EVENT_CHANNEL_FACTORY;
use crate::channel::Channel;
use crate::corbie_events::event_channel_factory::{CreateChannelError, CreateTypedChannelError};
use crate::corbie_events::{AlreadyExists, BadInterface};
use crate::cos_event_channel_admin::EventChannel;
use crate::cos_typed_event_channel_admin::TypedEventChannel;
use crate::interfaces::{EventInterface, Known, Sources};
use crate::qos::{ChannelQos, Limits};
use crate::workers::Workers;
use corbie::types::InterfaceDescription;
use corbie::{
    CompletionStatus, IdAssignment, ObjectId, Orb, Poa, PoaPolicy, SystemException, minor,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const POLICIES: [PoaPolicy; 1] = [PoaPolicy::IdAssignment(IdAssignment::UserId)];

/// A channel by its name.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) channel: Arc<Channel>,
    pub(super) reference: Reference,
}

/// The reference of a channel.
#[derive(Clone)]
pub(super) enum Reference {
    Untyped(EventChannel),
    /// With the interfaces that were handed over.
    Typed(TypedEventChannel, Arc<Known>),
}

/// What all channels of a server share.
pub(super) struct Home {
    orb: Orb,
    poa: Poa,
    limits: Limits,
    workers: Arc<Workers>,
    /// Lock "channels".
    channels: Mutex<BTreeMap<String, Found>>,
    /// What all typed channels know.
    sources: Arc<Sources>,
    next_channel: AtomicU64,
}

impl Home {
    pub(super) fn new(orb: &Orb, limits: Limits) -> Result<Arc<Self>, SystemException> {
        let poa = orb.root_poa()?.create_poa("EventChannels", None, &POLICIES)?;
        poa.the_poa_manager().activate().map_err(SystemException::from)?;
        let workers = Workers::new(limits.workers);
        let (channels, next_channel) = (Mutex::default(), AtomicU64::new(1));
        let orb = orb.clone();
        let sources = Arc::default();
        Ok(Arc::new(Self { orb, poa, limits, workers, channels, sources, next_channel }))
    }

    pub(super) fn poa(&self) -> &Poa {
        &self.poa
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// All channels.
    pub(super) fn all(&self) -> Vec<Arc<Channel>> {
        self.channels().values().map(|found| Arc::clone(&found.channel)).collect()
    }

    pub(super) fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    pub(super) fn sources(&self) -> &Arc<Sources> {
        &self.sources
    }

    pub(super) fn create(
        self: &Arc<Self>,
        name: &str,
        qos: ChannelQos,
    ) -> Result<EventChannel, CreateChannelError> {
        qos.check()?;
        let mut channels = self.channels();
        if let Some(found) = channels.get(name) {
            return match &found.reference {
                Reference::Untyped(reference) if *found.channel.qos() == qos => {
                    Ok(reference.clone())
                }
                _ => Err(AlreadyExists {}.into()),
            };
        }
        let (channel, number) = self.new_channel(name, qos, channels.len())?;
        let reference = administration::serve(self, &channel, number)?;
        let found = Found { channel, reference: Reference::Untyped(reference.clone()) };
        channels.insert(name.to_owned(), found);
        Ok(reference)
    }

    /// Makes a typed channel that knows `interfaces`, or finds the one that is like it, which
    /// knows them from now on.
    pub(super) fn create_typed(
        self: &Arc<Self>,
        name: &str,
        qos: ChannelQos,
        interfaces: Vec<InterfaceDescription>,
    ) -> Result<TypedEventChannel, CreateTypedChannelError> {
        qos.check()?;
        check_interfaces(&interfaces, &self.limits)?;
        let mut channels = self.channels();
        if let Some(found) = channels.get(name) {
            return match &found.reference {
                Reference::Typed(reference, known) if *found.channel.qos() == qos => {
                    interfaces.into_iter().for_each(|interface| known.table.add(interface));
                    Ok(reference.clone())
                }
                _ => Err(AlreadyExists {}.into()),
            };
        }
        let (channel, number) = self.new_channel(name, qos, channels.len())?;
        let (table, sources) = (interfaces.into_iter().collect(), Arc::clone(&self.sources));
        let known = Arc::new(Known { table, sources });
        let reference = typed::serve(self, &channel, number, &known)?;
        let found = Found { channel, reference: Reference::Typed(reference.clone(), known) };
        channels.insert(name.to_owned(), found);
        Ok(reference)
    }

    /// A channel and its number, if one more may be beside `others`.
    fn new_channel(
        &self,
        name: &str,
        qos: ChannelQos,
        others: usize,
    ) -> Result<(Arc<Channel>, u64), SystemException> {
        if others >= self.limits.channels || name.len() > self.limits.name_octets {
            let text = format!(
                "a server has at most {} channels, with names of at most {} octets",
                self.limits.channels, self.limits.name_octets
            );
            return Err(SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No)
                .with_detail(text));
        }
        let number = self.next_channel.fetch_add(1, Ordering::Relaxed);
        Ok((Channel::new(name, qos, &self.limits, &self.workers), number))
    }

    pub(super) fn find(&self, name: &str) -> Option<Found> {
        self.channels().get(name).cloned()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.channels().keys().cloned().collect()
    }

    /// A channel was destroyed.
    pub(super) fn forget(&self, name: &str) {
        let forgotten = self.channels().remove(name);
        drop(forgotten);
    }

    /// Deactivates an object, now or when its upcalls have ended.
    pub(super) fn deactivate(&self, id: &str) {
        if let Err(error) = self.poa.deactivate_object(&ObjectId::from(id)) {
            tracing::debug!(%error, id, "an object had ended already");
        }
    }

    /// Ends all, for good.
    pub(super) fn close(&self) {
        self.orb.unbind_object_key(EVENT_CHANNEL_FACTORY);
        let channels = std::mem::take(&mut *self.channels());
        for found in channels.into_values() {
            found.channel.destroy();
        }
        self.workers.close();
        // It fails when the ORB was shut down, and the POA with it.
        let _ = self.poa.destroy(true, false);
    }

    fn channels(&self) -> MutexGuard<'_, BTreeMap<String, Found>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each of them follows the rules of `<I>` or of `Pull<I>`, and they are not too many.
fn check_interfaces(
    interfaces: &[InterfaceDescription],
    limits: &Limits,
) -> Result<(), CreateTypedChannelError> {
    if interfaces.len() > limits.interfaces {
        let text = format!("a channel is given at most {} interfaces", limits.interfaces);
        return Err(SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No)
            .with_detail(text)
            .into());
    }
    for interface in interfaces {
        let pushed = EventInterface::pushed(interface);
        if let (Err(pushed), Err(pulled)) = (pushed, EventInterface::pulled(interface)) {
            let why = format!("{}; and as Pull<I>: {}", pushed.why, pulled.why);
            return Err(BadInterface { id: interface.id.clone(), why }.into());
        }
    }
    Ok(())
}
