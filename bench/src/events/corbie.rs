//! Corbie's three processes: the event server, its supplier, its consumers. They are ordinary
//! applications of `corbie-event`; what differs between contenders is [`Mode`].
//!
//! Started by `events/channels.rs` as `corbie-bench serve events MODE` and
//! `corbie-bench events supply|consume REFERENCE NUMBER MODE`.

use super::{Tally, now, number_event, typed};
use crate::driver::Failure;
use crate::pipeline::leave_room;
use corbie::idl::Sequence;
use corbie::policy::{Policy, SetOverrideType, SyncScope};
use corbie::{Any, Marshal as _, Operation, Orb, ReplySink};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_event::cos_event_comm::{
    PushConsumerServant, PushConsumerSkeleton, push_consumer::PushError,
};
use corbie_event::{Bundled, ChannelQos, EventServer, Limits, Overflow, Supplier};
use std::io::{BufRead as _, Write as _};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

static PUSH: Operation = Operation::twoway("push");

/// How events travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A request for each event, to the channel and to each consumer; all are answered, and many
    /// are on their way at once.
    Acknowledged,
    /// The supplier asks for no answer (`SYNC_NONE`).
    Oneway,
    /// As acknowledged, through a typed channel.
    Typed,
    /// Many events in one request, which is answered: to the channel and to the consumers.
    Bundles,
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(word: &str) -> Result<Mode, String> {
        match word {
            "acknowledged" => Ok(Mode::Acknowledged),
            "oneway" => Ok(Mode::Oneway),
            "bundles" => Ok(Mode::Bundles),
            "typed" => Ok(Mode::Typed),
            _ => Err(format!(
                "events do not travel as `{word}` (acknowledged, oneway, bundles, typed)"
            )),
        }
    }
}

/// What one of the processes is to do.
#[derive(Debug)]
pub(crate) struct Part {
    role: String,
    reference: String,
    number: usize,
    mode: Mode,
}

impl Part {
    /// From `ROLE REFERENCE NUMBER MODE`.
    ///
    /// # Errors
    /// What is missing or wrong.
    pub(crate) fn parse(words: &[String]) -> Result<Part, Failure> {
        let [role, reference, number, mode] = words else {
            return Err("ROLE REFERENCE NUMBER MODE are needed".into());
        };
        let (number, mode) = (number.parse()?, mode.parse()?);
        Ok(Part { role: role.clone(), reference: reference.clone(), number, mode })
    }

    /// Supplies or consumes until standard input ends.
    ///
    /// # Errors
    /// When the channel cannot be reached.
    pub(crate) fn play(&self) -> Result<(), Failure> {
        match self.role.as_str() {
            "supply" => supply(&self.reference, self.number, self.mode),
            "consume" => consume(&self.reference, self.number, self.mode),
            other => Err(format!("there is no part `{other}` (supply, consume)").into()),
        }
    }
}

/// Serves one channel until the process is killed; its reference is the first line. Nothing is
/// dropped: a queue that is full makes the supplier wait.
///
/// # Errors
/// When it cannot serve.
pub(crate) fn serve(mode: Mode) -> Result<(), Failure> {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
    let server = EventServer::start(&orb, Limits::default())?;
    let qos =
        ChannelQos { when_full: Overflow::BlockSupplier, window: 1024, ..ChannelQos::default() };
    let reference = match mode {
        Mode::Typed => typed::create(&server, qos)?,
        _ => server.create("events", qos)?.as_object().to_string(),
    };
    orb.root_poa()?.the_poa_manager().activate()?;
    say(&reference)?;
    orb.run();
    Ok(())
}

pub(super) fn say(text: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{text}")?;
    output.flush()
}

fn channel(orb: &Orb, reference: &str) -> Result<EventChannel, Failure> {
    Ok(EventChannel::unchecked_narrow(orb.string_to_object(reference)?))
}

struct Consumer {
    tally: Arc<Tally>,
    number: usize,
}

impl PushConsumerServant for Consumer {
    fn push(&self, data: &Any) -> Result<(), PushError> {
        let octets = data.octets().unwrap_or_default();
        if let Some(text) = self.tally.took(self.number, octets) {
            // The harness is gone when it cannot be said.
            let _ = say(&text);
        }
        Ok(())
    }

    fn disconnect_push_consumer(&self) -> Result<(), corbie::SystemException> {
        Ok(())
    }
}

fn consume(reference: &str, count: usize, mode: Mode) -> Result<(), Failure> {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    if mode == Mode::Typed {
        typed::connect(&orb, reference, count)?;
    } else {
        connect(&orb, reference, count, mode)?;
    }
    say("ready")?;
    std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())?;
    Ok(())
}

fn connect(orb: &Orb, reference: &str, count: usize, mode: Mode) -> Result<(), Failure> {
    let poa = orb.root_poa()?;
    let admin = channel(orb, reference)?.for_consumers()?.ok_or("no consumer admin")?;
    let tally = Arc::new(Tally::new(count));
    for number in 0..count {
        let servant = Consumer { tally: Arc::clone(&tally), number };
        let consumer = match mode {
            Mode::Bundles => poa.activate(Bundled::new(servant))?,
            _ => poa.activate(PushConsumerSkeleton::new(servant))?,
        };
        let proxy = admin.obtain_push_supplier()?.ok_or("no proxy")?;
        proxy.connect_push_consumer(Some(&consumer))?;
    }
    Ok(())
}

fn supply(reference: &str, octets: usize, mode: Mode) -> Result<(), Failure> {
    let orb = Orb::init(Vec::<String>::new())?;
    if mode == Mode::Typed {
        return typed::supply(&orb, reference, octets);
    }
    let channel = channel(&orb, reference)?;
    let supplier = Supplier::connect(&channel)?;
    let scope = Policy::SyncScope(SyncScope::None);
    let object = supplier.consumer().as_object();
    let object = object.set_policy_overrides(&[scope], SetOverrideType::Add)?;
    let pushes = Arc::new(Pushes::default());
    let push = |event: &Vec<u8>| -> Result<(), Failure> {
        let data = Any::from_value::<Sequence<u8>>(event)?;
        match mode {
            Mode::Bundles => supplier.push(&data)?,
            Mode::Oneway => object.invoke_oneway(&PUSH, &|e| Any::encode(&data, e))?,
            Mode::Acknowledged | Mode::Typed => {
                object.invoke_async(&PUSH, &|e| Any::encode(&data, e), pushes.sink())?;
            }
        }
        Ok(())
    };
    supply_by(octets, push, || {
        supplier.flush()?;
        pushes.check()
    })
}

/// Obeys orders to publish: `push` sends an event, `finish` comes after the last of a run.
///
/// # Errors
/// Theirs, and when an order is none.
pub(super) fn supply_by(
    octets: usize,
    push: impl Fn(&Vec<u8>) -> Result<(), Failure>,
    finish: impl Fn() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut event = vec![0; octets];
    say("ready")?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let count = line.strip_prefix("publish ").ok_or("not an order to publish")?;
        let count: u64 = count.parse()?;
        let start = now();
        for number in 0..count {
            number_event(&mut event, number, number + 1 == count);
            push(&event)?;
        }
        finish()?;
        say(&format!("sent {count} {start}"))?;
    }
    Ok(())
}

/// The pushes of a supplier that have their answers, and those of them that were refused.
#[derive(Debug, Default)]
pub(super) struct Pushes {
    begun: AtomicU64,
    ended: AtomicU64,
    refused: AtomicU64,
}

impl Pushes {
    /// Takes the answer to the next push, for which this waits while too many are under way.
    pub(super) fn sink(self: &Arc<Self>) -> ReplySink {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        leave_room(begun, || self.ended.load(Ordering::Relaxed));
        let pushes = Arc::clone(self);
        ReplySink::function(move |outcome| {
            let is_taken = outcome.is_ok_and(|mut reply| reply.user_exception().is_none());
            pushes.refused.fetch_add(u64::from(!is_taken), Ordering::Relaxed);
            pushes.ended.fetch_add(1, Ordering::Relaxed);
        })
    }

    /// # Errors
    /// Some were refused.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.refused.load(Ordering::Relaxed) {
            0 => Ok(()),
            refused => Err(format!("the channel refused {refused} events").into()),
        }
    }
}
