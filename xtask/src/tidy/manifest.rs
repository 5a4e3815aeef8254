//! What tidy needs of a `Cargo.toml`: the package's name and folder, and its dependencies with
//! their kind and line. Read by the checks on layers, dependencies and stale documentation.

use toml::{Table, Value};

use super::violation::Violation;

/// In which table of the manifest a dependency stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Development,
    /// `[workspace.dependencies]`: gives a version, uses nothing.
    Workspace,
}

/// One line of a manifest's dependency tables.
#[derive(Debug)]
pub(crate) struct Dependency {
    /// The package's name (`package = …` where the dependency is renamed).
    pub(crate) package: String,
    pub(crate) kind: Kind,
    /// Counted from 1.
    pub(crate) line: usize,
    /// Given by a path: one of ours.
    pub(crate) has_path: bool,
}

/// A parsed `Cargo.toml`.
pub(crate) struct Manifest {
    /// Path from the root of the repository.
    pub(crate) path: String,
    /// The folder it stands in, `""` for the root.
    pub(crate) folder: String,
    /// `None` for a workspace without a root package.
    pub(crate) package: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    /// Folders of the workspace's members; empty in a member's own manifest.
    pub(crate) members: Vec<String>,
    /// Has a `[workspace]` table.
    pub(crate) is_workspace: bool,
    /// Names of `[[example]]` and `[[bin]]` targets.
    pub(crate) targets: Vec<String>,
}

impl Manifest {
    pub(crate) fn parse(path: &str, text: &str) -> Result<Manifest, Violation> {
        let table: Table = toml::from_str(text).map_err(|e| {
            let what = format!("is not valid TOML: {}", e.message());
            Violation::new("parse", path, 1, what, "correct the manifest")
        })?;
        let package = table.get("package").and_then(|p| p.get("name")).and_then(Value::as_str);
        let workspace = table.get("workspace").and_then(Value::as_table);
        let mut manifest = Manifest {
            path: path.to_string(),
            folder: path.rsplit_once('/').map_or("", |(folder, _)| folder).to_string(),
            package: package.map(str::to_string),
            dependencies: vec![],
            members: workspace.map(|w| strings(w.get("members"))).unwrap_or_default(),
            is_workspace: workspace.is_some(),
            targets: ["example", "bin"].iter().flat_map(|kind| names(table.get(*kind))).collect(),
        };
        manifest.add_dependencies(&table, text);
        for target in table.get("target").and_then(Value::as_table).into_iter().flatten() {
            if let Some(table) = target.1.as_table() {
                manifest.add_dependencies(table, text);
            }
        }
        if let Some(workspace) = workspace {
            manifest.add_table(workspace, "dependencies", Kind::Workspace, text);
        }
        Ok(manifest)
    }

    fn add_dependencies(&mut self, table: &Table, text: &str) {
        self.add_table(table, "dependencies", Kind::Normal, text);
        self.add_table(table, "build-dependencies", Kind::Build, text);
        self.add_table(table, "dev-dependencies", Kind::Development, text);
    }

    fn add_table(&mut self, table: &Table, name: &str, kind: Kind, text: &str) {
        for (key, value) in table.get(name).and_then(Value::as_table).into_iter().flatten() {
            let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
            self.dependencies.push(Dependency {
                package: package.to_string(),
                kind,
                line: line_of(text, key),
                has_path: value.get("path").is_some(),
            });
        }
    }
}

/// The first line that begins with `key`, or that is the header of the key's own table.
fn line_of(text: &str, key: &str) -> usize {
    let begins = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
            || (line.starts_with('[') && line.trim_end().ends_with(&format!(".{key}]")))
    };
    text.lines().position(begins).map_or(1, |i| i + 1)
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let array = value.and_then(Value::as_array).into_iter().flatten();
    array.filter_map(Value::as_str).map(str::to_string).collect()
}

fn names(value: Option<&Value>) -> Vec<String> {
    let array = value.and_then(Value::as_array).into_iter().flatten();
    let names = array.filter_map(|target| target.get("name")).filter_map(Value::as_str);
    names.map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_have_kind_line_and_package() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nx = { package = \"y\", version = \"1\" \
                    }\nz.workspace = true\n[dev-dependencies]\nw = { path = \"../w\" }\n";
        let manifest = Manifest::parse("f/Cargo.toml", text).unwrap();
        assert_eq!((manifest.folder.as_str(), manifest.package.as_deref()), ("f", Some("a")));
        let seen: Vec<_> = manifest
            .dependencies
            .iter()
            .map(|d| (d.package.as_str(), d.kind, d.line, d.has_path))
            .collect();
        assert_eq!(
            seen,
            [
                ("y", Kind::Normal, 4, false),
                ("z", Kind::Normal, 5, false),
                ("w", Kind::Development, 7, true)
            ]
        );
    }

    #[test]
    fn a_workspace_has_members() {
        let manifest = Manifest::parse("Cargo.toml", "[workspace]\nmembers = [\"a/b\"]\n").unwrap();
        assert_eq!(manifest.members, ["a/b"]);
        assert!(manifest.package.is_none());
    }

    #[test]
    fn broken_toml_is_a_violation() {
        assert!(Manifest::parse("Cargo.toml", "[workspace\n").is_err());
    }
}
