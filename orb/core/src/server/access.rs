//! Whether a peer may call what it asks for: where the access rules of an ORB are enforced.
//!
//! `admission` asks for every request that came over a connection, before interceptors, before it
//! is held and before its servant is looked for; `dispatch` for every LocateRequest. So it is the
//! same for servants of generated skeletons, DSI and AMH. What rules say of a peer is settled when
//! its connection sends the first request, of a user when its evidence is accepted, and after
//! [`Access::set`] anew: a call compares names and allocates nothing. Calls of this process to its
//! own objects are the application's, and are not asked for.

use crate::Orb;
use crate::interface::FromPeer;
use crate::server::{Caller, Servant, Server, ServerConnection, ServerRequest};
use corbie_access::{AccessRules, CalledObject, Pattern, PeerRules};
use corbie_threads::lock::{Ranked, RankedRw, rank};
use corbie_transport::{PeerIdentity, own_user};
use corbie_types::{SystemException, minor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The rules of an ORB.
#[derive(Default)]
pub(crate) struct Access {
    /// How often rules were set; 0: there are none, and every call passes.
    generation: AtomicU64,
    rules: RankedRw<rank::Leaf, Arc<AccessRules>>,
}

impl Access {
    /// Whether there are rules.
    #[inline]
    pub(crate) fn has_rules(&self) -> bool {
        self.generation.load(Ordering::Relaxed) != 0
    }

    /// From now on these rules hold, also for connections that are open.
    pub(crate) fn set(&self, rules: AccessRules) {
        let mut current = self.rules.write();
        *current = Arc::new(rules);
        self.generation.fetch_add(1, Ordering::Release);
    }
}

/// What is known of the peer of a connection.
#[derive(Default)]
pub(crate) struct OfConnection {
    rules: RulesOf,
    identity: OnceLock<Arc<PeerIdentity>>,
}

impl OfConnection {
    /// Known once a request has come.
    fn identity(&self, connection: &ServerConnection) -> &Arc<PeerIdentity> {
        self.identity.get_or_init(|| Arc::new(connection.link().identity()))
    }

    fn rules(&self, access: &Access, connection: &ServerConnection) -> Arc<PeerRules> {
        self.rules.get(access, self.identity(connection))
    }
}

/// What rules say of a peer, or of a user, with the generation that it is of.
#[derive(Default)]
pub(crate) struct RulesOf(Ranked<rank::Leaf, Option<(u64, Arc<PeerRules>)>>);

impl RulesOf {
    /// What they say now of `peer`, which is always the same.
    pub(crate) fn get(&self, access: &Access, peer: &PeerIdentity) -> Arc<PeerRules> {
        let generation = access.generation.load(Ordering::Acquire);
        if let Some((of, rules)) = &*self.0.lock()
            && *of == generation
        {
            return Arc::clone(rules);
        }
        let all = Arc::clone(&access.rules.read());
        let rules = Arc::new(all.for_peer(peer, own_user()));
        *self.0.lock() = Some((generation, Arc::clone(&rules)));
        rules
    }
}

/// What messages of `connection` are read with: references in them come from its peer.
#[cold]
pub(crate) fn from_peer(orb: &Orb, connection: &ServerConnection) -> FromPeer {
    let identity = connection.state().accepted.access.identity(connection);
    FromPeer::new(orb, Arc::clone(identity))
}

/// Whether `request` may be served.
///
/// # Errors
/// `NO_PERMISSION` (`COMPLETED_NO`) when the rules do not let its peer make the call.
pub(crate) fn check(
    orb: &Orb,
    connection: &ServerConnection,
    request: &ServerRequest<'_>,
) -> Result<(), SystemException> {
    check_call(orb, connection, request.caller(), (request.object_key(), request.operation()))
}

/// Whether the peer of `connection` may learn whether the object with this key is here: when it
/// may ask the object itself.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_question(
    orb: &Orb,
    connection: &ServerConnection,
    object_key: &[u8],
) -> Result<(), SystemException> {
    check_call(orb, connection, None, (object_key, "_non_existent"))
}

fn check_call(
    orb: &Orb,
    connection: &ServerConnection,
    caller: Option<&Arc<Caller>>,
    (object_key, operation): (&[u8], &str),
) -> Result<(), SystemException> {
    let server = orb.server();
    if !server.access.has_rules() {
        return Ok(());
    }
    let rules = match caller {
        None => connection.state().accepted.access.rules(&server.access, connection),
        Some(caller) => caller.rules(&server.access),
    };
    let called = Called { server, object_key };
    if rules.permit(operation, &called) {
        return Ok(());
    }
    let peer = match caller {
        None => connection.state().accepted.access.identity(connection),
        Some(caller) => caller.identity(),
    };
    Err(refused(peer, &called, operation))
}

#[cold]
fn refused(peer: &PeerIdentity, called: &Called<'_>, operation: &str) -> SystemException {
    let object = called.name();
    let operation = shortened(operation);
    tracing::warn!(
        %peer,
        operation,
        object,
        setting = "access_file",
        "a call was refused: no access rule lets this peer make it"
    );
    minor::NO_PERMISSION_ACCESS.no(format!(
        "the access rules of this server do not let {peer} call {operation} of this object"
    ))
}

/// The object that is called.
struct Called<'c> {
    server: &'c Server,
    object_key: &'c [u8],
}

impl Called<'_> {
    /// For people: the POAs on the way to it and its id, or its key.
    fn name(&self) -> String {
        let mut name = None;
        if let Some(adapter) = self.server.adapter.get() {
            adapter.name(self.object_key, &mut |path, id| {
                name = Some(escaped(octets(path, id)));
            });
        }
        name.unwrap_or_else(|| escaped(self.object_key.iter().copied()))
    }
}

/// What a log and an exception show of a name or key: a refused call costs no multiple of its
/// octets.
const SHOWN_OCTETS: usize = 128;

fn escaped(octets: impl Iterator<Item = u8>) -> String {
    let shown: Vec<u8> = octets.take(SHOWN_OCTETS).collect();
    shown.escape_ascii().to_string()
}

fn shortened(operation: &str) -> &str {
    &operation[..operation.floor_char_boundary(SHOWN_OCTETS)]
}

/// The name of an object in its POA: `POA/POA/ID`.
fn octets<'n>(path: &'n [u8], id: &'n [u8]) -> impl Iterator<Item = u8> + Clone + 'n {
    path.iter().map(|octet| if *octet == 0 { b'/' } else { *octet }).chain(id.iter().copied())
}

impl CalledObject for Called<'_> {
    fn has_name(&self, pattern: &Pattern) -> bool {
        let as_key = || pattern.matches(self.object_key.iter().copied());
        let Some(adapter) = self.server.adapter.get() else { return as_key() };
        let mut is_name = None;
        adapter.name(self.object_key, &mut |path, id| {
            is_name = Some(pattern.matches(octets(path, id)));
        });
        let is_ours = |key: &[u8]| adapter.are_of_one_object(key, self.object_key);
        // A key of the adapter's has octets that the peer may choose, beside path and id.
        is_name.unwrap_or_else(as_key)
            || self
                .server
                .object_keys
                .any(|name, key| pattern.matches(name.iter().copied()) && is_ours(key))
    }

    fn has_interface(&self, pattern: &Pattern) -> Option<bool> {
        let adapter = self.server.adapter.get()?;
        let servant = adapter.servant(self.object_key).or_else(|| {
            let bound = self.server.object_keys.key_of(self.object_key)?;
            adapter.servant(&bound)
        })?;
        // The application's own code may answer, and panic: then it is not known.
        catch_unwind(AssertUnwindSafe(|| serves(&*servant, pattern))).ok()
    }
}

fn serves(servant: &dyn Servant, pattern: &Pattern) -> bool {
    let mut ids = servant._interfaces().iter();
    // One that says no interface can still answer, as servants without generated code do.
    let is_a = || pattern.exact().is_some_and(|id| !servant._forwards() && servant._is_a(id));
    ids.any(|id| pattern.matches(id.bytes()))
        || pattern.matches(servant._repository_id().bytes())
        || is_a()
}
