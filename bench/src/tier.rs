//! Corbie's middle tiers: an `Echoer` that asks the sink before it answers (paper AMH §5.1).
//!
//! `experiment/amh_clients.rs` and `amh_delay.rs` compare them. What differs is how a request is
//! held while the sink takes its time ([`Holding`]), and which threads there are, which goes in as
//! `-ORB…` arguments.

use crate::driver::{Failure, serve_until_input_ends};
use crate::echo::bench::amh_echoer::{EchoOctetsResponse, EchoResponse, ReceivedResponse};
use crate::echo::bench::{
    AmhEchoerServant, AmhEchoerSkeleton, AsyncEchoerServant, AsyncEchoerSkeleton, Echoer,
    EchoerServant, EchoerSkeleton,
};
use crate::executor::QueueExecutor;
use corbie::{Operation, Orb, ReplySink, SystemException};
use std::str::FromStr;
use std::sync::Arc;

/// How a middle tier holds a request while the sink takes its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holding {
    /// The servant calls the sink and waits: a request holds a thread, or a place on its stack.
    Synchronous,
    /// The servant calls the sink asynchronously, and the reply answers the request (AMH, AMI).
    Amh,
    /// The servant is an `async fn` that awaits the sink.
    Async,
}

/// How a middle tier serves: `HOLDING`, or `HOLDING:THREADS` when the application lends the ORB
/// that many threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Model {
    holding: Holding,
    threads: usize,
}

impl FromStr for Model {
    type Err = String;

    fn from_str(word: &str) -> Result<Model, String> {
        let (holding, threads) = word.split_once(':').unwrap_or((word, "0"));
        let holding = match holding {
            "synchronous" => Holding::Synchronous,
            "amh" => Holding::Amh,
            "async" => Holding::Async,
            _ => {
                return Err(format!("no middle tier serves as `{word}` (synchronous, amh, async)"));
            }
        };
        let threads = threads.parse().map_err(|_| format!("no number of threads: `{word}`"))?;
        Ok(Model { holding, threads })
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
    poa.the_poa_manager().activate()?;
    let tier = match model.holding {
        Holding::Synchronous => poa.activate(EchoerSkeleton::new(Synchronous { sink }))?,
        Holding::Amh => poa.activate(AmhEchoerSkeleton::new(Amh { sink }))?,
        Holding::Async => {
            orb.set_executor(Arc::new(QueueExecutor::start()?));
            poa.activate(AsyncEchoerSkeleton::new(Async { sink }))?
        }
    };
    let reference = orb.object_to_string(tier.as_object());
    let threads: Vec<_> = (0..model.threads)
        .map(|_| {
            let orb = orb.clone();
            std::thread::spawn(move || orb.run())
        })
        .collect();
    serve_until_input_ends(&reference)?;
    orb.shutdown(false);
    for thread in threads {
        thread.join().map_err(|_| "a thread of the middle tier panicked")?;
    }
    Ok(())
}

/// The sources call nothing but `echo`; the rest is answered by the sink in the plain way.
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

struct Amh {
    sink: Echoer,
}

/// The sink's operation, for calls whose reply goes to a function.
static ECHO: Operation = Operation::twoway("echo");

impl AmhEchoerServant for Amh {
    fn echo(&self, response: EchoResponse, v: i64) {
        let arguments = |e: &mut corbie::codegen::Encoder<'_>| {
            e.write_longlong(v);
            Ok(())
        };
        let sink = ReplySink::function(move |outcome| {
            let value = outcome.and_then(|mut reply| reply.results_only(|d| d.read_longlong()));
            answer(response, value);
        });
        // Not accepted means that the function was dropped, and the response with it: the client
        // has its exception.
        let _ = self.sink.as_object().invoke_async(&ECHO, &arguments, sink);
    }

    fn send(&self, v: i64) -> Result<(), SystemException> {
        self.sink.send(v)
    }

    fn received(&self, response: ReceivedResponse) {
        let _ = match self.sink.received() {
            Ok(count) => response.received(count),
            Err(exception) => response.received_excep(exception),
        };
    }

    fn echo_octets(&self, response: EchoOctetsResponse, data: &[u8]) {
        let _ = match self.sink.echo_octets(data) {
            Ok(octets) => response.echo_octets(&octets),
            Err(exception) => response.echo_octets_excep(exception),
        };
    }
}

/// Answers a source; one that has gone is no news.
fn answer(response: EchoResponse, value: Result<i64, SystemException>) {
    let _ = match value {
        Ok(value) => response.echo(value),
        Err(exception) => response.echo_excep(exception),
    };
}

struct Async {
    sink: Echoer,
}

impl AsyncEchoerServant for Async {
    async fn echo(&self, v: i64) -> Result<i64, SystemException> {
        self.sink.echo_async(v).await
    }

    async fn send(&self, v: i64) -> Result<(), SystemException> {
        self.sink.send(v)
    }

    async fn received(&self) -> Result<u64, SystemException> {
        self.sink.received_async().await
    }

    async fn echo_octets(&self, data: &[u8]) -> Result<Vec<u8>, SystemException> {
        self.sink.echo_octets_async(data).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_read_with_and_without_threads() {
        let model = |holding, threads| Ok(Model { holding, threads });
        assert_eq!("synchronous".parse(), model(Holding::Synchronous, 0));
        assert_eq!("amh:2".parse(), model(Holding::Amh, 2));
        assert_eq!("async".parse(), model(Holding::Async, 0));
        for wrong in ["amh:x", "magic", ""] {
            assert!(wrong.parse::<Model>().is_err(), "{wrong}");
        }
    }
}
