//! `cargo xtask tidy`: the rules of CONTRIBUTING.md that no compiler checks.
//! Every rule sees the whole project and all violations are reported at once, each with its file
//! and line and how to mend it. A rule is a function from `Project` to violations with its own
//! unit tests beside it.

mod arrows;
mod calls;
mod comments;
mod connections;
mod crate_map;
mod decisions;
mod dependencies;
mod layers;
mod manifest;
mod markdown;
mod minor_codes;
mod modules;
mod names;
mod offenders;
mod places;
pub(crate) mod project;
mod promises;
pub(crate) mod rust_file;
mod sizes;
mod specification;
mod stale_docs;
mod text;
mod unsafe_code;
mod violation;
mod words;

use std::path::Path;

use crate::terminal::say;
use project::Project;
use violation::Violation;

/// The rules by name, and what each asks for, as `cargo xtask tidy --list` prints them.
const RULES: [(&str, &str); 26] = [
    ("parse", "sources and manifests can be parsed"),
    (arrows::RULE, "a module imports only from those below it, as the crate's root states them"),
    (words::RULE, "comments and documents name the thread, connection or caller that acts"),
    (names::RULE, "one name, one meaning in a crate"),
    (places::LOCKS_RULE, "the locks of the ORB have ranks"),
    (places::RECEIVING_RULE, "one function of the ORB receives"),
    (places::REDIRECTS_RULE, "attempts alone follow a forward"),
    (connections::RULE, "a connection has at most 16 fields and 8 atomics, with its parts"),
    (layers::RULE, "a crate uses only what the layer table of ARCHITECTURE.md allows"),
    (sizes::FILE_RULE, "at most 600 lines a file, tests aside"),
    (sizes::FUNCTION_RULE, "at most 70 lines a function, tests aside"),
    (modules::DOCS_RULE, "every file opens with 2 to 15 lines of `//!`"),
    (modules::NAMES_RULE, "no module is named by a word that says nothing"),
    (unsafe_code::RULE, "`unsafe` only in the listed files, each use with a SAFETY comment"),
    (text::WIDTH_RULE, "at most 100 columns"),
    (text::TABS_RULE, "no tabs"),
    (text::UNFINISHED_RULE, "nothing is left to be done in the code"),
    (calls::PRINTING_RULE, "a library never prints"),
    (calls::SLEEPING_RULE, "a test never sleeps without a reason"),
    (dependencies::RULE, "every dependency is argued for in the book"),
    (decisions::RULE, "each decision has a number of its own"),
    (promises::RULE, "each promise and boundary of SECURITY.md names a test that is there"),
    (stale_docs::RULE, "what the documentation names is there"),
    (minor_codes::RULE, "each minor code of ours is raised, and a test names it"),
    (specification::RULE, "docs/SPEC.md agrees with the citations in the code"),
    ("members", "every crate's folder is a member of the workspace"),
];

/// Runs every rule on the repository at `root`; prints what it found.
///
/// # Errors
/// A sentence with the number of violations, or why the repository could not be read.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<String, String> {
    match arguments {
        [] => {}
        [flag] if flag == "--shrink" => return shrink(root),
        [flag] if flag == "--list" => {
            for (name, asks) in RULES {
                say(&format!("{name:14} {asks}"));
            }
            return Ok(format!("{} rules", RULES.len()));
        }
        other => return Err(format!("tidy knows only --list and --shrink, not {other:?}")),
    }
    let project = Project::load(root)?;
    let violations = check(project);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => Ok(format!("{} rules hold", RULES.len())),
        1 => Err("1 violation".to_string()),
        n => Err(format!("{n} violations")),
    }
}

/// `cargo xtask tidy --shrink`: takes out of the lists of offenders what offends no more.
fn shrink(root: &Path) -> Result<String, String> {
    let project = Project::load(root)?;
    let mut shrunk = 0;
    for (rule, found) in listed(&project) {
        let path = offenders::list_path(rule);
        if let Some(text) = offenders::shrunk(project.text(&path).unwrap_or(""), &found) {
            std::fs::write(root.join(&path), text).map_err(|e| format!("{path}: {e}"))?;
            say(&path);
            shrunk += 1;
        }
    }
    Ok(format!("{shrunk} lists of offenders changed"))
}

/// The rules that excuse what is in a list, with all that offends them.
fn listed(project: &Project) -> Vec<(&'static str, Vec<offenders::Offence>)> {
    let mut rules = places::find(project);
    rules.push((arrows::RULE, arrows::find(project)));
    rules.push((words::RULE, words::find(project)));
    rules.push((names::RULE, names::find(project)));
    rules.push((connections::RULE, connections::find(project)));
    rules
}

/// `cargo xtask spec`: writes docs/SPEC.md from the citations in the code.
///
/// # Errors
/// When the repository cannot be read or the page cannot be written.
pub(crate) fn write_specification_page(root: &Path, _: &[String]) -> Result<String, String> {
    let page = specification::page(&Project::load(root)?);
    let path = root.join(specification::PAGE);
    std::fs::write(&path, &page).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(format!("{} lines in {}", page.lines().count(), specification::PAGE))
}

fn check(mut project: Project) -> Vec<Violation> {
    let mut violations = std::mem::take(&mut project.unreadable);
    violations.extend(layers::check(&project));
    violations.extend(sizes::check(&project));
    violations.extend(modules::check(&project));
    violations.extend(unsafe_code::check(&project));
    violations.extend(text::check(&project));
    violations.extend(calls::check(&project));
    violations.extend(dependencies::check(&project));
    violations.extend(decisions::check(&project));
    violations.extend(promises::check(&project));
    violations.extend(stale_docs::check(&project));
    violations.extend(minor_codes::check(&project));
    violations.extend(specification::check(&project));
    violations.extend(members(&project));
    for (rule, found) in listed(&project) {
        violations.extend(offenders::settle(&project, rule, &found));
    }
    violations.sort();
    violations.dedup();
    violations
}

/// A crate that is no member is never built, tested or linted. One that is a workspace of its own
/// says why in its manifest (cargo-fuzz needs nightly).
fn members(project: &Project) -> Vec<Violation> {
    let members: Vec<&String> = project.manifests.iter().flat_map(|m| &m.members).collect();
    let outside = project.manifests.iter().filter(|manifest| {
        let folder = &manifest.folder;
        let own_workspace = manifest.is_workspace;
        let is_crate = manifest.package.is_some() && !folder.is_empty() && !own_workspace;
        is_crate && !members.contains(&folder)
    });
    outside
        .map(|manifest| {
            let what = format!("`{}` is no member of the workspace", manifest.folder);
            Violation::new("members", &manifest.path, 1, what, "add it to the root Cargo.toml")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_fires_is_in_the_list_and_all_fire_at_once() {
        let found = check(Project::of_texts(&[
            ("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n"),
            ("b/Cargo.toml", "[package]\nname = \"b\"\n[dependencies]\nserde = \"1\"\n"),
            ("b/src/utils.rs", "fn f() { println!(); unsafe { g() } }\t\n"),
            ("b/src/broken.rs", "fn"),
            ("docs/src/dependencies.md", "| crate | used by |\n|-|-|\n"),
        ]));
        let fired: Vec<_> = found.iter().map(|v| v.rule).collect();
        for rule in ["parse", "layers", "module-docs", "unsafe", "tabs", "printing", "members"] {
            assert!(fired.contains(&rule), "{rule} did not fire: {fired:?}");
        }
        assert!(fired.iter().all(|rule| RULES.iter().any(|(name, _)| name == rule)));
    }

    #[test]
    fn a_tidy_project_has_no_violation() {
        let map = "`a` first\n\n| crate | may use |\n|-|-|\n| `a` | - |\n";
        let specification = specification::page(&Project::of_texts(&[]));
        let found = check(Project::of_texts(&[
            (specification::PAGE, &specification),
            ("ARCHITECTURE.md", map),
            ("SECURITY.md", "| boundary | outside |\n|-|-|\n\n| promise | shown by |\n|-|-|\n"),
            ("Cargo.toml", "[workspace]\nmembers = [\"a\"]\n"),
            ("a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("a/src/lib.rs", "//! One.\n//! Two.\n"),
            ("xtask/src/main.rs", "//! One.\n//! Two.\n// name: \"spec\"\n// name: \"tidy\"\n"),
            ("docs/src/dependencies.md", "| crate | used by |\n|-|-|\n"),
        ]));
        assert_eq!(found, []);
    }
}
