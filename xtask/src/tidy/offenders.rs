//! Lists of what broke a rule before the rule was there: `xtask/offenders/RULE.list`.
//! A line is a key of the rule, or `key: N` where something is counted; `#` begins a comment.
//! The lists only shrink: what is not in them is a violation, and so is an entry that offends no
//! more, or less than it says. `cargo xtask tidy --shrink` takes such entries out.

use std::collections::BTreeMap;

use super::project::Project;
use super::violation::Violation;

/// A violation that the list of its rule may excuse.
pub(crate) struct Offence {
    /// What stands in the list: no `#`, no `: ` followed by a number.
    pub(crate) key: String,
    /// How many, where the rule counts.
    pub(crate) count: Option<usize>,
    pub(crate) violation: Violation,
}

impl Offence {
    pub(crate) fn new(key: impl Into<String>, violation: Violation) -> Offence {
        Offence { key: key.into(), count: None, violation }
    }
}

/// Where the list of `rule` is.
pub(crate) fn list_path(rule: &str) -> String {
    format!("xtask/offenders/{rule}.list")
}

/// The violations of `rule` that its list does not excuse, and its entries that are out of date.
pub(crate) fn settle(project: &Project, rule: &'static str, found: &[Offence]) -> Vec<Violation> {
    let path = list_path(rule);
    let entries = entries(project.text(&path).unwrap_or(""));
    let counts = counts(found);
    let is_excused = |offence: &Offence| {
        let Offence { key, count, .. } = offence;
        entries.iter().any(|entry| entry.key == key && entry.count >= *count)
    };
    let offences = found.iter().filter(|offence| !is_excused(offence));
    let mut violations: Vec<Violation> = offences.map(|o| o.violation.clone()).collect();
    for entry in &entries {
        if counts.get(entry.key) < Some(&entry.count) || is_double(&entries, entry) {
            let what = format!("the entry `{}` offends no more, or less", entry.key);
            let mend = "run `cargo xtask tidy --shrink`";
            violations.push(Violation::new(rule, &path, entry.line, what, mend));
        }
    }
    violations
}

/// The list of a rule without the entries that are out of date; `None` when it stays as it is.
pub(crate) fn shrunk(text: &str, found: &[Offence]) -> Option<String> {
    let (all, counts) = (entries(text), counts(found));
    let mut kept = String::new();
    for (i, line) in text.lines().enumerate() {
        let Some(entry) = all.iter().find(|entry| entry.line == i + 1) else {
            kept.push_str(line);
            kept.push('\n');
            continue;
        };
        // A merge may leave the same key twice, with different counts: the last one stays.
        let is_last = !all.iter().any(|other| other.key == entry.key && other.line > entry.line);
        let least = all.iter().filter(|other| other.key == entry.key).map(|e| e.count).min();
        match (counts.get(entry.key), least) {
            (Some(now), Some(least)) if is_last => match (*now).min(least) {
                Some(count) => kept.push_str(&format!("{}: {count}\n", entry.key)),
                None => kept.push_str(&format!("{}\n", entry.key)),
            },
            _ => {}
        }
    }
    (kept != text).then_some(kept)
}

struct Entry<'t> {
    key: &'t str,
    count: Option<usize>,
    line: usize,
}

fn is_double(entries: &[Entry<'_>], entry: &Entry<'_>) -> bool {
    entries.iter().any(|other| other.key == entry.key && other.line < entry.line)
}

fn entries<'t>(text: &'t str) -> Vec<Entry<'t>> {
    let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
    let filled = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let entry = |(line, text): (usize, &'t str)| {
        let counted = text.rsplit_once(": ").and_then(|(key, n)| Some((key, n.parse().ok()?)));
        let (key, count) = counted.map_or((text, None), |(key, count)| (key, Some(count)));
        Entry { key, count, line }
    };
    filled.map(entry).collect()
}

/// How often each key is found, or the count that comes with it.
fn counts(found: &[Offence]) -> BTreeMap<&str, Option<usize>> {
    let mut counts = BTreeMap::new();
    for Offence { key, count, .. } in found {
        let known = counts.entry(key.as_str()).or_insert(*count);
        *known = (*known).max(*count);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "rule";

    fn offence(key: &str, count: Option<usize>) -> Offence {
        let violation = Violation::new(RULE, "a.rs", 1, format!("{key} offends"), "mend it");
        Offence { count, ..Offence::new(key, violation) }
    }

    fn settled(list: &str, found: Vec<Offence>) -> Vec<String> {
        let project = Project::of_texts(&[("xtask/offenders/rule.list", list)]);
        settle(&project, RULE, &found).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn what_is_listed_is_excused_and_what_is_not_offends() {
        let found = || vec![offence("a -> b", None), offence("c", None)];
        assert_eq!(settled("# why\n\na -> b\nc\n", found()), Vec::<String>::new());
        assert_eq!(settled("a -> b\n", found()), ["c offends"]);
        assert_eq!(settled("", found()), ["a -> b offends", "c offends"]);
    }

    #[test]
    fn an_entry_that_offends_no_more_is_a_violation_and_is_taken_out() {
        let stale = ["the entry `gone` offends no more, or less"];
        assert_eq!(settled("c\ngone\n", vec![offence("c", None)]), stale);
        let shrunk = shrunk("# why\nc\ngone\n", &[offence("c", None)]);
        assert_eq!(shrunk.as_deref(), Some("# why\nc\n"));
    }

    #[test]
    fn counts_only_fall() {
        let fields = |count| vec![offence("fields", Some(count))];
        assert_eq!(settled("fields: 22\n", fields(22)), Vec::<String>::new());
        assert_eq!(settled("fields: 22\n", fields(23)), ["fields offends"]);
        let less = ["the entry `fields` offends no more, or less"];
        assert_eq!(settled("fields: 22\n", fields(20)), less);
        assert_eq!(shrunk("fields: 22\n", &fields(20)).as_deref(), Some("fields: 20\n"));
        assert_eq!(shrunk("fields: 22\n", &fields(23)), None);
    }

    #[test]
    fn what_a_merge_left_twice_is_found_and_mended() {
        let found = || vec![offence("fields", Some(18))];
        let twice = "fields: 22\nfields: 20\n";
        assert_eq!(settled(twice, found()).len(), 2);
        assert_eq!(shrunk(twice, &found()).as_deref(), Some("fields: 18\n"));
    }
}
