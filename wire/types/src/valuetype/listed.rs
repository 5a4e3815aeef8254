//! A value as the table of a message has it, or an any: of a type that is known here, or one that
//! is known by its TypeCode only. The second becomes the first, once, when a program asks for its
//! type. Used by `wire`, and by the dynamic values of the layer above.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use corbie_cdr::{ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Error, SharedValue};

use super::{ValueBase, ValueFactory};

/// A value that was read without a factory (`DynamicValue`, of the layer above).
pub(crate) trait Unfactored: Any + fmt::Debug + Send + Sync {
    /// It, and the types to which a receiver may truncate it, nearest first.
    fn repository_ids(&self) -> Vec<String>;

    /// Writes the whole state.
    fn write_state(&self, e: &mut Encoder<'_>) -> Result<(), Error>;

    /// What it became.
    fn typed(&self) -> &OnceLock<Arc<dyn ValueBase>>;
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Listed {
    Typed(Arc<dyn ValueBase>),
    Unfactored(Arc<dyn Unfactored>),
}

/// What is becoming of values, by their addresses, while one and all that it leads to become typed.
type Becoming = HashMap<usize, (Arc<dyn Unfactored>, Arc<dyn ValueBase>)>;

thread_local! {
    static BECOMING: RefCell<Option<Becoming>> = const { RefCell::new(None) };
}

impl Listed {
    /// For tables.
    pub(crate) fn shared(self) -> SharedValue {
        Arc::new(self)
    }

    /// Of a table.
    pub(crate) fn of(known: &SharedValue, d: &Decoder<'_>) -> Result<Self, Error> {
        match known.downcast_ref::<Self>() {
            Some(listed) => Ok(listed.clone()),
            None => Err(d.invalid("value", "an indirection to another thing", "a value")),
        }
    }

    /// It as what it became, if it did.
    pub(crate) fn present(self) -> Self {
        match &self {
            Self::Unfactored(value) => match value.typed().get() {
                Some(typed) => Self::Typed(Arc::clone(typed)),
                None => self,
            },
            Self::Typed(_) => self,
        }
    }
}

/// Makes a value typed, by what `factory` finds; all values that it leads to become typed with it.
pub(super) fn become_typed(
    value: &Arc<dyn Unfactored>,
    d: &Decoder<'_>,
    factory: impl FnOnce() -> Result<ValueFactory, Error>,
) -> Result<Arc<dyn ValueBase>, Error> {
    if let Some(typed) = value.typed().get().cloned().or_else(|| becoming(value)) {
        return Ok(typed);
    }
    let factory = factory()?;
    let first = First::enter();
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE);
    e.set_code_sets(CodeSets { char_data: CodeSet::LOCAL, wchar_data: CodeSet::UTF_16 });
    e.put_values_aside();
    value.write_state(&mut e)?;
    let (aside, octets) = (e.take_aside(), e.to_vec());
    let mut state = d.beside(&octets, &aside)?;
    state.set_code_sets(e.code_sets());
    let known = |_: &mut Decoder<'_>, typed: &Arc<dyn ValueBase>| list(value, typed);
    let typed = factory.read(&mut state, known)?;
    match first {
        // Others may have been faster: then there is one value all the same, theirs.
        Some(first) => {
            first.finish();
            Ok(value.typed().get().cloned().unwrap_or(typed))
        }
        None => Ok(typed),
    }
}

fn key(value: &Arc<dyn Unfactored>) -> usize {
    Arc::as_ptr(value).cast::<()>().addr()
}

/// What is becoming; nothing of a thread that is about to end.
fn with_becoming<T>(look: impl FnOnce(&mut Option<Becoming>) -> T) -> Option<T> {
    BECOMING.try_with(|all| look(&mut all.borrow_mut())).ok()
}

fn becoming(value: &Arc<dyn Unfactored>) -> Option<Arc<dyn ValueBase>> {
    with_becoming(|all| Some(Arc::clone(&all.as_ref()?.get(&key(value))?.1))).flatten()
}

fn list(value: &Arc<dyn Unfactored>, typed: &Arc<dyn ValueBase>) {
    with_becoming(|all| {
        if let Some(all) = all {
            all.insert(key(value), (Arc::clone(value), Arc::clone(typed)));
        }
    });
}

/// The first value of those that become typed together: what became of them is told when all have
/// their states.
struct First;

impl First {
    fn enter() -> Option<Self> {
        with_becoming(|all| {
            let is_first = all.is_none();
            all.get_or_insert_default();
            is_first.then(|| Self)
        })
        .flatten()
    }

    fn finish(self) {
        for (_, (value, typed)) in with_becoming(Option::take).flatten().unwrap_or_default() {
            // Another thread may have been faster.
            let _ = value.typed().set(typed);
        }
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // Taken out first: what is dropped may have values of its own.
        drop(with_becoming(Option::take));
    }
}
