//! Serving until the operating system says that it is enough: SIGTERM and SIGINT end the ORB in
//! peace, a second one ends the process at once, SIGHUP has things read again.
//!
//! The service manager (systemd) is told when the server is ready, reloads and stops, and that it
//! is alive, if it wants to know. Called by servers after their servants are there.

use crate::Orb;
use crate::housekeeping::TICK;
use corbie_threads::lock::{Ranked, rank};
use corbie_types::{SystemException, minor};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, signal_name};
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How a server runs until a signal: made by [`Orb::until_signal`].
#[must_use = "it does nothing until `run`"]
pub struct UntilSignal {
    orb: Orb,
    signals: Signals,
    before_end: Option<Box<dyn FnOnce(Duration) + Send>>,
    on_hangup: Option<Box<dyn FnMut() + Send>>,
}

impl Orb {
    /// Serves as [`Orb::run`] does, until SIGTERM or SIGINT comes, or another thread calls
    /// [`Orb::shutdown`]; then ends in peace. See [`UntilSignal`] for what else can be done then.
    ///
    /// # Errors
    /// As [`UntilSignal::run`].
    pub fn run_until_signal(&self) -> Result<(), SystemException> {
        self.until_signal()?.run()
    }

    /// The same, with functions that are called at the signals. SIGTERM and SIGINT are caught from
    /// now on.
    ///
    /// # Errors
    /// `NO_RESOURCES` (`COMPLETED_NO`) when the signals cannot be caught.
    ///
    /// ```no_run
    /// # fn example(orb: &corbie_core::Orb) -> Result<(), corbie_types::SystemException> {
    /// orb.until_signal()?
    ///     .on_hangup(|| println!("reading the files again"))?
    ///     .before_end(|grace| println!("writing what is left, within {grace:?}"))
    ///     .run()
    /// # }
    /// ```
    pub fn until_signal(&self) -> Result<UntilSignal, SystemException> {
        let signals = Signals::new([SIGTERM, SIGINT]).map_err(|error| no_signals(&error))?;
        Ok(UntilSignal { orb: self.clone(), signals, before_end: None, on_hangup: None })
    }
}

impl UntilSignal {
    /// Has `f` called once when the end begins, before new requests are refused: it is told how
    /// long it may take, which is `shutdown_grace`. What it leaves of that is the ORB's.
    pub fn before_end(mut self, f: impl FnOnce(Duration) + Send + 'static) -> Self {
        self.before_end = Some(Box::new(f));
        self
    }

    /// Has `f` called at each SIGHUP. Without it a SIGHUP ends the process, as it does by default.
    ///
    /// # Errors
    /// `NO_RESOURCES` (`COMPLETED_NO`) when the signal cannot be caught.
    pub fn on_hangup(mut self, f: impl FnMut() + Send + 'static) -> Result<Self, SystemException> {
        self.signals.add_signal(SIGHUP).map_err(|error| no_signals(&error))?;
        self.on_hangup = Some(Box::new(f));
        Ok(self)
    }

    /// Serves until the first SIGTERM or SIGINT: from then on no request is taken, those in
    /// servants are answered, and this returns after `shutdown_grace` at the latest. A second
    /// signal ends the process at once. Returns also when another thread shuts the ORB down.
    ///
    /// # Errors
    /// `NO_RESOURCES` (`COMPLETED_NO`) when no thread can be had to wait for the signals.
    pub fn run(self) -> Result<(), SystemException> {
        let UntilSignal { orb, mut signals, before_end, mut on_hangup } = self;
        let handle = signals.handle();
        let ending: Arc<Ending> = Arc::default();
        let mut end = Some((orb.clone(), before_end, Arc::clone(&ending)));
        let wait = move || {
            for signal in signals.forever() {
                match (signal, end.take()) {
                    (SIGHUP, unused) => {
                        end = unused;
                        if let Some(on_hangup) = &mut on_hangup {
                            reload(&mut **on_hangup);
                        }
                    }
                    (_, Some((orb, before_end, ending))) => {
                        let name = signal_name(signal).unwrap_or("a signal");
                        ending.begin(orb, before_end, name);
                    }
                    (_, None) => drop(emulate_default_handler(signal)),
                }
            }
        };
        let thread = Builder::new().name("corbie-signals".to_owned()).spawn(wait);
        let thread = thread.map_err(|error| no_signals(&error))?;
        tell(&[NotifyState::Ready]);
        ensure_watchdog(&orb);
        orb.run();
        if !ending.join() {
            // The application goes on without this ORB: signals are its own again.
            handle.close();
            drop(thread);
        }
        Ok(())
    }
}

/// The thread that ends the ORB.
#[derive(Default)]
struct Ending(Ranked<rank::Leaf, Option<JoinHandle<()>>>);

impl Ending {
    fn begin(&self, orb: Orb, before_end: Option<Box<dyn FnOnce(Duration) + Send>>, signal: &str) {
        let grace = orb.settings().shutdown_grace;
        tracing::info!(signal, ?grace, "ending in peace; a second signal ends it at once");
        tell(&[NotifyState::Stopping]);
        let at_last = orb.clone();
        let end = move || {
            let deadline = Instant::now() + grace;
            if let Some(before_end) = before_end {
                before_end(grace);
            }
            orb.shutdown_within(deadline.saturating_duration_since(Instant::now()));
        };
        let mut thread = self.0.lock();
        match Builder::new().name("corbie-ending".to_owned()).spawn(end) {
            Ok(started) => *thread = Some(started),
            Err(error) => {
                drop(thread);
                tracing::warn!(%error, "no thread for a peaceful end");
                at_last.shutdown(false);
            }
        }
    }

    /// Waits until the end is done; whether it had begun.
    fn join(&self) -> bool {
        let thread = self.0.lock().take();
        // A panic in there was reported by its thread.
        thread.map(JoinHandle::join).is_some()
    }
}

/// Reads again what is read again at a SIGHUP.
fn reload(on_hangup: &mut dyn FnMut()) {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
    on_hangup();
    tell(&[NotifyState::Ready]);
}

/// Tells the service manager, if there is one.
fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager was not told");
    }
}

/// Tells the service manager twice in each of its intervals that the server is alive, as long as
/// the ORB's housekeeping goes on.
fn ensure_watchdog(orb: &Orb) {
    let Some(interval) = sd_notify::watchdog_enabled() else { return };
    let weak = orb.downgrade();
    let watch = move || {
        let (mut tick, mut since) = (None, Instant::now());
        while let Some(orb) = Orb::upgrade(&weak) {
            if tick != Some(orb.tick()) {
                (tick, since) = (Some(orb.tick()), Instant::now());
            }
            if since.elapsed() < interval.max(3 * TICK) {
                tell(&[NotifyState::Watchdog]);
            }
            if orb.wait_for_shutdown(interval / 2) {
                return;
            }
        }
    };
    if let Err(error) = Builder::new().name("corbie-watchdog".to_owned()).spawn(watch) {
        tracing::warn!(%error, "no thread that tells the service manager that the server lives");
    }
}

#[cold]
fn no_signals(error: &io::Error) -> SystemException {
    minor::NO_RESOURCES_THREAD.no(format!("signals cannot be caught: {error}"))
}
