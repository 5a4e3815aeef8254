//! `servant-demux`: finding a servant among many of one POA, by each strategy that a POA can be
//! told to use (paper POA figure 5), and the whole way of a request from its key to the operation.

use super::{Access, Found, Server, key_of, operations};
use crate::driver::Failure;
use crate::local::{self, Task};
use crate::orders::Answer;
use corbie::ServantDemux;
use corbie_poa::measure::ServantTable;
use std::hint::black_box;
use std::sync::Arc;

/// Operations of the skeleton in the whole way, and levels of POAs above the servant.
const OPERATIONS: u64 = 100;
const LEVELS: u32 = 3;

/// Servants as the experiment says.
///
/// # Errors
/// When the words name no strategy or access.
pub(crate) fn measure(task: &Task<'_>) -> Result<Answer, Failure> {
    let access = Access::of(task, 1)?;
    let demux = match task.word(0)? {
        "active" => ServantDemux::Active,
        "dynamic-hash" => ServantDemux::DynamicHash,
        "linear" => ServantDemux::Linear,
        "full" => return full(task, access),
        other => return Err(format!("there is no strategy `{other}`").into()),
    };
    let servants = u32::try_from(task.size)?;
    let table = ServantTable::new(demux, false, servants)?;
    let order = access.order(servants as usize);
    let keys: Vec<Vec<u8>> = order.into_iter().map(|at| table.key(at as u32)).collect();
    let mut next = keys.iter().cycle();
    local::count(task.window, |_| {
        let key = next.next().ok_or("there are no keys")?;
        black_box(table.find(black_box(key)).ok_or("no servant was found")?);
        Ok(())
    })
}

/// Key to POA to servant, entered, to the operation's index in the skeleton.
fn full(task: &Task<'_>, access: Access) -> Result<Answer, Failure> {
    let server = Server::start()?;
    let mut poa = server.root.clone();
    for level in 0..LEVELS {
        let manager = server.root.the_poa_manager();
        poa = poa.create_poa(&format!("level_{level}"), Some(&manager), &[])?;
    }
    let mut ids = Vec::new();
    for _ in 0..task.size {
        ids.push(poa.activate_object(Arc::new(Found))?);
    }
    let mut keys = Vec::new();
    for at in access.order(ids.len()) {
        keys.push(key_of(&poa.id_to_reference(&ids[at])?)?);
    }
    let names = operations::names(OPERATIONS);
    let table = operations::perfect(&names)?;
    let (mut next, mut name) = (keys.iter().cycle(), names.iter().cycle());
    local::count(task.window, |_| {
        let key = next.next().ok_or("there are no keys")?;
        let name = name.next().ok_or("there are no operations")?;
        let found = server.demultiplexer.enter(black_box(key), |servant| {
            black_box(std::ptr::from_ref(servant));
            table.lookup(black_box(name))
        });
        black_box(found.flatten().ok_or("no operation was found")?);
        Ok(())
    })
}
