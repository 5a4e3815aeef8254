//! One direction of the simulated network: what is under way and when it arrives.
//! Owned by the sending end of a `Pair`.

use std::collections::VecDeque;

use super::{NetworkConditions, Seed};

/// What arrives at the other end.
#[derive(Clone, Debug)]
pub(super) enum Delivery {
    Octets(Vec<u8>),
    /// The sender closed; nothing comes after.
    End,
}

/// Octets under way, in order; the times never decrease.
#[derive(Debug, Default)]
pub(super) struct Link {
    under_way: VecDeque<(u64, Delivery)>,
    last_us: u64,
}

impl Link {
    pub(super) fn send(
        &mut self,
        mut octets: &[u8],
        now_us: u64,
        conditions: NetworkConditions,
        seed: &mut Seed,
    ) {
        while !octets.is_empty() {
            let most = octets.len().min(conditions.chunk_octets_max.max(1));
            let size = if most == octets.len() && conditions.chunk_octets_max == usize::MAX {
                most
            } else {
                1 + seed.below(most)
            };
            let (chunk, rest) = octets.split_at(size);
            octets = rest;
            let jitter = if conditions.jitter_us == 0 {
                0
            } else {
                seed.next_u64() % (conditions.jitter_us + 1)
            };
            let arrives = now_us + conditions.latency_us + jitter;
            self.put(arrives, Delivery::Octets(chunk.to_vec()));
        }
    }

    pub(super) fn close(&mut self, now_us: u64, conditions: NetworkConditions) {
        self.put(now_us + conditions.latency_us, Delivery::End);
    }

    pub(super) fn lose(&mut self) {
        self.under_way.clear();
    }

    fn put(&mut self, arrives_us: u64, delivery: Delivery) {
        self.last_us = self.last_us.max(arrives_us);
        self.under_way.push_back((self.last_us, delivery));
    }

    pub(super) fn next_delivery(&self) -> Option<u64> {
        self.under_way.front().map(|(time, _)| *time)
    }

    pub(super) fn take_delivery(&mut self) -> Option<Delivery> {
        self.under_way.pop_front().map(|(_, delivery)| delivery)
    }
}
