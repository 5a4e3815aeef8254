//! As which user, and for which user, calls are made: the client half of CSIv2 (CORBA 3.3 P2 §10.2,
//! §10.3).
//!
//! What the server of a reference takes is settled when it is bound ([`UsersWanted`]). A request to
//! such a server carries the user name and the password of this ORB, or, once the server keeps a
//! context of the connection, its number. A server that has forgotten a context says so, and the
//! request is sent once again with the password. Where `csi_assert` says so, calls that are made
//! while a request is served name its user instead; such requests keep no context.

use crate::client::Reply;
use crate::handles::Part;
use crate::profile::security::UsersWanted;
use crate::server::{Caller, current};
use crate::{Object, Orb};
use corbie_cdr::Error;
use corbie_giop::ResponseFlags;
use corbie_threads::lock::{Ranked, RankedRw, rank};
use corbie_types::csi::gssup::{self, InitialContextToken, NAME_OCTETS_MAX, ScopedName};
use corbie_types::csi::{
    EstablishContext, IdentityToken, MessageInContext, SAS_CONTEXT, SasMessage, identity_type,
    status,
};
use corbie_types::{SystemException, minor};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A user name and its password, as which an ORB calls (`Orb::set_credentials`).
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    password: Vec<u8>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Credentials {
    /// The user `name` with this password.
    ///
    /// # Errors
    /// `BAD_PARAM` (`COMPLETED_NO`) when one of them is empty or has more than 1024 octets.
    pub fn new(
        name: impl Into<String>,
        password: impl Into<Vec<u8>>,
    ) -> Result<Self, SystemException> {
        let (user, password) = (name.into(), password.into());
        let is_wrong = |octets: usize| octets == 0 || octets > NAME_OCTETS_MAX;
        if is_wrong(user.len()) || is_wrong(password.len()) {
            return Err(minor::BAD_PARAM_ARGUMENT.no(format!(
                "a user name and a password have 1 to {NAME_OCTETS_MAX} octets each; these have {} \
                 and {}",
                user.len(),
                password.len()
            )));
        }
        Ok(Credentials { user, password })
    }
}

/// The user that an ORB calls as.
#[derive(Default)]
pub(crate) struct OwnUser {
    credentials: RankedRw<rank::Leaf, Option<Arc<Credentials>>>,
    /// Tokens that were made of the credentials, by the realm that they are for.
    tokens: Ranked<rank::Leaf, Vec<Arc<OwnToken>>>,
}

/// Evidence for one realm.
struct OwnToken {
    /// Numbers the contexts that are established with it; never 0, and never given twice.
    id: u64,
    target_name: Vec<u8>,
    evidence: Vec<u8>,
}

/// Realms whose tokens are remembered.
const TOKENS_MAX: usize = 64;

/// The number of the next token.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Part for OwnUser {}

impl Orb {
    /// The user that this ORB calls as.
    pub(crate) fn own_user(&self) -> &OwnUser {
        self.extensions().own_user.get()
    }
}

impl OwnUser {
    pub(crate) fn set(&self, credentials: Option<Credentials>) {
        *self.credentials.write() = credentials.map(Arc::new);
        let forgotten = std::mem::take(&mut *self.tokens.lock());
        drop(forgotten);
    }

    /// The token for the realm `target_name`; `None`: there are no credentials.
    ///
    /// # Errors
    /// When it cannot be written.
    fn token(&self, target_name: &[u8]) -> Result<Option<Arc<OwnToken>>, Error> {
        let credentials = self.credentials.read().clone();
        let Some(credentials) = credentials else { return Ok(None) };
        let mut tokens = self.tokens.lock();
        if let Some(known) = tokens.iter().find(|token| token.target_name == target_name) {
            return Ok(Some(Arc::clone(known)));
        }
        let token = InitialContextToken {
            username: credentials.user.as_bytes(),
            password: &credentials.password,
            target_name,
        };
        let token = Arc::new(OwnToken {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            target_name: target_name.to_vec(),
            evidence: token.encode()?,
        });
        if tokens.len() >= TOKENS_MAX {
            tokens.remove(0);
        }
        tokens.push(Arc::clone(&token));
        Ok(Some(token))
    }
}

/// The user of the request that was being served when a call was made.
pub(crate) type Behalf = Option<Option<Arc<Caller>>>;

/// For which user a call of this thread is made, where `csi_assert` says that it matters.
pub(crate) fn behalf(orb: &Orb) -> Behalf {
    if orb.settings().csi_assert { current::caller() } else { None }
}

/// The context of one request.
pub(crate) struct Evidence {
    /// Its octets.
    pub(crate) data: Vec<u8>,
    names: Names,
}

/// How a request says as which user it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Not at all.
    Nothing,
    /// With all evidence.
    Evidence,
    /// By the number of a context.
    Context,
}

impl Evidence {
    /// How a request with this says as which user it is made.
    pub(crate) fn names(evidence: Option<&Self>) -> Names {
        evidence.map_or(Names::Nothing, |evidence| evidence.names)
    }
}

/// What a request to `object` says of users to a server that takes what `wanted` says.
/// `established`: the number of the context that the server keeps of the connection; 0: none.
///
/// # Errors
/// `NO_PERMISSION` (`COMPLETED_NO`) when the server requires a user, and there is none, or its
/// password would travel in plain text.
#[cold]
pub(crate) fn evidence(
    object: &Object,
    wanted: &UsersWanted,
    behalf: &Behalf,
    established: u64,
    response: ResponseFlags,
) -> Result<Option<Evidence>, SystemException> {
    let orb = object.orb();
    let token = match &wanted.passwords {
        Some(realm) if is_trusted(object, realm) => orb.own_user().token(realm)?,
        _ => None,
    };
    let token = match token {
        Some(_) if !wanted.is_safe && !orb.settings().csi_plain_passwords => {
            return Err(minor::NO_PERMISSION_PASSWORD_PLAIN.no(
                "the server takes passwords in plain text, and this client does not send any so: \
                 let the server listen on ssliop:// (and set tls_trust here), or set \
                 csi_plain_passwords",
            ));
        }
        None if wanted.is_required => return Err(user_needed(wanted)),
        token => token,
    };
    let name = asserted(wanted, behalf);
    let identity = match &name {
        None => IdentityToken::Absent,
        Some(None) => IdentityToken::Anonymous,
        Some(Some(name)) => IdentityToken::PrincipalName(name),
    };
    let Some(token) = token else {
        return match identity {
            IdentityToken::Absent => Ok(None),
            identity => establish(0, identity, &[]).map(Some),
        };
    };
    // A context is of this ORB's own user; the answer to a oneway never comes.
    let keeps = wanted.stateful
        && identity == IdentityToken::Absent
        && response == ResponseFlags::WithTarget;
    if keeps && established == token.id {
        let message = MessageInContext { client_context_id: token.id, discard_context: false };
        let data = SasMessage::InContext(message).encode()?;
        return Ok(Some(Evidence { data, names: Names::Context }));
    }
    establish(if keeps { token.id } else { 0 }, identity, &token.evidence).map(Some)
}

/// Whether the password may go to the server of `object`, whose reference says that it is of
/// `realm`: the client's own, and no peer handed the reference over, as it could have made it up.
fn is_trusted(object: &Object, realm: &[u8]) -> bool {
    let own = &object.orb().settings().csi_realm;
    let is_own = gssup::read_exported_name(realm).is_ok_and(|realm| realm == own);
    !own.is_empty() && is_own && object.giver().is_none()
}

fn establish(
    client_context_id: u64,
    identity: IdentityToken<'_>,
    authentication: &[u8],
) -> Result<Evidence, SystemException> {
    let authorization = Vec::new();
    let establish = EstablishContext { client_context_id, authorization, identity, authentication };
    let data = SasMessage::Establish(establish).encode()?;
    Ok(Evidence { data, names: Names::Evidence })
}

/// The user that the call is made for, as far as the server takes that: `Some(None)` is one without
/// a name.
fn asserted(wanted: &UsersWanted, behalf: &Behalf) -> Option<Option<Vec<u8>>> {
    let takes = |kind: u32| wanted.identities & kind != 0;
    let user = behalf.as_ref()?.as_ref().and_then(|caller| caller.user());
    match user {
        Some(user) if takes(identity_type::PRINCIPAL_NAME) => {
            let name = ScopedName { name: (&**user).into(), scope: None };
            gssup::exported_name(&name.to_string()).map(Some)
        }
        None if takes(identity_type::ANONYMOUS) => Some(None),
        _ => None,
    }
}

fn user_needed(wanted: &UsersWanted) -> SystemException {
    let why = if wanted.passwords.is_some() {
        "set csi_user (-ORBCsiUser), csi_password_file and csi_realm, which has to be that of the \
         server; a reference that a peer handed over gets no password"
    } else {
        "by a mechanism that is not spoken here: only GSSUP is, of user names and passwords"
    };
    minor::NO_PERMISSION_USER_NEEDED
        .no(format!("the server of the reference takes calls of users only: {why}"))
}

/// What a reply says of contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// Nothing.
    Nothing,
    /// The server keeps the context of this number.
    Established(u64),
    /// It keeps none of this number (any more).
    Forgotten,
    /// It did not accept the evidence.
    Refused,
}

/// Reads what `reply` says of contexts.
#[cold]
pub(crate) fn answered(reply: &Reply) -> Answered {
    let message = reply.context(SAS_CONTEXT).map(SasMessage::decode);
    match message {
        Some(Ok(SasMessage::Complete(complete))) if complete.context_stateful => {
            Answered::Established(complete.client_context_id)
        }
        Some(Ok(SasMessage::Error(error))) => {
            match (error.major_status, error.minor_status) == status::NO_CONTEXT {
                true => Answered::Forgotten,
                false => Answered::Refused,
            }
        }
        _ => Answered::Nothing,
    }
}
