//! Asks every address of a reference whether the object answers there (`ior dump --ping`).
//!
//! Each address is tried alone: a reference with only that address is made and its object asked
//! `_non_existent`, so that an address that fails does not hide behind one that works.

use std::time::{Duration, Instant};

use corbie::types::ior::component_tag;
use corbie::types::{Address, Description, IiopProfile, Ior, SystemExceptionKind};
use serde_json::{Value as Json, json};

use crate::failure::Failure;
use crate::session::{self, Session};

/// What one address said.
pub(crate) struct Answer {
    place: PingPlace,
    outcome: Reach,
}

enum Reach {
    There(Duration),
    /// The server answers, but has no such object.
    NoObject,
    /// No answer, and why.
    Silent(String),
}

const NO_OBJECT: &str = "the server answers, but has no such object";

/// The place that was asked.
enum PingPlace {
    Tcp(Address),
    /// A unix-domain socket or shared memory: its name.
    Rendezvous(String),
}

impl Answer {
    /// Whether the object is there.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self.outcome, Reach::There(_))
    }

    /// For the tree.
    pub(crate) fn describe(&self) -> Description {
        let text = match &self.outcome {
            Reach::There(time) => format!("answers in {:.3} ms", milliseconds(*time)),
            Reach::NoObject => NO_OBJECT.to_owned(),
            Reach::Silent(why) => format!("does not answer: {why}"),
        };
        let place = match &self.place {
            PingPlace::Tcp(address) => address.to_string(),
            PingPlace::Rendezvous(name) => name.clone(),
        };
        Description::leaf(place, text)
    }

    /// For `--json`.
    pub(crate) fn facts(&self) -> Json {
        let mut facts = match &self.place {
            PingPlace::Tcp(Address { host, port }) => json!({ "host": host, "port": port }),
            PingPlace::Rendezvous(name) => json!({ "rendezvous_point": name }),
        };
        facts["answers"] = json!(self.is_there());
        match &self.outcome {
            Reach::There(time) => facts["round_trip_ms"] = json!(milliseconds(*time)),
            Reach::NoObject => facts["why"] = json!(NO_OBJECT),
            Reach::Silent(why) => facts["why"] = json!(why),
        }
        facts
    }
}

fn milliseconds(time: Duration) -> f64 {
    // Microseconds are as exact as this can be.
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Asks every address of every profile of IIOP and UIOP, in order.
pub(crate) fn ping(session: &Session, ior: &Ior) -> Result<Vec<Answer>, Failure> {
    let malformed = |error| Failure::new(format!("the reference is malformed: {error}"));
    let mut answers = Vec::new();
    for tagged in &ior.profiles {
        if let Some(profile) = tagged.iiop().map_err(malformed)? {
            for address in profile.addresses() {
                let outcome = ping_tcp(session, ior, &profile, &address);
                answers.push(Answer { place: PingPlace::Tcp(address), outcome });
            }
        }
        if let Some(profile) = tagged.uiop().map_err(malformed)? {
            let alone = Ior { profiles: vec![tagged.clone()], ..ior.clone() };
            let outcome = ping_one(session, alone);
            answers.push(Answer { place: PingPlace::Rendezvous(profile.address), outcome });
        }
    }
    Ok(answers)
}

fn ping_tcp(session: &Session, ior: &Ior, profile: &IiopProfile, address: &Address) -> Reach {
    let mut alone =
        IiopProfile::new(profile.version, &*address.host, address.port, &*profile.object_key);
    alone.components = profile
        .components
        .iter()
        .filter(|c| c.tag != component_tag::ALTERNATE_IIOP_ADDRESS)
        .cloned()
        .collect();
    match Ior::from_iiop(&*ior.type_id, &alone) {
        Ok(ior) => ping_one(session, ior),
        Err(error) => Reach::Silent(error.to_string()),
    }
}

/// Asks the object of a reference with one address.
fn ping_one(session: &Session, ior: Ior) -> Reach {
    let object = corbie::Object::new(session.orb(), ior);
    // The first call also connects; the second shows the time of a call.
    let connected = session::exists(&object);
    let started = Instant::now();
    match connected.and_then(|()| session::exists(&object)) {
        Ok(()) => Reach::There(started.elapsed()),
        Err(exception) if exception.kind == SystemExceptionKind::ObjectNotExist => Reach::NoObject,
        Err(exception) => Reach::Silent(exception.to_string()),
    }
}
