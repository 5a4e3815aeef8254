//! `corbie naming list`, `tree`, `watch` and `resolve`.
//!
//! Contexts end in a slash, as folders do in `ls -p`.

use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, value_parser};
use corbie::types::Description;
use corbie_naming::store::Kind;
use corbie_naming::{Bounds, Change, Node, Watch};
use serde_json::{Value as Json, json};

use super::{connect, failure, flag, name, name_of};
use crate::escapes::one_line;
use crate::failure::Failure;
use crate::serving::{self, Interruption, Log};
use crate::{session, tree as drawing};

/// What `watch` logs where nothing says more.
const LOG: &str = "off";
const WHERE: &str = "The naming context [default: the root]";

pub(super) fn list() -> Command {
    Command::new("list").about("Shows the names in a naming context").arg(name(WHERE)).arg(flag(
        "json",
        "Print a JSON array of objects with `name` and `kind` (`object`, `context`)",
    ))
}

pub(super) fn tree() -> Command {
    Command::new("tree")
        .about("Draws a naming context with everything below it")
        .arg(name(WHERE))
        .arg(depth())
}

pub(super) fn watch() -> Command {
    Command::new("watch")
        .about("Shows what changes in a naming context and below, until it is interrupted")
        .arg(name(WHERE))
        .arg(depth())
        .arg(
            Arg::new("interval")
                .short('i')
                .long("interval")
                .value_name("SECONDS")
                .default_value("1")
                .value_parser(session::some_seconds)
                .help("The pause between two looks"),
        )
        .args(serving::log_arguments(LOG))
        .after_help(
            "Each line begins with + for a new name, ~ for one that leads elsewhere than before, - \
             for one that is gone, ! when the naming service does not answer.",
        )
}

pub(super) fn resolve() -> Command {
    Command::new("resolve")
        .about("Shows the reference that a name is bound to")
        .arg(name("The name").required(true))
        .after_help("Example: corbie ping \"$(corbie naming resolve stock/IBM.quoter -n URL)\"")
}

fn depth() -> Arg {
    Arg::new("depth")
        .short('d')
        .long("depth")
        .value_name("N")
        .default_value("32")
        .value_parser(value_parser!(u16).range(1..))
        .help("How many contexts within contexts are entered")
}

fn bounds(matches: &ArgMatches) -> Bounds {
    let depth = matches.get_one::<u16>("depth").copied().map_or(1, usize::from);
    Bounds { depth, ..Bounds::default() }
}

pub(super) fn run_list(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let (_session, naming) = connect(matches)?;
    let entries = naming.list(name_of(matches)).map_err(failure)?;
    if matches.get_flag("json") {
        let facts: Json = entries.iter().map(|entry| facts(&entry.name, entry.kind)).collect();
        writeln!(output, "{facts:#}")?;
        return Ok(());
    }
    for entry in entries {
        writeln!(output, "{}", as_folder(&entry.name, entry.kind))?;
    }
    Ok(())
}

pub(super) fn run_resolve(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let (_session, naming) = connect(matches)?;
    writeln!(output, "{}", naming.resolve_object(name_of(matches)).map_err(failure)?)?;
    Ok(())
}

pub(super) fn run_tree(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let (_session, naming) = connect(matches)?;
    let name = name_of(matches);
    let root = naming.context(name).and_then(|context| context.tree(bounds(matches)));
    let mut root = root.map_err(failure)?;
    name.clone_into(&mut root.name);
    write!(output, "{}", drawing::draw(&describe(&root)))?;
    Ok(())
}

fn describe(node: &Node) -> Description {
    let type_id = node.object.as_ref().map(|object| object.ior().type_id.clone());
    let value = match (node.kind, &node.note) {
        (_, Some(note)) => format!("({note})"),
        (Kind::Object, None) => type_id.unwrap_or_default(),
        (Kind::Context, None) => String::new(),
    };
    let children = node.children.iter().map(describe).collect();
    let mark = if node.kind == Kind::Context { "/" } else { "" };
    Description::node(format!("{}{mark}", node.name), value, children)
}

fn facts(name: &str, kind: Kind) -> Json {
    let kind = match kind {
        Kind::Context => "context",
        Kind::Object => "object",
    };
    json!({ "name": name, "kind": kind })
}

fn as_folder(name: &str, kind: Kind) -> String {
    match kind {
        Kind::Context => format!("{}/", one_line(name)),
        Kind::Object => one_line(name),
    }
}

pub(super) fn run_watch(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let log = Log::start_at(matches, LOG)?;
    let (session, naming) = connect(matches)?;
    let (tell, told) = channel();
    let wake = move || {
        let _ = tell.send(());
    };
    let interruption = Interruption::watch(&session, log, wake)?;
    let context = naming.context(name_of(matches)).map_err(failure)?;
    let mut watch = Watch::begin(&context, bounds(matches)).map_err(failure)?;
    let pause = matches.get_one::<Duration>("interval").copied().unwrap_or_default();
    // From here on, what changes will be seen.
    writeln!(output, "watching; Ctrl-C ends it")?;
    output.flush()?;
    let mut trouble = String::new();
    while told.recv_timeout(pause).is_err_and(|error| error == RecvTimeoutError::Timeout) {
        match watch.changes() {
            Ok(changes) => {
                trouble.clear();
                for change in changes {
                    writeln!(output, "{}", line(&change))?;
                }
            }
            Err(_) if interruption.has_come() => break,
            Err(error) if error.to_string() != trouble => {
                trouble = error.to_string();
                writeln!(output, "! {}", one_line(&trouble))?;
            }
            Err(_) => {}
        }
        output.flush()?;
    }
    Ok(())
}

fn line(change: &Change) -> String {
    match change {
        Change::Bound { name, kind, .. } => format!("+ {}", as_folder(name, *kind)),
        Change::Rebound { name, kind, .. } => format!("~ {}", as_folder(name, *kind)),
        Change::Unbound { name } => format!("- {}", one_line(name)),
    }
}
