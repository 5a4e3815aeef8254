//! Repository ids (CORBA 3.3 P1 §14.7): the names of types on the wire. Parsed where people see
//! them; the ORB itself compares them as strings.

use std::fmt;

/// A repository id, split into its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RepositoryId<'a> {
    /// `IDL:omg.org/CosNaming/NamingContext:1.0`.
    Idl {
        /// Names separated by slashes, prefix first.
        name: &'a str,
        /// Version.
        version: IdlVersion,
    },
    /// `RMI:java.util.Hashtable:…:…`.
    Rmi {
        /// Everything after `RMI:`.
        rest: &'a str,
    },
    /// `DCE:700dc518-0110-11ce-ac8f-0800090b5d3e:1`.
    Dce {
        /// UUID.
        uuid: &'a str,
        /// Minor version.
        minor: u16,
    },
    /// `LOCAL:…`: means nothing outside one repository.
    Local {
        /// Everything after `LOCAL:`.
        rest: &'a str,
    },
    /// Another format.
    Other {
        /// What stands before the first colon.
        format: &'a str,
        /// What stands behind it.
        rest: &'a str,
    },
}

/// The version at the end of an `IDL:` repository id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdlVersion {
    /// Differs when types are incompatible.
    pub major: u16,
    /// Grows with compatible additions.
    pub minor: u16,
}

impl fmt::Display for IdlVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Why a text is no repository id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryIdError {
    /// Octets before the place where it goes wrong.
    pub at: usize,
    /// What is missing.
    pub needed: &'static str,
}

impl fmt::Display for RepositoryIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {} of the repository id, {} is needed", self.at + 1, self.needed)
    }
}

impl std::error::Error for RepositoryIdError {}

impl<'a> RepositoryId<'a> {
    /// Splits a repository id.
    ///
    /// # Errors
    /// When there is no format, or an `IDL:` or `DCE:` id has no version.
    pub fn parse(id: &'a str) -> Result<Self, RepositoryIdError> {
        let error = |at, needed| RepositoryIdError { at, needed };
        let Some((format, rest)) = id.split_once(':') else {
            return Err(error(id.len(), "a format such as \"IDL:\""));
        };
        let version = || rest.rsplit_once(':').ok_or(error(id.len(), "a version such as \":1.0\""));
        // The version stands at the end.
        let number = |text: &str, behind: usize| {
            let at = id.len() - behind - text.len();
            text.parse::<u16>().map_err(|_| error(at, "a version number from 0 to 65535"))
        };
        Ok(match format {
            "IDL" => {
                let (name, version) = version()?;
                let Some((major, minor)) = version.split_once('.') else {
                    return Err(error(id.len(), "a minor version such as \".0\""));
                };
                let version =
                    IdlVersion { major: number(major, minor.len() + 1)?, minor: number(minor, 0)? };
                Self::Idl { name, version }
            }
            "DCE" => {
                let (uuid, minor) = version()?;
                Self::Dce { uuid, minor: number(minor, 0)? }
            }
            "RMI" => Self::Rmi { rest },
            "LOCAL" => Self::Local { rest },
            _ => Self::Other { format, rest },
        })
    }

    /// Whether `self`, known here, can stand for `other`, asked for: the same name and major
    /// version, and a minor version that is not older (CORBA 3.3 P1 §14.7.6).
    #[must_use]
    pub fn serves(&self, other: &RepositoryId<'_>) -> bool {
        match (self, other) {
            (Self::Idl { name, version }, RepositoryId::Idl { name: asked, version: wanted }) => {
                name == asked && version.major == wanted.major && version.minor >= wanted.minor
            }
            _ => self == other,
        }
    }
}
