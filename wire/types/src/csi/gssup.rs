//! GSSUP, the mechanism of user name and password (CORBA 3.3 P2 §10.2.4.2, §10.9.4): its tokens,
//! in the frame of GSS-API, and its names, which may have a scope.

use super::gss::{self, ExportedName, GSSUP, MalformedToken, SCOPED_USERNAME};
use corbie_cdr::{Decoder, Encoder, Error};
use std::borrow::Cow;
use std::fmt;

/// Octets of a user name, of a password and of a realm at most.
pub const NAME_OCTETS_MAX: usize = 1024;

/// Why the evidence was refused (`GSSUP::ErrorCode`).
pub mod error_code {
    /// No reason is given.
    pub const UNSPECIFIED: u32 = 1;
    /// There is no such user.
    pub const NO_USER: u32 = 2;
    /// The password is wrong.
    pub const BAD_PASSWORD: u32 = 3;
    /// The token is for another security domain.
    pub const BAD_TARGET: u32 = 4;
}

/// User name and password (`GSSUP::InitialContextToken`). Its `Debug` does not show the password,
/// and it has no `==`, whose time would tell how much of a password is right.
#[derive(Clone, Copy)]
pub struct InitialContextToken<'a> {
    /// In UTF-8; may have a scope, see [`ScopedName`].
    pub username: &'a [u8],
    /// In UTF-8.
    pub password: &'a [u8],
    /// The security domain that both are of, as an exported name; may be empty.
    pub target_name: &'a [u8],
}

impl fmt::Debug for InitialContextToken<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("InitialContextToken");
        shown.field("username", &self.username.escape_ascii().to_string());
        shown.field("target_name", &self.target_name.escape_ascii().to_string());
        shown.finish_non_exhaustive()
    }
}

/// Why a token is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedToken {
    /// It is of another mechanism.
    OtherMechanism,
    /// It cannot be read; why not.
    Malformed(String),
}

impl From<MalformedToken> for RefusedToken {
    fn from(why: MalformedToken) -> Self {
        RefusedToken::Malformed(why.to_string())
    }
}

impl From<Error> for RefusedToken {
    fn from(why: Error) -> Self {
        RefusedToken::Malformed(why.to_string())
    }
}

impl<'a> InitialContextToken<'a> {
    /// The token in its frame, as [`EstablishContext`](super::EstablishContext) has it.
    ///
    /// # Errors
    /// When a part is longer than [`NAME_OCTETS_MAX`].
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut e = Encoder::native();
        e.write_octet(e.order().flag());
        for (what, part) in self.parts() {
            if part.len() > NAME_OCTETS_MAX {
                return Err(e.bound_exceeded(what, part.len(), NAME_OCTETS_MAX));
            }
            e.write_octet_sequence_copied(part)?;
        }
        Ok(gss::framed(GSSUP, &e.into_buffer()))
    }

    fn parts(&self) -> [(&'static str, &'a [u8]); 3] {
        let InitialContextToken { username, password, target_name } = *self;
        [("user name", username), ("password", password), ("target name", target_name)]
    }

    /// Reads a token in its frame.
    ///
    /// # Errors
    /// [`RefusedToken`].
    pub fn decode(token: &'a [u8]) -> Result<Self, RefusedToken> {
        let (mechanism, inner) = gss::unframed(token)?;
        if mechanism != GSSUP {
            return Err(RefusedToken::OtherMechanism);
        }
        let mut d = Decoder::from_encapsulation(inner)?;
        let read = InitialContextToken {
            username: d.read_octet_sequence()?,
            password: d.read_octet_sequence()?,
            target_name: d.read_octet_sequence()?,
        };
        for (what, part) in read.parts() {
            if part.len() > NAME_OCTETS_MAX {
                return Err(d.bound_exceeded(what, part.len(), NAME_OCTETS_MAX).into());
            }
        }
        Ok(read)
    }
}

/// What a server answers to a token that it refuses, in its frame.
#[must_use]
pub fn error_token(code: u32) -> Vec<u8> {
    let mut e = Encoder::native();
    e.write_octet(e.order().flag());
    e.write_ulong(code);
    gss::framed(GSSUP, &e.into_buffer())
}

/// The code in an error token.
///
/// # Errors
/// [`RefusedToken`].
pub fn read_error_token(token: &[u8]) -> Result<u32, RefusedToken> {
    let (mechanism, inner) = gss::unframed(token)?;
    if mechanism != GSSUP {
        return Err(RefusedToken::OtherMechanism);
    }
    Ok(Decoder::from_encapsulation(inner)?.read_ulong()?)
}

/// The exported name of a security domain or user.
#[must_use]
pub fn exported_name(name: &str) -> Option<Vec<u8>> {
    (name.len() <= NAME_OCTETS_MAX)
        .then(|| ExportedName { mechanism: GSSUP, name: name.as_bytes() }.encode())?
}

/// The text of an exported name of a security domain or user.
///
/// # Errors
/// [`RefusedToken`]; also when it is longer than [`NAME_OCTETS_MAX`] or no UTF-8.
pub fn read_exported_name(octets: &[u8]) -> Result<&str, RefusedToken> {
    let exported = ExportedName::decode(octets)?;
    if exported.mechanism != GSSUP && exported.mechanism != SCOPED_USERNAME {
        return Err(RefusedToken::OtherMechanism);
    }
    if exported.name.len() > NAME_OCTETS_MAX {
        return Err(MalformedToken("a name has more than 1024 octets").into());
    }
    let text = std::str::from_utf8(exported.name);
    text.map_err(|_| MalformedToken("a name is no UTF-8").into())
}

/// A user name that may have a scope, `name@scope`. In the name and the scope, `@` and `\` stand
/// behind a `\` (CORBA 3.3 P2 §10.2.5).
///
/// ```
/// # use corbie_types::csi::gssup::ScopedName;
/// let read = ScopedName::parse(r"alice\@home@bank");
/// assert_eq!((&*read.name, read.scope.as_deref()), ("alice@home", Some("bank")));
/// assert_eq!(read.to_string(), r"alice\@home@bank");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedName<'a> {
    /// Of the user, in its scope; empty: the scope itself is meant.
    pub name: Cow<'a, str>,
    /// The security domain.
    pub scope: Option<Cow<'a, str>>,
}

impl<'a> ScopedName<'a> {
    /// Splits a name at its first `@` that no `\` stands before.
    #[must_use]
    pub fn parse(text: &'a str) -> Self {
        let mut is_escaped = false;
        let at = text.char_indices().find(|(_, c)| {
            let is_escape = *c == '\\' && !is_escaped;
            let is_at = *c == '@' && !is_escaped;
            is_escaped = is_escape;
            is_at
        });
        let (name, scope) = match at {
            Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
            None => (text, None),
        };
        ScopedName { name: unescaped(name), scope: scope.map(unescaped) }
    }
}

impl fmt::Display for ScopedName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.name))?;
        match &self.scope {
            Some(scope) => write!(f, "@{}", escaped(scope)),
            None => Ok(()),
        }
    }
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut characters = text.chars();
    let mut plain = String::with_capacity(text.len());
    while let Some(c) = characters.next() {
        // One at the end stands for itself.
        plain.push(if c == '\\' { characters.next().unwrap_or(c) } else { c });
    }
    Cow::Owned(plain)
}

fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['\\', '@']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\\', r"\\").replace('@', r"\@"))
}
