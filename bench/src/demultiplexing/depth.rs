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
use corbie_poa::measure::LevelByLevel;
use std::hint::black_box;
use std::sync::Arc;

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
