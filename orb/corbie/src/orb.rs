//! The ORB as applications make it: core and root POA under one handle.
//!
//! The only behaviour of the façade: it knows both `orb/core` and `orb/poa` (CORBA 3.3 P1 §8.5).

use corbie_core::portable_interceptor::OrbInitializer;
use corbie_core::protocol::MessageProtocol;
use corbie_core::transport::Transport;
use corbie_poa::{Poa, PoaCurrent, RootPoa};
use corbie_settings::{PartialSettings, Settings};
use corbie_threads::lock::{Ranked, rank};
use corbie_types::SystemException;
use std::fmt;
use std::sync::Arc;

/// An Object Request Broker with its root POA. Clones are the same ORB.
///
/// Everything that clients need is on [`corbie_core::Orb`], which this dereferences to.
#[derive(Clone)]
pub struct Orb {
    core: corbie_core::Orb,
    root: Arc<Ranked<rank::RootPoa, Option<Poa>>>,
}

impl Orb {
    /// An ORB configured by `-ORB…` arguments, the environment (`CORBIE_…`) and `corbie.toml`.
    /// Arguments that do not begin with `-ORB` are passed over; [`OrbBuilder::arguments`] takes
    /// the others out of a list.
    ///
    /// # Errors
    /// `BAD_PARAM` for a setting that is unknown, out of range or contradicts another,
    /// `INITIALIZE` when the file cannot be read; both `COMPLETED_NO`, with a sentence that says
    /// which source is wrong.
    pub fn init<A: Into<String>>(
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Orb, SystemException> {
        let mut arguments: Vec<String> = arguments.into_iter().map(Into::into).collect();
        Orb::builder().arguments(&mut arguments).build()
    }

    /// An ORB configured by calls first, then as by [`Orb::init`].
    pub fn builder<'a>() -> OrbBuilder<'a> {
        OrbBuilder {
            settings: PartialSettings::new(),
            arguments: None,
            transports: Vec::new(),
            protocols: Vec::new(),
            initializers: Vec::new(),
        }
    }

    /// The root POA, as the initial reference `RootPOA` ([`Poa::narrow`]). The first call starts
    /// listening on the configured endpoints.
    ///
    /// # Errors
    /// `INITIALIZE` when an endpoint cannot be listened on, `BAD_INV_ORDER` after
    /// [`corbie_core::Orb::shutdown`]; both `COMPLETED_NO`.
    pub fn root_poa(&self) -> Result<Poa, SystemException> {
        if let Some(root) = &*self.root.lock() {
            return Ok(root.clone());
        }
        // Without the lock, as interceptors are asked. Another thread may be faster.
        let root = RootPoa::of(&self.core)?;
        Ok(self.root.lock().get_or_insert(root).clone())
    }

    /// `PortableServer::Current`: tells inside an upcall which object is called. The initial
    /// reference `POACurrent` is the same ([`PoaCurrent::narrow`]).
    #[must_use]
    pub fn poa_current(&self) -> PoaCurrent {
        PoaCurrent
    }
}

impl std::ops::Deref for Orb {
    type Target = corbie_core::Orb;

    fn deref(&self) -> &corbie_core::Orb {
        &self.core
    }
}

impl fmt::Debug for Orb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core.fmt(f)
    }
}

/// Settings on their way into an [`Orb`].
///
/// ```
/// use corbie::{Orb, WaitStrategy};
/// let orb = Orb::builder()
///     .settings(|s| s.wait_strategy(WaitStrategy::Block).orb_id("example"))
///     .build()?;
/// assert_eq!(orb.settings().orb_id, "example");
/// # Ok::<(), corbie::SystemException>(())
/// ```
pub struct OrbBuilder<'a> {
    settings: PartialSettings,
    arguments: Option<&'a mut Vec<String>>,
    transports: Vec<Arc<dyn Transport>>,
    protocols: Vec<&'static dyn MessageProtocol>,
    initializers: Vec<Arc<dyn OrbInitializer>>,
}

impl fmt::Debug for OrbBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OrbBuilder")
            .field("settings", &self.settings)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

impl<'a> OrbBuilder<'a> {
    /// Sets settings by name; they win over every other source.
    #[must_use]
    pub fn settings(mut self, set: impl FnOnce(PartialSettings) -> PartialSettings) -> Self {
        self.settings = set(self.settings);
        self
    }

    /// Takes the `-ORB…` arguments out of `arguments` and leaves the others.
    #[must_use]
    pub fn arguments(mut self, arguments: &'a mut Vec<String>) -> Self {
        self.arguments = Some(arguments);
        self
    }

    /// Has the ORB speak over `transport`, too: endpoints of its scheme can be listened on, and
    /// profiles with its tag are understood. See `docs/src/transports.md`.
    #[must_use]
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transports.push(transport);
        self
    }

    /// Has the ORB speak `protocol`, too: endpoints `name+scheme://…` can be listened on, and
    /// profiles that name it are understood. See `docs/src/message-protocols.md`.
    #[must_use]
    pub fn message_protocol(mut self, protocol: &'static dyn MessageProtocol) -> Self {
        self.protocols.push(protocol);
        self
    }

    /// Has `initializer` register interceptors with the ORB, after those of the process
    /// ([`register_orb_initializer`](corbie_core::portable_interceptor::register_orb_initializer)).
    /// See `docs/src/interceptors.md`.
    #[must_use]
    pub fn initializer(mut self, initializer: Arc<dyn OrbInitializer>) -> Self {
        self.initializers.push(initializer);
        self
    }

    /// The ORB.
    ///
    /// # Errors
    /// See [`Orb::init`]; `BAD_PARAM` (`COMPLETED_NO`), too, when the scheme or the profile tag of
    /// a transport is taken, the name of a message protocol is taken or cannot be used, or an
    /// endpoint is of one that was not given; `INITIALIZE` (`COMPLETED_NO`) when a file of
    /// certificates cannot be used, or when an initializer gives up.
    pub fn build(self) -> Result<Orb, SystemException> {
        let mut none = Vec::new();
        let arguments = self.arguments.unwrap_or(&mut none);
        let given = arguments.clone();
        let settings = Settings::from_process(self.settings, arguments)?;
        let mut transports = self.transports;
        add_tls(&settings, &mut transports)?;
        let core = corbie_core::Orb::with_plugins(settings, transports, self.protocols)?;
        RootPoa::register(&core)?;
        PoaCurrent::register(&core)?;
        core.register_own_references()?;
        core.initialize(&self.initializers, &given)?;
        Ok(Orb { core, root: Arc::default() })
    }
}

/// TLS of the ORB's own, unless the application brings another along.
#[cfg(feature = "tls")]
fn add_tls(
    settings: &Settings,
    transports: &mut Vec<Arc<dyn Transport>>,
) -> Result<(), SystemException> {
    if !transports.iter().any(|transport| transport.scheme() == corbie_core::transport::SSLIOP) {
        transports.push(Arc::new(corbie_tls::Tls::new(settings)?));
    }
    Ok(())
}

#[cfg(not(feature = "tls"))]
fn add_tls(_: &Settings, _: &mut Vec<Arc<dyn Transport>>) -> Result<(), SystemException> {
    Ok(())
}
