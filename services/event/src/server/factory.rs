//! The servant of the factory: channels by name, and their counters. Its IDL is our own
//! (`CorbieEvents.idl`); the specification leaves the making of channels open.

use super::home::Home;
use crate::channel::Channel;
use crate::corbie_events::event_channel_factory::{CreateChannelError, FindError, StatisticsError};
use crate::corbie_events::{ChannelQos, ChannelStatistics, EventChannelFactoryServant, NotFound};
use crate::cos_event_channel_admin::EventChannel;
use crate::qos;
use corbie::SystemException;
use std::sync::Arc;

/// The factory.
pub(super) struct Factory {
    pub(super) home: Arc<Home>,
}

impl Factory {
    fn known(&self, name: &str) -> Result<(Arc<Channel>, EventChannel), NotFound> {
        self.home.find(name).ok_or(NotFound {})
    }
}

impl EventChannelFactoryServant for Factory {
    fn create_channel(
        &self,
        name: &str,
        qos: &ChannelQos,
    ) -> Result<Option<EventChannel>, CreateChannelError> {
        let qos = qos::ChannelQos::of_idl(qos)?;
        self.home.create(name, qos).map(Some)
    }

    fn find(&self, name: &str) -> Result<Option<EventChannel>, FindError> {
        Ok(Some(self.known(name)?.1))
    }

    fn list(&self) -> Result<Vec<String>, SystemException> {
        Ok(self.home.names())
    }

    fn statistics(&self, name: &str) -> Result<ChannelStatistics, StatisticsError> {
        Ok(self.known(name)?.0.statistics())
    }
}
