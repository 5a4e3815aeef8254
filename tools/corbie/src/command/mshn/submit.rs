//! `corbie mshn submit`: a job for a running system. It may have several formats, of which the
//! system takes the first that meets the deadline.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command};
use corbie::SystemExceptionKind;
use corbie_mshn::idl::{Format, Job, Phase};

use super::client::{self, Client};
use crate::failure::Failure;
use crate::session::seconds;

pub(super) fn table() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let time =
        |name: &'static str, help: &'static str| text(name, "SECONDS", help).value_parser(seconds);
    Command::new("submit")
        .about("Has a running system run a command")
        .arg(text("id", "ID", "The job's id; the same id is the same job [default: a new one]"))
        .arg(text("application", "NAME", "What it is known by [default: the command's name]"))
        .arg(time("deadline", "When it is to be done, from now [default: whenever]"))
        .arg(
            text("or", "COMMAND", "A cheaper way to run it, if need be; may be repeated")
                .action(ArgAction::Append),
        )
        .arg(time("wait", "Waits for its end, so long at most").num_args(0..=1))
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .num_args(1..)
                .required(true)
                .last(true)
                .help("What to run"),
        )
        .args(client::arguments())
        .after_help(
            "Commands of --or are run by /bin/sh.\n\nExample: corbie mshn submit -n \
             localhost:2809 --deadline 60 --or 'gzip -1 big.tar' --wait \
             -- gzip -9 big.tar",
        )
}

/// How long `--wait` waits without a number.
const WAIT_DEFAULT: Duration = Duration::from_secs(24 * 3600);

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let job = job(matches);
    let client = Client::of(matches)?;
    let library = client.library()?;
    let receipt = library.submit(&job).map_err(client::failed)?;
    if !receipt.accepted {
        return Err(Failure::new(format!("job {} was refused: {}", job.id, receipt.why)));
    }
    if !matches.contains_id("wait") {
        writeln!(output, "{}", job.id)?;
        return Ok(());
    }
    let patience = matches.get_one::<Duration>("wait").copied().unwrap_or(WAIT_DEFAULT);
    let ends = Instant::now() + patience;
    let end = match library.wait(&job.id, patience) {
        Err(exception)
            if exception.kind == SystemExceptionKind::Timeout && Instant::now() >= ends =>
        {
            let now = library.outcome(&job.id).map_err(client::failed)?;
            if !matches!(now.state, Phase::Done | Phase::Failed) {
                return Err(Failure::new(format!(
                    "{}, and has not ended in {patience:?}; `corbie mshn job {}` asks again",
                    client::line(&now),
                    job.id
                )));
            }
            now
        }
        end => end.map_err(client::failed)?,
    };
    writeln!(output, "{}", client::line(&end))?;
    if end.state == Phase::Done { Ok(()) } else { Err(Failure::silent()) }
}

fn job(matches: &ArgMatches) -> Job {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let command: Vec<String> = matches.get_many("command").into_iter().flatten().cloned().collect();
    let program = command.first().cloned().unwrap_or_default();
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_micros());
    let cheaper = matches.get_many::<String>("or").into_iter().flatten().enumerate();
    let cheaper = cheaper.map(|(number, script)| Format {
        name: format!("or-{}", number + 1),
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
    });
    let first = Format { name: "given".to_owned(), command };
    let name = std::path::Path::new(&program).file_name();
    let name = name.map_or_else(|| program.clone(), |name| name.to_string_lossy().into_owned());
    Job {
        id: text("id").unwrap_or_else(|| format!("{name}-{now}-{}", std::process::id())),
        application: text("application").unwrap_or(name),
        formats: std::iter::once(first).chain(cheaper).collect(),
        deadline_s: matches.get_one::<Duration>("deadline").map_or(0.0, Duration::as_secs_f64),
    }
}
