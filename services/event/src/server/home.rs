//! Where all channels of a server are at home: their POA, their names, and the threads that make
//! connections for them.

use super::administration;
use crate::EVENT_CHANNEL_FACTORY;
use crate::channel::Channel;
use crate::corbie_events::AlreadyExists;
use crate::corbie_events::event_channel_factory::CreateChannelError;
use crate::cos_event_channel_admin::EventChannel;
use crate::qos::{ChannelQos, Limits};
use crate::workers::Workers;
use corbie::{
    CompletionStatus, IdAssignment, ObjectId, Orb, Poa, PoaPolicy, SystemException, minor,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const POLICIES: [PoaPolicy; 1] = [PoaPolicy::IdAssignment(IdAssignment::UserId)];

/// What all channels of a server share.
pub(super) struct Home {
    orb: Orb,
    poa: Poa,
    limits: Limits,
    workers: Arc<Workers>,
    /// Lock "channels".
    channels: Mutex<BTreeMap<String, (Arc<Channel>, EventChannel)>>,
    next_channel: AtomicU64,
}

impl Home {
    pub(super) fn new(orb: &Orb, limits: Limits) -> Result<Arc<Self>, SystemException> {
        let poa = orb.root_poa()?.create_poa("EventChannels", None, &POLICIES)?;
        poa.the_poa_manager().activate().map_err(SystemException::from)?;
        let workers = Workers::new(limits.workers);
        let (channels, next_channel) = (Mutex::default(), AtomicU64::new(1));
        let orb = orb.clone();
        Ok(Arc::new(Self { orb, poa, limits, workers, channels, next_channel }))
    }

    pub(super) fn poa(&self) -> &Poa {
        &self.poa
    }

    pub(super) fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    pub(super) fn create(
        self: &Arc<Self>,
        name: &str,
        qos: ChannelQos,
    ) -> Result<EventChannel, CreateChannelError> {
        qos.check()?;
        let mut channels = self.channels();
        if let Some((channel, reference)) = channels.get(name) {
            let is_alike = *channel.qos() == qos;
            return if is_alike { Ok(reference.clone()) } else { Err(AlreadyExists {}.into()) };
        }
        if channels.len() >= self.limits.channels || name.len() > self.limits.name_octets {
            let text = format!(
                "a server has at most {} channels, with names of at most {} octets",
                self.limits.channels, self.limits.name_octets
            );
            return Err(SystemException::imp_limit(minor::IMP_LIMIT_NAMES, CompletionStatus::No)
                .with_detail(text)
                .into());
        }
        let number = self.next_channel.fetch_add(1, Ordering::Relaxed);
        let channel = Channel::new(name, qos, &self.limits, &self.workers);
        let reference = administration::serve(self, &channel, number)?;
        channels.insert(name.to_owned(), (channel, reference.clone()));
        Ok(reference)
    }

    pub(super) fn find(&self, name: &str) -> Option<(Arc<Channel>, EventChannel)> {
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
        for (channel, _) in channels.into_values() {
            channel.destroy();
        }
        self.workers.close();
        // It fails when the ORB was shut down, and the POA with it.
        let _ = self.poa.destroy(true, false);
    }

    fn channels(&self) -> MutexGuard<'_, BTreeMap<String, (Arc<Channel>, EventChannel)>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
