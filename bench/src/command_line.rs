//! The command line of `corbie-bench`: what people type, and what the harness types when it starts
//! itself again.

use crate::count::Options;
use crate::driver::Failure;
use crate::events::corbie::{Mode, Part};
use crate::mechanism::Mechanism;
use crate::raw::{RawClient, Sizes};
use crate::raw_shared::{Shared, SharedClient};
use crate::raw_stream::{Address, StreamKind};
use crate::tier::Model;
use lexopt::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// What `--help` prints.
pub(crate) const HELP: &str = "\
Runs the papers' experiments, Corbie beside its peers and the bare socket.

Usage: corbie-bench EXPERIMENT... [--quick] [--out DIR] [--rounds N] [--only TEXT]
                    [--full-pause]
       corbie-bench all [--quick] [--out DIR]
       corbie-bench count [--only TEXT] [--out DIR] [--program FILE] [--files]
       corbie-bench footprint [--out DIR]
       corbie-bench --list

  count        system calls, context switches, allocations, instructions and source files of a
               call, for each side
  footprint    octets of the smallest server and client, full and minimum (POA Table 2)
  --list       names every experiment
  --quick      at most 60 s an experiment
  --out DIR    where EXPERIMENT.json and EXPERIMENT.svg go (default: target/bench)
  --rounds N   rounds, all contenders in turn in each (default and least: 5)
  --only TEXT  only contenders whose name contains TEXT (for profiling; ratios may be missing)
  --program FILE  of count: the corbie-bench of another checkout, whose calls are counted
  --files      of count: list the source files as well
  --full-pause of mshn and mshn-replicas: the advisor pauses for 0.5 s, as in the paper, and
               not for 2 ms: 500 s for each row and round; one round unless --rounds says more

Experiments print a Markdown table on standard output and their progress on standard error.
`corbie-bench serve ...` and `corbie-bench drive ...` are how it starts its own contenders.
";

/// The least number of rounds that a median is taken over.
const LEAST_ROUNDS: usize = 5;

/// What to do.
pub(crate) enum Command {
    /// Print [`HELP`].
    Help,
    /// Name the experiments.
    List,
    /// Measure.
    Run(Run),
    /// Count what a call costs besides time.
    Count(Options),
    /// Build the smallest programs and measure what they take.
    Footprint {
        /// Where the programs and the JSON go.
        out: PathBuf,
    },
    /// Be the server of a raw contender.
    ServeRaw {
        /// StreamKind which kind of stream.
        over: StreamKind,
        /// Without sleeping.
        spin: bool,
        /// Octets of the messages.
        sizes: Sizes,
    },
    /// Be the server of a raw contender over shared memory.
    ServeShared {
        /// Of which kind.
        shared: Shared,
        /// Octets of the messages.
        sizes: Sizes,
    },
    /// Be its client.
    DriveShared(SharedClient),
    /// Be the client of a raw contender.
    DriveRaw(RawClient),
    /// Be the server of a contender of Corbie.
    ServeCorbie {
        /// `-ORB…` arguments.
        arguments: Vec<String>,
    },
    /// Measure something within this process.
    DriveLocal {
        /// Its name in `measures.rs`, and which of several ways.
        words: Vec<String>,
    },
    /// Be a naming server over a file.
    ServeNames {
        /// The file of its store.
        file: String,
    },
    /// Be an event server with one channel.
    ServeEvents {
        /// How events travel.
        mode: Mode,
    },
    /// Be the supplier or the consumers of a channel.
    Events(Part),
    /// Be a component of MSHN.
    ServeMshn {
        /// Which, and how.
        words: Vec<String>,
    },
    /// Be the Client Library of MSHN, with the other components.
    DriveMshn {
        /// How they talk.
        words: Vec<String>,
    },
    /// Be the sink of the three tiers.
    ServeSink {
        /// Milliseconds before it answers.
        delay_ms: u64,
    },
    /// Be the source clients of the three tiers.
    DriveSources {
        /// The middle tier's object.
        reference: String,
    },
    /// Be a middle tier of Corbie.
    TierCorbie {
        /// How it serves.
        model: Model,
        /// The sink's object.
        sink: String,
        /// `-ORB…` arguments.
        arguments: Vec<String>,
    },
    /// Be the client of a contender of Corbie.
    DriveCorbie {
        /// The server's object.
        reference: String,
        /// How it calls.
        mechanism: Mechanism,
        /// `-ORB…` arguments.
        arguments: Vec<String>,
    },
}

/// Which experiments, and how.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Names.
    pub(crate) experiments: Vec<String>,
    /// At most 60 s each.
    pub(crate) quick: bool,
    /// Rounds.
    pub(crate) rounds: usize,
    /// Where the files go.
    pub(crate) out: PathBuf,
    /// Part of a contender's name.
    pub(crate) only: Option<String>,
    /// Pauses as long as the paper's.
    pub(crate) full_pause: bool,
}

/// Reads the command line, program name first.
///
/// # Errors
/// What is wrong with it, in a sentence.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let mut parser = lexopt::Parser::from_iter(arguments);
    let mut run = Run {
        experiments: Vec::new(),
        quick: false,
        rounds: 0,
        out: PathBuf::from("target/bench"),
        only: None,
        full_pause: false,
    };
    let mut rounds = None;
    let (mut program, mut lists_files) = (None, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("list") => return Ok(Command::List),
            Long("quick") => run.quick = true,
            Long("full-pause") => run.full_pause = true,
            Long("out") => run.out = parser.value()?.into(),
            Long("program") => program = Some(parser.value()?.into()),
            Long("files") => lists_files = true,
            Long("rounds") => rounds = Some(parser.value()?.parse()?),
            Long("only") => run.only = Some(parser.value()?.string()?),
            Value(word)
                if run.experiments.is_empty()
                    && ["serve", "drive", "tier", "events"].iter().any(|role| word == *role) =>
            {
                return process(&mut parser, &word.string()?);
            }
            Value(word) if word == "all" => {
                let names = crate::experiments::EXPERIMENTS.iter().map(|e| e.name.to_owned());
                run.experiments.extend(names);
            }
            Value(word) => run.experiments.push(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let least = if run.full_pause { 1 } else { LEAST_ROUNDS };
    run.rounds = rounds.unwrap_or(least);
    if run.rounds < least {
        return Err(format!("--rounds is at least {LEAST_ROUNDS}: fewer give no median").into());
    }
    if run.experiments == ["count"] {
        return Ok(Command::Count(Options { out: run.out, only: run.only, program, lists_files }));
    }
    if program.is_some() || lists_files {
        return Err("--program and --files are options of `count`".into());
    }
    if run.experiments == ["footprint"] {
        return Ok(Command::Footprint { out: run.out });
    }
    match run.experiments.is_empty() {
        true => Err("which experiment? `--list` names them, `--help` says more".into()),
        false => Ok(Command::Run(run)),
    }
}

/// `serve KIND …`, `drive KIND ADDRESS …`, `tier KIND SINK …` and `events ROLE …`.
fn process(parser: &mut lexopt::Parser, role: &str) -> Result<Command, Failure> {
    if role == "events" {
        let words = parser.raw_args()?.map(ValueExt::string);
        return Ok(Command::Events(Part::parse(&words.collect::<Result<Vec<_>, _>>()?)?));
    }
    let kind = parser.value()?.string()?;
    match (role, kind.as_str()) {
        ("serve" | "drive", "raw") => raw(parser, role == "serve"),
        ("serve", "sink") => sink(parser),
        ("serve", "events") => {
            Ok(Command::ServeEvents { mode: parser.value()?.string()?.parse()? })
        }
        ("drive", "local") => Ok(Command::DriveLocal { words: rest(parser)? }),
        ("serve", "mshn") => Ok(Command::ServeMshn { words: rest(parser)? }),
        ("drive", "mshn") => Ok(Command::DriveMshn { words: rest(parser)? }),
        ("serve", "names") => Ok(Command::ServeNames { file: parser.value()?.string()? }),
        ("drive", "sources") => Ok(Command::DriveSources { reference: parser.value()?.string()? }),
        (_, "corbie") => corbie(parser, role),
        _ => Err(format!("there are no processes of kind `{role} {kind}`").into()),
    }
}

/// The words that are left.
fn rest(parser: &mut lexopt::Parser) -> Result<Vec<String>, Failure> {
    let words = parser.raw_args()?.map(ValueExt::string);
    Ok(words.collect::<Result<_, _>>()?)
}

fn sink(parser: &mut lexopt::Parser) -> Result<Command, Failure> {
    match parser.next()? {
        Some(Long("delay-ms")) => Ok(Command::ServeSink { delay_ms: parser.value()?.parse()? }),
        _ => Err("--delay-ms is missing".into()),
    }
}

fn raw(parser: &mut lexopt::Parser, serve: bool) -> Result<Command, Failure> {
    let mut address = None;
    let mut sizes = None;
    let (mut over, mut spin, mut pipelined) = (StreamKind::Tcp, false, false);
    let (mut ring, mut words) = (false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("unix") => over = StreamKind::Unix,
            Long("tls") => over = StreamKind::Tls,
            Long("spin") => spin = true,
            Long("pipelined") => pipelined = true,
            Long("ring") => ring = true,
            Long("words") => words = true,
            Long("sizes") => {
                let text = parser.value()?.string()?;
                let (request, reply) = text.split_once(':').ok_or("--sizes is REQUEST:REPLY")?;
                sizes = Some(Sizes { request: request.parse()?, reply: reply.parse()? });
            }
            Value(word) if !serve && address.is_none() => address = Some(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let sizes = sizes.ok_or("--sizes is missing")?;
    if sizes.request < 8 || sizes.reply < 8 {
        return Err("messages have at least 8 octets: the value".into());
    }
    let shared = if words { Shared::Words } else { Shared::Ring { spin } };
    if serve && (ring || words) {
        return Ok(Command::ServeShared { shared, sizes });
    }
    if serve {
        return Ok(Command::ServeRaw { over, spin, sizes });
    }
    let address = address.ok_or("the server's address is missing")?;
    if ring || words {
        return Ok(Command::DriveShared(SharedClient { address, shared, sizes }));
    }
    let address = Address(address);
    Ok(Command::DriveRaw(RawClient { address, spin, pipelined, sizes }))
}

/// Everything behind the reference is for the ORB, which says itself what it does not know.
fn corbie(parser: &mut lexopt::Parser, role: &str) -> Result<Command, Failure> {
    let mut arguments = rest(parser)?;
    if role == "serve" {
        return Ok(Command::ServeCorbie { arguments });
    }
    if arguments.is_empty() {
        return Err("the server's reference is missing".into());
    }
    let reference = arguments.remove(0);
    if role == "drive" {
        let named = arguments.first().is_some_and(|word| !word.starts_with('-'));
        let mechanism = if named { arguments.remove(0).parse()? } else { Mechanism::Synchronous };
        return Ok(Command::DriveCorbie { reference, mechanism, arguments });
    }
    if arguments.is_empty() {
        return Err("how the middle tier serves is missing".into());
    }
    let model = arguments.remove(0).parse()?;
    Ok(Command::TierCorbie { model, sink: reference, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Command, Failure> {
        parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn experiments_and_options_are_read_in_any_order() {
        let line = "corbie-bench ami-latency --quick bandwidth --out /tmp/x --rounds 7";
        let Ok(Command::Run(run)) = parse_line(line) else { unreachable!("not a run") };
        assert_eq!(run.experiments, ["ami-latency", "bandwidth"]);
        assert!(run.quick && run.rounds == 7 && run.out.ends_with("tmp/x"));
    }

    #[test]
    fn another_checkout_can_be_counted() {
        let line = "corbie-bench count --program /x/corbie-bench --files --only corbie-smi";
        let Ok(Command::Count(options)) = parse_line(line) else { unreachable!("not a count") };
        assert_eq!(options.program, Some(PathBuf::from("/x/corbie-bench")));
        assert!(options.lists_files && options.only.as_deref() == Some("corbie-smi"));
    }

    #[test]
    fn processes_are_what_the_roster_starts() {
        let line = "corbie-bench drive raw 127.0.0.1:5 --sizes=92:32 --spin";
        let Ok(Command::DriveRaw(client)) = parse_line(line) else { unreachable!("not a client") };
        assert_eq!(client.sizes, Sizes { request: 92, reply: 32 });
        assert!(client.spin && client.address.0 == "127.0.0.1:5");
    }

    #[test]
    fn mistakes_are_named() {
        for (line, text) in [
            ("corbie-bench", "which experiment"),
            ("corbie-bench x --rounds 2", "at least 5"),
            ("corbie-bench ami-latency --program /x", "options of `count`"),
            ("corbie-bench serve raw", "--sizes is missing"),
            ("corbie-bench serve raw --sizes=4:4", "at least 8"),
            ("corbie-bench drive raw --sizes=92:32", "address is missing"),
            ("corbie-bench serve nothing", "of kind `serve nothing`"),
            ("corbie-bench serve sink", "--delay-ms is missing"),
            ("corbie-bench drive corbie IOR:1 magic", "`magic`"),
            ("corbie-bench tier corbie", "reference is missing"),
            ("corbie-bench tier corbie IOR:1", "how the middle tier serves"),
            ("corbie-bench tier corbie IOR:1 magic", "`magic`"),
            ("corbie-bench serve events magic", "`magic`"),
            ("corbie-bench events supply IOR:1 64", "MODE are needed"),
            ("corbie-bench events supply IOR:1 64 magic", "`magic`"),
        ] {
            let failure = parse_line(line).err().unwrap().to_string();
            assert!(failure.contains(text), "{line}: {failure}");
        }
    }
}
