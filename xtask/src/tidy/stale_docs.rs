//! Rule `stale-docs`: what the documentation names is there. Paths in code spans and links,
//! `cargo` commands with their packages, examples and xtask commands, and a line for each crate
//! in the map of ARCHITECTURE.md. The tutorial's own files are checked by following it instead.

use std::collections::BTreeSet;

use super::markdown::{self, Piece};
use super::project::Project;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "stale-docs";
const MAP: &str = "ARCHITECTURE.md";
const TUTORIAL: &str = "docs/src/tutorial.md";

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let xtask_commands = xtask_commands(project);
    let mut violations = crates_missing_from_map(project);
    for file in project.files.iter().filter(|file| is_documentation(&file.path)) {
        let spans = markdown::code_spans(&file.text);
        for span in spans.iter().filter(|_| file.path != TUTORIAL) {
            if let Some(path) = stale_path(project, &file.path, &span.text) {
                let what = format!("`{path}` does not exist");
                let mend = "correct the path, or take the sentence out";
                violations.push(Violation::new(RULE, &file.path, span.line, what, mend));
            }
        }
        for link in markdown::link_targets(&file.text) {
            if let Some(what) = stale_link(project, &file.path, &link.text) {
                violations.push(Violation::new(RULE, &file.path, link.line, what, "correct it"));
            }
        }
        let commands = spans.into_iter().chain(markdown::fenced_lines(&file.text));
        for Piece { line, text } in commands {
            // The programs that the tutorial starts are its reader's own.
            let own = file.path == TUTORIAL && !text.contains("xtask");
            let stale = stale_command(project, &xtask_commands, &text).filter(|_| !own);
            if let Some(what) = stale {
                let mend = "write the command as it is today";
                violations.push(Violation::new(RULE, &file.path, line, what, mend));
            }
        }
    }
    violations
}

/// The names in the task runner's list of its commands.
fn xtask_commands(project: &Project) -> Vec<&str> {
    let list = project.text("xtask/src/main.rs").unwrap_or("");
    let names = list.lines().filter_map(|line| line.split_once("name: \""));
    names.filter_map(|(_, rest)| rest.split('"').next()).collect()
}

/// The pages that describe the repository as it is. The change log and the decisions describe
/// it as it was.
fn is_documentation(path: &str) -> bool {
    let root = ["README.md", MAP, "CONTRIBUTING.md", "SECURITY.md", "docs/SPEC.md"];
    let in_book = path.starts_with("docs/src/") && path.ends_with(".md");
    root.contains(&path) || in_book || path.ends_with("/README.md")
}

fn crates_missing_from_map(project: &Project) -> Vec<Violation> {
    let Some(map) = project.text(MAP) else {
        return vec![Violation::new(RULE, MAP, 1, "is missing", "write the map of the folders")];
    };
    let members = project.manifests.iter().flat_map(|m| &m.members);
    let listed: BTreeSet<&str> = map
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(|word| word.trim_matches('`').trim_end_matches('/'))
        .collect();
    let missing = members.filter(|member| !listed.contains(member.as_str()));
    missing
        .map(|member| {
            let what = format!("the map has no line that begins with `{member}`");
            Violation::new(RULE, MAP, 1, what, "add the line: folder, then what it is for")
        })
        .collect()
}

/// `span`, if it looks like a path of the repository and is not there. A page below the root may
/// name paths from any folder that it is in.
fn stale_path<'a>(project: &Project, page: &str, span: &'a str) -> Option<&'a str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let placeholder = span.contains("NNNN");
    let is_path = span.contains('/') && !span.starts_with('/') && span.chars().all(plain);
    if !is_path || placeholder {
        return None;
    }
    let path = span.trim_end_matches('/').trim_start_matches("./");
    let top = path.split('/').next().unwrap_or("");
    // Only what begins with a folder of ours is a path; `client/invoke` in prose is not.
    // What lies below `target/` is made by the commands and need not be there yet.
    let ours = top != "target" && project.paths.contains(top);
    let folders = page.match_indices('/').map(|(at, _)| &page[..=at]).chain([""]);
    let exists = folders.into_iter().any(|f| project.paths.contains(&format!("{f}{path}")));
    (ours && !exists).then_some(span)
}

fn stale_link(project: &Project, page: &str, target: &str) -> Option<String> {
    let path = target.split('#').next().unwrap_or("");
    if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
        return None;
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    (!project.paths.contains(&path)).then(|| format!("the link `{target}` leads nowhere"))
}

/// What is wrong with `command`, if it is one of cargo's and names something of ours.
fn stale_command(project: &Project, xtask_commands: &[&str], command: &str) -> Option<String> {
    let words: Vec<&str> = command.split_whitespace().skip_while(|w| *w == "$").collect();
    match words.first() {
        Some(&"corbie") => return stale_subcommand(project, &words[1..]),
        Some(&"cargo") => {}
        _ => return None,
    }
    if words.get(1) == Some(&"xtask") {
        let name = words.get(2)?;
        let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        let stale = is_name && !xtask_commands.contains(name);
        return stale.then(|| format!("there is no `cargo xtask {name}`"));
    }
    let after = |options: &[&str]| {
        let at = words.iter().position(|word| options.contains(word))?;
        words.get(at + 1).copied().filter(|name| !name.starts_with(['<', '"', '$']))
    };
    if let Some(name) = after(&["-p", "--package"]) {
        let known = project.manifests.iter().any(|m| m.package.as_deref() == Some(name));
        if !known {
            return Some(format!("there is no package `{name}`"));
        }
    }
    let name = after(&["--example", "--bin"])?;
    let known = project.manifests.iter().any(|m| m.targets.iter().any(|target| target == name));
    let file = format!("/bin/{name}.rs");
    let known = known || project.paths.iter().any(|path| path.ends_with(&file));
    (!known).then(|| format!("there is no example or program `{name}`"))
}

/// What is wrong with `corbie WORD WORD…`: each word must be a subcommand until the first that is
/// an option, an argument in capitals or a value.
fn stale_subcommand(project: &Project, words: &[&str]) -> Option<String> {
    let first = words.first()?;
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    if !is_name(first) || first.starts_with('-') {
        return None;
    }
    let sources = project.files.iter().filter(|f| f.path.starts_with("tools/corbie/src/command"));
    let texts: Vec<&str> = sources.map(|file| file.text.as_str()).collect();
    let known = |word: &str| {
        let made = format!("Command::new(\"{word}\")");
        word == "help" || texts.iter().any(|text| text.contains(&made))
    };
    // Only `idl` and `ior` have a second level.
    let depth = if ["idl", "ior"].contains(first) { 2 } else { 1 };
    let named = words.iter().take(depth).take_while(|word| is_name(word));
    let unknown = named.copied().find(|word| !known(word));
    unknown.map(|word| format!("`corbie` has no subcommand `{word}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(readme: &str) -> Vec<String> {
        let example = "[package]\nname = \"corbie-x\"\n[[example]]\nname = \"quoter\"\n";
        let project = Project::of_texts(&[
            ("README.md", readme),
            (MAP, "```\nx/y   does things\n```\n"),
            ("Cargo.toml", "[workspace]\nmembers = [\"x/y\"]\n"),
            ("x/y/Cargo.toml", example),
            ("xtask/src/main.rs", "//! A\n//! B\nconst C: Command = Command { name: \"tidy\" };"),
            ("docs/src/a.md", ""),
            ("tools/corbie/src/command/idl.rs", "//! A\n//! B\nCommand::new(\"idl\")"),
        ]);
        check(&project).into_iter().map(|v| v.what).collect()
    }

    #[test]
    fn what_exists_passes() {
        let text = "`x/y`, `x/y/`, `client/invoke`, `/usr/share`, [a](docs/src/a.md#top), \
                    `cargo xtask tidy`, `cargo run --release --example quoter`, `cargo test -p \
                    corbie-x`, [web](https://example.org)\n";
        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn stale_paths_and_links_are_found() {
        assert_eq!(found("`x/z.rs`\n"), ["`x/z.rs` does not exist"]);
        assert_eq!(found("[a](docs/b.md)\n"), ["the link `docs/b.md` leads nowhere"]);
    }

    #[test]
    fn a_page_below_may_name_paths_from_its_own_folders() {
        let project = Project::of_texts(&[
            (MAP, ""),
            ("wire/cdr/tests/golden/README.md", "`tests/a.rs`, `tests/b.rs`, `tests/kit`\n"),
            ("wire/cdr/tests/a.rs", ""),
            ("tests/kit", ""),
        ]);
        let found: Vec<_> = check(&project).into_iter().map(|v| v.what).collect();
        assert_eq!(found, ["`tests/b.rs` does not exist"]);
    }

    #[test]
    fn stale_commands_are_found_in_spans_and_blocks() {
        assert_eq!(found("`cargo xtask fly`\n"), ["there is no `cargo xtask fly`"]);
        assert_eq!(found("```\n$ cargo test -p nix\n```\n"), ["there is no package `nix`"]);
        let example = found("```\ncargo run --example none\n```\n");
        assert_eq!(example, ["there is no example or program `none`"]);
    }

    #[test]
    fn stale_subcommands_are_found() {
        assert_eq!(found("`corbie idl -I x`, `corbie SUBCOMMAND --help`\n"), Vec::<String>::new());
        assert_eq!(found("`corbie fly`\n"), ["`corbie` has no subcommand `fly`"]);
        let second = found("```console\n$ corbie idl paint x.idl\n```\n");
        assert_eq!(second, ["`corbie` has no subcommand `paint`"]);
    }

    #[test]
    fn a_crate_that_the_map_forgets_is_found() {
        let project = Project::of_texts(&[
            (MAP, "no map"),
            ("Cargo.toml", "[workspace]\nmembers = [\"x/y\"]\n"),
        ]);
        assert_eq!(check(&project).len(), 1);
    }
}
