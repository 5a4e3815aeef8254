//! `corbie ping`: whether an object answers, and how fast. Like ping(8), with requests.
//!
//! Each ping is a call of `_non_existent`, which every object answers (CORBA 3.3 P1 §8.3.6), or
//! with `--locate` a LocateRequest, which the server's ORB answers without its servants.

use std::io::Write;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::failure::Failure;
use crate::session::{self, Session};

pub(super) fn table() -> Command {
    Command::new("ping")
        .about("Says whether an object answers, and how fast")
        .arg(session::reference())
        .arg(
            Arg::new("count")
                .short('c')
                .long("count")
                .value_name("N")
                .default_value("4")
                .value_parser(value_parser!(u32).range(1..))
                .help("How many requests"),
        )
        .arg(
            Arg::new("interval")
                .short('i')
                .long("interval")
                .value_name("SECONDS")
                .default_value("1")
                .value_parser(session::seconds)
                .help("The pause between two requests"),
        )
        .arg(
            Arg::new("locate")
                .long("locate")
                .action(ArgAction::SetTrue)
                .help("Send a LocateRequest instead of calling _non_existent"),
        )
        .args(session::arguments())
        .after_help(
            "Example: corbie ping -c 10 corbaloc::localhost:2809/NameService\n\n\
             Exit status: 0 if every request was answered and the object exists, else 1.",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let count = matches.get_one::<u32>("count").copied().unwrap_or(1);
    let pause = matches.get_one::<Duration>("interval").copied().unwrap_or_default();
    let session = Session::start(matches)?;
    let object = session.object(matches)?;
    let mut tally = Tally::default();
    for number in 1..=count {
        if number > 1 {
            std::thread::sleep(pause);
        }
        let started = Instant::now();
        let answer =
            if matches.get_flag("locate") { object.locate() } else { session::exists(&object) };
        let elapsed = started.elapsed();
        match answer {
            Ok(()) => {
                tally.round_trips.push(elapsed);
                // The ORB connects at the first call.
                let note = if number == 1 { ", connecting included" } else { "" };
                writeln!(output, "reply {number}: time {:.3} ms{note}", milliseconds(elapsed))?;
            }
            Err(exception) => {
                tally.lost += 1;
                writeln!(output, "request {number}: {exception}")?;
            }
        }
        output.flush()?;
    }
    tally.write(output)?;
    if tally.lost == 0 { Ok(()) } else { Err(Failure::silent()) }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// What the last lines say.
#[derive(Default)]
struct Tally {
    round_trips: Vec<Duration>,
    lost: usize,
}

impl Tally {
    fn write(&mut self, output: &mut dyn Write) -> Result<(), Failure> {
        let answered = self.round_trips.len();
        writeln!(output, "{} requests, {answered} answered", answered + self.lost)?;
        self.round_trips.sort_unstable();
        if let [least, .., most] | [least @ most] = self.round_trips.as_slice() {
            let median = self.round_trips[answered / 2];
            let [least, median, most] = [*least, median, *most].map(milliseconds);
            writeln!(output, "round trip least/median/most {least:.3}/{median:.3}/{most:.3} ms")?;
        }
        Ok(())
    }
}
