//! What was acknowledged to suppliers and what consumers got, and what of it breaks a promise.
//! Filled by `participant` from the lines that the processes print; no process or clock is here.
//!
//! An event is the text `SLOT.LIFE:NUMBER`: the supplier's place, which of its lives (it was killed
//! and replaced between them), and its number in that life, from 0.

use std::collections::BTreeMap;

/// One life of a supplier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Life {
    pub(crate) slot: usize,
    pub(crate) life: usize,
}

/// The text of an event.
pub(crate) fn text(of: Life, number: u64) -> String {
    format!("{}.{}:{number}", of.slot, of.life)
}

/// What a text says.
pub(crate) fn parse(text: &str) -> Option<(Life, u64)> {
    let (of, number) = text.split_once(':')?;
    let (slot, life) = of.split_once('.')?;
    let of = Life { slot: slot.parse().ok()?, life: life.parse().ok()? };
    Some((of, number.parse().ok()?))
}

/// How many events of each life were acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acknowledged(pub(crate) BTreeMap<Life, u64>);

impl Acknowledged {
    /// The next acknowledgement.
    ///
    /// # Errors
    /// It is not the next.
    pub(crate) fn take(&mut self, of: Life, number: u64) -> Result<(), String> {
        let next = self.0.entry(of).or_default();
        if number != *next {
            return Err(format!("{} was acknowledged, {next} was to be", text(of, number)));
        }
        *next += 1;
        Ok(())
    }

    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// What one consumer got of one life of a supplier.
#[derive(Clone, Debug)]
struct Seen {
    first: u64,
    next: u64,
    /// Events between these that never came.
    missing: u64,
}

/// What one consumer got.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    seen: BTreeMap<Life, Seen>,
    /// All lines.
    pub(crate) events: u64,
    /// Events that came again.
    pub(crate) again: u64,
    /// Where the first event is missing that others of its supplier follow.
    first_missing: Option<String>,
}

impl Received {
    /// An event came.
    ///
    /// # Errors
    /// It came before those before it: what came again begins with what came already.
    pub(crate) fn take(&mut self, of: Life, number: u64) -> Result<(), String> {
        self.events += 1;
        let seen = self.seen.entry(of).or_insert(Seen { first: number, next: number, missing: 0 });
        if number < seen.first {
            return Err(format!("{} came after {}", text(of, number), text(of, seen.first)));
        }
        if number < seen.next {
            self.again += 1;
            return Ok(());
        }
        if number > seen.next {
            seen.missing += number - seen.next;
            let place = format!("{} came after {}", text(of, number), text(of, seen.next - 1));
            self.first_missing.get_or_insert(place);
        }
        seen.next = number + 1;
        Ok(())
    }

    /// Whether anything of a supplier came.
    pub(crate) fn has(&self, of: Life) -> bool {
        self.seen.contains_key(&of)
    }

    /// What is missing between the first and the last event that came, of each supplier.
    pub(crate) fn gaps(&self) -> Option<String> {
        let missing: u64 = self.seen.values().map(|seen| seen.missing).sum();
        self.first_missing.as_ref().map(|place| format!("{missing} are missing: {place}"))
    }

    /// The first event that was acknowledged and did not come, though the consumer was there from
    /// the beginning.
    pub(crate) fn lacks(&self, acknowledged: &Acknowledged) -> Option<String> {
        acknowledged.0.iter().filter(|(_, count)| **count > 0).find_map(|(of, count)| {
            match self.seen.get(of) {
                None => Some(format!("all {count} of {} are missing", text(*of, 0))),
                Some(seen) if seen.first > 0 => {
                    Some(format!("{} is missing: the first is {}", text(*of, 0), seen.first))
                }
                Some(seen) if seen.next < *count => Some(format!(
                    "{} was acknowledged and is missing: the last is {}",
                    text(*of, count - 1),
                    seen.next - 1
                )),
                Some(_) => None,
            }
        })
    }

    /// Events that were acknowledged and did not come, at the beginning, between and at the end;
    /// of the suppliers of some slots.
    pub(crate) fn count_lacking(
        &self,
        acknowledged: &Acknowledged,
        is_of: impl Fn(usize) -> bool,
    ) -> u64 {
        let of = acknowledged.0.iter().filter(|(of, _)| is_of(of.slot));
        let lacking = of.map(|(of, count)| match self.seen.get(of) {
            None => *count,
            Some(seen) => seen.first + seen.missing + count.saturating_sub(seen.next),
        });
        lacking.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Life = Life { slot: 1, life: 2 };

    fn received(numbers: &[u64]) -> Result<Received, String> {
        let mut received = Received::default();
        numbers.iter().try_for_each(|number| received.take(A, *number))?;
        Ok(received)
    }

    #[test]
    fn texts_say_what_they_were_made_of() {
        assert_eq!(parse(&text(A, 33)), Some((A, 33)));
        assert_eq!(parse("1.2"), None);
        assert_eq!(parse("1:2"), None);
    }

    #[test]
    fn acknowledgements_come_one_after_the_other() {
        let mut acknowledged = Acknowledged::default();
        acknowledged.take(A, 0).unwrap();
        acknowledged.take(A, 1).unwrap();
        assert!(acknowledged.take(A, 3).is_err());
        assert_eq!(acknowledged.total(), 2);
    }

    #[test]
    fn what_is_missing_is_found_wherever_it_is() {
        let acknowledged = Acknowledged(BTreeMap::from([(A, 5)]));
        assert_eq!(received(&[0, 1, 2, 3, 4]).unwrap().lacks(&acknowledged), None);
        let more = received(&[0, 1, 2, 3, 4, 5]).unwrap();
        assert_eq!((more.lacks(&acknowledged), more.gaps()), (None, None));
        for (numbers, lacking) in [(&[][..], 5), (&[1, 2, 3, 4], 1), (&[0, 1, 2], 2)] {
            let few = received(numbers).unwrap();
            assert!(few.lacks(&acknowledged).is_some(), "{numbers:?}");
            assert_eq!((few.gaps(), few.count_lacking(&acknowledged, |_| true)), (None, lacking));
        }
        let gap = received(&[0, 1, 4]).unwrap();
        assert!(gap.gaps().is_some_and(|text| text.starts_with("2 are missing: 1.2:4")));
        assert_eq!(gap.count_lacking(&acknowledged, |_| true), 2);
        assert_eq!(gap.count_lacking(&acknowledged, |slot| slot != A.slot), 0);
    }

    #[test]
    fn what_comes_again_is_counted_and_nothing_comes_before_the_first() {
        let again = received(&[3, 4, 5, 4, 5, 6]).unwrap();
        assert_eq!((again.again, again.gaps(), again.events), (2, None, 6));
        assert!(received(&[3, 2]).is_err());
    }
}
