//! `corbie-bench`: the papers' experiments, beside peers and beside the bare socket.
//!
//! `cargo xtask bench NAME` starts it; it starts itself again as server and client of its own
//! contenders. See `README.md` for what is measured and how to read it.

// layers: footprint echo executor orders peers placement raw_giop raw_tls timer_wheel < driver
//    machine raw_stream statistics < pipeline process processor_time raw record relay sink
//    sources tier < contender mechanism mshn raw_shared < corbie_contender < local sizes < buffers
//    collocation demultiplexing events naming < measures < experiment < table < chart
//    experiments < count < command_line
mod buffers;
mod chart;
mod collocation;
mod command_line;
mod contender;
mod corbie_contender;
mod count;
mod demultiplexing;
mod driver;
mod echo;
mod events;
mod executor;
mod experiment;
mod experiments;
mod footprint;
mod local;
mod machine;
mod measures;
mod mechanism;
mod mshn;
mod naming;
mod orders;
mod peers;
mod pipeline;
mod placement;
mod process;
mod processor_time;
mod raw;
mod raw_giop;
mod raw_shared;
mod raw_stream;
mod raw_tls;
mod record;
mod relay;
mod sink;
mod sizes;
mod sources;
mod statistics;
mod table;
mod tier;
mod timer_wheel;

use command_line::{Command, HELP, Run};
use contender::Roster;
use corbie_contender::CorbieClient;
use driver::Failure;
use experiment::Effort;
use experiments::EXPERIMENTS;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

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
        Command::Count(options) => {
            let (roster, log) = prepare(&options.out)?;
            let program = options.program.as_deref();
            let roster = program.into_iter().fold(roster, Roster::running);
            print(&count::count(&roster, &options, &log)?)
        }
        Command::Footprint { out } => {
            fs::create_dir_all(&out)?;
            print(&footprint::footprint(&out)?)
        }
        Command::ServeRaw { over, spin, sizes } => Ok(raw::serve(over, spin, sizes)?),
        Command::ServeShared { shared, sizes } => Ok(raw_shared::serve(shared, sizes)?),
        Command::DriveShared(client) => Ok(driver::drive(&client)?),
        Command::DriveRaw(client) => Ok(driver::drive(&client)?),
        Command::ServeCorbie { arguments } => corbie_contender::serve(arguments),
        Command::ServeNames { file } => naming::serve(&file),
        Command::ServeEvents { mode } => events::corbie::serve(mode),
        Command::Events(part) => part.play(),
        Command::ServeMshn { words } => mshn::component::serve(words),
        Command::DriveMshn { words } => Ok(driver::drive(&mshn::LibraryProcess::new(words)?)?),
        Command::ServeSink { delay_ms } => sink::serve(Duration::from_millis(delay_ms)),
        Command::DriveLocal { words } => Ok(driver::drive(&measures::find(words)?)?),
        Command::DriveSources { reference } => {
            Ok(sources::drive(&sources::Target::of(&reference)?)?)
        }
        Command::TierCorbie { model, sink, arguments } => tier::serve(model, &sink, arguments),
        Command::DriveCorbie { reference, mechanism, arguments } => {
            Ok(driver::drive(&CorbieClient::new(&reference, mechanism, arguments)?)?)
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
    warn_of_noise()?;
    let (roster, log) = prepare(&run.out)?;
    for name in &run.experiments {
        let experiment = EXPERIMENTS
            .iter()
            .find(|experiment| experiment.name == name)
            .ok_or_else(|| format!("there is no experiment `{name}`; `--list` names them all"))?;
        let effort = Effort { quick: run.quick, rounds: run.rounds, full_pause: run.full_pause };
        let record = experiment::run(experiment, effort, &roster, &log, run.only.as_deref())?;
        let file = |ending: &str| run.out.join(format!("{name}.{ending}"));
        fs::write(file("json"), serde_json::to_string_pretty(&record)? + "\n")?;
        print(&table::markdown(experiment, &record))?;
        for plot in experiment.charts {
            let name = if plot.name.is_empty() { String::new() } else { format!("-{}", plot.name) };
            let path = run.out.join(format!("{}{name}.svg", experiment.name));
            match chart::svg(experiment, plot, &record) {
                Ok(picture) => fs::write(path, picture)?,
                // `--only` may leave nothing of a picture that is not the first.
                Err(_) if !plot.name.is_empty() => {}
                Err(failure) => return Err(failure),
            }
        }
    }
    Ok(())
}

fn warn_of_noise() -> io::Result<()> {
    let load = machine::load();
    if load > 0.5 {
        writeln!(io::stderr(), "note: this machine is busy (load {load}); expect noise")?;
    }
    if cfg!(debug_assertions) {
        writeln!(io::stderr(), "note: a debug build measures nothing of interest")?;
    }
    Ok(())
}

/// Makes the folder and the log, and measures what the raw contenders have to send.
fn prepare(out: &Path) -> Result<(Roster, File), Failure> {
    fs::create_dir_all(out)?;
    let log = File::create(out.join("peers.log"))?;
    let roster = Roster::new(raw::Sizes { request: 0, reply: 0 })?;
    let sizes = sizes::measure(&roster, &log)?;
    Ok((Roster::new(sizes)?, log))
}
