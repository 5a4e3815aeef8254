//! `naming`: naming servers under one client, which is ours for all of them.
//!
//! Each measure starts its server on a fresh folder, and has so many threads resolve one name, or
//! bind and unbind names of their own. Used by `measures.rs`.

use crate::driver::Failure;
use crate::local::Task;
use crate::orders::Answer;
use corbie::{Object, Orb};
use corbie_naming::store::embedded::Embedded;
use corbie_naming::{Limits, Naming, NamingServer};
use corbie_testkit::servers::{ForeignNames, ScratchFolder, Server};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What every thread resolves.
const NAME: &str = "stock/exchange/IBM.quoter";

/// A naming server of ours over `file`, until it is killed; its reference is the first line.
///
/// # Errors
/// When it cannot serve.
pub(crate) fn serve(file: &str) -> Result<(), Failure> {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
    let store = Arc::new(Embedded::open(file)?);
    let server = NamingServer::start(&orb, store, Limits::default())?;
    orb.root_poa()?.the_poa_manager().activate()?;
    let mut output = std::io::stdout();
    writeln!(output, "{}", server.root().as_object())?;
    output.flush()?;
    orb.run();
    Ok(())
}

/// A server with the folder that it writes to.
struct Names {
    url: String,
    _server: (Option<Server>, Option<ForeignNames>),
    _folder: ScratchFolder,
}

impl Names {
    fn corbie() -> Result<Self, Failure> {
        let folder = ScratchFolder::new("bench-names");
        let mut process = Command::new(std::env::current_exe()?)
            .args(["serve", "names"])
            .arg(folder.path().join("names.redb"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("the naming server has no output")?;
        let server = Server::of(process);
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url)?;
        let url = url.trim().to_owned();
        Ok(Self { url, _server: (Some(server), None), _folder: folder })
    }

    fn omninames() -> Result<Self, Failure> {
        let server = ForeignNames::omninames().ok_or("omniNames is not installed")?;
        let (url, folder) = (server.url.clone(), ScratchFolder::new("bench-names"));
        Ok(Self { url, _server: (None, Some(server)), _folder: folder })
    }
}

type Start = fn() -> Result<Names, Failure>;
type NamingCall = fn(&Naming, &Object, &str) -> Result<u64, Failure>;

fn resolve(naming: &Naming, _object: &Object, _own: &str) -> Result<u64, Failure> {
    naming.resolve_object(NAME)?;
    Ok(1)
}

/// Two changes.
fn bind(naming: &Naming, object: &Object, own: &str) -> Result<u64, Failure> {
    naming.bind(own, object)?;
    naming.unbind(own)?;
    Ok(2)
}

/// Words: the server and what it is to do; the size is the number of threads.
///
/// # Errors
/// When the server does not start or a call fails.
pub(crate) fn measure(task: &Task<'_>) -> Result<Answer, Failure> {
    let start: Start = match task.word(0)? {
        "corbie" => Names::corbie,
        "omninames" => Names::omninames,
        other => return Err(format!("no naming server `{other}`").into()),
    };
    let call: NamingCall = match task.word(1)? {
        "resolve" => resolve,
        "bind" => bind,
        other => return Err(format!("nothing is measured by `{other}`").into()),
    };
    count(start, call, task.size, task.window)
}

fn count(
    start: Start,
    call: NamingCall,
    threads: u64,
    window: Duration,
) -> Result<Answer, Failure> {
    let names = start()?;
    let orb = Orb::init(Vec::<String>::new())?;
    let naming = Naming::at(&orb, &names.url)?;
    let object = naming.as_context().as_object().clone();
    naming.make_contexts("stock/exchange")?;
    naming.bind(NAME, &object)?;
    // Each thread warms up for a fifth of the window.
    let begins = Instant::now() + window / 5;
    let ends = begins + window;
    let work = |thread: u64| -> Result<u64, String> {
        let own = format!("own-{thread}");
        let mut calls = 0;
        loop {
            let done = call(&naming, &object, &own).map_err(|failure| failure.to_string())?;
            let now = Instant::now();
            if now >= ends {
                return Ok(calls);
            }
            if now >= begins {
                calls += done;
            }
        }
    };
    let calls: Result<u64, String> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        workers.into_iter().map(|w| w.join().map_err(|_| "a thread panicked".to_owned())?).sum()
    });
    orb.shutdown(true);
    Ok(Answer::Rate { calls: calls?, nanoseconds: window.as_nanos() as u64 })
}
