//! `corbie completions SHELL`: the completion script of a shell, from the table.
//! For people who type; called by `command::run`.

use std::io::Write;

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::failure::Failure;

pub(super) fn table() -> Command {
    Command::new("completions")
        .about("Prints the completion script of a shell")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .required(true)
                .value_parser(value_parser!(Shell))
                .help("The shell that will read the script"),
        )
        .after_help(
            "Example: corbie completions bash > ~/.local/share/bash-completion/completions/corbie",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let Some(shell) = matches.get_one::<Shell>("shell").copied() else {
        return Err(Failure::usage("no shell was named"));
    };
    // Into memory first: clap_complete panics when the stream fails.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::table(), "corbie", &mut script);
    Ok(output.write_all(&script)?)
}
