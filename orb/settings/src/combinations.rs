//! Combinations of settings that cannot work, each refused with a sentence that names both.
//!
//! Called at the end of [`Settings::from_sources`], and for settings that a builder made.

use corbie_cdr::{CodeSet, Version};
use corbie_transport::{BUILT_IN_SCHEMES, Registry, SSLIOP};
use corbie_types::ior::GIOPLITE;

use corbie_types::{SystemException, minor};

use crate::choice::{
    Bidirectional, ReplyWait, ServerConcurrency, TlsClients, TlsProtection, WaitStrategy,
};
use crate::endpoint::check_object_url;
use crate::listen::{ListenAt, ListenEndpoint, ListenMessages};
use crate::settings::{Setting, Settings};

impl Settings {
    /// Whether there are a transport and a message protocol for each endpoint.
    ///
    /// # Errors
    /// A sentence for people: the scheme or name is not registered, or the transport refuses the
    /// address.
    pub fn check_plugins(&self, transports: &Registry, protocols: &[&str]) -> Result<(), String> {
        for endpoint in &self.listen_endpoints {
            if let ListenMessages::Plugged(name) = &endpoint.messages
                && !protocols.contains(&&**name)
            {
                let known = [&[GIOPLITE], protocols].concat().join(", ");
                return Err(format!(
                    "the message protocol of `{endpoint}` is not known: there are {known}; others \
                     are registered with `Orb::builder().message_protocol(..)`",
                ));
            }
            if matches!(endpoint.at, ListenAt::Ssliop(_)) && transports.by_scheme(SSLIOP).is_none()
            {
                return Err(format!(
                    "the transport of `{endpoint}` is not in this program: build it with the \
                     feature `tls`"
                ));
            }
            let ListenAt::Plugged { scheme, address } = &endpoint.at else { continue };
            let Some(transport) = transports.by_scheme(scheme) else {
                let known: Vec<&str> =
                    BUILT_IN_SCHEMES.into_iter().chain(transports.schemes()).collect();
                return Err(format!(
                    "the transport of `{endpoint}` is not known: there are {}; others are \
                     registered with `Orb::builder().transport(..)`",
                    known.join(", ")
                ));
            };
            if !address.is_empty() {
                transport.check_address(address).map_err(|why| format!("`{endpoint}`: {why}"))?;
            }
        }
        Ok(())
    }
}

/// Checks ranges, then every pair.
pub(crate) fn check(settings: &Settings) -> Result<(), SystemException> {
    settings.check_ranges().map_err(|(key, why)| refused(&named(key), why))?;
    for (is_wrong, keys, because) in RULES {
        if is_wrong(settings) {
            let [first, second] = keys.map(|key| value(settings, key));
            let text = format!("{first}, but {second}: {because}");
            return Err(minor::BAD_PARAM_ARGUMENT.no(text));
        }
    }
    code_sets(settings)?;
    addresses(settings)
}

/// Whether two settings contradict each other, the two, and why they do.
type Rule = (fn(&Settings) -> bool, [&'static str; 2], &'static str);

const RULES: &[Rule] = &[
    (
        |s| s.fragment_octets.is_some() && s.giop_version == Version::V1_0,
        ["fragment_octets", "giop_version"],
        "GIOP 1.0 has no fragments; use 1.1 or higher, or `none`",
    ),
    (
        |s| s.fragment_octets.is_some_and(|octets| octets > s.message_octets_max),
        ["fragment_octets", "message_octets_max"],
        "no message is ever large enough to be sent in fragments",
    ),
    (
        |s| s.reassembly_octets_max < s.message_octets_max,
        ["reassembly_octets_max", "message_octets_max"],
        "the largest message could not arrive in fragments; raise the first or lower the second",
    ),
    (
        |s| s.pool_threads_min > s.pool_threads_max,
        ["pool_threads_min", "pool_threads_max"],
        "the pool cannot keep more threads than it may have",
    ),
    (
        |s| s.connections_per_endpoint > s.client_connections_max,
        ["connections_per_endpoint", "client_connections_max"],
        "one endpoint cannot have more connections than all together",
    ),
    (
        |s| has_thread_per_connection(s) && s.server_connections_max > THREADS_MAX,
        ["server_concurrency", "server_connections_max"],
        "that many threads cannot be had; choose `thread-pool` or at most 32768 connections",
    ),
    (
        |s| s.wait_strategy != WaitStrategy::Block && s.spin_budget.is_zero(),
        ["wait_strategy", "spin_budget"],
        "there is no time to spin in; choose `block` or a budget above zero",
    ),
    (
        |s| s.server_wait_strategy != WaitStrategy::Block && s.server_spin_budget.is_zero(),
        ["server_wait_strategy", "server_spin_budget"],
        "there is no time to spin in; choose `block` or a budget above zero",
    ),
    // Event loops watch many connections, and sleep in the kernel.
    (
        |s| s.wait_strategy == WaitStrategy::Spin && s.reply_wait != ReplyWait::Read,
        ["wait_strategy", "reply_wait"],
        "a thread in the event loop does not spin on one connection; choose `adaptive` or `read`",
    ),
    (
        |s| s.server_wait_strategy == WaitStrategy::Spin && !has_thread_per_connection(s),
        ["server_wait_strategy", "server_concurrency"],
        "only a thread that has one connection can spin; choose `adaptive`, or \
         `thread-per-connection`",
    ),
    (
        |s| s.reactor_threads != 0 && s.server_concurrency != ServerConcurrency::ReactorPerThread,
        ["reactor_threads", "server_concurrency"],
        "no such threads are started; choose `reactor-per-thread`, or 0",
    ),
    (
        |s| s.pending_responses_max > s.pending_responses_total_max,
        ["pending_responses_max", "pending_responses_total_max"],
        "one connection cannot have more responses due than all together",
    ),
    (
        |s| s.tls_certificate.is_none() && listens(s, is_tls),
        ["listen_endpoints", "tls_certificate"],
        "a server proves with a certificate what it is",
    ),
    (
        |s| s.tls_trust.is_none() && s.tls_clients != TlsClients::None && listens(s, is_tls),
        ["tls_clients", "tls_trust"],
        "certificates of clients are judged by authorities; name a file of them, or `none`",
    ),
    (
        |s| s.tls_protection == TlsProtection::Forbidden && listens(s, is_tls),
        ["listen_endpoints", "tls_protection"],
        "there is no TLS then; listen on `iiop://`",
    ),
    (
        |s| s.tls_protection == TlsProtection::Required && s.is_told_to_listen_plainly(),
        ["listen_endpoints", "tls_protection"],
        "messages would leave the machine in plain text; listen on `ssliop://` only",
    ),
    (
        |s| s.giop_version == Version::V1_0 && listens(s, is_tls),
        ["listen_endpoints", "giop_version"],
        "references of GIOP 1.0 have no place for TLS; use 1.1 or higher",
    ),
    (
        |s| s.csi_user.is_some() != s.csi_password_file.is_some(),
        ["csi_user", "csi_password_file"],
        "a user proves with a password which one it is; set both, or neither",
    ),
    (
        |s| s.csi_user.is_some() && s.csi_realm.is_empty(),
        ["csi_user", "csi_realm"],
        "the password is sent to servers of one realm only; name it",
    ),
    (
        |s| !s.published_addresses.is_empty() && s.publish_all_addresses,
        ["published_addresses", "publish_all_addresses"],
        "either these addresses are published or all of this machine; drop one of the two",
    ),
];

impl Settings {
    /// The default endpoint is of TLS where that is required.
    fn is_told_to_listen_plainly(&self) -> bool {
        self.listen_endpoints != [ListenEndpoint::any()] && listens(self, is_plain)
    }
}

fn listens(s: &Settings, on: fn(&ListenAt) -> bool) -> bool {
    s.listen_endpoints.iter().any(|endpoint| on(&endpoint.at))
}

fn is_tls(at: &ListenAt) -> bool {
    matches!(at, ListenAt::Ssliop(_))
}

/// A transport of the application is judged by the application.
fn is_plain(at: &ListenAt) -> bool {
    matches!(at, ListenAt::Iiop(_))
}

/// Linux allows 32768 threads a process by default; each needs a stack.
const THREADS_MAX: u32 = 32_768;

fn has_thread_per_connection(s: &Settings) -> bool {
    s.server_concurrency == ServerConcurrency::ThreadPerConnection
}

fn code_sets(s: &Settings) -> Result<(), SystemException> {
    let is_wide = |code_set| code_set == CodeSet::UTF_16 || code_set == CodeSet::UCS_2;
    let wrong = match (is_wide(s.native_char_code_set), is_wide(s.native_wchar_code_set)) {
        (true, _) => ("native_char_code_set", "which is for wchar: use UTF-8"),
        (_, false) => ("native_wchar_code_set", "which is for char: use UTF-16"),
        (false, true) => return Ok(()),
    };
    Err(minor::BAD_PARAM_ARGUMENT.no(format!("{}, {}", value(s, wrong.0), wrong.1)))
}

fn addresses(s: &Settings) -> Result<(), SystemException> {
    if s.listen_endpoints.is_empty() && s.bidirectional == Bidirectional::Normal {
        let text = format!(
            "{} is empty, but {}: no server reaches an object of this process; let it be `both`, \
             or listen",
            named("listen_endpoints"),
            value(s, "bidirectional")
        );
        return Err(minor::BAD_PARAM_ARGUMENT.no(text));
    }
    for (i, endpoint) in s.listen_endpoints.iter().enumerate() {
        if !endpoint.is_open() && s.listen_endpoints[..i].contains(endpoint) {
            let all = value(s, "listen_endpoints");
            return Err(refused(&all, "the same endpoint is named twice"));
        }
    }
    let check = |key, checked: Result<(), String>| checked.map_err(|why| refused(&named(key), why));
    if let Some(url) = &s.default_init_ref {
        check("default_init_ref", check_object_url(url))?;
    }
    s.published_addresses.iter().try_for_each(|at| check("published_addresses", at.check()))?;
    s.init_refs.iter().try_for_each(|named| check("init_refs", check_object_url(&named.url)))
}

#[cold]
fn refused(what: &str, why: impl std::fmt::Display) -> SystemException {
    minor::BAD_PARAM_ARGUMENT.no(format!("{what}: {why}"))
}

/// `pool_threads_min (-ORBPoolThreadsMin)`.
fn named(key: &str) -> String {
    let argument = Setting::of_key(key).map_or("", |setting| setting.argument);
    format!("{key} ({argument})")
}

/// `pool_threads_min (-ORBPoolThreadsMin) is 8`.
fn value(settings: &Settings, key: &str) -> String {
    let shown = Setting::of_key(key).map_or_else(String::new, |s| (s.show)(settings));
    format!("{} is {shown}", named(key))
}
