//! Rule `layers`: a crate uses only what the layer table of ARCHITECTURE.md lets it use.
//! The table is the one under the header `| crate | may use …`; a cell names folders, or is
//! `-` (nothing of ours) or `any`. Dev-dependencies are free: tests may look at the layer above.

use std::collections::BTreeMap;

use super::manifest::Kind;
use super::markdown;
use super::project::Project;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "layers";
const MAP: &str = "ARCHITECTURE.md";

struct Layer {
    line: usize,
    any: bool,
    may_use: Vec<String>,
}

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let rows = project.text(MAP).and_then(|text| markdown::table(text, "crate", "may use"));
    let Some(rows) = rows else {
        let what = "has no table with the header `| crate | may use (internal) |`";
        return vec![Violation::new(RULE, MAP, 1, what, "write the layer table")];
    };
    let mut layers = BTreeMap::new();
    for row in rows {
        let (Some(name), Some(uses)) = (row.cells.first(), row.cells.get(1)) else {
            continue;
        };
        for folder in markdown::codes(name) {
            let may_use = markdown::codes(uses);
            layers.insert(folder, Layer { line: row.line, any: uses.starts_with("any"), may_use });
        }
    }
    let folders: BTreeMap<&str, &str> = project
        .manifests
        .iter()
        .filter_map(|m| m.package.as_deref().map(|package| (package, m.folder.as_str())))
        .collect();
    let mut violations = unknown_folders(&layers, &folders);
    // A crate that is a workspace of its own (cargo-fuzz) is not part of ours.
    let ours = project.manifests.iter().filter(|m| m.package.is_some() && !m.is_workspace);
    for manifest in ours {
        let Some(layer) = layers.get(&manifest.folder) else {
            let what = format!("`{}` has no row in the layer table of {MAP}", manifest.folder);
            let mend = "add a row that names the crates it may use";
            violations.push(Violation::new(RULE, &manifest.path, 1, what, mend));
            continue;
        };
        for dependency in &manifest.dependencies {
            let Some(folder) = folders.get(dependency.package.as_str()) else {
                continue;
            };
            let free = matches!(dependency.kind, Kind::Development | Kind::Workspace);
            if free || layer.any || layer.may_use.iter().any(|allowed| allowed == folder) {
                continue;
            }
            let what = format!("`{}` must not use `{folder}`", manifest.folder);
            let mend = format!("move the code, or argue for a new arrow in {MAP}");
            violations.push(Violation::new(RULE, &manifest.path, dependency.line, what, mend));
        }
    }
    violations
}

fn unknown_folders(
    layers: &BTreeMap<String, Layer>,
    folders: &BTreeMap<&str, &str>,
) -> Vec<Violation> {
    let known = |folder: &String| folders.values().any(|known| known == folder);
    let mut violations = vec![];
    for (folder, layer) in layers {
        for name in std::iter::once(folder).chain(&layer.may_use).filter(|name| !known(name)) {
            let what = format!("the layer table names `{name}`, which is no crate's folder");
            violations.push(Violation::new(RULE, MAP, layer.line, what, "correct the row"));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(map: &str, a_uses: &str) -> Project {
        let a = format!("[package]\nname = \"corbie-a\"\n{a_uses}\n");
        Project::of_texts(&[
            (MAP, map),
            ("x/a/Cargo.toml", &a),
            ("x/b/Cargo.toml", "[package]\nname = \"corbie-b\"\n"),
        ])
    }

    const STRICT: &str = "| crate | may use |\n|-|-|\n| `x/a` | - |\n| `x/b` | `x/a` |\n";

    #[test]
    fn an_arrow_that_is_not_in_the_table_is_found() {
        let found = check(&project(STRICT, "[dependencies]\ncorbie-b.workspace = true"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].file.as_str(), found[0].line), ("x/a/Cargo.toml", 4));
        assert!(found[0].what.contains("`x/a` must not use `x/b`"));
    }

    #[test]
    fn dev_dependencies_and_other_crates_are_free() {
        let uses = "[dependencies]\nserde = \"1\"\n[dev-dependencies]\ncorbie-b.workspace = true";
        assert_eq!(check(&project(STRICT, uses)), []);
    }

    #[test]
    fn build_dependencies_are_not_free() {
        let uses = "[build-dependencies]\ncorbie-b.workspace = true";
        assert_eq!(check(&project(STRICT, uses)).len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_found() {
        let map = "| crate | may use |\n|-|-|\n| `x/a` | any |\n| `x/c` | - |\n";
        let found = check(&project(map, "[dependencies]\ncorbie-b.workspace = true"));
        let whats: Vec<_> = found.iter().map(|v| v.what.as_str()).collect();
        assert_eq!(whats.len(), 2);
        assert!(whats[0].contains("`x/c`") && whats[1].contains("`x/b`"));
    }

    #[test]
    fn a_missing_table_is_found() {
        assert_eq!(check(&project("no table", "")).len(), 1);
    }
}
