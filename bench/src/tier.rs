//! Corbie's middle tiers: an `Echoer` that asks the sink before it answers (paper AMH §5.1).
//!
//! `experiment/amh_clients.rs` and `amh_delay.rs` compare them. What differs is how a request is
//! held while the sink takes its time ([`Model`]), and which threads there are, which goes in as
//! `-ORB…` arguments.

use crate::driver::{Failure, serve_until_input_ends};
use crate::echo::bench::{Echoer, EchoerServant, EchoerSkeleton};
use corbie::{Orb, SystemException};
use std::str::FromStr;

/// How a middle tier holds a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// The servant calls the sink and waits: a request holds a thread, or a place on its stack.
    Synchronous,
}

impl FromStr for Model {
    type Err = String;

    fn from_str(word: &str) -> Result<Model, String> {
        match word {
            "synchronous" => Ok(Model::Synchronous),
            _ => Err(format!("no middle tier serves as `{word}` (synchronous)")),
        }
    }
}

/// Serves until standard input ends.
///
/// # Errors
/// When the ORB cannot start, or the sink's reference cannot be read.
pub(crate) fn serve(model: Model, sink: &str, mut arguments: Vec<String>) -> Result<(), Failure> {
    crate::machine::allow_many_files();
    arguments.extend(["-ORBListenEndpoints".into(), "iiop://127.0.0.1:0".into()]);
    let orb = Orb::init(arguments)?;
    let sink = Echoer::unchecked_narrow(orb.string_to_object(sink)?);
    let poa = orb.root_poa()?;
    let tier = match model {
        Model::Synchronous => poa.activate(EchoerSkeleton::new(Synchronous { sink }))?,
    };
    serve_until_input_ends(&orb.object_to_string(tier.as_object()))?;
    orb.shutdown(false);
    Ok(())
}

struct Synchronous {
    sink: Echoer,
}

impl EchoerServant for Synchronous {
    fn echo(&self, v: i64) -> Result<i64, SystemException> {
        self.sink.echo(v)
    }

    fn send(&self, v: i64) -> Result<(), SystemException> {
        self.sink.send(v)
    }

    fn received(&self) -> Result<u64, SystemException> {
        self.sink.received()
    }

    fn echo_octets(&self, data: &[u8]) -> Result<Vec<u8>, SystemException> {
        self.sink.echo_octets(data)
    }
}
