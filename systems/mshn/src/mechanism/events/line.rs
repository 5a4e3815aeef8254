//! A channel with one consumer, who made it: what is pushed into its entrance comes to them. Each
//! component has one for its requests, each caller one for its answers.
//!
//! Made at one of the event servers that the naming service knows, in the context
//! [`CHANNEL_SERVERS`].

use super::{EventOptions, Form};
use crate::unique::unique;
use corbie::{CompletionStatus, Object, SystemException, minor};
use corbie_event::corbie_events::event_channel_factory::{
    CreateChannelError, CreateTypedChannelError,
};
use corbie_event::corbie_events::{ChannelQos, EventChannelFactory, Overflow};
use corbie_event::cos_event_channel_admin::proxy_push_consumer::ConnectPushSupplierError;
use corbie_event::cos_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use corbie_event::cos_event_channel_admin::{EventChannel, ProxyPushConsumer, ProxyPushSupplier};
use corbie_event::cos_event_comm::PushConsumer;
use corbie_event::cos_typed_event_channel_admin::TypedEventChannel;
use corbie_event::cos_typed_event_channel_admin::typed_consumer_admin::ObtainTypedPushSupplierError;
use corbie_event::cos_typed_event_channel_admin::typed_supplier_admin::ObtainTypedPushConsumerError;
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
    channel: Channel,
    /// What others push into.
    pub(super) entrance: Object,
    /// Our proxy: it is there as long as we are connected.
    exit: Object,
}

enum Channel {
    Untyped(EventChannel),
    Typed(TypedEventChannel),
}

/// Our proxies: what others push into, and what pushes to us.
type ChannelEnds = (Object, Object);

impl Channel {
    fn destroy(&self) -> Result<(), SystemException> {
        match self {
            Channel::Untyped(channel) => channel.destroy(),
            Channel::Typed(channel) => channel.destroy(),
        }
    }
}

fn failed(what: &str, why: &dyn Display) -> SystemException {
    SystemException::transient(minor::TRANSIENT_CHANNEL, CompletionStatus::No)
        .with_detail(format!("{what}: {why}"))
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
        (name, interfaces): (&str, &[&str]),
        consumer: &PushConsumer,
    ) -> Result<Self, SystemException> {
        let mut last = nil("channel");
        for server in servers(naming, options, name)? {
            let found = naming.resolve_object(&format!("{CHANNEL_SERVERS}/{server}"));
            let opened = found
                .map_err(|error| failed("the event server", &error))
                .map(EventChannelFactory::unchecked_narrow)
                .and_then(|factory| {
                    end_earlier(&factory, name)?;
                    let unique = format!("{name}/{:016x}", unique());
                    match form {
                        Form::Untyped => untyped(&factory, &unique, &qos(options), consumer),
                        Form::Typed => {
                            typed(&factory, &unique, &qos(options), interfaces, consumer)
                        }
                    }
                });
            match opened {
                Ok((channel, (entrance, exit))) => return Ok(Self { channel, entrance, exit }),
                Err(exception) => last = exception,
            }
        }
        Err(last)
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

fn qos(options: &EventOptions) -> ChannelQos {
    ChannelQos {
        when_full: Overflow::BlockSupplier,
        queue_events: options.queue_events,
        window: options.window,
        push_timeout: PUSH_TIMEOUT_MS,
        give_up_after: GIVE_UP_MS,
        ..ChannelQos::default()
    }
}

/// The component that had this name before is gone, or about to be: what waits there waits in vain.
fn end_earlier(factory: &EventChannelFactory, name: &str) -> Result<(), SystemException> {
    let begins = format!("{name}/");
    for earlier in factory.list()?.iter().filter(|earlier| earlier.starts_with(&begins)) {
        if let Ok(Some(channel)) = factory.find(earlier) {
            channel.destroy()?;
        } else if let Ok(Some(channel)) = factory.find_typed(earlier) {
            channel.destroy()?;
        }
    }
    Ok(())
}

/// Gives the channel back that could not be used.
fn joined(channel: Channel, ends: Result<ChannelEnds, SystemException>) -> Made {
    match ends {
        Ok(ends) => Ok((channel, ends)),
        Err(exception) => {
            // It is of no use; the server ends it if we cannot.
            let _ = channel.destroy();
            Err(exception)
        }
    }
}

type Made = Result<(Channel, ChannelEnds), SystemException>;

fn untyped(
    factory: &EventChannelFactory,
    name: &str,
    qos: &ChannelQos,
    consumer: &PushConsumer,
) -> Made {
    let made = factory.create_channel(name, qos).map_err(|error| match error {
        CreateChannelError::System(exception) => exception,
        other => failed("a channel cannot be made", &other),
    });
    let channel = made?.ok_or_else(|| nil("channel"))?;
    let join = || {
        let consumers = channel.for_consumers()?.ok_or_else(|| nil("administration"))?;
        let exit = consumers.obtain_push_supplier()?.ok_or_else(|| nil("proxy"))?;
        connect(&exit, consumer)?;
        let suppliers = channel.for_suppliers()?.ok_or_else(|| nil("administration"))?;
        let entrance = suppliers.obtain_push_consumer()?.ok_or_else(|| nil("proxy"))?;
        supply(&entrance)?;
        Ok((entrance.into_object(), exit.into_object()))
    };
    let ends = join();
    joined(Channel::Untyped(channel), ends)
}

fn typed(
    factory: &EventChannelFactory,
    name: &str,
    qos: &ChannelQos,
    interfaces: &[&str],
    consumer: &PushConsumer,
) -> Made {
    let interface = interfaces.first().copied().unwrap_or_default();
    let made = factory.create_typed_channel(name, qos, &Vec::new()).map_err(|error| match error {
        CreateTypedChannelError::System(exception) => exception,
        other => failed("a channel for typed events cannot be made", &other),
    });
    let channel = made?.ok_or_else(|| nil("channel"))?;
    let join = || {
        let consumers = channel.for_consumers()?.ok_or_else(|| nil("administration"))?;
        let exit =
            consumers.obtain_typed_push_supplier(interface).map_err(|error| match error {
                ObtainTypedPushSupplierError::System(exception) => exception,
                other => failed(interface, &other),
            })?;
        let exit = exit.ok_or_else(|| nil("proxy"))?;
        connect(&exit, consumer)?;
        let suppliers = channel.for_suppliers()?.ok_or_else(|| nil("administration"))?;
        let proxy =
            suppliers.obtain_typed_push_consumer(interface).map_err(|error| match error {
                ObtainTypedPushConsumerError::System(exception) => exception,
                other => failed(interface, &other),
            })?;
        let proxy = proxy.ok_or_else(|| nil("proxy"))?;
        supply(&ProxyPushConsumer::unchecked_narrow(proxy.as_object().clone()))?;
        let entrance = proxy.get_typed_consumer()?.ok_or_else(|| nil("typed consumer"))?;
        Ok((entrance, exit.into_object()))
    };
    let ends = join();
    joined(Channel::Typed(channel), ends)
}

fn connect(exit: &ProxyPushSupplier, consumer: &PushConsumer) -> Result<(), SystemException> {
    exit.connect_push_consumer(Some(consumer)).map_err(|error| match error {
        ConnectPushConsumerError::System(exception) => exception,
        other => failed("a consumer cannot be connected", &other),
    })
}

fn supply(entrance: &ProxyPushConsumer) -> Result<(), SystemException> {
    entrance.connect_push_supplier(None).map_err(|error| match error {
        ConnectPushSupplierError::System(exception) => exception,
        other => failed("suppliers cannot be connected", &other),
    })
}
