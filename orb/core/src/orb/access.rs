//! The access rules of an ORB: from the access file when it is made and when it is told to read
//! that again, or from code. `server/access.rs` enforces them.

use crate::server::Wanted;
use crate::{Object, Orb};
#[cfg(feature = "access-file")]
use corbie_access::AccessFile;
use corbie_access::{AccessRules, EgressRules};
use corbie_types::{SystemException, minor};

impl Orb {
    /// Only calls that `rules` allow are served from now on, also over connections that are open;
    /// others get `NO_PERMISSION`. Calls of this process to its own objects are not restricted.
    pub fn set_access(&self, rules: AccessRules) {
        self.server().set_access(rules);
    }

    /// Whether there are access rules: from a file, or set by [`Orb::set_access`].
    #[must_use]
    pub fn has_access_rules(&self) -> bool {
        self.server().access.has_rules()
    }

    /// Connects on behalf of references that peers handed over only where `rules` let it: as
    /// arguments of requests, in answers of objects that were handed over, and where the servers of
    /// such objects send on. What is called otherwise gets `NO_PERMISSION`. Holds for references
    /// that are called for the first time; references that came before the first rules were set are
    /// the application's own.
    pub fn set_egress(&self, rules: EgressRules) {
        self.egress().set(rules);
        self.server().attention.want(Wanted::Givers);
    }

    /// Whether there are rules of egress: from a file, or set by [`Orb::set_egress`].
    #[must_use]
    pub fn has_egress_rules(&self) -> bool {
        self.egress().has_rules()
    }

    /// Reads the access file again (setting `access_file`) and serves and connects by what it says
    /// now; does nothing without that setting. Where it says nothing of egress any more, the rules
    /// of egress stay as they are; where it has no users any more, none is known. Whether there is
    /// such a file.
    ///
    /// # Errors
    /// `INITIALIZE` (`COMPLETED_NO`) when the file cannot be read, `BAD_PARAM` (`COMPLETED_NO`)
    /// when it is wrong, with its line: then the rules stay as they are.
    pub fn reload_access(&self) -> Result<bool, SystemException> {
        let Some(path) = &self.settings().access_file else { return Ok(false) };
        self.go_by(path)?;
        Ok(true)
    }
}

impl Object {
    /// Whether rules of egress let the reference be called; for services that are handed references
    /// which they call later, so that the peer learns at once. Nothing is connected; of addresses
    /// that are names it is found out by the call.
    ///
    /// # Errors
    /// `NO_PERMISSION` (`COMPLETED_NO`) when they do not.
    pub fn check_egress(&self) -> Result<(), SystemException> {
        if self.giver().is_none() || self.is_local() {
            return Ok(());
        }
        match self.binding() {
            Err(refused) if refused.minor == minor::NO_PERMISSION_EGRESS => Err(refused),
            _ => Ok(()),
        }
    }
}

impl Orb {
    #[cfg(feature = "access-file")]
    fn go_by(&self, path: &str) -> Result<(), SystemException> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            minor::INITIALIZE_CONFIGURATION
                .no(format!("the access file `{path}` cannot be read: {error}"))
        })?;
        let AccessFile { access, egress, users, assertions } = AccessFile::parse(path, &text)?;
        self.set_access(access);
        if let Some(rules) = egress {
            self.set_egress(rules);
        }
        self.take_users_of_file(users, assertions);
        Ok(())
    }

    #[cfg(not(feature = "access-file"))]
    fn go_by(&self, path: &str) -> Result<(), SystemException> {
        Err(minor::BAD_PARAM_ARGUMENT.no(format!(
            "the access file `{path}` cannot be read: this program was built without the feature \
             config-file of corbie"
        )))
    }
}
