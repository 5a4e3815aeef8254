//! The access rules of an ORB: from the access file when it is made and when it is told to read
//! that again, or from code. `server/access.rs` enforces them.

use crate::Orb;
use corbie_access::AccessRules;
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

    /// Reads the access file again (setting `access_file`) and serves by what it says now; does
    /// nothing without that setting. Whether there is such a file.
    ///
    /// # Errors
    /// `INITIALIZE` (`COMPLETED_NO`) when the file cannot be read, `BAD_PARAM` (`COMPLETED_NO`)
    /// when it is wrong, with its line: then the rules stay as they are.
    pub fn reload_access(&self) -> Result<bool, SystemException> {
        let Some(path) = &self.settings().access_file else { return Ok(false) };
        self.set_access(read(path)?);
        Ok(true)
    }
}

#[cfg(feature = "access-file")]
fn read(path: &str) -> Result<AccessRules, SystemException> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        minor::INITIALIZE_CONFIGURATION
            .no(format!("the access file `{path}` cannot be read: {error}"))
    })?;
    AccessRules::parse(path, &text)
}

#[cfg(not(feature = "access-file"))]
fn read(path: &str) -> Result<AccessRules, SystemException> {
    Err(minor::BAD_PARAM_ARGUMENT.no(format!(
        "the access file `{path}` cannot be read: this program was built without the feature \
         config-file of corbie"
    )))
}
