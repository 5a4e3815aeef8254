//! What each operation of `PortableServer::POA` needs of the policies, and what it does
//! (CORBA 3.3 P1 §15.3.9).

use crate::site::{Case, Site};
use crate::witness::{ID, Manager, Notes, Witness};
use corbie::{
    ObjectId, Poa, PoaError, Servant, ServantDemux, ServantManager, SystemExceptionKind, minor,
};
use std::fmt::Debug;
use std::sync::Arc;

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    WrongPolicy,
    ObjectAlreadyActive,
    ServantAlreadyActive,
    ObjectNotActive,
    ServantNotActive,
    WrongAdapter,
    NoServant,
    BadObjectId,
    ServantManagerIsSet,
    WrongServantManager,
}

fn outcome<T>(result: &Result<T, PoaError>) -> Outcome {
    match result {
        Ok(_) => Outcome::Done,
        Err(PoaError::WrongPolicy { .. }) => Outcome::WrongPolicy,
        Err(PoaError::ObjectAlreadyActive(_)) => Outcome::ObjectAlreadyActive,
        Err(PoaError::ServantAlreadyActive(_)) => Outcome::ServantAlreadyActive,
        Err(PoaError::ObjectNotActive(_)) => Outcome::ObjectNotActive,
        Err(PoaError::ServantNotActive) => Outcome::ServantNotActive,
        Err(PoaError::WrongAdapter) => Outcome::WrongAdapter,
        Err(PoaError::NoServant) => Outcome::NoServant,
        Err(PoaError::System(e)) if e.minor == minor::BAD_PARAM_OBJECT_ID => Outcome::BadObjectId,
        Err(PoaError::System(e)) if e.minor == minor::BAD_INV_ORDER_SERVANT_MANAGER_SET => {
            Outcome::ServantManagerIsSet
        }
        Err(PoaError::System(e)) if e.kind == SystemExceptionKind::ObjAdapter => {
            Outcome::WrongServantManager
        }
        Err(other) => panic!("{other:?}"),
    }
}

/// Compares outcomes, and says of what.
struct Checks<'c>(&'c str);

impl Checks<'_> {
    fn is<T>(&self, operation: &str, result: &Result<T, PoaError>, expected: Outcome) {
        assert_eq!(outcome(result), expected, "{operation}: {}", self.0);
    }

    fn same<T: PartialEq + Debug>(&self, what: &str, found: T, expected: T) {
        assert_eq!(found, expected, "{what}: {}", self.0);
    }
}

fn is_same(one: &Arc<dyn Servant>, other: &Arc<dyn Servant>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// `Done` if `may`, else `otherwise`.
fn done_if(may: bool, otherwise: Outcome) -> Outcome {
    if may { Outcome::Done } else { otherwise }
}

pub(crate) fn check(site: &Site, case: &Case, demux: ServantDemux, what: &str) {
    let poa = site.child(case, demux);
    let checks = Checks(what);
    let notes = Arc::default();
    servants_of_the_poa(case, &poa, &notes, &checks);
    let id = references(site, case, &poa, &checks);
    activation(case, &poa, &notes, &checks);
    implicit_activation(case, &poa, &notes, &checks);
    poa.destroy(true, true).unwrap();
    assert_eq!(poa.create_reference_with_id(&id, ID).unwrap_err(), PoaError::Destroyed);
}

fn servants_of_the_poa(case: &Case, poa: &Poa, notes: &Arc<Notes>, checks: &Checks<'_>) {
    let default = case.has_default_servant();
    let expected = if default { Outcome::NoServant } else { Outcome::WrongPolicy };
    checks.is("get_servant", &poa.get_servant(), expected);
    let servant = Witness::servant(1, notes);
    let set = poa.set_servant(Arc::clone(&servant));
    checks.is("set_servant", &set, done_if(default, Outcome::WrongPolicy));
    if default {
        assert!(is_same(&poa.get_servant().unwrap(), &servant));
    }
    let manager = Manager::new(notes);
    let (activator, locator) =
        (ServantManager::activator(manager.clone()), ServantManager::locator(manager));
    let (right, wrong) = if case.retains() { (activator, locator) } else { (locator, activator) };
    let has = case.has_servant_manager();
    let kind = if has { Outcome::WrongServantManager } else { Outcome::WrongPolicy };
    checks.is("set_servant_manager of the wrong kind", &poa.set_servant_manager(wrong), kind);
    let set = poa.set_servant_manager(right.clone());
    checks.is("set_servant_manager", &set, done_if(has, Outcome::WrongPolicy));
    let again = if has { Outcome::ServantManagerIsSet } else { Outcome::WrongPolicy };
    checks.is("set_servant_manager again", &poa.set_servant_manager(right), again);
    let get = poa.get_servant_manager();
    checks.is("get_servant_manager", &get, done_if(has, Outcome::WrongPolicy));
}

/// Gives the id of an object that has a reference and is not active.
fn references(site: &Site, case: &Case, poa: &Poa, checks: &Checks<'_>) -> ObjectId {
    let made = poa.create_reference(ID);
    checks.is("create_reference", &made, done_if(case.gives_ids(), Outcome::WrongPolicy));
    let mine = poa.create_reference_with_id(&"mine".into(), ID);
    checks.is("create_reference_with_id", &mine, done_if(!case.gives_ids(), Outcome::BadObjectId));
    let reference = made.or(mine).unwrap();
    let id = poa.reference_to_id(&reference).unwrap();
    // Without activation it has no servant, or the default servant.
    let has_servants = case.retains() || case.has_default_servant();
    let none = done_if(case.has_default_servant(), Outcome::ObjectNotActive);
    let expected = if has_servants { none } else { Outcome::WrongPolicy };
    checks.is("reference_to_servant", &poa.reference_to_servant(&reference), expected);
    checks.is("id_to_servant", &poa.id_to_servant(&id), expected);
    let expected = if case.retains() { Outcome::ObjectNotActive } else { Outcome::WrongPolicy };
    checks.is("id_to_reference", &poa.id_to_reference(&id), expected);
    checks.is("deactivate_object", &poa.deactivate_object(&id), expected);
    let foreign = site.root.create_reference(ID).unwrap();
    checks.is("reference_to_id, foreign", &poa.reference_to_id(&foreign), Outcome::WrongAdapter);
    let expected = if has_servants { Outcome::WrongAdapter } else { Outcome::WrongPolicy };
    checks.is("reference_to_servant, foreign", &poa.reference_to_servant(&foreign), expected);
    // The same id again gives an equal reference.
    let again = poa.create_reference_with_id(&id, ID).unwrap();
    let of_again = poa.reference_to_id(&again).unwrap();
    checks.same("create_reference_with_id again", of_again, id.clone());
    id
}

fn activation(case: &Case, poa: &Poa, notes: &Arc<Notes>, checks: &Checks<'_>) {
    let servant = Witness::servant(2, notes);
    let given = poa.activate_object(Arc::clone(&servant));
    let may = case.retains() && case.gives_ids();
    checks.is("activate_object", &given, done_if(may, Outcome::WrongPolicy));
    let chosen = ObjectId::from("chosen");
    let with_id = poa.activate_object_with_id(&chosen, Arc::clone(&servant));
    let expected = match (case.retains(), case.gives_ids()) {
        (false, _) => Outcome::WrongPolicy,
        (true, true) => Outcome::BadObjectId,
        (true, false) => Outcome::Done,
    };
    checks.is("activate_object_with_id", &with_id, expected);
    if !case.retains() {
        return;
    }
    let id = given.unwrap_or(chosen);
    let other = Witness::servant(3, notes);
    let same_id = poa.activate_object_with_id(&id, Arc::clone(&other));
    checks.is("activate, same id", &same_id, Outcome::ObjectAlreadyActive);
    // The same servant for a second object.
    let second = if case.gives_ids() {
        poa.activate_object(Arc::clone(&servant))
    } else {
        let second = ObjectId::from("second");
        poa.activate_object_with_id(&second, Arc::clone(&servant)).map(|()| second)
    };
    let expected = done_if(!case.is_unique(), Outcome::ServantAlreadyActive);
    checks.is("activate, same servant", &second, expected);
    assert!(is_same(&poa.id_to_servant(&id).unwrap(), &servant));
    let reference = poa.id_to_reference(&id).unwrap();
    checks.same("reference_to_id", poa.reference_to_id(&reference).unwrap(), id.clone());
    assert!(is_same(&poa.reference_to_servant(&reference).unwrap(), &servant));
    if case.is_unique() {
        checks.same("servant_to_id", poa.servant_to_id(&servant).unwrap(), id.clone());
        let reference = poa.servant_to_reference(&servant).unwrap();
        checks.same("servant_to_reference", poa.reference_to_id(&reference).unwrap(), id.clone());
    }
    poa.deactivate_object(&id).unwrap();
    checks.is("deactivate again", &poa.deactivate_object(&id), Outcome::ObjectNotActive);
    // An id that was used may be used again, also one that the POA gave.
    checks.is("activate anew", &poa.activate_object_with_id(&id, other), Outcome::Done);
    poa.deactivate_object(&id).unwrap();
}

fn implicit_activation(case: &Case, poa: &Poa, notes: &Arc<Notes>, checks: &Checks<'_>) {
    let servant = Witness::servant(4, notes);
    let may_ask = case.retains() && (case.is_unique() || case.is_implicit());
    let expected = match () {
        () if may_ask => done_if(case.is_implicit(), Outcome::ServantNotActive),
        () if case.has_default_servant() => Outcome::ServantNotActive,
        () => Outcome::WrongPolicy,
    };
    let id = poa.servant_to_id(&servant);
    checks.is("servant_to_id, inactive", &id, expected);
    let reference = poa.servant_to_reference(&servant);
    let expected = match () {
        () if may_ask => done_if(case.is_implicit(), Outcome::ServantNotActive),
        () => Outcome::WrongPolicy,
    };
    checks.is("servant_to_reference, inactive", &reference, expected);
    if case.is_implicit() {
        let second = poa.reference_to_id(&reference.unwrap()).unwrap();
        let first = id.unwrap();
        // One object for a servant, or a new one each time.
        checks.same("one object", first == second, case.is_unique());
        assert!(is_same(&poa.id_to_servant(&second).unwrap(), &servant));
    }
}
