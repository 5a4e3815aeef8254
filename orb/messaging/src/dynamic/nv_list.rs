//! The arguments of a dynamic call in order (CORBA 3.3 P1 §11.4: `NVList`).
//!
//! Written into requests by `invocation`, filled in from requests by `server_request`.

use super::{ARG_OUT, Flags, NamedValue};
use corbie_cdr::{Decoder, Encoder, Error};
use corbie_types::{Any, TypeCode};
use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

/// A list of arguments, in the order of the operation's parameters.
///
/// ```
/// use corbie_messaging::dynamic::{ARG_IN, NvList};
/// use corbie_types::{Any, TypeCode};
/// let mut list = NvList::new();
/// list.add_value("stock_name", Any::string("ACME")?, ARG_IN).add_out("price", TypeCode::LONG);
/// assert_eq!(list.count(), 2);
/// assert_eq!(list[0].value().extract::<String>()?, "ACME");
/// assert!(!list[1].value().has_value());
/// # Ok::<(), corbie_types::SystemException>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NvList(Vec<NamedValue>);

impl NvList {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        NvList(Vec::new())
    }

    /// An empty list with room for `count` arguments.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        NvList(Vec::with_capacity(count))
    }

    /// Appends an argument.
    pub fn add(&mut self, item: NamedValue) -> &mut Self {
        self.0.push(item);
        self
    }

    /// Appends an argument with a value.
    pub fn add_value(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        value: Any,
        flags: Flags,
    ) -> &mut Self {
        self.add(NamedValue::new(name, value, flags))
    }

    /// Appends an argument that has no value yet.
    pub fn add_item(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        type_code: TypeCode,
        flags: Flags,
    ) -> &mut Self {
        self.add(NamedValue::new(name, Any::without_value(type_code), flags))
    }

    /// Appends an out argument.
    pub fn add_out(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        type_code: TypeCode,
    ) -> &mut Self {
        self.add_item(name, type_code, ARG_OUT)
    }

    /// The number of arguments.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The argument at this place, from 0; `None` behind the end (CORBA's `Bounds`).
    #[must_use]
    pub fn item(&self, index: usize) -> Option<&NamedValue> {
        self.0.get(index)
    }

    /// As [`NvList::item`], to be changed.
    pub fn item_mut(&mut self, index: usize) -> Option<&mut NamedValue> {
        self.0.get_mut(index)
    }

    /// The first argument with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&NamedValue> {
        self.0.iter().find(|item| item.name() == name)
    }

    /// As [`NvList::named`], to be changed.
    pub fn named_mut(&mut self, name: &str) -> Option<&mut NamedValue> {
        self.0.iter_mut().find(|item| item.name() == name)
    }

    /// Takes the argument at this place out; `None` behind the end.
    pub fn remove(&mut self, index: usize) -> Option<NamedValue> {
        (index < self.0.len()).then(|| self.0.remove(index))
    }

    /// Writes those arguments for which `travels` holds.
    pub(super) fn encode<'a>(
        &'a self,
        travels: fn(Flags) -> bool,
        e: &mut Encoder<'a>,
    ) -> Result<(), Error> {
        let mut those = self.0.iter().filter(|item| travels(item.flags()));
        those.try_for_each(|item| item.value.encode_value(e))
    }

    /// Reads those arguments for which `travels` holds, each by the type that it has.
    pub(super) fn decode(
        &mut self,
        travels: fn(Flags) -> bool,
        d: &mut Decoder<'_>,
    ) -> Result<(), Error> {
        let mut those = self.0.iter_mut().filter(|item| travels(item.flags()));
        those.try_for_each(|item| {
            item.value = Any::decode_value(item.type_code().clone(), d)?;
            Ok(())
        })
    }
}

/// The arguments in order.
impl Deref for NvList {
    type Target = [NamedValue];

    fn deref(&self) -> &[NamedValue] {
        &self.0
    }
}

impl DerefMut for NvList {
    fn deref_mut(&mut self) -> &mut [NamedValue] {
        &mut self.0
    }
}

impl FromIterator<NamedValue> for NvList {
    fn from_iter<I: IntoIterator<Item = NamedValue>>(items: I) -> Self {
        NvList(items.into_iter().collect())
    }
}

impl Extend<NamedValue> for NvList {
    fn extend<I: IntoIterator<Item = NamedValue>>(&mut self, items: I) {
        self.0.extend(items);
    }
}

impl IntoIterator for NvList {
    type Item = NamedValue;
    type IntoIter = std::vec::IntoIter<NamedValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'l> IntoIterator for &'l NvList {
    type Item = &'l NamedValue;
    type IntoIter = std::slice::Iter<'l, NamedValue>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
