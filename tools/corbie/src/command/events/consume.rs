//! `corbie events pull` and `tail`: events to standard output, one a line, as a consumer that pulls
//! or as one that is pushed to.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie::policy::{Policy, SetOverrideType};
use corbie::{Any, IdAssignment, Interface, Lifespan, Poa, PoaPolicy, SystemException, minor};
use corbie_event::cos_event_channel_admin::{ConsumerAdmin, ProxyPullSupplier, ProxyPushSupplier};
use corbie_event::cos_event_comm::pull_supplier::PullError;
use corbie_event::cos_event_comm::push_consumer::PushError;
use corbie_event::cos_event_comm::{
    PullConsumer, PullConsumerServant, PullConsumerSkeleton, PushConsumer, PushConsumerServant,
    PushConsumerSkeleton,
};

use super::persistence::{
    Patience, Refusal, Subscription, is_gone, is_passing, retry_argument, subscription_argument,
};
use super::surroundings::Plain;
use super::{CHANNEL, channel_argument, failed, is_nil, the_channel, typed};
use crate::failure::Failure;
use crate::serving::{self, Interruption, Log};
use crate::session::Session;

/// An event may be long in coming.
const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);
/// What is logged where nothing says more.
const LOG: &str = "off";
/// So that a subscription is found again by the same reference.
const POLICIES: [PoaPolicy; 2] =
    [PoaPolicy::Lifespan(Lifespan::Persistent), PoaPolicy::IdAssignment(IdAssignment::UserId)];

pub(super) fn pull() -> Command {
    let count = Arg::new("count")
        .short('c')
        .long("count")
        .value_name("N")
        .value_parser(value_parser!(u64).range(1..))
        .default_value("1")
        .help("How many events");
    consumer(Command::new("pull").about("Waits for events from now on and shows them, one a line"))
        .arg(count)
}

pub(super) fn tail() -> Command {
    consumer(
        Command::new("tail")
            .about("Shows the events from now on, one a line, until it is interrupted"),
    )
}

fn consumer(command: Command) -> Command {
    command
        .arg(channel_argument(CHANNEL))
        .arg(
            Arg::new("pushed")
                .long("pushed")
                .action(ArgAction::SetTrue)
                .help("Have the channel push the events instead of pulling them"),
        )
        .arg(Arg::new("listen").long("listen").value_name("HOST:PORT").help(
            "Where to be reached by a channel of another machine, which an access file \
                     has to let in [default: a free port of loopback]",
        ))
        .arg(retry_argument())
        .arg(subscription_argument())
        .arg(
            typed::argument(
                "Show only events of this interface: its repository id, or its name in --idl",
            )
            .conflicts_with("pushed"),
        )
        .args(typed::idl_arguments())
        .args(serving::log_arguments(LOG))
}

/// Shows so many events.
pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write, count: u64) -> Result<(), Failure> {
    let listen = matches
        .get_one::<String>("listen")
        .map(|address| vec!["-ORBListenEndpoints".to_owned(), serving::endpoint(address)]);
    let is_pushed = matches.get_flag("pushed");
    if is_pushed && listen.is_none() && Subscription::of(matches).is_kept() {
        return Err(Failure::usage(
            "a subscription that is pushed to has to be found again: give --listen HOST:PORT",
        ));
    }
    let log = Log::start_at(matches, LOG)?;
    let session = Session::start_with(matches, &listen.unwrap_or_default())?;
    let leaving = Arc::new(Leaving::default());
    let at_signal = Arc::clone(&leaving);
    let interruption = Interruption::watch(&session, log, move || at_signal.leave())?;
    interruption.or(if is_pushed {
        run_pushed(&session, matches, output, count, &leaving)
    } else {
        run_pulling(&session, matches, output, count, &leaving)
    })
}

/// What a consumer does at a signal that ends it: it disconnects, unless its subscription is kept.
#[derive(Default)]
struct Leaving {
    /// Lock "leave": held to look.
    leave: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    has_begun: AtomicBool,
}

impl Leaving {
    /// This is to be done at a signal, and nothing else.
    fn by(&self, leave: impl FnOnce() + Send + 'static) {
        *self.leave.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(leave));
    }

    fn leave(&self) {
        self.has_begun.store(true, Ordering::Release);
        let leave = self.leave.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(leave) = leave {
            leave();
        }
    }
}

fn show(session: &Session, output: &mut dyn Write, event: &Any) -> Result<(), Failure> {
    writeln!(output, "{}", Plain::new(session.orb()).json(event))?;
    Ok(output.flush()?)
}

fn active_poa(session: &Session) -> Result<Poa, Failure> {
    let root = session.orb().root_poa();
    let poa = root.and_then(|root| {
        root.the_poa_manager().activate()?;
        let manager = root.the_poa_manager();
        Ok(root.create_poa("corbie-events-consumer", Some(&manager), &POLICIES)?)
    });
    poa.map_err(|e| failed("the ORB", &e))
}

fn consumers(session: &Session, matches: &ArgMatches) -> Result<ConsumerAdmin, Refusal> {
    let channel = the_channel(session, matches)?;
    Ok(channel.for_consumers()?.ok_or_else(|| is_nil("the channel"))?)
}

fn run_pulling(
    session: &Session,
    matches: &ArgMatches,
    output: &mut dyn Write,
    count: u64,
    leaving: &Leaving,
) -> Result<(), Failure> {
    let (patience, subscription) = (Patience::of(matches)?, Subscription::of(matches));
    let mut proxy = match subscription.proxy(session)? {
        Some(kept) => patient(&ProxyPullSupplier::unchecked_narrow(kept))?,
        None => connect_pulling(session, matches, &subscription)?,
    };
    let disconnect = |proxy: &ProxyPullSupplier| {
        let proxy = proxy.clone();
        if !subscription.is_kept() {
            // The pull that waits is told, or fails with the ORB.
            leaving.by(move || drop(proxy.disconnect_pull_supplier()));
        }
    };
    disconnect(&proxy);
    for _ in 0..count {
        let event = loop {
            match patience.attempt(may_pass, || proxy.pull()) {
                Ok(event) => break event,
                Err(error) if of_pull(&error).is_none_or(is_gone) => {
                    if subscription.is_kept() {
                        return Err(subscription.is_over());
                    }
                    if !patience.is_some() || leaving.has_begun.load(Ordering::Acquire) {
                        return Err(disconnected());
                    }
                    proxy = connect_pulling(session, matches, &subscription)?;
                    disconnect(&proxy);
                }
                Err(error) => return Err(failed("the channel", &error)),
            }
        };
        show(session, output, &event)?;
    }
    if subscription.is_kept() {
        return Ok(());
    }
    proxy.disconnect_pull_supplier().map_err(|e| failed("the channel", &e))
}

fn may_pass(error: &PullError) -> bool {
    of_pull(error).is_some_and(is_passing)
}

fn of_pull(error: &PullError) -> Option<&SystemException> {
    match error {
        PullError::System(exception) => Some(exception),
        PullError::Disconnected(_) => None,
    }
}

/// A proxy whose pulls may take long.
fn patient(proxy: &ProxyPullSupplier) -> Result<ProxyPullSupplier, Failure> {
    let patience = Policy::RelativeReplyTimeout(PATIENCE);
    proxy.set_policy_overrides(&[patience], SetOverrideType::Add).map_err(|e| failed("the ORB", &e))
}

fn connect_pulling(
    session: &Session,
    matches: &ArgMatches,
    subscription: &Subscription<'_>,
) -> Result<ProxyPullSupplier, Failure> {
    // By a reference the channel finds out that this process has ended; a subscription outlives it.
    let identity = if subscription.is_kept() { None } else { Some(identity(session)?) };
    let obtain = || match matches.get_one::<String>("typed") {
        Some(interface) => Ok(typed::pull_supplier(session, matches, interface)?.into()),
        None => {
            let proxy = consumers(session, matches)?.obtain_pull_supplier()?;
            Ok(proxy.ok_or_else(|| is_nil("the proxy"))?)
        }
    };
    let connect = |proxy: &ProxyPullSupplier| Ok(proxy.connect_pull_consumer(identity.as_ref())?);
    let proxy = Patience::of(matches)?.connect(obtain, connect)?;
    subscription.keep(proxy.as_object())?;
    patient(&proxy)
}

fn identity(session: &Session) -> Result<PullConsumer, Failure> {
    let root = session.orb().root_poa();
    let active = root.and_then(|poa| {
        poa.the_poa_manager().activate()?;
        Ok(poa.activate(PullConsumerSkeleton::new(ConsumerIdentity))?)
    });
    active.map_err(|e| failed("the ORB", &e))
}

/// What the channel may ask whether it exists.
struct ConsumerIdentity;

impl PullConsumerServant for ConsumerIdentity {
    fn disconnect_pull_consumer(&self) -> Result<(), SystemException> {
        // The pull that waits is told, too.
        Ok(())
    }
}

/// What a consumer hears, and what it answers with.
enum Heard {
    Event(Any, SyncSender<()>),
    Disconnected,
}

struct Listener {
    /// Lock "say": held to send.
    say: Mutex<SyncSender<Heard>>,
}

impl Listener {
    fn say(&self, heard: Heard) {
        let say = self.say.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        // The receiver is gone when the process is about to end.
        let _ = say.send(heard);
    }
}

impl PushConsumerServant for Listener {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        let (shown, was_shown) = sync_channel(1);
        self.say(Heard::Event(data.clone(), shown));
        // What was not shown is not taken: the channel tries again.
        was_shown.recv().map_err(|_| {
            SystemException::transient(minor::TRANSIENT_NOT_NOW, corbie::CompletionStatus::No)
                .with_detail("this consumer is about to end")
                .into()
        })
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        self.say(Heard::Disconnected);
        Ok(())
    }
}

fn run_pushed(
    session: &Session,
    matches: &ArgMatches,
    output: &mut dyn Write,
    count: u64,
    leaving: &Leaving,
) -> Result<(), Failure> {
    let subscription = Subscription::of(matches);
    let (say, heard) = sync_channel(1);
    let wake = say.clone();
    let servant = PushConsumerSkeleton::new(Listener { say: Mutex::new(say) });
    let poa = active_poa(session)?;
    let consumer: PushConsumer =
        poa.activate_with_id("consumer", servant).map_err(|e| failed("the ORB", &e))?;
    let proxy = match subscription.proxy(session)? {
        Some(kept) => ProxyPushSupplier::unchecked_narrow(kept),
        None => {
            let proxy = connect_pushed(session, matches, &consumer)?;
            subscription.keep(proxy.as_object())?;
            proxy
        }
    };
    let at_signal = (!subscription.is_kept()).then(|| proxy.clone());
    leaving.by(move || {
        let left = at_signal.map(|proxy| proxy.disconnect_push_supplier());
        // Nothing waits in it for long: the events that come are shown.
        let _ = wake.send(Heard::Disconnected);
        drop(left);
    });
    let taken = take(session, output, count, &heard);
    let left = match &taken {
        Ok(()) if !subscription.is_kept() => proxy.disconnect_push_supplier(),
        _ => Ok(()),
    };
    // The last push is answered before the process ends; one that comes now is refused.
    drop(heard);
    session.orb().shutdown(true);
    taken?;
    left.map_err(|e| failed("the channel", &e))
}

fn disconnected() -> Failure {
    Failure::new("the channel disconnected this consumer, or was destroyed")
}

fn take(
    session: &Session,
    output: &mut dyn Write,
    count: u64,
    heard: &Receiver<Heard>,
) -> Result<(), Failure> {
    for _ in 0..count {
        match heard.recv() {
            Ok(Heard::Event(event, shown)) => {
                show(session, output, &event)?;
                let _ = shown.send(());
            }
            _ => return Err(disconnected()),
        }
    }
    Ok(())
}

fn connect_pushed(
    session: &Session,
    matches: &ArgMatches,
    consumer: &PushConsumer,
) -> Result<ProxyPushSupplier, Failure> {
    let obtain = || {
        let proxy = consumers(session, matches)?.obtain_push_supplier()?;
        Ok(proxy.ok_or_else(|| is_nil("the proxy"))?)
    };
    let connect = |proxy: &ProxyPushSupplier| Ok(proxy.connect_push_consumer(Some(consumer))?);
    Patience::of(matches)?.connect(obtain, connect)
}
