//! What a soak is to do: how long, by which seed, with which program. Set by `main.rs`, read by
//! `system.rs`.

use std::path::PathBuf;
use std::time::Duration;

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub enum Length {
    /// So long.
    Time(Duration),
    /// Until so many processes were killed.
    Kills(usize),
}

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program `corbie`.
    pub corbie: PathBuf,
    /// How long to go on.
    pub length: Length,
    /// By which victims are chosen.
    pub seed: u64,
    /// Whether there is a durable channel, and the server of the channels is killed, too.
    pub is_durable: bool,
}
