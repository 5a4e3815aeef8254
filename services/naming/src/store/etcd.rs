//! The store of several servers: etcd 3, which keeps bindings on a majority of its members.
//!
//! Every change is one etcd transaction: it compares what the change depends on (the context is
//! there, the name is free) and writes only if that holds, so servers need not know of each other.
//! Reads are linearizable: what one server acknowledged, the others see. Keys below the prefix:
//!
//! ```text
//! PREFIX/uid                         the store's number
//! PREFIX/c/<context>                 a context
//! PREFIX/b/<context>/<id> NUL <kind> a binding
//! ```

mod access;
mod gateway;

pub use access::{EtcdAccess, EtcdUser};

use super::{ContextId, Kind, Mode, Quota, Store, StoreError, Target};
use crate::NameComponent;
use gateway::{Gateway, Pair, compare_exists, compare_missing, compare_none_in, put};
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// How often a change is tried again when another server was faster.
const ATTEMPTS_MAX: u32 = 32;

/// A store in etcd.
pub struct Etcd {
    gateway: Gateway,
    prefix: String,
    uid: u64,
}

impl Etcd {
    /// The store below `prefix` in the cluster whose members have these client URLs
    /// (`http://HOST:PORT`); makes it when it is not there. `timeout` is for each request.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] when no member answers, [`StoreError::Failed`] when what is
    /// below `prefix` is no store.
    pub fn connect(
        members: &[String],
        prefix: &str,
        timeout: Duration,
    ) -> Result<Self, StoreError> {
        Self::connect_as(members, prefix, timeout, &EtcdAccess::default())
    }

    /// The same over TLS (`https://HOST:PORT`), as a user of etcd: whatever `access` says.
    ///
    /// # Errors
    /// Those of [`Etcd::connect`]; [`StoreError::Failed`] for files that cannot be read, and for
    /// members whose URLs are not those of `access`.
    pub fn connect_as(
        members: &[String],
        prefix: &str,
        timeout: Duration,
        access: &EtcdAccess,
    ) -> Result<Self, StoreError> {
        let gateway = Gateway::new(members, timeout, access)?;
        let prefix = prefix.trim_matches('/').to_owned();
        let mut store = Self { gateway, prefix, uid: 0 };
        store.uid = store.prepare()?;
        Ok(store)
    }

    /// Makes uid and root unless they are there; the uid.
    fn prepare(&self) -> Result<u64, StoreError> {
        let uid = format!("{:016x}", RandomState::new().hash_one("a new store"));
        let key = self.key("uid");
        let root = self.context_key(ContextId::ROOT);
        let answer = self.gateway.transaction(
            &[compare_missing(&key)],
            &[put(&key, uid.as_bytes()), put(&root, b"root")],
            &[gateway::get(&key)],
        )?;
        let found = answer.first(0).map(|pair| pair.value.clone());
        let text = if answer.succeeded { Some(uid.into_bytes()) } else { found };
        text.and_then(|octets| String::from_utf8(octets).ok())
            .and_then(|text| u64::from_str_radix(&text, 16).ok())
            .ok_or_else(|| {
                let prefix = &self.prefix;
                StoreError::Failed(format!("what etcd has below {prefix:?} is no naming store"))
            })
    }

    fn key(&self, below: &str) -> Vec<u8> {
        format!("{}/{below}", self.prefix).into_bytes()
    }

    fn context_key(&self, context: ContextId) -> Vec<u8> {
        self.key(&format!("c/{:016x}", context.0))
    }

    fn binding_key(&self, context: ContextId, name: &NameComponent) -> Vec<u8> {
        self.key(&format!("b/{:016x}/{}\0{}", context.0, name.id, name.kind))
    }

    /// The first key of the context's bindings, and the first behind them: `0` follows `/`.
    fn binding_range(&self, context: ContextId) -> (Vec<u8>, Vec<u8>) {
        let range = |end: char| self.key(&format!("b/{:016x}{end}", context.0));
        (range('/'), range('0'))
    }

    /// Limits are looked at before the change: servers that bind at the same moment can exceed
    /// them by as many as they are.
    fn check_bindings(&self, context: ContextId, quota: Quota) -> Result<(), StoreError> {
        let (first, end) = self.binding_range(context);
        if self.gateway.count(&first, &end)? >= quota.bindings_per_context {
            return Err(StoreError::too_many_bindings(quota));
        }
        Ok(())
    }

    fn check_contexts(&self, quota: Quota) -> Result<(), StoreError> {
        let count = self.gateway.count(&self.key("c/"), &self.key("c0"))?;
        if count >= quota.contexts { Err(StoreError::too_many_contexts(quota)) } else { Ok(()) }
    }

    fn new_id() -> ContextId {
        // Never the root's number.
        ContextId(RandomState::new().hash_one("a new context").max(1))
    }

    /// Replaces a binding of the same kind, or makes it.
    fn replace(
        &self,
        context: ContextId,
        name: &NameComponent,
        target: &Target,
        quota: Quota,
    ) -> Result<(), StoreError> {
        let (key, owner) = (self.binding_key(context, name), self.context_key(context));
        let write = [put(&key, target.to_string().as_bytes())];
        for _ in 0..ATTEMPTS_MAX {
            let seen =
                self.gateway.transaction(&[compare_exists(&owner)], &[gateway::get(&key)], &[])?;
            if !seen.succeeded {
                return Err(StoreError::NoContext);
            }
            let unchanged = match seen.first(0) {
                None => {
                    self.check_bindings(context, quota)?;
                    compare_missing(&key)
                }
                Some(pair) => {
                    let kind = Target::kind_of(pair.text()?);
                    if kind != target.kind() {
                        return Err(StoreError::OtherKind(kind));
                    }
                    gateway::compare_revision(&key, pair)
                }
            };
            let compare = [compare_exists(&owner), unchanged];
            if self.gateway.transaction(&compare, &write, &[])?.succeeded {
                return Ok(());
            }
        }
        Err(StoreError::Unavailable("other servers change the same name all the time".to_owned()))
    }
}

impl Store for Etcd {
    fn uid(&self) -> u64 {
        self.uid
    }

    fn exists(&self, context: ContextId) -> Result<bool, StoreError> {
        Ok(self.gateway.get(&self.context_key(context))?.is_some())
    }

    fn lookup(&self, context: ContextId, name: &NameComponent) -> Result<Target, StoreError> {
        let (key, owner) = (self.binding_key(context, name), self.context_key(context));
        if let Some(pair) = self.gateway.get(&key)? {
            return Target::parse(pair.text()?);
        }
        let missing = if self.gateway.get(&owner)?.is_some() {
            StoreError::NotBound
        } else {
            StoreError::NoContext
        };
        Err(missing)
    }

    fn bind(
        &self,
        context: ContextId,
        name: &NameComponent,
        target: &Target,
        mode: Mode,
        quota: Quota,
    ) -> Result<(), StoreError> {
        if mode == Mode::Replace {
            return self.replace(context, name, target, quota);
        }
        self.check_bindings(context, quota)?;
        let (key, owner) = (self.binding_key(context, name), self.context_key(context));
        let answer = self.gateway.transaction(
            &[compare_exists(&owner), compare_missing(&key)],
            &[put(&key, target.to_string().as_bytes())],
            &[gateway::get(&owner)],
        )?;
        refused_unless(answer.succeeded, answer.first(0).is_some())
    }

    fn unbind(&self, context: ContextId, name: &NameComponent) -> Result<(), StoreError> {
        let (key, owner) = (self.binding_key(context, name), self.context_key(context));
        let answer = self.gateway.transaction(
            &[compare_exists(&owner), compare_exists(&key)],
            &[gateway::delete(&key)],
            &[gateway::get(&owner)],
        )?;
        match (answer.succeeded, answer.first(0)) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(StoreError::NotBound),
            (false, None) => Err(StoreError::NoContext),
        }
    }

    fn create(&self, quota: Quota) -> Result<ContextId, StoreError> {
        self.check_contexts(quota)?;
        for _ in 0..ATTEMPTS_MAX {
            let id = Self::new_id();
            let key = self.context_key(id);
            let write = [put(&key, b"context")];
            if self.gateway.transaction(&[compare_missing(&key)], &write, &[])?.succeeded {
                return Ok(id);
            }
        }
        Err(StoreError::Failed("no free number for a context was found".to_owned()))
    }

    fn create_bound(
        &self,
        parent: ContextId,
        name: &NameComponent,
        quota: Quota,
    ) -> Result<ContextId, StoreError> {
        self.check_contexts(quota)?;
        self.check_bindings(parent, quota)?;
        let (key, owner) = (self.binding_key(parent, name), self.context_key(parent));
        for _ in 0..ATTEMPTS_MAX {
            let id = Self::new_id();
            let context = self.context_key(id);
            let answer = self.gateway.transaction(
                &[compare_exists(&owner), compare_missing(&key), compare_missing(&context)],
                &[put(&context, b"context"), put(&key, Target::Context(id).to_string().as_bytes())],
                &[gateway::get(&owner), gateway::get(&key)],
            )?;
            let taken = answer.first(1).is_some();
            if answer.succeeded {
                return Ok(id);
            }
            if answer.first(0).is_none() || taken {
                refused_unless(false, answer.first(0).is_some())?;
            }
        }
        Err(StoreError::Failed("no free number for a context was found".to_owned()))
    }

    fn destroy(&self, context: ContextId) -> Result<(), StoreError> {
        if context == ContextId::ROOT {
            return Err(StoreError::root_stays());
        }
        let key = self.context_key(context);
        let (first, end) = self.binding_range(context);
        let answer = self.gateway.transaction(
            &[compare_exists(&key), compare_none_in(&first, &end)],
            &[gateway::delete(&key)],
            &[gateway::get(&key)],
        )?;
        match (answer.succeeded, answer.first(0)) {
            (true, _) => Ok(()),
            (false, Some(_)) => Err(StoreError::NotEmpty),
            (false, None) => Err(StoreError::NoContext),
        }
    }

    fn list(
        &self,
        context: ContextId,
        after: Option<&NameComponent>,
        limit: usize,
    ) -> Result<Vec<(NameComponent, Kind)>, StoreError> {
        let (first, end) = self.binding_range(context);
        let prefix = first.len();
        let from = after.map(|name| gateway::next_key(&self.binding_key(context, name)));
        let found = self.gateway.range(&from.unwrap_or(first), &end, limit)?;
        if found.is_empty() && !self.exists(context)? {
            return Err(StoreError::NoContext);
        }
        found.iter().map(|pair| read_binding(pair, prefix)).collect()
    }
}

/// What a bind that was not made means: the context is there, so the name was taken, or it is not.
fn refused_unless(made: bool, context_is_there: bool) -> Result<(), StoreError> {
    match (made, context_is_there) {
        (true, _) => Ok(()),
        (false, true) => Err(StoreError::AlreadyBound),
        (false, false) => Err(StoreError::NoContext),
    }
}

fn read_binding(pair: &Pair, prefix: usize) -> Result<(NameComponent, Kind), StoreError> {
    let name = pair.key.get(prefix..).and_then(|octets| std::str::from_utf8(octets).ok());
    let Some((id, kind)) = name.and_then(|name| name.split_once('\0')) else {
        return Err(StoreError::Failed(
            "etcd has a key among the bindings that is none".to_owned(),
        ));
    };
    let name = NameComponent { id: id.to_owned(), kind: kind.to_owned() };
    Ok((name, Target::kind_of(pair.text()?)))
}
