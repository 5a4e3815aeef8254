//! A channel with one consumer, who made it: what is pushed into its entrance comes to them. Each
//! component has one for its requests, each caller one for its answers.
//!
//! Made at one of the event servers that the naming service knows, in the context
//! [`CHANNEL_SERVERS`].

use super::{EventOptions, Form};
use corbie::{CompletionStatus, Object, SystemException};
use corbie_event::corbie_events::event_channel_factory::CreateChannelError;
use corbie_event::corbie_events::{ChannelQos, EventChannelFactory, Overflow};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_event::cos_event_channel_admin::proxy_push_consumer::ConnectPushSupplierError;
use corbie_event::cos_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use corbie_event::cos_event_comm::PushConsumer;
use corbie_naming::Naming;
use std::fmt::Display;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The context of the naming service in which event servers are.
pub const CHANNEL_SERVERS: &str = "mshn-channels";

/// How long a push to us may take: a component that is busy keeps it back.
const PUSH_TIMEOUT_MS: u32 = 60_000;
/// A consumer that was not reached for so long is gone; another one takes its place elsewhere.
const GIVE_UP_MS: u32 = 10_000;

pub(super) struct Line {
    channel: EventChannel,
    /// What others push into.
    pub(super) entrance: Object,
    /// Our proxy: it is there as long as we are connected.
    exit: Object,
}

fn failed(what: &str, why: &dyn Display) -> SystemException {
    SystemException::transient(0, CompletionStatus::No).with_detail(format!("{what}: {why}"))
}

fn nil(what: &str) -> SystemException {
    failed("the event server", &format!("gave no {what}"))
}

/// The event servers there are, those that are preferred first, else in an order that spreads
/// channels over them.
fn servers(
    naming: &Naming,
    options: &EventOptions,
    name: &str,
) -> Result<Vec<String>, SystemException> {
    let listed = naming.list(CHANNEL_SERVERS);
    let listed = listed.map_err(|error| failed("there are no event channels", &error))?;
    let mut servers: Vec<String> = listed.into_iter().map(|entry| entry.name).collect();
    if servers.is_empty() {
        return Err(failed("there are no event channels", &"no event server is known"));
    }
    servers.sort();
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let first = usize::try_from(hasher.finish() % servers.len() as u64).unwrap_or(0);
    servers.rotate_left(first);
    let place = |server: &String| options.servers.iter().position(|wanted| wanted == server);
    servers.sort_by_key(|server| place(server).unwrap_or(usize::MAX));
    Ok(servers)
}

impl Line {
    /// A channel that `consumer` gets the events of; earlier ones of the same name are ended.
    ///
    /// # Errors
    /// What the last event server said that was tried.
    pub(super) fn open(
        naming: &Naming,
        options: &EventOptions,
        form: Form,
        name: &str,
        consumer: &PushConsumer,
    ) -> Result<Self, SystemException> {
        let mut last = nil("channel");
        for server in servers(naming, options, name)? {
            let found = naming.resolve_object(&format!("{CHANNEL_SERVERS}/{server}"));
            let opened = found
                .map_err(|error| failed("the event server", &error))
                .map(|object| EventChannelFactory::unchecked_narrow(object))
                .and_then(|factory| Self::open_at(&factory, options, form, name, consumer));
            match opened {
                Ok(line) => return Ok(line),
                Err(exception) => last = exception,
            }
        }
        Err(last)
    }

    fn open_at(
        factory: &EventChannelFactory,
        options: &EventOptions,
        form: Form,
        name: &str,
        consumer: &PushConsumer,
    ) -> Result<Self, SystemException> {
        let begins = format!("{name}/");
        // Whoever was called so before is gone, or about to be: what waits there waits in vain.
        for earlier in factory.list()?.iter().filter(|earlier| earlier.starts_with(&begins)) {
            if let Ok(Some(channel)) = factory.find(earlier) {
                channel.destroy()?;
            }
        }
        let qos = ChannelQos {
            when_full: Overflow::BlockSupplier,
            queue_events: options.queue_events,
            window: options.window,
            push_timeout: PUSH_TIMEOUT_MS,
            give_up_after: GIVE_UP_MS,
            ..ChannelQos::default()
        };
        let unique = format!("{begins}{:016x}", super::unique());
        let made = factory.create_channel(&unique, &qos).map_err(|error| match error {
            CreateChannelError::System(exception) => exception,
            other => failed("a channel cannot be made", &other),
        });
        let channel = made?.ok_or_else(|| nil("channel"))?;
        let joined = Self::join(&channel, form, consumer);
        let (entrance, exit) = joined.inspect_err(|_| {
            // It is of no use; the server ends it if we cannot.
            let _ = channel.destroy();
        })?;
        Ok(Self { channel, entrance, exit })
    }

    fn join(
        channel: &EventChannel,
        form: Form,
        consumer: &PushConsumer,
    ) -> Result<(Object, Object), SystemException> {
        match form {
            Form::Untyped => {
                let consumers = channel.for_consumers()?.ok_or_else(|| nil("administration"))?;
                let exit = consumers.obtain_push_supplier()?.ok_or_else(|| nil("proxy"))?;
                exit.connect_push_consumer(Some(consumer)).map_err(|error| match error {
                    ConnectPushConsumerError::System(exception) => exception,
                    other => failed("a consumer cannot be connected", &other),
                })?;
                let suppliers = channel.for_suppliers()?.ok_or_else(|| nil("administration"))?;
                let entrance = suppliers.obtain_push_consumer()?.ok_or_else(|| nil("proxy"))?;
                entrance.connect_push_supplier(None).map_err(|error| match error {
                    ConnectPushSupplierError::System(exception) => exception,
                    other => failed("suppliers cannot be connected", &other),
                })?;
                Ok((entrance.into_object(), exit.into_object()))
            }
        }
    }

    /// Whether we still get its events. An event server that does not answer in time is there.
    pub(super) fn is_there(&self) -> bool {
        match self.exit.non_existent() {
            Ok(is_gone) => !is_gone,
            Err(exception) => exception.kind == corbie::SystemExceptionKind::Timeout,
        }
    }

    /// Ends the channel; when its server is gone, it has ended.
    pub(super) fn close(&self) {
        if let Err(exception) = self.channel.destroy() {
            tracing::debug!(%exception, "a channel had ended already");
        }
    }
}
