//! What is known of the others: a link to each that was called, and which replicas there are of a
//! kind, so that requests go to them in turns. Used by `peers.rs`.

use crate::address::Group;
use crate::mechanism::Link;
use corbie::{SystemException, SystemExceptionKind};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How old a list of replicas may be: new ones are found after so long.
const LIST_AGE: Duration = Duration::from_secs(5);

/// A replica that failed is passed over for so long, if there are others: it is replaced at once.
const AVOIDED: Duration = Duration::from_secs(1);

/// The same of one that hangs: it is not replaced, and to find out whether it still does takes as
/// long as a call may.
const HUNG_AVOIDED: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct KnownPeers {
    pub(super) links: HashMap<(Group, String), Arc<dyn Link>>,
    replicas: HashMap<Group, Replicas>,
}

/// The components of one group, as they were when last asked for.
struct Replicas {
    names: Arc<[String]>,
    listed: Instant,
    /// The next choice is another one.
    choices: usize,
    /// Those that are passed over, until then.
    failed: HashMap<String, Instant>,
}

impl KnownPeers {
    /// The names of the group, and whether they are fresh.
    pub(super) fn names(&self, group: Group) -> Option<(Arc<[String]>, bool)> {
        let replicas = self.replicas.get(&group)?;
        Some((Arc::clone(&replicas.names), replicas.listed.elapsed() < LIST_AGE))
    }

    /// The names of the group are these now.
    pub(super) fn listed(&mut self, group: Group, names: &Arc<[String]>) {
        let replicas = self.replicas.entry(group).or_insert_with(|| Replicas {
            names: Arc::clone(names),
            listed: Instant::now(),
            // Not every process begins with the same one.
            choices: std::process::id() as usize,
            failed: HashMap::new(),
        });
        (replicas.names, replicas.listed) = (Arc::clone(names), Instant::now());
    }

    /// The next of the group, those that failed just now aside, if there are others.
    pub(super) fn choose(&mut self, group: Group) -> Option<String> {
        self.choose_sound(group).or_else(|| {
            let replicas = self.replicas.get(&group)?;
            let count = replicas.names.len().max(1);
            replicas.names.get(replicas.choices % count).cloned()
        })
    }

    /// The next of the group that did not fail just now.
    pub(super) fn choose_sound(&mut self, group: Group) -> Option<String> {
        let replicas = self.replicas.get_mut(&group)?;
        let now = Instant::now();
        replicas.failed.retain(|_, until| *until > now);
        replicas.choices = replicas.choices.wrapping_add(1);
        let (names, first, failed) = (&replicas.names, replicas.choices, &replicas.failed);
        let count = names.len().max(1);
        let turn = |turn: usize| names.get(first.wrapping_add(turn) % count);
        (0..count).filter_map(turn).find(|name| !failed.contains_key(*name)).cloned()
    }

    /// That one did not answer, by that link, but gave this.
    pub(super) fn failed(
        &mut self,
        group: Group,
        name: &str,
        link: &Arc<dyn Link>,
        exception: &SystemException,
    ) {
        let key = (group, name.to_owned());
        if self.links.get(&key).is_some_and(|known| Arc::ptr_eq(known, link)) {
            self.links.remove(&key);
        }
        if let Some(replicas) = self.replicas.get_mut(&group) {
            let is_hung = exception.kind == SystemExceptionKind::Timeout;
            let avoided = if is_hung { HUNG_AVOIDED } else { AVOIDED };
            replicas.failed.insert(key.1, Instant::now() + avoided);
        }
    }

    /// All is looked up again, of one or of the whole group.
    pub(super) fn forget(&mut self, group: Group, name: Option<&str>) {
        match name {
            Some(name) => {
                self.links.remove(&(group, name.to_owned()));
            }
            None => {
                self.links.retain(|(of, _), _| *of != group);
                self.replicas.remove(&group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Role;
    use crate::messages::{Done, Reply, Request};
    use corbie::CompletionStatus;
    use corbie::minor;

    #[test]
    fn replicas_are_taken_in_turns_and_failed_ones_passed_over() {
        let group = Group { role: Role::StatusServer, is_proxy: false };
        let mut known = KnownPeers::default();
        assert_eq!(known.choose(group), None);
        let names: Arc<[String]> = ["a", "b", "c"].map(str::to_owned).into();
        known.listed(group, &names);
        let mut turns: Vec<_> = (0..3).filter_map(|_| known.choose(group)).collect();
        turns.sort();
        assert_eq!(turns, ["a", "b", "c"]);
        let replicas = known.replicas.get_mut(&group).unwrap();
        let later = Instant::now() + Duration::from_secs(3600);
        replicas.failed.insert("b".to_owned(), later);
        assert!((0..6).all(|_| known.choose(group).unwrap() != "b"));
        let replicas = known.replicas.get_mut(&group).unwrap();
        replicas.failed.extend(["a", "c"].map(|name| (name.to_owned(), later)));
        assert_eq!(known.choose_sound(group), None);
        assert!(known.choose(group).is_some());
    }

    /// A link to nothing.
    struct Absent;

    impl Link for Absent {
        fn call(&self, _: &Request) -> Result<Reply, SystemException> {
            Err(SystemException::transient(minor::TRANSIENT_NOT_NOW, CompletionStatus::No))
        }

        fn start(&self, request: &Request, done: Done) {
            done(self.call(request));
        }
    }

    #[test]
    fn a_replica_that_hangs_is_passed_over_for_longer() {
        let group = Group { role: Role::StatusServer, is_proxy: false };
        let mut known = KnownPeers::default();
        let names: Arc<[String]> = ["a", "b", "c"].map(str::to_owned).into();
        known.listed(group, &names);
        let link: Arc<dyn Link> = Arc::new(Absent);
        let before = Instant::now();
        known.failed(
            group,
            "a",
            &link,
            &SystemException::timeout(minor::TIMEOUT_CALL, CompletionStatus::Maybe),
        );
        known.failed(
            group,
            "b",
            &link,
            &SystemException::transient(minor::TRANSIENT_NOT_NOW, CompletionStatus::No),
        );
        let after = Instant::now();
        let failed = &known.replicas[&group].failed;
        assert!(failed["a"] >= before + HUNG_AVOIDED && failed["b"] <= after + AVOIDED);
        known.replicas.get_mut(&group).unwrap().failed.insert("b".to_owned(), before);
        let chosen: Vec<_> = (0..2).map(|_| known.choose(group).unwrap()).collect();
        assert!(!chosen.contains(&"a".to_owned()), "{chosen:?}");
    }
}
