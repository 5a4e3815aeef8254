//! The third-party transports of one ORB, by scheme and by profile tag.
//!
//! Filled by the ORB's builder; asked when endpoints are listened on and references are bound,
//! never during a call.

use crate::{PluggedEndpoint, Transport};
use corbie_types::ior::profile_tag;
use std::sync::Arc;

/// Schemes of the transports that need no registration.
pub const BUILT_IN_SCHEMES: [&str; 4] = ["iiop", "giopl", "uiop", "shmiop"];

/// The scheme of TLS over TCP. A transport of this scheme has the profile tag of IIOP, as its
/// addresses stand in components of IIOP profiles: the ORB's own, unless the application brings
/// another along.
pub const SSLIOP: &str = "ssliop";

/// Schemes that stand for something else in object URLs and endpoints.
const RESERVED_SCHEMES: [&str; 2] = ["rir", "giop"];

/// Tags of profiles that have a meaning already.
const BUILT_IN_TAGS: [u32; 7] = [
    profile_tag::INTERNET_IOP,
    profile_tag::MULTIPLE_COMPONENTS,
    profile_tag::UIOP,
    profile_tag::CORBIE_SHMIOP,
    profile_tag::CORBIE_GIOPLITE,
    profile_tag::CORBIE_LOCAL,
    profile_tag::CORBIE_MESSAGES,
];

/// The transports that an application brought along.
#[derive(Clone, Debug, Default)]
pub struct Registry(Vec<Arc<dyn Transport>>);

impl Registry {
    /// Without any.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `transport`.
    ///
    /// # Errors
    /// A sentence, when its scheme or its profile tag is taken or cannot be used.
    pub fn add(&mut self, transport: Arc<dyn Transport>) -> Result<(), String> {
        let (scheme, tag) = (transport.scheme(), transport.profile_tag());
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if !scheme.starts_with(|c: char| c.is_ascii_lowercase()) || !scheme.chars().all(is_letter) {
            return Err(format!(
                "the scheme {scheme:?} of a transport is to be of lower-case letters and digits"
            ));
        }
        if BUILT_IN_SCHEMES.contains(&scheme) || RESERVED_SCHEMES.contains(&scheme) {
            return Err(format!("the scheme {scheme:?} is the ORB's own; choose another"));
        }
        if (scheme == SSLIOP) != (tag == profile_tag::INTERNET_IOP) {
            return Err(format!(
                "the scheme {SSLIOP:?} and the profile tag of IIOP belong together, but {scheme:?} \
                 has the tag {tag:#x}"
            ));
        }
        if scheme != SSLIOP && BUILT_IN_TAGS.contains(&tag) {
            return Err(format!("the profile tag {tag:#x} of {scheme:?} is the ORB's own"));
        }
        if let Some(other) = self.0.iter().find(|t| t.scheme() == scheme || t.profile_tag() == tag)
        {
            return Err(format!(
                "the transports {scheme:?} and {:?} have the same scheme or profile tag",
                other.scheme()
            ));
        }
        self.0.push(transport);
        Ok(())
    }

    /// The transport whose endpoints begin with `scheme`.
    #[must_use]
    pub fn by_scheme(&self, scheme: &str) -> Option<&Arc<dyn Transport>> {
        self.0.iter().find(|transport| transport.scheme() == scheme)
    }

    /// The transport whose profiles have this tag; that of TLS has none of its own.
    #[must_use]
    pub fn by_tag(&self, tag: u32) -> Option<&Arc<dyn Transport>> {
        let mut plugged = self.0.iter().filter(|transport| transport.scheme() != SSLIOP);
        plugged.find(|transport| transport.profile_tag() == tag)
    }

    /// The endpoint `scheme://address`; `None` when there is no such transport.
    #[must_use]
    pub fn endpoint(&self, scheme: &str, address: &str) -> Option<PluggedEndpoint> {
        Some(PluggedEndpoint::new(Arc::clone(self.by_scheme(scheme)?), address))
    }

    /// All of them, in the order of registration.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Transport> {
        self.0.iter().map(|transport| &**transport)
    }

    /// Their schemes, in the order of registration.
    pub fn schemes(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|transport| transport.scheme())
    }
}
