//! The contenders: each contender is data, a family and the arguments of its server and of its
//! client.
//!
//! The experiments (`experiment/*.rs`) list contenders; `Roster` turns one into command lines, or
//! into the reason why it is missing. A contender may have several configurations: the ratios are
//! taken to the best of them.

use crate::peers;
use crate::process::Launch;
use crate::raw::Sizes;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

/// What kind of programs a contender has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// No ORB: this binary, `raw.rs`.
    Raw,
    /// This binary, through Corbie.
    Corbie,
    /// C++, `peers/omniorb`.
    OmniOrb,
    /// Java, `peers/jacorb`.
    JacOrb,
    /// Measured within one process of this binary, `local.rs`: there is no server.
    Local,
    /// This binary as the Client Library of MSHN, which starts the other components, `mshn.rs`.
    Mshn,
    /// Planned by `experiments.md`, and not built yet.
    #[cfg_attr(not(test), allow(dead_code, reason = "nothing is awaited now"))]
    Awaited,
}

/// One contender in one configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contender {
    /// The name in tables, JSON and ratios.
    pub(crate) series: String,
    /// Which of several configurations (`x.config`); empty when there is one.
    pub(crate) config: &'static str,
    /// Whose programs.
    pub(crate) family: Family,
    /// Arguments of the server beyond its address; for [`Family::Awaited`]: what it waits for.
    pub(crate) server: &'static [&'static str],
    /// Arguments of the client.
    pub(crate) client: &'static [&'static str],
    /// Whether it takes part in the first round alone: something so long that once has to do.
    pub(crate) is_once: bool,
}

impl Contender {
    /// A contender whose server and client take the same arguments.
    pub(crate) fn new(
        series: &str,
        config: &'static str,
        family: Family,
        arguments: &'static [&'static str],
    ) -> Contender {
        let series = series.to_owned();
        let (server, client) = (arguments, arguments);
        Contender { series, config, family, server, client, is_once: false }
    }

    /// A contender whose server and client take different arguments.
    pub(crate) fn sides(
        series: &str,
        config: &'static str,
        family: Family,
        server: &'static [&'static str],
        client: &'static [&'static str],
    ) -> Contender {
        Contender { series: series.to_owned(), config, family, server, client, is_once: false }
    }

    /// Something measured within one process: `what` is its name in `measures.rs`.
    pub(crate) fn local(
        series: &str,
        config: &'static str,
        what: &'static [&'static str],
    ) -> Contender {
        Contender::new(series, config, Family::Local, what)
    }

    /// A contender that is named as missing until `what` exists.
    #[cfg_attr(not(test), allow(dead_code, reason = "nothing is awaited now"))]
    pub(crate) fn awaited(series: &str, what: &'static [&'static str]) -> Contender {
        Contender::new(series, "", Family::Awaited, what)
    }

    /// The same as one of several configurations.
    pub(crate) fn configured(&self, config: &'static str) -> Contender {
        Contender { config, ..self.clone() }
    }

    /// The same in the first round alone.
    pub(crate) fn once(&self) -> Contender {
        Contender { is_once: true, ..self.clone() }
    }

    /// Whether there is no server: the client has all that it needs.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self.family, Family::Local | Family::Mshn)
    }

    /// The same under another name (`corbie-smi` becomes `corbie-smi-7`).
    pub(crate) fn named(&self, series: &str) -> Contender {
        Contender { series: series.to_owned(), ..self.clone() }
    }

    /// Whether the processes live through all rounds: a JVM is at its speed only after tens of
    /// thousands of calls.
    pub(crate) fn stays_warm(&self) -> bool {
        self.family == Family::JacOrb
    }

    /// Calls before the first that is timed.
    pub(crate) fn warm_up_calls(&self, first_round: bool, quick: bool) -> u64 {
        match (self.family, first_round, quick) {
            (Family::JacOrb, true, true) => 20_000,
            (Family::JacOrb, true, false) => 40_000,
            (_, _, true) => 1_000,
            (_, _, false) => 2_000,
        }
    }

    /// Milliseconds of calls before the first that is counted, at least.
    pub(crate) fn warm_up_ms(&self, first_round: bool) -> u64 {
        match (self.family, first_round) {
            (Family::JacOrb, true) => 1_500,
            _ => 0,
        }
    }
}

/// omniORB as it comes.
pub(crate) const OMNIORB_STOCK: (&str, &[&str]) = ("stock", &[]);
/// omniORB with as many connections as threads, and a thread for each of them.
pub(crate) const OMNIORB_CONNECTIONS: (&str, &[&str]) =
    ("400 connections", &["-ORBmaxGIOPConnectionPerServer", "400"]);
/// omniORB with as many connections as threads, and a pool of threads.
pub(crate) const OMNIORB_POOL: (&str, &[&str]) = (
    "400 connections, pool",
    &["-ORBmaxGIOPConnectionPerServer", "400", "-ORBthreadPerConnectionPolicy", "0"],
);
/// JacORB with a queue that waits instead of refusing.
pub(crate) const JACORB_QUEUE: (&str, &[&str]) = (
    "queue waits",
    &[
        "-Djacorb.poa.queue_max=10000",
        "-Djacorb.poa.queue_wait=on",
        "-Djacorb.poa.thread_pool_max=32",
    ],
);

/// Turns contenders into command lines.
pub(crate) struct Roster {
    own: PathBuf,
    sizes: Sizes,
    omniorb: OnceCell<Result<PathBuf, String>>,
    jacorb: OnceCell<Result<String, String>>,
}

impl Roster {
    /// A roster whose raw contenders send messages of `sizes`.
    ///
    /// # Errors
    /// When the path of this binary cannot be found.
    pub(crate) fn new(sizes: Sizes) -> std::io::Result<Roster> {
        let own = std::env::current_exe()?;
        Ok(Roster { own, sizes, omniorb: OnceCell::new(), jacorb: OnceCell::new() })
    }

    /// The same with another build of this program in its place.
    pub(crate) fn running(self, program: &Path) -> Roster {
        Roster { own: program.to_path_buf(), ..self }
    }

    /// What the raw contenders send.
    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The server's command line.
    ///
    /// # Errors
    /// Why the contender is missing.
    pub(crate) fn server(&self, contender: &Contender) -> Result<Launch, String> {
        self.launch(contender, "serve", None, contender.server)
    }

    /// The client's command line.
    ///
    /// # Errors
    /// Why the contender is missing.
    pub(crate) fn client(&self, contender: &Contender, address: &str) -> Result<Launch, String> {
        self.launch(contender, "drive", Some(address), contender.client)
    }

    /// The middle tier's command line, in front of the sink at an address.
    ///
    /// # Errors
    /// Why the contender is missing.
    pub(crate) fn tier(&self, contender: &Contender, sink: &str) -> Result<Launch, String> {
        self.launch(contender, "tier", Some(sink), contender.server)
    }

    /// The command line of a sink that answers after a delay.
    pub(crate) fn sink(&self, delay_ms: u64) -> Launch {
        let arguments = ["serve", "sink"].map(str::to_owned).into_iter();
        let arguments = arguments.chain([format!("--delay-ms={delay_ms}")]).collect();
        Launch { program: self.own.clone(), arguments }
    }

    /// The command line of source clients of a middle tier.
    pub(crate) fn sources(&self, tier: &str) -> Launch {
        let arguments = ["drive", "sources", tier].map(str::to_owned).to_vec();
        Launch { program: self.own.clone(), arguments }
    }

    fn launch(
        &self,
        contender: &Contender,
        role: &str,
        address: Option<&str>,
        options: &[&str],
    ) -> Result<Launch, String> {
        let options = options.iter().map(|&option| option.to_owned());
        let words = |words: &[&str]| -> Vec<String> {
            words.iter().copied().chain(address).map(str::to_owned).collect()
        };
        let (program, arguments) = match contender.family {
            Family::Raw => {
                let mut arguments = words(&[role, "raw"]);
                arguments.push(format!("--sizes={}:{}", self.sizes.request, self.sizes.reply));
                arguments.extend(options);
                (self.own.clone(), arguments)
            }
            Family::Corbie => {
                let mut arguments = words(&[role, "corbie"]);
                arguments.extend(options);
                (self.own.clone(), arguments)
            }
            Family::OmniOrb => {
                let mut arguments = words(&[role]);
                arguments.extend(options);
                if role != "drive" {
                    let end_point = ["-ORBendPoint", "giop:tcp:127.0.0.1:0"];
                    arguments.extend(end_point.map(str::to_owned));
                }
                (self.omniorb.get_or_init(peers::omniorb).clone()?, arguments)
            }
            Family::JacOrb => {
                let class_path = self.jacorb.get_or_init(peers::jacorb).clone()?;
                let mut arguments: Vec<String> = options.collect();
                arguments.extend(["-cp".into(), class_path]);
                arguments.push("bench.EchoProgram".into());
                arguments.extend(words(&[role]));
                ("java".into(), arguments)
            }
            Family::Local => {
                let mut arguments = vec![role.to_owned(), "local".to_owned()];
                arguments.extend(options);
                (self.own.clone(), arguments)
            }
            Family::Mshn => {
                let mut arguments = vec![role.to_owned(), "mshn".to_owned()];
                arguments.extend(options);
                (self.own.clone(), arguments)
            }
            Family::Awaited => return Err(contender.server.join(" ")),
        };
        Ok(Launch { program, arguments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster() -> Roster {
        Roster::new(Sizes { request: 92, reply: 32 }).unwrap()
    }

    #[test]
    fn own_contenders_run_this_binary_again() {
        let raw = Contender::new("raw-tcp-spin", "", Family::Raw, &["--spin"]);
        let launch = roster().client(&raw, "127.0.0.1:5").unwrap();
        assert_eq!(launch.program, std::env::current_exe().unwrap());
        assert_eq!(launch.arguments, ["drive", "raw", "127.0.0.1:5", "--sizes=92:32", "--spin"]);
    }

    #[test]
    fn what_is_measured_locally_has_a_name_and_no_address() {
        let launch = roster().client(&Contender::local("dyn", "", &["calls"]), "").unwrap();
        assert_eq!(launch.arguments, ["drive", "local", "calls"]);
    }

    #[test]
    fn what_is_awaited_says_for_what() {
        let awaited = Contender::awaited("corbie-ami", &["asynchronous invocation"]);
        assert_eq!(roster().server(&awaited).unwrap_err(), "asynchronous invocation");
    }

    #[test]
    fn a_jvm_is_kept_and_warmed() {
        let jacorb = Contender::new("jacorb-smi", JACORB_QUEUE.0, Family::JacOrb, JACORB_QUEUE.1);
        assert!(jacorb.stays_warm());
        assert!(jacorb.warm_up_calls(true, true) >= 20_000);
        assert_eq!(jacorb.named("jacorb-smi-7").series, "jacorb-smi-7");
    }
}
