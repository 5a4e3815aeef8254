//! Points in time as the OMG counts them: `TimeBase::UtcT` (CORBA Messaging §22.2.4; Time Service
//! §1.3.2.4). Used by the policies with a start or an end, and by what of them travels.

use corbie_cdr::{Decoder, Encoder, Error, Marshal};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// From 15 October 1582, 0:00 UTC, to 1 January 1970, in units of 100 ns.
const UNIX_EPOCH_TICKS: u64 = 0x01B2_1DD2_1381_4000;

/// Ticks of 100 ns in a second.
const TICKS_PER_SECOND: u64 = 10_000_000;

/// A point in time: units of 100 ns since 15 October 1582, 0:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UtcT {
    /// The time, in units of 100 ns.
    pub time: u64,
    /// By how much it may be wrong: the low 32 bits, in units of 100 ns.
    pub inacclo: u32,
    /// The high 16 bits of that.
    pub inacchi: u16,
    /// Minutes by which local time is ahead of UTC; `time` is UTC all the same.
    pub tdf: i16,
}

impl UtcT {
    /// Now, by the clock of this machine.
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Now and `duration` more.
    #[must_use]
    pub fn after(duration: Duration) -> Self {
        let now = Self::now();
        UtcT { time: now.time.saturating_add(ticks(duration)), ..now }
    }

    /// How long it is until then: zero when that has passed.
    #[must_use]
    pub fn left(&self) -> Duration {
        let ticks = self.time.saturating_sub(Self::now().time);
        let rest = (ticks % TICKS_PER_SECOND) as u32 * 100;
        Duration::new(ticks / TICKS_PER_SECOND, rest)
    }

    /// Whether that time has come.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        Self::now().time >= self.time
    }
}

impl From<SystemTime> for UtcT {
    fn from(time: SystemTime) -> Self {
        let time = match time.duration_since(UNIX_EPOCH) {
            Ok(since) => UNIX_EPOCH_TICKS.saturating_add(ticks(since)),
            Err(before) => UNIX_EPOCH_TICKS.saturating_sub(ticks(before.duration())),
        };
        UtcT { time, ..UtcT::default() }
    }
}

fn ticks(duration: Duration) -> u64 {
    let rest = u64::from(duration.subsec_nanos() / 100);
    duration.as_secs().saturating_mul(TICKS_PER_SECOND).saturating_add(rest)
}

impl Marshal for UtcT {
    type Value = Self;
    const MIN_OCTETS: usize = 16;

    fn encode<'a>(value: &'a Self, e: &mut Encoder<'a>) -> Result<(), Error> {
        e.write_ulonglong(value.time);
        e.write_ulong(value.inacclo);
        e.write_ushort(value.inacchi);
        e.write_short(value.tdf);
        Ok(())
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(UtcT {
            time: d.read_ulonglong()?,
            inacclo: d.read_ulong()?,
            inacchi: d.read_ushort()?,
            tdf: d.read_short()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unix_epoch_is_where_the_specification_has_it() {
        // 141427 days lie between 15 October 1582 and 1 January 1970.
        assert_eq!(UtcT::from(UNIX_EPOCH).time, 141_427 * 86_400 * TICKS_PER_SECOND);
        let before = UNIX_EPOCH - Duration::from_micros(1);
        assert_eq!(UtcT::from(before).time, UNIX_EPOCH_TICKS - 10);
    }

    #[test]
    fn what_is_left_is_what_was_given() {
        let then = UtcT::after(Duration::from_secs(100));
        assert!(!then.has_passed());
        let left = then.left();
        assert!(left > Duration::from_secs(90) && left <= Duration::from_secs(100), "{left:?}");
        assert!(UtcT::now().has_passed());
        assert_eq!(UtcT::default().left(), Duration::ZERO);
    }
}
