//! Where a server listens: an endpoint of any protocol, with options.
//!
//! Read by `settings`, listened on by `orb/core/server/listening`. The form is that of TAO and
//! JacORB (`iiop://host:port`, `uiop:///path`) and of omniORB (`giop:tcp:host:port`,
//! `giop:unix:path`). Options follow as TAO writes them: `iiop://host:port/name=value&name=value`,
//! and after a `|` where the address may have slashes: `uiop:///path|mode=0660`. A message protocol
//! other than GIOP stands before the transport: `giopl+uiop:///path`.

use std::fmt;
use std::str::FromStr;

use corbie_transport::{UnixName, UnixOptions};
use corbie_types::ior::GIOPLITE;
use corbie_types::{SystemException, minor};

use crate::endpoint::{items, means_every_interface, show_host, split_host};
use crate::value::SettingValue;

/// Where a server listens, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListenEndpoint {
    /// The message protocol.
    pub messages: ListenMessages,
    /// Transport and address.
    pub at: ListenAt,
    /// What else was said.
    pub options: EndpointOptions,
}

/// The message protocol of a [`ListenEndpoint`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ListenMessages {
    /// GIOP, unless the scheme says otherwise.
    #[default]
    Giop,
    /// `giopl+uiop://…`: GIOPlite; `giopl://host:port` is short for `giopl+iiop://host:port`.
    GiopLite,
    /// `name+iiop://…`: one that the application registers.
    Plugged(String),
}

impl ListenMessages {
    fn parse(name: &str) -> Result<Self, String> {
        if name == GIOPLITE {
            return Ok(Self::GiopLite);
        }
        let name = plain_name(name, "message protocol")?;
        Ok(Self::Plugged(name.to_owned()))
    }
}

/// Transport and address of a [`ListenEndpoint`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListenAt {
    /// `iiop://host:port`: TCP.
    Iiop(ListenHost),
    /// `ssliop://host:port`: TLS over TCP.
    Ssliop(ListenHost),
    /// `uiop:///path` or `uiop://@name`: a unix-domain socket; `None`: of a name that is free.
    Uiop(Option<UnixName>),
    /// `shmiop:///path` or `shmiop://@name`: shared memory; `None`: of a name that is free.
    Shmiop(Option<UnixName>),
    /// `scheme://address`: a transport that the application registers.
    Plugged {
        /// Its scheme.
        scheme: String,
        /// What follows `://`; perhaps nothing.
        address: String,
    },
}

/// Host and port to listen on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListenHost {
    /// A name or an address without brackets; `None`: every interface, IPv4 and IPv6.
    pub host: Option<String>,
    /// 0: the system chooses.
    pub port: u16,
}

/// Options of an endpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EndpointOptions {
    /// `priority_group=N`: only ORBs of this group find the objects behind it collocated.
    pub priority_group: Option<u32>,
    /// `mode=0660`: the permissions of a socket's file, for `uiop` and `shmiop`.
    pub mode: Option<u32>,
}

impl EndpointOptions {
    /// These options as the transport takes them.
    #[must_use]
    pub fn unix(&self) -> UnixOptions {
        self.mode.map_or_else(UnixOptions::default, |mode| UnixOptions { mode })
    }
}

impl ListenHost {
    /// Every interface, a port that the system chooses.
    #[must_use]
    pub const fn any() -> Self {
        Self { host: None, port: 0 }
    }

    /// True if it stands for more than one interface.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.host.as_deref().is_none_or(means_every_interface)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let (host, port) = split_host(text)?;
        let host = host.filter(|host| *host != "*").map(str::to_owned);
        Ok(Self { host, port: port.unwrap_or(0) })
    }
}

impl fmt::Display for ListenHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host.as_deref().map_or_else(String::new, show_host), self.port)
    }
}

impl From<ListenAt> for ListenEndpoint {
    fn from(at: ListenAt) -> Self {
        Self { messages: ListenMessages::Giop, at, options: EndpointOptions::default() }
    }
}

impl ListenEndpoint {
    /// IIOP on every interface, a port that the system chooses.
    #[must_use]
    pub fn any() -> Self {
        ListenAt::Iiop(ListenHost::any()).into()
    }

    /// IIOP on `host` and `port`.
    #[must_use]
    pub fn iiop(host: impl Into<String>, port: u16) -> Self {
        ListenAt::Iiop(ListenHost { host: Some(host.into()), port }).into()
    }

    /// TLS over TCP on every interface, a port that the system chooses.
    #[must_use]
    pub fn any_tls() -> Self {
        ListenAt::Ssliop(ListenHost::any()).into()
    }

    /// It, but for this message protocol.
    #[must_use]
    pub fn speaking(self, messages: ListenMessages) -> Self {
        Self { messages, ..self }
    }

    /// The scheme of its transport: what stands before `://`, but for a message protocol and `+`.
    #[must_use]
    pub fn transport_scheme(&self) -> &str {
        match &self.at {
            ListenAt::Iiop(_) => "iiop",
            ListenAt::Ssliop(_) => "ssliop",
            ListenAt::Uiop(_) => "uiop",
            ListenAt::Shmiop(_) => "shmiop",
            ListenAt::Plugged { scheme, .. } => scheme,
        }
    }

    /// Whether the address leaves it to the system where: two such endpoints are not the same.
    pub(crate) fn is_open(&self) -> bool {
        match &self.at {
            ListenAt::Iiop(host) | ListenAt::Ssliop(host) => host.port == 0,
            ListenAt::Uiop(name) | ListenAt::Shmiop(name) => name.is_none(),
            ListenAt::Plugged { address, .. } => address.is_empty(),
        }
    }

    fn parse_one(text: &str) -> Result<Self, String> {
        let (scheme, rest) = if let Some(rest) = text.strip_prefix("giop:tcp:") {
            ("iiop", rest)
        } else if let Some(rest) = text.strip_prefix("giop:ssl:") {
            ("ssliop", rest)
        } else if let Some(rest) = text.strip_prefix("giop:unix:") {
            ("uiop", rest)
        } else {
            text.split_once("://").ok_or_else(|| no_scheme(text))?
        };
        let (messages, scheme) = match scheme.split_once('+') {
            Some((messages, transport)) => (ListenMessages::parse(messages)?, transport),
            None if scheme == GIOPLITE => (ListenMessages::GiopLite, "iiop"),
            None => (ListenMessages::Giop, scheme),
        };
        let is_host = matches!(scheme, "iiop" | "ssliop");
        let (address, options) =
            rest.split_once(if is_host { '/' } else { '|' }).unwrap_or((rest, ""));
        let name = || (!address.is_empty()).then(|| address.parse()).transpose();
        let at = match scheme {
            "iiop" => ListenAt::Iiop(ListenHost::parse(address)?),
            "ssliop" => ListenAt::Ssliop(ListenHost::parse(address)?),
            "uiop" => ListenAt::Uiop(name()?),
            "shmiop" => ListenAt::Shmiop(name()?),
            _ => plugged(scheme, address)?,
        };
        let mut endpoint = Self::from(at).speaking(messages);
        endpoint.parse_options(options).map_err(|why| format!("`{text}`: {why}"))?;
        Ok(endpoint)
    }

    fn parse_options(&mut self, text: &str) -> Result<(), String> {
        for option in text.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option
                .split_once('=')
                .ok_or_else(|| format!("the option `{option}` has no `=`"))?;
            let has_file = matches!(self.at, ListenAt::Uiop(_) | ListenAt::Shmiop(_));
            match name {
                "priority_group" => {
                    let group = value.parse().map_err(|_| format!("`{value}` is no group"))?;
                    self.options.priority_group = Some(group);
                }
                "mode" if has_file => {
                    let mode = u32::from_str_radix(value, 8).ok().filter(|mode| *mode <= 0o777);
                    let wrong = || format!("`{value}` is no mode, as `0660` would be");
                    self.options.mode = Some(mode.ok_or_else(wrong)?);
                }
                _ => return Err(format!("there is no option `{name}` here")),
            }
        }
        Ok(())
    }
}

fn no_scheme(text: &str) -> String {
    if text.starts_with("giop:") {
        return format!("the transport of `{text}` is not known here");
    }
    format!("`{text}` names no transport; write `iiop://{text}`")
}

/// Whether there is such a transport is known when the ORB is made.
fn plugged(scheme: &str, address: &str) -> Result<ListenAt, String> {
    let scheme = plain_name(scheme, "transport")?.to_owned();
    Ok(ListenAt::Plugged { scheme, address: address.to_owned() })
}

fn plain_name<'t>(name: &'t str, what: &str) -> Result<&'t str, String> {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if name.is_empty() || name == GIOPLITE || !name.chars().all(is_letter) {
        return Err(format!("`{name}` cannot be the name of a {what}"));
    }
    Ok(name)
}

impl fmt::Display for ListenEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.messages, &self.at) {
            (ListenMessages::GiopLite, ListenAt::Iiop(_)) => write!(f, "{GIOPLITE}://")?,
            (ListenMessages::Giop, _) => write!(f, "{}://", self.transport_scheme())?,
            (ListenMessages::GiopLite, _) => {
                write!(f, "{GIOPLITE}+{}://", self.transport_scheme())?
            }
            (ListenMessages::Plugged(name), _) => {
                write!(f, "{name}+{}://", self.transport_scheme())?
            }
        }
        let mut separator = match &self.at {
            ListenAt::Iiop(host) | ListenAt::Ssliop(host) => write!(f, "{host}").map(|()| '/')?,
            ListenAt::Uiop(name) | ListenAt::Shmiop(name) => {
                name.as_ref().map_or(Ok(()), |name| write!(f, "{name}"))?;
                '|'
            }
            ListenAt::Plugged { address, .. } => f.write_str(address).map(|()| '|')?,
        };
        if let Some(group) = self.options.priority_group {
            write!(f, "{separator}priority_group={group}")?;
            separator = '&';
        }
        if let Some(mode) = self.options.mode {
            write!(f, "{separator}mode={mode:04o}")?;
        }
        Ok(())
    }
}

impl SettingValue for Vec<ListenEndpoint> {
    const KIND: &'static str =
        "endpoints: `iiop://host:port`, `iiop://[::1]:0`, `ssliop://:2810`, `uiop:///path`";
    const LIST: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(Vec::new());
        }
        items(text, ListenEndpoint::parse_one)
    }

    fn show(&self) -> String {
        if self.is_empty() {
            return "none".to_owned();
        }
        self.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    fn add(&mut self, later: Self) {
        // `none` takes back what stands before it.
        if later.is_empty() {
            self.clear();
        }
        self.extend(later);
    }
}

impl FromStr for ListenEndpoint {
    type Err = SystemException;

    /// Reads one endpoint, `iiop://host:port`. Fails with BAD_PARAM, COMPLETED_NO.
    fn from_str(text: &str) -> Result<Self, SystemException> {
        Self::parse_one(text).map_err(|why| minor::BAD_PARAM_ARGUMENT.no(why))
    }
}
