//! `corbie mshn machines`: what the status servers know of the machines, and what components a
//! system has.

use std::io::Write;

use clap::{ArgMatches, Command};
use corbie_mshn::Address;
use corbie_mshn::idl::{Scope, StatusReport};
use corbie_mshn::messages::{Request, Role};

use super::client::{self, Client};
use crate::escapes::one_line;
use crate::failure::Failure;

pub(super) fn table() -> Command {
    Command::new("machines")
        .about("Shows the machines of a system and how busy they are")
        .args(client::arguments())
        .after_help("Example: corbie mshn machines -n localhost:2809")
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let client = Client::of(matches)?;
    let to = Address::any(Role::StatusServer);
    let request = Request::Status(Scope::default());
    let report: StatusReport = client.peers.ask(&to, &request).map_err(client::failed)?;
    for machine in &report.machines {
        let (name, running, age) = (one_line(&machine.machine), machine.running, machine.age_s);
        writeln!(
            output,
            "{name}: {} processors, {:.0} % idle, load {:.2}, {} MiB free, {running} jobs, \
             {age:.1} s ago",
            machine.processors,
            machine.idle * 100.0,
            machine.load,
            machine.memory_free_kib / 1024,
        )?;
    }
    for role in [Role::Advisor, Role::StatusServer, Role::RequirementDatabase] {
        let names = client.peers.names(role).map_err(|e| Failure::new(e.to_string()))?;
        writeln!(output, "{role}: {}", one_line(&names.join(", ")))?;
    }
    Ok(())
}
