//! Rule `promises`: each promise and each boundary of SECURITY.md names a test that is there. The
//! tables have the headers `| promise | shown by` and `| boundary | outside`, and tests stand in
//! the last column: `file` and `test`, in that order, once or several times.

use super::markdown;
use super::project::Project;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "promises";
const PAGE: &str = "SECURITY.md";

/// The first two cells of the header of each table.
const TABLES: [(&str, &str); 2] = [("promise", "shown by"), ("boundary", "outside")];

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let text = project.text(PAGE).unwrap_or_default();
    let mut violations = vec![];
    for (first, second) in TABLES {
        match markdown::table(text, first, second) {
            Some(rows) => rows.iter().for_each(|row| see(project, row, &mut violations)),
            None => {
                let what = format!("has no table with the header `| {first} | {second} |`");
                violations.push(Violation::new(RULE, PAGE, 1, what, "write the table"));
            }
        }
    }
    violations
}

fn see(project: &Project, row: &markdown::Row, violations: &mut Vec<Violation>) {
    let named = row.cells.last().map(|cell| markdown::codes(cell)).unwrap_or_default();
    let mut wrong = |what: String| {
        let mend = "name the file and the test that shows it";
        violations.push(Violation::new(RULE, PAGE, row.line, what, mend));
    };
    if named.is_empty() || !named.len().is_multiple_of(2) {
        wrong("a promise or a boundary without a test".to_owned());
    }
    for pair in named.chunks_exact(2) {
        let [file, test] = pair else { continue };
        let head = format!("fn {test}()");
        let mut lines = project.text(file).unwrap_or_default().lines();
        let is_marked = lines.clone().zip(lines.by_ref().skip(1)).any(|(mark, line)| {
            mark.trim_start().starts_with("#[") && line.trim_start().starts_with(&head)
        });
        if !is_marked {
            wrong(format!("`{file}` has no test `{test}`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &str) -> Vec<String> {
        let boundary = "| net | all | `a/tests/b.rs` `it_holds` |";
        let boundaries = format!("| boundary | outside | shown by |\n|---|---|---|\n{boundary}\n");
        let page = format!("{boundaries}\n| promise | shown by |\n|---|---|\n{rows}\n");
        let test = "#[test]\nfn it_holds() {}\n\nfn helper() {}\n";
        let project = Project::of_texts(&[(PAGE, &page), ("a/tests/b.rs", test)]);
        check(&project).into_iter().map(|violation| violation.what).collect()
    }

    #[test]
    fn a_promise_names_a_test_that_is_there() {
        assert_eq!(found("| it holds | `a/tests/b.rs` `it_holds` |"), Vec::<String>::new());
        for wrong in ["| it | |", "| it | `a/tests/b.rs` |", "| it | `a/tests/b.rs` `helper` |"] {
            assert_eq!(found(wrong).len(), 1, "{wrong}");
        }
        let both = "| it | `a/tests/b.rs` `it_holds`, `c.rs` `it_holds` |";
        assert_eq!(found(both), ["`c.rs` has no test `it_holds`"]);
    }

    #[test]
    fn a_boundary_names_a_test_as_well() {
        let more =
            "\n\n| boundary | outside | shown by |\n|---|---|---|\n| disk | users | they may |";
        let rows = format!("| it | `a/tests/b.rs` `it_holds` |{more}");
        assert_eq!(found(&rows), ["a promise or a boundary without a test"]);
        let none = Project::of_texts(&[(PAGE, "| promise | shown by |\n|---|---|\n")]);
        assert!(check(&none).iter().any(|violation| violation.what.contains("boundary")));
    }
}
