//! Servants that say who they are and where they were called, and servant managers that make them
//! and keep count.

use corbie::codegen::{Marshal, Operation, View};
use corbie::{
    Cookie, Interface, ObjectId, Poa, PoaCurrent, Servant, ServantActivator, ServantLocator,
    ServantRefusal, ServerRequest, SystemException, TypedServant,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

pub(crate) const ID: &str = "IDL:Test/Witness:1.0";

/// A reference to a [`Witness`].
#[derive(Clone, Debug)]
pub(crate) struct Object(pub(crate) corbie::Object);

impl Interface for Object {
    const REPOSITORY_ID: &'static str = ID;
    const BASES: &'static [&'static str] = &[];
    fn from_object(object: corbie::Object) -> Self {
        Object(object)
    }
    fn as_object(&self) -> &corbie::Object {
        &self.0
    }
    fn into_object(self) -> corbie::Object {
        self.0
    }
}

impl Object {
    /// The number of the servant that serves it, and the object id that it was called with.
    pub(crate) fn ask(&self) -> Result<(u32, Vec<u8>), SystemException> {
        const OPERATION: Operation = Operation::twoway("ask");
        // As generated stubs do: without a message where the collocation of the ORBs has it so.
        self.0.call(&OPERATION, Witness::answer, || {
            let mut reply = self.0.invoke(&OPERATION, &|_| Ok(()))?;
            reply.results_only(|d| Ok((u32::decode(d)?, d.read_octet_sequence()?.to_vec())))
        })
    }
}

/// What all servants of one POA note together.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) threads: Mutex<Vec<ThreadId>>,
    inside: AtomicU32,
    pub(crate) most_inside: AtomicU32,
}

/// A servant with a number.
pub(crate) struct Witness {
    number: u32,
    notes: Arc<Notes>,
}

impl Witness {
    pub(crate) fn servant(number: u32, notes: &Arc<Notes>) -> Arc<dyn Servant> {
        Arc::new(Witness { number, notes: Arc::clone(notes) })
    }

    fn answer(&self) -> Result<(u32, Vec<u8>), SystemException> {
        let inside = self.notes.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.notes.most_inside.fetch_max(inside, Ordering::SeqCst);
        self.notes.threads.lock().unwrap().push(std::thread::current().id());
        let id = PoaCurrent.get_object_id().map_err(SystemException::from);
        self.notes.inside.fetch_sub(1, Ordering::SeqCst);
        Ok((self.number, id?.as_octets().to_vec()))
    }
}

impl Servant for Witness {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[ID]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let (number, id) = self.answer()?;
        request.reply(&|e| {
            u32::encode(&number, e)?;
            e.write_octet_sequence(&id)
        })
    }

    fn _view<'a>(&'a self, view: &mut View<'a>) {
        view.offer::<Witness>(self);
    }
}

impl TypedServant for Witness {
    type Reference = Object;
}

/// What a servant manager was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Incarnate(ObjectId),
    Etherealize { id: ObjectId, cleanup_in_progress: bool, remaining_activations: bool },
    Preinvoke(ObjectId),
    Postinvoke(ObjectId),
}

/// Gives servants numbered from 100, and notes what it is asked for.
#[derive(Clone)]
pub(crate) struct Manager {
    pub(crate) asked: Arc<Mutex<Vec<Asked>>>,
    next: Arc<AtomicU32>,
    notes: Arc<Notes>,
}

impl Manager {
    pub(crate) fn new(notes: &Arc<Notes>) -> Self {
        let next = Arc::new(AtomicU32::new(100));
        Manager { asked: Arc::default(), next, notes: Arc::clone(notes) }
    }

    /// What it was asked for since the last look.
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn note(&self, asked: Asked) {
        self.asked.lock().unwrap().push(asked);
    }

    fn make(&self) -> Arc<dyn Servant> {
        Witness::servant(self.next.fetch_add(1, Ordering::SeqCst), &self.notes)
    }
}

impl ServantActivator for Manager {
    fn incarnate(&self, id: &ObjectId, _adapter: &Poa) -> Result<Arc<dyn Servant>, ServantRefusal> {
        self.note(Asked::Incarnate(id.clone()));
        Ok(self.make())
    }

    fn etherealize(
        &self,
        id: &ObjectId,
        _adapter: &Poa,
        _servant: Arc<dyn Servant>,
        cleanup_in_progress: bool,
        remaining_activations: bool,
    ) {
        let id = id.clone();
        self.note(Asked::Etherealize { id, cleanup_in_progress, remaining_activations });
    }
}

impl ServantLocator for Manager {
    fn preinvoke(
        &self,
        id: &ObjectId,
        _adapter: &Poa,
        operation: &str,
    ) -> Result<(Arc<dyn Servant>, Cookie), ServantRefusal> {
        self.note(Asked::Preinvoke(id.clone()));
        Ok((self.make(), Box::new(operation.to_owned())))
    }

    fn postinvoke(
        &self,
        id: &ObjectId,
        _adapter: &Poa,
        operation: &str,
        cookie: Cookie,
        _servant: &Arc<dyn Servant>,
    ) -> Result<(), SystemException> {
        assert_eq!(cookie.downcast_ref::<String>().map(String::as_str), Some(operation));
        self.note(Asked::Postinvoke(id.clone()));
        Ok(())
    }
}
