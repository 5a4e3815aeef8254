//! The naming server, in a process of its own: what `corbie naming serve` does, from code.
//! Its first line of output is the reference; it ends when its standard input does.

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use corbie::Orb;
use corbie_naming::store::Store;
use corbie_naming::store::embedded::Embedded;
use corbie_naming::{Limits, NamingServer};

/// Serves names: in a file with `--store FILE`, else in memory.
pub(crate) fn serve(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let store: Arc<dyn Store> = match arguments {
        [flag, file] if flag == "--store" => Arc::new(Embedded::open(file)?),
        [] => Arc::new(Embedded::in_memory()?),
        _ => return Err("usage: naming [--store FILE]".into()),
    };
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"])?;
    let server = NamingServer::start(&orb, store, Limits::default())?;
    println!("{}", server.root().as_object());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    orb.shutdown(true);
    Ok(())
}

/// The process with the naming server.
pub(crate) struct NamesProcess {
    process: Child,
    pub(crate) reference: String,
}

impl NamesProcess {
    /// Starts this program a second time; its reference tells that it can be called.
    pub(crate) fn start(arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("names")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().ok_or("the naming server has no output")?;
        let mut reference = String::new();
        BufReader::new(output).read_line(&mut reference)?;
        let reference = reference.trim().to_owned();
        if reference.is_empty() {
            process.wait()?;
            return Err("the naming server ended before it had a reference".into());
        }
        Ok(Self { process, reference })
    }
}

impl Drop for NamesProcess {
    /// Waiting closes its standard input, which ends it.
    fn drop(&mut self) {
        let _ = self.process.wait();
    }
}
