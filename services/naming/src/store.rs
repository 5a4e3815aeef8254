//! Where bindings are kept: the trait that every store implements, and what it speaks of.
//!
//! The server (`server/…`) asks one question or makes one change at a time; each change is atomic
//! and is acknowledged only when it survives the end of the process. `embedded` is one file on this
//! machine, `etcd` is shared by several servers. One suite holds for all: `tests/stores.rs`.

pub mod embedded;
pub mod etcd;
mod target;

use crate::NameComponent;
use thiserror::Error;

pub use target::Target;

/// A naming context within one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(pub u64);

impl ContextId {
    /// The context that is there from the beginning and cannot be destroyed.
    pub const ROOT: ContextId = ContextId(0);
}

/// What a binding leads to, as `list` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An object: `nobject`.
    Object,
    /// A naming context, here or elsewhere: `ncontext`.
    Context,
}

/// What a bind does with a binding of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Refuse: `bind`, `bind_context`.
    New,
    /// Replace it if it is of the same [`Kind`]: `rebind`, `rebind_context`.
    Replace,
}

/// How much a store may be filled.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Naming contexts in the store.
    pub contexts: u64,
    /// Bindings in one context.
    pub bindings_per_context: u64,
}

/// Why a store did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// There is no such context, or no longer.
    #[error("the naming context does not exist")]
    NoContext,
    /// [`Mode::New`] met a binding of that name.
    #[error("the name is bound")]
    AlreadyBound,
    /// Nothing is bound by that name.
    #[error("the name is not bound")]
    NotBound,
    /// [`Mode::Replace`] met a binding of the other kind, which this is.
    #[error("the name is bound to something of another kind")]
    OtherKind(Kind),
    /// A context that is to be destroyed has bindings.
    #[error("the naming context has bindings")]
    NotEmpty,
    /// A limit is reached; the text names it.
    #[error("{0}")]
    Full(String),
    /// The store cannot be reached at the moment; nothing was changed.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    /// The store may have made the change, or not.
    #[error("the store did not say whether it made the change: {0}")]
    Uncertain(String),
    /// The store is damaged or refuses to work; nothing was changed.
    #[error("the store failed: {0}")]
    Failed(String),
}

/// A set of naming contexts with their bindings.
pub trait Store: Send + Sync + 'static {
    /// Tells this store from all others: part of the keys of its contexts.
    fn uid(&self) -> u64;

    /// Whether the context exists.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`], [`StoreError::Failed`].
    fn exists(&self, context: ContextId) -> Result<bool, StoreError>;

    /// What `name` is bound to in `context`.
    ///
    /// # Errors
    /// [`StoreError::NotBound`], [`StoreError::NoContext`], and as [`Store::exists`].
    fn lookup(&self, context: ContextId, name: &NameComponent) -> Result<Target, StoreError>;

    /// Looks names up one after the other, each in the context that the one before led to: up to
    /// the last, or the first that leads out of this store, to an object or to nothing. Its place
    /// in `names`, which are at least one, and what it is bound to.
    fn follow(
        &self,
        start: ContextId,
        names: &[NameComponent],
    ) -> (usize, Result<Target, StoreError>) {
        follow_by(start, names, |context, name| self.lookup(context, name))
    }

    /// Binds `name` to `target`.
    ///
    /// # Errors
    /// [`StoreError::NoContext`], [`StoreError::AlreadyBound`] or [`StoreError::OtherKind`] by
    /// `mode`, [`StoreError::Full`], and what all changes have: [`StoreError::Unavailable`],
    /// [`StoreError::Uncertain`], [`StoreError::Failed`].
    fn bind(
        &self,
        context: ContextId,
        name: &NameComponent,
        target: &Target,
        mode: Mode,
        quota: Quota,
    ) -> Result<(), StoreError>;

    /// Takes a binding away.
    ///
    /// # Errors
    /// [`StoreError::NoContext`], [`StoreError::NotBound`], and what all changes have.
    fn unbind(&self, context: ContextId, name: &NameComponent) -> Result<(), StoreError>;

    /// Makes a context that nothing is bound to.
    ///
    /// # Errors
    /// [`StoreError::Full`], and what all changes have.
    fn create(&self, quota: Quota) -> Result<ContextId, StoreError>;

    /// Makes a context and binds it, both or neither.
    ///
    /// # Errors
    /// As [`Store::bind`] with [`Mode::New`] and as [`Store::create`].
    fn create_bound(
        &self,
        parent: ContextId,
        name: &NameComponent,
        quota: Quota,
    ) -> Result<ContextId, StoreError>;

    /// Destroys a context without bindings. Bindings that lead to it stay, and lead nowhere. The
    /// root is never destroyed: [`StoreError::Failed`].
    ///
    /// # Errors
    /// [`StoreError::NoContext`], [`StoreError::NotEmpty`], and what all changes have.
    fn destroy(&self, context: ContextId) -> Result<(), StoreError>;

    /// At most `limit` bindings of `context` in the order of their names, beginning behind
    /// `after`.
    ///
    /// # Errors
    /// [`StoreError::NoContext`], and as [`Store::exists`].
    fn list(
        &self,
        context: ContextId,
        after: Option<&NameComponent>,
        limit: usize,
    ) -> Result<Vec<(NameComponent, Kind)>, StoreError>;
}

/// [`Store::follow`] with this look-up.
fn follow_by(
    start: ContextId,
    names: &[NameComponent],
    mut lookup: impl FnMut(ContextId, &NameComponent) -> Result<Target, StoreError>,
) -> (usize, Result<Target, StoreError>) {
    let mut outcome = (0, Err(StoreError::NotBound));
    let mut context = start;
    for (index, name) in names.iter().enumerate() {
        outcome = (index, lookup(context, name));
        match outcome.1 {
            Ok(Target::Context(next)) => context = next,
            _ => break,
        }
    }
    outcome
}

impl StoreError {
    fn too_many_bindings(quota: Quota) -> Self {
        let limit = quota.bindings_per_context;
        Self::Full(format!("a naming context may have {limit} bindings, and has them"))
    }

    fn too_many_contexts(quota: Quota) -> Self {
        let limit = quota.contexts;
        Self::Full(format!("the store may have {limit} naming contexts, and has them"))
    }

    fn root_stays() -> Self {
        Self::Failed("the root context cannot be destroyed".to_owned())
    }
}
