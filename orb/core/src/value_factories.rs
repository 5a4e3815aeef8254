//! The value factories that an application registers (CORBA 3.3 P1 §8.2.4, §9.4.3), found by
//! decoders through the context that the ORB is to them.

use crate::Orb;
use crate::handles::Part;
use corbie_cdr::{Context, SharedValue};
use corbie_threads::lock::{RankedRw, rank};
use corbie_types::TypeCode;
use corbie_types::valuetype::ValueFactory;
use std::collections::HashMap;
use std::sync::Arc;

/// Factories, and TypeCodes, by the repository ids of the types.
#[derive(Default)]
pub(crate) struct ValueFactories {
    factories: RankedRw<rank::Leaf, HashMap<&'static str, Arc<ValueFactory>>>,
    types: RankedRw<rank::Leaf, HashMap<String, Arc<TypeCode>>>,
}

impl Part for ValueFactories {}

impl Orb {
    fn value_factories(&self) -> &ValueFactories {
        self.extensions().value_factories.get()
    }

    /// Has values of the factory's type made by it when they are read, instead of by the generated
    /// default; the factory that did so before.
    ///
    /// A type without operations needs none where the IDL of an operation names it, or a type that
    /// it is derived from. `ValueBase`, `AbstractBase` and `any` name no type: there each has to be
    /// registered.
    pub fn register_value_factory(&self, factory: ValueFactory) -> Option<ValueFactory> {
        let id = factory.value_type().repository_id;
        let before = self.value_factories().factories.write().insert(id, Arc::new(factory));
        before.map(|before| (*before).clone())
    }

    /// Forgets the factory of a type; `None` when there was none.
    pub fn unregister_value_factory(&self, repository_id: &str) -> Option<ValueFactory> {
        let before = self.value_factories().factories.write().remove(repository_id);
        before.map(|before| (*before).clone())
    }

    /// The registered factory of a type.
    pub fn lookup_value_factory(&self, repository_id: &str) -> Option<ValueFactory> {
        let known = self.value_factories().factories.read().get(repository_id).cloned();
        known.map(|known| (*known).clone())
    }
}

impl Orb {
    /// Tells what values of a type look like that has no factory, so that they can be read where
    /// only a base of it is named: in an `any`, in a dynamic call. They are read as
    /// [`DynamicValue`](corbie_types::DynamicValue)s. Replaces what was said of that type before.
    pub fn register_value_type(&self, type_code: TypeCode) {
        let id = type_code.id();
        self.value_factories().types.write().insert(id, Arc::new(type_code));
    }
}

impl Context for Orb {
    fn value_factory(&self, repository_id: &str) -> Option<SharedValue> {
        let known = self.value_factories().factories.read().get(repository_id).cloned();
        if let Some(known) = known {
            return Some(known);
        }
        let known = self.value_factories().types.read().get(repository_id).cloned();
        known.map(|known| known as SharedValue)
    }
}
