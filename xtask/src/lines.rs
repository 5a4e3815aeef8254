//! `cargo xtask lines`: how large each crate is without its tests, all lines and lines of code.
//! A line of code is neither blank nor a comment. Test code is what `tidy` takes for it: files
//! below `tests/` or named `tests.rs`, `#[cfg(test)]` items, `#[test]` functions.
//! `--root DIR` counts another checkout, so that two can be compared (decision 35).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::terminal::say;
use crate::tidy::project::Project;
use crate::tidy::rust_file::RustFile;

/// What was counted of one crate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    files: usize,
    /// Without tests.
    lines: usize,
    /// Without tests, blank lines and comments.
    code: usize,
}

impl Size {
    fn add(&mut self, other: Size) {
        self.files += other.files;
        self.lines += other.lines;
        self.code += other.code;
    }
}

/// Counts the crates below the folders that the arguments name, `orb` without any.
///
/// # Errors
/// A sentence when a folder has no crate, or the checkout cannot be read.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<String, String> {
    let mut folders = vec![];
    let mut root = root.to_path_buf();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--root" => root = PathBuf::from(arguments.next().ok_or("--root needs a folder")?),
            other if other.starts_with('-') => {
                return Err(format!("lines knows only the option --root, not `{other}`"));
            }
            folder => folders.push(folder.trim_end_matches('/').to_string()),
        }
    }
    if folders.is_empty() {
        folders.push("orb".to_string());
    }
    let sizes = count(&Project::load(&root)?, &folders);
    if sizes.is_empty() {
        return Err(format!("there is no crate in {folders:?} below {}", root.display()));
    }
    let mut total = Size::default();
    say("| crate | files | lines | code |\n|---|---:|---:|---:|");
    for (folder, size) in &sizes {
        total.add(*size);
        say(&row(folder, *size));
    }
    say(&row("together", total));
    Ok(format!("{} lines without tests, {} of them code", total.lines, total.code))
}

fn row(name: &str, size: Size) -> String {
    format!("| {name} | {} | {} | {} |", size.files, size.lines, size.code)
}

fn count(project: &Project, folders: &[String]) -> BTreeMap<String, Size> {
    let mut sizes: BTreeMap<String, Size> = BTreeMap::new();
    for file in project.rust.iter().filter(|file| !file.is_test_file()) {
        let below = |folder: &String| file.path.starts_with(&format!("{folder}/"));
        let crates = project.manifests.iter().filter(|m| !m.folder.is_empty());
        let owners = crates.filter(|m| file.path.starts_with(&format!("{}/", m.folder)));
        let owner = owners.max_by_key(|manifest| manifest.folder.len());
        if let (Some(owner), true) = (owner, folders.iter().any(below)) {
            sizes.entry(owner.folder.clone()).or_default().add(size_of(file));
        }
    }
    sizes
}

fn size_of(file: &RustFile) -> Size {
    let mut size = Size { files: 1, ..Size::default() };
    for (i, line) in file.text.lines().enumerate() {
        if !file.is_test_line(i + 1) {
            let line = line.trim_start();
            size.lines += 1;
            size.code += usize::from(!line.is_empty() && !line.starts_with("//"));
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! One.\n\nfn a() {}\n// Why.\nfn b() {} // after\n\
                          #[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";

    fn counted(folders: &[&str]) -> Vec<(String, Size)> {
        let package = "[package]\nname = \"x\"\n";
        let project = Project::of_texts(&[
            ("Cargo.toml", "[workspace]\nmembers = [\"orb/a\"]\n"),
            ("orb/a/Cargo.toml", package),
            ("orb/a/src/lib.rs", SOURCE),
            ("orb/a/src/x/tests.rs", SOURCE),
            ("orb/a/tests/x.rs", SOURCE),
            ("orb/a/inner/Cargo.toml", package),
            ("orb/a/inner/src/lib.rs", "fn a() {}\n"),
            ("wire/b/Cargo.toml", package),
            ("wire/b/src/lib.rs", SOURCE),
        ]);
        let folders: Vec<String> = folders.iter().map(|folder| (*folder).to_string()).collect();
        count(&project, &folders).into_iter().collect()
    }

    #[test]
    fn tests_comments_and_blank_lines_are_left_out() {
        let wire = Size { files: 1, lines: 5, code: 2 };
        assert_eq!(counted(&["wire"]), [("wire/b".to_string(), wire)]);
    }

    #[test]
    fn a_crate_within_a_crate_counts_for_itself() {
        let found = counted(&["orb"]);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["orb/a", "orb/a/inner"]);
        assert_eq!(found[1].1, Size { files: 1, lines: 1, code: 1 });
        assert_eq!(counted(&["or"]), []);
    }
}
