//! What connections call: requests go to the server half, replies to the client half. The one place
//! that joins both to a connection, which knows neither.

use crate::Orb;
use crate::client::{AwaitedCall, ReplySlot, deliver};
use crate::connection::{Connection, ConnectionPool, Peer, Pools, SharedCodeSets};
use crate::reactor::{Reactor, Turn};
use crate::server::{self, Accepted, bidirectional};
use corbie_cdr::CodeSets;
use corbie_connection::{Answer, Call, ConnectionFault, Context, Opens, Slot, User};
use corbie_giop::{Incoming, MessageReader, OwnedMessage, Protocol, Roles};
use corbie_settings::Settings;
use corbie_threads::flusher::Flusher;
use corbie_threads::reactor::Next;
use corbie_threads::thread::deliveries;
use corbie_transport::{Endpoint, Link, WaitStrategy};
use corbie_types::SystemException;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// What is kept with a connection.
pub(crate) struct PeerState {
    /// Where it was opened to, by this end.
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) code_sets: SharedCodeSets,
    /// The number of the security context that the server keeps of it; 0: none.
    pub(crate) established: AtomicU64,
    /// What the server half keeps with one that was accepted.
    pub(crate) accepted: Accepted,
}

impl From<Accepted> for PeerState {
    fn from(accepted: Accepted) -> Self {
        let code_sets = SharedCodeSets::new(CodeSets::DEFAULT);
        PeerState { endpoint: None, code_sets, established: AtomicU64::new(0), accepted }
    }
}

impl User for Peer {
    type Context = Orb;
    type Call = AwaitedCall;
    type State = PeerState;

    fn note_sent(
        slot: &ReplySlot,
        connection: &Arc<Connection>,
        id: u32,
        deadline: Option<Instant>,
    ) -> bool {
        slot.note_sent(&Arc::downgrade(connection), id, deadline)
    }

    #[inline]
    fn may_read(connection: &Arc<Connection>, orb: &Orb, turn: &Turn<'_>) -> bool {
        server::may_read(connection, orb, turn)
    }

    #[inline]
    fn request(
        connection: &Arc<Connection>,
        orb: &Orb,
        message: OwnedMessage,
        incoming: Incoming,
        turn: Option<(&mut Turn<'_>, bool)>,
    ) -> Next {
        server::request(connection, orb, message, incoming, turn)
    }

    fn reply(connection: &Arc<Connection>, orb: &Orb, call: AwaitedCall, answer: Answer) {
        deliver_or_put_aside(orb, Taking { connection: Arc::clone(connection), call, answer });
    }

    fn failed(call: AwaitedCall, fault: ConnectionFault) {
        deliver::failed(call, fault);
    }

    fn has_room(connection: &Connection, orb: &Orb) {
        server::has_room(connection, orb);
    }

    fn has_to_take(connection: &Arc<Connection>, orb: &Orb) {
        // Those that this end opened are looked at with their pool.
        if connection.state().endpoint.is_none() {
            server::has_to_take(connection, orb);
        }
    }

    fn ending(connection: &Connection) {
        if let Some(threads) = &connection.state().accepted.threads {
            threads.dismiss();
        }
    }

    fn ended(connection: &Connection, orb: &Orb) {
        if connection.state().endpoint.is_none() || connection.is_bidirectional() {
            orb.server().forget(connection.state().accepted.id);
        }
    }
}

impl Opens for Peer {
    fn pools(orb: &Orb) -> &Pools {
        orb.connections()
    }

    fn downgrade(orb: &Orb) -> Box<dyn Fn() -> Option<Orb> + Send> {
        let weak = orb.downgrade();
        Box::new(move || Orb::upgrade(&weak))
    }

    fn wait(orb: &Orb) -> WaitStrategy {
        orb.client_wait()
    }

    fn note_opened(orb: &Orb) {
        orb.ensure_housekeeping();
    }

    fn opened(
        orb: &Orb,
        (endpoint, code_sets): (&Endpoint, CodeSets),
        link: &Link,
        roles: Roles,
    ) -> PeerState {
        let (endpoint, code_sets) = (Some(endpoint.clone()), SharedCodeSets::new(code_sets));
        let accepted =
            if roles.answers { bidirectional::opened(orb, link) } else { Accepted::default() };
        PeerState { endpoint, code_sets, established: AtomicU64::new(0), accepted }
    }

    fn serve(orb: &Orb, connection: &Arc<Connection>) -> io::Result<()> {
        bidirectional::serve(orb, connection)
    }

    fn send_over(call: AwaitedCall, pool: &ConnectionPool, connection: &Arc<Connection>) {
        deliver::send_over(call, pool, connection);
    }
}

/// A reply on its way to the sink of its call.
struct Taking {
    connection: Arc<Connection>,
    call: AwaitedCall,
    answer: Answer,
}

thread_local! {
    /// Replies that came when this thread was in too many upcalls with replies, in their order.
    static ASIDE: RefCell<VecDeque<Taking>> = const { RefCell::new(VecDeque::new()) };
}

/// Upcalls that wait for replies of their own are nested in one another, which takes stack: beyond
/// `nested_upcalls_max` the replies for others wait until one of them has ended.
fn deliver_or_put_aside(orb: &Orb, taking: Taking) {
    let most = orb.settings().nested_upcalls_max;
    if taking.call.slot().is_none() && deliveries() >= most {
        return ASIDE.with_borrow_mut(|aside| aside.push_back(taking));
    }
    deliver::reply(taking.call, taking.connection, taking.answer);
    while deliveries() < most
        && let Some(next) = ASIDE.with_borrow_mut(VecDeque::pop_front)
    {
        deliver::reply(next.call, next.connection, next.answer);
    }
}

impl Call for AwaitedCall {
    type Slot = ReplySlot;

    fn deadline(&self) -> Option<Instant> {
        self.deadline()
    }

    fn octets(&self) -> usize {
        self.kept.octets.as_ref().map_or(0, Vec::len)
    }

    fn keep(&mut self, arguments: Vec<u8>) {
        self.kept.octets = Some(arguments);
    }

    fn take_kept(&mut self) -> Option<Vec<u8>> {
        self.kept.octets.take()
    }

    #[inline]
    fn slot(&self) -> Option<&Arc<ReplySlot>> {
        self.sink.as_slot()
    }
}

impl Slot for ReplySlot {
    fn wake(&self) {
        ReplySlot::wake(self);
    }

    fn note_taken(&self) {
        ReplySlot::note_taken(self);
    }
}

impl Context for Orb {
    #[inline]
    fn settings(&self) -> &Settings {
        Orb::settings(self)
    }

    #[inline]
    fn flusher(&self) -> &Flusher {
        Orb::flusher(self)
    }

    fn reactor(&self) -> Result<&Arc<Reactor>, SystemException> {
        Orb::reactor(self)
    }

    fn ensure_event_loop(&self) -> Result<(), SystemException> {
        Orb::ensure_event_loop(self, false)
    }

    fn is_driven_by_application(&self) -> bool {
        Orb::is_driven_by_application(self)
    }

    #[inline]
    fn tick(&self) -> u64 {
        Orb::tick(self)
    }

    fn reader(&self, roles: Roles, protocol: Protocol) -> MessageReader {
        Orb::reader(self, roles, protocol)
    }
}
