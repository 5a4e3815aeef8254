//! Corbie's contenders: the strategies that the experiments compare.

use crate::contender::{Contender, Family};

/// Waiting by blocking on both sides.
pub(crate) fn smi(series: &str) -> Contender {
    Contender::new(series, "", Family::Corbie, BLOCK)
}

/// Waiting adaptively on both sides: spins while it pays.
pub(crate) fn smi_spin(series: &str) -> Contender {
    Contender::new(series, "", Family::Corbie, ADAPTIVE)
}

/// What is tried with many threads.
pub(crate) fn smi_configurations(series: &str) -> Vec<Contender> {
    vec![
        Contender::new(series, "thread per connection", Family::Corbie, BLOCK),
        Contender::new(series, "pool", Family::Corbie, POOL),
    ]
}

const BLOCK: &[&str] =
    &["-ORBWaitStrategy", "block", "-ORBServerConcurrency", "thread-per-connection"];
const ADAPTIVE: &[&str] =
    &["-ORBWaitStrategy", "adaptive", "-ORBServerConcurrency", "thread-per-connection"];
const POOL: &[&str] = &["-ORBWaitStrategy", "block", "-ORBServerConcurrency", "thread-pool"];
