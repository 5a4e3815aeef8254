//! Runs other programs, with their output passed on as it comes: what every chore is made of.
//! `Program` is a command line that can be printed, run, or run while its lines are looked at.

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A command line to be run in a folder.
#[derive(Clone)]
pub(crate) struct Program {
    words: Vec<String>,
    folder: PathBuf,
    variables: Vec<(String, OsString)>,
}

impl Program {
    /// `line` is split at blanks; arguments that contain blanks are added with `arguments`.
    pub(crate) fn new(folder: &Path, line: &str) -> Program {
        let words = line.split_whitespace().map(str::to_string).collect();
        Program { words, folder: folder.to_path_buf(), variables: vec![] }
    }

    pub(crate) fn arguments(mut self, arguments: &[String]) -> Program {
        self.words.extend_from_slice(arguments);
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: impl Into<OsString>) -> Program {
        self.variables.push((name.to_string(), value.into()));
        self
    }

    /// Runs it with our own standard streams.
    ///
    /// # Errors
    /// A sentence when it cannot be started or does not end with status 0.
    pub(crate) fn run(&self) -> Result<(), String> {
        let status = self.command().status().map_err(|e| self.not_started(&e))?;
        if status.success() { Ok(()) } else { Err(format!("`{self}` ended with {status}")) }
    }

    /// Runs it, passing its standard output on and showing each line to `see`.
    ///
    /// # Errors
    /// As `run`.
    pub(crate) fn run_seeing(&self, mut see: impl FnMut(&str)) -> Result<(), String> {
        self.run_reading(|line| {
            println!("{line}");
            see(line);
        })
    }

    /// Runs it, showing each line of its standard output to `see` only.
    ///
    /// # Errors
    /// As `run`.
    pub(crate) fn run_reading(&self, mut see: impl FnMut(&str)) -> Result<(), String> {
        let mut child =
            self.command().stdout(Stdio::piped()).spawn().map_err(|e| self.not_started(&e))?;
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                see(&line);
            }
        }
        let status = child.wait().map_err(|e| self.not_started(&e))?;
        if status.success() { Ok(()) } else { Err(format!("`{self}` ended with {status}")) }
    }

    /// Runs it without showing anything; gives standard output and standard error, and whether
    /// it ended with status 0.
    ///
    /// # Errors
    /// A sentence when it cannot be started.
    pub(crate) fn capture(&self) -> Result<(String, bool), String> {
        let output = self.command().output().map_err(|e| self.not_started(&e))?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok((text, output.status.success()))
    }

    /// Starts it with its standard output piped, and does not wait for it.
    ///
    /// # Errors
    /// A sentence when it cannot be started.
    pub(crate) fn start(&self) -> Result<Child, String> {
        let started = self.command().stdout(Stdio::piped()).spawn();
        started.map_err(|e| self.not_started(&e))
    }

    fn command(&self) -> Command {
        let mut words = self.words.iter();
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words).current_dir(&self.folder);
        // Cargo tells its children about this crate; they must not take it for theirs.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let inherited = name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST");
            if inherited || name == "CARGO_BIN_NAME" || name == "CARGO_CRATE_NAME" {
                command.env_remove(name);
            }
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn not_started(&self, error: &std::io::Error) -> String {
        format!("`{self}` cannot be run: {error}")
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

/// Where the program `name` is, by `PATH` or in `extra`.
pub(crate) fn find(name: &str, extra: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = extra.iter().cloned().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_seen_and_a_bad_status_is_an_error() {
        let here = Path::new(".");
        let mut seen = vec![];
        let two = Program::new(here, "printf a\\nb\\n");
        two.run_seeing(|line| seen.push(line.to_string())).unwrap();
        assert_eq!(seen, ["a", "b"]);
        assert!(Program::new(here, "false").run().unwrap_err().contains("`false` ended with"));
        assert!(Program::new(here, "no-such-program").run().unwrap_err().contains("cannot be run"));
    }

    #[test]
    fn captured_output_has_both_streams() {
        let program =
            Program::new(Path::new("."), "sh -c").arguments(&["echo a; echo b >&2".into()]);
        assert_eq!(program.capture().unwrap(), ("a\nb\n".to_string(), true));
    }
}
