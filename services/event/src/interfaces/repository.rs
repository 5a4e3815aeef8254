//! Interfaces from an Interface Repository (CORBA 3.3 P1 §14): any ORB's, asked by the operations
//! `lookup_id` and `describe_interface`.
//!
//! Added to a server by `EventServer::add_interfaces`; asked by `known`. What it says once is
//! remembered, so that channels go on when it is away.

use super::{Interfaces, wire};
use crate::corba::interface_def::FullInterfaceDescription;
use crate::corba::{InterfaceDef, Repository};
use corbie::policy::{Policy, SetOverrideType};
use corbie::types::InterfaceDescription;
use corbie::{CompletionStatus, Interface, Object, SystemException, minor};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long it may take for one answer, unless the reference has a policy of its own.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long it may take for all that one question needs: an interface has its bases.
const PATIENCE_FOR_ALL: Duration = Duration::from_secs(60);
/// Interfaces that one interface may inherit from.
const BASES_MAX: usize = 1000;
/// Interfaces that are remembered; more are asked for each time.
const KNOWN_MAX: usize = 1000;

/// An Interface Repository.
pub struct InterfaceRepository {
    repository: Repository,
    /// Lock "repository": not held in calls.
    known: Mutex<BTreeMap<String, Found>>,
}

#[derive(Clone)]
struct Found {
    description: Arc<InterfaceDescription>,
    definition: InterfaceDef,
}

impl InterfaceRepository {
    /// The repository that `object` is: what `resolve_initial_references("InterfaceRepository")`
    /// gives, or any other.
    ///
    /// # Errors
    /// What setting policies says.
    pub fn new(object: &Object) -> Result<Self, SystemException> {
        let repository = patient(Repository::unchecked_narrow(object.clone()))?;
        Ok(Self { repository, known: Mutex::default() })
    }

    fn find(&self, repository_id: &str) -> Result<Option<Found>, SystemException> {
        if let Some(found) = self.known().get(repository_id) {
            return Ok(Some(found.clone()));
        }
        let Some(definition) = self.look_up(repository_id)? else { return Ok(None) };
        let full = definition.describe_interface()?;
        if full.id != repository_id {
            let text = format!("the repository was asked for {repository_id} and gave {}", full.id);
            return Err(SystemException::intf_repos(
                minor::INTF_REPOS_NO_ENTRY,
                CompletionStatus::No,
            )
            .with_detail(text));
        }
        let name = definition.absolute_name()?;
        let bases = self.all_bases(bases_of(&full), Instant::now() + PATIENCE_FOR_ALL)?;
        let mut description = wire::read(name, full);
        description.bases = bases;
        let found = Found { description: Arc::new(description), definition };
        let mut known = self.known();
        if known.len() < KNOWN_MAX {
            known.insert(repository_id.to_owned(), found.clone());
        }
        Ok(Some(found))
    }

    /// The interface with this id; what is none is none.
    fn look_up(&self, repository_id: &str) -> Result<Option<InterfaceDef>, SystemException> {
        let Some(found) = self.repository.lookup_id(repository_id)? else { return Ok(None) };
        let interface = InterfaceDef::narrow(patient(found)?.as_object())?;
        interface.map(patient).transpose()
    }

    /// A description tells the direct bases alone.
    fn all_bases(
        &self,
        mut bases: Vec<String>,
        deadline: Instant,
    ) -> Result<Vec<String>, SystemException> {
        let mut next = 0;
        while let Some(base) = bases.get(next).cloned() {
            next += 1;
            if Instant::now() > deadline {
                let text = format!(
                    "the interface repository took longer than {PATIENCE_FOR_ALL:?} for the bases \
                     of an interface; {next} of {} were asked for",
                    bases.len()
                );
                return Err(SystemException::timeout(minor::TIMEOUT_CALL, CompletionStatus::No)
                    .with_detail(text));
            }
            if next > BASES_MAX {
                let text = format!("an interface has more than {BASES_MAX} bases");
                let minor = minor::IMP_LIMIT_NAMES;
                return Err(
                    SystemException::imp_limit(minor, CompletionStatus::No).with_detail(text)
                );
            }
            let Some(definition) = self.look_up(&base)? else { continue };
            for more in bases_of(&definition.describe_interface()?) {
                if !bases.contains(&more) {
                    bases.push(more);
                }
            }
        }
        Ok(bases)
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Found>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Interfaces for InterfaceRepository {
    fn describe(
        &self,
        repository_id: &str,
    ) -> Result<Option<Arc<InterfaceDescription>>, SystemException> {
        Ok(self.find(repository_id)?.map(|found| found.description))
    }

    fn definition(&self, repository_id: &str) -> Result<Option<Object>, SystemException> {
        Ok(self.find(repository_id)?.map(|found| found.definition.into_object()))
    }
}

impl std::fmt::Debug for InterfaceRepository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = Vec::from_iter(self.known().keys().cloned());
        f.debug_struct("InterfaceRepository").field("known", &known).finish()
    }
}

/// Its direct bases, and those that declare its operations: JacORB's repository gives the names of
/// Java classes for bases.
fn bases_of(full: &FullInterfaceDescription) -> Vec<String> {
    let declaring = full.operations.iter().map(|operation| &operation.defined_in);
    let declaring = declaring.chain(full.attributes.iter().map(|it| &it.defined_in));
    let mut bases: Vec<String> = Vec::new();
    for id in full.base_interfaces.iter().chain(declaring) {
        if id.contains(':') && *id != full.id && !bases.contains(id) {
            bases.push(id.clone());
        }
    }
    bases
}

/// `reference`, with a bound to the time that it may take.
fn patient<I: Interface>(reference: I) -> Result<I, SystemException> {
    let patience = Policy::RelativeReplyTimeout(PATIENCE);
    let object = reference.as_object().set_policy_overrides(&[patience], SetOverrideType::Add);
    Ok(I::from_object(object.map_err(crate::exception::no_policy)?))
}
