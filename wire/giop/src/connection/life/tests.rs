//! The table of `Life`: every sequence of inputs against a model, and (loom) every interleaving of
//! threads that serve, answer later and close.

use super::{Life, Stage};
use crate::connection::word::Word;
use std::cell::Cell;

#[derive(Clone, Copy, Debug)]
enum Input {
    Begin,
    Keep,
    Finish,
    Close,
    CloseIfIdle,
    End,
    Gone,
}

const INPUTS: [Input; 7] = [
    Input::Begin,
    Input::Keep,
    Input::Finish,
    Input::Close,
    Input::CloseIfIdle,
    Input::End,
    Input::Gone,
];

/// The table of the module, written as it stands there: what is next, and what the call returns.
fn expected(stage: Stage, in_service: u32, input: Input) -> (Stage, u32, bool) {
    use Stage::{Closed, Closing, Ending, Open};
    match (stage, input) {
        (Open, Input::Begin) => (Open, in_service + 1, true),
        (_, Input::Begin) => (stage, in_service, false),
        (_, Input::Keep) => (stage, in_service + 1, false),
        (Closing, Input::Finish) if in_service == 1 => (Ending, 0, true),
        (_, Input::Finish) => (stage, in_service - 1, false),
        (Open, Input::Close) if in_service > 0 => (Closing, in_service, false),
        (Open, Input::Close) => (Ending, 0, true),
        (Open, Input::CloseIfIdle) if in_service == 0 => (Ending, 0, true),
        (Open | Closing, Input::End) => (Ending, in_service, true),
        (Open | Closing | Ending, Input::Gone) => (Closed, in_service, true),
        _ => (stage, in_service, false),
    }
}

#[test]
fn every_sequence_of_inputs_follows_the_table() {
    const LENGTH: u32 = 6;
    let mut seen = [0; 4];
    for number in 0..INPUTS.len().pow(LENGTH) {
        let life = Life::<Cell<u32>>::new();
        let (mut stage, mut in_service, mut rest) = (Stage::Open, 0, number);
        for _ in 0..LENGTH {
            let input = INPUTS[rest % INPUTS.len()];
            rest /= INPUTS.len();
            if in_service == 0 && matches!(input, Input::Keep | Input::Finish) {
                continue;
            }
            let result = match input {
                Input::Begin => life.begin(),
                Input::Keep => {
                    life.keep();
                    false
                }
                Input::Finish => life.finish(),
                Input::Close => life.close(),
                Input::CloseIfIdle => life.close_if_idle(),
                Input::End => life.end(),
                Input::Gone => life.gone(),
            };
            let next = expected(stage, in_service, input);
            let context = format!("{input:?} in {stage:?} with {in_service}, sequence {number}");
            assert_eq!((life.stage(), life.in_service(), result), next, "{context}");
            assert!(!matches!(input, Input::Begin) || life.has_declined() || result, "{context}");
            (stage, in_service, _) = next;
            seen[stage as usize] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 1000), "a stage was not reached: {seen:?}");
}

impl Word for loom::sync::atomic::AtomicU32 {
    fn new(value: u32) -> Self {
        loom::sync::atomic::AtomicU32::new(value)
    }

    fn load(&self) -> u32 {
        loom::sync::atomic::AtomicU32::load(self, std::sync::atomic::Ordering::Acquire)
    }

    fn exchange(&self, current: u32, new: u32) -> Result<(), u32> {
        use std::sync::atomic::Ordering::{AcqRel, Acquire};
        self.compare_exchange(current, new, AcqRel, Acquire).map(drop)
    }
}

/// One thread reads requests, of which it answers one and defers one; another answers that; a third
/// closes. CloseConnection is sent once, and behind every reply to a request that was begun.
#[test]
fn close_connection_is_said_once_and_never_a_lie() {
    use loom::sync::{Arc, Mutex};
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let life = Arc::new(Life::<loom::sync::atomic::AtomicU32>::new());
        let begun = Arc::new(Mutex::new(0));
        let said = Arc::new(Mutex::new(Vec::new()));
        let note = |word: &'static str| {
            let said = Arc::clone(&said);
            move || said.lock().unwrap().push(word)
        };
        let closes = {
            let (life, close) = (Arc::clone(&life), note("close"));
            loom::thread::spawn(move || {
                if life.close() {
                    close();
                }
            })
        };
        let mut later = None;
        for is_deferred in [true, false] {
            if !life.begin() {
                continue;
            }
            *begun.lock().unwrap() += 1;
            if is_deferred {
                life.keep();
                let (life, reply, close) = (Arc::clone(&life), note("reply"), note("close"));
                later = Some(loom::thread::spawn(move || {
                    reply();
                    if life.finish() {
                        close();
                    }
                }));
            } else {
                note("reply")();
            }
            if life.finish() {
                note("close")();
            }
        }
        closes.join().unwrap();
        if let Some(later) = later {
            later.join().unwrap();
        }
        let said = said.lock().unwrap();
        assert_eq!(life.stage(), Stage::Ending);
        assert_eq!(life.in_service(), 0);
        let replies = said.iter().filter(|word| **word == "reply").count();
        assert_eq!(replies, *begun.lock().unwrap());
        assert_eq!(said.iter().filter(|word| **word == "close").count(), 1);
        assert_eq!(said.last(), Some(&"close"), "a reply would come behind CloseConnection");
    });
}
