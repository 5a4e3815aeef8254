//! The flags of `corbie idl` that say which asynchronous forms an interface gets.
//!
//! One row of [`SWITCHES`] is a flag of `idl compile` and a word of `idl check --implied`.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches};
use corbie_frontend::ImpliedIdl;

/// Name of the flag, what it brings, and what it sets.
struct Switch {
    name: &'static str,
    help: &'static str,
    set: fn(&mut ImpliedIdl),
}

const SWITCHES: [Switch; 3] = [
    Switch {
        name: "ami-callback",
        help: "References get sendc_ operations, interfaces reply handlers",
        set: |implied| implied.ami_callback = true,
    },
    Switch {
        name: "ami-poller",
        help: "References get sendp_ operations, interfaces pollers",
        set: |implied| implied.ami_poller = true,
    },
    Switch {
        name: "amh",
        help: "Interfaces get servants that answer later (AMH)",
        set: |implied| implied.amh = true,
    },
];

/// The flags of `idl compile`.
pub(super) fn compile_arguments() -> Vec<Arg> {
    let switches = SWITCHES.iter().map(|switch| flag(switch.name).help(switch.help));
    let mut arguments: Vec<Arg> = switches.collect();
    arguments.push(
        Arg::new("amh-operations")
            .long("amh-operations")
            .value_name("INTERFACE=OPERATION,…")
            .action(ArgAction::Append)
            .value_parser(super::parse_pair)
            .help("The same for these operations of one interface: Stock::Quoter=get_quote"),
    );
    let async_servants = "Interfaces get servants made of async fn";
    arguments.push(flag("async-servants").help(async_servants));
    arguments.push(flag("no-futures").help("References get no methods that return futures"));
    arguments
}

/// `--implied` of `idl check`.
pub(super) fn check_argument() -> Arg {
    Arg::new("implied")
        .long("implied")
        .value_name("KIND,…")
        .num_args(0..=1)
        .require_equals(true)
        .value_delimiter(',')
        .default_missing_values(SWITCHES.map(|switch| switch.name))
        .value_parser(PossibleValuesParser::new(SWITCHES.map(|switch| switch.name)))
        .help("Shows the IDL that the interfaces imply: of all kinds, or of these")
}

/// What `idl compile` adds to the model.
pub(super) fn of_compile(matches: &ArgMatches) -> ImpliedIdl {
    let mut implied = ImpliedIdl::default();
    for switch in SWITCHES.iter().filter(|switch| matches.get_flag(switch.name)) {
        (switch.set)(&mut implied);
    }
    for (interface, operations) in super::many::<(String, String)>(matches, "amh-operations") {
        let operations = operations.split(',').map(str::to_owned).collect();
        implied.amh_operations.push((interface, operations));
    }
    implied
}

/// What `idl check --implied` adds to the model.
pub(super) fn of_check(matches: &ArgMatches) -> ImpliedIdl {
    let mut implied = ImpliedIdl::default();
    let asked: Vec<String> = super::many(matches, "implied");
    for switch in SWITCHES.iter().filter(|switch| asked.iter().any(|name| name == switch.name)) {
        (switch.set)(&mut implied);
    }
    implied
}

/// The rest goes to the generator.
pub(super) fn set_options(matches: &ArgMatches, options: &mut corbie_codegen::Options) {
    options.async_servants = matches.get_flag("async-servants");
    options.futures = !matches.get_flag("no-futures");
}

fn flag(name: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue)
}
