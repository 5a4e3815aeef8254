//! The proxy of a supplier. What comes by a message is served by hand, so that the octets of an
//! event are passed on as they came; a call of this process brings values.

use super::administration::Place;
use super::consumer::ended;
use super::watching::watched_proxy;
use crate::channel::{ChannelProxy, SupplierRoute};
use crate::configuration::Reconnection;
use crate::event::Parcel;
use crate::filter::Publication;
use crate::rtec_event_channel_admin::proxy_push_consumer::ConnectPushSupplierError;
use crate::rtec_event_channel_admin::{
    AlreadyConnected, ProxyPushConsumer, ProxyPushConsumerServant, ProxyPushConsumerSkeleton,
    SupplierQos,
};
use crate::rtec_event_comm::{Event, PushConsumerServant, PushSupplier};
use corbie::{
    CompletionStatus, Interface as _, Object, ObjectId, Operation, Servant, ServerRequest,
    SystemException, View, minor,
};
use corbie_event::engine::{Allotment, Room, answer};
use corbie_event::neighbours::{self, Linked, Neighbour};
use corbie_event::watched::{self, Idle, IfQuiet, Sight, Watched};
use corbie_event::{ChannelQos, Limits, Ticket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static DISCONNECT_PUSH_SUPPLIER: Operation = Operation::twoway("disconnect_push_supplier");

/// The channel's side of one supplier.
struct SupplierProxy {
    place: Arc<Place>,
    number: u64,
    _room: Room,
    idle: Idle,
    neighbour: Neighbour,
    /// Lock "supplier proxy": not held in calls.
    phase: Mutex<Supply>,
}

#[derive(Default)]
enum Supply {
    #[default]
    Fresh,
    Connected {
        /// What is told of the end, if it gave a reference.
        peer: Option<Object>,
        route: SupplierRoute,
        _room: Allotment,
    },
    Ended,
}

/// Makes a proxy.
///
/// # Errors
/// `IMP_LIMIT` when there are too many.
pub(super) fn proxy(place: &Arc<Place>) -> Result<ProxyPushConsumer, SystemException> {
    let room = place.channel.engine().room_for_proxy()?;
    place.channel.add_proxy(|number| {
        let proxy = Arc::new(SupplierProxy {
            place: Arc::clone(place),
            number,
            _room: room,
            idle: Idle::default(),
            neighbour: Neighbour::default(),
            phase: Mutex::default(),
        });
        let rest = ProxyPushConsumerSkeleton::new(ByValue(Arc::clone(&proxy)));
        let servant: Arc<dyn Servant> = Arc::new(ByHand { proxy: Arc::clone(&proxy), rest });
        let id = ObjectId::from(place.id(number).as_str());
        place.poa.activate_object_with_id(&id, servant)?;
        let object = place.poa.id_to_reference(&id)?;
        Ok((proxy, ProxyPushConsumer::from_object(object)))
    })
}

impl SupplierProxy {
    fn connect(
        &self,
        peer: Option<&PushSupplier>,
        qos: &SupplierQos,
    ) -> Result<(), ConnectPushSupplierError> {
        let channel = &self.place.channel;
        let publications = qos.publications.iter().map(|publication| {
            let header = &publication.event.header;
            Publication { source: header.source, kind: header.r#type }
        });
        let publications: Vec<_> = publications.collect();
        let room = channel.room_for_publications(publications.len())?;
        let may_again = channel.configuration().reconnection == Reconnection::Allowed;
        let mut phase = self.phase();
        match &*phase {
            Supply::Connected { .. } if !may_again => return Err(AlreadyConnected {}.into()),
            Supply::Fresh | Supply::Connected { .. } => {}
            Supply::Ended => return Err(ended().into()),
        }
        // In the lock, so that an end that comes now finds it there. Nothing is called.
        let route = channel.add_supplier(self.number, publications, qos.is_gateway);
        let peer = peer.map(|peer| peer.as_object().clone());
        let before = std::mem::replace(&mut *phase, Supply::Connected { peer, route, _room: room });
        drop(phase);
        drop(before);
        Ok(())
    }

    /// Ends it; the supplier is told, unless it has asked for that itself.
    fn close(&self, is_told: bool) {
        let before = std::mem::replace(&mut *self.phase(), Supply::Ended);
        if matches!(before, Supply::Ended) {
            return;
        }
        let place = &self.place;
        place.deactivate(&place.id(self.number));
        place.channel.remove_proxy(self.number);
        let Supply::Connected { peer, .. } = before else { return };
        place.channel.remove_supplier(self.number);
        if let Some(peer) = peer.filter(|_| is_told) {
            place.channel.engine().say_farewell(&peer, &DISCONNECT_PUSH_SUPPLIER);
        }
    }

    fn push(&self, parcels: &[Arc<Parcel>], ticket: &Arc<Ticket>) -> Result<(), SystemException> {
        self.idle.used();
        let route = match &*self.phase() {
            Supply::Connected { route, .. } => route.clone(),
            Supply::Fresh => return Err(not_connected()),
            Supply::Ended => return Err(ended()),
        };
        for parcel in parcels {
            self.place.channel.push(&route, parcel, ticket);
        }
        Ok(())
    }

    fn phase(&self) -> MutexGuard<'_, Supply> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_connected() -> SystemException {
    SystemException::bad_inv_order(minor::BAD_INV_ORDER_NOT_CONNECTED, CompletionStatus::No)
        .with_detail("the proxy is not connected: connect_push_supplier comes first")
}

impl Watched for SupplierProxy {
    watched_proxy!();

    fn sight(&self) -> Sight {
        let peer = match &*self.phase() {
            Supply::Connected { peer, .. } => peer.clone(),
            Supply::Fresh | Supply::Ended => return Sight::Fresh,
        };
        Sight::Connected { is_in_use: false, if_quiet: IfQuiet::Ask(peer) }
    }
}

impl Linked for SupplierProxy {
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

impl ChannelProxy for SupplierProxy {
    fn end(&self) {
        self.close(true);
    }

    fn look_after(self: Arc<Self>) {
        watched::look_after(&self);
    }

    fn look_for_ring(self: Arc<Self>, _sources: &[u64]) {}

    fn sources(&self) -> Vec<u64> {
        self.neighbour.sources()
    }
}

/// Serves messages.
struct ByHand {
    proxy: Arc<SupplierProxy>,
    rest: ProxyPushConsumerSkeleton<ByValue>,
}

impl Servant for ByHand {
    fn _interfaces(&self) -> &'static [&'static str] {
        self.rest._interfaces()
    }

    fn _is_a(&self, repository_id: &str) -> bool {
        repository_id == neighbours::LINKED || self.rest._is_a(repository_id)
    }

    fn _view<'a>(&'a self, view: &mut View<'a>) {
        self.rest._view(view);
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        if request.operation() != "push" {
            let ring = neighbours::serve(&*self.proxy, request);
            return ring.unwrap_or_else(|| self.rest._dispatch(request));
        }
        let parcels = Parcel::read(&request.arguments())?;
        let ticket = Arc::new(Ticket::default());
        self.proxy.push(&parcels, &ticket)?;
        answer(ticket, request, parcels.len())
    }
}

/// Serves calls of this process. Its callers do not wait for consumers whose queue is full: what
/// has no room is refused.
struct ByValue(Arc<SupplierProxy>);

impl PushConsumerServant for ByValue {
    fn push(&self, data: &[Event]) -> Result<(), SystemException> {
        let ticket = Arc::new(Ticket::default());
        let parcels: Vec<_> = data.iter().cloned().map(Parcel::of).collect();
        self.0.push(&parcels, &ticket)
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        self.0.close(false);
        Ok(())
    }
}

impl ProxyPushConsumerServant for ByValue {
    fn connect_push_supplier(
        &self,
        push_supplier: Option<&PushSupplier>,
        qos: &SupplierQos,
    ) -> Result<(), ConnectPushSupplierError> {
        self.0.connect(push_supplier, qos)
    }
}
