//! `corbie mshn generate`: a matrix of expected times, of one of the twelve classes of Braun et al.
//!
//! Written to standard output in the text form that `corbie mshn schedule` reads.

use std::io::Write;

use clap::{Arg, ArgMatches, Command, value_parser};
use corbie_mshn::schedule::EtcClass;

use crate::failure::Failure;

pub(super) fn table() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("N")
            .default_value(default)
            .value_parser(value_parser!(u64))
            .help(help)
    };
    Command::new("generate")
        .about("Makes a matrix of expected times by class and seed")
        .arg(
            Arg::new("class")
                .value_name("CLASS")
                .required(true)
                .value_parser(value_parser!(EtcClass))
                .help(
                    "u_x_yyzz: x is c, i or s (consistent, inconsistent, semi-consistent); yy and \
                       zz are hi or lo (heterogeneity of tasks and machines)",
                ),
        )
        .arg(number("tasks", "512", "How many tasks"))
        .arg(number("machines", "16", "How many machines"))
        .arg(number("seed", "0", "The same seed makes the same matrix"))
        .after_help("Example: corbie mshn generate u_c_hihi --seed 1 > u_c_hihi.1")
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let number = |name: &str| matches.get_one::<u64>(name).copied().unwrap_or(0);
    let Some(class) = matches.get_one::<EtcClass>("class") else {
        return Err(Failure::usage("no class was given"));
    };
    let size = |name: &str| usize::try_from(number(name)).unwrap_or(usize::MAX);
    let etc = class.generate(size("tasks"), size("machines"), number("seed"));
    let etc = etc.map_err(|error| Failure::usage(error.to_string()))?;
    output.write_all(etc.to_text().as_bytes())?;
    Ok(())
}
