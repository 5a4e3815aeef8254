//! The users of an ORB: which ones its server half knows, and which one its client half is
//! (CSIv2). From the access file and the settings `csi_…` when it is made, or from code;
//! `server/csi` and `client/csi` use them.

use crate::Orb;
use crate::client::Credentials;
use crate::server::Wanted;
#[cfg(feature = "access-file")]
use corbie_access::Users;
use corbie_access::{AssertionRules, CheckPassword};
use corbie_settings::CsiUsers;
use corbie_types::{SystemException, minor};
use std::sync::Arc;

impl Orb {
    /// Takes user names and passwords (CSIv2, GSSUP) for which `passwords` says that they are
    /// right; what was accepted before counts no more. To be called before references are made,
    /// which tell clients that users are known here. Does nothing where `csi_users` is `none`.
    ///
    /// ```
    /// # fn example(orb: corbie_core::Orb) {
    /// orb.set_users(|user: &str, password: &[u8]| user == "guest" && password == b"guest");
    /// # }
    /// ```
    pub fn set_users(&self, passwords: impl CheckPassword + 'static) {
        if self.settings().csi_users != CsiUsers::None {
            self.server().set_users(|terms| {
                terms.passwords = Some(Arc::new(passwords));
                terms.are_of_file = false;
            });
        }
    }

    /// The access file says so. Users that stood there before and do not now are none; those of
    /// the application stay where the file has none.
    #[cfg(feature = "access-file")]
    pub(super) fn take_users_of_file(&self, users: Option<Users>, assertions: AssertionRules) {
        let has_any = users.is_some() || !assertions.is_empty();
        if self.settings().csi_users == CsiUsers::None || !(has_any || self.has_users()) {
            return;
        }
        self.server().set_users(|terms| {
            if let Some(users) = users {
                terms.passwords = Some(Arc::new(users));
                terms.are_of_file = true;
            } else if terms.are_of_file {
                (terms.passwords, terms.are_of_file) = (None, false);
            }
            terms.assertions = Arc::new(assertions);
        });
    }

    /// Lets peers call for other users (identity assertion) as `rules` say. Does nothing where
    /// `csi_users` is `none`.
    pub fn set_assertions(&self, rules: AssertionRules) {
        if self.settings().csi_users != CsiUsers::None {
            self.server().set_users(|terms| terms.assertions = Arc::new(rules));
        }
    }

    /// Whether this server knows users, or requires them.
    #[must_use]
    pub fn has_users(&self) -> bool {
        self.server().attention.has(Wanted::Users)
    }

    /// The user that calls of this ORB are made as from now on, where servers take users of the
    /// realm `csi_realm`, which has to be set; `None`: none. For connections and references of any
    /// age, but not for references that peers handed over in requests.
    pub fn set_credentials(&self, credentials: Option<Credentials>) {
        // References that peers hand over get no password.
        self.server().attention.want(Wanted::Givers);
        self.own_user().set(credentials);
    }

    /// What the settings say of users.
    ///
    /// # Errors
    /// `INITIALIZE` (`COMPLETED_NO`) when the file of the password cannot be read or is empty.
    pub(super) fn read_users(&self) -> Result<(), SystemException> {
        let settings = self.settings();
        if settings.csi_users == CsiUsers::Required {
            self.server().attention.want(Wanted::Users);
        }
        if settings.csi_assert {
            self.server().attention.want(Wanted::Current);
        }
        let (Some(user), Some(path)) = (&settings.csi_user, &settings.csi_password_file) else {
            return Ok(());
        };
        let text = std::fs::read(path).map_err(|error| {
            unreadable(&format!("csi_password_file: `{path}` cannot be read: {error}"))
        })?;
        let line = text.split(|octet| *octet == b'\n').next().unwrap_or_default();
        let password = line.strip_suffix(b"\r").unwrap_or(line);
        if password.is_empty() {
            let what = format!("csi_password_file: the first line of `{path}` has no password");
            return Err(unreadable(&what));
        }
        let credentials = Credentials::new(user.as_str(), password);
        let credentials = credentials.map_err(|why| unreadable(&format!("csi_user: {why}")))?;
        self.set_credentials(Some(credentials));
        Ok(())
    }
}

fn unreadable(what: &str) -> SystemException {
    minor::INITIALIZE_CONFIGURATION.no(what.to_owned())
}
