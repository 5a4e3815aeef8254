//! `corbie ior dump`: everything that is in a reference, in words.
//!
//! One description as JSON; without `--json` it is drawn as a tree. With `--ping` each address is
//! asked whether the object is there.

use std::io::Write;

use clap::{Arg, ArgAction, ArgMatches, Command};
use corbie::types::Description;

use crate::failure::Failure;
use crate::reference::{self, Answer};
use crate::session::{self, Session};
use crate::tree;

pub(super) fn table() -> Command {
    Command::new("ior")
        .about("Explains object references")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(dump_table())
        .after_help("Example: corbie ior dump --ping corbaloc::localhost:2809/NameService")
}

fn dump_table() -> Command {
    Command::new("dump")
        .about("Shows every profile and component of a reference in words")
        .arg(session::reference())
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .help("Write JSON instead of a tree"),
        )
        .arg(
            Arg::new("ping")
                .long("ping")
                .action(ArgAction::SetTrue)
                .help("Say for each address whether the object answers there, and how fast"),
        )
        .args(session::arguments())
        .after_help(
            "Example: corbie ior dump --ping corbaloc::localhost:2809/NameService\n\n\
             Exit status: 0, or 1 if the reference cannot be read, or if --ping was given and no \
             address answers.",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("dump", rest)) => dump(rest, output),
        _ => Err(Failure::usage("say what to do: try `corbie ior --help`")),
    }
}

fn dump(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let ior = reference::read(matches)?;
    let answers = if matches.get_flag("ping") {
        reference::ping(&Session::start(matches)?, &ior)?
    } else {
        Vec::new()
    };
    if matches.get_flag("json") {
        let mut facts = reference::facts(&ior);
        if matches.get_flag("ping") {
            facts["addresses"] = answers.iter().map(Answer::facts).collect();
        }
        writeln!(output, "{facts:#}")?;
    } else {
        let mut description = ior.describe();
        if matches.get_flag("ping") {
            let lines = answers.iter().map(Answer::describe).collect();
            description.children.push(Description::node("addresses", "", lines));
        }
        write!(output, "{}", tree::draw(&description))?;
    }
    if matches.get_flag("ping") && !answers.iter().any(Answer::is_there) {
        return Err(Failure::new("the object answers at no address of the reference"));
    }
    Ok(())
}
