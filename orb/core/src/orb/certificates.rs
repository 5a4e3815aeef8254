//! The certificates that the transports of an ORB show: having them read again, and until when they
//! are good. Asked by servers at a SIGHUP and by metrics.

use crate::Orb;
use corbie_types::{SystemException, minor};
use std::time::SystemTime;

impl Orb {
    /// Reads the files of certificates, authorities and revocation lists again (settings `tls_…`)
    /// and goes by what they hold now: connections opened or accepted from now on. Files that have
    /// changed are noticed without it; after it the caller knows whether they can be used. Whether
    /// there are such files.
    ///
    /// # Errors
    /// `INITIALIZE` (`COMPLETED_NO`) when a file cannot be used, with the name of the setting: then
    /// all certificates stay as they are.
    pub fn reload_certificates(&self) -> Result<bool, SystemException> {
        let mut has_any = false;
        for transport in self.transports().iter() {
            has_any |= transport.reload().map_err(|why| minor::INITIALIZE_TLS.no(why))?;
        }
        Ok(has_any)
    }

    /// When the first of the certificates ends that this process shows to its peers (setting
    /// `tls_certificate`, with those that lead to its authority); `None`: it has none.
    #[must_use]
    pub fn certificate_expiry(&self) -> Option<SystemTime> {
        self.transports().iter().filter_map(|transport| transport.certificate_expiry()).min()
    }
}
