//! What POAs, managers, objects and requests are, without threads, keys, maps or connections.

use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// Kinds of POAs, by their policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `TRANSIENT`, `SYSTEM_ID`, `UNIQUE_ID`.
    Plain,
    /// `PERSISTENT`, `USER_ID`, `UNIQUE_ID`.
    Lasting,
    /// `TRANSIENT`, `USER_ID`, `MULTIPLE_ID`, `USE_DEFAULT_SERVANT`.
    Defaulted,
    /// `PERSISTENT`, `USER_ID`, `USE_SERVANT_MANAGER`, `RETAIN`.
    Incarnated,
    /// As `Plain`, with `SINGLE_THREAD_MODEL`, and linear search for its objects.
    Single,
}

impl Kind {
    const ALL: [Kind; 5] =
        [Kind::Plain, Kind::Lasting, Kind::Defaulted, Kind::Incarnated, Kind::Single];

    fn is_persistent(self) -> bool {
        matches!(self, Kind::Lasting | Kind::Incarnated)
    }

    pub(crate) fn gives_ids(self) -> bool {
        matches!(self, Kind::Plain | Kind::Single)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Holding,
    Active,
    Discarding,
    Inactive,
}

/// One operation. POAs are named by their path, servants, references and managers by number.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    MakeManager,
    ChangeManager(usize, State),
    Create {
        path: String,
        manager: usize,
        kind: Kind,
    },
    Destroy {
        path: String,
        etherealize: bool,
    },
    Find(String),
    /// Under an id of the POA's choice.
    Activate {
        path: String,
        servant: u32,
    },
    ActivateWithId {
        path: String,
        id: String,
        servant: u32,
    },
    /// The object of a reference.
    Deactivate(usize),
    /// A reference of an object that may be active or not.
    MakeReference {
        path: String,
        id: String,
    },
    ServantToId {
        path: String,
        servant: u32,
    },
    Ask(usize),
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// A reference was made: the next number.
    Reference,
    AlreadyExists,
    NonExistent,
    AdapterInactive,
    ServantActive,
    ServantNotActive,
    ObjectActive,
    ObjectNotActive,
    /// The servant with this number answered.
    Answer(u32),
    NotExist,
    Transient,
    ObjAdapter,
    /// The request waits for this manager.
    Waits(usize),
    /// What the requests that had waited ended in. One may wait on, for another manager.
    Released(Vec<Outcome>),
}

#[derive(Clone, Debug)]
struct Poa {
    /// Differs between POAs of the same path.
    life: usize,
    manager: usize,
    kind: Kind,
    /// Servants by object id. Ids that the POA gives are named by the number of their reference.
    objects: BTreeMap<String, u32>,
}

#[derive(Clone, Debug)]
struct Reference {
    path: String,
    /// Of the POA that made it.
    life: usize,
    is_persistent: bool,
    id: String,
}

impl Poa {
    fn reference(&self, path: &str, id: &str) -> Reference {
        let (path, id) = (path.to_owned(), id.to_owned());
        Reference { path, life: self.life, is_persistent: self.kind.is_persistent(), id }
    }
}

#[derive(Default)]
pub(crate) struct Model {
    managers: Vec<State>,
    poas: BTreeMap<String, Poa>,
    references: Vec<Reference>,
    lives: usize,
    /// References of requests that wait, by manager.
    waiting: BTreeMap<usize, Vec<usize>>,
    /// How often each id was incarnated, by path and id: over all lives of the POA.
    incarnations: BTreeMap<(String, String), u32>,
    /// What the servant activators have to get back, in all.
    pub(crate) etherealized: BTreeMap<u32, u32>,
}

/// The number of the default servant.
pub(crate) const DEFAULT: u32 = 1_000;

/// The number of the servant that is incarnated for `id` the `nth` time.
pub(crate) fn incarnated(path: &str, id: &str, nth: u32) -> u32 {
    let name = path.bytes().chain(id.bytes());
    let hash = name.fold(7u32, |hash, octet| hash.wrapping_mul(31).wrapping_add(octet.into()));
    0x8000_0000 | (hash << 12) | nth
}

impl Model {
    /// A step that makes sense more often than not.
    pub(crate) fn choose(&self, random: &mut Random) -> Step {
        let names = ["a", "b", "c"];
        let path = |random: &mut Random| {
            let depth = 1 + random.below(3);
            (0..depth).map(|_| names[random.below(3)]).collect::<Vec<_>>().join("/")
        };
        let existing: Vec<&String> = self.poas.keys().collect();
        let some = |random: &mut Random| random.one_of(&existing).map(|path| (*path).clone());
        let id = |random: &mut Random| ["x", "y", "z"][random.below(3)].to_owned();
        let servant = |random: &mut Random| random.below(6) as u32;
        if self.managers.len() < 2 {
            return Step::MakeManager;
        }
        let manager = random.below(self.managers.len());
        if self.waiting.values().map(Vec::len).sum::<usize>() > 30 {
            return Step::ChangeManager(manager, State::Active);
        }
        match random.below(100) {
            0..2 if self.managers.len() < 40 => Step::MakeManager,
            0..8 => {
                let states = [State::Holding, State::Discarding, State::Active, State::Active];
                // Inactive is for good, so it is rare.
                let state = match random.below(12) {
                    0 => State::Inactive,
                    other => states[other % 4],
                };
                Step::ChangeManager(manager, state)
            }
            8..22 => {
                let kind = Kind::ALL[random.below(5)];
                Step::Create { path: path(random), manager, kind }
            }
            22..26 => {
                let path = some(random).unwrap_or_else(|| path(random));
                Step::Destroy { path, etherealize: random.below(4) > 0 }
            }
            26..29 => Step::Find(path(random)),
            other => match some(random) {
                None => Step::Create { path: path(random), manager, kind: Kind::Plain },
                Some(path) if other < 36 => self.activation(path, id(random), servant(random)),
                Some(path) if other < 48 => Step::MakeReference { path, id: id(random) },
                Some(path) if other < 51 => Step::ServantToId { path, servant: servant(random) },
                Some(path) if self.references.is_empty() => {
                    Step::MakeReference { path, id: id(random) }
                }
                // The newer ones lead somewhere more often.
                Some(_) => {
                    let newest = self.references.len().min(1 + random.below(60));
                    let reference = self.references.len() - 1 - random.below(newest);
                    if other < 58 { Step::Deactivate(reference) } else { Step::Ask(reference) }
                }
            },
        }
    }

    fn activation(&self, path: String, id: String, servant: u32) -> Step {
        if self.poas.get(&path).is_some_and(|poa| poa.kind.gives_ids()) {
            return Step::Activate { path, servant };
        }
        Step::ActivateWithId { path, id, servant }
    }

    pub(crate) fn apply(&mut self, step: &Step) -> Outcome {
        match step {
            Step::MakeManager => {
                self.managers.push(State::Holding);
                Outcome::Done
            }
            Step::ChangeManager(manager, state) => self.change(*manager, *state),
            Step::Create { path, manager, kind } => self.create(path, *manager, *kind),
            Step::Destroy { path, etherealize } => self.destroy(path, *etherealize),
            Step::Find(path) => match self.poas.contains_key(path) {
                true => Outcome::Done,
                false => Outcome::NonExistent,
            },
            Step::Activate { path, servant } => {
                let id = format!("#{}", self.references.len());
                self.activate(path, &id, *servant)
            }
            Step::ActivateWithId { path, id, servant } => self.activate(path, id, *servant),
            Step::Deactivate(reference) => self.deactivate(*reference),
            Step::MakeReference { path, id } => {
                let Some(poa) = self.poas.get(path) else { return Outcome::NonExistent };
                let id = match poa.kind.gives_ids() {
                    true => format!("#{}", self.references.len()),
                    false => id.clone(),
                };
                let reference = poa.reference(path, &id);
                self.references.push(reference);
                Outcome::Reference
            }
            Step::ServantToId { path, servant } => self.servant_to_id(path, *servant),
            Step::Ask(reference) => self.ask(*reference),
        }
    }

    fn change(&mut self, manager: usize, state: State) -> Outcome {
        let before = self.managers[manager];
        if before == State::Inactive && state != State::Inactive {
            return Outcome::AdapterInactive;
        }
        self.managers[manager] = state;
        if before != State::Inactive && state == State::Inactive {
            // Only who has a servant activator gives servants back; the others keep theirs.
            let poas = self.of_manager(manager, Kind::Incarnated);
            poas.iter().for_each(|path| self.etherealize_all(path));
        }
        if state == State::Holding {
            return Outcome::Released(vec![]);
        }
        let waiting = self.waiting.remove(&manager).unwrap_or_default();
        // Refused by the manager they wait for, though their POA may have gone meanwhile and be
        // there again with another manager.
        let end = |reference| match state {
            State::Discarding => Outcome::Transient,
            State::Inactive => Outcome::ObjAdapter,
            State::Active | State::Holding => self.ask(reference),
        };
        Outcome::Released(waiting.into_iter().map(end).collect())
    }

    fn of_manager(&self, manager: usize, kind: Kind) -> Vec<String> {
        let its = self.poas.iter().filter(|(_, poa)| poa.manager == manager && poa.kind == kind);
        its.map(|(path, _)| path.clone()).collect()
    }

    /// The servants that an activator made go back to it; other objects just end.
    fn etherealize_all(&mut self, path: &str) {
        let Some(poa) = self.poas.get_mut(path) else { return };
        let objects = std::mem::take(&mut poa.objects);
        if poa.kind == Kind::Incarnated {
            objects.values().for_each(|s| *self.etherealized.entry(*s).or_insert(0) += 1);
        }
    }

    fn create(&mut self, path: &str, manager: usize, kind: Kind) -> Outcome {
        if let Some((parent, _)) = path.rsplit_once('/')
            && !self.poas.contains_key(parent)
        {
            return Outcome::NonExistent;
        }
        if self.poas.contains_key(path) {
            return Outcome::AlreadyExists;
        }
        self.lives += 1;
        let poa = Poa { life: self.lives, manager, kind, objects: BTreeMap::new() };
        self.poas.insert(path.to_owned(), poa);
        Outcome::Done
    }

    fn destroy(&mut self, path: &str, etherealize: bool) -> Outcome {
        if !self.poas.contains_key(path) {
            return Outcome::NonExistent;
        }
        let below = format!("{path}/");
        let gone: BTreeSet<String> = self
            .poas
            .keys()
            .filter(|other| *other == path || other.starts_with(&below))
            .cloned()
            .collect();
        for path in &gone {
            if etherealize {
                self.etherealize_all(path);
            }
            self.poas.remove(path);
        }
        Outcome::Done
    }

    fn activate(&mut self, path: &str, id: &str, servant: u32) -> Outcome {
        let Some(poa) = self.poas.get_mut(path) else { return Outcome::NonExistent };
        if poa.objects.contains_key(id) {
            return Outcome::ObjectActive;
        }
        let is_unique = poa.kind != Kind::Defaulted;
        if is_unique && poa.objects.values().any(|other| *other == servant) {
            return Outcome::ServantActive;
        }
        poa.objects.insert(id.to_owned(), servant);
        let reference = poa.reference(path, id);
        self.references.push(reference);
        Outcome::Reference
    }

    /// The path of the POA that a reference leads to, if it is there.
    fn poa_of(&mut self, reference: &Reference) -> Option<&mut Poa> {
        let poa = self.poas.get_mut(&reference.path)?;
        let leads_there = match reference.is_persistent {
            // To any later POA of the same path that makes such references.
            true => poa.kind.is_persistent(),
            false => poa.life == reference.life,
        };
        leads_there.then_some(poa)
    }

    fn deactivate(&mut self, number: usize) -> Outcome {
        let reference = self.references[number].clone();
        let Some(poa) = self.poa_of(&reference) else { return Outcome::NonExistent };
        let Some(servant) = poa.objects.remove(&reference.id) else {
            return Outcome::ObjectNotActive;
        };
        if poa.kind == Kind::Incarnated {
            *self.etherealized.entry(servant).or_insert(0) += 1;
        }
        Outcome::Done
    }

    /// Whether requests pass this manager.
    fn admit(&mut self, manager: usize, reference: usize) -> Result<(), Outcome> {
        match self.managers[manager] {
            State::Active => Ok(()),
            State::Discarding => Err(Outcome::Transient),
            State::Inactive => Err(Outcome::ObjAdapter),
            State::Holding => {
                self.waiting.entry(manager).or_default().push(reference);
                Err(Outcome::Waits(manager))
            }
        }
    }

    /// The lowest POA on the path of a persistent reference of which one is missing; `None` also
    /// for the root, whose manager is active.
    fn above_missing(&self, reference: &Reference) -> Option<&Poa> {
        if !reference.is_persistent || self.poas.contains_key(&reference.path) {
            return None;
        }
        let ends = reference.path.match_indices('/').map(|(end, _)| &reference.path[..end]);
        ends.map_while(|path| self.poas.get(path)).last()
    }

    fn servant_to_id(&self, path: &str, servant: u32) -> Outcome {
        let Some(poa) = self.poas.get(path) else { return Outcome::NonExistent };
        let is_active = poa.objects.values().any(|other| *other == servant);
        // MULTIPLE_ID: the servant of a default servant's POA is asked for outside of requests.
        match is_active && poa.kind != Kind::Defaulted {
            true => Outcome::Done,
            false => Outcome::ServantNotActive,
        }
    }

    fn ask(&mut self, number: usize) -> Outcome {
        let reference = self.references[number].clone();
        let Some(poa) = self.poa_of(&reference) else {
            // Where a POA is missing on the path, an adapter activator of the one above it might
            // make it: so that one's manager says what becomes of the request until then.
            let above = self.above_missing(&reference).map(|poa| poa.manager);
            let refused = above.and_then(|manager| self.admit(manager, number).err());
            return refused.unwrap_or(Outcome::NotExist);
        };
        let (manager, kind) = (poa.manager, poa.kind);
        if let Err(refused) = self.admit(manager, number) {
            return refused;
        }
        let poa = self.poa_of(&reference);
        if let Some(servant) = poa.and_then(|poa| poa.objects.get(&reference.id)) {
            return Outcome::Answer(*servant);
        }
        match kind {
            Kind::Plain | Kind::Single | Kind::Lasting => Outcome::NotExist,
            Kind::Defaulted => Outcome::Answer(DEFAULT),
            Kind::Incarnated => {
                let name = (reference.path.clone(), reference.id.clone());
                let nth = self.incarnations.entry(name).or_insert(0);
                *nth += 1;
                let servant = incarnated(&reference.path, &reference.id, *nth);
                if let Some(poa) = self.poas.get_mut(&reference.path) {
                    poa.objects.insert(reference.id, servant);
                }
                Outcome::Answer(servant)
            }
        }
    }
}
