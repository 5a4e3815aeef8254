//! `cargo xtask tutorial`: does what the book's tutorial tells its reader to do, in an empty
//! folder, with the packaged crates instead of the checkout. A comment before a fenced block says
//! what the block is: `<!-- file: PATH -->` is written to that file, `<!-- append: PATH -->` is
//! added to it, `<!-- run -->` is given to the shell line by line, `<!-- serve -->` is left running
//! from its first line of output to the end, `<!-- output -->` lists lines that the last command
//! must have printed.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc;
use std::time::Duration;

use crate::package::{self, Package};
use crate::process::Program;

const PAGE: &str = "docs/src/tutorial.md";

/// One thing that the tutorial tells its reader to do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    Write {
        path: String,
        text: String,
    },
    Append {
        path: String,
        text: String,
    },
    Run(String),
    /// Runs until the tutorial ends.
    Serve(String),
    /// The last command's output has this line.
    Expect(String),
}

/// Follows the tutorial.
///
/// # Errors
/// The line of the page whose instruction did not work, and what happened instead.
pub(crate) fn run(root: &Path, _: &[String]) -> Result<String, String> {
    let page = fs::read_to_string(root.join(PAGE)).map_err(|e| format!("{PAGE}: {e}"))?;
    let actions = parse(&page)?;
    // Outside of the repository: inside, `cargo new` would make the package a member of ours.
    let folder = std::env::temp_dir().join(format!("corbie-tutorial-{}", std::process::id()));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let packages = package::unpack(root)?;
    let mut reader = Reader {
        root,
        packages: &packages,
        folder: folder.clone(),
        output: String::new(),
        servers: vec![],
    };
    for (line, action) in &actions {
        // After a failure the folder stays, to be looked at.
        reader.follow(action).map_err(|sentence| {
            format!("{PAGE}:{line}: {sentence} (in {})", reader.folder.display())
        })?;
    }
    drop(reader);
    fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(format!("{} instructions followed, with {} packages", actions.len(), packages.len()))
}

/// Has cargo take our crates from the unpacked packages, wherever it would ask the registry.
fn registry(packages: &[Package]) -> String {
    let line = |package: &Package| {
        format!("{} = {{ path = {:?} }}\n", package.name, package.folder.display().to_string())
    };
    packages.iter().fold("\n[patch.crates-io]\n".to_string(), |text, package| text + &line(package))
}

/// Someone who does what the page says.
struct Reader<'a> {
    root: &'a Path,
    packages: &'a [Package],
    /// Where the next command is run and the next file written; `cd` changes it.
    folder: PathBuf,
    /// What the last command printed, on both streams.
    output: String,
    /// What was left running; ended with the reader.
    servers: Vec<Child>,
}

/// How long a server may take to its first line, compiling included.
const SERVER_START: Duration = Duration::from_secs(600);

impl Reader<'_> {
    fn follow(&mut self, action: &Action) -> Result<(), String> {
        match action {
            Action::Write { path, text } => self.write(path, text),
            Action::Append { path, text } => {
                let before = fs::read_to_string(self.folder.join(path)).unwrap_or_default();
                self.write(path, &format!("{before}{text}"))
            }
            Action::Run(command) => self.run(command),
            Action::Serve(command) => self.serve(command),
            Action::Expect(line) => {
                let line = line.trim();
                let printed = self.output.lines().any(|printed| fits(line, printed.trim()));
                if printed { Ok(()) } else { Err(format!("no line like `{line}` was printed")) }
            }
        }
    }

    fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let path = self.folder.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn run(&mut self, command: &str) -> Result<(), String> {
        println!("$ {command}");
        if let Some(folder) = command.strip_prefix("cd ") {
            self.folder = self.folder.join(folder.trim());
            // The versions that the workspace is tested with, so that no network is needed.
            let lock = fs::copy(self.root.join("Cargo.lock"), self.folder.join("Cargo.lock"));
            lock.map_err(|e| format!("Cargo.lock: {e}"))?;
            let patch = registry(self.packages);
            return self.follow(&Action::Append { path: "Cargo.toml".to_string(), text: patch });
        }
        if command.starts_with("export CORBIE=") {
            return Ok(());
        }
        let (output, succeeded) = self.shell(command).capture()?;
        println!("{output}");
        self.output = output;
        if succeeded { Ok(()) } else { Err(format!("`{command}` failed")) }
    }

    fn serve(&mut self, command: &str) -> Result<(), String> {
        println!("$ {command} &");
        // `exec` twice (here and in `cargo run`), so that the child is the server itself.
        let mut server = self.shell(&format!("exec {command}")).start()?;
        let output = server.stdout.take();
        self.servers.push(server);
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.into_iter().flat_map(|o| BufReader::new(o).lines()) {
                let Ok(line) = line else { break };
                // The lines after the first are not waited for; reading on keeps the pipe open.
                let _ = sender.send(line);
            }
        });
        let first = receiver.recv_timeout(SERVER_START);
        self.output = first.map_err(|_| format!("`{command}` printed nothing"))?;
        println!("{}", self.output);
        Ok(())
    }

    fn shell(&self, command: &str) -> Program {
        let program = Program::new(&self.folder, "bash -c").arguments(&[command.to_string()]);
        if command.contains("--manifest-path") {
            // A program of ours, which the workspace has built already.
            return program.variable("CORBIE", self.root);
        }
        program
            .variable("CORBIE", package::tree(self.root))
            .variable("CARGO_TARGET_DIR", self.root.join("target/tutorial/build"))
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // It may have ended by itself, which is as good.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// `…` in `pattern` stands for anything, also for nothing.
fn fits(pattern: &str, line: &str) -> bool {
    let Some((first, pattern)) = pattern.split_once('…') else {
        return pattern == line;
    };
    let Some(line) = line.strip_prefix(first) else {
        return false;
    };
    let starts = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    starts.into_iter().any(|at| fits(pattern, &line[at..]))
}

fn parse(page: &str) -> Result<Vec<(usize, Action)>, String> {
    let mut actions = vec![];
    let mut lines = page.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        let comment = line.trim().strip_prefix("<!-- ").and_then(|l| l.strip_suffix(" -->"));
        let Some(comment) = comment else { continue };
        if !lines.next().is_some_and(|(_, line)| line.starts_with("```")) {
            return Err(format!("{PAGE}:{}: no fenced block follows `{comment}`", i + 1));
        }
        let block = lines.by_ref().take_while(|(_, line)| !line.starts_with("```"));
        let block: Vec<(usize, &str)> = block.map(|(i, line)| (i + 1, line)).collect();
        let text = || block.iter().map(|(_, line)| format!("{line}\n")).collect::<String>();
        let each = |action: fn(String) -> Action| {
            let lines = block.iter().filter(|(_, line)| !line.trim().is_empty());
            lines.map(move |(at, line)| (*at, action((*line).to_string()))).collect::<Vec<_>>()
        };
        match comment.split_once(": ") {
            Some(("file", path)) => {
                actions.push((i + 1, Action::Write { path: path.to_string(), text: text() }));
            }
            Some(("append", path)) => {
                actions.push((i + 1, Action::Append { path: path.to_string(), text: text() }));
            }
            None if comment == "run" => actions.extend(each(Action::Run)),
            None if comment == "serve" => actions.extend(each(Action::Serve)),
            None if comment == "output" => actions.extend(each(Action::Expect)),
            _ => return Err(format!("{PAGE}:{}: unknown instruction `{comment}`", i + 1)),
        }
    }
    Ok(actions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read_with_their_lines() {
        let page = "text\n<!-- run -->\n```sh\ncargo new a\ncd a\n```\n<!-- file: b.rs -->\n```rust\n\
                    fn b() {}\n```\n<!-- output -->\n```\nhello\n```\n```\nignored\n```\n";
        let expected = [
            (4, Action::Run("cargo new a".into())),
            (5, Action::Run("cd a".into())),
            (7, Action::Write { path: "b.rs".into(), text: "fn b() {}\n".into() }),
            (13, Action::Expect("hello".into())),
        ];
        assert_eq!(parse(page).unwrap(), expected);
    }

    #[test]
    fn an_unknown_instruction_or_a_missing_block_is_an_error() {
        assert!(parse("<!-- dance -->\n```\n```\n").is_err());
        assert!(parse("<!-- run -->\nno block\n").is_err());
    }

    #[test]
    fn dots_stand_for_anything() {
        assert!(fits("IOR:…", "IOR:0102"));
        assert!(fits("a … c", "a b c"));
        assert!(fits("exact", "exact"));
        assert!(!fits("exact", "exactly"));
        assert!(!fits("a … c", "a b d"));
    }
}
