//! Rule `unsafe`: the keyword stands only in files listed in ARCHITECTURE.md (table under the
//! header `| file | why it needs unsafe`), and each use has a `// SAFETY:` comment on it or
//! directly above. The workspace lint `unsafe_code = "deny"` is the other half of this rule.

use super::markdown;
use super::project::Project;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "unsafe";
const MAP: &str = "ARCHITECTURE.md";

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let rows = project.text(MAP).and_then(|text| markdown::table(text, "file", "why it needs"));
    let rows = rows.unwrap_or_default();
    let mut violations = vec![];
    let mut allowed = vec![];
    for row in rows {
        for path in row.cells.first().map(|cell| markdown::codes(cell)).unwrap_or_default() {
            allowed.push((path, row.line, false));
        }
    }
    for file in &project.rust {
        let mut uses = vec![];
        file.for_each_word(|word| {
            let attribute = word.name == "unsafe_code" && lifts_the_lint(&file.text, word.line);
            if word.name == "unsafe" || attribute {
                uses.push((word.line, attribute));
            }
        });
        let listed = allowed.iter_mut().find(|(path, ..)| *path == file.path);
        let is_listed = listed.is_some();
        if let Some(entry) = listed {
            entry.2 = !uses.is_empty();
        }
        for (line, attribute) in uses {
            if !is_listed {
                let what = "uses `unsafe` and is not on the list of files that may";
                let mend = format!("write it safely, or argue for a row in {MAP} (measured)");
                violations.push(Violation::new(RULE, &file.path, line, what, mend));
            } else if !attribute && !file.has_comment_at(line, "SAFETY:") {
                let mend = "say why it is sound in a `// SAFETY:` comment directly above";
                let what = "this `unsafe` has no SAFETY comment";
                violations.push(Violation::new(RULE, &file.path, line, what, mend));
            }
        }
    }
    for (path, line, _) in allowed.iter().filter(|(.., used)| !used) {
        let what = format!("lists `{path}`, which has no `unsafe` in it");
        violations.push(Violation::new(RULE, MAP, *line, what, "take the row out"));
    }
    violations
}

/// `#[allow(unsafe_code)]` and `#[expect(unsafe_code)]`; forbidding it is welcome anywhere.
fn lifts_the_lint(text: &str, line: usize) -> bool {
    let line = text.lines().nth(line - 1).unwrap_or("");
    line.contains("allow(") || line.contains("expect(")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP_TEXT: &str = "| file | why it needs unsafe |\n|-|-|\n| `a/src/x.rs` | speed |\n";

    fn found(path: &str, text: &str) -> Vec<(String, usize)> {
        let project = Project::of_texts(&[(MAP, MAP_TEXT), (path, text)]);
        check(&project).into_iter().map(|v| (v.file, v.line)).collect()
    }

    #[test]
    fn a_listed_file_with_a_safety_comment_passes() {
        let text = "fn f() {\n    // SAFETY: it is.\n    unsafe { g() }\n}\n";
        assert_eq!(found("a/src/x.rs", text), []);
    }

    #[test]
    fn a_missing_safety_comment_is_found() {
        let text = "fn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(found("a/src/x.rs", text), [("a/src/x.rs".to_string(), 2)]);
    }

    #[test]
    fn an_unlisted_file_is_found_also_inside_a_macro() {
        let text = "fn f() {\n    // SAFETY: no.\n    m!(unsafe { g() })\n}\n";
        let found = found("b/src/x.rs", text);
        assert!(found.contains(&("b/src/x.rs".to_string(), 3)));
        // The listed file is not there at all: the row is stale.
        assert!(found.contains(&(MAP.to_string(), 3)));
    }

    #[test]
    fn allowing_the_lint_needs_the_list_and_forbidding_does_not() {
        let allow = found("b/src/x.rs", "#![allow(unsafe_code)]\n");
        assert!(allow.contains(&("b/src/x.rs".to_string(), 1)));
        let forbid = found("b/src/x.rs", "#![forbid(unsafe_code)]\n");
        assert!(!forbid.contains(&("b/src/x.rs".to_string(), 1)));
    }
}
