//! What a connection last heard of its peer, and when, in one word: written by the thread that
//! reads, once a message; read by the housekeeping that closes silent and slow connections.

use corbie_giop::Version;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
pub struct Activity(AtomicU64);

/// What was heard last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Heard {
    /// Nothing since it was accepted.
    Nothing,
    /// A whole message.
    Message,
    /// Part of a message.
    Part,
}

/// The ORB's clock tick, above the minor version and what was heard.
const TICK_SHIFT: u32 = 16;
const MINOR_SHIFT: u32 = 8;

impl Activity {
    /// Of a connection that was accepted at `tick`. Until the first message, what we say on our own
    /// account is said in our highest `version`.
    pub fn new(tick: u64, version: Version) -> Self {
        Activity(AtomicU64::new(pack(tick, version.minor, Heard::Nothing)))
    }

    /// A message came at `tick`; `awaited`: a part of another is here, which began then.
    #[inline]
    pub fn note_message(&self, tick: u64, version: Version, awaited: Option<u64>) {
        let (since, heard) = match awaited {
            Some(begun) => (begun, Heard::Part),
            None => (tick, Heard::Message),
        };
        self.0.store(pack(since, version.minor, heard), Ordering::Relaxed);
    }

    /// This end says something in `version`.
    #[inline]
    pub fn note_version(&self, version: Version) {
        if self.version() != version {
            let word = pack(self.since(), version.minor, self.heard());
            self.0.store(word, Ordering::Relaxed);
        }
    }

    /// A part of a message is here, and more is awaited.
    #[inline]
    pub fn note_part(&self, tick: u64) {
        if self.heard() != Heard::Part {
            let minor = self.version().minor;
            self.0.store(pack(tick, minor, Heard::Part), Ordering::Relaxed);
        }
    }

    /// No message is awaited: that one is incomplete is not the peer's fault.
    pub fn excuse_peer(&self) {
        if self.heard() == Heard::Part {
            let minor = self.version().minor;
            self.0.store(pack(self.since(), minor, Heard::Message), Ordering::Relaxed);
        }
    }

    /// What was heard last.
    #[inline]
    pub fn heard(&self) -> Heard {
        match self.0.load(Ordering::Relaxed) as u8 {
            0 => Heard::Nothing,
            1 => Heard::Message,
            _ => Heard::Part,
        }
    }

    /// The tick at which that began.
    pub fn since(&self) -> u64 {
        self.0.load(Ordering::Relaxed) >> TICK_SHIFT
    }

    /// The version of the peer's last message.
    pub fn version(&self) -> Version {
        let minor = (self.0.load(Ordering::Relaxed) >> MINOR_SHIFT) as u8;
        Version { minor, ..Version::V1_2 }
    }
}

fn pack(tick: u64, minor: u8, heard: Heard) -> u64 {
    tick << TICK_SHIFT | u64::from(minor) << MINOR_SHIFT | heard as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_counts_from_when_it_began_until_the_message_is_whole_or_excused() {
        let activity = Activity::new(7, Version::V1_2);
        assert_eq!((activity.heard(), activity.since()), (Heard::Nothing, 7));
        activity.note_part(8);
        activity.note_part(9);
        assert_eq!((activity.heard(), activity.since()), (Heard::Part, 8));
        activity.note_message(10, Version::V1_0, None);
        assert_eq!((activity.heard(), activity.since()), (Heard::Message, 10));
        assert_eq!(activity.version(), Version::V1_0);
        activity.note_message(11, Version::V1_1, Some(9));
        activity.note_part(12);
        assert_eq!((activity.heard(), activity.since()), (Heard::Part, 9));
        activity.excuse_peer();
        assert_eq!((activity.heard(), activity.version()), (Heard::Message, Version::V1_1));
    }
}
