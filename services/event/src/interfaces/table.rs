//! A table of interfaces: those that were compiled in, or handed over with a channel. Filled by
//! `EventServer` and the factory, asked by `known`.

use super::Interfaces;
use corbie::SystemException;
use corbie::types::InterfaceDescription;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Interfaces by repository id. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct InterfaceTable {
    /// Lock "interfaces": held to look up and to add.
    known: Arc<RwLock<BTreeMap<String, Arc<InterfaceDescription>>>>,
}

impl InterfaceTable {
    /// Adds an interface, in the place of what was known by its id.
    pub fn add(&self, description: InterfaceDescription) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(description.id.clone(), Arc::new(description));
    }

    /// All that it has, by repository id.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<InterfaceDescription>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

impl FromIterator<InterfaceDescription> for InterfaceTable {
    fn from_iter<I: IntoIterator<Item = InterfaceDescription>>(descriptions: I) -> Self {
        let table = Self::default();
        descriptions.into_iter().for_each(|description| table.add(description));
        table
    }
}

impl Interfaces for InterfaceTable {
    fn describe(
        &self,
        repository_id: &str,
    ) -> Result<Option<Arc<InterfaceDescription>>, SystemException> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        Ok(known.get(repository_id).cloned())
    }
}
