//! Names of components, and where the naming service has them: below the context of a mechanism,
//! a context for each group. Used by mechanisms, which announce what they serve, and by `peers`.

use crate::messages::Role;
use corbie::Object;
use corbie_naming::{Naming, NamingError};

/// Which component: a certain one, or any of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Its kind.
    pub role: Role,
    /// Its name; none: any replica.
    pub name: Option<String>,
    /// Whether it is a proxy in front of such components.
    pub is_proxy: bool,
}

impl Address {
    /// Any component of this kind.
    #[must_use]
    pub fn any(role: Role) -> Self {
        Self { role, name: None, is_proxy: false }
    }

    /// The component of that kind and name.
    #[must_use]
    pub fn named(role: Role, name: impl Into<String>) -> Self {
        Self { role, name: Some(name.into()), is_proxy: false }
    }

    /// The proxy of that name in front of components of this kind.
    #[must_use]
    pub fn proxy(role: Role, name: impl Into<String>) -> Self {
        Self { role, name: Some(name.into()), is_proxy: true }
    }

    pub(crate) fn group(&self) -> Group {
        Group { role: self.role, is_proxy: self.is_proxy }
    }

    /// What its channels are called, by the mechanism with that context. No other component's
    /// label is the same, nor begins with this one and a slash.
    pub(crate) fn label(&self, mechanism: &str) -> String {
        let name = self.name.as_deref().unwrap_or("0");
        format!("{}/{}", self.group().context(mechanism), escaped(name))
    }
}

/// Components that can stand for each other: those of a kind, or the proxies in front of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Group {
    pub(crate) role: Role,
    pub(crate) is_proxy: bool,
}

impl Group {
    /// Its context in the naming service, below that of the mechanism.
    pub(crate) fn context(self, mechanism: &str) -> String {
        let proxies = if self.is_proxy { "-proxy" } else { "" };
        format!("{mechanism}/{}{proxies}", self.role)
    }
}

/// Puts `reference` where others look for this component, in place of what was there.
pub(crate) fn announce(
    naming: &Naming,
    context: &str,
    me: &Address,
    reference: &Object,
) -> Result<(), NamingError> {
    let context = me.group().context(context);
    naming.make_contexts(&context)?;
    let name = me.name.as_deref().unwrap_or("0");
    naming.rebind(&format!("{context}/{}", escaped(name)), reference)
}

/// A name of ours as one component of a name as text.
pub(crate) fn escaped(name: &str) -> String {
    let component = corbie_naming::NameComponent { id: name.to_owned(), kind: String::new() };
    corbie_naming::stringify(&[component])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_component_ends_the_channels_of_another() {
        let named = |name: &str| Address::named(Role::Advisor, name);
        let labels = [
            named("a").label("mshn-untyped"),
            named("a").label("mshn-typed"),
            named("a/b").label("mshn-typed"),
            named("a/b/").label("mshn-typed"),
            Address::proxy(Role::Advisor, "a").label("mshn-typed"),
            Address::named(Role::Daemon, "a").label("mshn-typed"),
        ];
        for (at, own) in labels.iter().enumerate() {
            let is_ended = |other: &&String| format!("{other}/").starts_with(&format!("{own}/"));
            let ended: Vec<_> = labels.iter().filter(is_ended).collect();
            assert_eq!(ended, [&labels[at]]);
        }
    }
}
