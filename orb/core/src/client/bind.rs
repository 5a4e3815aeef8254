//! From a reference to the places that calls can be sent to, and what `RebindPolicy` lets a call do
//! on the way there: open connections, follow forwards (CORBA Messaging §22.2.1).
//!
//! Every profile of a protocol that is spoken here, and every alternate address, gives a
//! [`Target`], in the order of `protocol_preference` and then of the reference (CORBA 3.3 P2 §9.6,
//! §9.7). Code sets and version are settled here, once per reference
//! (invariant 6 of `ARCHITECTURE.md`).

use crate::client::policies::reconciled_for;
use crate::client::protection;
use crate::connection::ConnectionPool;
use crate::egress;
use crate::handles::Part;
use crate::neighbours::Locality;
use crate::policy::{CallPolicies, RebindMode, exposed_by};
use crate::profile::security::UsersWanted;
use crate::profile::{self, Profile};
use crate::server::bidirectional::is_nowhere;
use crate::{Object, Orb};
use corbie_cdr::{ByteOrder, CodeSets, Version};
use corbie_connection::Opening;
use corbie_giop::{self as giop, AddressingDisposition, RequestTemplate};
use corbie_threads::lock::{Ranked, rank};
use corbie_transport::Endpoint;
use corbie_types::{Ior, SystemException, TaggedProfile, minor};
use std::ops::Deref;
use std::sync::atomic::{AtomicI16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Where the calls of one reference go.
pub(crate) struct Binding {
    targets: Vec<Target>,
    /// Index of the target that answered last.
    preferred: AtomicUsize,
    /// The reference that it was made of, where a server sent us on.
    ior: Option<Ior>,
    pub(crate) locality: Locality,
}

/// One address of an object.
pub(crate) struct Target {
    pub(crate) pool: Arc<ConnectionPool>,
    pub(crate) version: Version,
    /// Shared, as the template is, by the addresses of a profile.
    pub(crate) object_key: Arc<[u8]>,
    /// What requests to this target begin with, in GIOP 1.2.
    pub(crate) template: Option<RequestTemplate>,
    /// Whether a new connection begins with the CodeSets service context: the server has said
    /// which code sets it knows (CORBA 3.3 P2 §7.10.2.6).
    pub(crate) announces_code_sets: bool,
    /// What its server takes of users; `None`: nothing.
    pub(crate) users: Option<Box<UsersWanted>>,
    /// Octets of the largest message that the server takes; the largest number: not known.
    pub(crate) message_octets_max: usize,
    /// Index of the profile within the reference, for `AddressingDisposition::Reference`.
    pub(crate) profile: u32,
    /// No connection is opened to it: it is reached over one that was opened from there.
    is_only_back: bool,
    /// Place of its protocol in `protocol_preference`.
    rank: usize,
    /// How the server wants to be addressed; changed by `NEEDS_ADDRESSING_MODE`.
    addressing: AtomicI16,
    /// How many connections the pool had lost when a call with `NO_RECONNECT` was answered last,
    /// or [`NOT_BOUND`].
    losses_when_bound: AtomicU64,
}

const NOT_BOUND: u64 = u64::MAX;

impl Binding {
    /// The binding of a reference that a server sent us on to.
    pub(crate) fn forwarded_to(self, ior: Ior) -> Self {
        Binding { ior: Some(ior), ..self }
    }

    /// The reference that a server sent us on to; `None`: it is the one that is called.
    pub(crate) fn ior(&self) -> Option<&Ior> {
        self.ior.as_ref()
    }

    /// Where the targets are, in the order of the reference.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.targets.iter().map(|target| target.pool.endpoint())
    }

    /// The object's key at the target of this index.
    pub(crate) fn object_key_at(&self, target: usize) -> &[u8] {
        self.targets.get(target).map_or(&[], |target| &target.object_key)
    }

    pub(crate) fn targets(&self) -> usize {
        self.targets.len()
    }

    /// The target for the attempt number `attempt` (from 0): the preferred one, then the others.
    #[inline]
    pub(crate) fn target(&self, attempt: usize) -> &Target {
        let index = self.preferred.load(Ordering::Relaxed) + attempt;
        self.targets.get(index).unwrap_or_else(|| &self.targets[index % self.targets.len()])
    }

    /// The attempt number `attempt` led to an answer: later calls begin there.
    pub(crate) fn prefer(&self, attempt: usize) {
        if attempt != 0 {
            let first = self.preferred.load(Ordering::Relaxed);
            self.preferred.store((first + attempt) % self.targets.len(), Ordering::Relaxed);
        }
    }
}

impl Target {
    pub(crate) fn addressing(&self) -> AddressingDisposition {
        let value = self.addressing.load(Ordering::Relaxed);
        AddressingDisposition::from_short(value).unwrap_or(AddressingDisposition::Key)
    }

    /// A call with `NO_RECONNECT` was answered here.
    pub(crate) fn note_bound(&self) {
        self.losses_when_bound.store(u64::from(self.pool.losses()), Ordering::Relaxed);
    }

    /// The losses of the pool at [`Target::note_bound`].
    pub(crate) fn losses_when_bound(&self) -> Option<u32> {
        u32::try_from(self.losses_when_bound.load(Ordering::Relaxed)).ok()
    }

    pub(crate) fn set_addressing(&self, disposition: AddressingDisposition) {
        self.addressing.store(disposition as i16, Ordering::Relaxed);
    }
}

/// Settles where calls of `object` go by `ior`, which is its reference or where it was sent on to:
/// to addresses that rules of egress and its TLS policy let be used.
///
/// # Errors
/// `INV_OBJREF` for nil; when no profile can be used: `INV_OBJREF` for one that cannot be read,
/// `CODESET_INCOMPATIBLE`, `NO_PERMISSION` when rules of egress or the TLS policy forbid them all,
/// `IMP_LIMIT` when none is of a protocol spoken here or all are too long; all `COMPLETED_NO`.
pub(crate) fn bind(object: &Object, ior: &Ior) -> Result<Binding, SystemException> {
    let orb = object.orb();
    if ior.is_nil() {
        return Err(minor::INV_OBJREF_NIL.no("a nil reference cannot be called"));
    }
    let mut usable = Vec::new();
    let mut unusable = None;
    let mut hint = String::new();
    // A profile that cannot be used is passed over as long as there is another.
    for (index, profile) in ior.profiles.iter().enumerate() {
        match Profile::decode(orb.known(), profile.tag, &profile.data) {
            Ok(Some(profile)) if profile.is_within_reach() => {
                match profile.check_spoken(orb.settings()) {
                    Ok(()) => usable.push((index, profile)),
                    Err(why) => hint = format!("; {why}"),
                }
            }
            Ok(_) => {
                if let Some(why) = profile::unregistered(orb.known(), profile) {
                    hint = format!("; {why}");
                }
            }
            Err(error) => unusable = unusable.or(Some(error)),
        }
    }
    let profiles = usable.iter_mut().map(|(_, profile)| profile);
    let only_back = egress::restrict(orb, object.giver(), &ior.type_id, profiles)?;
    let profiles = usable.iter_mut().map(|(_, profile)| profile);
    protection::choose(orb, object.tls_protection(), &ior.type_id, profiles)?;
    let mut targets = Vec::new();
    for (index, profile) in &usable {
        let added = add_targets(orb, *index, profile, &only_back, &mut targets);
        unusable = unusable.or(added.err());
    }
    // Stable: of one protocol, the reference's order stays.
    targets.sort_by_key(|target| target.rank);
    if targets.is_empty() {
        if let Some(exception) = unusable {
            return Err(exception);
        }
        let minor = minor::IMP_LIMIT_NO_USABLE_PROFILE;
        return Err(minor.no(format!(
            "the reference of type {:?} has no profile that can be used from here, but {} of \
             protocols that this ORB does not speak, or of other machines{hint}",
            ior.type_id,
            ior.profiles.len()
        )));
    }
    let (preferred, locality) = (AtomicUsize::new(0), Locality::default());
    Ok(Binding { targets, preferred, ior: None, locality })
}

fn add_targets(
    orb: &Orb,
    index: usize,
    profile: &Profile,
    only_back: &[Endpoint],
    targets: &mut Vec<Target>,
) -> Result<(), SystemException> {
    let most = orb.settings().reference_addresses_max as usize;
    if targets.len() + profile.endpoints.len() > most {
        let what = format!("more than {most} addresses in its profiles");
        return Err(profile::too_long(what, most, "reference_addresses_max"));
    }
    let messages = profile.protocol.messages;
    let version = match messages {
        giop::Protocol::Giop => profile.version.min(orb.settings().giop_version),
        giop::Protocol::GiopLite | giop::Protocol::Plugged(_) => messages.version(),
    };
    let negotiated = match profile.code_sets() {
        Some(server) if version > Version::V1_0 => Some(orb.negotiate_code_sets(&server)?),
        _ => None,
    };
    let code_sets = negotiated.unwrap_or(CodeSets::DEFAULT);
    let message_octets_max = profile.message_octets_max().unwrap_or(usize::MAX);
    let object_key: Arc<[u8]> = profile.object_key.as_slice().into();
    let template = RequestTemplate::new(version, ByteOrder::NATIVE, giop::Target::Key(&object_key));
    for endpoint in &profile.endpoints {
        let pool = orb.connections().pool(endpoint.clone(), messages, code_sets);
        if is_nowhere(endpoint) {
            pool.expect_back();
        }
        targets.push(Target {
            pool,
            version,
            object_key: Arc::clone(&object_key),
            template: template.clone(),
            users: profile.users_wanted(endpoint).map(Box::new),
            message_octets_max,
            announces_code_sets: negotiated.is_some(),
            is_only_back: only_back.contains(endpoint) || is_nowhere(endpoint),
            profile: u32::try_from(index).unwrap_or(0),
            rank: profile.protocol.rank(&orb.settings().protocol_preference, endpoint),
            addressing: AtomicI16::new(AddressingDisposition::Key as i16),
            losses_when_bound: AtomicU64::new(NOT_BOUND),
        });
    }
    Ok(())
}

/// Where the calls of a reference go.
#[derive(Default)]
struct Bindings {
    /// Where the reference itself leads; made by the first call.
    own: OnceLock<Result<Arc<Binding>, SystemException>>,
    /// Where a server said that the object is now.
    forwarded: Ranked<rank::Leaf, Option<Arc<Binding>>>,
}

impl Part for Bindings {}

impl Object {
    /// The object key of the first profile that can be read.
    pub fn object_key(&self) -> Option<Vec<u8>> {
        let known = self.orb().known();
        let key = |p: &TaggedProfile| profile::object_key(known, p.tag, &p.data);
        self.ior().profiles.iter().find_map(key)
    }

    /// Whether requests that a synchronous call must not overtake are on their way, over a
    /// connection that calls share.
    #[inline]
    pub(crate) fn follows_shared_requests(&self) -> bool {
        let follows = |binding: BindingRef<'_>| binding.target(0).pool.has_shared_requests();
        self.binding().is_ok_and(follows)
    }

    /// Where calls go now: where a server forwarded us, or where the reference leads.
    pub(crate) fn binding(&self) -> Result<BindingRef<'_>, SystemException> {
        let bindings: &Bindings = self.bindings().get();
        if self.is_forwarded()
            && let Some(binding) = bindings.forwarded.lock().clone()
        {
            return Ok(BindingRef::Forwarded(binding));
        }
        let bind = || bind(self, self.ior()).map(Arc::new);
        let bound = bindings.own.get_or_init(bind);
        match bound {
            Ok(binding) => Ok(BindingRef::Own(binding)),
            Err(exception) => Err(exception.clone()),
        }
    }

    /// Where the reference itself leads, if that was found out already.
    #[inline]
    pub(crate) fn own_binding(&self) -> Option<&Arc<Binding>> {
        self.bindings().get::<Bindings>().own.get()?.as_ref().ok()
    }

    /// A request was sent that calls of the same thread, which do not wait in any queue, must not
    /// overtake.
    pub(super) fn note_shared_request(&self) {
        if !self.is_surely_elsewhere() {
            self.shortcuts().note_shared_request();
        }
    }

    /// Remembers (or forgets, with `None`) where a server forwarded us.
    pub(crate) fn set_forwarded(&self, binding: Option<Arc<Binding>>) {
        let mut slot = self.bindings().get::<Bindings>().forwarded.lock();
        self.note_forwarded(binding.is_some());
        *slot = binding;
    }
}

/// A binding in use: borrowed in the usual case, so that no counter is touched.
pub(crate) enum BindingRef<'o> {
    Own(&'o Arc<Binding>),
    Forwarded(Arc<Binding>),
}

impl BindingRef<'_> {
    pub(crate) fn is_forwarded(&self) -> bool {
        matches!(self, BindingRef::Forwarded(_))
    }
}

impl Deref for BindingRef<'_> {
    type Target = Binding;

    fn deref(&self) -> &Binding {
        match self {
            BindingRef::Own(binding) => binding,
            BindingRef::Forwarded(binding) => binding,
        }
    }
}

/// Whether a call of `object` may open a connection to `target`.
#[inline]
pub(crate) fn opening(object: &Object, policies: &CallPolicies, target: &Target) -> Opening {
    match policies.rebind {
        _ if target.is_only_back => Opening::OnlyBack,
        RebindMode::NoReconnect => opening_once(object, target),
        _ => Opening::Free,
    }
}

#[cold]
fn opening_once(object: &Object, target: &Target) -> Opening {
    match target.losses_when_bound() {
        _ if !object.is_bound() => Opening::Free,
        Some(losses) => Opening::WithoutLoss(losses),
        // Bound before the policy was set, if the pool is connected; else it is another place.
        None if target.pool.is_connected() => Opening::WithoutLoss(target.pool.losses()),
        None => Opening::Forbidden,
    }
}

/// A call was answered by `target`: what `NO_RECONNECT` compares with later.
#[inline]
pub(crate) fn note_bound(object: &Object, policies: &CallPolicies, target: &Target) {
    object.note_bound();
    if matches!(policies.rebind, RebindMode::NoReconnect) {
        target.note_bound();
    }
}

/// Whether a call of `object` may go on to `ior`, where a server sent it.
///
/// # Errors
/// `REBIND` (`COMPLETED_NO`) when the policy of the reference forbids it, `INV_POLICY`
/// (`COMPLETED_NO`) when what is set here is excluded there.
#[cold]
pub(crate) fn check_forward(
    object: &Object,
    policies: &CallPolicies,
    ior: &Ior,
) -> Result<(), SystemException> {
    let there = reconciled_for(object, &exposed_by(object.orb().known(), ior)?);
    if policies.rebind == RebindMode::Transparent || !object.is_bound() {
        return there.map(|_| ());
    }
    if policies.rebind == RebindMode::NoReconnect {
        return Err(may_not_follow("NO_RECONNECT", "which needs a connection of its own"));
    }
    if there.ok() != Some(reconciled_for(object, object.exposed_policies()?)?) {
        return Err(may_not_follow("NO_REBIND", "where other policies hold"));
    }
    Ok(())
}

#[cold]
fn may_not_follow(policy: &str, where_to: &str) -> SystemException {
    minor::REBIND_FORWARD.no(format!(
        "the server forwards to another reference, {where_to}, and the policy {policy} forbids to \
         follow; call validate_connection to bind it again"
    ))
}
