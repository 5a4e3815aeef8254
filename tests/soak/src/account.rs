//! What was acknowledged to suppliers and what consumers got, and what of it breaks a promise.
//! Filled by `participant` from the lines that the processes print; no process or clock is here.
//!
//! An event is the text `SLOT.LIFE:NUMBER`: the supplier's place, which of its lives (it was killed
//! and replaced between them), and its number in that life, from 0. Now and then it has a padding
//! of up to 64 KiB, which is known from these and has to arrive whole.

use corbie_testkit::Seed;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One life of a supplier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Life {
    pub(crate) slot: usize,
    pub(crate) life: usize,
}

/// One event in so many has a padding.
const LARGE: usize = 128;

/// What an event is called.
pub(crate) fn name(of: Life, number: u64) -> String {
    format!("{}.{}:{number}", of.slot, of.life)
}

/// The text of an event.
pub(crate) fn text(of: Life, number: u64) -> String {
    let (letter, octets) = padding(of, number);
    let mut text = name(of, number);
    if octets > 0 {
        text.push('/');
        text.extend(std::iter::repeat_n(letter, octets));
    }
    text
}

/// What follows the name of an event: a letter, so many times. Nothing, or 1, 4, 16 or 64 KiB.
fn padding(of: Life, number: u64) -> (char, usize) {
    let mixed = (of.slot as u64) << 48 ^ (of.life as u64) << 32 ^ number;
    let mut seed = Seed::new(mixed);
    if seed.below(LARGE) > 0 {
        return ('-', 0);
    }
    let letter = char::from(b'a' + seed.below(26) as u8);
    (letter, 1024 << (2 * seed.below(4)))
}

/// What a text says; `None` when that is nothing, or its padding is not as it was.
pub(crate) fn parse(text: &str) -> Option<(Life, u64)> {
    let (name, found) = text.split_once('/').unwrap_or((text, ""));
    let (of, number) = name.split_once(':')?;
    let (slot, life) = of.split_once('.')?;
    let of = Life { slot: slot.parse().ok()?, life: life.parse().ok()? };
    let number = number.parse().ok()?;
    let (letter, octets) = padding(of, number);
    let is_whole = found.len() == octets && found.chars().all(|found| found == letter);
    is_whole.then_some((of, number))
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
            return Err(format!("{} was acknowledged, {next} was to be", name(of, number)));
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
    /// One more than the highest that came.
    next: u64,
    /// What came last.
    last: u64,
    /// What came before that.
    before: u64,
    /// Events between the first and the highest that never came.
    missing: BTreeSet<u64>,
    /// How many deaths of the consumer there had been when the last one came.
    deaths: u64,
}

enum Coming {
    New,
    Again,
    Late,
}

impl Seen {
    /// How many events between these two had come before.
    fn passed_over(&self, last: u64, number: u64) -> u64 {
        let between = last + 1..number.min(self.next);
        between.filter(|passed| !self.missing.contains(passed)).count() as u64
    }

    fn take(&mut self, number: u64) -> Coming {
        if number < self.first {
            self.missing.extend(number + 1..self.first);
            self.first = number;
            return Coming::Late;
        }
        if number < self.next {
            return if self.missing.remove(&number) { Coming::Late } else { Coming::Again };
        }
        self.missing.extend(self.next..number);
        self.next = number + 1;
        Coming::New
    }
}

/// What one consumer got, over all its lives.
///
/// A durable channel gives every event at least once, in the order of its supplier: it may go back,
/// and gives everything from there again. The event that a consumer had taken when it died appears
/// in no output, and may come after all when the channel goes back: one a death comes late. A push
/// that was on its way when the server died is taken beside those of its next life: one comes out
/// of its turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    /// How often it died with an event that it may have taken and not shown.
    deaths: u64,
    /// Its channel keeps little: what has come before may be dropped when it is to come again.
    is_of_little: bool,
    /// Events that may come out of their turn: the server died when they were on their way.
    strays: u64,
    /// Events that came for the first time when younger ones of their supplier had.
    late: u64,
    seen: BTreeMap<Life, Seen>,
    /// All lines.
    pub(crate) events: u64,
    /// Events that came again.
    pub(crate) again: u64,
    /// Where the first event is missing that others of its supplier follow.
    first_missing: Option<String>,
    /// What was not simply the next, for messages: the last few.
    trail: VecDeque<String>,
}

impl Received {
    /// Of a consumer whose channel drops what it cannot keep.
    pub(crate) fn of_little() -> Self {
        Self { is_of_little: true, ..Self::default() }
    }

    /// The consumer was killed, and what it had pulled and not shown is lost: one event.
    pub(crate) fn died(&mut self) {
        self.deaths += 1;
    }

    /// It begins a new life, in which nothing is on its way to it.
    pub(crate) fn begins(&mut self) {
        self.strays = 0;
        self.note("it began anew".to_owned());
    }

    /// Keeps something for messages.
    fn note(&mut self, what: String) {
        const NOTES: usize = 8;
        self.trail.push_back(what);
        self.trail.drain(..self.trail.len().saturating_sub(NOTES));
    }

    /// What was notable before.
    fn trail(&self) -> String {
        self.trail.iter().map(String::as_str).collect::<Vec<_>>().join("; ")
    }

    /// How many events it may have died with.
    pub(crate) fn deaths(&self) -> u64 {
        self.deaths
    }

    /// The server died, and a push of one event may have been on its way. Those of earlier deaths
    /// have been taken, but perhaps the last one, unless the consumer hangs.
    pub(crate) fn was_left(&mut self, hangs: bool) {
        self.strays = if hangs { self.strays + 1 } else { (self.strays + 1).min(2) };
        self.note(format!("the server died{}", if hangs { ", and it hung" } else { "" }));
    }

    /// An event came.
    ///
    /// # Errors
    /// It came out of order: late, or after others were passed over that had come before.
    pub(crate) fn take(&mut self, of: Life, number: u64) -> Result<(), String> {
        self.events += 1;
        let deaths = self.deaths;
        let Some(seen) = self.seen.get_mut(&of) else {
            let (first, next, last, before) = (number, number + 1, number, number);
            let missing = BTreeSet::new();
            self.seen.insert(of, Seen { first, next, last, before, missing, deaths });
            return Ok(());
        };
        let last = std::mem::replace(&mut seen.last, number);
        let before = std::mem::replace(&mut seen.before, last);
        let deaths_between = deaths - std::mem::replace(&mut seen.deaths, deaths);
        let is_after_a_gap = number > seen.next;
        let had = seen.passed_over(last, number);
        let is_last_out_of_turn = seen.passed_over(before, number) <= deaths_between;
        let coming = seen.take(number);
        let is_stray = had > deaths_between && self.strays > 0 && !self.is_of_little;
        if is_stray && !is_last_out_of_turn {
            // It is this one that is out of its turn, and not the last.
            (seen.last, seen.before) = (last, before);
        }
        if number == last + 1 && matches!(coming, Coming::New) {
            return Ok(());
        }
        let place = format!("{} came after {}", name(of, number), name(of, last));
        match coming {
            Coming::New => {}
            Coming::Again => self.again += 1,
            Coming::Late => self.late += 1,
        }
        if number != last + 1 {
            self.note(place.clone());
        }
        if is_after_a_gap {
            self.first_missing.get_or_insert_with(|| place.clone());
        }
        if self.late > deaths {
            let late = self.late;
            return Err(format!("{place}, the {late}. that came late, of {deaths} that may"));
        }
        if had <= deaths_between || self.is_of_little {
            return Ok(());
        }
        if self.strays == 0 {
            let trail = self.trail();
            return Err(format!("{place}, though {had} between these had come before ({trail})"));
        }
        self.strays -= 1;
        Ok(())
    }

    /// Events that came, each counted once.
    pub(crate) fn different(&self) -> u64 {
        self.events - self.again
    }

    /// Whether anything of a supplier came.
    pub(crate) fn has(&self, of: Life) -> bool {
        self.seen.contains_key(&of)
    }

    /// What is missing between the first and the last event that came, of each supplier.
    pub(crate) fn gaps(&self) -> Option<String> {
        let missing: usize = self.seen.values().map(|seen| seen.missing.len()).sum();
        let place = self.first_missing.as_ref().filter(|_| missing > 0);
        place.map(|place| format!("{missing} are missing: {place}"))
    }

    /// The first event that was acknowledged and did not come, though the consumer was there from
    /// the beginning.
    pub(crate) fn lacks(&self, acknowledged: &Acknowledged) -> Option<String> {
        acknowledged.0.iter().filter(|(_, count)| **count > 0).find_map(|(of, count)| {
            match self.seen.get(of) {
                None => Some(format!("all {count} of {} are missing", name(*of, 0))),
                Some(seen) if seen.first > 0 => {
                    Some(format!("{} is missing: the first is {}", name(*of, 0), seen.first))
                }
                Some(seen) if seen.next < *count => Some(format!(
                    "{} was acknowledged and is missing: the last is {}",
                    name(*of, count - 1),
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
            Some(seen) => seen.first + seen.missing.len() as u64 + count.saturating_sub(seen.next),
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
        let texts: Vec<String> = (0..5000).map(|number| text(A, number)).collect();
        for (number, text) in (0..).zip(&texts) {
            assert_eq!(parse(text), Some((A, number)));
        }
        let large = texts.iter().filter(|text| text.len() > 60 << 10);
        assert!(large.clone().count() > 0);
        for text in large {
            assert_eq!(parse(&text[..text.len() - 1]), None, "it is cut");
            assert_eq!(parse(&text.replacen("/", "/-", 1)), None, "it is another one");
        }
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

    /// What a consumer gets that is killed at each `None`.
    fn mortal(numbers: &[Option<u64>]) -> Result<Received, String> {
        let mut received = Received::default();
        numbers.iter().try_for_each(|number| match number {
            Some(number) => received.take(A, *number),
            None => {
                received.died();
                Ok(())
            }
        })?;
        Ok(received)
    }

    #[test]
    fn what_a_dead_consumer_had_taken_may_come_when_the_channel_goes_back() {
        let acknowledged = Acknowledged(BTreeMap::from([(A, 4)]));
        let first = [None, Some(1), Some(0), Some(1), Some(2), Some(3)];
        let middle = [Some(0), None, Some(2), Some(1), Some(2), Some(3)];
        for numbers in [first, middle] {
            let got = mortal(&numbers).unwrap();
            assert_eq!((got.again, got.gaps(), got.lacks(&acknowledged)), (1, None, None));
            assert_eq!(got.count_lacking(&acknowledged, |_| true), 0);
            let immortal: Vec<u64> = numbers.iter().copied().flatten().collect();
            assert!(received(&immortal).is_err(), "no other process died with it");
        }
        assert!(mortal(&[None, Some(2), Some(0), Some(1), Some(2)]).is_err(), "it had but one");
        let never = mortal(&[Some(0), None, Some(2), Some(3)]).unwrap();
        assert_eq!(never.count_lacking(&acknowledged, |_| true), 1);
    }

    #[test]
    fn a_channel_that_goes_back_gives_all_from_there() {
        assert!(received(&[2, 3, 4, 4, 2, 3, 4, 3, 4, 5]).is_ok());
        for swapped in [&[1, 0, 2][..], &[0, 1, 3, 2, 4], &[0, 1, 2, 3, 0, 2]] {
            assert!(received(swapped).is_err(), "{swapped:?}");
        }
        let lives = |before: &[u64], behind: &[u64]| {
            let some = |numbers: &[u64]| numbers.iter().copied().map(Some).collect::<Vec<_>>();
            mortal(&[some(before), vec![None], some(behind)].concat())
        };
        assert!(lives(&[0, 1, 2, 0], &[2, 3]).is_ok(), "it died with 1, as it came again");
        assert!(lives(&[0, 1, 2, 3, 0], &[3]).is_err(), "it had but one event");
        assert!(lives(&[], &[1, 0, 2]).is_err(), "1 has to come again behind 0");
        let mut little = Received::of_little();
        for number in [0, 1, 2, 3, 0, 2, 9] {
            assert_eq!(little.take(A, number), Ok(()), "1 was dropped before it came again");
        }
        assert_eq!(little.count_lacking(&Acknowledged(BTreeMap::from([(A, 10)])), |_| true), 5);
    }

    #[test]
    fn a_push_of_a_dead_server_may_come_out_of_its_turn() {
        let take = |strays: &[bool], numbers: &[u64]| {
            let mut received = Received::default();
            strays.iter().for_each(|hangs| received.was_left(*hangs));
            numbers.iter().try_for_each(|number| received.take(A, *number))
        };
        // 5 was on its way; the next life of the server began again at 3.
        for numbers in [&[3, 4, 3, 5, 4, 5, 6][..], &[3, 4, 3, 4, 5, 6, 5, 7], &[3, 4, 5, 3, 4, 5]]
        {
            assert!(take(&[false], numbers).is_ok(), "{numbers:?}");
        }
        assert!(take(&[], &[3, 4, 3, 5, 4, 5]).is_err(), "no server died");
        assert!(take(&[], &[3, 4, 5, 6, 5, 7]).is_err(), "no server died");
        let thrice = [3, 4, 3, 5, 3, 5, 3, 5, 4, 5];
        assert!(take(&[false; 3], &thrice).is_err(), "the first was taken long ago");
        assert!(take(&[true; 3], &thrice).is_ok(), "it hung all the time");
    }
}
