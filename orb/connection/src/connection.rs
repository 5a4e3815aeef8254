//! A connection that threads share: the one state machine of clients and servers.
//!
//! An end *asks* (sends requests, takes replies), *answers* (serves requests), or both, as its
//! [`Roles`] say. It is made of a [`Sender`], a reader that one thread at a time has (`reading`), a
//! table of the requests that wait for replies (`replies`) and a [`Life`]; `asking` and `answering`
//! are how each role sends, `ending` how all of it ends. What the messages mean is up to its
//! [`User`]. Paper AMI §3.1; CORBA 3.3 P2 §9.4, §9.8.

mod answering;
mod asking;
mod ending;
mod holders;
mod notes;
mod reading;
mod replies;
mod user;

use crate::{Activity, Limits, Sender};
use corbie_cdr::budget::Account;
use corbie_giop::{Life, Protocol, Roles, Stage};
use corbie_threads::flusher::Flush;
use corbie_threads::lock::{PlainToken, Ranked, rank};
use corbie_threads::reactor::Reactor;
use corbie_threads::thread::{Patience, Registration};
use corbie_transport::{Link, PeerAddress, Waiter};
use corbie_types::{CompletionStatus, SystemException, minor};
use notes::{Note, Notes};
use replies::Replies;
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock, Weak};

pub use answering::InService;
pub use asking::{WrittenRequest, copy_from};
pub use reading::{Answer, AnswerStatus, Arrived, Follower, Reading};
pub use user::{Call, Context, Slot, User};

/// See the module.
pub struct Connection<U: User> {
    roles: Roles,
    link: Link,
    sender: Sender,
    /// The right to read.
    reading: PlainToken<Reading>,
    /// Threads that wait for a reply while another one reads.
    followers: Ranked<rank::Leaf, Vec<Arc<<U::Call as Call>::Slot>>>,
    notes: Notes,
    /// What was last heard of the peer.
    activity: Activity,
    /// The requests that wait for replies.
    replies: Replies<U::Call>,
    /// How far it is, and how many requests are in service.
    life: Life,
    /// Its place in the event loop, once it has one.
    registration: OnceLock<Registration>,
    /// Held while the connection becomes a source: the event loop of the thread that had it for
    /// itself last, if it waited in one.
    own_loop: Ranked<rank::Registry, OwnLoop<U>>,
    state: U::State,
}

type OwnLoop<U> = Option<(Weak<Reactor<<U as User>::Context>>, Registration)>;

/// What bounds a connection.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// What bounds the queue of its sender.
    pub queue: Limits,
    /// Requests that may wait for replies, from threads that may wait.
    pub pending_requests_max: usize,
}

impl<U: User> Connection<U> {
    /// The connection over `link`. `waiter`: how a thread that reads it waits.
    pub fn new(
        context: &U::Context,
        (roles, protocol): (Roles, Protocol),
        link: Link,
        waiter: Waiter,
        bounds: &Bounds,
        state: U::State,
    ) -> Arc<Self> {
        let account = Account::of(&holders::of(&link.peer()));
        let mut reader = context.reader(roles, protocol);
        reader.set_account(&account);
        let sender = Sender::new(bounds.queue);
        sender.set_account(&account);
        let connection = Arc::new(Connection {
            roles,
            link,
            sender,
            reading: PlainToken::new(Reading::new(reader, waiter)),
            followers: Ranked::default(),
            notes: Notes::default(),
            activity: Activity::new(context.tick(), protocol.version()),
            replies: Replies::new(roles.ids, bounds.pending_requests_max, &account),
            life: Life::new(),
            registration: OnceLock::new(),
            own_loop: Ranked::default(),
            state,
        });
        connection.end_when_refused(&account);
        connection
    }

    /// Has the connection end when it holds most of a memory budget that is used up. The link is
    /// shut down, so the thread that reads ends the rest.
    fn end_when_refused(self: &Arc<Self>, account: &Account) {
        let weak = Arc::downgrade(self);
        account.on_refusal(move |why| {
            if let Some(connection) = weak.upgrade() {
                let (peer, setting) = (connection.peer(), "memory_max");
                tracing::warn!(%peer, setting, "connection closed: {why}");
                connection.link.shutdown();
            }
        });
    }

    /// What the user keeps with it.
    #[inline]
    pub fn state(&self) -> &U::State {
        &self.state
    }

    /// The link.
    #[inline]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// The right to read, for threads of its own.
    #[inline]
    pub fn reading(&self) -> &PlainToken<Reading> {
        &self.reading
    }

    /// What sends.
    #[inline]
    pub fn sender(&self) -> &Sender {
        &self.sender
    }

    /// How far it is.
    #[inline]
    pub fn life(&self) -> &Life {
        &self.life
    }

    /// What was last heard of the peer, and when.
    #[inline]
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The process at the other end.
    pub fn peer(&self) -> PeerAddress {
        self.link.peer()
    }

    /// Whether both ends ask (bidirectional GIOP). Threads of its own or an event loop read it then
    /// from the beginning: those that wait for replies do not, as requests come as well.
    #[inline]
    pub fn is_bidirectional(&self) -> bool {
        self.roles.asks && self.roles.answers
    }

    /// Whether the peer was told where this end listens.
    #[inline]
    pub fn has_offered(&self) -> bool {
        self.notes.has(Note::Offered)
    }

    /// The peer was told where this end listens, or has told it.
    #[inline]
    pub fn note_offered(&self) {
        self.notes.set(Note::Offered);
    }

    /// Whether requests can be sent, and are begun.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.life.is_open()
    }

    /// Whether nothing but last words is sent, and nothing is served any more.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.life.stage() >= Stage::Ending
    }

    /// Whether the peer has been told the code sets.
    #[inline]
    pub fn has_announced(&self) -> bool {
        self.notes.has(Note::Announced)
    }

    /// The peer has been told the code sets.
    #[inline]
    pub fn note_announced(&self) {
        self.notes.set(Note::Announced);
    }

    /// Has the event loop of the context read the connection from now on.
    ///
    /// # Errors
    /// `NO_RESOURCES` (`COMPLETED_NO`): there is no event loop, or no thread for it.
    #[inline]
    pub fn ensure_read(self: &Arc<Self>, context: &U::Context) -> Result<(), SystemException> {
        let is_read = self.registration.get().is_some() || self.is_bidirectional();
        if is_read { Ok(()) } else { self.register(context) }
    }

    #[cold]
    fn register(self: &Arc<Self>, context: &U::Context) -> Result<(), SystemException> {
        let _registering = self.own_loop.lock();
        if self.registration.get().is_some() {
            return Ok(());
        }
        self.read_by(context.reactor()?).map_err(|error| {
            SystemException::no_resources(minor::NO_RESOURCES_EVENT_LOOP, CompletionStatus::No)
                .with_detail(format!("the event loop takes no connection more: {error}"))
        })?;
        // What a thread has received already, behind its own reply, makes no event.
        self.registration.get().into_iter().for_each(Registration::again);
        context.ensure_event_loop()
    }

    /// Has `reactor` read the connection from now on.
    ///
    /// # Errors
    /// What the system says when the loop takes no connection more.
    pub fn read_by(self: &Arc<Self>, reactor: &Reactor<U::Context>) -> io::Result<()> {
        let registration = reactor.add(Arc::<Self>::clone(self))?;
        self.registration.get_or_init(|| registration);
        Ok(())
    }

    /// Has the event loop `own` of the thread that has this connection for itself read it.
    ///
    /// # Errors
    /// What the system says when the loop takes no connection more.
    pub fn read_in(self: &Arc<Self>, own: &Arc<Reactor<U::Context>>) -> io::Result<()> {
        let mut home = self.own_loop.lock();
        if home.as_ref().is_some_and(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(own))) {
            return Ok(());
        }
        // Another thread has had it.
        if let Some((_, registration)) = home.take() {
            registration.remove();
        }
        let registration = own.add(Arc::<Self>::clone(self))?;
        registration.again();
        *home = Some((Arc::downgrade(own), registration));
        Ok(())
    }

    /// There is input for which no event comes: the loops that read the connection look again.
    fn read_again(&self) {
        let own = self.own_loop.lock().as_ref().map(|(_, registration)| registration.clone());
        self.registration.get().into_iter().chain(&own).for_each(Registration::again);
    }

    /// Sends what waits and is not kept longer by a policy. A thread of its own waits for the peer;
    /// others do not. If it fails the link is shut down, and the thread that reads notices.
    pub fn flush(&self) {
        let _ = self.sender.flush(&self.link, self.patience());
        self.read_on_if_taken();
    }

    /// Sends all that waits, as far as that needs no waiting, also what a policy keeps back.
    pub fn flush_all(&self) {
        let _ = self.sender.flush_all(&self.link, Patience::Queue);
    }

    /// Has the flusher see to what waits here.
    #[inline]
    fn expect_flush(self: &Arc<Self>, context: &U::Context) {
        if !self.notes.has(Note::Watched) && self.notes.set(Note::Watched) {
            let weak: Weak<Self> = Arc::downgrade(self);
            context.flusher().add(weak);
        }
        context.flusher().expect();
        if self.roles.answers && !self.notes.has(Note::Timed) && self.notes.set(Note::Timed) {
            U::has_to_take(self, context);
        }
    }
}

impl<U: User> Flush for Connection<U> {
    fn flush_old(&self) -> bool {
        let look = self.sender.tick(&self.link);
        self.read_on_if_taken();
        // Where the peer of a server is what is waited for, an event loop goes on.
        let goes_on = self.roles.asks || self.notes.has(Note::OwnThreads);
        look == crate::Look::New || (look == crate::Look::Tried && goes_on)
    }

    fn before_waiting(&self) {
        self.flush();
    }
}

impl<U: User> fmt::Debug for Connection<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("peer", &self.peer()).field("life", &self.life).finish()
    }
}
