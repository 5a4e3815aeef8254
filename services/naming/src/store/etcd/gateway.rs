//! etcd's JSON gateway (`/v3/…`): the few requests that the store is made of.
//!
//! Keys and values are base64 in JSON, 64-bit numbers are strings. Members are asked in turn until
//! one answers. A change is only sent to another member when it surely did not reach the first.

use super::access::{EtcdAccess, EtcdUser};
use crate::store::StoreError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use ureq::Agent;

/// What gives a token for a password.
const AUTHENTICATE: &str = "auth/authenticate";

/// Most octets of an answer: etcd itself takes 1.5 MiB in a request, and a list is bounded by us.
const ANSWER_OCTETS_MAX: u64 = 64 * 1024 * 1024;

/// Pairs in one answer: so many of the largest references are well below [`ANSWER_OCTETS_MAX`].
const PAGE: usize = 128;

/// gRPC's "cancelled" in HTTP, by older and by newer gateways.
const CANCELLED: [u16; 2] = [408, 499];

/// What etcd says of a token that is not good any more: it restarted, did not hear from us for
/// long, or its users were changed. The request was not carried out.
const STALE: [&str; 3] =
    ["invalid auth token", "revision of auth store is old", "revision in header"];

/// A cluster, by the client URLs of its members.
pub(super) struct Gateway {
    agent: Agent,
    user: Option<EtcdUser>,
    /// Lock "token": what stands for the user's password; not held while etcd is asked.
    token: Mutex<Option<String>>,
    members: Vec<String>,
    /// The member that answered last.
    preferred: AtomicUsize,
}

/// A key with its value.
pub(super) struct Pair {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
    revision: String,
}

impl Pair {
    fn read(value: &Value) -> Option<Pair> {
        let octets = |name: &str| match value.get(name) {
            None => Some(Vec::new()),
            Some(text) => BASE64.decode(text.as_str()?).ok(),
        };
        let revision = value.get("mod_revision")?.as_str()?.to_owned();
        Some(Pair { key: octets("key")?, value: octets("value")?, revision })
    }

    pub(super) fn text(&self) -> Result<&str, StoreError> {
        std::str::from_utf8(&self.value)
            .map_err(|_| StoreError::Failed("a value in etcd is no text".to_owned()))
    }
}

/// What a transaction did: whether the comparisons held, and what its reads found.
pub(super) struct Answer {
    pub(super) succeeded: bool,
    reads: Vec<Vec<Pair>>,
}

impl Answer {
    /// The first pair that the read at `index` of the branch taken found.
    pub(super) fn first(&self, index: usize) -> Option<&Pair> {
        self.reads.get(index)?.first()
    }
}

/// How a request failed.
enum Refused {
    /// It did not reach the member.
    NotSent(String),
    /// It may have.
    Unknown(String),
    /// The member said no.
    Answered(String),
    /// It does not know who asks any more.
    Stale(String),
}

impl Gateway {
    pub(super) fn new(
        members: &[String],
        timeout: Duration,
        access: &EtcdAccess,
    ) -> Result<Self, StoreError> {
        if members.is_empty() {
            return Err(StoreError::Failed("no member of etcd was named".to_owned()));
        }
        access.check(members)?;
        let mut config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // A member answers itself, and sends neither requests nor passwords elsewhere.
            .max_redirects(0);
        if let Some(tls) = access.tls()? {
            config = config.https_only(true).tls_config(tls);
        }
        let agent = config.build().into();
        let (user, token, preferred) = (access.user.clone(), Mutex::default(), AtomicUsize::new(0));
        let members = members.iter().map(|url| url.trim_end_matches('/').to_owned()).collect();
        Ok(Self { agent, user, token, members, preferred })
    }

    /// The pair with this key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Pair>, StoreError> {
        let answer = self.send("kv/range", &json!({ "key": BASE64.encode(key) }), true)?;
        Ok(pairs(&answer)?.into_iter().next())
    }

    /// At most `limit` pairs from `first` up to `end`, which is not among them, by key.
    pub(super) fn range(
        &self,
        first: &[u8],
        end: &[u8],
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        let mut found = Vec::new();
        let mut from = first.to_vec();
        // etcd would take a limit of 0 for "no limit".
        while found.len() < limit {
            let most = PAGE.min(limit - found.len());
            let request = json!({
                "key": BASE64.encode(&from), "range_end": BASE64.encode(end),
                "limit": most.to_string(),
            });
            let page = pairs(&self.send("kv/range", &request, true)?)?;
            let is_last = page.len() < most;
            found.extend(page);
            let Some(last) = found.last().filter(|_| !is_last) else { break };
            from = next_key(&last.key);
        }
        Ok(found)
    }

    /// How many keys are from `first` up to `end`.
    pub(super) fn count(&self, first: &[u8], end: &[u8]) -> Result<u64, StoreError> {
        let request = json!({
            "key": BASE64.encode(first), "range_end": BASE64.encode(end), "count_only": true,
        });
        let answer = self.send("kv/range", &request, true)?;
        // A zero is left out, as in all of protobuf's JSON.
        let count = answer.get("count").and_then(Value::as_str).unwrap_or("0");
        count.parse().map_err(|_| nonsense("a count"))
    }

    /// Does `then` if all of `compare` holds, else `otherwise`.
    pub(super) fn transaction(
        &self,
        compare: &[Value],
        then: &[Value],
        otherwise: &[Value],
    ) -> Result<Answer, StoreError> {
        let reads_only =
            then.iter().chain(otherwise).all(|step| step.get("requestRange").is_some());
        let request = json!({ "compare": compare, "success": then, "failure": otherwise });
        let answer = self.send("kv/txn", &request, reads_only)?;
        let succeeded = answer.get("succeeded").and_then(Value::as_bool).unwrap_or(false);
        let steps = answer.get("responses").and_then(Value::as_array);
        let reads = steps
            .into_iter()
            .flatten()
            .map(|step| step.get("response_range").map_or_else(|| Ok(Vec::new()), pairs))
            .collect::<Result<_, _>>()?;
        Ok(Answer { succeeded, reads })
    }

    /// Asks one member after the other.
    fn send(&self, what: &str, request: &Value, is_repeatable: bool) -> Result<Value, StoreError> {
        let count = self.members.len();
        let start = self.preferred.load(Ordering::Relaxed);
        let mut why = String::new();
        for offset in 0..count {
            let index = (start + offset) % count;
            let Some(member) = self.members.get(index) else { continue };
            match self.ask(member, what, request) {
                Ok(answer) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(Refused::Unknown(text)) if !is_repeatable => {
                    return Err(StoreError::Uncertain(format!("etcd at {member}: {text}")));
                }
                Err(
                    Refused::Answered(text)
                    | Refused::Unknown(text)
                    | Refused::NotSent(text)
                    | Refused::Stale(text),
                ) => {
                    why = format!("etcd at {member}: {text}");
                    tracing::debug!(member, why, "a member of etcd did not answer");
                }
            }
        }
        Err(StoreError::Unavailable(why))
    }

    fn ask(&self, member: &str, what: &str, request: &Value) -> Result<Value, Refused> {
        let Some(user) = &self.user else { return self.post(member, what, request, None) };
        let known = self.token().clone();
        let token = match known {
            Some(token) => token,
            None => self.identify(member, user, None)?,
        };
        match self.post(member, what, request, Some(&token)) {
            Err(Refused::Stale(why)) => {
                tracing::debug!(member, why, "a member of etcd wants to be told again who asks");
                let token = self.identify(member, user, Some(&token))?;
                self.post(member, what, request, Some(&token))
            }
            other => other,
        }
    }

    /// Has etcd give a token for the password, unless another thread has got one in place of
    /// `stale` meanwhile.
    fn identify(
        &self,
        member: &str,
        user: &EtcdUser,
        stale: Option<&str>,
    ) -> Result<String, Refused> {
        if let Some(token) = self.token().clone().filter(|token| Some(&**token) != stale) {
            return Ok(token);
        }
        // Whatever went wrong, the request itself was not sent.
        let not_sent = |why: String| {
            let name = &user.name;
            Refused::NotSent(format!("the user {name:?} is not let in: {why}"))
        };
        let password = user.password().map_err(|error| not_sent(error.to_string()))?;
        let request = json!({ "name": user.name, "password": password });
        let answer = self.post(member, AUTHENTICATE, &request, None).map_err(|refused| {
            let (Refused::NotSent(why)
            | Refused::Unknown(why)
            | Refused::Answered(why)
            | Refused::Stale(why)) = refused;
            not_sent(why)
        })?;
        let token = answer.get("token").and_then(Value::as_str).filter(|token| {
            !token.is_empty() && token.bytes().all(|octet| octet.is_ascii_graphic())
        });
        let token = token.ok_or_else(|| not_sent("etcd gave no token".to_owned()))?.to_owned();
        *self.token() = Some(token.clone());
        Ok(token)
    }

    fn token(&self) -> MutexGuard<'_, Option<String>> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn post(
        &self,
        member: &str,
        what: &str,
        request: &Value,
        token: Option<&str>,
    ) -> Result<Value, Refused> {
        let mut post = self.agent.post(format!("{member}/v3/{what}"));
        if let Some(token) = token {
            post = post.header("Authorization", token);
        }
        let mut response = post.send_json(request).map_err(refused)?;
        let status = response.status();
        let body = response.body_mut().with_config().limit(ANSWER_OCTETS_MAX);
        if status.is_success() {
            return body.read_json().map_err(|error| Refused::Unknown(error.to_string()));
        }
        let text = body.read_to_string().unwrap_or_default();
        // Codes of gRPC in HTTP: time-outs and changes of leader (5xx), and requests that etcd gave
        // up when it was at them already, do not say what happened.
        let text = format!("{status}: {}", text.trim());
        if token.is_some() && STALE.iter().any(|stale| text.contains(stale)) {
            return Err(Refused::Stale(text));
        }
        let is_unsure = status.is_server_error() || CANCELLED.contains(&status.as_u16());
        Err(if is_unsure { Refused::Unknown(text) } else { Refused::Answered(text) })
    }
}

fn refused(error: ureq::Error) -> Refused {
    let text = error.to_string();
    match error {
        ureq::Error::ConnectionFailed
        | ureq::Error::HostNotFound
        | ureq::Error::BadUri(_)
        | ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            Refused::NotSent(text)
        }
        ureq::Error::Tls(_) => Refused::NotSent(text),
        ureq::Error::Io(io)
            if io.kind() == std::io::ErrorKind::ConnectionRefused || is_distrusted(&io) =>
        {
            Refused::NotSent(text)
        }
        _ => Refused::Unknown(text),
    }
}

/// Whether the member could not prove that it is one: nothing was sent to it.
fn is_distrusted(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

fn pairs(answer: &Value) -> Result<Vec<Pair>, StoreError> {
    let found = answer.get("kvs").and_then(Value::as_array);
    found.into_iter().flatten().map(|pair| Pair::read(pair).ok_or(nonsense("a pair"))).collect()
}

fn nonsense(what: &str) -> StoreError {
    StoreError::Failed(format!("etcd answered with {what} that cannot be read"))
}

/// The first key behind this one.
pub(super) fn next_key(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Holds when the key is there.
pub(super) fn compare_exists(key: &[u8]) -> Value {
    let key = BASE64.encode(key);
    json!({ "key": key, "target": "VERSION", "result": "GREATER", "version": "0" })
}

/// Holds when the key is not there.
pub(super) fn compare_missing(key: &[u8]) -> Value {
    let key = BASE64.encode(key);
    json!({ "key": key, "target": "VERSION", "result": "EQUAL", "version": "0" })
}

/// Holds when no key from `first` up to `end` is there.
pub(super) fn compare_none_in(first: &[u8], end: &[u8]) -> Value {
    json!({
        "key": BASE64.encode(first), "range_end": BASE64.encode(end),
        "target": "VERSION", "result": "EQUAL", "version": "0",
    })
}

/// Holds when the key was not changed since `seen` was read.
pub(super) fn compare_revision(key: &[u8], seen: &Pair) -> Value {
    json!({
        "key": BASE64.encode(key), "target": "MOD", "result": "EQUAL",
        "mod_revision": seen.revision,
    })
}

/// Writes a pair.
pub(super) fn put(key: &[u8], value: &[u8]) -> Value {
    json!({ "requestPut": { "key": BASE64.encode(key), "value": BASE64.encode(value) } })
}

/// Reads a pair.
pub(super) fn get(key: &[u8]) -> Value {
    json!({ "requestRange": { "key": BASE64.encode(key) } })
}

/// Removes a pair.
pub(super) fn delete(key: &[u8]) -> Value {
    json!({ "requestDeleteRange": { "key": BASE64.encode(key) } })
}
