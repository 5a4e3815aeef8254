//! `corbie-bench`: the papers' experiments, beside peers and beside the bare socket.
//!
//! `cargo xtask bench NAME` starts it; it starts itself again as server and client of its own contenders. See
//! `README.md` for what is measured and how to read it.

mod chart;
mod command_line;
mod contender;
mod corbie_contender;
mod driver;
mod echo;
mod experiment;
mod machine;
mod orders;
mod peers;
mod placement;
mod process;
mod processor_time;
mod raw;
mod raw_stream;
mod record;
mod statistics;
mod table;

use command_line::{Command, HELP, Run};
use contender::Roster;
use corbie_contender::CorbieClient;
use driver::Failure;
use experiment::{EXPERIMENTS, Effort};
use std::fs::{self, File};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match command_line::parse(std::env::args_os()).and_then(obey) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "corbie-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn obey(command: Command) -> Result<(), Failure> {
    match command {
        Command::Help => print(HELP),
        Command::List => print(&list()),
        Command::Run(run) => run_experiments(&run),
        Command::ServeRaw { unix, spin, sizes } => Ok(raw::serve(unix, spin, sizes)?),
        Command::DriveRaw(client) => Ok(driver::drive(&client)?),
        Command::ServeCorbie { arguments } => corbie_contender::serve(arguments),
        Command::DriveCorbie { reference, arguments } => {
            Ok(driver::drive(&CorbieClient::new(&reference, arguments)?)?)
        }
    }
}

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

fn list() -> String {
    let line =
        |e: &&experiment::Experiment| format!("{:16} {:14} {}\n", e.name, e.paper, e.summary);
    EXPERIMENTS.iter().map(line).collect()
}

fn run_experiments(run: &Run) -> Result<(), Failure> {
    fs::create_dir_all(&run.out)?;
    let log = File::create(run.out.join("peers.log"))?;
    if machine::load() > 0.5 {
        let load = machine::load();
        writeln!(io::stderr(), "note: this machine is busy (load {load}); expect noise")?;
    }
    if cfg!(debug_assertions) {
        writeln!(io::stderr(), "note: a debug build measures nothing of interest")?;
    }
    let roster = Roster::new(raw::Sizes { request: 92, reply: 32 })?;
    for name in &run.experiments {
        let experiment = EXPERIMENTS
            .iter()
            .find(|experiment| experiment.name == name)
            .ok_or_else(|| format!("there is no experiment `{name}`; `--list` names them all"))?;
        let effort = Effort { quick: run.quick, rounds: run.rounds };
        let record = experiment::run(experiment, effort, &roster, &log, run.only.as_deref())?;
        let file = |ending: &str| run.out.join(format!("{name}.{ending}"));
        fs::write(file("json"), serde_json::to_string_pretty(&record)? + "\n")?;
        fs::write(file("svg"), chart::svg(experiment, &record)?)?;
        print(&table::markdown(experiment, &record))?;
    }
    Ok(())
}
