//! Every row of the table of attempts, and what holds of every sequence of them.

use super::{Attempts, FORWARDS_MAX, Fault, Place, Step};
use corbie_types::CompletionStatus::{Maybe, No, Yes};

const ONE: Place = Place { addresses: 1, is_forwarded: false };
const THREE: Place = Place { addresses: 3, is_forwarded: false };
const FORWARDED: Place = Place { addresses: 1, is_forwarded: true };
const AS_NOT_SENT: [Fault; 2] = [Fault::NotSent, Fault::ClosedInOrder];

fn sent() -> Attempts {
    let mut attempts = Attempts::default();
    attempts.sent();
    attempts
}

#[test]
fn ready_not_sent_goes_to_the_same_address_once_then_to_the_next_then_fails() {
    for fault in AS_NOT_SENT {
        let mut attempts = Attempts::default();
        let mut addresses = Vec::new();
        loop {
            addresses.push(attempts.address());
            match attempts.failed(fault, THREE) {
                Step::Send => {}
                end => break assert_eq!(end, Step::End(No), "{fault:?}"),
            }
        }
        assert_eq!(addresses, [0, 0, 1, 1, 2, 2], "{fault:?}");
    }
}

#[test]
fn ready_unreachable_goes_to_the_next_address_at_once() {
    let mut attempts = Attempts::default();
    assert_eq!(attempts.failed(Fault::Unreachable, THREE), Step::Send);
    assert_eq!(attempts.address(), 1);
    assert_eq!(attempts.failed(Fault::Unreachable, THREE), Step::Send);
    assert_eq!(attempts.address(), 2);
    assert_eq!(attempts.failed(Fault::Unreachable, THREE), Step::End(No));
}

#[test]
fn what_is_not_sent_where_a_server_forwarded_goes_back_to_the_original_once() {
    for fault in [Fault::NotSent, Fault::ClosedInOrder, Fault::Unreachable] {
        let mut attempts = Attempts::default();
        while attempts.failed(fault, FORWARDED) == Step::Send {}
        assert_eq!((attempts.address(), attempts.was_returned), (0, true), "{fault:?}");
        // The original forwards to the same place, which is as useless as before.
        attempts.sent();
        assert_eq!(attempts.redirected(), Step::Follow);
        let mut step = Step::Send;
        while step == Step::Send {
            step = attempts.failed(fault, FORWARDED);
        }
        assert_eq!(step, Step::End(No), "{fault:?}");
    }
}

#[test]
fn sent_and_answered_is_done() {
    let mut attempts = sent();
    attempts.answered();
    assert_eq!(attempts.failed(Fault::NotSent, THREE), Step::End(Yes));
    assert_eq!(attempts.gone(FORWARDED), Step::End(Yes));
    assert_eq!(attempts.redirected(), Step::End(Yes));
}

#[test]
fn sent_and_forwarded_begins_at_the_first_address_there_sixteen_times() {
    let mut attempts = Attempts::default();
    for _ in 0..FORWARDS_MAX {
        assert_eq!(attempts.failed(Fault::Unreachable, THREE), Step::Send);
        attempts.sent();
        assert_eq!(attempts.redirected(), Step::Follow);
        assert_eq!(attempts.address(), 0);
    }
    attempts.sent();
    assert_eq!(attempts.redirected(), Step::End(No));
}

#[test]
fn sent_and_gone_goes_back_to_the_original_once() {
    let mut attempts = sent();
    assert_eq!(attempts.gone(FORWARDED), Step::Return);
    attempts.sent();
    assert_eq!(attempts.gone(FORWARDED), Step::End(No));
    assert_eq!(sent().gone(THREE), Step::End(No), "no server forwarded it");
}

#[test]
fn sent_and_closed_in_order_is_as_not_sent() {
    for place in [ONE, THREE, FORWARDED] {
        let mut ready = Attempts::default();
        let mut closed = sent();
        loop {
            let step = closed.failed(Fault::ClosedInOrder, place);
            assert_eq!(step, ready.failed(Fault::NotSent, place), "{place:?}");
            assert_eq!(closed, ready, "{place:?}");
            if step != Step::Send {
                break;
            }
            closed.sent();
        }
    }
}

#[test]
fn lost_ends_with_an_open_outcome() {
    assert_eq!(sent().failed(Fault::Lost, THREE), Step::End(Maybe));
    // In a queue with others it may have gone out before this thread was told.
    assert_eq!(Attempts::default().failed(Fault::Lost, THREE), Step::End(Maybe));
}

#[test]
fn the_deadline_ends_with_no_before_sending_and_maybe_after() {
    assert_eq!(Attempts::default().failed(Fault::Stopped, THREE), Step::End(No));
    assert_eq!(sent().failed(Fault::Stopped, THREE), Step::End(Maybe));
    let mut closed = sent();
    assert_eq!(closed.failed(Fault::ClosedInOrder, THREE), Step::Send);
    assert_eq!(closed.failed(Fault::Stopped, THREE), Step::End(No), "it was surely not served");
}

#[test]
fn what_no_attempt_helps_is_not_tried_again() {
    assert_eq!(Attempts::default().failed(Fault::Refused, FORWARDED), Step::End(No));
}

/// What can happen to a call.
#[derive(Clone, Copy, Debug)]
enum Input {
    Sent,
    Answered,
    Redirected,
    Gone,
    Failed(Fault),
}

const INPUTS: [Input; 10] = [
    Input::Sent,
    Input::Answered,
    Input::Redirected,
    Input::Gone,
    Input::Failed(Fault::NotSent),
    Input::Failed(Fault::ClosedInOrder),
    Input::Failed(Fault::Unreachable),
    Input::Failed(Fault::Lost),
    Input::Failed(Fault::Stopped),
    Input::Failed(Fault::Refused),
];

/// Calls `check` after every sequence of at most `left` inputs behind `attempts`; `may_have_begun`
/// says whether a server may be carrying the call out.
fn explore(attempts: Attempts, place: Place, may_have_begun: bool, left: u32) -> u64 {
    let Some(left) = left.checked_sub(1) else { return 1 };
    let mut sequences = 0;
    for input in INPUTS {
        let (mut next, mut may_have_begun) = (attempts, may_have_begun);
        let step = match input {
            Input::Sent => {
                next.sent();
                may_have_begun = true;
                Step::Send
            }
            // The connection says these only of what was sent, or was not.
            _ if !may_have_begun && matches!(input, Input::Answered) => continue,
            Input::Answered => {
                next.answered();
                Step::End(Yes)
            }
            Input::Redirected => next.redirected(),
            Input::Gone => next.gone(place),
            Input::Failed(fault) => next.failed(fault, place),
        };
        // The server says itself that it has not begun.
        let denied = matches!(
            input,
            Input::Redirected
                | Input::Gone
                | Input::Failed(Fault::NotSent | Fault::ClosedInOrder)
                | Input::Failed(Fault::Unreachable | Fault::Refused)
        );
        assert!(next.address() < place.addresses, "{next:?} after {input:?}");
        match step {
            Step::End(completed) => {
                assert!(completed != No || denied || !may_have_begun, "{attempts:?}, {input:?}");
                // It has one end, whatever comes later.
                let mut late = next;
                assert_eq!(late.failed(Fault::Lost, place), Step::End(completed), "{input:?}");
                assert_eq!(late.redirected(), Step::End(completed), "{input:?}");
                assert_eq!(late.gone(place), Step::End(completed), "{input:?}");
                assert_eq!(late, next);
                sequences += 1;
            }
            Step::Return => {
                let place = Place { is_forwarded: false, ..place };
                sequences += explore(next, place, false, left);
            }
            Step::Follow => {
                let place = Place { is_forwarded: true, ..place };
                sequences += explore(next, place, false, left);
            }
            Step::Send => sequences += explore(next, place, may_have_begun && !denied, left),
        }
    }
    sequences
}

#[test]
fn every_sequence_ends_once_and_no_means_that_no_server_began() {
    let sequences: u64 = [ONE, THREE, FORWARDED]
        .into_iter()
        .map(|place| explore(Attempts::default(), place, false, 6))
        .sum();
    assert!(sequences > 50_000, "{sequences}");
}

#[test]
fn no_call_goes_on_for_ever() {
    for place in [ONE, THREE, FORWARDED, Place { addresses: 3, is_forwarded: true }] {
        for fault in [Fault::NotSent, Fault::ClosedInOrder, Fault::Unreachable] {
            let (mut attempts, mut place, mut made) = (Attempts::default(), place, 0);
            loop {
                made += 1;
                let step = attempts.failed(fault, place);
                let step = match step {
                    Step::End(_) => break,
                    // Forwarded each time that there is a chance.
                    Step::Return => {
                        attempts.sent();
                        attempts.redirected()
                    }
                    step => step,
                };
                place.is_forwarded |= step == Step::Follow;
            }
            // Twice at each address, there and at the original.
            assert!(made <= 4 * place.addresses + 1, "{made} attempts: {fault:?}, {place:?}");
        }
    }
}

#[test]
fn an_interceptor_sends_on_what_was_answered_but_not_for_ever() {
    let mut attempts = Attempts::default();
    for _ in 0..FORWARDS_MAX {
        attempts.sent();
        attempts.answered();
        assert_eq!(attempts.sent_on(), Step::Follow);
    }
    assert!(matches!(attempts.sent_on(), Step::End(No)));
}
