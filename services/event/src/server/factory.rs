//! The servant of the factory: channels by name, and their counters. Its IDL is our own
//! (`CorbieEvents.idl`); the specification leaves the making of channels open.

use super::registry::{ChannelRegistry, Reference, ServedChannel};
use crate::corbie_events::event_channel_factory::{
    CreateChannelError, CreateTypedChannelError, FindError, FindTypedError, StatisticsError,
};
use crate::corbie_events::{
    ChannelQos, ChannelStatistics, EventChannelFactoryServant, EventInterface, NotFound,
};
use crate::cos_event_channel_admin::EventChannel;
use crate::cos_typed_event_channel_admin::TypedEventChannel;
use crate::qos;
use corbie::SystemException;
use std::sync::Arc;

/// The factory.
pub(super) struct Factory {
    pub(super) registry: Arc<ChannelRegistry>,
}

impl Factory {
    fn known(&self, name: &str) -> Result<ServedChannel, NotFound> {
        self.registry.find(name).ok_or(NotFound {})
    }
}

impl EventChannelFactoryServant for Factory {
    fn create_channel(
        &self,
        name: &str,
        qos: &ChannelQos,
    ) -> Result<Option<EventChannel>, CreateChannelError> {
        let qos = qos::ChannelQos::of_idl(qos, self.registry.limits())?;
        self.registry.create(name, qos).map(Some)
    }

    fn create_typed_channel(
        &self,
        name: &str,
        qos: &ChannelQos,
        interfaces: &[EventInterface],
    ) -> Result<Option<TypedEventChannel>, CreateTypedChannelError> {
        let qos = qos::ChannelQos::of_idl(qos, self.registry.limits())?;
        let interfaces = interfaces.iter().cloned().map(Into::into).collect();
        self.registry.create_typed(name, qos, interfaces).map(Some)
    }

    fn find_typed(&self, name: &str) -> Result<Option<TypedEventChannel>, FindTypedError> {
        match self.known(name)?.reference {
            Reference::Typed(channel, _) => Ok(Some(channel)),
            Reference::Untyped(_) => Err(NotFound {}.into()),
        }
    }

    fn find(&self, name: &str) -> Result<Option<EventChannel>, FindError> {
        match self.known(name)?.reference {
            Reference::Untyped(channel) => Ok(Some(channel)),
            Reference::Typed(..) => Err(NotFound {}.into()),
        }
    }

    fn list(&self) -> Result<Vec<String>, SystemException> {
        Ok(self.registry.names())
    }

    fn statistics(&self, name: &str) -> Result<ChannelStatistics, StatisticsError> {
        Ok(self.known(name)?.channel.statistics())
    }
}
