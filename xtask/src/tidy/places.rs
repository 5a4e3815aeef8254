//! Rules on what stands in one place of `orb/`: `locks` (a lock has a rank; the standard library's
//! are named only where ranks are made, and in `orb/upcall`, which uses no crate of ours and holds
//! its two locks only for a look), `receiving` (octets are given to a message reader by the one
//! function that receives) and `redirects` (attempts alone follow a forward).

use super::offenders::Offence;
use super::project::Project;
use super::rust_file::Word;
use super::violation::Violation;

/// A kind of words that stand only in some files of the ORB.
struct Rule {
    name: &'static str,
    /// The words, and what follows them when that tells.
    words: &'static [&'static str],
    followed_by: Option<char>,
    /// Files, or folders, where they belong: parts of paths.
    places: &'static [&'static str],
    what: &'static str,
    mend: &'static str,
}

/// Name of the rule on locks.
pub(crate) const LOCKS_RULE: &str = "locks";
/// Name of the rule on receiving.
pub(crate) const RECEIVING_RULE: &str = "receiving";
/// Name of the rule on redirects.
pub(crate) const REDIRECTS_RULE: &str = "redirects";

const RULES: [Rule; 3] = [
    Rule {
        name: LOCKS_RULE,
        words: &["Mutex", "RwLock", "Condvar"],
        followed_by: None,
        places: &["orb/threads/src/lock", "orb/upcall/src"],
        what: "is a lock without a rank",
        mend: "use `Ranked`, or `Token` where a blocking call is made under it",
    },
    Rule {
        name: RECEIVING_RULE,
        words: &["received"],
        followed_by: Some('('),
        places: &["orb/connection/src/receive"],
        what: "receives beside `receive`",
        mend: "call `receive`: one function takes octets from a link",
    },
    Rule {
        name: REDIRECTS_RULE,
        words: &["Elsewhere", "Redirect"],
        followed_by: None,
        places: &["/attempts"],
        what: "follows a forward beside `Attempts`",
        mend: "give the outcome to `Attempts`, which knows what comes next",
    },
];

/// The rules by name, with what offends each.
pub(crate) fn find(project: &Project) -> Vec<(&'static str, Vec<Offence>)> {
    RULES.iter().map(|rule| (rule.name, of_rule(project, rule))).collect()
}

fn of_rule(project: &Project, rule: &Rule) -> Vec<Offence> {
    let mut offences = vec![];
    for file in project.rust.iter().filter(|file| file.path.starts_with("orb/")) {
        if rule.places.iter().any(|place| file.path.contains(place)) {
            continue;
        }
        file.for_each_word(|Word { name, line, followed_by }| {
            let is_meant = rule.followed_by.is_none_or(|mark| followed_by == Some(mark));
            if rule.words.contains(&name.as_str()) && is_meant && !file.is_test_line(line) {
                let what = format!("`{name}` {}", rule.what);
                let violation = Violation::new(rule.name, &file.path, line, what, rule.mend);
                offences.push(Offence::new(file.path.as_str(), violation));
            }
        });
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        let rules = find(&Project::of_texts(&[(path, text)]));
        let offences = rules.into_iter().flat_map(|(_, offences)| offences);
        offences.map(|offence| (offence.violation.rule, offence.violation.line)).collect()
    }

    #[test]
    fn a_lock_without_a_rank_is_found_in_the_orb_alone() {
        let text = "use std::sync::{Arc, Mutex};\nstruct S {\n    a: std::sync::RwLock<u8>,\n}\n";
        assert_eq!(found("orb/core/src/x.rs", text), [(LOCKS_RULE, 1), (LOCKS_RULE, 3)]);
        assert_eq!(found("orb/threads/src/lock.rs", text), []);
        assert_eq!(found("orb/upcall/src/gate.rs", text), []);
        assert_eq!(found("orb/core/src/x/tests.rs", text), []);
        assert_eq!(found("services/event/src/x.rs", text), []);
    }

    #[test]
    fn receiving_has_one_place() {
        let text = "fn f() {\n    reader.received(octets);\n    let received = 1;\n}\n";
        assert_eq!(found("orb/core/src/x.rs", text), [(RECEIVING_RULE, 2)]);
        assert_eq!(found("orb/connection/src/receive.rs", text), []);
    }

    #[test]
    fn redirects_have_one_place() {
        assert_eq!(found("orb/core/src/x.rs", "use a::Redirect;\n"), [(REDIRECTS_RULE, 1)]);
        assert_eq!(found("orb/core/src/client/attempts/run.rs", "use a::Redirect;\n"), []);
    }
}
