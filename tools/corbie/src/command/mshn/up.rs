//! `corbie mshn up`: the whole system on one machine, and jobs for it: emulated applications in two
//! formats each. A component that ends is replaced.

use std::io::{self, Read as _, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie_mshn::idl::{Format, Job, Phase};
use corbie_mshn::system::{System, SystemOptions};
use corbie_mshn::{ClientLibrary, node};

use super::client;
use crate::failure::Failure;
use crate::serving::{self, Interruption, Log, Metrics, Serving};
use crate::session::{self, Session, seconds};

/// All processes write to one place: only what needs a look, unless more is asked for.
const LOG: &str = "warn";

pub(super) fn table() -> Command {
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        let least = u16::from(name != "jobs" && name != "proxies");
        Arg::new(name)
            .long(name)
            .value_name("N")
            .default_value(default)
            .value_parser(value_parser!(u16).range(i64::from(least)..))
            .help(help)
    };
    Command::new("up")
        .about("Starts a whole system on this machine and has it run jobs")
        .arg(super::mechanism())
        .arg(number("machines", "2", "Machines, each with a daemon"))
        .arg(number("replicas", "1", "Advisors, status servers and requirement databases of each"))
        .arg(number("proxies", "1", "Proxies that filter updates, of each of the two servers"))
        .arg(number("event-servers", "1", "Servers of channels, for mechanisms that need them"))
        .arg(number("slots", "2", "Jobs at a time on one machine"))
        .arg(number("jobs", "8", "Emulated applications to run"))
        .arg(
            Arg::new("compute")
                .long("compute")
                .value_name("SECONDS")
                .default_value("0.1")
                .value_parser(seconds)
                .help("How long each computes in its finer format"),
        )
        .arg(
            Arg::new("deadline")
                .long("deadline")
                .value_name("SECONDS")
                .value_parser(seconds)
                .help("When each is to be done [default: whenever]"),
        )
        .arg(
            Arg::new("stay")
                .long("stay")
                .action(ArgAction::SetTrue)
                .help("Keep the system running until standard input ends"),
        )
        .arg(
            Arg::new("folder")
                .long("folder")
                .value_name("FOLDER")
                .value_parser(value_parser!(PathBuf))
                .help("Where stores are [default: a folder of its own, removed at the end]"),
        )
        .arg(
            Arg::new("outputs")
                .long("outputs")
                .value_name("FOLDER")
                .value_parser(value_parser!(PathBuf))
                .help("Where what jobs print is kept, a file for each [default: it is dropped]"),
        )
        .arg(serving::metrics_argument().help(
            "Where Prometheus reads metrics of this process, by HTTP; those of the components are \
             at the ports that follow [default: nowhere]",
        ))
        .args(serving::log_arguments(LOG))
        .args(session::arguments())
        .after_help("Example: corbie mshn up --mechanism ami --machines 3 --jobs 20")
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let log = Log::start_at(matches, LOG)?;
    let session = super::session(matches, None, vec![])?;
    let metrics = serving::metrics(matches, &session, &log)?;
    let place = metrics.as_ref().map(Metrics::place);
    let interruption = Interrupted::watch(serving::until_signal(&session, log, metrics)?)?;
    let ended = up(matches, &session, place, &interruption, output);
    match session.orb().is_shut_down() {
        false => ended,
        // Whatever failed did so because of that.
        true if matches.get_flag("stay") => Ok(()),
        true => Err(Failure::new("ended by a signal, before all jobs were done")),
    }
}

/// What each process logs, as it was given to this one.
fn log_of(matches: &ArgMatches) -> Vec<String> {
    let given = |name: &str| {
        let value = matches.get_one::<String>(name)?;
        Some([format!("--{name}"), value.clone()])
    };
    ["log", "log-format"].into_iter().filter_map(given).flatten().collect()
}

fn up(
    matches: &ArgMatches,
    session: &Session,
    metrics: Option<SocketAddr>,
    interruption: &Interrupted,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    let number = |name: &str| matches.get_one::<u16>(name).copied().unwrap_or(1);
    let program = std::env::current_exe();
    let program = program.map_err(|e| Failure::new(format!("cannot find this program: {e}")))?;
    let mechanism = super::mechanism_of(matches);
    let folder = Folder::of(matches)?;
    let outputs = matches.get_one::<PathBuf>("outputs").cloned();
    let system = System::start(&SystemOptions {
        program: program.clone(),
        folder: folder.path.clone(),
        mechanism,
        event_servers: number("event-servers").into(),
        machines: number("machines").into(),
        replicas: number("replicas").into(),
        proxies: number("proxies").into(),
        slots: number("slots").into(),
        outputs: outputs.clone(),
        log: log_of(matches),
        metrics,
    });
    let system = system.map_err(|e| Failure::new(format!("cannot start the system: {e}")))?;
    for process in system.processes() {
        let metrics = process.metrics.map(|place| format!(", metrics at http://{place}/metrics"));
        let metrics = metrics.unwrap_or_default();
        writeln!(output, "{}: process {}{metrics}", process.name, process.id)?;
    }
    output.flush()?;
    let naming = system.naming(session.orb()).map_err(|e| Failure::new(e.to_string()))?;
    let peers = node::peers(session.orb(), naming, mechanism);
    let client = ClientLibrary::new(peers).map_err(|e| Failure::new(e.to_string()))?;
    let compute = matches.get_one::<Duration>("compute").copied().unwrap_or_default();
    let deadline = matches.get_one::<Duration>("deadline").copied().unwrap_or_default();
    let began = Instant::now();
    let jobs: Vec<Job> = (1..=number("jobs"))
        .map(|n| job(&program, &format!("job-{}-{n}", std::process::id()), compute, deadline))
        .collect();
    let (lost, late) = run_all(&client, &jobs, compute, output)?;
    let seconds = began.elapsed().as_secs_f64();
    let of_late = if deadline.is_zero() { String::new() } else { format!(", {late} late") };
    writeln!(output, "{} jobs in {seconds:.2} s, {lost} not done{of_late}", jobs.len())?;
    if matches.get_flag("stay") {
        stay(system.naming_url(), outputs.as_deref(), interruption, output)?;
    }
    if lost > 0 {
        return Err(Failure::silent());
    }
    Ok(())
}

/// Has all jobs run; how many were not done, and how many were late.
fn run_all(
    client: &ClientLibrary,
    jobs: &[Job],
    compute: Duration,
    output: &mut dyn Write,
) -> Result<(u32, u32), Failure> {
    let failed = |exception| Failure::new(format!("the system does not answer: {exception}"));
    for job in jobs {
        let receipt = client.submit(job).map_err(failed)?;
        if !receipt.accepted {
            return Err(Failure::new(format!("job {} was refused: {}", job.id, receipt.why)));
        }
    }
    let (mut lost, mut late) = (0, 0);
    for job in jobs {
        let patience =
            Duration::from_secs(60) + compute * u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        let end = client.wait(&job.id, patience).map_err(failed)?;
        lost += u32::from(end.state != Phase::Done);
        late += u32::from(end.late_by_s > 0.0);
        writeln!(output, "{}", client::line(&end))?;
        output.flush()?;
    }
    Ok((lost, late))
}

/// A thread waits for a signal, and shuts the ORB down: calls that wait fail then, and what was
/// made is removed on the way out.
struct Interrupted {
    tell: Sender<io::Result<usize>>,
    told: Receiver<io::Result<usize>>,
}

impl Interrupted {
    fn watch(serving: Serving) -> Result<Self, Failure> {
        let (tell, told) = channel();
        let interrupted = tell.clone();
        Interruption::wait(serving, move |ended| {
            let ended = ended.map(|()| 0);
            let _ =
                interrupted.send(ended.map_err(|failure| io::Error::other(failure.to_string())));
        })?;
        Ok(Self { tell, told })
    }

    /// Waits for a signal or the end of standard input.
    fn or_end_of_input(&self) -> io::Result<usize> {
        let tell = self.tell.clone();
        std::thread::spawn(move || tell.send(io::stdin().lock().read_to_end(&mut Vec::new())));
        self.told.recv().unwrap_or(Ok(0))
    }
}

/// Waits for the end of standard input.
fn stay(
    naming: &str,
    outputs: Option<&Path>,
    interruption: &Interrupted,
    output: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(
        output,
        "it runs on until standard input ends (Ctrl-D) or Ctrl-C; try, in another terminal:"
    )?;
    writeln!(output, "corbie mshn submit --wait -n {naming} -- uname -a")?;
    match outputs {
        Some(folder) => writeln!(output, "what jobs print is in {}/ID.out", folder.display())?,
        None => writeln!(output, "what jobs print is dropped; --outputs FOLDER keeps it")?,
    }
    output.flush()?;
    let read = interruption.or_end_of_input();
    read.map(|_| ()).map_err(|error| Failure::new(format!("cannot read standard input: {error}")))
}

/// An application that computes, and a format of it that does less.
fn job(program: &Path, id: &str, compute: Duration, deadline: Duration) -> Job {
    let format = |name: &str, compute: Duration| {
        let compute = compute.as_secs_f64().to_string();
        let words = ["mshn", "emulate", "--compute", &compute].map(str::to_owned);
        let command = [program.display().to_string()].into_iter().chain(words).collect();
        Format { name: name.to_owned(), command }
    };
    let formats = vec![format("fine", compute), format("coarse", compute / 4)];
    let (id, application) = (id.to_owned(), "emulated".to_owned());
    Job { id, application, formats, deadline_s: deadline.as_secs_f64() }
}

/// Where stores are.
struct Folder {
    path: PathBuf,
    is_ours: bool,
}

impl Folder {
    fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let given = matches.get_one::<PathBuf>("folder").cloned();
        let is_ours = given.is_none();
        let name = format!("corbie-mshn-{}", std::process::id());
        let path = given.unwrap_or_else(|| std::env::temp_dir().join(name));
        std::fs::create_dir_all(&path).map_err(|e| Failure::path("make the folder", &path, &e))?;
        Ok(Self { path, is_ours })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_ours {
            // What cannot be removed is in the system's folder for what is temporary.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
