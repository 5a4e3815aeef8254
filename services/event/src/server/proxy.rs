//! What the four kinds of proxies have in common: they are connected once, and end once
//! (Event Service 1.2 §2.3, §2.4).

use super::administration::ServantContext;
use super::registry::ChannelRegistry;
use super::watching;
use crate::channel::{
    self, Consumer, DISCONNECTED, PulledSupplier, PullingConsumer, PushConsumer, Selection,
    UnderWay, server_ends,
};
use crate::durable::{Journal, Progress, ProxyRow};
use crate::engine::say;
use crate::interfaces::EventInterface;
use crate::log::Retention;
use crate::neighbours::Neighbour;
use crate::resources::ProxyRoom;
use crate::watched::{self, Idle};
use corbie::{
    CompletionStatus, Object, ObjectId, Operation, Orb, Servant, ServerRequest, SystemException,
    minor,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A proxy: the channel's side of one supplier or consumer.
pub(super) struct Proxy {
    place: Arc<ServantContext>,
    id: u64,
    object_id: String,
    side: Side,
    /// Lock "typed object": whether there is one, held to make it and to end it.
    has_typed_object: Mutex<bool>,
    /// Whether it is used.
    pub(super) idle: Idle,
    /// Whether a channel is at the other side.
    pub(super) neighbour: Neighbour,
    _room: ProxyRoom,
    /// Lock "proxy": not held in calls.
    link: Mutex<Link>,
}

/// What a proxy is to its other side.
pub(super) struct Side {
    /// The kind of proxy, as it is kept in a store.
    pub(super) kind: &'static str,
    pub(super) is_of_supplier: bool,
    /// What the other side is told when the proxy ends.
    pub(super) farewell: &'static Operation,
    /// What a consumer is to get.
    pub(super) selection: Selection,
    /// The repository id of the interface of a typed proxy, else empty.
    interface: String,
}

impl Side {
    /// Of a supplier that is told `farewell` at the end.
    pub(super) fn supplier(kind: &'static str, farewell: &'static Operation) -> Self {
        let selection = Selection::Untyped;
        Side { kind, is_of_supplier: true, farewell, selection, interface: String::new() }
    }

    /// Of a consumer that is told `farewell` at the end.
    pub(super) fn consumer(
        kind: &'static str,
        farewell: &'static Operation,
        selection: Selection,
    ) -> Self {
        let interface = selection.interface().to_owned();
        Side { kind, is_of_supplier: false, farewell, selection, interface }
    }

    /// Its events are calls of `interface`.
    pub(super) fn calling(self, interface: &EventInterface) -> Self {
        Side { interface: interface.id().to_owned(), ..self }
    }
}

#[derive(Default)]
enum Link {
    #[default]
    Fresh,
    /// A client is connecting it.
    Connecting,
    Connected {
        /// The other side, if it is known.
        peer: Option<Object>,
        flow: Flow,
    },
    Ended,
    /// It is there again when the server is started again.
    Suspended,
}

/// What moves the events of a proxy.
#[derive(Clone)]
pub(super) enum Flow {
    /// The supplier pushes.
    Pushed,
    /// It is pulled; for typed events, for each kind on its own.
    Pulled(Arc<[Arc<PulledSupplier>]>),
    Push(Arc<PushConsumer>),
    Pulling(Arc<PullingConsumer>),
}

impl Flow {
    fn end(&self) {
        match self {
            Flow::Pushed => {}
            Flow::Pulled(suppliers) => suppliers.iter().for_each(|supplier| supplier.end()),
            Flow::Push(consumer) => consumer.end(),
            Flow::Pulling(consumer) => consumer.end(),
        }
    }

    fn stop(&self, under_way: &UnderWay) {
        match self {
            Flow::Pushed => {}
            Flow::Pulled(suppliers) => suppliers.iter().for_each(|supplier| supplier.stop()),
            Flow::Push(consumer) => consumer.stop(Some(under_way)),
            Flow::Pulling(consumer) => consumer.suspend(),
        }
    }

    fn suspend(&self) {
        match self {
            Flow::Pulling(consumer) => consumer.suspend(),
            other => other.end(),
        }
    }
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

/// A reference as text for the store, with a note of the peer that handed it over.
pub(super) fn kept(object: &Object) -> String {
    object.kept_ior().to_string()
}

/// A reference that was [`kept`].
pub(super) fn of_kept(orb: &Orb, text: &str) -> Result<Object, SystemException> {
    // Errors are those of references as people write them.
    let read = orb.string_to_object(text)?;
    Ok(Object::kept(orb, read.ior().clone()))
}

impl Proxy {
    /// Makes a proxy of `place`, served by the servant that `serve` makes; with the number that it
    /// had before the server was started, if it was there.
    pub(super) fn activate_as<S: Servant>(
        place: &Arc<ServantContext>,
        side: Side,
        before: Option<u64>,
        serve: impl FnOnce(Arc<Proxy>) -> S,
    ) -> Result<(Arc<Proxy>, Object), SystemException> {
        let resources = place.channel.resources();
        let room = match before {
            None => resources.room_for_proxy()?,
            Some(_) => resources.room_for_kept_proxy(),
        };
        let make = |id| {
            let object_id = place.id(id);
            let proxy = Arc::new(Proxy {
                place: Arc::clone(place),
                id,
                object_id: object_id.clone(),
                side,
                has_typed_object: Mutex::default(),
                idle: Idle::default(),
                neighbour: Neighbour::default(),
                _room: room,
                link: Mutex::default(),
            });
            let servant: Arc<dyn Servant> = Arc::new(serve(Arc::clone(&proxy)));
            let object_id = corbie::ObjectId::from(object_id.as_str());
            let poa = place.poa();
            poa.activate_object_with_id(&object_id, servant)?;
            let object = poa.id_to_reference(&object_id)?;
            Ok((Arc::clone(&proxy), (proxy, object)))
        };
        match before {
            None => place.channel.add_proxy(make),
            Some(id) => place.channel.add_proxy_at(id, make),
        }
    }

    pub(super) fn registry(&self) -> &Arc<ChannelRegistry> {
        &self.place.registry
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
        self.begin_to_connect()?;
        let connected = self.begun(begin).and_then(|flow| Ok((flow, self.keep(peer)?)));
        match connected {
            Ok((flow, progress)) => self.connected(peer, flow, progress),
            Err(exception) => {
                let mut link = self.link();
                if matches!(*link, Link::Connecting) {
                    *link = Link::Fresh;
                }
                Err(exception.into())
            }
        }
    }

    /// Connects the other side as it was before the server was started.
    pub(super) fn connect_again(
        self: &Arc<Self>,
        peer: Option<&Object>,
        progress: Progress,
        begin: impl FnOnce(Box<dyn Fn() + Send + Sync>) -> Result<Flow, SystemException>,
    ) -> Result<(), SystemException> {
        let refused = |_| ended();
        self.begin_to_connect().map_err(refused)?;
        let flow = self.begun(begin)?;
        self.connected(peer, flow, Some(progress)).map_err(refused)
    }

    fn begin_to_connect(&self) -> Result<(), NotConnected> {
        let mut link = self.link();
        match &*link {
            Link::Fresh => {}
            Link::Connecting | Link::Connected { .. } => return Err(NotConnected::Already),
            Link::Ended => return Err(ended().into()),
            Link::Suspended => return Err(server_ends().into()),
        }
        *link = Link::Connecting;
        Ok(())
    }

    fn begun(
        self: &Arc<Self>,
        begin: impl FnOnce(Box<dyn Fn() + Send + Sync>) -> Result<Flow, SystemException>,
    ) -> Result<Flow, SystemException> {
        let weak: Weak<Self> = Arc::downgrade(self);
        begin(Box::new(move || {
            if let Some(proxy) = weak.upgrade() {
                channel::ChannelProxy::end(&*proxy);
            }
        }))
    }

    /// Has the connection kept, if the channel is durable; a consumer gets what comes from now on.
    fn keep(&self, peer: Option<&Object>) -> Result<Option<Progress>, SystemException> {
        let Some(journal) = self.channel().journal() else { return Ok(None) };
        let row = ProxyRow {
            kind: self.side.kind.to_owned(),
            interface: self.side.interface.clone(),
            peer: peer.map(|peer| kept(&peer.through(self.registry().orb()))).unwrap_or_default(),
        };
        let position = journal.log().end();
        let progress = Progress { position, ..Progress::default() };
        let kept = (!self.side.is_of_supplier).then_some(progress);
        journal.connected(self.id, row, kept).map_err(|error| error.to_exception())?;
        Ok(Some(progress))
    }

    fn connected(
        &self,
        peer: Option<&Object>,
        flow: Flow,
        progress: Option<Progress>,
    ) -> Result<(), NotConnected> {
        let selection = &self.side.selection;
        let consumer = match &flow {
            Flow::Push(consumer) => Some(Consumer::Push(Arc::clone(consumer))),
            Flow::Pulling(consumer) => Some(Consumer::Pulling(Arc::clone(consumer))),
            Flow::Pushed | Flow::Pulled(_) => None,
        };
        if let (Some(consumer), Some(journal), Some(at)) =
            (&consumer, self.channel().journal(), progress)
        {
            consumer.begin(journal, selection, &at);
        }
        let mut link = self.link();
        if !matches!(*link, Link::Connecting) {
            let is_suspended = matches!(*link, Link::Suspended);
            drop(link);
            flow.end();
            if is_suspended {
                // It is kept, and there again when the server is.
                let mut ends = server_ends();
                ends.completed = CompletionStatus::Maybe;
                return Err(ends.into());
            }
            self.forget();
            return Err(ended().into());
        }
        *link = Link::Connected { peer: peer.cloned(), flow: flow.clone() };
        // In the lock, so that an end that comes now finds it there.
        if let Some(consumer) = consumer {
            self.channel().add_consumer(self.id, selection, consumer);
        }
        drop(link);
        if let Flow::Pulled(suppliers) = flow {
            suppliers.iter().for_each(PulledSupplier::start);
        }
        Ok(())
    }

    /// Ends it for the other side, which asks for it: returns when it will not be there again.
    ///
    /// # Errors
    /// `PERSIST_STORE` when it is kept in a store that failed, `TRANSIENT` when the server ends: it
    /// goes on as it was.
    pub(super) fn disconnect(&self) -> Result<(), SystemException> {
        let is_kept = match &*self.link() {
            Link::Suspended => return Err(server_ends()),
            Link::Connected { .. } => true,
            Link::Fresh | Link::Connecting | Link::Ended => false,
        };
        if is_kept && let Some(journal) = self.lasting_journal() {
            journal.ended(self.id).map_err(|error| error.to_exception())?;
        }
        self.close(is_kept);
        Ok(())
    }

    fn close(&self, is_forgotten: bool) {
        let mut place = self.link();
        if matches!(*place, Link::Ended | Link::Suspended) {
            return;
        }
        let link = std::mem::replace(&mut *place, Link::Ended);
        drop(place);
        tracing::debug!(kind = self.side.kind, id = self.id, "a proxy ends");
        self.deactivate();
        if matches!(link, Link::Connected { .. }) && !is_forgotten {
            // Before anybody sees that it has gone: a server that ends in peace then keeps that.
            if let Some(journal) = self.lasting_journal() {
                journal.ends(self.id);
            }
        }
        self.place.channel.remove_proxy(self.id);
        let Link::Connected { peer, flow } = link else { return };
        flow.end();
        if let Some(peer) = peer {
            let farewell = self.side.farewell;
            // It may have to be connected to first.
            self.place.registry.workers().soon(move || say(&peer, farewell));
        }
    }

    fn deactivate(&self) {
        self.place.deactivate(&self.object_id);
        if std::mem::take(&mut *self.typed_object_lock()) {
            self.place.deactivate(&self.typed_object_id());
        }
    }

    /// It ended while it was being connected, and is not kept any more.
    fn forget(&self) {
        let Some(journal) = self.lasting_journal() else { return };
        if let Err(error) = journal.ended(self.id) {
            tracing::error!(%error, "a proxy that has ended is to be forgotten again");
            journal.ends(self.id);
        }
    }

    /// Where it is kept. The proxies of a channel that ends are forgotten together.
    fn lasting_journal(&self) -> Option<&Arc<Journal>> {
        let channel = self.channel();
        channel.journal().filter(|_| !channel.is_destroyed())
    }

    /// The other side of a proxy of a durable channel as a reference of the server's ORB, as it
    /// will be after a restart: one of another ORB of this process ends with that.
    pub(super) fn lasting(&self, peer: &Object) -> Object {
        match self.channel().journal() {
            None => peer.clone(),
            Some(_) => peer.through(self.registry().orb()),
        }
    }

    /// How long events are kept for it, if it is the proxy of a consumer of a durable channel.
    pub(super) fn lasting_consumer(&self) -> Option<Retention> {
        self.channel().qos().durable.filter(|_| !self.side.is_of_supplier)
    }

    /// What moves the events, while connected. For requests of the other side: the proxy counts
    /// as used.
    pub(super) fn flow(&self) -> Option<Flow> {
        self.idle.used();
        self.connection().map(|(_, flow)| flow)
    }

    /// Whether the other side may supply. For its requests: the proxy counts as used.
    pub(super) fn is_connected(&self) -> bool {
        self.idle.used();
        matches!(*self.link(), Link::Connected { .. })
    }

    /// The other side, if it is known, and what moves the events, while connected.
    pub(super) fn connection(&self) -> Option<(Option<Object>, Flow)> {
        match &*self.link() {
            Link::Connected { peer, flow } => Some((peer.clone(), flow.clone())),
            _ => None,
        }
    }

    /// Whether no client may connect any more: one is connected, or the proxy has ended.
    ///
    /// # Errors
    /// As [`Proxy::connect`].
    pub(super) fn check_fresh(&self) -> Result<(), NotConnected> {
        match *self.link() {
            Link::Fresh => Ok(()),
            Link::Connecting | Link::Connected { .. } => Err(NotConnected::Already),
            Link::Ended => Err(ended().into()),
            Link::Suspended => Err(server_ends().into()),
        }
    }

    /// Refuses a request for events: no client is connected, or the server ends.
    pub(super) fn refuse(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.check_lasting()?;
        request.reply_exception(DISCONNECTED, &|_| Ok(()))
    }

    /// That it is not away until the server is started again.
    ///
    /// # Errors
    /// `TRANSIENT`.
    pub(super) fn check_lasting(&self) -> Result<(), SystemException> {
        match *self.link() {
            Link::Suspended => Err(server_ends()),
            _ => Ok(()),
        }
    }

    /// The object whose operations are the events of this proxy; `serve` makes its servant when it
    /// is asked for first. It ends with the proxy.
    pub(super) fn typed_object(
        &self,
        serve: impl FnOnce() -> Arc<dyn Servant>,
    ) -> Result<Object, SystemException> {
        let object_id = ObjectId::from(self.typed_object_id().as_str());
        let poa = self.place.poa();
        let mut has_typed_object = self.typed_object_lock();
        match *self.link() {
            Link::Ended => return Err(ended()),
            Link::Suspended => return Err(server_ends()),
            _ => {}
        }
        if !*has_typed_object {
            poa.activate_object_with_id(&object_id, serve())?;
            *has_typed_object = true;
        }
        Ok(poa.id_to_reference(&object_id)?)
    }

    fn typed_object_id(&self) -> String {
        self.place.id(format_args!("{}/typed", self.id))
    }

    fn typed_object_lock(&self) -> MutexGuard<'_, bool> {
        self.has_typed_object.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl channel::ChannelProxy for Proxy {
    fn end(&self) {
        self.close(false);
    }

    fn stop(&self, under_way: &UnderWay) {
        if let Some((_, flow)) = self.connection() {
            flow.stop(under_way);
        }
    }

    fn suspend(&self) {
        let mut place = self.link();
        if matches!(*place, Link::Ended) {
            return;
        }
        let link = std::mem::replace(&mut *place, Link::Suspended);
        drop(place);
        if let Link::Connected { flow, .. } = link {
            flow.suspend();
        }
    }

    fn look_after(self: Arc<Self>) {
        watched::look_after(&self);
    }

    fn look_for_ring(self: Arc<Self>, sources: &[u64]) {
        watching::look_for_ring(&self, sources);
    }

    fn sources(&self) -> Vec<u64> {
        self.neighbour.sources()
    }

    fn is_supplied(&self) -> bool {
        self.side.is_of_supplier && matches!(*self.link(), Link::Connected { .. })
    }
}

pub(super) fn ended() -> SystemException {
    SystemException::object_not_exist(minor::OBJECT_NOT_EXIST_DISCONNECTED, CompletionStatus::No)
        .with_detail("the proxy was disconnected, and does not exist any more")
}
