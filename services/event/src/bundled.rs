//! A push consumer that takes many events in one request: a wrapper around an ordinary servant.
//!
//! The application activates it instead of `PushConsumerSkeleton`; our channels see by the type of
//! its reference that they may send it bundles, and others push one event at a time.

use crate::bundle::{BUNDLE_CONSUMER, PUSH_BUNDLE, View};
use crate::channel::{is_durably_tried, is_passing};
use crate::cos_event_comm::{
    Disconnected, PushConsumer, PushConsumerServant, PushConsumerSkeleton, push_consumer::PushError,
};
use corbie::{Any, Decoder, Marshal as _, Servant, ServerRequest, SystemException, TypedServant};

/// Serves a push consumer whose `push` is called for each event, whether events come one by one or
/// many in one request. Their order is kept, and each is counted as if it had come alone.
///
/// ```
/// use corbie::{Any, Orb, SystemException};
/// use corbie_event::Bundled;
/// use corbie_event::cos_event_comm::{
///     PushConsumer, PushConsumerServant, push_consumer::PushError,
/// };
///
/// struct Printer;
///
/// impl PushConsumerServant for Printer {
///     fn push(&self, data: &Any) -> Result<(), PushError> {
///         println!("{data:?}");
///         Ok(())
///     }
///
///     fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
///         Ok(())
///     }
/// }
///
/// let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
/// let consumer: PushConsumer = orb.root_poa()?.activate(Bundled::new(Printer))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Bundled<S>(S);

impl<S: PushConsumerServant> Bundled<S> {
    /// A consumer that calls `servant`.
    pub fn new(servant: S) -> Self {
        Self(servant)
    }

    fn push_bundle(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let arguments = request.arguments();
        let bundle = View::read(&mut arguments.clone())?;
        let (mut taken, mut refused) = (0, 0);
        for mut event in bundle.each() {
            event.set_limits(arguments.limits());
            event.set_context(arguments.context());
            match self.push(&mut event) {
                Ok(()) => {}
                Err(PushError::Disconnected(_)) => {
                    return request.reply_exception(Disconnected::REPOSITORY_ID, &|_| Ok(()));
                }
                // The channel knows whether it is to try again: it hears of it as of one alone.
                Err(PushError::System(exception))
                    if taken == 0 && is_durably_tried(&exception) && !is_passing(&exception) =>
                {
                    return Err(exception);
                }
                // The channel is to try again, from here.
                Err(PushError::System(exception)) if is_durably_tried(&exception) => {
                    tracing::debug!(%exception, "a consumer does not take all of a bundle");
                    break;
                }
                Err(PushError::System(exception)) => {
                    tracing::info!(%exception, "a push consumer refused an event");
                    refused += 1;
                }
            }
            taken += 1;
        }
        request.reply(&|e| {
            e.write_ulong(taken);
            e.write_ulong(refused);
            Ok(())
        })
    }

    fn push(&self, event: &mut Decoder<'_>) -> Result<(), PushError> {
        let data = Any::decode(event).map_err(SystemException::from)?;
        self.0.push(&data)
    }
}

impl<S: PushConsumerServant> Servant for Bundled<S> {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[BUNDLE_CONSUMER, PushConsumer::REPOSITORY_ID]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        match request.operation() {
            name if name == PUSH_BUNDLE.name() => self.push_bundle(request),
            "push" => PushConsumerSkeleton::dispatch_push(&self.0, request),
            "disconnect_push_consumer" => {
                PushConsumerSkeleton::dispatch_disconnect_push_consumer(&self.0, request)
            }
            _ => Err(request.unknown_operation()),
        }
    }
}

impl<S: PushConsumerServant> TypedServant for Bundled<S> {
    type Reference = PushConsumer;
}
