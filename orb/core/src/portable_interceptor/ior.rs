//! `IORInterceptor` and `IORInfo` (CORBA 3.3 P1 §16.6): components that the application adds to the
//! references of a POA when it is made.

use super::Interceptor;
use super::flow::quiet;
use crate::Orb;
use corbie_types::{SystemException, TaggedComponent, minor};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Adds components to references.
pub trait IorInterceptor: Interceptor {
    /// A POA is being made: what its references are to say besides can be added. A panic is logged,
    /// and what was added until then stays.
    fn establish_components(&self, info: &mut IorInfo) {
        let _ = info;
    }

    /// All interceptors have added what they add.
    ///
    /// # Errors
    /// The POA is not made: `OBJ_ADAPTER` with the OMG's minor code 6.
    fn components_established(&self, info: &IorInfo) -> Result<(), SystemException> {
        let _ = info;
        Ok(())
    }
}

/// A component of references, of all profiles or of those with one tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedComponent {
    component: TaggedComponent,
    profile_id: Option<u32>,
}

impl AddedComponent {
    /// The component, if it is for profiles with this tag. `None`: for those that have all.
    pub(crate) fn for_profile(&self, tag: Option<u32>) -> Option<TaggedComponent> {
        (self.profile_id == tag).then(|| self.component.clone())
    }
}

/// What an [`IorInterceptor`] is told of a POA that is being made.
pub struct IorInfo {
    adapter_name: Vec<String>,
    added: Vec<AddedComponent>,
}

impl IorInfo {
    /// The names of the POAs on the way to it, and its own; `RootPOA` first.
    #[must_use]
    pub fn adapter_name(&self) -> &[String] {
        &self.adapter_name
    }

    /// Adds `component` to all profiles of its references. References of GIOP 1.0 have no place for
    /// components.
    pub fn add_ior_component(&mut self, component: TaggedComponent) {
        self.added.push(AddedComponent { component, profile_id: None });
    }

    /// Adds `component` to the profiles with the tag `profile_id`, if there are any.
    pub fn add_ior_component_to_profile(&mut self, component: TaggedComponent, profile_id: u32) {
        self.added.push(AddedComponent { component, profile_id: Some(profile_id) });
    }
}

impl fmt::Debug for IorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IorInfo")
            .field("adapter_name", &self.adapter_name)
            .field("added", &self.added)
            .finish()
    }
}

impl Orb {
    /// Asks the IOR interceptors what the references of a POA are to say besides. `path`: the names
    /// of the POAs below the root, each with a NUL behind it. Called by the object adapter, which
    /// holds no lock.
    ///
    /// # Errors
    /// `OBJ_ADAPTER` with the OMG's minor code 6 (`COMPLETED_NO`) when one of them raised something
    /// in `components_established`.
    pub fn establish_components(
        &self,
        path: &[u8],
    ) -> Result<Vec<AddedComponent>, SystemException> {
        let all = self.interceptors().ior();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let names = path.split(|octet| *octet == 0).filter(|name| !name.is_empty());
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        let adapter_name = std::iter::once("RootPOA".to_owned()).chain(names).collect();
        let mut info = IorInfo { adapter_name, added: Vec::new() };
        for interceptor in all {
            quiet(|| interceptor.establish_components(&mut info));
        }
        all.iter().try_for_each(|interceptor| established(interceptor, &info))?;
        Ok(info.added)
    }
}

fn established(
    interceptor: &Arc<dyn IorInterceptor>,
    info: &IorInfo,
) -> Result<(), SystemException> {
    let call = || interceptor.components_established(info);
    let why = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(exception)) => exception.to_string(),
        Err(_) => "it panicked".to_owned(),
    };
    Err(minor::OBJ_ADAPTER_COMPONENTS_ESTABLISHED.no(format!(
        "the POA {:?} was not made, as the IOR interceptor {:?} refused its components: {why}",
        info.adapter_name.join("/"),
        interceptor.name(),
    )))
}
