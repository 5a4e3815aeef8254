//! `corbie-soak`, which `cargo xtask soak` builds and runs: arguments, progress, and where the
//! report goes. What it does is in the library.

// A program of the project's own: printing is its job.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use corbie_soak::{HostileOptions, Length, Options, run, run_hostile};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str =
    "corbie-soak [--minutes N | --kills N] [--seed N] [--durable | --hostile] [OPTIONS]

  --minutes N       how long [default: 10]
  --kills N         until so many processes were killed, as the short form in tests
  --seed N          by which victims are chosen [default: a new one, which is printed]
  --durable         a durable channel, and the server of the channels is killed, too
  --hostile         attacks the servers, beside clients that behave
  --corbie PROGRAM  the command [default: beside this program]
  --out DIR         where report.md and vitals.svg go [default: target/soak]";

struct Arguments {
    options: Options,
    /// For how long servers are attacked, if they are.
    hostile: Option<Duration>,
    folder: PathBuf,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let beside = std::env::current_exe().map_err(|e| format!("where am I? {e}"))?;
    let mut corbie = beside.with_file_name("corbie");
    let (mut minutes, mut kills, mut seed, mut is_durable) = (10.0, None, None, false);
    let mut is_hostile = false;
    let mut folder = PathBuf::from("target/soak");
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value\n\n{USAGE}"));
        let not = |text: &str| format!("{text:?} is no number");
        match argument.as_str() {
            "--minutes" => {
                let text = value()?;
                minutes = text.parse::<f64>().map_err(|_| not(&text))?;
            }
            "--kills" => {
                let text = value()?;
                kills = Some(text.parse::<usize>().map_err(|_| not(&text))?);
            }
            "--seed" => {
                let text = value()?;
                seed = Some(text.parse::<u64>().map_err(|_| not(&text))?);
            }
            "--durable" => is_durable = true,
            "--hostile" => is_hostile = true,
            "--corbie" => corbie = value()?.into(),
            "--out" => folder = value()?.into(),
            _ => return Err(format!("{argument} is not known\n\n{USAGE}")),
        }
    }
    let time = Duration::try_from_secs_f64(60.0 * minutes).map_err(|e| e.to_string())?;
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let seed = seed.unwrap_or(since.as_secs());
    let length = kills.map_or(Length::Time(time), Length::Kills);
    let options = Options { corbie, length, seed, is_durable };
    Ok(Arguments { options, hostile: is_hostile.then_some(time), folder })
}

fn soak(Arguments { options, hostile, folder }: &Arguments) -> Result<bool, String> {
    if let Some(length) = *hostile {
        let options = HostileOptions { corbie: options.corbie.clone(), length };
        let report = run_hostile(&options, &mut |line| say(line))?;
        say(&format!("\n{report}"));
        return Ok(report.faults().is_empty());
    }
    say(&format!("seed {}", options.seed));
    let report = run(options, &mut |line| say(line))?;
    say(&format!("\n{report}"));
    let cannot = |e| format!("{} cannot be written: {e}", folder.display());
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let text = format!("# Soak, seed {}\n\n{report}\n![](vitals.svg)\n", options.seed);
    std::fs::write(folder.join("report.md"), text).map_err(cannot)?;
    std::fs::write(folder.join("vitals.svg"), report.picture()).map_err(cannot)?;
    say(&folder.join("report.md").display().to_string());
    Ok(report.faults().is_empty())
}

/// Prints a line. If the reader has gone (`| head`), the soak goes on: its report is a file.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--help" || argument == "-h") {
        say(USAGE);
        return ExitCode::SUCCESS;
    }
    match parse(std::env::args().skip(1)).and_then(|arguments| soak(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}
