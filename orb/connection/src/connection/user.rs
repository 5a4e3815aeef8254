//! What a connection needs of the ORB: who is called with what comes, and what a request that
//! waits is. Implemented by `orb/core`, and by the simulated network of the tests.

use super::{Answer, Connection};
use crate::ConnectionFault;
use corbie_giop::{Incoming, MessageReader, OwnedMessage, Protocol, Roles};
use corbie_settings::Settings;
use corbie_threads::flusher::Flusher;
use corbie_threads::reactor::{Next, Reactor, Turn};
use corbie_types::SystemException;
use std::sync::Arc;
use std::time::Instant;

/// What uses connections.
pub trait User: Sized + 'static {
    /// What connections work for, lent to each call.
    type Context: Context;
    /// A request that waits for its reply.
    type Call: Call;
    /// What is kept with each connection.
    type State: Send + Sync;

    /// The request that `slot` waits for is about to be sent with `id`, and waits until `deadline`;
    /// whether the event loop has to read the reply.
    fn note_sent(
        slot: &<Self::Call as Call>::Slot,
        connection: &Arc<Connection<Self>>,
        id: u32,
        deadline: Option<Instant>,
    ) -> bool;

    /// Whether the next message may be read from an end that answers. If not, the connection is to
    /// be called again by what the user has seen to.
    fn may_read(
        _connection: &Arc<Connection<Self>>,
        _context: &Self::Context,
        _turn: &Turn<'_, Self::Context>,
    ) -> bool {
        true
    }

    /// A Request, LocateRequest or CancelRequest came. `turn`: that of the event loop that read it,
    /// if one did, to be given back before an upcall; `more`: with this. What the loop is to do.
    fn request(
        connection: &Arc<Connection<Self>>,
        context: &Self::Context,
        message: OwnedMessage,
        incoming: Incoming,
        turn: Option<(&mut Turn<'_, Self::Context>, bool)>,
    ) -> Next;

    /// The answer to `call` came.
    fn reply(
        connection: &Arc<Connection<Self>>,
        context: &Self::Context,
        call: Self::Call,
        answer: Answer,
    );

    /// No answer will come to `call`.
    fn failed(call: Self::Call, fault: ConnectionFault);

    /// A reply came that no request waits for. `is_late`: its request was given up.
    fn ignored(connection: &Connection<Self>, id: u32, is_late: bool) {
        tracing::debug!(id, is_late, peer = %connection.peer(), "a reply is ignored");
    }

    /// There may be room for sending again.
    fn has_room(_connection: &Connection<Self>, _context: &Self::Context) {}

    /// What waits for the peer is to be taken in time: the user is to ask
    /// [`Connection::taking`] when that is over, and is not told again before all was taken.
    fn has_to_take(_connection: &Arc<Connection<Self>>, _context: &Self::Context) {}

    /// The last word was put: nothing is served any more.
    fn ending(_connection: &Connection<Self>) {}

    /// No event loop reads the connection any more.
    fn ended(_connection: &Connection<Self>, _context: &Self::Context) {}
}

/// What connections work for: the ORB.
pub trait Context: Clone + Send + Sync + 'static {
    /// What it was started with.
    fn settings(&self) -> &Settings;

    /// The thread that sends what was kept back.
    fn flusher(&self) -> &Flusher;

    /// Its event loop.
    ///
    /// # Errors
    /// `NO_RESOURCES` (`COMPLETED_NO`) when the system has no descriptors left.
    fn reactor(&self) -> Result<&Arc<Reactor<Self>>, SystemException>;

    /// Sees to it that a thread runs the event loop, unless only those of the application do.
    ///
    /// # Errors
    /// `NO_RESOURCES` (`COMPLETED_NO`) when there is no thread for it.
    fn ensure_event_loop(&self) -> Result<(), SystemException>;

    /// Whether only threads of the application run the event loop.
    fn is_driven_by_application(&self) -> bool;

    /// The coarse clock, in seconds.
    fn tick(&self) -> u64;

    /// A reader for a new connection.
    fn reader(&self, roles: Roles, protocol: Protocol) -> MessageReader;
}

/// A request that waits for its reply.
pub trait Call: Send + 'static {
    /// What it shares with the thread that waits for the reply.
    type Slot: Slot;

    /// When its time is over.
    fn deadline(&self) -> Option<Instant>;

    /// Octets of the arguments that are kept.
    fn octets(&self) -> usize;

    /// Keeps its arguments as they were written.
    fn keep(&mut self, arguments: Vec<u8>);

    /// The arguments that were kept, which it does not need any more.
    fn take_kept(&mut self) -> Option<Vec<u8>>;

    /// What it shares with the thread that waits for it; `None` when no thread does.
    fn slot(&self) -> Option<&Arc<Self::Slot>>;
}

/// What a thread that waits for a reply shares with the one that brings it.
pub trait Slot: Send + Sync {
    /// No thread reads any more: the one that waits here may.
    fn wake(&self);

    /// The request waits no more: its outcome is about to come, or another attempt.
    fn note_taken(&self);
}
