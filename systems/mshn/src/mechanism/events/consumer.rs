//! The servant that a channel pushes to, at the end of every line: it takes the letter out of the
//! event and hands it on.

use super::letter::{Letter, PUSH};
use corbie::{
    Any, CompletionStatus, Orb, ResponseHandler, Servant, ServerRequest, SystemException,
};
use corbie_event::cos_event_comm::{
    PushConsumer, PushConsumerServant, PushConsumerSkeleton, push_consumer::PushError,
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

struct Consumer<R> {
    reader: Arc<R>,
    rest: PushConsumerSkeleton<Rest<R>>,
}

struct Rest<R>(Arc<R>);

impl<R: Reader> PushConsumerServant for Rest<R> {
    fn push(&self, _data: &Any) -> Result<(), PushError> {
        Err(SystemException::internal(0, CompletionStatus::No)
            .with_detail("events are not served by the skeleton")
            .into())
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        self.0.ended();
        Ok(())
    }
}

impl<R: Reader> Servant for Consumer<R> {
    fn _interfaces(&self) -> &'static [&'static str] {
        self.rest._interfaces()
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        if request.operation() != PUSH.name() {
            return self.rest._dispatch(request);
        }
        let letter = Letter::decode_any(request.arguments())?;
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
) -> Result<PushConsumer, SystemException> {
    let poa = orb.root_poa()?;
    let rest = PushConsumerSkeleton::new(Rest(Arc::clone(reader)));
    let servant: Arc<dyn Servant> = Arc::new(Consumer { reader: Arc::clone(reader), rest });
    let id = poa.activate_object(servant)?;
    let reference = poa.id_to_reference(&id)?;
    poa.the_poa_manager().activate()?;
    Ok(PushConsumer::unchecked_narrow(reference))
}
