//! `ORBInitializer` and `ORBInitInfo` (CORBA 3.3 P1 §16.7): how interceptors get into an ORB,
//! before it is used.
//!
//! An initializer is given to the builder of one ORB, or registered for all ORBs that the process
//! makes from then on.

use super::registration::Registration;
use super::{ClientRequestInterceptor, IorInterceptor, ServerRequestInterceptor, SlotId};
use crate::{InvalidName, Object, Orb};
use corbie_threads::lock::{Ranked, rank};
use corbie_types::{SystemException, minor};
use std::fmt;
use std::sync::Arc;

/// Registers interceptors when an ORB is made.
pub trait OrbInitializer: Send + Sync {
    /// Called before initial references can be resolved.
    ///
    /// # Errors
    /// The ORB is not made, and its maker gets this.
    fn pre_init(&self, info: &mut OrbInitInfo<'_>) -> Result<(), OrbInitError> {
        let _ = info;
        Ok(())
    }

    /// Called when `pre_init` of all initializers has been. Calls that it makes pass no
    /// interceptor.
    ///
    /// # Errors
    /// As [`OrbInitializer::pre_init`].
    fn post_init(&self, info: &mut OrbInitInfo<'_>) -> Result<(), OrbInitError> {
        let _ = info;
        Ok(())
    }
}

/// Why an initializer gave up.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OrbInitError {
    /// `ORBInitInfo::DuplicateName`: there is an interceptor of this kind and name already.
    DuplicateName(String),
    /// `ORBInitInfo::InvalidName`: an initial reference cannot have this name.
    InvalidName(InvalidName),
    /// A system exception.
    System(SystemException),
}

impl From<SystemException> for OrbInitError {
    fn from(exception: SystemException) -> Self {
        OrbInitError::System(exception)
    }
}

impl From<InvalidName> for OrbInitError {
    fn from(error: InvalidName) -> Self {
        OrbInitError::InvalidName(error)
    }
}

impl From<OrbInitError> for SystemException {
    /// For the maker of the ORB: `INITIALIZE` (`COMPLETED_NO`) unless it is a system exception.
    fn from(error: OrbInitError) -> Self {
        match error {
            OrbInitError::System(exception) => exception,
            error => minor::INITIALIZE_INTERCEPTORS.no(error.to_string()),
        }
    }
}

impl fmt::Display for OrbInitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrbInitError::DuplicateName(name) => {
                write!(f, "two interceptors of one kind have the name {name:?}")
            }
            OrbInitError::InvalidName(error) => error.fmt(f),
            OrbInitError::System(exception) => exception.fmt(f),
        }
    }
}

impl std::error::Error for OrbInitError {}

/// What an initializer may do with the ORB that is being made (`PortableInterceptor::ORBInitInfo`).
pub struct OrbInitInfo<'a> {
    orb: &'a Orb,
    arguments: &'a [String],
    registered: Registration,
    is_post_init: bool,
}

impl OrbInitInfo<'_> {
    /// The arguments that the ORB was made with.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        self.arguments
    }

    /// The id of the ORB.
    #[must_use]
    pub fn orb_id(&self) -> &str {
        &self.orb.settings().orb_id
    }

    /// As [`Orb::register_initial_reference`].
    ///
    /// # Errors
    /// As there.
    pub fn register_initial_reference(
        &self,
        name: &str,
        object: &Object,
    ) -> Result<(), InvalidName> {
        self.orb.register_initial_reference(name, object)
    }

    /// As [`Orb::resolve_initial_references`].
    ///
    /// # Errors
    /// As there; `BAD_INV_ORDER` with the OMG's minor code 14 (`COMPLETED_NO`) in `pre_init`.
    pub fn resolve_initial_references(&self, name: &str) -> Result<Object, SystemException> {
        if !self.is_post_init {
            return Err(minor::BAD_INV_ORDER_INTERCEPTOR_CALL.no(format!(
                "the initial reference {name:?} was asked for in pre_init; ask in post_init"
            )));
        }
        self.orb.resolve_initial_references(name)
    }

    /// Has `interceptor` see all requests that the ORB sends, behind those that were added before.
    ///
    /// # Errors
    /// [`OrbInitError::DuplicateName`].
    pub fn add_client_request_interceptor(
        &mut self,
        interceptor: Arc<dyn ClientRequestInterceptor>,
    ) -> Result<(), OrbInitError> {
        check_name(self.registered.client.iter().map(|one| one.name()), interceptor.name())?;
        self.registered.client.push(interceptor);
        Ok(())
    }

    /// Has `interceptor` see all requests that the ORB serves, behind those that were added before.
    ///
    /// # Errors
    /// [`OrbInitError::DuplicateName`].
    pub fn add_server_request_interceptor(
        &mut self,
        interceptor: Arc<dyn ServerRequestInterceptor>,
    ) -> Result<(), OrbInitError> {
        check_name(self.registered.server.iter().map(|one| one.name()), interceptor.name())?;
        self.registered.server.push(interceptor);
        Ok(())
    }

    /// Has `interceptor` add to the references of all POAs that are made from now on.
    ///
    /// # Errors
    /// [`OrbInitError::DuplicateName`].
    pub fn add_ior_interceptor(
        &mut self,
        interceptor: Arc<dyn IorInterceptor>,
    ) -> Result<(), OrbInitError> {
        check_name(self.registered.ior.iter().map(|one| one.name()), interceptor.name())?;
        self.registered.ior.push(interceptor);
        Ok(())
    }

    /// A new slot of PICurrent.
    pub fn allocate_slot_id(&mut self) -> SlotId {
        self.orb.interceptors().add_slot()
    }
}

fn check_name<'n>(
    mut names: impl Iterator<Item = &'n str>,
    name: &str,
) -> Result<(), OrbInitError> {
    match !name.is_empty() && names.any(|there| there == name) {
        true => Err(OrbInitError::DuplicateName(name.to_owned())),
        false => Ok(()),
    }
}

impl fmt::Debug for OrbInitInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Registration { client, server, ior } = &self.registered;
        let client: Vec<_> = client.iter().map(|one| one.name()).collect();
        let server: Vec<_> = server.iter().map(|one| one.name()).collect();
        let ior: Vec<_> = ior.iter().map(|one| one.name()).collect();
        f.debug_struct("OrbInitInfo")
            .field("orb_id", &self.orb_id())
            .field("client", &client)
            .field("server", &server)
            .field("ior", &ior)
            .finish_non_exhaustive()
    }
}

/// The initializers of all ORBs of the process. Lock "initializers".
static REGISTERED: Ranked<rank::Leaf, Vec<Arc<dyn OrbInitializer>>> = Ranked::new(Vec::new());

/// Has `initializer` take part in the making of each ORB of this process from now on
/// (`PortableInterceptor::register_orb_initializer`). For one ORB alone, give it to its builder.
pub fn register_orb_initializer(initializer: Arc<dyn OrbInitializer>) {
    REGISTERED.lock().push(initializer);
}

impl Orb {
    /// Runs the initializers of the process, then `own`. Called once, when the ORB is made.
    ///
    /// # Errors
    /// What an initializer says; `BAD_PARAM` (`COMPLETED_NO`) when the name `PICurrent` is taken.
    pub fn initialize(
        &self,
        own: &[Arc<dyn OrbInitializer>],
        arguments: &[String],
    ) -> Result<(), SystemException> {
        self.register_pi_current()?;
        let mut all = REGISTERED.lock().clone();
        all.extend_from_slice(own);
        if all.is_empty() {
            return Ok(());
        }
        let registered = Registration::default();
        let mut info = OrbInitInfo { orb: self, arguments, registered, is_post_init: false };
        for initializer in &all {
            initializer.pre_init(&mut info)?;
        }
        info.is_post_init = true;
        for initializer in &all {
            initializer.post_init(&mut info)?;
        }
        let sees_requests = !info.registered.server.is_empty();
        self.interceptors().set(info.registered);
        if sees_requests {
            self.expect_interceptors();
        }
        // What references have joined until now knows nothing of interceptors.
        self.policies().note_change();
        Ok(())
    }
}
