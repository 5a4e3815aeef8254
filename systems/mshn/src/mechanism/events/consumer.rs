//! The servant that a channel pushes to, at the end of every line: it takes the letter out of the
//! event and hands it on.

use super::Form;
use super::letter::{Letter, PUSH};
use crate::messages::poa_of;
use corbie::{
    Any, CompletionStatus, Object, Orb, ResponseHandler, Servant, ServerRequest, SystemException,
    minor,
};
use corbie_event::cos_event_comm::{
    PushConsumer, PushConsumerServant, PushConsumerSkeleton, push_consumer::PushError,
};
use corbie_event::cos_typed_event_comm::{
    TypedPushConsumer, TypedPushConsumerServant, TypedPushConsumerSkeleton,
};
use std::sync::Arc;

/// Gets the letters of a line.
pub(super) trait Reader: Send + Sync + 'static {
    /// A letter came. Whether the answer to its push is to be kept back for now, which keeps
    /// others from coming.
    fn read(&self, letter: Letter) -> bool;

    /// Is given the answer that was to be kept back.
    fn keep(&self, push: ResponseHandler);

    /// The channel has disconnected us.
    fn ended(&self);
}

/// Takes letters out of events of one form.
struct Consumer<R> {
    reader: Arc<R>,
    form: Form,
    /// The interfaces that it has, when events are operations.
    interfaces: &'static [&'static str],
    rest: PushConsumerSkeleton<Rest<R>>,
}

/// What is not an event.
struct Rest<R> {
    reader: Arc<R>,
    /// The object whose operations are the events.
    typed: Option<Object>,
}

impl<R: Reader> PushConsumerServant for Rest<R> {
    fn push(&self, _data: &Any) -> Result<(), PushError> {
        Err(SystemException::no_implement(minor::NO_IMPLEMENT_FEATURE, CompletionStatus::No)
            .with_detail("events of this form are not taken here")
            .into())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        self.reader.ended();
        Ok(())
    }
}

impl<R: Reader> TypedPushConsumerServant for Rest<R> {
    fn get_typed_consumer(&self) -> Result<Option<Object>, SystemException> {
        Ok(self.typed.clone())
    }
}

impl<R: Reader> Servant for Consumer<R> {
    fn _interfaces(&self) -> &'static [&'static str] {
        match self.form {
            Form::Untyped => self.rest._interfaces(),
            Form::Typed => self.interfaces,
        }
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let letter = match self.form {
            Form::Untyped if request.operation() != PUSH.name() => None,
            Form::Untyped => Some(Letter::decode_any(request.arguments())?),
            Form::Typed => Letter::decode_event(request.operation(), request.arguments())?,
        };
        let Some(letter) = letter else { return self.rest._dispatch(request) };
        if self.reader.read(letter) {
            self.reader.keep(request.defer());
            return Ok(());
        }
        request.reply(&|_| Ok(()))
    }
}

/// Activates a consumer whose letters go to `reader`.
///
/// # Errors
/// What the object adapter says.
pub(super) fn activate<R: Reader>(
    orb: &Orb,
    reader: &Arc<R>,
    form: Form,
    interfaces: &'static [&'static str],
) -> Result<PushConsumer, SystemException> {
    let poa = poa_of(orb)?;
    let rest = PushConsumerSkeleton::new(Rest { reader: Arc::clone(reader), typed: None });
    let reader = Arc::clone(reader);
    let consumer = Consumer { reader: Arc::clone(&reader), form, interfaces, rest };
    let id = poa.activate_object(Arc::new(consumer))?;
    let reference = poa.id_to_reference(&id)?;
    poa.the_poa_manager().activate()?;
    if form == Form::Untyped {
        return Ok(PushConsumer::unchecked_narrow(reference));
    }
    let typed = TypedPushConsumerSkeleton::new(Rest { reader, typed: Some(reference) });
    let consumer: TypedPushConsumer = poa.activate(typed)?;
    Ok(PushConsumer::unchecked_narrow(consumer.into_object()))
}
