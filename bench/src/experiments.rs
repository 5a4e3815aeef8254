//! Every experiment there is. A new one is a file below `experiments/` and a line in the table.
//!
//! `main.rs` and `command_line.rs` look names up here; `count.rs` takes contenders from here.

pub(crate) mod amh_clients;
pub(crate) mod amh_delay;
pub(crate) mod ami_latency;
pub(crate) mod ami_throughput;
pub(crate) mod bandwidth;
pub(crate) mod buffers;
pub(crate) mod collocation;
pub(crate) mod event_throughput;
pub(crate) mod gioplite;
pub(crate) mod mshn;
pub(crate) mod mshn_replicas;
pub(crate) mod naming;
pub(crate) mod operation_demux;
pub(crate) mod poa_depth;
pub(crate) mod reverse_lookup;
pub(crate) mod servant_demux;
pub(crate) mod tls;

#[cfg(test)]
mod tests;

use crate::experiment::Experiment;

/// Every experiment there is, in the order of `experiments.md`.
pub(crate) const EXPERIMENTS: &[&Experiment] = &[
    &ami_latency::EXPERIMENT,
    &ami_throughput::EXPERIMENT,
    &amh_clients::EXPERIMENT,
    &amh_delay::EXPERIMENT,
    &poa_depth::EXPERIMENT,
    &servant_demux::EXPERIMENT,
    &operation_demux::EXPERIMENT,
    &reverse_lookup::EXPERIMENT,
    &collocation::EXPERIMENT,
    &gioplite::EXPERIMENT,
    &buffers::EXPERIMENT,
    &event_throughput::EXPERIMENT,
    &bandwidth::EXPERIMENT,
    &tls::EXPERIMENT,
    &naming::EXPERIMENT,
    &mshn::EXPERIMENT,
    &mshn_replicas::EXPERIMENT,
];
