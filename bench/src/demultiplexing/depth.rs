//! `poa-depth`: finding the POA of a key against its nesting (paper POA figure 3).
//!
//! `active` goes by the index in a transient key, or by that in a persistent one; `per-level` is
//! what the paper's TAO did: each POA finds its child in a hash table by name. `entered` goes on to
//! the servant.

use super::{Found, Server, key_of};
use crate::driver::Failure;
use crate::local::{self, Task};
use crate::orders::Answer;
use corbie::{IdAssignment, Lifespan, ObjectId, PoaPolicy};
use corbie_poa::measure;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, PoisonError, RwLock};

/// Levels as the experiment says, one object at the bottom.
///
/// # Errors
/// When the words name no way.
pub(crate) fn measure(task: &Task<'_>) -> Result<Answer, Failure> {
    let names: Vec<String> = (1..=task.size).map(|level| format!("level_{level:02}")).collect();
    let server = Server::start()?;
    let key = key_below(&server, &names, task.word(1)?)?;
    let poas = &server.demultiplexer;
    match task.word(0)? {
        "active" => find(task, || poas.find_poa(black_box(&key))),
        "entered" => find(task, || {
            poas.enter(black_box(&key), |servant| {
                black_box(std::ptr::from_ref(servant));
            })
        }),
        "per-level" => {
            let levels = LevelByLevel::chain(names.iter().map(String::as_str));
            find(task, || levels.find(black_box(&key)))
        }
        other => Err(format!("there is no way `{other}`").into()),
    }
}

fn find<T>(task: &Task<'_>, look: impl Fn() -> Option<T>) -> Result<Answer, Failure> {
    local::count(task.window, |_| {
        black_box(look().ok_or("nothing was found")?);
        Ok(())
    })
}

/// The key of an object below POAs of these names.
fn key_below(server: &Server, names: &[String], kind: &str) -> Result<Vec<u8>, Failure> {
    let persistent = [Lifespan::Persistent.into(), IdAssignment::UserId.into()];
    let policies: &[PoaPolicy] = match kind {
        "transient" => &[],
        "persistent" => &persistent,
        other => return Err(format!("there are no `{other}` keys").into()),
    };
    let manager = server.root.the_poa_manager();
    let mut poa = server.root.clone();
    for name in names {
        poa = poa.create_poa(name, Some(&manager), policies)?;
    }
    let id = if policies.is_empty() {
        poa.activate_object(Arc::new(Found))?
    } else {
        let id = ObjectId::from("object");
        poa.activate_object_with_id(&id, Arc::new(Found))?;
        id
    };
    key_of(&poa.id_to_reference(&id)?)
}

/// What the paper's Figure 3 compares active demultiplexing with: one hash table for each level of
/// POAs, so that a lookup costs one hash a level.
#[derive(Default)]
struct LevelByLevel {
    children: RwLock<HashMap<Box<[u8]>, Arc<LevelByLevel>>>,
}

impl LevelByLevel {
    /// A hierarchy of these POAs, each the child of the one before.
    fn chain<'n>(names: impl DoubleEndedIterator<Item = &'n str>) -> Self {
        names.rev().fold(LevelByLevel::default(), |child, name| {
            let children = HashMap::from([(Box::from(name.as_bytes()), Arc::new(child))]);
            LevelByLevel { children: RwLock::new(children) }
        })
    }

    /// Follows the path of a persistent key from level to level; how many there are.
    fn find(&self, object_key: &[u8]) -> Option<u32> {
        let names = measure::path(object_key)?.strip_suffix(b"\0")?.split(|octet| *octet == 0);
        let mut here: Option<Arc<LevelByLevel>> = None;
        let mut depth = 0;
        for name in names {
            let level = here.as_deref().unwrap_or(self);
            let children = level.children.read().unwrap_or_else(PoisonError::into_inner);
            let child = children.get(name).cloned()?;
            drop(children);
            here = Some(child);
            depth += 1;
        }
        Some(depth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_followed_one_by_one() {
        let levels = LevelByLevel::chain(["a", "b", "c"].into_iter());
        // CB 'P', the length of the path, the path, an id.
        let key = |path: &[u8]| [b"\xCBP\0".as_slice(), &[path.len() as u8], path, b"id"].concat();
        assert_eq!(levels.find(&key(b"a\0b\0c\0")), Some(3));
        assert_eq!(levels.find(&key(b"a\0b\0")), Some(2));
        assert_eq!(levels.find(&key(b"a\0c\0")), None);
        assert_eq!(levels.find(b"not a key"), None);
    }
}
