//! From an object key to the servant and its operation, within one process: what the experiments
//! `poa-depth`, `servant-demux`, `operation-demux` and `reverse-lookup` do (paper POA §2.2).
//!
//! The steps are those of a request, by the code of a request (`corbie_poa::measure`). Beside them
//! stand what a POA can be told to do instead, and what the paper's TAO did.

pub(crate) mod depth;
pub(crate) mod operations;
pub(crate) mod reverse;
pub(crate) mod servants;

use crate::driver::Failure;
use crate::local::Task;
use corbie::{Object, Orb, Poa, Servant, ServerRequest, SystemException};
use corbie_poa::measure::Demultiplexer;

/// A server that no other process calls.
struct Server {
    orb: Orb,
    root: Poa,
    demultiplexer: Demultiplexer,
}

impl Server {
    fn start() -> Result<Server, Failure> {
        let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
        let root = orb.root_poa()?;
        root.the_poa_manager().activate()?;
        let demultiplexer = Demultiplexer::of(&root);
        Ok(Server { orb, root, demultiplexer })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.orb.shutdown(false);
    }
}

/// A servant that is found and not called.
struct Found;

impl Servant for Found {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Bench/Found:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        Err(request.unknown_operation())
    }
}

/// The object key of a reference.
fn key_of(object: &Object) -> Result<Vec<u8>, Failure> {
    object.object_key().ok_or_else(|| "a reference without a profile".into())
}

/// Numbers below `count`, each once, in an order that looks random and is always the same.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for at in (1..count).rev() {
        // Xorshift: quick, and good enough to defeat a prefetcher.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(at, (state % (at as u64 + 1)) as usize);
    }
    order
}

/// In which order things are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// A few of them, spread evenly, again and again: what is needed stays in the cache.
    Hot,
    /// All of them, shuffled: beyond the cache's size every step misses.
    Random,
    /// All of them as they stand in memory: the processor fetches ahead.
    Sequential,
}

/// How many are hot.
const HOT: usize = 64;

impl Access {
    fn of(task: &Task<'_>, place: usize) -> Result<Access, Failure> {
        match task.word(place)? {
            "hot" => Ok(Access::Hot),
            "random" => Ok(Access::Random),
            "sequential" => Ok(Access::Sequential),
            other => Err(format!("there is no access `{other}`").into()),
        }
    }

    /// Which of `count` things are asked for, in this order.
    fn order(self, count: usize) -> Vec<usize> {
        match self {
            Access::Hot => (0..count).step_by(count.div_ceil(HOT).max(1)).collect(),
            Access::Sequential => (0..count).collect(),
            Access::Random => shuffled(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_access_asks_for_what_there_is() {
        for count in [1, 5, 64, 65, 1_000] {
            for access in [Access::Hot, Access::Random, Access::Sequential] {
                let mut order = access.order(count);
                let different = order.len();
                assert!(!order.is_empty() && order.iter().all(|at| *at < count));
                order.sort_unstable();
                order.dedup();
                assert_eq!(order.len(), different, "{access:?} of {count}");
                let expected = if access == Access::Hot { count.min(HOT) } else { count };
                assert!(different <= expected && different > expected / 2, "{access:?}");
            }
        }
        assert_ne!(shuffled(100), (0..100).collect::<Vec<_>>());
    }
}
