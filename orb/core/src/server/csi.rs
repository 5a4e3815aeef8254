//! For which user a request is made: the server half of CSIv2 (CORBA 3.3 P2 §10.2, §10.3).
//!
//! `admission` asks for every request that came over a connection, once the ORB knows users or
//! requires them. The user belongs to the request: [`Caller`] travels with it, rules of access are
//! asked for it, and a `Current` tells of it. A password that is not known yet is checked by
//! another thread (`checks`) while the request waits. `sessions` keeps what a connection has
//! established. Which parts are supported stands in references (`profile`).

mod caller;
mod checks;
mod sessions;

pub(crate) use caller::Caller;
pub(crate) use sessions::Sessions;

use crate::Orb;
use crate::portable_interceptor::ServiceContext;
use crate::profile::security::realm_of_server;
use crate::server::{ServerConnection, ServerRequest};
use checks::{Check, Checks, Fingerprint, NotChecked};
use corbie_access::{AssertionRules, CheckPassword};
use corbie_settings::CsiUsers;
use corbie_threads::lock::{RankedRw, rank};
use corbie_transport::{PeerIdentity, own_user};
use corbie_types::csi::gssup::{self, InitialContextToken, RefusedToken, ScopedName};
use corbie_types::csi::{
    CompleteEstablishContext, ContextError, EstablishContext, IdentityToken, MessageInContext,
    SAS_CONTEXT, SasMessage, status,
};
use corbie_types::{Minor, SystemException, minor};
use sessions::Session;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What an ORB knows of users.
#[derive(Default)]
pub(crate) struct Csi {
    /// Grows with each change; what was accepted before one counts no more.
    generation: AtomicU64,
    terms: RankedRw<rank::Leaf, Terms>,
    checks: Checks,
}

/// What evidence is judged by.
#[derive(Clone, Default)]
pub(crate) struct Terms {
    pub(crate) passwords: Option<Arc<dyn CheckPassword>>,
    pub(crate) assertions: Arc<AssertionRules>,
    /// Whether the passwords stand in the access file.
    pub(crate) are_of_file: bool,
}

impl Csi {
    /// From now on evidence is judged by these, also over connections that are open.
    pub(crate) fn set(&self, change: impl FnOnce(&mut Terms)) {
        let mut terms = self.terms.write();
        change(&mut terms);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// What evidence is judged by, with its generation.
    pub(crate) fn terms(&self) -> (u64, Terms) {
        let terms = self.terms.read();
        (self.generation.load(Ordering::Acquire), terms.clone())
    }
}

/// Whether a request goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    Now,
    /// It waits until its password is checked, and is served again then.
    Later,
}

/// What became of evidence.
enum Judged {
    Accepted(Arc<Caller>),
    /// The password has to be checked.
    Unknown(Check),
}

/// Why evidence is not accepted.
struct Refusal {
    status: (i32, i32),
    /// What GSSUP says of it; 0: nothing.
    error_code: u32,
    minor: Minor,
    /// For the client.
    why: &'static str,
    /// The user as the client named it, for the log.
    user: String,
}

impl Refusal {
    fn of_evidence(why: &'static str, user: &[u8]) -> Self {
        Refusal {
            status: status::INVALID_EVIDENCE,
            error_code: gssup::error_code::UNSPECIFIED,
            minor: minor::NO_PERMISSION_USER,
            why,
            user: shown(user),
        }
    }

    fn with(self, status: (i32, i32), error_code: u32) -> Self {
        Refusal { status, error_code, ..self }
    }
}

/// Settles for which user `request` is made.
///
/// # Errors
/// `NO_PERMISSION` (`COMPLETED_NO`) when its evidence is not accepted, or there is none and it is
/// required, `TRANSIENT` (`COMPLETED_NO`) when too many passwords wait to be checked, `MARSHAL`
/// (`COMPLETED_NO`) when its context cannot be read.
#[cold]
pub(crate) fn settle(
    orb: &Orb,
    connection: &ServerConnection,
    request: &mut ServerRequest<'_>,
) -> Result<Settled, SystemException> {
    let sessions = connection.state().accepted.sessions(orb);
    // What waits was sent before it, perhaps by the same user.
    if sessions.queue.precedes(request) && !sessions.queue.gave(request) {
        request.note_to_admit();
        sessions.queue.hold(request)?;
        return Ok(Settled::Later);
    }
    let Some(data) = request.request_context(SAS_CONTEXT) else {
        return without_evidence(orb, request);
    };
    match SasMessage::decode(data)? {
        SasMessage::Establish(establish) => establishing(orb, connection, request, &establish),
        SasMessage::InContext(message) => in_context(orb, connection, request, message),
        SasMessage::Complete(_) | SasMessage::Error(_) => {
            let why = "its security context is a server's answer";
            let refusal = Refusal::of_evidence(why, b"");
            Err(refused(connection, request, 0, &refusal))
        }
    }
}

fn without_evidence(orb: &Orb, request: &ServerRequest<'_>) -> Result<Settled, SystemException> {
    if orb.settings().csi_users != CsiUsers::Required {
        return Ok(Settled::Now);
    }
    let (peer, operation) = (request.peer(), request.operation());
    tracing::warn!(
        %peer,
        operation,
        setting = "csi_users",
        "a call was refused: it names no user"
    );
    Err(minor::NO_PERMISSION_USER_NEEDED.no(format!(
        "this server takes calls of users only, and {operation} came without one: set csi_user \
         (-ORBCsiUser) and csi_password_file of the client"
    )))
}

fn in_context(
    orb: &Orb,
    connection: &ServerConnection,
    request: &mut ServerRequest<'_>,
    message: MessageInContext,
) -> Result<Settled, SystemException> {
    let sessions = connection.state().accepted.sessions(orb);
    let (id, generation) = (message.client_context_id, orb.server().csi.terms().0);
    let Some(accepted) = sessions.context(id, generation) else {
        let why = "its security context is not known here (any more)";
        let refusal = Refusal::of_evidence(why, b"").with(status::NO_CONTEXT, 0);
        return Err(refused(connection, request, id, &refusal));
    };
    if message.discard_context {
        sessions.discard_context(id);
    }
    request.set_caller(accepted.caller);
    Ok(Settled::Now)
}

fn establishing(
    orb: &Orb,
    connection: &ServerConnection,
    request: &mut ServerRequest<'_>,
    establish: &EstablishContext<'_>,
) -> Result<Settled, SystemException> {
    if establish.authentication.is_empty() && establish.identity == IdentityToken::Absent {
        let settled = without_evidence(orb, request)?;
        complete(request, establish.client_context_id, false);
        return Ok(settled);
    }
    let sessions = connection.state().accepted.sessions(orb);
    let (generation, terms) = orb.server().csi.terms();
    let (id, fingerprint) = (establish.client_context_id, fingerprint(establish));
    let is_stateful = id != 0 && orb.settings().csi_stateful;
    let known = if is_stateful { sessions.context(id, generation) } else { None };
    let caller = match known {
        Some(context) if context.fingerprint == fingerprint => context.caller,
        Some(_) => {
            let why = "its security context has the number of another one";
            let refusal = Refusal::of_evidence(why, b"").with(status::CONFLICTING_EVIDENCE, 0);
            return Err(refused(connection, request, id, &refusal));
        }
        None => match sessions.token(fingerprint, generation) {
            Some(token) => token.caller,
            None => match judge(orb, connection, (generation, &terms), establish) {
                Ok(Judged::Accepted(caller)) => caller,
                Ok(Judged::Unknown(check)) => return ask(orb, connection, request, check),
                Err(refusal) => return Err(refused(connection, request, id, &refusal)),
            },
        },
    };
    if orb.settings().csi_users == CsiUsers::Required && !caller.is_proven() {
        return without_evidence(orb, request);
    }
    let accepted = Session { generation, fingerprint, caller };
    if is_stateful {
        sessions.keep_context(id, accepted.clone());
    }
    request.set_caller(Arc::clone(&accepted.caller));
    sessions.keep_token(accepted);
    complete(request, id, is_stateful);
    Ok(Settled::Now)
}

/// What the peer has sent, but for the number.
fn fingerprint(establish: &EstablishContext<'_>) -> Fingerprint {
    let identity = match establish.identity {
        IdentityToken::Absent | IdentityToken::Anonymous => &[][..],
        IdentityToken::PrincipalName(data)
        | IdentityToken::CertificateChain(data)
        | IdentityToken::DistinguishedName(data)
        | IdentityToken::Other { data, .. } => data,
    };
    let kind = establish.identity.kind().to_le_bytes();
    Fingerprint::of(&[establish.authentication, &kind, identity])
}

/// Judges evidence that this connection has not brought before.
fn judge(
    orb: &Orb,
    connection: &ServerConnection,
    (generation, terms): (u64, &Terms),
    establish: &EstablishContext<'_>,
) -> Result<Judged, Refusal> {
    let mut identity = connection.link().identity();
    let realm = realm_of_server(orb.settings());
    let is_proven = !establish.authentication.is_empty();
    if !establish.authentication.is_empty() {
        let token = InitialContextToken::decode(establish.authentication);
        let token = token.map_err(|why| unreadable(&why))?;
        let Some(checker) = &terms.passwords else {
            let refusal = Refusal::of_evidence("this server has no users", token.username);
            return Err(refusal.with(status::INVALID_MECHANISM, 0));
        };
        if connection.link().is_plain() && !orb.settings().csi_plain_passwords {
            let why = "the password came in plain text: change it, and use TLS (or set \
                       csi_plain_passwords here)";
            return Err(Refusal {
                minor: minor::NO_PERMISSION_PASSWORD_PLAIN,
                ..Refusal::of_evidence(why, token.username)
            });
        }
        let user = user_of(&token, realm)?;
        let evidence = Fingerprint::of(&[user.as_bytes(), token.password]);
        match orb.server().csi.checks.verdict(generation, evidence) {
            Some(true) => identity.user = Some(user.as_str().into()),
            Some(false) => {
                let why = "the user name or the password is wrong";
                return Err(Refusal::of_evidence(why, token.username));
            }
            None => {
                let (checker, password) = (Arc::clone(checker), token.password.to_vec());
                let fingerprint = evidence;
                let check = Check { generation, fingerprint, checker, user, password };
                return Ok(Judged::Unknown(check));
            }
        }
    }
    let caller = asserted(&terms.assertions, (identity, is_proven), realm, establish.identity);
    caller.map(Judged::Accepted)
}

fn unreadable(why: &RefusedToken) -> Refusal {
    match why {
        RefusedToken::OtherMechanism => {
            let why = "this server takes user names and passwords (GSSUP) only";
            Refusal::of_evidence(why, b"").with(status::INVALID_MECHANISM, 0)
        }
        RefusedToken::Malformed(detail) => {
            Refusal::of_evidence("its token cannot be read", detail.as_bytes())
        }
    }
}

/// The name of the user in the table of this server.
fn user_of(token: &InitialContextToken<'_>, realm: &str) -> Result<String, Refusal> {
    if !token.target_name.is_empty() && gssup::read_exported_name(token.target_name) != Ok(realm) {
        let refusal =
            Refusal::of_evidence("the password is for another security domain", token.username);
        return Err(refusal.with(status::INVALID_EVIDENCE, gssup::error_code::BAD_TARGET));
    }
    let Ok(text) = std::str::from_utf8(token.username) else {
        return Err(Refusal::of_evidence("the user name is no UTF-8", token.username));
    };
    Ok(without_scope(text, realm))
}

/// `alice@realm` is alice, where the realm is this server's.
fn without_scope(text: &str, realm: &str) -> String {
    let scoped = ScopedName::parse(text);
    match scoped.scope.as_deref() {
        Some(scope) if scope == realm => scoped.name.into_owned(),
        None => scoped.name.into_owned(),
        Some(_) => text.to_owned(),
    }
}

/// For which user the peer `identity` calls, which `is_proven` to be its own user.
fn asserted(
    rules: &AssertionRules,
    (mut identity, is_proven): (PeerIdentity, bool),
    realm: &str,
    token: IdentityToken<'_>,
) -> Result<Arc<Caller>, Refusal> {
    let user = match token {
        IdentityToken::Absent => return Ok(Caller::new(identity, is_proven)),
        IdentityToken::Anonymous => None,
        IdentityToken::PrincipalName(octets) => {
            let text = gssup::read_exported_name(octets).map_err(|why| unreadable(&why))?;
            Some(without_scope(text, realm))
        }
        _ => {
            let why = "it is made for an identity of a kind that this server does not take";
            return Err(Refusal::of_evidence(why, b""));
        }
    };
    if !rules.permit(&identity, user.as_deref(), own_user()) {
        let why = "no rule of assertion lets this peer call for that user";
        return Err(Refusal::of_evidence(why, user.unwrap_or_default().as_bytes()));
    }
    let asserted_by = identity.user.take();
    identity.user = user.map(Into::into);
    tracing::info!(peer = %identity, ?asserted_by, "a peer calls for a user");
    Ok(Caller::new(identity, is_proven))
}

/// Puts `request` aside until its password is checked.
fn ask(
    orb: &Orb,
    connection: &ServerConnection,
    request: &mut ServerRequest<'_>,
    check: Check,
) -> Result<Settled, SystemException> {
    let (checks, accepted) = (&orb.server().csi.checks, &connection.state().accepted);
    let is_new = !checks.is_pending(check.generation, check.fingerprint);
    if is_new && !accepted.may_check_password() {
        let peer = request.peer();
        tracing::warn!(%peer, setting = "csi_checks_per_peer", "too many passwords of a peer");
        return Err(minor::TRANSIENT_OVERLOAD.no(
            "more passwords of this peer were to be checked than csi_checks_per_peer of this \
             server lets in: call again in a second",
        ));
    }
    let queue = &accepted.sessions(orb).queue;
    // Released when the password is known, which may be at once: so it is closed before.
    queue.keep();
    request.note_to_admit();
    queue.hold(request).inspect_err(|_| queue.release())?;
    if let Err(why) = checks.ask(orb, check, queue) {
        let why = match why {
            NotChecked::Full => "too many passwords wait to be checked".to_owned(),
            NotChecked::NoThread(error) => format!("no thread can check passwords: {error}"),
        };
        tracing::warn!(why, "requests with passwords are refused");
        queue.refuse(&minor::TRANSIENT_OVERLOAD.no(format!("{why}: call again later")));
        // What another thread puts in now does not wait for what will not come.
        queue.release();
    }
    Ok(Settled::Later)
}

/// Tells the client that its evidence was accepted.
fn complete(request: &ServerRequest<'_>, id: u64, is_stateful: bool) {
    if !request.response_expected() {
        return;
    }
    let message = SasMessage::Complete(CompleteEstablishContext {
        client_context_id: id,
        context_stateful: is_stateful,
        final_token: &[],
    });
    answer_with(request, &message);
}

/// Writes the refusal down, and tells the client in a context of the reply.
fn refused(
    connection: &ServerConnection,
    request: &ServerRequest<'_>,
    client_context_id: u64,
    refusal: &Refusal,
) -> SystemException {
    let Refusal { status: (major_status, minor_status), error_code, minor, why, user } = refusal;
    let (peer, operation) = (connection.link().identity(), request.operation());
    let operation = shown(operation.as_bytes());
    if (*major_status, *minor_status) == status::NO_CONTEXT {
        tracing::debug!(%peer, operation, why, "a security context was refused");
    } else {
        tracing::warn!(%peer, operation, user, why, "a call was refused for its user");
    }
    let error_token = if *error_code == 0 { Vec::new() } else { gssup::error_token(*error_code) };
    if request.response_expected() {
        let message = SasMessage::Error(ContextError {
            client_context_id,
            major_status: *major_status,
            minor_status: *minor_status,
            error_token: &error_token,
        });
        answer_with(request, &message);
    }
    minor.no(format!("the call of {operation} was refused: {why}"))
}

fn answer_with(request: &ServerRequest<'_>, message: &SasMessage<'_>) {
    match message.encode() {
        Ok(data) => request.set_reply_context(ServiceContext::new(SAS_CONTEXT, data)),
        Err(error) => tracing::error!(%error, "an answer of CSIv2 cannot be written"),
    }
}

/// What a log shows of a name that a peer chose.
fn shown(octets: &[u8]) -> String {
    octets.iter().take(SHOWN_OCTETS).copied().collect::<Vec<_>>().escape_ascii().to_string()
}

/// A refused call costs no multiple of its octets.
const SHOWN_OCTETS: usize = 128;
