//! What the subcommands have in common that talk to a running system: its naming service, the
//! mechanism that it talks by, and how an outcome reads.

use clap::{Arg, ArgMatches, value_parser};
use corbie_mshn::idl::{Outcome, Phase};
use corbie_mshn::messages::Role;
use corbie_mshn::{ClientLibrary, MechanismName, Peers, node};

use crate::escapes::one_line;
use crate::failure::Failure;
use crate::session::{self, Session};

/// The arguments of every such subcommand.
pub(super) fn arguments() -> Vec<Arg> {
    let mechanism = Arg::new("mechanism")
        .long("mechanism")
        .value_name("NAME")
        .value_parser(value_parser!(MechanismName))
        .help("How the system talks [default: as is found out from its naming service]");
    [super::name_service(), mechanism].into_iter().chain(session::arguments()).collect()
}

/// A client of a running system.
pub(super) struct Client {
    pub(super) peers: Peers,
    // Ends after its peers.
    _session: Session,
}

impl Client {
    pub(super) fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let session = super::session(matches, None, vec![])?;
        let naming = super::naming(session.orb(), matches)?;
        let given = matches.get_one::<MechanismName>("mechanism").copied();
        let candidates = match &given {
            Some(given) => std::slice::from_ref(given),
            None => MechanismName::ALL,
        };
        for mechanism in candidates {
            let peers = node::peers(session.orb(), naming.clone(), *mechanism);
            let advisors = peers.names(Role::Advisor);
            if !advisors.map_err(|error| Failure::new(error.to_string()))?.is_empty() {
                return Ok(Self { peers, _session: session });
            }
        }
        let known = match given {
            Some(mechanism) => format!("that talks by `{mechanism}`"),
            None => "of a running system".to_owned(),
        };
        Err(Failure::new(format!(
            "this naming service has no advisor {known}; `corbie mshn up --stay` starts a system \
             and says where its naming service is"
        )))
    }

    pub(super) fn library(&self) -> Result<ClientLibrary, Failure> {
        ClientLibrary::new(self.peers.clone()).map_err(failed)
    }
}

/// The system has not answered.
pub(super) fn failed(exception: corbie::SystemException) -> Failure {
    Failure::new(format!("the system does not answer: {exception}"))
}

/// How a job is, in one line.
pub(super) fn line(job: &Outcome) -> String {
    let state = match job.state {
        Phase::UnknownJob => return one_line(&format!("{}: no component knows it", job.job)),
        Phase::Waiting => return one_line(&format!("{}: waits", job.job)),
        Phase::Running => "runs",
        Phase::Done => "done",
        Phase::Failed => "failed",
    };
    let mut line = format!("{}: {state} on {} as {}", job.job, job.machine, job.format);
    if job.late_by_s > 0.0 {
        line.push_str(&format!(", {:.2} s late", job.late_by_s));
    }
    if job.starts > 1 {
        line.push_str(&format!(", started {} times", job.starts));
    }
    if !job.why.is_empty() {
        line.push_str(&format!(": {}", job.why));
    }
    one_line(&line)
}
