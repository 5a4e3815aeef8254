//! `operation-demux`: finding the operation that a request names, in the tables that generated
//! skeletons hold (paper POA figure 7), and in a hash table made at run time.

use super::Access;
use crate::driver::Failure;
use crate::local::{self, Task};
use crate::orders::Answer;
use corbie::codegen::{BinarySearch, LinearSearch, PerfectHash};
use std::collections::HashMap;
use std::hint::black_box;

/// Operations as the experiment says.
///
/// # Errors
/// When the words name no strategy or access.
pub(crate) fn measure(task: &Task<'_>) -> Result<Answer, Failure> {
    let names = names(task.size);
    // What a request names lies in the request, not in the table.
    let order = Access::of(task, 1)?.order(names.len());
    let asked: Vec<(String, usize)> = order.into_iter().map(|at| (names[at].clone(), at)).collect();
    match task.word(0)? {
        "perfect" => {
            let table = perfect(&names)?;
            find_operations(task, &asked, |name| table.lookup(name))
        }
        "binary" => {
            let mut sorted: Vec<(&'static str, u16)> = leaked(&names);
            sorted.sort_unstable();
            let table = BinarySearch { names: sorted.leak() };
            find_operations(task, &asked, |name| table.lookup(name))
        }
        "linear" => {
            let names: Vec<&'static str> = leaked(&names).into_iter().map(|(n, _)| n).collect();
            let table = LinearSearch { names: names.leak() };
            find_operations(task, &asked, |name| table.lookup(name))
        }
        "dynamic-hash" => {
            let table: HashMap<&str, usize> =
                names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
            find_operations(task, &asked, |name| table.get(name).copied())
        }
        other => Err(format!("there is no strategy `{other}`").into()),
    }
}

fn find_operations(
    task: &Task<'_>,
    asked: &[(String, usize)],
    lookup: impl Fn(&str) -> Option<usize>,
) -> Result<Answer, Failure> {
    let mut next = asked.iter().cycle();
    local::count(task.window, |_| {
        let (name, at) = next.next().ok_or("there are no operations")?;
        match lookup(black_box(name)) {
            Some(found) if found == *at => Ok(()),
            other => Err(format!("{name} was found at {other:?}, not at {at}").into()),
        }
    })
}

/// Names as operations have them, all of one length, so that only their number varies.
pub(super) fn names(count: u64) -> Vec<String> {
    (0..count).map(|number| format!("get_value_{number:04}")).collect()
}

/// The table that the generator would make, made now. It lives as long as the process, as a
/// skeleton's does.
///
/// # Errors
/// When there are too many.
pub(super) fn perfect(names: &[String]) -> Result<PerfectHash, Failure> {
    let strings: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = corbie_codegen::perfect_hash::build(&strings).ok_or("no perfect hash")?;
    let names = leaked(names);
    let slots: Vec<_> = found.slots.iter().map(|index| names[usize::from(*index)]).collect();
    let (seed, displacements) = (found.seed, found.displacements.leak());
    Ok(PerfectHash { seed, displacements, slots: slots.leak() })
}

/// Names for a static table, each with its number.
fn leaked(names: &[String]) -> Vec<(&'static str, u16)> {
    let leak = |name: &String| -> &'static str { name.clone().leak() };
    names.iter().map(leak).zip(0..).collect()
}
