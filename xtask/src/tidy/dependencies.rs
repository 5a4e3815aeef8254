//! Rule `dependencies`: every crate from outside that a manifest names has a line in the book's
//! table (docs/src/dependencies.md, header `| crate | used by`), and the other way round.
//! A dependency that cannot be argued for in one line is one too many.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown;
use super::project::Project;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "dependencies";
const PAGE: &str = "docs/src/dependencies.md";

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let ours: BTreeSet<&str> =
        project.manifests.iter().filter_map(|m| m.package.as_deref()).collect();
    let mut used: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for manifest in &project.manifests {
        for dependency in &manifest.dependencies {
            let package = dependency.package.as_str();
            if !dependency.has_path && !ours.contains(package) {
                used.entry(package).or_insert((&manifest.path, dependency.line));
            }
        }
    }
    let rows = project.text(PAGE).and_then(|text| markdown::table(text, "crate", "used by"));
    let Some(rows) = rows else {
        let what = "has no table with the header `| crate | used by | … |`";
        return vec![Violation::new(RULE, PAGE, 1, what, "write the table of dependencies")];
    };
    let mut violations = vec![];
    let mut listed = BTreeSet::new();
    for row in rows {
        for package in row.cells.first().map(|cell| markdown::codes(cell)).unwrap_or_default() {
            if !used.contains_key(package.as_str()) {
                let what = format!("`{package}` is listed, but no manifest uses it");
                violations.push(Violation::new(RULE, PAGE, row.line, what, "take the row out"));
            }
            listed.insert(package);
        }
    }
    for (package, (file, line)) in used.iter().filter(|(package, _)| !listed.contains(**package)) {
        let what = format!("`{package}` has no row in {PAGE}");
        let mend = "add a row that says who uses it, why, and what was rejected; or drop it";
        violations.push(Violation::new(RULE, file, *line, what, mend));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str, manifest: &str) -> Vec<(String, usize)> {
        let manifest = format!("[package]\nname = \"corbie-a\"\n[dependencies]\n{manifest}\n");
        let project = Project::of_texts(&[(PAGE, page), ("a/Cargo.toml", &manifest)]);
        check(&project).into_iter().map(|v| (v.file, v.line)).collect()
    }

    const TABLE: &str = "| crate | used by | why |\n|-|-|-|\n| `serde` | `a` | reasons |\n";

    #[test]
    fn a_listed_dependency_passes() {
        assert_eq!(found(TABLE, "serde = \"1\""), []);
    }

    #[test]
    fn an_unlisted_dependency_and_an_unused_row_are_found() {
        let found = found(TABLE, "socket2 = \"0.6\"");
        assert_eq!(found, [(PAGE.to_string(), 3), ("a/Cargo.toml".to_string(), 4)]);
    }

    #[test]
    fn our_own_crates_need_no_row() {
        assert_eq!(found(TABLE, "serde = \"1\"\nx = { path = \"../x\" }"), []);
    }
}
