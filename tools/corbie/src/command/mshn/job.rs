//! `corbie mshn job`: how jobs are that were submitted; `corbie mshn submit` prints their ids.
//! Asks every advisor of the system until one knows the job.

use std::io::Write;

use clap::{Arg, ArgMatches, Command};
use corbie_mshn::idl::Phase;

use super::client::{self, Client};
use crate::failure::Failure;

pub(super) fn table() -> Command {
    Command::new("job")
        .about("Says how jobs are")
        .arg(Arg::new("id").num_args(1..).required(true).help("What `submit` printed"))
        .args(client::arguments())
        .after_help(
            "Example: corbie mshn job -n localhost:2809 job-7\n\nThe exit \
             status is 1 when one of them has failed or is not known.",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let client = Client::of(matches)?;
    let library = client.library()?;
    let mut is_well = true;
    for id in matches.get_many::<String>("id").into_iter().flatten() {
        let outcome = library.outcome(id).map_err(client::failed)?;
        is_well &= !matches!(outcome.state, Phase::Failed | Phase::UnknownJob);
        writeln!(output, "{}", client::line(&outcome))?;
    }
    if is_well { Ok(()) } else { Err(Failure::silent()) }
}
