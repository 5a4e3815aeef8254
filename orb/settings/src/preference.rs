//! In which order the protocols of a reference are tried, and stand in references made here.
//!
//! Used by `orb/core`, by `client/bind` and `server/listening`, once for each reference.

use crate::endpoint::items;
use crate::value::SettingValue;
use corbie_types::ior::GIOPLITE;

/// Schemes of protocols, the preferred one first; `*` stands for all that are not named. Without a
/// `*` they come last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolPreference(Vec<String>);

impl Default for ProtocolPreference {
    /// What costs least first: shared memory, unix-domain sockets, others, TCP.
    fn default() -> Self {
        Self(["shmiop", "uiop", "*", "iiop"].map(str::to_owned).into())
    }
}

impl ProtocolPreference {
    /// The place of GIOP over the transport of this scheme, or of the message protocol of a name
    /// over it: the least first. Such a one stands where it is named (`giopl+uiop`; GIOPlite over
    /// TCP also as `giopl`), else just before GIOP over the same transport.
    #[must_use]
    pub fn rank(&self, messages: Option<&str>, transport: &str) -> usize {
        let place = |wanted: &str| self.0.iter().position(|known| known == wanted);
        let of_giop = || place(transport).or_else(|| place("*")).unwrap_or(self.0.len());
        let Some(messages) = messages else { return 2 * of_giop() + 1 };
        let short = (transport == "iiop" && messages == GIOPLITE).then_some(GIOPLITE);
        let named = place(&format!("{messages}+{transport}")).or_else(|| place(short?));
        named.map_or_else(|| 2 * of_giop(), |place| 2 * place + 1)
    }
}

impl SettingValue for ProtocolPreference {
    const KIND: &'static str = "schemes with commas, `*` for all others: `shmiop,uiop,*,iiop`";

    fn parse(text: &str) -> Result<Self, String> {
        let is_scheme = |text: &str| {
            text == "*"
                || text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '+')
        };
        let schemes = items(text, |scheme| match is_scheme(scheme) {
            true => Ok(scheme.to_owned()),
            false => Err(format!("`{scheme}` is no scheme, as `iiop` is")),
        })?;
        match (1..schemes.len()).find(|i| schemes[..*i].contains(&schemes[*i])) {
            Some(twice) => Err(format!("`{}` is named twice", schemes[twice])),
            None => Ok(Self(schemes)),
        }
    }

    fn show(&self) -> String {
        self.0.join(",")
    }
}
