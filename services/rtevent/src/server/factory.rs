//! The servant of the factory: channels by name, and their counters. Its IDL is our own
//! (`CorbieRtEvents.idl`).

use super::{Registry, Served, live};
use crate::configuration::Configuration;
use crate::corbie_rt_events::channel_factory::{CreateChannelError, FindError, StatisticsError};
use crate::corbie_rt_events::{BadSettings, ChannelFactoryServant, ChannelStatistics, NotFound};
use crate::rtec_event_channel_admin::EventChannel;
use corbie::SystemException;
use corbie_event::Overflow;
use std::sync::Weak;

/// The factory.
pub(super) struct Factory {
    pub(super) registry: Weak<Registry>,
}

impl Factory {
    fn known<E: From<SystemException> + From<NotFound>>(&self, name: &str) -> Result<Served, E> {
        Ok(live(&self.registry)?.find(name).ok_or(NotFound {})?)
    }
}

impl ChannelFactoryServant for Factory {
    fn create_channel(
        &self,
        name: &str,
        settings: &[String],
    ) -> Result<Option<EventChannel>, CreateChannelError> {
        let configuration =
            Configuration::of(settings).map_err(|bad| BadSettings { why: bad.0 })?;
        if configuration.queue.when_full == Overflow::BlockSupplier {
            let why = "when-full=block-supplier lets any consumer hold up all suppliers: only who \
                       starts the server can choose it (corbie rtevents serve --set)";
            return Err(BadSettings { why: why.to_owned() }.into());
        }
        live(&self.registry)?.create(name, configuration).map(Some)
    }

    fn find(&self, name: &str) -> Result<Option<EventChannel>, FindError> {
        self.known(name).map(|served| Some(served.reference))
    }

    fn list(&self) -> Result<Vec<String>, SystemException> {
        Ok(live(&self.registry)?.names())
    }

    fn statistics(&self, name: &str) -> Result<ChannelStatistics, StatisticsError> {
        self.known(name).map(|served| served.channel.statistics())
    }
}
