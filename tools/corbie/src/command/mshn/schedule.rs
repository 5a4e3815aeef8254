//! `corbie mshn schedule`: maps the tasks of a file to machines and says how well that went.
//!
//! The longer heuristics show how far they are on standard error when that is a terminal.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie_mshn::schedule::{
    Control, EtcMatrix, HeuristicName, Mapping, Problem, Progress, gantt_svg,
};

use crate::failure::Failure;
use crate::terminal::ProgressBar;

/// A file larger than this is no matrix that can be taken.
const MAX_FILE_OCTETS: u64 = 1 << 30;

pub(super) fn table() -> Command {
    Command::new("schedule")
        .about("Maps the tasks of a file to machines: prints the makespan, draws a Gantt chart")
        .arg(
            Arg::new("file")
                .value_name("FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help(
                    "Expected times: a line `tasks machines 0`, then a value a line, task by task",
                ),
        )
        .arg(
            Arg::new("heuristic")
                .long("heuristic")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("Which heuristic, several times for several, or `all` [default: min-min]"),
        )
        .arg(
            Arg::new("seed")
                .long("seed")
                .value_name("N")
                .default_value("0")
                .value_parser(value_parser!(u64))
                .help("Decides what is random: the same seed, the same mapping"),
        )
        .arg(
            Arg::new("gantt")
                .long("gantt")
                .value_name("SVG")
                .value_parser(value_parser!(PathBuf))
                .help("Where to write the chart of the best mapping"),
        )
        .arg(
            Arg::new("mapping")
                .long("mapping")
                .action(ArgAction::SetTrue)
                .help("Print the machine of each task of the best mapping as well"),
        )
        .after_help(heuristics())
}

fn heuristics() -> String {
    let mut text = "Heuristics:\n".to_owned();
    for name in HeuristicName::ALL {
        text += &format!("  {:<10} {}\n", name.as_str(), name.description());
    }
    text + "\nExample: corbie mshn schedule u_c_hihi.0 --heuristic ga --gantt ga.svg"
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let Some(path) = matches.get_one::<PathBuf>("file") else {
        return Err(Failure::usage("no file was given"));
    };
    let chosen = chosen(matches)?;
    let problem = Problem::new(read(path)?);
    let seed = matches.get_one::<u64>("seed").copied().unwrap_or(0);
    writeln!(output, "{:<10} {:>18} {:>10}", "heuristic", "makespan", "seconds")?;
    let mut best: Option<(f64, HeuristicName, Mapping)> = None;
    for name in chosen {
        let started = Instant::now();
        let mut bar = Bar(ProgressBar::new(name.as_str()));
        let mapping = name.heuristic(seed).map(&problem, &mut bar);
        bar.0.clear();
        let makespan = mapping.makespan(&problem);
        let seconds = started.elapsed().as_secs_f64();
        writeln!(output, "{:<10} {makespan:>18.3} {seconds:>10.3}", name.as_str())?;
        output.flush()?;
        if best.as_ref().is_none_or(|(least, ..)| makespan < *least) {
            best = Some((makespan, name, mapping));
        }
    }
    let Some((_, name, mapping)) = best else { return Ok(()) };
    if matches.get_flag("mapping") {
        writeln!(output, "\ntask machine ({name})")?;
        for (task, machine) in mapping.machines().iter().enumerate() {
            writeln!(output, "{task} {machine}")?;
        }
    }
    if let Some(svg) = matches.get_one::<PathBuf>("gantt") {
        let title = format!("{}, {name}", path.display());
        let chart = gantt_svg(&problem, &mapping, &title);
        std::fs::write(svg, chart).map_err(|error| Failure::path("write", svg, &error))?;
    }
    Ok(())
}

fn read(path: &PathBuf) -> Result<EtcMatrix, Failure> {
    let unreadable = |error: std::io::Error| Failure::path("read", path, &error);
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > MAX_FILE_OCTETS {
        let octets = format!("it has {length} octets, more than {MAX_FILE_OCTETS}");
        return Err(Failure::path("read", path, &std::io::Error::other(octets)));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    EtcMatrix::parse(&text)
        .map_err(|error| Failure::new(format!("`{}` is no matrix: {error}", path.display())))
}

fn chosen(matches: &ArgMatches) -> Result<Vec<HeuristicName>, Failure> {
    let Some(names) = matches.get_many::<String>("heuristic") else {
        return Ok(vec![HeuristicName::MinMin]);
    };
    let mut chosen = Vec::new();
    for name in names {
        if name == "all" {
            chosen.extend(HeuristicName::ALL);
        } else {
            chosen.push(name.parse().map_err(|error| Failure::usage(format!("{error}, all")))?);
        }
    }
    Ok(chosen)
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn report(&mut self, done: f64, makespan: f64) -> Control {
        self.0.show(done, &format!("makespan {makespan:.1}"));
        Control::Continue
    }
}
