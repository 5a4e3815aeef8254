//! Trying again: what `corbie events push`, `pull` and `tail` do with `--retry` when the channel
//! does not answer, and what makes a subscription outlive the command (`--subscription`).

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, value_parser};
use corbie::{Object, SystemException, SystemExceptionKind};
use corbie_event::cos_event_channel_admin::{
    proxy_pull_consumer, proxy_pull_supplier, proxy_push_consumer, proxy_push_supplier,
};

use crate::failure::Failure;
use crate::session::{self, Session};

const FIRST_DELAY: Duration = Duration::from_millis(20);
const LONGEST_DELAY: Duration = Duration::from_secs(1);

pub(super) fn retry_argument() -> Arg {
    Arg::new("retry")
        .long("retry")
        .value_name("SECONDS")
        .value_parser(value_parser!(f64))
        .help("How long to try again while the channel cannot be reached [default: not at all]")
}

pub(super) fn subscription_argument() -> Arg {
    Arg::new("subscription").long("subscription").value_name("FILE").help(
        "Where the reference of the proxy is kept: the next run goes on where this one ended. \
             For durable channels",
    )
}

/// How long to try again.
#[derive(Clone, Copy)]
pub(super) struct Patience(Duration);

impl Patience {
    pub(super) fn of(matches: &ArgMatches) -> Result<Self, Failure> {
        let seconds = matches.try_get_one::<f64>("retry").ok().flatten().copied().unwrap_or(0.0);
        let patience = session::seconds(&seconds.to_string()).map_err(Failure::usage)?;
        Ok(Self(patience))
    }

    pub(super) fn is_some(self) -> bool {
        !self.0.is_zero()
    }

    /// Attempts something until it succeeds, or fails with what will not pass, or the time is over.
    pub(super) fn attempt<T, E>(
        self,
        may_pass: impl Fn(&E) -> bool,
        mut attempt: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let (end, mut delay) = (Instant::now() + self.0, FIRST_DELAY);
        loop {
            match attempt() {
                Err(error) if may_pass(&error) && Instant::now() < end => {
                    std::thread::sleep(delay);
                    delay = (2 * delay).min(LONGEST_DELAY);
                }
                outcome => return outcome,
            }
        }
    }

    /// The same for a call that raises system exceptions only.
    pub(super) fn call<T>(
        self,
        call: impl FnMut() -> Result<T, SystemException>,
    ) -> Result<T, SystemException> {
        self.attempt(is_passing, call)
    }

    /// Obtains a proxy and connects it. Whether an attempt that failed connected it, the same proxy
    /// knows: another one beside it would get, or give, every event once more. When it has gone, it
    /// was not connected, and another one is obtained.
    pub(super) fn connect<P>(
        self,
        mut obtain: impl FnMut() -> Result<P, Refusal>,
        connect: impl Fn(&P) -> Result<(), Refusal>,
    ) -> Result<P, Failure> {
        let mut obtained = None;
        let connected = self.attempt(Refusal::may_pass, || {
            let is_repeated = obtained.is_some();
            let proxy = obtained.take().map_or_else(&mut obtain, Ok)?;
            match connect(&proxy) {
                Err(Refusal::Already) if is_repeated => Ok(proxy),
                Err(refusal) if refusal.is_gone() => Err(refusal),
                Err(refusal) => {
                    obtained = Some(proxy);
                    Err(refusal)
                }
                Ok(()) => Ok(proxy),
            }
        });
        connected.map_err(|refusal| match refusal {
            Refusal::Already => super::refused("another client is connected there".to_owned()),
            Refusal::System(exception) => super::failed("the channel", &exception),
            Refusal::Other(failure) => failure,
        })
    }
}

/// Why a supplier or consumer was not connected.
pub(super) enum Refusal {
    /// The proxy has one already.
    Already,
    System(SystemException),
    Other(Failure),
}

impl Refusal {
    fn may_pass(&self) -> bool {
        match self {
            Refusal::System(exception) => is_passing(exception) || is_gone(exception),
            Refusal::Already | Refusal::Other(_) => false,
        }
    }

    fn is_gone(&self) -> bool {
        matches!(self, Refusal::System(exception) if is_gone(exception))
    }
}

impl From<SystemException> for Refusal {
    fn from(exception: SystemException) -> Self {
        Refusal::System(exception)
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Refusal::Other(failure)
    }
}

macro_rules! refusals {
    ($($module:ident::$error:ident $($other:ident)?),*) => { $(
        impl From<$module::$error> for Refusal {
            fn from(error: $module::$error) -> Self {
                match error {
                    $module::$error::AlreadyConnected(_) => Refusal::Already,
                    $module::$error::System(exception) => exception.into(),
                    $( other @ $module::$error::$other(_) => {
                        super::failed("the channel", &other).into()
                    } )?
                }
            }
        }
    )* };
}

refusals! {
    proxy_push_consumer::ConnectPushSupplierError,
    proxy_push_supplier::ConnectPushConsumerError TypeError,
    proxy_pull_supplier::ConnectPullConsumerError,
    proxy_pull_consumer::ConnectPullSupplierError TypeError
}

/// Whether the same call may succeed later.
pub(super) fn is_passing(exception: &SystemException) -> bool {
    use SystemExceptionKind as K;
    matches!(exception.kind, K::CommFailure | K::Transient | K::Timeout | K::NoResponse)
}

/// Whether the object is no more.
pub(super) fn is_gone(exception: &SystemException) -> bool {
    exception.kind == SystemExceptionKind::ObjectNotExist
}

/// The proxy of an earlier run, and where that of this run is to be kept.
pub(super) struct Subscription<'m>(Option<&'m String>);

impl<'m> Subscription<'m> {
    pub(super) fn of(matches: &'m ArgMatches) -> Self {
        Self(matches.get_one::<String>("subscription"))
    }

    pub(super) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// The proxy that was kept.
    pub(super) fn proxy(&self, session: &Session) -> Result<Option<Object>, Failure> {
        match self.0.filter(|file| std::path::Path::new(file).exists()) {
            None => Ok(None),
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .map_err(|e| Failure::path("read", file.as_ref(), &e))?;
                session.resolve(text.trim()).map(Some)
            }
        }
    }

    /// Keeps a proxy. If this process is killed, the file is whole or not there at all.
    pub(super) fn keep(&self, proxy: &Object) -> Result<(), Failure> {
        let Some(file) = self.0 else { return Ok(()) };
        let beside = format!("{file}.new");
        // Its key is all that is needed to use the proxy.
        let mut options = std::fs::File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        options
            .open(&beside)
            .and_then(|mut file| file.write_all(format!("{proxy}\n").as_bytes()))
            .and_then(|()| std::fs::rename(&beside, file))
            .map_err(|e| Failure::path("write", file.as_ref(), &e))
    }

    /// What to say when the proxy that was kept is no more.
    pub(super) fn is_over(&self) -> Failure {
        let file = self.0.map_or("", String::as_str);
        Failure::new(format!(
            "the subscription in `{file}` has ended: the channel does not know it any more. \
             Remove the file to begin anew; events between are lost"
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use corbie::minor;

    fn lost() -> Refusal {
        SystemException::comm_failure(minor::COMM_FAILURE_CLOSED, corbie::CompletionStatus::Maybe)
            .into()
    }

    fn gone() -> Refusal {
        SystemException::object_not_exist(
            minor::OBJECT_NOT_EXIST_DISCONNECTED,
            corbie::CompletionStatus::No,
        )
        .into()
    }

    /// Connects where the attempts have these outcomes: which of the proxies 0, 1, … is connected
    /// at the end.
    fn connected(outcomes: Vec<Result<(), Refusal>>) -> Option<u32> {
        let mut proxies = 0..;
        let outcomes = RefCell::new(outcomes.into_iter());
        let obtain = || Ok(proxies.next().expect("one more"));
        let connect = |_: &u32| outcomes.borrow_mut().next().expect("another attempt");
        Patience(Duration::from_secs(60)).connect(obtain, connect).ok()
    }

    #[test]
    fn a_connection_that_was_not_confirmed_is_looked_for_before_another_one_is_made() {
        assert_eq!(connected(vec![Err(lost()), Ok(())]), Some(0), "it was not made");
        assert_eq!(connected(vec![Err(lost()), Err(Refusal::Already)]), Some(0), "it was made");
        assert_eq!(connected(vec![Err(lost()), Err(gone()), Ok(())]), Some(1), "its server ended");
        assert_eq!(connected(vec![Err(Refusal::Already)]), None, "by another client");
        let again = vec![Err(lost()), Err(gone()), Err(lost()), Err(Refusal::Already)];
        assert_eq!(connected(again), Some(1));
        assert_eq!(connected(vec![Err(gone()), Err(Refusal::Already)]), None);
    }
}
