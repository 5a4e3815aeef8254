//! The flow stack against a naive model that writes out the rules of the specification.

use super::*;

/// What one interceptor does at its starting and at its ending point.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Pass,
    Raise,
    Panic,
}

/// A small generator, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn act(&mut self) -> Act {
        match self.below(5) {
            0 => Act::Raise,
            1 if self.below(4) == 0 => Act::Panic,
            _ => Act::Pass,
        }
    }
}

fn exception(index: usize) -> SystemException {
    minor::NO_PERMISSION_ACCESS.no(format!("interceptor {index}"))
}

fn act(act: Act, index: usize) -> Result<(), Interruption> {
    match act {
        Act::Pass => Ok(()),
        Act::Raise => Err(exception(index).into()),
        Act::Panic => panic!("as asked"),
    }
}

/// One line for each point that the rules call, in order, and how the request ends.
fn model(starts: &[Act], ends: &[Act], attempt: &str) -> (Vec<String>, String) {
    let (mut lines, mut on_stack, mut ending) = (Vec::new(), Vec::new(), attempt.to_owned());
    for (index, start) in starts.iter().enumerate() {
        lines.push(format!("start {index}"));
        match start {
            Act::Pass => on_stack.push(index),
            Act::Raise => ending = format!("raised by {index}"),
            Act::Panic => ending = "panic".to_owned(),
        }
        if *start != Act::Pass {
            break;
        }
    }
    for index in on_stack.into_iter().rev() {
        lines.push(format!("end {index}: {ending}"));
        match ends[index] {
            Act::Pass => {}
            Act::Raise => ending = format!("raised by {index}"),
            Act::Panic => ending = "panic".to_owned(),
        }
    }
    (lines, ending)
}

fn in_words(ending: &FlowEnd) -> String {
    match ending {
        FlowEnd::Results => "results".to_owned(),
        FlowEnd::UserException(id) => id.clone(),
        FlowEnd::SystemException(e) if e.minor == minor::UNKNOWN_INTERCEPTOR_PANIC => {
            "panic".to_owned()
        }
        FlowEnd::SystemException(e) => {
            let detail = e.detail.clone().unwrap_or_default();
            format!("raised by {}", detail.trim_start_matches("interceptor "))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn the_stack_calls_what_the_rules_say() {
    let mut dice = Dice(7);
    for _ in 0..3_000 {
        let count = usize::try_from(dice.below(6)).expect("is small");
        let starts: Vec<Act> = (0..count).map(|_| dice.act()).collect();
        let ends: Vec<Act> = (0..count).map(|_| dice.act()).collect();
        let attempt = if dice.below(2) == 0 { "results" } else { "IDL:E:1.0" };
        let (mut stack, mut lines) = (FlowStack::default(), Vec::new());
        let started = stack.wind(count, |index| {
            lines.push(format!("start {index}"));
            act(starts[index], index)
        });
        let as_attempted = || match attempt {
            "results" => FlowEnd::Results,
            id => FlowEnd::UserException(id.to_owned()),
        };
        let is_started = started.is_ok();
        let mut ending = started.map_or_else(FlowEnd::from, |()| as_attempted());
        let is_changed = stack.unwind(&mut ending, |index, ending| {
            lines.push(format!("end {index}: {}", in_words(ending)));
            act(ends[index], index)
        });
        let (expected, ended) = model(&starts, &ends, attempt);
        assert_eq!((&lines, in_words(&ending)), (&expected, ended), "{starts:?} {ends:?}");
        assert!(stack.is_empty());
        assert!(is_changed || !is_started || in_words(&ending) == attempt);
    }
}

#[test]
fn each_ending_has_its_point_and_status() {
    let exception = exception(0);
    for (ending, point, status) in [
        (FlowEnd::Results, EndingPoint::Reply, ReplyStatus::Successful),
        (FlowEnd::UserException(String::new()), EndingPoint::Exception, ReplyStatus::UserException),
        (FlowEnd::SystemException(exception), EndingPoint::Exception, ReplyStatus::SystemException),
        (FlowEnd::Retry, EndingPoint::Other, ReplyStatus::TransportRetry),
        (FlowEnd::WithoutReply, EndingPoint::Other, ReplyStatus::Successful),
        (FlowEnd::Unknown, EndingPoint::Other, ReplyStatus::Unknown),
    ] {
        assert_eq!((ending.point(), ending.status()), (point, status), "{ending:?}");
    }
}
