//! `cargo xtask package`: packages the crates that users need as a registry would get them, and
//! unpacks them side by side. The tutorial is followed with those files instead of the checkout.

use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::process::Program;

/// A packaged crate.
pub(crate) struct Package {
    pub(crate) name: String,
    /// Its unpacked files.
    pub(crate) folder: PathBuf,
}

/// The folder of all unpacked packages, each at its place in the repository.
pub(crate) fn tree(root: &Path) -> PathBuf {
    root.join("target/packaged")
}

/// Packages and unpacks.
///
/// # Errors
/// A sentence of the crate that cannot be packaged, or that lacks a file or a field.
pub(crate) fn run(root: &Path, _: &[String]) -> Result<String, String> {
    let packages = unpack(root)?;
    Ok(format!("{} packages in {}", packages.len(), tree(root).display()))
}

/// Packages every member of the workspace that is to be published, and unpacks it.
///
/// # Errors
/// As [`run`].
pub(crate) fn unpack(root: &Path) -> Result<Vec<Package>, String> {
    let members = members(root)?;
    let mut line = "cargo package --quiet --workspace --no-verify --allow-dirty".to_string();
    for member in members.iter().filter(|member| !member.is_published) {
        line.push_str(" --exclude ");
        line.push_str(&member.name);
    }
    Program::new(root, &line).variable("CARGO_TARGET_DIR", root.join("target")).run()?;
    let tree = tree(root);
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(|e| format!("{}: {e}", tree.display()))?;
    }
    members
        .into_iter()
        .filter(|member| member.is_published)
        .map(|member| {
            let Member { name, version, folder, .. } = member;
            let archive = root.join(format!("target/package/{name}-{version}.crate"));
            let folder = tree.join(folder);
            fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            let places = [&archive, &folder].map(|path| path.display().to_string());
            let [archive, into] = &places;
            // Archives have one time for all files: by it, cargo would not see that they changed.
            let line = format!("tar -xzmf {archive} --strip-components=1 -C {into}");
            Program::new(root, &line).run()?;
            check(&name, &folder)?;
            Ok(Package { name, folder })
        })
        .collect()
}

struct Member {
    name: String,
    version: String,
    folder: String,
    is_published: bool,
}

fn members(root: &Path) -> Result<Vec<Member>, String> {
    let workspace = read(&root.join("Cargo.toml"))?;
    let workspace = workspace.get("workspace").and_then(Value::as_table);
    let version = workspace
        .and_then(|table| table.get("package")?.get("version")?.as_str())
        .ok_or("Cargo.toml: the workspace has no version")?;
    let folders = workspace.and_then(|table| table.get("members")?.as_array());
    folders
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|folder| {
            let path = root.join(folder).join("Cargo.toml");
            let manifest = read(&path)?;
            let package = manifest.get("package").and_then(Value::as_table);
            let name = package.and_then(|package| package.get("name")?.as_str());
            Ok(Member {
                name: name.ok_or(format!("{}: no package name", path.display()))?.to_string(),
                version: version.to_string(),
                folder: folder.to_string(),
                // Published unless it says otherwise, as everywhere.
                is_published: package.is_some_and(|package| !package.contains_key("publish")),
            })
        })
        .collect()
}

/// Whether a registry and its readers find all that they look for.
fn check(name: &str, folder: &Path) -> Result<(), String> {
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md"] {
        if !folder.join(file).is_file() {
            return Err(format!("the package {name} has no {file}"));
        }
    }
    let manifest = read(&folder.join("Cargo.toml"))?;
    for field in ["description", "license", "repository", "keywords", "categories", "rust-version"]
    {
        if manifest.get("package").and_then(|package| package.get(field)).is_none() {
            return Err(format!("the package {name} has no `{field}`"));
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Table, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {}", path.display(), e.message()))
}
