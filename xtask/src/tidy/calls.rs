//! Rules `printing` (a library never prints) and `sleeping` (no test waits for time to pass:
//! it waits for what it needs, with a limit). A sleep that is the subject of the test, such as a
//! slow peer, carries `// tidy: sleep: <reason>` on its line or directly above.

use super::project::Project;
use super::rust_file::RustFile;
use super::violation::Violation;

/// Name of the rule on printing.
pub(crate) const PRINTING_RULE: &str = "printing";
/// Name of the rule on sleeping.
pub(crate) const SLEEPING_RULE: &str = "sleeping";

const PRINTERS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
const SLEEP_MARKER: &str = "tidy: sleep:";

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let mut violations = vec![];
    for file in &project.rust {
        file.for_each_word(|word| {
            let name = word.name.as_str();
            let prints = PRINTERS.contains(&name)
                && word.followed_by == Some('!')
                && !instructs_cargo(file, word.line);
            if prints && file.is_library() && !file.is_test_line(word.line) {
                let what = format!("`{name}!` in a library");
                let mend = "return it to the caller, or record it with `tracing`";
                violations.push(Violation::new(PRINTING_RULE, &file.path, word.line, what, mend));
            }
            let sleeps = name == "sleep" && word.followed_by == Some('(');
            if sleeps && must_not_sleep(file, word.line) && !has_reason(file, word.line) {
                let what = "a test sleeps";
                let mend = "wait for the event itself with a limit; if the pause is the subject \
                            of the test, say why in `// tidy: sleep: <reason>`";
                violations.push(Violation::new(SLEEPING_RULE, &file.path, word.line, what, mend));
            }
        });
    }
    violations
}

/// `println!("cargo:…")` is how the code of a build script speaks to cargo.
fn instructs_cargo(file: &RustFile, line: usize) -> bool {
    let text = file.text.lines().nth(line - 1).unwrap_or("");
    text.contains("println!(\"cargo:")
}

fn must_not_sleep(file: &RustFile, line: usize) -> bool {
    file.path.starts_with("tests/") || file.is_test_line(line)
}

fn has_reason(file: &RustFile, line: usize) -> bool {
    file.has_comment_at(line, SLEEP_MARKER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        let found = check(&Project::of_texts(&[(path, text)]));
        found.into_iter().map(|v| (v.rule, v.line)).collect()
    }

    #[test]
    fn libraries_do_not_print_and_programs_may() {
        let text = "fn f() {\n    println!(\"x\");\n}\n";
        assert_eq!(rules("wire/cdr/src/lib.rs", text), [(PRINTING_RULE, 2)]);
        assert_eq!(rules("tools/corbie/src/main.rs", text), []);
        assert_eq!(rules("wire/cdr/build.rs", text), []);
        let cargo = "fn f() {\n    println!(\"cargo:rerun-if-changed=x\");\n}\n";
        assert_eq!(rules("idl/build/src/lib.rs", cargo), []);
        assert_eq!(rules("wire/cdr/src/lib.rs", &format!("#[cfg(test)]\nmod t {{\n{text}}}")), []);
    }

    #[test]
    fn a_comment_or_string_about_printing_is_no_offence() {
        assert_eq!(rules("wire/cdr/src/lib.rs", "// println!(x)\nconst A: &str = \"dbg!()\";"), []);
    }

    #[test]
    fn tests_do_not_sleep_without_a_reason() {
        let bare = "fn f() {\n    sleep(d);\n}\n";
        assert_eq!(rules("orb/core/tests/x.rs", bare), [(SLEEPING_RULE, 2)]);
        assert_eq!(rules("tests/interop/src/x.rs", bare), [(SLEEPING_RULE, 2)]);
        assert_eq!(rules("orb/core/src/x.rs", bare), []);
        let reason =
            "fn f() {\n    // tidy: sleep: the slow peer is the subject\n    sleep(d);\n}\n";
        assert_eq!(rules("orb/core/tests/x.rs", reason), []);
    }
}
