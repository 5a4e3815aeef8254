//! Calls within one process: what the experiment `collocation` measures (paper POA §3.1).
//!
//! The same stub and the same servant, reached straight, through the POA, and over a connection;
//! beside them the servant as a trait object of Rust, which is what "as fast as a call of a local
//! object" means here.

#![allow(missing_docs, reason = "generated")]

use crate::driver::Failure;
use crate::local::{self, Task};
use crate::orders::Answer;
use corbie::{Orb, SystemException};
use std::hint::black_box;

corbie::include_idl!("cuber");

use collocated::{Cuber, CuberServant, CuberSkeleton, Longs};

struct Cubing;

impl CuberServant for Cubing {
    fn noop(&self) -> Result<(), SystemException> {
        Ok(())
    }

    fn cube(&self, values: &[i32]) -> Result<Longs, SystemException> {
        Ok(values.iter().map(|value| value.wrapping_mul(*value).wrapping_mul(*value)).collect())
    }
}

/// Calls as the first word says; with a size, sequences of so many longs, else nothing.
///
/// # Errors
/// When the word names no way.
pub(crate) fn measure(task: &Task<'_>) -> Result<Answer, Failure> {
    let settings: &[&str] = match task.word(0)? {
        "dyn" => return as_trait_object(task, black_box(&Cubing)),
        "direct" => &["-ORBCollocation", "global", "-ORBCollocationStrategy", "direct"],
        "poa" => &["-ORBCollocation", "global", "-ORBCollocationStrategy", "through-poa"],
        "none" => &["-ORBCollocation", "none"],
        other => return Err(format!("there is no way `{other}` to call").into()),
    };
    let listen = ["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    let orb = Orb::init(listen.iter().chain(settings).copied())?;
    let poa = orb.root_poa()?;
    poa.the_poa_manager().activate()?;
    let reference = poa.activate(CuberSkeleton::new(Cubing))?;
    let measured = through_reference(task, &reference);
    orb.shutdown(true);
    measured
}

fn as_trait_object(task: &Task<'_>, servant: &dyn CuberServant) -> Result<Answer, Failure> {
    let values = values(task);
    match task.size {
        0 => local::count(task.window, |_| Ok(black_box(servant).noop()?)),
        _ => local::count(task.window, |_| keep(black_box(servant).cube(black_box(&values)))),
    }
}

fn through_reference(task: &Task<'_>, reference: &Cuber) -> Result<Answer, Failure> {
    let values = values(task);
    let noop = |_| Ok(black_box(reference).noop()?);
    let cube = |_| keep(black_box(reference).cube(black_box(&values)));
    match (task.word(0)?, task.size) {
        ("none", 0) => local::count_with_waits(task.window, noop),
        ("none", _) => local::count_with_waits(task.window, cube),
        (_, 0) => local::count(task.window, noop),
        (_, _) => local::count(task.window, cube),
    }
}

fn keep(result: Result<Longs, SystemException>) -> Result<(), Failure> {
    black_box(result?);
    Ok(())
}

fn values(task: &Task<'_>) -> Vec<i32> {
    (0..task.size as i32).collect()
}
