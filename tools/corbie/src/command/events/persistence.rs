//! Trying again: what `corbie events push`, `pull` and `tail` do with `--retry` when the channel
//! does not answer, and what makes a subscription outlive the command (`--subscription`).

use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, value_parser};
use corbie::{Object, SystemException, SystemExceptionKind};

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

    /// Attempts something until it succeeds, or fails with what trying again would not change, or
    /// the time is over.
    pub(super) fn attempt<T, E: std::fmt::Display>(
        self,
        why: impl Fn(&E) -> Option<&SystemException>,
        mut attempt: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        let (end, mut delay) = (Instant::now() + self.0, FIRST_DELAY);
        loop {
            match attempt() {
                Err(error) if why(&error).is_some_and(is_passing) && Instant::now() < end => {
                    std::thread::sleep(delay);
                    delay = (2 * delay).min(LONGEST_DELAY);
                }
                outcome => return outcome,
            }
        }
    }

    /// The same for what raises system exceptions only.
    pub(super) fn call<T>(
        self,
        call: impl FnMut() -> Result<T, SystemException>,
    ) -> Result<T, SystemException> {
        self.attempt(itself, call)
    }
}

fn itself(exception: &SystemException) -> Option<&SystemException> {
    Some(exception)
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

    /// Keeps a proxy. Whoever kills this process finds the file whole, or not at all.
    pub(super) fn keep(&self, proxy: &Object) -> Result<(), Failure> {
        let Some(file) = self.0 else { return Ok(()) };
        let beside = format!("{file}.new");
        std::fs::write(&beside, format!("{proxy}\n"))
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
