//! `reverse-lookup`: from a servant to its object, with and without the map that the paper adds
//! (paper POA §2.2.4, figure 8).

use super::{Access, Found, Server};
use crate::driver::Failure;
use crate::local::{self, Task};
use crate::orders::Answer;
use corbie::{Servant, ServantDemux};
use corbie_poa::measure::ServantTable;
use std::hint::black_box;
use std::sync::Arc;

/// Servants as the experiment says.
///
/// # Errors
/// When the words name no way.
pub(crate) fn measure(task: &Task<'_>) -> Result<Answer, Failure> {
    let with_map = match task.word(0)? {
        "poa" => return of_poa(task),
        "map" => true,
        "search" => false,
        other => return Err(format!("there is no way `{other}`").into()),
    };
    let servants = u32::try_from(task.size)?;
    let table = ServantTable::new(ServantDemux::Active, with_map, servants)?;
    let order = Access::Random.order(servants as usize);
    let mut next = order.iter().cycle();
    local::count(task.window, |_| {
        let number = *next.next().ok_or("there are no servants")? as u32;
        black_box(table.find_id(black_box(number)).ok_or("no object was found")?);
        Ok(())
    })
}

/// `servant_to_id` of a POA with `UNIQUE_ID`.
fn of_poa(task: &Task<'_>) -> Result<Answer, Failure> {
    let server = Server::start()?;
    let manager = server.root.the_poa_manager();
    let poa = server.root.create_poa("unique", Some(&manager), &[])?;
    let mut servants: Vec<Arc<dyn Servant>> = Vec::new();
    for _ in 0..task.size {
        let servant: Arc<dyn Servant> = Arc::new(Found);
        poa.activate_object(Arc::clone(&servant))?;
        servants.push(servant);
    }
    let order = Access::Random.order(servants.len());
    let mut next = order.iter().cycle();
    local::count(task.window, |_| {
        let servant = &servants[*next.next().ok_or("there are no servants")?];
        black_box(poa.servant_to_id(black_box(servant))?);
        Ok(())
    })
}
