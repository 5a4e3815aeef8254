//! Rule `minor-codes`: each of our own minor codes is raised by something, and named by a test that
//! has it raised. A code that is neither only misleads those that read the page of the book.

use std::collections::HashSet;

use super::project::Project;
use super::rust_file::Word;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "minor-codes";
/// The table of our codes: a line of it begins with the number, then the name.
const TABLE: &str = "wire/types/src/exception/minor/corbie.rs";

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let (mut raised, mut tested) = (HashSet::new(), HashSet::new());
    for file in project.rust.iter().filter(|file| file.path != TABLE) {
        file.for_each_word(|Word { name, line, .. }| {
            let of = if file.is_test_line(line) { &mut tested } else { &mut raised };
            of.insert(name);
        });
    }
    let mut violations = vec![];
    for (line, name) in codes(project.text(TABLE).unwrap_or("")) {
        let mut refuse = |what: &str, mend: &str| {
            let what = format!("`{name}` {what}");
            violations.push(Violation::new(RULE, TABLE, line, what, mend));
        };
        if !raised.contains(name) {
            refuse("is raised by nothing", "remove it, and note that its number is used up");
        } else if !tested.contains(name) {
            refuse("is named by no test", "have a test raise it and compare the minor code");
        }
    }
    violations
}

/// The lines and names of the table.
fn codes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().zip(1..).filter_map(|(line, number)| {
        let mut words = line.split_whitespace();
        let is_code = words.next().is_some_and(|word| word.starts_with("0x"));
        is_code.then(|| words.next()).flatten().map(|name| (number, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_raised_and_tested() {
        let table = "//! Not 0x062.\ncodes! {\n    0x001 A \"a\" \"b\";\n    0x002 B \"\";\n    0x003 C\n}\n";
        let found = |code: &str, test: &str| {
            let files = [(TABLE, table), ("orb/x/src/a.rs", code), ("orb/x/tests/a.rs", test)];
            let lines = check(&Project::of_texts(&files)).into_iter().map(|v| v.line);
            lines.collect::<Vec<_>>()
        };
        assert_eq!(found("fn f() { (A, B, C); }", "fn f() { (A, B, C); }"), Vec::<usize>::new());
        assert_eq!(found("fn f() { (A, B); }", "fn f() { (A, C); }"), [4, 5]);
    }
}
