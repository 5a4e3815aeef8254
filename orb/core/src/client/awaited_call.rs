//! Calls over connections that the event loop reads: each goes on as an [`AwaitedCall`], which
//! fills a slot of its connection until its reply is there, and the reply goes to a sink. Oneways,
//! which fill none, go the same way.
//!
//! A thread that makes an asynchronous call, or sends a call again, never waits: without a
//! connection the call stands in the line of the pool; without room it is refused. Replies come
//! back through `deliver`, which starts a call again here when it was forwarded or surely not
//! served. Paper AMI §3; CORBA Messaging §22.

use crate::client::attempts::{self, Answer, after_fault};
use crate::client::csi::{self, Behalf, Evidence, Names};
use crate::client::deliver::ReplySink;
use crate::client::invocation::Invocation;
use crate::client::write::{self, Arguments, News};
use crate::client::{BindingRef, CallFault, Reply, ReplySlot, Target, bind};
use crate::connection::{Connection, ConnectionPool};
use crate::policy::{CallPolicies, Effective, SyncScope, has_thread_overrides};
use crate::portable_interceptor::Watch;
use crate::server::turn;
use crate::{Object, Operation};
use corbie_cdr::{ByteOrder, CodeSets, Encoder};
use corbie_connection::Clock;
use corbie_connection::{Lease, NotInLine, When, WrittenRequest, copy_from};
use corbie_giop::{Attempts, FORWARDS_MAX, RequestIdPlace, ResponseFlags};
use corbie_threads::thread::Wish;
use corbie_types::{CompletionStatus, Ior, SystemException, SystemExceptionKind, minor};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use told::Told;

mod told;
mod watched;

/// Arguments larger than this are not kept: such a call is not sent a second time.
const KEPT_OCTETS: usize = 64 << 10;

/// A call whose reply is to come.
#[derive(Debug)]
pub(crate) struct AwaitedCall {
    pub(crate) object: Object,
    pub(crate) operation: Operation,
    /// When the server is to answer.
    response: ResponseFlags,
    pub(crate) sink: ReplySink,
    pub(crate) lease: Lease,
    pub(crate) clock: Clock,
    pub(crate) attempts: Attempts,
    /// Whether the thread that sends may wait: for a connection, for room, for the server to take
    /// something. Only that of a synchronous call may.
    pub(crate) wish: Wish,
    /// What the call goes by, where its thread had policies of its own.
    policies: Option<Box<CallPolicies>>,
    pub(crate) kept: Kept,
    /// The user of the request that was being served when it was made.
    behalf: Behalf,
    /// How its request says as which user it is made.
    pub(crate) names: Names,
    /// The attempt as interceptors see it; `None` without any, and before the first.
    pub(crate) watch: Option<Arc<Watch>>,
}

/// The arguments as they were written, in order to send them again, or later.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// Where they began within the message: decides their alignment.
    position: usize,
    /// Whether the message told the server the code sets, which moves the arguments.
    announces: bool,
    /// What text among them is in; `None`: there is none, or they are the caller's still.
    code_sets: Option<CodeSets>,
    /// `None`: they were too many octets.
    pub(crate) octets: Option<Vec<u8>>,
}

impl AwaitedCall {
    /// When it is over.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.clock.deadline()
    }

    /// What it goes by on a thread that may not have made it: what was kept of its policies, else
    /// those of its reference.
    ///
    /// # Errors
    /// `INV_POLICY` (`COMPLETED_NO`) when the reference excludes what was set here.
    pub(crate) fn policies<'o>(
        &self,
        object: &'o Object,
    ) -> Result<Effective<'o>, SystemException> {
        match self.policies.as_deref() {
            Some(policies) => Ok(Effective::Joined(policies.clone())),
            None => object.policies_of_any_thread(),
        }
    }
}

/// The connection that a call which stood in a line was waiting for, and the pool that has it.
pub(crate) type Opened<'o> = Option<(&'o ConnectionPool, &'o Arc<Connection>)>;

/// A request in its encoder.
struct Written {
    /// Where its id stands.
    id_place: RequestIdPlace,
    /// Where its arguments begin.
    position: usize,
}

/// Why a call does not fill a slot.
enum NotStarted {
    /// There is a connection now, which there was not a moment ago.
    Opened,
    Fault(CallFault),
}

impl<F: Into<CallFault>> From<F> for NotStarted {
    fn from(fault: F) -> Self {
        NotStarted::Fault(fault.into())
    }
}

impl<'a> Invocation<'_, 'a> {
    /// Sends the request, over a connection as `lease` says; its reply goes to `sink`. `wish`:
    /// whether this thread may wait meanwhile.
    ///
    /// # Errors
    /// See [`Object::invoke_async`].
    pub(crate) fn send(
        &self,
        sink: ReplySink,
        lease: Lease,
        wish: Wish,
    ) -> Result<(), SystemException> {
        let may_wait = wish == Wish::Wait;
        let clock = if may_wait { self.policies.begin() } else { self.policies.begin_at_once() };
        let call = AwaitedCall {
            object: self.object.clone(),
            operation: self.operation.clone(),
            response: self.response,
            sink,
            lease,
            clock: clock?,
            attempts: Attempts::default(),
            wish,
            policies: has_thread_overrides().then(|| Box::new(self.policies.clone())),
            kept: Kept::default(),
            behalf: csi::behalf(self.object.orb()),
            names: Names::Nothing,
            watch: self.watch.cloned(),
        };
        match self.policies.starts_later() {
            Some(time) if !may_wait => self.send_later(call, time),
            _ => start(call, self, None).map_err(|(_call, exception)| exception),
        }
    }

    /// Keeps the arguments, and has the request sent at `time`.
    #[cold]
    fn send_later(&self, call: AwaitedCall, time: Instant) -> Result<(), SystemException> {
        if self.policies.is_watched {
            return watched::send_later(call, self, time);
        }
        self.put_in_line(call, &self.object.binding()?, time)
    }

    /// As [`Invocation::send_later`], for the place of `binding` that is next.
    fn put_in_line(
        &self,
        mut call: AwaitedCall,
        binding: &BindingRef<'_>,
        time: Instant,
    ) -> Result<(), SystemException> {
        let target = binding.target(call.attempts.address());
        call.kept = self.keep(target, binding.ior().unwrap_or(self.object.ior()))?;
        let orb = self.object.orb();
        orb.later_calls().add(orb, call, time)
    }

    /// Calls over a connection that the event loop can read, and waits for the reply as
    /// `reply_wait` says.
    ///
    /// # Errors
    /// See [`Object::invoke`].
    pub(crate) fn call_over(&self, lease: Lease) -> Result<Reply, SystemException> {
        let orb = self.object.orb();
        let call = || {
            ReplySlot::with_one(|slot| {
                self.send(ReplySink::slot(slot), lease, Wish::Wait)?;
                let _stand_in = turn::before_waiting();
                slot.wait_for_reply(orb, lease);
                slot.take()
            })
        };
        // Again where it has to go to another place and its arguments have to be encoded anew.
        for _ in 0..FORWARDS_MAX {
            match call() {
                Err(exception)
                    if exception.minor == minor::TRANSIENT_SENT_ON
                        && exception.kind == SystemExceptionKind::Transient
                        && exception.completed == CompletionStatus::No => {}
                outcome => return outcome,
            }
        }
        call()
    }

    /// Sends a request without an answer, over the connection that asynchronous calls share, where
    /// nothing overtakes anything and a policy may hold it back to be sent with others (CORBA
    /// Messaging §22.2.2). To each place of the object in turn until one takes it.
    ///
    /// # Errors
    /// What went wrong at the last place.
    pub(crate) fn send_oneway(&self) -> Result<(), SystemException> {
        let Invocation { object, operation, policies, .. } = *self;
        let oneway = Invocation { response: ResponseFlags::None, ..*self };
        if policies.sync_scope == SyncScope::None && policies.starts_later().is_some() {
            return oneway.send(ReplySink::discard(), Lease::Shared, Wish::NotWait);
        }
        if policies.is_watched {
            return watched::send_oneway(&oneway);
        }
        let mut clock = policies.begin()?;
        attempts::run(object, operation, policies, object.binding()?, |binding, attempts| {
            let target = binding.target(attempts.address());
            let sent = oneway.put(target, binding.ior().unwrap_or(object.ior()), &mut clock);
            if sent.is_err() {
                clock.sending_again();
            }
            sent.map(Answer::Done)
        })
    }

    /// Writes the oneway and gives it to the connection to `target`.
    ///
    /// # Errors
    /// What went wrong, and whether another attempt is safe.
    fn put(&self, target: &Target, ior: &Ior, clock: &mut Clock) -> Result<(), CallFault> {
        let (orb, policies) = (self.object.orb(), self.policies);
        let may_be_held = policies.sync_scope == SyncScope::None;
        let connection = match target.pool.shared_now(Lease::Shared) {
            Some(connection) => connection,
            // The caller waits for nothing: the oneway stands in line for a connection.
            None if may_be_held => {
                return Ok(self.send(ReplySink::discard(), Lease::Shared, Wish::NotWait)?);
            }
            None => {
                let opening = bind::opening(self.object, policies, target);
                target.pool.shared(orb, clock, Lease::Shared, opening)?
            }
        };
        let behalf = csi::behalf(orb);
        self.put_over(&connection, (target, ior), clock, (Wish::Wait, &behalf), &Kept::default())
    }

    /// Writes the oneway and gives it to `connection`. `kept`: of its arguments, which fit at their
    /// place only; then it names the code sets, as it did there.
    ///
    /// # Errors
    /// As [`Invocation::put`].
    fn put_over(
        &self,
        connection: &Arc<Connection>,
        (target, ior): (&Target, &Ior),
        clock: &Clock,
        (wish, behalf): (Wish, &Behalf),
        kept: &Kept,
    ) -> Result<(), CallFault> {
        let (orb, policies) = (self.object.orb(), self.policies);
        // A thread has to notice when the server closes it.
        connection.ensure_read(orb)?;
        let mut encoder = Encoder::pooled(ByteOrder::NATIVE);
        let (code_sets, told) = self.tells(connection, target, kept)?;
        let evidence = self.evidence(target, connection, behalf)?;
        let evidence = evidence.as_ref().map(|one| &*one.data);
        let told = Told { evidence, ..told };
        let written = self.write(target, ior, code_sets, &told, &mut encoder)?;
        let may_be_held = policies.sync_scope == SyncScope::None;
        let held = policies.buffering.filter(|_| may_be_held);
        let request = WrittenRequest {
            version: target.version,
            fragment_octets: orb.fragment_octets(target.version),
            body_place: None,
            id_place: written.id_place,
            when: held.map_or(When::Now, |held| write::held_oneway(held, clock.start)),
            wish,
            is_deferred: may_be_held,
        };
        connection.send_oneway(orb, &mut encoder, &request, clock)?;
        told.note(connection);
        target.pool.note_shared_use();
        Ok(())
    }

    /// As which user the request is made, where the server of `target` takes that.
    #[inline]
    fn evidence(
        &self,
        target: &Target,
        connection: &Connection,
        behalf: &Behalf,
    ) -> Result<Option<Evidence>, SystemException> {
        let Some(wanted) = &target.users else { return Ok(None) };
        let established = connection.state().established.load(Ordering::Relaxed);
        csi::evidence(self.object, wanted, behalf, established, self.response)
    }

    /// Writes the request with an id of 0.
    fn write(
        &self,
        target: &Target,
        ior: &Ior,
        code_sets: CodeSets,
        told: &Told<'_>,
        encoder: &mut Encoder<'a>,
    ) -> Result<Written, SystemException> {
        encoder.set_version(target.version);
        encoder.set_code_sets(code_sets);
        let position = Cell::new(0);
        let arguments: Arguments<'_, 'a> = &|e| {
            position.set(e.len());
            (self.arguments)(e)
        };
        let noted = Invocation { arguments, ..*self };
        let Told { announces, points, evidence } = *told;
        let news = News { code_sets: announces.then_some(code_sets), points, evidence };
        write::write(encoder, 0, target, ior, &noted, news)?;
        let id_place = RequestIdPlace::of(encoder)?;
        Ok(Written { id_place, position: position.get() })
    }

    /// The connection to `target` that the call goes over, which is `opened` if that leads there;
    /// `None`: there is none yet, and this thread does not wait for one.
    fn connection(
        &self,
        call: &mut AwaitedCall,
        target: &Target,
        opened: Opened<'_>,
    ) -> Result<Option<Arc<Connection>>, CallFault> {
        let orb = self.object.orb();
        let is_there = |pool| std::ptr::eq(&raw const *target.pool, pool);
        let found = match opened {
            Some((pool, connection)) if is_there(pool) && connection.is_open() => {
                Some(Arc::clone(connection))
            }
            _ if call.wish == Wish::Wait => {
                let opening = bind::opening(self.object, self.policies, target);
                Some(target.pool.shared(orb, &mut call.clock, call.lease, opening)?)
            }
            _ => target.pool.shared_now(call.lease),
        };
        Ok(found)
    }

    /// Writes the request and hands it to `connection`.
    ///
    /// # Errors
    /// The call comes back with what went wrong.
    #[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
    fn hand_over(
        &self,
        mut call: AwaitedCall,
        connection: &Arc<Connection>,
        target: &Target,
        ior: &Ior,
    ) -> Result<(), (AwaitedCall, CallFault)> {
        if self.response == ResponseFlags::None {
            let (clock, wish) = (&call.clock, (call.wish, &call.behalf));
            let put = self.put_over(connection, (target, ior), clock, wish, &call.kept);
            return put.map_err(|fault| (call, fault));
        }
        let orb = self.object.orb();
        // Where no thread will wait for the reply, the event loop reads it.
        if call.sink.as_slot().is_none()
            && let Err(exception) = connection.ensure_read(orb)
        {
            return Err((call, exception.into()));
        }
        let mut encoder = Encoder::pooled(ByteOrder::NATIVE);
        let evidence = match self.evidence(target, connection, &call.behalf) {
            Ok(evidence) => evidence,
            Err(exception) => return Err((call, exception.into())),
        };
        call.names = Evidence::names(evidence.as_ref());
        let (code_sets, told) = match self.tells(connection, target, &call.kept) {
            Ok(tells) => tells,
            Err(exception) => return Err((call, exception.into())),
        };
        let announces = told.announces;
        let told = Told { evidence: evidence.as_ref().map(|one| &*one.data), ..told };
        let written = self.write(target, ior, code_sets, &told, &mut encoder);
        let Written { id_place, position } = match written {
            Ok(written) => written,
            // Nothing was sent: the caller's arguments are at fault, not the connection.
            Err(exception) => return Err((call, exception.into())),
        };
        let (sending, attempts) = (call.clock, call.attempts);
        call.clock.sent();
        call.attempts.sent();
        let has_text = encoder.has_text() || call.kept.code_sets.is_some();
        let code_sets = has_text.then_some(code_sets);
        let kept = Kept { position, announces, code_sets, octets: None };
        let kept = std::mem::replace(&mut call.kept, kept);
        let is_kept = !encoder.has_chunks() && encoder.len() <= position + KEPT_OCTETS;
        let held = |held| write::held_call(held, sending.start);
        let request = WrittenRequest {
            version: target.version,
            fragment_octets: orb.fragment_octets(target.version),
            body_place: is_kept.then_some(position),
            id_place,
            when: self.policies.buffering.map_or(When::Now, held),
            wish: call.wish,
            is_deferred: call.sink.as_slot().is_some_and(|slot| slot.is_deferred()),
        };
        match connection.send(orb, call, &mut encoder, &request, &sending) {
            Ok(()) => {}
            Err((call, fault)) => {
                return Err((AwaitedCall { attempts, kept, ..call }, fault.into()));
            }
        }
        told.note(connection);
        if self.response == ResponseFlags::WithServer {
            // Its upcall may begin after the answer: nothing is to overtake it.
            connection.note_oneway();
        }
        Ok(())
    }

    /// The arguments, written as for the first request of a connection to `target`.
    ///
    /// # Errors
    /// What the arguments make.
    fn keep(&self, target: &Target, ior: &Ior) -> Result<Kept, SystemException> {
        let mut encoder = Encoder::pooled(ByteOrder::NATIVE);
        let (announces, code_sets) = (target.announces_code_sets, target.pool.code_sets());
        let told = Told { announces, points: None, evidence: None };
        let written = self.write(target, ior, code_sets, &told, &mut encoder)?;
        let position = written.position;
        let mut octets = Vec::with_capacity(encoder.len().saturating_sub(position));
        copy_from(&encoder, position, &mut octets);
        let code_sets = encoder.has_text().then_some(code_sets);
        Ok(Kept { position, announces, code_sets, octets: Some(octets) })
    }

    /// There is no connection yet: keeps the arguments, and has the call wait for one. They are
    /// written as for the first request of a connection.
    ///
    /// # Errors
    /// The call comes back with what went wrong.
    #[cold]
    #[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
    fn stand_in_line(
        &self,
        mut call: AwaitedCall,
        target: &Target,
        ior: &Ior,
    ) -> Result<(), (AwaitedCall, NotStarted)> {
        let pool = &target.pool;
        let kept = match self.keep(target, ior) {
            Ok(kept) => kept,
            Err(exception) => return Err((call, exception.into())),
        };
        let kept = std::mem::replace(&mut call.kept, kept);
        let opening = bind::opening(self.object, self.policies, target);
        let lease = call.lease;
        let stands = pool.stand_in_line(self.object.orb(), call, lease, opening);
        stands.map_err(|(call, why)| {
            let not_started = match why {
                NotInLine::Opened => NotStarted::Opened,
                NotInLine::Fault(fault) => fault.into(),
            };
            (AwaitedCall { kept, ..call }, not_started)
        })
    }
}

/// Sends the request of `call` to each place of its object in turn until one takes it, over
/// `opened` if that is the place.
///
/// # Errors
/// The call comes back with what went wrong at the last place.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
fn start(
    mut call: AwaitedCall,
    invocation: &Invocation<'_, '_>,
    opened: Opened<'_>,
) -> Result<(), (AwaitedCall, SystemException)> {
    if invocation.policies.is_watched {
        return watched::start(call, invocation, opened);
    }
    let Invocation { object, operation, .. } = *invocation;
    loop {
        let binding = match object.binding() {
            Ok(binding) => binding,
            Err(exception) => return Err((call, exception)),
        };
        let fault = match start_at(call, invocation, &binding, opened) {
            Ok(()) => return Ok(()),
            Err((returned, not_started)) => {
                call = returned;
                match not_started {
                    NotStarted::Opened => continue,
                    NotStarted::Fault(fault) => fault,
                }
            }
        };
        call.clock.sending_again();
        if let Err(exception) = after_fault(object, operation, &binding, &mut call.attempts, fault)
        {
            return Err((call, exception));
        }
    }
}

/// Sends the request of `call` to the place of `binding` that is next.
///
/// # Errors
/// The call comes back with what went wrong.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
fn start_at(
    mut call: AwaitedCall,
    invocation: &Invocation<'_, '_>,
    binding: &BindingRef<'_>,
    opened: Opened<'_>,
) -> Result<(), (AwaitedCall, NotStarted)> {
    let ior = binding.ior().unwrap_or(invocation.object.ior());
    let target = binding.target(call.attempts.address());
    match invocation.connection(&mut call, target, opened) {
        Ok(Some(connection)) => {
            let lease = call.lease;
            let sent = invocation.hand_over(call, &connection, target, ior);
            connection.release();
            if lease == Lease::Shared {
                target.pool.note_shared_use();
            }
            sent.map_err(|(call, fault)| (call, NotStarted::Fault(fault)))
        }
        Ok(None) => invocation.stand_in_line(call, target, ior),
        Err(fault) => Err((call, fault.into())),
    }
}

/// Sends a call with the arguments that were kept, over `opened` if that leads to its place. The
/// thread that does it never waits.
///
/// # Errors
/// As [`start`]; `TRANSIENT` (`COMPLETED_NO`) when they cannot be sent as they are.
#[expect(clippy::result_large_err, reason = "the call goes back to where it came from")]
pub(crate) fn start_again(
    mut call: AwaitedCall,
    opened: Opened<'_>,
) -> Result<(), (AwaitedCall, SystemException)> {
    let (object, operation) = (call.object.clone(), call.operation.clone());
    let (position, octets) = (call.kept.position, call.kept.octets.take());
    let Some(octets) = octets else { return Err((call, not_kept(&operation))) };
    // ASCII text is the same in all code sets.
    call.kept.code_sets.take_if(|_| octets.is_ascii());
    call.wish = Wish::NotWait;
    let policies = match call.policies(&object) {
        Ok(policies) => policies,
        Err(exception) => return Err((call, exception)),
    };
    let fits = Cell::new(true);
    let arguments: Arguments<'_, '_> = &|e| {
        // An empty list of arguments fits everywhere.
        fits.set(octets.is_empty() || e.position() % 8 == position % 8);
        if fits.get() {
            e.write_octets(&octets);
            return Ok(());
        }
        let found = format!("position {}", e.position());
        Err(e.error(corbie_cdr::ErrorKind::BadParameter, "arguments", found, "their alignment"))
    };
    let response = call.response;
    let invocation = Invocation::new(&object, &operation, arguments, &policies);
    start(call, &Invocation { response, ..invocation }, opened).map_err(|(call, exception)| {
        let exception = if fits.get() { exception } else { not_kept(&operation) };
        (call, exception)
    })
}

#[cold]
fn not_kept(operation: &Operation) -> SystemException {
    minor::TRANSIENT_SENT_ON.no(format!(
        "{} has to be sent to another place, for which its arguments have to be encoded anew; \
             call it again",
        operation.name()
    ))
}
