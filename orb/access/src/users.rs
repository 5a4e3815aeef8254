//! Users and how their passwords are checked: by what the application brings along, or by the table
//! `[users]` of the access file, which has hashes of Argon2.
//!
//! A check takes long on purpose. `orb/core` makes it on a thread of its own, at a bounded rate,
//! and remembers the outcome.

#[cfg(feature = "file")]
pub use hashed::{HashError, Users, hash_password};

/// Says whether a password is that of a user.
pub trait CheckPassword: Send + Sync {
    /// Whether `password` is that of `user`. May take long: no thread that reads from clients
    /// calls it. The answer is remembered for a minute.
    fn check(&self, user: &str, password: &[u8]) -> bool;
}

impl<F: Fn(&str, &[u8]) -> bool + Send + Sync> CheckPassword for F {
    fn check(&self, user: &str, password: &[u8]) -> bool {
        self(user, password)
    }
}

#[cfg(feature = "file")]
mod hashed {
    use super::CheckPassword;
    use argon2::Argon2;
    use argon2::password_hash::phc::PasswordHash;
    use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
    use std::collections::HashMap;
    use std::fmt;

    /// Users with the hashes of their passwords.
    #[derive(Clone, Default, PartialEq, Eq)]
    pub struct Users(HashMap<String, String>);

    impl fmt::Debug for Users {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_set().entries(self.0.keys()).finish()
        }
    }

    /// Why a password cannot be hashed, or why a text is no hash.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HashError(String);

    impl fmt::Display for HashError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl std::error::Error for HashError {}

    /// The hash of `password` with a salt of its own, as the table `[users]` has it: Argon2id with
    /// 19 MiB, two passes, one lane.
    ///
    /// # Errors
    /// When the system has no random numbers, or the password has more than 1024 octets.
    pub fn hash_password(password: &[u8]) -> Result<String, HashError> {
        if password.len() > PASSWORD_OCTETS_MAX {
            return Err(HashError("a password has at most 1024 octets".to_owned()));
        }
        let hash = Argon2::default().hash_password(password);
        let hash: PasswordHash = hash.map_err(|error| HashError(error.to_string()))?;
        Ok(hash.to_string())
    }

    /// Octets of a password at most: as CSIv2 carries it (`corbie_types::csi::gssup`).
    const PASSWORD_OCTETS_MAX: usize = corbie_types::csi::gssup::NAME_OCTETS_MAX;

    /// Memory of one check at most, in KiB: a mistake in the file is not to use up the machine.
    const MEMORY_MAX: u32 = 1 << 20;
    /// Passes of one check at most.
    const PASSES_MAX: u32 = 100;

    impl Users {
        /// Without any.
        #[must_use]
        pub fn none() -> Self {
            Users::default()
        }

        /// Adds a user with the hash of the password in the PHC form: `$argon2id$v=19$m=…`.
        ///
        /// # Errors
        /// When it is no such hash, or one check would take more than a GiB or a hundred passes.
        pub fn user(mut self, name: &str, hash: &str) -> Result<Self, HashError> {
            let wrong = |why: &str| Err(HashError(why.to_owned()));
            let parsed = match PasswordHash::new(hash) {
                Ok(parsed) if parsed.algorithm.as_str().starts_with("argon2") => parsed,
                Ok(_) => return wrong("the hash is of another kind than Argon2"),
                Err(error) => return wrong(&format!("this is no hash of a password: {error}")),
            };
            let Ok(parameters) = argon2::Params::try_from(&parsed) else {
                return wrong("the hash has parameters that Argon2 does not have");
            };
            if parameters.m_cost() > MEMORY_MAX || parameters.t_cost() > PASSES_MAX {
                return wrong("the hash takes more than 1 GiB or 100 passes to check");
            }
            if parsed.hash.is_none() || parsed.salt.is_none() {
                return wrong("the hash lacks its salt or its value");
            }
            self.0.insert(name.to_owned(), hash.to_owned());
            Ok(self)
        }

        /// Whether there are none.
        #[must_use]
        pub fn is_empty(&self) -> bool {
            self.0.is_empty()
        }
    }

    impl CheckPassword for Users {
        /// Takes as long for a user that there is not.
        fn check(&self, user: &str, password: &[u8]) -> bool {
            let (hash, is_user) = match self.0.get(user) {
                Some(hash) => (Some(hash), true),
                None => (self.0.values().next(), false),
            };
            let is_right = hash
                .and_then(|hash| PasswordHash::new(hash).ok())
                .is_some_and(|hash| Argon2::default().verify_password(password, &hash).is_ok());
            is_right && is_user
        }
    }
}
