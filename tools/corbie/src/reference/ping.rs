//! Asks every address of a reference whether the object answers there (`ior dump --ping`).
//!
//! Each address is tried alone: a reference with only that address is made and its object asked
//! `_non_existent`, so that an address that fails does not hide behind one that works.

use std::time::{Duration, Instant};

use corbie::types::ior::component_tag;
use corbie::types::{Address, Description, IiopProfile, Ior};
use serde_json::{Value as Json, json};

use crate::failure::Failure;
use crate::session::{self, Session};

/// What one address said.
pub(crate) struct Answer {
    address: Address,
    outcome: Result<Duration, String>,
}

impl Answer {
    /// Whether the object is there.
    pub(crate) fn is_there(&self) -> bool {
        self.outcome.is_ok()
    }

    /// For the tree.
    pub(crate) fn describe(&self) -> Description {
        let text = match &self.outcome {
            Ok(time) => format!("answers in {:.3} ms", milliseconds(*time)),
            Err(why) => format!("does not answer: {why}"),
        };
        Description::leaf(self.address.to_string(), text)
    }

    /// For `--json`.
    pub(crate) fn facts(&self) -> Json {
        let Address { host, port } = &self.address;
        match &self.outcome {
            Ok(time) => json!({
                "host": host, "port": port, "answers": true,
                "round_trip_ms": milliseconds(*time),
            }),
            Err(why) => json!({ "host": host, "port": port, "answers": false, "why": why }),
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    // Microseconds are as exact as this can be.
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Asks every address of every IIOP profile, in order.
pub(crate) fn ping(session: &Session, ior: &Ior) -> Result<Vec<Answer>, Failure> {
    let profiles = ior
        .iiop_profiles()
        .map_err(|error| Failure::new(format!("the reference is malformed: {error}")))?;
    let mut answers = Vec::new();
    for profile in &profiles {
        for address in profile.addresses() {
            let outcome = ping_one(session, ior, profile, &address);
            answers.push(Answer { address, outcome });
        }
    }
    Ok(answers)
}

fn ping_one(
    session: &Session,
    ior: &Ior,
    profile: &IiopProfile,
    address: &Address,
) -> Result<Duration, String> {
    let mut alone =
        IiopProfile::new(profile.version, &*address.host, address.port, &*profile.object_key);
    alone.components = profile
        .components
        .iter()
        .filter(|c| c.tag != component_tag::ALTERNATE_IIOP_ADDRESS)
        .cloned()
        .collect();
    let ior = Ior::from_iiop(&*ior.type_id, &alone).map_err(|error| error.to_string())?;
    let object = corbie::Object::new(session.orb(), ior);
    // The first call also connects; the second shows the time of a call.
    session::exists(&object).map_err(|exception| exception.to_string())?;
    let started = Instant::now();
    session::exists(&object).map_err(|exception| exception.to_string())?;
    Ok(started.elapsed())
}
