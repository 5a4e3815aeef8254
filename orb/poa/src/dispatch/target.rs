//! The POA of a request, made by adapter activators if need be (CORBA 3.3 P1 §15.3.3).
//!
//! Used on the long way only: the usual request finds its POA in `dispatch`.

use crate::dispatch::{self, RootPoa};
use crate::error::PoaError;
use crate::object_key::ObjectKey;
use crate::poa::{Poa, PoaInner};
use crate::policies::Lifespan;
use corbie_types::{SystemException, minor};
use std::sync::Arc;

/// What a request is for.
pub(super) struct RequestTarget<'k> {
    pub(super) poa: Arc<PoaInner>,
    pub(super) key: ObjectKey<'k>,
}

/// The next POA on the way to that of a persistent key.
pub(super) enum Step<'k> {
    /// It is there.
    There(RequestTarget<'k>),
    /// `parent` has to be asked for `name`.
    Missing { parent: Poa, name: &'k str },
}

impl RootPoa {
    /// How far the way to the POA of this key leads without asking an adapter activator.
    ///
    /// # Errors
    /// `OBJECT_NOT_EXIST` for a key that is not ours or whose POA is gone for good, `TRANSIENT`
    /// minor 4 while it is being destroyed.
    pub(super) fn step<'k>(
        &self,
        object_key: &'k [u8],
        operation: &str,
    ) -> Result<Step<'k>, SystemException> {
        let key = ObjectKey::parse(object_key);
        let key = key.ok_or_else(|| dispatch::no_object(operation, object_key))?;
        let found = self.find(object_key, |poa, _| poa.handle());
        match (found, key) {
            (Some(Poa(poa)), _) if poa.is_alive() => Ok(Step::There(RequestTarget { poa, key })),
            (Some(poa), _) => Err(being_destroyed(poa.the_name())),
            (None, ObjectKey::Persistent { path, .. }) => self.step_down(path, key),
            (None, ObjectKey::Transient { .. }) => Err(no_adapter(operation)),
        }
    }

    /// The first name on `path` that is not there.
    fn step_down<'k>(
        &self,
        path: &'k [u8],
        key: ObjectKey<'k>,
    ) -> Result<Step<'k>, SystemException> {
        let mut parent = self.registry.root().map(Poa).ok_or_else(|| no_adapter("a request"))?;
        let names = path.strip_suffix(b"\0").unwrap_or_default().split(|octet| *octet == 0);
        for name in names {
            let name = std::str::from_utf8(name).map_err(|_| no_adapter("a request"))?;
            match parent.living_child(name) {
                Some(child) => parent = child,
                None => return Ok(Step::Missing { parent, name }),
            }
        }
        // All are there: it was published meanwhile, unless it is one without persistent keys.
        let Poa(poa) = parent;
        match poa.policies.lifespan {
            Lifespan::Persistent => Ok(Step::There(RequestTarget { poa, key })),
            Lifespan::Transient => Err(no_adapter("a request")),
        }
    }

    /// Whether a request with this key might be served: its object is active, or a
    /// request would ask for its servant or its POA.
    pub(super) fn may_serve(&self, object_key: &[u8]) -> bool {
        match self.step(object_key, "") {
            Ok(Step::There(target)) => target.poa.may_serve(&target.key),
            Ok(Step::Missing { parent, .. }) => parent.activator().is_some(),
            Err(_) => false,
        }
    }
}

/// Makes the POA `name`: the adapter activator of `parent` is asked. When it is being made or ended
/// already, the request is to wait for a change since the epoch that is given.
///
/// # Errors
/// `OBJECT_NOT_EXIST` minor 2 when it is not made, `OBJ_ADAPTER` minor 1 when the activator raised
/// an exception.
pub(super) fn activate(parent: &Poa, name: &str) -> Result<Option<u64>, SystemException> {
    match parent.make_for_request(name) {
        Ok(awaited) => Ok(awaited),
        Err(PoaError::System(exception)) => Err(exception),
        Err(_) => Err(no_adapter(name)),
    }
}

#[cold]
fn no_adapter(what: &str) -> SystemException {
    minor::OBJECT_NOT_EXIST_NO_ADAPTER.no(format!(
        "{what}: the POA of the object is not there, and no adapter activator makes it"
    ))
}

#[cold]
fn being_destroyed(name: &str) -> SystemException {
    minor::TRANSIENT_POA_DESTROYED.no(format!("the POA {name:?} is being destroyed"))
}
