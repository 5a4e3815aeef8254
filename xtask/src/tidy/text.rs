//! Rules on plain text: `width` (100 columns in Rust, tests aside), `tabs`, and `unfinished`
//! (no to-do macro, no fix-me mark, no conflict of a merge: what is not there yet is an issue, not
//! a hole in the code).
//! rustfmt keeps code within its width but leaves comments and strings alone; this rule does not.

use super::project::{Project, TextFile};
use super::rust_file::RustFile;
use super::violation::Violation;

/// Name of the rule on line width.
pub(crate) const WIDTH_RULE: &str = "width";
/// Name of the rule on tabs.
pub(crate) const TABS_RULE: &str = "tabs";
/// Name of the rule on unfinished code.
pub(crate) const UNFINISHED_RULE: &str = "unfinished";

const COLUMNS: usize = 100;
/// A word longer than this (a URL, a stringified reference, a hash) cannot be broken.
const UNBREAKABLE: usize = 60;
const MARKS: [&str; 2] = [concat!("FIX", "ME"), concat!("X", "XX:")];
/// What a conflict that was not resolved leaves at the beginning of lines.
const MERGE_MARKS: [&str; 2] = [concat!("<<<<", "<<< "), concat!(">>>>", ">>> ")];
const MACROS: [&str; 2] = ["todo", "unimplemented"];

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let mut violations = vec![];
    for file in &project.files {
        check_lines(file, &mut violations);
    }
    for file in project.rust.iter().filter(|file| !file.is_generated()) {
        check_width(file, &mut violations);
    }
    for file in &project.rust {
        file.for_each_word(|word| {
            if MACROS.contains(&word.name.as_str()) && word.followed_by == Some('!') {
                let what = format!("`{}!` is left in the code", word.name);
                let mend = "finish it, or return an error that says what is missing";
                violations.push(Violation::new(UNFINISHED_RULE, &file.path, word.line, what, mend));
            }
        });
    }
    violations
}

/// Test code is exempt: data stands in its strings as it is.
fn check_width(file: &RustFile, violations: &mut Vec<Violation>) {
    for (i, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        let longest = || line.split_whitespace().map(|word| word.chars().count()).max();
        if columns > COLUMNS && !file.is_test_line(i + 1) && longest() < Some(UNBREAKABLE) {
            let what = format!("is {columns} columns wide, more than {COLUMNS}");
            let mend = "break the line";
            violations.push(Violation::new(WIDTH_RULE, &file.path, i + 1, what, mend));
        }
    }
}

fn check_lines(file: &TextFile, violations: &mut Vec<Violation>) {
    let has_no_tabs = [".rs", ".md", ".toml", ".sh"].iter().any(|end| file.path.ends_with(end));
    for (i, line) in file.text.lines().enumerate() {
        if has_no_tabs && line.contains('\t') {
            let mend = "use four blanks, or `\\t` in a literal";
            let what = "contains a tab";
            violations.push(Violation::new(TABS_RULE, &file.path, i + 1, what, mend));
        }
        if MERGE_MARKS.iter().any(|mark| line.starts_with(mark)) {
            let what = "a merge was not finished here";
            let mend = "take one side, or both";
            violations.push(Violation::new(UNFINISHED_RULE, &file.path, i + 1, what, mend));
        }
        if let Some(mark) = MARKS.into_iter().find(|mark| line.contains(mark)) {
            let what = format!("`{mark}` is left in the text");
            let mend = "mend it now or open an issue; the comment can then cite it";
            violations.push(Violation::new(UNFINISHED_RULE, &file.path, i + 1, what, mend));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        let found = check(&Project::of_texts(&[(path, text)]));
        found.into_iter().map(|v| (v.rule, v.line)).collect()
    }

    #[test]
    fn width_counts_characters_and_spares_unbreakable_words() {
        let wide = |words: &str, n| format!("\n// {}\n", words.repeat(n));
        assert_eq!(rules("a.rs", &wide("é ", 48)), []);
        assert_eq!(rules("a.rs", &wide("é ", 50)), [(WIDTH_RULE, 2)]);
        assert_eq!(rules("a.rs", &wide("x", 120)), []);
        assert_eq!(rules("a.md", &wide("é ", 50)), []);
        assert_eq!(rules("a/tests/a.rs", &wide("é ", 50)), []);
    }

    #[test]
    fn tabs_are_found() {
        assert_eq!(rules("a.md", "a\tb\n"), [(TABS_RULE, 1)]);
        assert_eq!(rules("Makefile", "\ta\n"), []);
    }

    #[test]
    fn unfinished_code_is_found() {
        let code = format!("fn f() {{\n    {}!()\n}}\n", MACROS[0]);
        assert_eq!(rules("a/src/x.rs", &code), [(UNFINISHED_RULE, 2)]);
        assert_eq!(rules("a.md", &format!("{} later\n", MARKS[0])), [(UNFINISHED_RULE, 1)]);
        let conflict = format!("a\n{}HEAD\nb\n", MERGE_MARKS[0]);
        assert_eq!(rules("README.md", &conflict), [(UNFINISHED_RULE, 2)]);
        // The words themselves, as a name or in prose, are no offence.
        assert_eq!(rules("a/src/x.rs", "fn todo() {}\n"), []);
    }
}
