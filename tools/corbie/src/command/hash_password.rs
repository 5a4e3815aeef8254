//! `corbie hash-password`: the hash of a password, for the table `[users]` of an access file.
//! The password comes from standard input, where no list of processes shows it; called by
//! `command::run`.

use std::io::{BufRead, Read, Write, stdin};

use clap::{ArgMatches, Command};
use corbie::access::hash_password;

use crate::failure::Failure;

/// Octets of a line that are read at most: more than a password has.
const LINE_OCTETS_MAX: u64 = 2048;

pub(super) fn table() -> Command {
    Command::new("hash-password")
        .about("Prints the hash of a password, for the table [users] of an access file")
        .long_about(
            "Reads one line, the password, from standard input and prints its hash (Argon2id with \
             a salt of its own), as the table [users] of an access file has it.",
        )
        .after_help("Example: corbie hash-password < password.txt")
}

pub(super) fn run(_: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let mut line = Vec::new();
    stdin().lock().take(LINE_OCTETS_MAX).read_until(b'\n', &mut line)?;
    let password = line.strip_suffix(b"\n").unwrap_or(&line);
    let password = password.strip_suffix(b"\r").unwrap_or(password);
    if password.is_empty() {
        return Err(Failure::usage("standard input has no password in its first line"));
    }
    let hash = hash_password(password).map_err(|why| Failure::usage(why.to_string()))?;
    Ok(writeln!(output, "{hash}")?)
}
