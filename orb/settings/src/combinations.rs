//! Combinations of settings that cannot work, each refused with a sentence that names both.
//!
//! Called at the end of [`Settings::from_sources`], and for settings that a builder made.

use corbie_cdr::{CodeSet, Version};
use corbie_transport::{BUILT_IN_SCHEMES, Registry};

use crate::choice::{ReplyWait, ServerConcurrency, WaitStrategy};
use crate::endpoint::check_object_url;
use crate::listen::ListenAt;
use crate::refusal::Refusal;
use crate::settings::{Setting, Settings};

impl Settings {
    /// Whether there is a transport for each endpoint.
    ///
    /// # Errors
    /// A sentence for people: the scheme is not registered, or its transport refuses the address.
    pub fn check_transports(&self, transports: &Registry) -> Result<(), String> {
        for endpoint in &self.listen_endpoints {
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
pub(crate) fn check(settings: &Settings) -> Result<(), Refusal> {
    settings
        .check_ranges()
        .map_err(|(key, why)| Refusal::parameter(format!("{}: {why}", named(key))))?;
    sizes(settings)?;
    threads(settings)?;
    strategies(settings)?;
    code_sets(settings)?;
    addresses(settings)
}

/// `pool_threads_min (-ORBPoolThreadsMin)`.
fn named(key: &str) -> String {
    let find = |setting: &&Setting| setting.key == key;
    let argument = Settings::TABLE.iter().find(find).map_or("", |setting| setting.argument);
    format!("{key} ({argument})")
}

/// `pool_threads_min (-ORBPoolThreadsMin) is 8`.
fn value(settings: &Settings, key: &str) -> String {
    let find = |setting: &&Setting| setting.key == key;
    let shown = Settings::TABLE.iter().find(find).map_or_else(String::new, |s| (s.show)(settings));
    format!("{} is {shown}", named(key))
}

fn refuse_if(
    wrong: bool,
    settings: &Settings,
    keys: [&str; 2],
    because: &str,
) -> Result<(), Refusal> {
    if !wrong {
        return Ok(());
    }
    let [first, second] = keys.map(|key| value(settings, key));
    Err(Refusal::parameter(format!("{first}, but {second}: {because}")))
}

fn sizes(s: &Settings) -> Result<(), Refusal> {
    refuse_if(
        s.fragment_octets.is_some() && s.giop_version == Version::V1_0,
        s,
        ["fragment_octets", "giop_version"],
        "GIOP 1.0 has no fragments; use 1.1 or higher, or `none`",
    )?;
    refuse_if(
        s.fragment_octets.is_some_and(|octets| octets > s.message_octets_max),
        s,
        ["fragment_octets", "message_octets_max"],
        "no message is ever large enough to be sent in fragments",
    )?;
    refuse_if(
        s.reassembly_octets_max < s.message_octets_max,
        s,
        ["reassembly_octets_max", "message_octets_max"],
        "the largest message could not arrive in fragments; raise the first or lower the second",
    )
}

fn threads(s: &Settings) -> Result<(), Refusal> {
    refuse_if(
        s.pool_threads_min > s.pool_threads_max,
        s,
        ["pool_threads_min", "pool_threads_max"],
        "the pool cannot keep more threads than it may have",
    )?;
    refuse_if(
        s.connections_per_endpoint > s.client_connections_max,
        s,
        ["connections_per_endpoint", "client_connections_max"],
        "one endpoint cannot have more connections than all together",
    )?;
    refuse_if(
        s.server_concurrency == ServerConcurrency::ThreadPerConnection
            && s.server_connections_max > THREADS_MAX,
        s,
        ["server_concurrency", "server_connections_max"],
        "that many threads cannot be had; choose `thread-pool` or at most 32768 connections",
    )?;
    let spins = |strategy| strategy != WaitStrategy::Block;
    refuse_if(
        spins(s.wait_strategy) && s.spin_budget.is_zero(),
        s,
        ["wait_strategy", "spin_budget"],
        "there is no time to spin in; choose `block` or a budget above zero",
    )?;
    refuse_if(
        spins(s.server_wait_strategy) && s.server_spin_budget.is_zero(),
        s,
        ["server_wait_strategy", "server_spin_budget"],
        "there is no time to spin in; choose `block` or a budget above zero",
    )?;
    loops(s)
}

/// Event loops watch many connections, and sleep in the kernel.
fn loops(s: &Settings) -> Result<(), Refusal> {
    refuse_if(
        s.wait_strategy == WaitStrategy::Spin && s.reply_wait != ReplyWait::Read,
        s,
        ["wait_strategy", "reply_wait"],
        "a thread in the event loop does not spin on one connection; choose `adaptive` or `read`",
    )?;
    let is_loop = s.server_concurrency != ServerConcurrency::ThreadPerConnection;
    refuse_if(
        s.server_wait_strategy == WaitStrategy::Spin && is_loop,
        s,
        ["server_wait_strategy", "server_concurrency"],
        "only a thread that has one connection can spin; choose `adaptive`, or \
         `thread-per-connection`",
    )?;
    refuse_if(
        s.reactor_threads != 0 && s.server_concurrency != ServerConcurrency::ReactorPerThread,
        s,
        ["reactor_threads", "server_concurrency"],
        "no such threads are started; choose `reactor-per-thread`, or 0",
    )
}

fn strategies(s: &Settings) -> Result<(), Refusal> {
    refuse_if(
        s.server_wait_strategy == WaitStrategy::Spin
            && s.server_concurrency != ServerConcurrency::ThreadPerConnection,
        s,
        ["server_wait_strategy", "server_concurrency"],
        "only a thread that serves one connection can watch its socket; choose `adaptive` or \
         `thread-per-connection`",
    )?;
    refuse_if(
        s.pending_responses_max > s.pending_responses_total_max,
        s,
        ["pending_responses_max", "pending_responses_total_max"],
        "one connection cannot have more responses due than all together",
    )
}

/// Linux allows 32768 threads a process by default; each needs a stack.
const THREADS_MAX: u32 = 32_768;

fn code_sets(s: &Settings) -> Result<(), Refusal> {
    let wide = |code_set| code_set == CodeSet::UTF_16 || code_set == CodeSet::UCS_2;
    if wide(s.native_char_code_set) {
        let value = value(s, "native_char_code_set");
        return Err(Refusal::parameter(format!("{value}, which is for wchar: use UTF-8")));
    }
    if !wide(s.native_wchar_code_set) {
        let value = value(s, "native_wchar_code_set");
        return Err(Refusal::parameter(format!("{value}, which is for char: use UTF-16")));
    }
    Ok(())
}

fn addresses(s: &Settings) -> Result<(), Refusal> {
    if s.listen_endpoints.is_empty() {
        return Err(Refusal::parameter(format!("{} is empty", named("listen_endpoints"))));
    }
    for (i, endpoint) in s.listen_endpoints.iter().enumerate() {
        if !endpoint.is_open() && s.listen_endpoints[..i].contains(endpoint) {
            return Err(Refusal::parameter(format!(
                "{}: the same endpoint is named twice",
                value(s, "listen_endpoints")
            )));
        }
    }
    if let Some(url) = &s.default_init_ref {
        check_object_url(url)
            .map_err(|why| Refusal::parameter(format!("{}: {why}", named("default_init_ref"))))?;
    }
    for address in &s.published_addresses {
        address.check().map_err(|why| {
            Refusal::parameter(format!("{}: {why}", named("published_addresses")))
        })?;
    }
    let references = s.init_refs.iter();
    for reference in references {
        check_object_url(&reference.url)
            .map_err(|why| Refusal::parameter(format!("{}: {why}", named("init_refs"))))?;
    }
    refuse_if(
        !s.published_addresses.is_empty() && s.publish_all_addresses,
        s,
        ["published_addresses", "publish_all_addresses"],
        "either these addresses are published or all of this machine; drop one of the two",
    )
}
