//! Which addresses of a reference may be used at all: those over TLS, or the plain ones, as the
//! reference's own policy or the setting `tls_protection` says. Asked once when a reference is
//! bound, so that no attempt ever falls back from TLS to plain text.

use crate::policy::{Policy, PolicyType};
use crate::profile::{Profile, is_plain, is_tls, permits};
use crate::server::bidirectional::is_nowhere;
use crate::{Object, Orb};
use corbie_settings::TlsProtection;
use corbie_transport::{Endpoint, SSLIOP};
use corbie_types::{SystemException, minor};

/// Takes out of the profiles of a reference of `type_id` what may not be used. Addresses of this
/// machine (unix-domain sockets, shared memory) and transports of the application stay.
///
/// # Errors
/// `NO_PERMISSION` (`COMPLETED_NO`) when the reference has addresses, and none may be used.
pub(crate) fn choose<'p>(
    orb: &Orb,
    protection: TlsProtection,
    type_id: &str,
    profiles: impl Iterator<Item = &'p mut Profile>,
) -> Result<(), SystemException> {
    let mut profiles: Vec<_> = profiles.collect();
    let endpoints = || profiles.iter().flat_map(|profile| &profile.endpoints);
    let (has_tls, has_plain) = (endpoints().any(is_tls), endpoints().any(is_plain));
    if !has_tls && !has_plain {
        return Ok(());
    }
    let is_usable = match protection {
        TlsProtection::Required => is_tls,
        TlsProtection::Preferred if has_tls && check_client(orb).is_ok() => is_tls,
        TlsProtection::Preferred | TlsProtection::Forbidden => is_plain,
    };
    for profile in &mut profiles {
        // What is nowhere is called over a connection that came, over TLS or not.
        let is_back = |one: &Endpoint| is_nowhere(one) && permits(protection, one);
        let is_kept = |one: &Endpoint| is_usable(one) || is_back(one);
        profile.endpoints.retain(|one| is_kept(one) || !(is_tls(one) || is_plain(one)));
    }
    if profiles.iter().any(|profile| !profile.endpoints.is_empty()) {
        return Ok(());
    }
    let why = match protection {
        TlsProtection::Required => "it has plain addresses only, and tls_protection is required",
        TlsProtection::Forbidden => "it has addresses of TLS only, and tls_protection is forbidden",
        TlsProtection::Preferred => &check_client(orb).err().unwrap_or_default(),
    };
    let text = format!("the reference of type {type_id:?} cannot be called from here: {why}");
    Err(minor::NO_PERMISSION_TLS_NEEDED.no(text))
}

/// Whether this ORB can open connections over TLS.
///
/// # Errors
/// Why not.
fn check_client(orb: &Orb) -> Result<(), String> {
    match orb.transports().by_scheme(SSLIOP) {
        Some(tls) => tls.check_client(),
        None => Err("this program was built without TLS (the feature `tls`)".to_owned()),
    }
}

impl Object {
    /// By which addresses it may be called: as its own policy says, else as the setting does.
    pub(crate) fn tls_protection(&self) -> TlsProtection {
        match self.policy_overrides().get(PolicyType::TLS_PROTECTION) {
            Some(Policy::TlsProtection(protection)) => protection,
            _ => self.orb().settings().tls_protection,
        }
    }
}
