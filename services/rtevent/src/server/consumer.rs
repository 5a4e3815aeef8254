//! The proxy of a consumer: it connects, suspends, resumes and ends, from any thread and from
//! inside any upcall. No lock is held in calls.

use super::administration::Place;
use super::watching::watched_proxy;
use crate::channel::ChannelProxy;
use crate::configuration::Reconnection;
use crate::consumer::{Connection, Consumer};
use crate::rtec_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use crate::rtec_event_channel_admin::{
    AlreadyConnected, ConsumerQos, ProxyPushConsumer, ProxyPushSupplier, ProxyPushSupplierServant,
    ProxyPushSupplierSkeleton,
};
use crate::rtec_event_comm::{PushConsumer, PushSupplierServant};
use corbie::{CompletionStatus, Operation, SystemException, minor};
use corbie_event::engine::Room;
use corbie_event::neighbours::{self, Linked, Neighbour};
use corbie_event::watched::{self, Idle, IfQuiet, Sight, Watched};
use corbie_event::{ChannelQos, Limits};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

static DISCONNECT_PUSH_CONSUMER: Operation = Operation::twoway("disconnect_push_consumer");

/// The channel's side of one consumer.
struct ConsumerProxy {
    place: Arc<Place>,
    number: u64,
    _room: Room,
    idle: Idle,
    neighbour: Neighbour,
    /// Lock "consumer proxy": not held in calls.
    link: Mutex<Link>,
}

#[derive(Default)]
struct Link {
    phase: Stage,
    /// Whether it is suspended; a consumer that connects again stays so.
    is_suspended: bool,
}

#[derive(Default)]
enum Stage {
    #[default]
    Fresh,
    /// A thread connects it.
    Connecting,
    Connected(Arc<Consumer>),
    Ended,
}

/// Makes a proxy.
///
/// # Errors
/// `IMP_LIMIT` when there are too many.
pub(super) fn proxy(place: &Arc<Place>) -> Result<ProxyPushSupplier, SystemException> {
    let room = place.channel.engine().room_for_proxy()?;
    place.channel.add_proxy(|number| {
        let proxy = Arc::new(ConsumerProxy {
            place: Arc::clone(place),
            number,
            _room: room,
            idle: Idle::default(),
            neighbour: Neighbour::default(),
            link: Mutex::default(),
        });
        let servant = ProxyPushSupplierSkeleton::new(Servant(Arc::clone(&proxy)));
        let reference = place.poa.activate_with_id(place.id(number), servant)?;
        Ok((proxy, reference))
    })
}

impl ConsumerProxy {
    fn connect(
        self: &Arc<Self>,
        peer: &PushConsumer,
        qos: &ConsumerQos,
    ) -> Result<(), ConnectPushConsumerError> {
        let channel = &self.place.channel;
        let subscription = channel.read(&qos.dependencies).map_err(|bad| {
            SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, CompletionStatus::No)
                .with_detail(bad.to_string())
        })?;
        peer.as_object().check_egress()?;
        let (before, is_suspended) = self.begin_to_connect()?;
        if let Some(before) = before {
            channel.remove_consumer(self.number);
            before.end();
        }
        let entries = qos.dependencies.len();
        let made = channel.add_consumer(entries, |way| Connection {
            number: self.number,
            peer: peer.clone(),
            subscription,
            is_gateway: qos.is_gateway,
            is_channel: self.is_channel(peer),
            is_suspended,
            way,
            give_up: self.giving_up(),
        });
        let mut link = self.link();
        match (&link.phase, made) {
            (Stage::Connecting, Ok(consumer)) => {
                // Meanwhile it may have been suspended or resumed.
                if link.is_suspended {
                    consumer.suspend()
                } else {
                    consumer.resume()
                }
                link.phase = Stage::Connected(consumer);
                Ok(())
            }
            (Stage::Connecting, Err(exception)) => {
                link.phase = Stage::Fresh;
                Err(exception.into())
            }
            (_, made) => {
                drop(link);
                if let Ok(consumer) = made {
                    channel.remove_consumer(self.number);
                    consumer.end();
                }
                Err(ended().into())
            }
        }
    }

    /// What has this end, by a thread that goes through no collection and holds no lock.
    fn giving_up(self: &Arc<Self>) -> Arc<dyn Fn() + Send + Sync> {
        let weak: Weak<Self> = Arc::downgrade(self);
        let engine = self.place.channel.engine().clone();
        Arc::new(move || {
            let weak = Weak::clone(&weak);
            engine.after(Duration::ZERO, move || {
                if let Some(proxy) = weak.upgrade() {
                    proxy.close(true);
                }
            });
        })
    }

    /// Whether it is a proxy of a channel: one of this server, or one whose reference says so.
    fn is_channel(&self, peer: &PushConsumer) -> bool {
        let object = peer.as_object();
        object.ior().type_id == ProxyPushConsumer::REPOSITORY_ID
            || self.place.poa.reference_to_id(object).is_ok()
    }

    /// What was connected until now, and whether it is suspended.
    fn begin_to_connect(&self) -> Result<(Option<Arc<Consumer>>, bool), ConnectPushConsumerError> {
        let mut link = self.link();
        let may_again = self.place.channel.configuration().reconnection == Reconnection::Allowed;
        let before = match &link.phase {
            Stage::Fresh => None,
            Stage::Connected(before) if may_again => Some(Arc::clone(before)),
            Stage::Connected(_) | Stage::Connecting => return Err(AlreadyConnected {}.into()),
            Stage::Ended => return Err(ended().into()),
        };
        link.phase = Stage::Connecting;
        Ok((before, link.is_suspended))
    }

    /// Ends it; the consumer is told, unless it has asked for that itself.
    fn close(&self, is_told: bool) {
        let before = std::mem::replace(&mut self.link().phase, Stage::Ended);
        if matches!(before, Stage::Ended) {
            return;
        }
        let place = &self.place;
        place.deactivate(&place.id(self.number));
        place.channel.remove_proxy(self.number);
        let Stage::Connected(consumer) = before else { return };
        place.channel.remove_consumer(self.number);
        consumer.end();
        if is_told {
            let peer = consumer.peer().as_object();
            place.channel.engine().say_farewell(peer, &DISCONNECT_PUSH_CONSUMER);
        }
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_suspended(&self, is_suspended: bool) -> Result<(), SystemException> {
        let mut link = self.link();
        link.is_suspended = is_suspended;
        match &link.phase {
            Stage::Ended => Err(ended()),
            Stage::Connected(consumer) if is_suspended => {
                consumer.suspend();
                Ok(())
            }
            Stage::Connected(consumer) => {
                consumer.resume();
                Ok(())
            }
            Stage::Fresh | Stage::Connecting => Ok(()),
        }
    }
}

pub(super) fn ended() -> SystemException {
    SystemException::object_not_exist(minor::OBJECT_NOT_EXIST_DISCONNECTED, CompletionStatus::No)
        .with_detail("the proxy was disconnected, and does not exist any more")
}

impl Watched for ConsumerProxy {
    watched_proxy!();

    fn sight(&self) -> Sight {
        // Queues and lanes are asked without the lock.
        let consumer = match &self.link().phase {
            Stage::Connected(consumer) => Arc::clone(consumer),
            _ => return Sight::Fresh,
        };
        let counters = consumer.counters();
        // Pushes find out themselves when the consumer is gone.
        let is_in_use = self.idle.has_moved(counters.delivered) || counters.queued > 0;
        let if_quiet = IfQuiet::Ask(Some(consumer.peer().as_object().clone()));
        Sight::Connected { is_in_use, if_quiet }
    }
}

impl Linked for ConsumerProxy {
    fn neighbour(&self) -> &Neighbour {
        &self.neighbour
    }

    fn channel_number(&self) -> u64 {
        self.place.channel.number()
    }

    fn sources(&self) -> Vec<u64> {
        self.place.channel.sources()
    }
}

impl ChannelProxy for ConsumerProxy {
    fn end(&self) {
        self.close(true);
    }

    fn look_after(self: Arc<Self>) {
        watched::look_after(&self);
    }

    fn look_for_ring(self: Arc<Self>, sources: &[u64]) {
        let consumer = match &self.link().phase {
            Stage::Connected(consumer) => Arc::clone(consumer),
            _ => return,
        };
        // Without an event there is no harm yet.
        if consumer.counters().delivered > 0 {
            neighbours::tell_if_channel(&self, consumer.peer().as_object(), sources);
        }
    }

    fn sources(&self) -> Vec<u64> {
        Vec::new()
    }
}

struct Servant(Arc<ConsumerProxy>);

impl PushSupplierServant for Servant {
    fn disconnect_push_supplier(&self) -> Result<(), SystemException> {
        self.0.close(false);
        Ok(())
    }
}

impl ProxyPushSupplierServant for Servant {
    fn connect_push_consumer(
        &self,
        push_consumer: Option<&PushConsumer>,
        qos: &ConsumerQos,
    ) -> Result<(), ConnectPushConsumerError> {
        let peer = push_consumer.ok_or_else(|| {
            SystemException::bad_param(minor::BAD_PARAM_ARGUMENT, CompletionStatus::No)
                .with_detail("the push consumer is nil: it cannot be called")
        })?;
        self.0.connect(peer, qos)
    }

    fn suspend_connection(&self) -> Result<(), SystemException> {
        self.0.set_suspended(true)
    }

    fn resume_connection(&self) -> Result<(), SystemException> {
        self.0.set_suspended(false)
    }
}
