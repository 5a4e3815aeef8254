//! Rule `promises`: each promise of SECURITY.md names a test that is there. The table has the
//! header `| promise | shown by`; a cell of its second column is `file` and `test`, in that order,
//! once or several times.

use super::markdown;
use super::project::Project;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "promises";
const PAGE: &str = "SECURITY.md";

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let rows = project.text(PAGE).and_then(|text| markdown::table(text, "promise", "shown by"));
    let Some(rows) = rows else {
        let what = "has no table with the header `| promise | shown by |`";
        return vec![Violation::new(RULE, PAGE, 1, what, "write the table of promises")];
    };
    let mut violations = vec![];
    for row in rows {
        let named = row.cells.get(1).map(|cell| markdown::codes(cell)).unwrap_or_default();
        let mut wrong = |what: String| {
            let mend = "name the file and the test that shows it";
            violations.push(Violation::new(RULE, PAGE, row.line, what, mend));
        };
        if named.is_empty() || !named.len().is_multiple_of(2) {
            wrong("a promise without a test".to_owned());
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
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rows: &str) -> Vec<String> {
        let page = format!("| promise | shown by |\n|---|---|\n{rows}\n");
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
}
