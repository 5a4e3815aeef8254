//! Changes of the embedded store: data, so that several can be written in one transaction.
//!
//! Each looks before it writes: one that is refused leaves no trace in the transaction, and the
//! others of its group go on.

use super::{BINDINGS, CONTEXTS, META, NEXT_CONTEXT};
use crate::NameComponent;
use crate::store::{ContextId, Mode, Quota, StoreError, Target};
use corbie_store::StoreFile;
use corbie_store::redb::{self, ReadableTable, ReadableTableMetadata, Table};

/// One change.
pub(super) enum TableChange {
    Bind { context: ContextId, name: NameComponent, target: Target, mode: Mode, quota: Quota },
    Unbind { context: ContextId, name: NameComponent },
    Create { bound: Option<(ContextId, NameComponent)>, quota: Quota },
    Destroy { context: ContextId },
}

/// What a change made.
pub(super) enum Made {
    Nothing,
    Context(ContextId),
}

impl Made {
    pub(super) fn context(self) -> Result<ContextId, StoreError> {
        match self {
            Made::Context(id) => Ok(id),
            Made::Nothing => Err(StoreError::Failed("no context was made".to_owned())),
        }
    }
}

/// What became of a change: the outer error is the transaction's, and so everybody's.
type Outcome = Result<Result<Made, StoreError>, redb::Error>;

/// Makes the changes in one transaction, and waits until it is on the disk.
pub(super) fn commit(file: &StoreFile, changes: &[TableChange]) -> Vec<Result<Made, StoreError>> {
    let made = file.write(|transaction| {
        let mut tables = Tables {
            meta: transaction.open_table(META)?,
            contexts: transaction.open_table(CONTEXTS)?,
            bindings: transaction.open_table(BINDINGS)?,
        };
        changes.iter().map(|change| tables.make(change)).collect::<Result<Vec<_>, _>>()
    });
    made.unwrap_or_else(|failure| {
        let error = StoreError::from(failure);
        changes.iter().map(|_| Err(error.clone())).collect()
    })
}

struct Tables<'t> {
    meta: Table<'t, &'static str, u64>,
    contexts: Table<'t, u64, u64>,
    bindings: Table<'t, (u64, &'static str, &'static str), &'static str>,
}

impl Tables<'_> {
    fn make(&mut self, change: &TableChange) -> Outcome {
        match change {
            TableChange::Bind { context, name, target, mode, quota } => {
                self.bind(*context, name, target, *mode, *quota)
            }
            TableChange::Unbind { context, name } => self.unbind(*context, name),
            TableChange::Create { bound, quota } => self.create(bound.as_ref(), *quota),
            TableChange::Destroy { context } => self.destroy(*context),
        }
    }

    fn count(&self, context: ContextId) -> Result<Option<u64>, redb::Error> {
        Ok(self.contexts.get(context.0)?.map(|count| count.value()))
    }

    fn bind(
        &mut self,
        context: ContextId,
        name: &NameComponent,
        target: &Target,
        mode: Mode,
        quota: Quota,
    ) -> Outcome {
        let Some(count) = self.count(context)? else { return Ok(Err(StoreError::NoContext)) };
        let key = (context.0, name.id.as_str(), name.kind.as_str());
        let existing = self.bindings.get(key)?.map(|text| Target::kind_of(text.value()));
        match (existing, mode) {
            (Some(_), Mode::New) => return Ok(Err(StoreError::AlreadyBound)),
            (Some(kind), Mode::Replace) if kind != target.kind() => {
                return Ok(Err(StoreError::OtherKind(kind)));
            }
            (None, _) if count >= quota.bindings_per_context => {
                return Ok(Err(StoreError::too_many_bindings(quota)));
            }
            _ => {}
        }
        self.bindings.insert(key, target.to_string().as_str())?;
        if existing.is_none() {
            self.contexts.insert(context.0, count + 1)?;
        }
        Ok(Ok(Made::Nothing))
    }

    fn unbind(&mut self, context: ContextId, name: &NameComponent) -> Outcome {
        let Some(count) = self.count(context)? else { return Ok(Err(StoreError::NoContext)) };
        let key = (context.0, name.id.as_str(), name.kind.as_str());
        if self.bindings.remove(key)?.is_none() {
            return Ok(Err(StoreError::NotBound));
        }
        self.contexts.insert(context.0, count.saturating_sub(1))?;
        Ok(Ok(Made::Nothing))
    }

    fn create(&mut self, bound: Option<&(ContextId, NameComponent)>, quota: Quota) -> Outcome {
        if self.contexts.len()? >= quota.contexts {
            return Ok(Err(StoreError::too_many_contexts(quota)));
        }
        let next = self.meta.get(NEXT_CONTEXT)?.map(|number| number.value());
        let Some(next) = next else {
            let why = "the file has no number for the next context".to_owned();
            return Ok(Err(StoreError::Failed(why)));
        };
        let id = ContextId(next);
        if let Some((parent, name)) = bound {
            let bound = self.bind(*parent, name, &Target::Context(id), Mode::New, quota)?;
            if let Err(refused) = bound {
                return Ok(Err(refused));
            }
        }
        self.meta.insert(NEXT_CONTEXT, next + 1)?;
        self.contexts.insert(id.0, 0)?;
        Ok(Ok(Made::Context(id)))
    }

    fn destroy(&mut self, context: ContextId) -> Outcome {
        match self.count(context)? {
            None => Ok(Err(StoreError::NoContext)),
            Some(0) => {
                self.contexts.remove(context.0)?;
                Ok(Ok(Made::Nothing))
            }
            Some(_) => Ok(Err(StoreError::NotEmpty)),
        }
    }
}
