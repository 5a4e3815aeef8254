//! `corbie events serve`: a server of event channels, until it is interrupted.
//!
//! Its channels are those that are named here and those that clients have its factory make.

use std::io::Write;

use clap::{Arg, ArgAction, ArgMatches, Command};
use corbie_event::{ChannelQos, EventServer, Limits};

use crate::failure::Failure;
use crate::session::{self, Session};

pub(super) fn table() -> Command {
    Command::new("serve")
        .about("Serves event channels")
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("HOST:PORT")
                .help("Where to listen [default: the setting -ORBListenEndpoints]"),
        )
        .arg(
            Arg::new("channel")
                .long("channel")
                .value_name("NAME")
                .action(ArgAction::Append)
                .help("A channel to make, with the default quality of service; may be repeated"),
        )
        .arg(
            Arg::new("print-reference")
                .long("print-reference")
                .action(ArgAction::SetTrue)
                .help("Print the reference of the factory as first line"),
        )
        .args(session::arguments())
        .after_help(
            "Clients find it as corbaloc::HOST:PORT/EventChannelFactory.\n\n\
             Example: corbie events serve --listen localhost:2810 --channel prices",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let listen = matches
        .get_one::<String>("listen")
        .map(|address| vec!["-ORBListenEndpoints".to_owned(), format!("iiop://{address}")]);
    let session = Session::start_with(matches, &listen.unwrap_or_default())?;
    let cannot = |why: &dyn std::fmt::Display| Failure::new(format!("cannot serve events: {why}"));
    let server = EventServer::start(session.orb(), Limits::default()).map_err(|e| cannot(&e))?;
    for name in matches.get_many::<String>("channel").into_iter().flatten() {
        server.create(name, ChannelQos::default()).map_err(|e| cannot(&e))?;
    }
    // Requests for objects that were never here are refused, and do not wait for one.
    let root = session.orb().root_poa();
    let active = root.and_then(|poa| Ok(poa.the_poa_manager().activate()?));
    active.map_err(|e| cannot(&e))?;
    if matches.get_flag("print-reference") {
        writeln!(output, "{}", server.factory().as_object())?;
    } else {
        let port = session.orb().listen_addresses().first().map_or(0, std::net::SocketAddr::port);
        writeln!(output, "serving corbaloc::HOST:{port}/EventChannelFactory; Ctrl-C ends it")?;
    }
    output.flush()?;
    session.orb().run();
    Ok(())
}
