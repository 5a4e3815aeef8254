//! What the four kinds of proxies have in common: they are connected once, and end once
//! (Event Service 1.2 §2.3, §2.4).

use super::administration::Place;
use crate::channel::{self, Consumer, PulledSupplier, PullingConsumer, PushConsumer};
use corbie::{CompletionStatus, Object, Operation, ReplySink, Servant, SystemException};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A proxy: the channel's side of one supplier or consumer.
pub(super) struct Proxy {
    place: Arc<Place>,
    id: u64,
    object_id: String,
    /// What the other side is told when the proxy ends.
    farewell: &'static Operation,
    is_of_supplier: bool,
    /// Lock "proxy": not held in calls.
    link: Mutex<Link>,
}

#[derive(Default)]
enum Link {
    #[default]
    Fresh,
    Connected {
        /// The other side, if it is known.
        peer: Option<Object>,
        flow: Flow,
    },
    Ended,
}

/// What moves the events of a proxy.
#[derive(Clone)]
pub(super) enum Flow {
    /// The supplier pushes.
    Pushed,
    Pulled(Arc<PulledSupplier>),
    Push(Arc<PushConsumer>),
    Pulling(Arc<PullingConsumer>),
}

/// Why a proxy was not connected.
pub(super) enum NotConnected {
    Already,
    System(SystemException),
}

impl From<SystemException> for NotConnected {
    fn from(exception: SystemException) -> Self {
        NotConnected::System(exception)
    }
}

impl Proxy {
    /// Makes a proxy of `place`, served by the servant that `serve` makes.
    pub(super) fn activate<S: Servant>(
        place: &Arc<Place>,
        (farewell, is_of_supplier): (&'static Operation, bool),
        serve: impl FnOnce(Arc<Proxy>) -> S,
    ) -> Result<Object, SystemException> {
        place.channel.add_proxy(|id| {
            let object_id = place.id(id);
            let proxy = Arc::new(Proxy {
                place: Arc::clone(place),
                id,
                object_id: object_id.clone(),
                farewell,
                is_of_supplier,
                link: Mutex::default(),
            });
            let servant: Arc<dyn Servant> = Arc::new(serve(Arc::clone(&proxy)));
            let object_id = corbie::ObjectId::from(object_id.as_str());
            let poa = place.home.poa();
            poa.activate_object_with_id(&object_id, servant)?;
            Ok((proxy, poa.id_to_reference(&object_id)?))
        })
    }

    pub(super) fn channel(&self) -> &Arc<channel::Channel> {
        &self.place.channel
    }

    /// Connects the other side; `begin` makes what moves the events, and is given what ends the
    /// proxy.
    pub(super) fn connect(
        self: &Arc<Self>,
        peer: Option<&Object>,
        begin: impl FnOnce(Box<dyn Fn() + Send + Sync>) -> Result<Flow, SystemException>,
    ) -> Result<(), NotConnected> {
        let weak: Weak<Self> = Arc::downgrade(self);
        let give_up = Box::new(move || {
            if let Some(proxy) = weak.upgrade() {
                channel::Proxy::end(&*proxy);
            }
        });
        let mut link = self.link();
        match &*link {
            Link::Fresh => {}
            Link::Connected { .. } => return Err(NotConnected::Already),
            Link::Ended => return Err(ended().into()),
        }
        let flow = begin(give_up)?;
        *link = Link::Connected { peer: peer.cloned(), flow: flow.clone() };
        // In the lock, so that an end that comes now finds it there.
        match &flow {
            Flow::Push(consumer) => {
                self.channel().add_consumer(self.id, Consumer::Push(Arc::clone(consumer)));
            }
            Flow::Pulling(consumer) => {
                self.channel().add_consumer(self.id, Consumer::Pulling(Arc::clone(consumer)));
            }
            Flow::Pushed | Flow::Pulled(_) => {}
        }
        drop(link);
        if let Flow::Pulled(supplier) = flow {
            supplier.start();
        }
        Ok(())
    }

    /// What moves the events, while connected.
    pub(super) fn flow(&self) -> Option<Flow> {
        match &*self.link() {
            Link::Connected { flow, .. } => Some(flow.clone()),
            _ => None,
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        matches!(*self.link(), Link::Connected { .. })
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl channel::Proxy for Proxy {
    fn end(&self) {
        let link = std::mem::replace(&mut *self.link(), Link::Ended);
        if matches!(link, Link::Ended) {
            return;
        }
        self.place.home.deactivate(&self.object_id);
        self.place.channel.remove_proxy(self.id);
        let Link::Connected { peer, flow } = link else { return };
        match flow {
            Flow::Pushed => {}
            Flow::Pulled(supplier) => supplier.end(),
            Flow::Push(consumer) => consumer.end(),
            Flow::Pulling(consumer) => consumer.end(),
        }
        if let Some(peer) = peer {
            let farewell = self.farewell;
            // It may have to be connected to first.
            self.place.home.workers().soon(move || say(&peer, farewell));
        }
    }

    fn is_supplied(&self) -> bool {
        self.is_of_supplier && self.is_connected()
    }
}

fn say(peer: &Object, farewell: &'static Operation) {
    let sink = ReplySink::function(|outcome| {
        if let Err(exception) = outcome {
            tracing::debug!(%exception, "nobody was there to be told of the end of a connection");
        }
    });
    if let Err(exception) = peer.invoke_async(farewell, &|_| Ok(()), sink) {
        tracing::debug!(%exception, "the end of a connection could not be told");
    }
}

pub(super) fn ended() -> SystemException {
    SystemException::object_not_exist(0, CompletionStatus::No)
        .with_detail("the proxy was disconnected, and does not exist any more")
}
