//! `corbie doctor`: follows a reference step by step (name, connect, TLS, GIOP, the object, a call)
//! and says in words what is wrong, and what to try.
//!
//! Plain addresses are asked by hand (`reference/probe`), those of TLS by the ORB, as every program
//! asks them.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use clap::{ArgMatches, Command};
use corbie::types::ior::Component;
use corbie::types::{Address, IiopProfile, Ior, SystemException, SystemExceptionKind};
use corbie::{Object, minor};

use crate::failure::{Failure, remedy};
use crate::reference::probe::{self, Located, Trouble};
use crate::reference::read;
use crate::session::{self, Session};

/// References may lead to others, so often at most.
const FORWARDS_MAX: usize = 4;
/// Addresses that are tried in all: a reference may name very many.
const ADDRESSES_MAX: usize = 32;
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(10);

pub(super) fn table() -> Command {
    Command::new("doctor")
        .about("Follows a reference step by step, and says what is wrong and what to try")
        .arg(session::reference())
        .args(session::arguments())
        .after_help(
            "Example: corbie doctor corbaloc::localhost:2809/NameService\n\n\
             Exit status: 0 if the object answers, else 1.",
        )
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let ior = read(matches)?;
    let timeout = matches.get_one::<Duration>("timeout").copied().unwrap_or(TIMEOUT_DEFAULT);
    let session = Session::start(matches)?;
    let mut doctor = Doctor { output, session: &session, timeout, tried: 0 };
    doctor.examine(&ior, 0)?;
    if doctor.call(ior)? { Ok(()) } else { Err(Failure::silent()) }
}

struct Doctor<'o> {
    output: &'o mut dyn Write,
    session: &'o Session,
    timeout: Duration,
    /// Addresses that were tried.
    tried: usize,
}

impl Doctor<'_> {
    fn good(&mut self, step: &str, what: &str) -> Result<(), Failure> {
        Ok(writeln!(self.output, "  {step:<8} ok    {what}")?)
    }

    fn bad(&mut self, step: &str, what: &str, advice: &str) -> Result<(), Failure> {
        writeln!(self.output, "  {step:<8} WRONG {what}")?;
        if !advice.is_empty() {
            writeln!(self.output, "  {:<8} try   {advice}", "")?;
        }
        Ok(())
    }

    /// Every address of a reference.
    fn examine(&mut self, ior: &Ior, depth: usize) -> Result<(), Failure> {
        let malformed = |error| Failure::new(format!("the reference is malformed: {error}"));
        if ior.profiles.is_empty() {
            let advice = "the program that made it had no object: look there";
            return self.bad("reference", "it is nil: it leads nowhere", advice);
        }
        for tagged in &ior.profiles {
            let Some(profile) = tagged.iiop().map_err(malformed)? else { continue };
            let tls = profile.tls_addresses();
            for address in profile.addresses() {
                // Port 0: there is none without TLS.
                if (address.port != 0 || tls.is_empty()) && self.may_try()? {
                    writeln!(self.output, "{}:{}", address.host, address.port)?;
                    self.address(&profile, &address, depth)?;
                }
            }
            self.tls(ior, &profile, &tls)?;
        }
        Ok(())
    }

    /// Whether one more address may be tried.
    fn may_try(&mut self) -> Result<bool, Failure> {
        self.tried += 1;
        if self.tried == ADDRESSES_MAX + 1 {
            writeln!(self.output, "{ADDRESSES_MAX} addresses were tried; there are more")?;
        }
        Ok(self.tried <= ADDRESSES_MAX)
    }

    /// Where the object takes TLS: each address by hand, then the handshake and the object, by the
    /// ORB.
    fn tls(&mut self, ior: &Ior, profile: &IiopProfile, all: &[Address]) -> Result<(), Failure> {
        let mut is_there = false;
        for address in all {
            if !self.may_try()? {
                return Ok(());
            }
            writeln!(self.output, "{}:{} (TLS)", address.host, address.port)?;
            for place in self.name(address)?.unwrap_or_default() {
                is_there |= self.connect(place, None)?.is_some();
            }
        }
        if !is_there {
            return Ok(());
        }
        let mut alone = profile.clone();
        alone.port = 0;
        alone.components.retain(|one| !matches!(one.parse(), Ok(Component::AlternateAddress(_))));
        let alone = Ior::from_iiop(&ior.type_id, &alone)
            .map_err(|error| Failure::new(format!("the reference is malformed: {error}")))?;
        self.handshake(Object::new(self.session.orb(), alone).locate())
    }

    /// What came of the handshake, and of the question for the object behind it.
    fn handshake(&mut self, located: Result<(), SystemException>) -> Result<(), Failure> {
        let codes = [minor::NO_PERMISSION_TLS, minor::NO_PERMISSION_TLS_NEEDED];
        match located {
            Ok(()) => {
                self.good("tls", "both sides trust each other")?;
                self.good("object", "the server has it")
            }
            Err(e) if codes.contains(&e.minor) => {
                let text = e.to_string();
                self.bad("tls", &text, remedy(&text).unwrap_or_default())
            }
            Err(e) if e.kind == SystemExceptionKind::ObjectNotExist => {
                self.good("tls", "both sides trust each other")?;
                self.no_object()
            }
            Err(e) => {
                let text = e.to_string();
                let advice = "the server's log may say why; see that the port is that of ssliop://";
                self.bad("tls", &text, remedy(&text).unwrap_or(advice))
            }
        }
    }

    fn address(
        &mut self,
        profile: &IiopProfile,
        address: &Address,
        depth: usize,
    ) -> Result<(), Failure> {
        let tls = tls_port(profile);
        if address.port == 0 {
            let advice = "give the server a port in -ORBListenEndpoints, and take a new reference";
            return self.bad("connect", "the port is 0: no client can connect there", advice);
        }
        let Some(found) = self.name(address)? else { return Ok(()) };
        for place in found {
            if let Some(forward) = self.place(profile, place, tls)? {
                if depth == FORWARDS_MAX {
                    return self.bad("forward", "the references only lead to others", "");
                }
                self.examine(&forward, depth + 1)?;
            }
        }
        Ok(())
    }

    fn name(&mut self, address: &Address) -> Result<Option<Vec<SocketAddr>>, Failure> {
        match probe::resolve(&address.host, address.port) {
            Ok(found) => {
                let list: Vec<String> = found.iter().map(|one| one.ip().to_string()).collect();
                self.good("name", &format!("`{}` is {}", address.host, list.join(", ")))?;
                Ok(Some(found))
            }
            Err(error) => {
                let advice = "make the name known here (DNS, /etc/hosts), or have the server put \
                              an address into its references (setting published_address)";
                self.bad(
                    "name",
                    &format!("`{}` is not known here: {error}", address.host),
                    advice,
                )?;
                Ok(None)
            }
        }
    }

    /// One address of the network; the reference that it sends on to, if it does.
    fn place(
        &mut self,
        profile: &IiopProfile,
        place: SocketAddr,
        tls: Option<u16>,
    ) -> Result<Option<Ior>, Failure> {
        let Some(stream) = self.connect(place, tls)? else { return Ok(None) };
        match probe::locate(stream, &profile.object_key, self.timeout) {
            Ok(Located::Here) => self.good("object", "the server has it").map(|()| None),
            Ok(Located::Unknown) => self.no_object().map(|()| None),
            Ok(Located::Forward(ior)) => {
                self.good("object", "the server sends clients on to another reference:")?;
                Ok(Some(*ior))
            }
            Err(trouble) => self.trouble("object", &trouble, tls).map(|()| None),
        }
    }

    fn connect(
        &mut self,
        place: SocketAddr,
        tls: Option<u16>,
    ) -> Result<Option<TcpStream>, Failure> {
        let begin = Instant::now();
        match probe::connect(place, self.timeout) {
            Ok(stream) => {
                let time = begin.elapsed().as_secs_f64() * 1e3;
                self.good("connect", &format!("{place} takes connections ({time:.1} ms)"))?;
                Ok(Some(stream))
            }
            Err(trouble) => self.trouble("connect", &trouble, tls).map(|()| None),
        }
    }

    fn no_object(&mut self) -> Result<(), Failure> {
        let advice = "take a new reference: the object was deactivated, or the server was started \
                      again without persistent references (or it is another one)";
        self.bad("object", "the server has no such object (OBJECT_NOT_EXIST)", advice)
    }

    fn trouble(&mut self, step: &str, trouble: &Trouble, tls: Option<u16>) -> Result<(), Failure> {
        let (what, mut advice) = trouble.words();
        if let (Some(port), Trouble::Closed | Trouble::NotGiop(_)) = (tls, trouble) {
            advice = format!("the reference has TLS at port {port}: perhaps it takes nothing else");
        }
        self.bad(step, &what, &advice)
    }

    /// The object, as every program calls it.
    fn call(&mut self, ior: Ior) -> Result<bool, Failure> {
        writeln!(self.output, "as a client")?;
        let object = Object::new(self.session.orb(), ior);
        // The first call connects.
        let first = session::exists(&object);
        let begin = Instant::now();
        match first.and_then(|()| session::exists(&object)) {
            Ok(()) => {
                let time = begin.elapsed().as_secs_f64() * 1e3;
                self.good("call", &format!("the object answers ({time:.3} ms)"))?;
                Ok(true)
            }
            Err(exception) => {
                let text = exception.to_string();
                let advice = match exception.kind {
                    SystemExceptionKind::NoPermission => {
                        "the server's access rules refuse this caller: ask its operator"
                    }
                    _ => remedy(&text).unwrap_or("see above"),
                };
                self.bad("call", &text, advice)?;
                Ok(false)
            }
        }
    }
}

/// Where the profile takes TLS.
fn tls_port(profile: &IiopProfile) -> Option<u16> {
    profile.components.iter().find_map(|component| match component.parse() {
        Ok(Component::SslSecTrans(tls)) => Some(tls.port),
        _ => None,
    })
}
