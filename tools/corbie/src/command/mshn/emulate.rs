//! `corbie mshn emulate`: an application that uses what it is told to: processor, memory, time.
//! The jobs of `corbie mshn up` are such.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::failure::Failure;
use crate::session::seconds;

pub(super) fn table() -> Command {
    Command::new("emulate")
        .about("Uses resources as an application would")
        .arg(
            Arg::new("compute")
                .long("compute")
                .value_name("SECONDS")
                .default_value("0")
                .value_parser(seconds)
                .help("Computes for so long"),
        )
        .arg(
            Arg::new("wait")
                .long("wait")
                .value_name("SECONDS")
                .default_value("0")
                .value_parser(seconds)
                .help("Then does nothing for so long"),
        )
        .arg(
            Arg::new("memory")
                .long("memory")
                .value_name("MIB")
                .default_value("0")
                .value_parser(value_parser!(u16))
                .help("Holds so much memory meanwhile"),
        )
        .after_help("Example: corbie mshn emulate --compute 0.5 --memory 20")
}

pub(super) fn run(matches: &ArgMatches, _output: &mut dyn Write) -> Result<(), Failure> {
    let time = |name: &str| matches.get_one::<Duration>(name).copied().unwrap_or_default();
    let mib = matches.get_one::<u16>("memory").copied().unwrap_or(0);
    // Written to, so that it is resident.
    let held = vec![1u8; usize::from(mib) << 20];
    let ends = Instant::now() + time("compute");
    let mut sum = 0u64;
    while Instant::now() < ends {
        for number in 0..10_000u64 {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(number));
        }
    }
    std::thread::sleep(time("wait"));
    black_box((held, sum));
    Ok(())
}
