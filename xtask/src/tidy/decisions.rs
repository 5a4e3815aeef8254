//! Decisions have numbers of their own: two that were written at the same time must not share one,
//! since comments and pages refer to a decision by its number.

use std::collections::BTreeMap;

use super::project::Project;
use super::violation::Violation;

pub(super) const RULE: &str = "decisions";

const FOLDER: &str = "docs/decisions/";

pub(super) fn check(project: &Project) -> Vec<Violation> {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let mut violations = vec![];
    for path in &project.paths {
        let Some(name) = path.strip_prefix(FOLDER).filter(|name| name.ends_with(".md")) else {
            continue;
        };
        let number = name.split_once('-').map_or("", |(number, _)| number);
        if number.len() != 4 || !number.bytes().all(|octet| octet.is_ascii_digit()) {
            let what = "does not begin with a number of four digits".to_string();
            violations.push(Violation::new(
                RULE,
                path,
                1,
                what,
                "name it 0123-what-was-decided.md",
            ));
        } else if let Some(other) = first.insert(number, path) {
            let what = format!("has the number of {other}");
            violations.push(Violation::new(RULE, path, 1, what, "take the next number"));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_twice_or_missing() {
        let paths = [
            "docs/decisions/0001-a.md",
            "docs/decisions/0002-b.md",
            "docs/decisions/0002-c.md",
            "docs/decisions/notes.md",
        ];
        let texts = paths.map(|path| (path, "# a decision\n"));
        let found = check(&Project::of_texts(&texts));
        let places: Vec<&str> = found.iter().map(|violation| violation.file.as_str()).collect();
        assert_eq!(places, [paths[2], paths[3]]);
    }
}
