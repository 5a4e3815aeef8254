//! CSIv2 on the wire: the messages of the Security Attribute Service, which say for which user a
//! request is made (CORBA 3.3 P2 §10.2).
//!
//! They travel as the data of a service context ([`SAS_CONTEXT`]): a client sends
//! [`EstablishContext`] or [`MessageInContext`], a server answers with [`CompleteEstablishContext`]
//! or [`ContextError`]. What is read borrows from the message. `gss` frames the tokens in them,
//! `gssup` is the mechanism of user name and password, `identity` says for which user. Written and
//! read by both halves of `orb/core`; every length is bounded here.

pub mod gss;
pub mod gssup;
mod identity;

pub use identity::{IdentityToken, identity_type};

use corbie_cdr::{Decoder, Encoder, Error};
use std::fmt;

/// The number of the service context (CORBA 3.3 P2 §10.2.1): `IOP::SecurityAttributeService`.
pub const SAS_CONTEXT: u32 = 15;

/// Octets of one message at most. Certificate chains are the longest tokens.
pub const MESSAGE_OCTETS_MAX: usize = 64 << 10;

/// Elements of one authorization token at most.
pub const AUTHORIZATION_ELEMENTS_MAX: usize = 64;

/// Why a context was refused: the pairs of major and minor status (CORBA 3.3 P2 §10.3.5).
pub mod status {
    /// The evidence does not hold: a wrong password, or an identity that the peer may not assert.
    pub const INVALID_EVIDENCE: (i32, i32) = (1, 1);
    /// Another mechanism than the server has.
    pub const INVALID_MECHANISM: (i32, i32) = (2, 1);
    /// The number names a context that was made with other evidence.
    pub const CONFLICTING_EVIDENCE: (i32, i32) = (3, 1);
    /// The number names no context: it is to be established anew.
    pub const NO_CONTEXT: (i32, i32) = (4, 1);
}

/// A message of the protocol (`SASContextBody`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SasMessage<'a> {
    /// From a client.
    Establish(EstablishContext<'a>),
    /// From a server.
    Complete(CompleteEstablishContext<'a>),
    /// From a server.
    Error(ContextError<'a>),
    /// From a client.
    InContext(MessageInContext),
}

/// Evidence of the user that the client calls as, and for which user it does. Its `Debug` does not
/// show the token, which may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct EstablishContext<'a> {
    /// Names the context on its connection from now on; 0: it is for this request alone.
    pub client_context_id: u64,
    /// Privileges that authorities vouch for; Corbie passes over them.
    pub authorization: Vec<AuthorizationElement<'a>>,
    /// For which user.
    pub identity: IdentityToken<'a>,
    /// As which user: a token of a GSS mechanism, as [`gss::framed`] makes it; empty for none.
    pub authentication: &'a [u8],
}

/// A part of an authorization token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthorizationElement<'a> {
    /// What the contents are.
    pub kind: u32,
    /// In the encoding of `kind`.
    pub contents: &'a [u8],
}

/// The evidence was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompleteEstablishContext<'a> {
    /// That of the [`EstablishContext`].
    pub client_context_id: u64,
    /// Whether the server keeps the context, so that [`MessageInContext`] can name it.
    pub context_stateful: bool,
    /// What the mechanism answers; empty with GSSUP.
    pub final_token: &'a [u8],
}

/// The evidence was refused, or the context is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextError<'a> {
    /// That of the message that is answered.
    pub client_context_id: u64,
    /// See [`status`].
    pub major_status: i32,
    /// See [`status`].
    pub minor_status: i32,
    /// What the mechanism says of it, [`gssup::error_token`]; mostly empty.
    pub error_token: &'a [u8],
}

/// The request belongs to a context that was established before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageInContext {
    /// That of the [`EstablishContext`].
    pub client_context_id: u64,
    /// Whether the server may forget the context after this request.
    pub discard_context: bool,
}

/// The discriminators of `SASContextBody`.
mod message_type {
    pub(super) const ESTABLISH_CONTEXT: i16 = 0;
    pub(super) const COMPLETE_ESTABLISH_CONTEXT: i16 = 1;
    pub(super) const CONTEXT_ERROR: i16 = 4;
    pub(super) const MESSAGE_IN_CONTEXT: i16 = 5;
}

/// The least that an `AuthorizationElement` takes on the wire.
const AUTHORIZATION_ELEMENT_OCTETS: usize = 8;

impl<'a> SasMessage<'a> {
    /// Reads the data of a service context.
    ///
    /// # Errors
    /// When the octets are no such message, or are more than [`MESSAGE_OCTETS_MAX`].
    pub fn decode(data: &'a [u8]) -> Result<Self, Error> {
        let mut d = Decoder::from_encapsulation(data)?;
        if data.len() > MESSAGE_OCTETS_MAX {
            return Err(d.bound_exceeded("SAS message", data.len(), MESSAGE_OCTETS_MAX));
        }
        let d = &mut d;
        Ok(match d.read_short()? {
            message_type::ESTABLISH_CONTEXT => SasMessage::Establish(EstablishContext::read(d)?),
            message_type::COMPLETE_ESTABLISH_CONTEXT => {
                SasMessage::Complete(CompleteEstablishContext {
                    client_context_id: d.read_ulonglong()?,
                    context_stateful: d.read_boolean()?,
                    final_token: d.read_octet_sequence()?,
                })
            }
            message_type::CONTEXT_ERROR => SasMessage::Error(ContextError {
                client_context_id: d.read_ulonglong()?,
                major_status: d.read_long()?,
                minor_status: d.read_long()?,
                error_token: d.read_octet_sequence()?,
            }),
            message_type::MESSAGE_IN_CONTEXT => SasMessage::InContext(MessageInContext {
                client_context_id: d.read_ulonglong()?,
                discard_context: d.read_boolean()?,
            }),
            other => return Err(d.invalid_discriminator("SASContextBody", other)),
        })
    }

    /// The data of a service context. Its length is such that what follows the service context in a
    /// message is aligned as it would be without it: arguments that were written before fit again.
    ///
    /// # Errors
    /// When it would be more than [`MESSAGE_OCTETS_MAX`].
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut e = Encoder::native();
        e.write_octet(e.order().flag());
        self.write(&mut e)?;
        if e.len() > MESSAGE_OCTETS_MAX {
            return Err(e.bound_exceeded("SAS message", e.len(), MESSAGE_OCTETS_MAX));
        }
        // Its number and length come before it: eight octets.
        let padded = e.len().next_multiple_of(8);
        let mut data = e.into_buffer();
        data.resize(padded, 0);
        Ok(data)
    }

    fn write(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        match self {
            SasMessage::Establish(establish) => establish.write(e),
            SasMessage::Complete(complete) => {
                e.write_short(message_type::COMPLETE_ESTABLISH_CONTEXT);
                e.write_ulonglong(complete.client_context_id);
                e.write_boolean(complete.context_stateful);
                e.write_octet_sequence_copied(complete.final_token)
            }
            SasMessage::Error(error) => {
                e.write_short(message_type::CONTEXT_ERROR);
                e.write_ulonglong(error.client_context_id);
                e.write_long(error.major_status);
                e.write_long(error.minor_status);
                e.write_octet_sequence_copied(error.error_token)
            }
            SasMessage::InContext(message) => {
                e.write_short(message_type::MESSAGE_IN_CONTEXT);
                e.write_ulonglong(message.client_context_id);
                e.write_boolean(message.discard_context);
                Ok(())
            }
        }
    }
}

impl fmt::Debug for EstablishContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EstablishContext")
            .field("client_context_id", &self.client_context_id)
            .field("authorization", &self.authorization)
            .field("identity", &self.identity)
            .field("authentication", &format_args!("{} octets", self.authentication.len()))
            .finish()
    }
}

impl<'a> EstablishContext<'a> {
    fn read(d: &mut Decoder<'a>) -> Result<Self, Error> {
        let client_context_id = d.read_ulonglong()?;
        let count = d.read_length(AUTHORIZATION_ELEMENT_OCTETS)?;
        if count > AUTHORIZATION_ELEMENTS_MAX {
            let most = AUTHORIZATION_ELEMENTS_MAX;
            return Err(d.bound_exceeded("AuthorizationToken", count, most));
        }
        let element = |_| {
            let kind = d.read_ulong()?;
            Ok(AuthorizationElement { kind, contents: d.read_octet_sequence()? })
        };
        let authorization = (0..count).map(element).collect::<Result<_, Error>>()?;
        let identity = IdentityToken::read(d)?;
        let authentication = d.read_octet_sequence()?;
        Ok(EstablishContext { client_context_id, authorization, identity, authentication })
    }

    fn write(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_short(message_type::ESTABLISH_CONTEXT);
        e.write_ulonglong(self.client_context_id);
        e.write_length(self.authorization.len())?;
        for element in &self.authorization {
            e.write_ulong(element.kind);
            e.write_octet_sequence_copied(element.contents)?;
        }
        self.identity.write(e)?;
        e.write_octet_sequence_copied(self.authentication)
    }
}
