//! `corbie settings`: every setting of the ORB, in all spellings, made from the ORB's own table.
//! The text is `Settings::reference`, which the book has too; called by `command::run`.

use std::io::Write;

use clap::{ArgMatches, Command};
use corbie::Settings;

use crate::failure::Failure;

pub(super) fn table() -> Command {
    Command::new("settings")
        .about("Prints every setting of the ORB: -ORB arguments, environment, corbie.toml")
        .after_help("Example: corbie settings | grep -A 12 request_timeout")
}

pub(super) fn run(_: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    Ok(output.write_all(Settings::reference().as_bytes())?)
}
