//! Object URLs (CORBA 3.3 P2 §7.6.10): `IOR:`, `corbaloc:`, `corbaname:` and `file:` text, parsed
//! for `string_to_object` and the initial references. Parsing only: nothing is resolved here.

mod escape;
mod stringified_ior;
mod stringified_name;

use std::fmt::{self, Write as _};
use std::str::FromStr;

use corbie_cdr::{Error, Version};

use crate::ior::{
    Address, GIOPLITE, IiopProfile, Ior, MessagesProfile, SslSecTrans, TaggedProfile, UiopProfile,
    association, profile_tag,
};
use crate::{Minor, minor};

pub use escape::{escape, unescape};
pub use stringified_name::{NameComponent, parse_name, stringify_name};

/// Where an object URL goes wrong, and what should stand there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlError {
    /// Octets of the text before that place.
    pub at: usize,
    /// The minor code of the `BAD_PARAM` that it becomes.
    pub minor: Minor,
    /// What stands there.
    pub found: String,
    /// What should stand there.
    pub needed: String,
}

impl UrlError {
    pub(crate) fn scheme(text: &str, at: usize) -> Self {
        let scheme = text.trim().split_once(':').map(|(scheme, _)| scheme);
        let found = match scheme {
            Some(scheme) if scheme.len() < 20 => format!("the scheme {scheme:?}"),
            _ => "no scheme".to_owned(),
        };
        let needed = "IOR:, corbaloc:, corbaname: or file:".to_owned();
        Self { at, minor: minor::BAD_PARAM_URL_SCHEME, found, needed }
    }

    fn address(at: usize, found: impl Into<String>, needed: impl Into<String>) -> Self {
        let minor = minor::BAD_PARAM_URL_ADDRESS;
        Self { at, minor, found: found.into(), needed: needed.into() }
    }

    fn specific(at: usize, found: impl Into<String>, needed: impl Into<String>) -> Self {
        let minor = minor::BAD_PARAM_URL_SCHEME_SPECIFIC;
        Self { at, minor, found: found.into(), needed: needed.into() }
    }
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, minor: _, found, needed } = self;
        write!(f, "at character {} of the reference: found {found}, needed {needed}", at + 1)
    }
}

impl std::error::Error for UrlError {}

impl From<UrlError> for crate::SystemException {
    fn from(error: UrlError) -> Self {
        Self::bad_param(error.minor, crate::CompletionStatus::No).with_detail(error.to_string())
    }
}

/// The port of `iiop:` addresses without one (registered as corba-iiop).
pub const DEFAULT_PORT: u16 = 2809;

/// Client and server may prove what they are.
const TRUST: u16 = association::ESTABLISH_TRUST_IN_TARGET | association::ESTABLISH_TRUST_IN_CLIENT;

/// The port of `ssliop:` addresses without one (registered as corba-iiop-ssl).
pub const DEFAULT_TLS_PORT: u16 = 684;

/// The key of `corbaname:` and `corbaloc:rir:` without one.
pub const DEFAULT_KEY: &str = "NameService";

/// One address of a `corbaloc:` (CORBA 3.3 P2 §7.6.10.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectAddress {
    /// `rir:`: the key names an initial reference.
    InitialReference,
    /// `iiop:` (or empty): a server.
    Iiop {
        /// GIOP version to speak at most; 1.0 unless given.
        version: Version,
        /// Where.
        address: Address,
    },
    /// `ssliop:`: a server that speaks TLS (CORBA 3.3 P2 §10.7).
    Ssliop {
        /// GIOP version to speak at most; 1.2 unless given, as 1.0 has no place for TLS.
        version: Version,
        /// Where.
        address: Address,
    },
    /// A protocol whose address is one string, as TAO writes it: `uiop:1.2@/path`. The key follows
    /// a `|` then, as paths have slashes.
    Rendezvous {
        /// Its name: `uiop`, `shmiop`, or the scheme of a third-party transport.
        protocol: String,
        /// GIOP version to speak at most; 1.0 unless given.
        version: Version,
        /// Where, escapes resolved.
        address: String,
    },
    /// A message protocol other than GIOP, over one of the above: `giopl+uiop:1.2@/path`.
    Spoken {
        /// Its name: `giopl`, or that of one which the ORB had registered.
        messages: String,
        /// The address; not `rir:`, nor another of these.
        over: Box<ObjectAddress>,
    },
}

impl ObjectAddress {
    /// The profile of an object with this key; `None` for `rir:`, and for protocols that only the
    /// ORB knows, which had them registered.
    ///
    /// # Errors
    /// When the address cannot be written.
    pub fn to_profile(&self, key: &[u8]) -> Result<Option<TaggedProfile>, Error> {
        match self {
            Self::InitialReference => Ok(None),
            Self::Iiop { version, address: Address { host, port } } => {
                IiopProfile::new(*version, host.clone(), *port, key).to_tagged().map(Some)
            }
            Self::Ssliop { version, address: Address { host, port } } => {
                let mut profile = IiopProfile::new(*version, host.clone(), 0, key);
                let (supports, requires) = (association::OF_TLS | TRUST, association::OF_TLS);
                let tls = SslSecTrans {
                    target_supports: supports,
                    target_requires: requires,
                    port: *port,
                };
                profile.components.push(tls.to_component()?);
                profile.to_tagged().map(Some)
            }
            Self::Rendezvous { protocol, version, address } => {
                let tag = match &**protocol {
                    "uiop" => profile_tag::UIOP,
                    "shmiop" => profile_tag::CORBIE_SHMIOP,
                    _ => return Ok(None),
                };
                let data = UiopProfile::new(*version, address.clone(), key).encode()?;
                Ok(Some(TaggedProfile { tag, data }))
            }
            Self::Spoken { messages, over } => {
                let carrier = over.to_profile(key)?;
                carrier.map(|carrier| MessagesProfile::around(messages, carrier)).transpose()
            }
        }
    }
}

/// `corbaloc:`: addresses and an object key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Corbaloc {
    /// At least one; `rir:` stands alone.
    pub addresses: Vec<ObjectAddress>,
    /// The object key, escapes resolved.
    pub key: Vec<u8>,
}

/// `corbaname:`: a naming context and the name of an object in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Corbaname {
    /// The naming context; its key is `NameService` unless given.
    pub context: Corbaloc,
    /// The stringified name, escapes resolved; empty: the context itself.
    pub name: String,
}

/// An object reference as text, parsed.
///
/// ```
/// use corbie_types::{ObjectUrl, url::ObjectAddress};
/// let ObjectUrl::Corbaloc(url) = "corbaloc:iiop:1.2@[::1]:4711/Prod%2fDesk".parse()? else {
///     unreachable!()
/// };
/// assert_eq!(url.key, b"Prod/Desk");
/// assert!(matches!(&url.addresses[0],
///     ObjectAddress::Iiop { address, .. } if address.host == "::1" && address.port == 4711));
/// # Ok::<(), corbie_types::UrlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectUrl {
    /// `IOR:` and hexadecimal digits.
    Ior(Ior),
    /// `corbaloc:`.
    Corbaloc(Corbaloc),
    /// `corbaname:`.
    Corbaname(Corbaname),
    /// `file:`: the path of a file that holds a reference as text.
    File(String),
}

impl FromStr for ObjectUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        let start = text.len() - text.trim_start().len();
        let trimmed = text.trim();
        let Some((scheme, rest)) = trimmed.split_once(':') else {
            return Err(UrlError::scheme(text, start));
        };
        let at = start + scheme.len() + 1;
        match scheme.to_ascii_lowercase().as_str() {
            "ior" => text.parse().map(Self::Ior),
            "corbaloc" => Corbaloc::parse(rest, at).map(Self::Corbaloc),
            "corbaname" => Corbaname::parse(rest, at).map(Self::Corbaname),
            "file" => file_path(rest, at).map(Self::File),
            _ => Err(UrlError::scheme(text, start)),
        }
    }
}

impl Corbaloc {
    /// Parses what follows `corbaloc:`, which stands at `at` in the whole text.
    fn parse(text: &str, at: usize) -> Result<Self, UrlError> {
        let before_key = if text.contains('|') { '|' } else { '/' };
        let (addresses, key) = match text.split_once(before_key) {
            Some((addresses, key)) => (addresses, Some((key, at + addresses.len() + 1))),
            None => (text, None),
        };
        let addresses = parse_addresses(addresses, at, before_key == '|')?;
        let key = match key {
            Some((key, at)) => unescape(key, at)?,
            None => Vec::new(),
        };
        let initial = addresses.contains(&ObjectAddress::InitialReference);
        let key = if initial && key.is_empty() { DEFAULT_KEY.into() } else { key };
        Ok(Self { addresses, key })
    }

    /// The initial reference that it names, for `rir:`.
    #[must_use]
    pub fn initial_reference(&self) -> Option<String> {
        let initial = self.addresses.contains(&ObjectAddress::InitialReference);
        initial.then(|| String::from_utf8_lossy(&self.key).into_owned())
    }

    /// A reference with one profile for each address, of unknown type; `None` for `rir:`.
    /// Addresses of protocols that only the ORB knows are left out.
    ///
    /// # Errors
    /// When an address cannot be written.
    pub fn to_ior(&self) -> Result<Option<Ior>, Error> {
        if self.addresses.contains(&ObjectAddress::InitialReference) {
            return Ok(None);
        }
        let profiles =
            self.addresses.iter().filter_map(|one| one.to_profile(&self.key).transpose());
        Ok(Some(Ior { type_id: String::new(), profiles: profiles.collect::<Result<_, _>>()? }))
    }
}

impl Corbaname {
    fn parse(text: &str, at: usize) -> Result<Self, UrlError> {
        let (context, name) = match text.split_once('#') {
            Some((context, name)) => (context, Some((name, at + context.len() + 1))),
            None => (text, None),
        };
        let mut context = Corbaloc::parse(context, at)?;
        if context.key.is_empty() {
            context.key = DEFAULT_KEY.into();
        }
        let Some((name, at)) = name else {
            return Ok(Self { context, name: String::new() });
        };
        let name = String::from_utf8(unescape(name, at)?)
            .map_err(|_| UrlError::specific(at, "escapes that are no text", "a name in UTF-8"))?;
        // Checked here, where the place is known.
        parse_name(&name).map_err(|problem| UrlError { at: at + problem.at, ..problem })?;
        Ok(Self { context, name })
    }
}

fn parse_addresses(text: &str, at: usize, has_bar: bool) -> Result<Vec<ObjectAddress>, UrlError> {
    let mut addresses = Vec::new();
    let mut place = at;
    for part in text.split(',') {
        addresses.push(parse_address(part, place, has_bar)?);
        place += part.len() + 1;
    }
    if addresses.len() > 1 && addresses.contains(&ObjectAddress::InitialReference) {
        let needed = "\"rir:\" as the only address";
        return Err(UrlError::address(at, "\"rir:\" among other addresses", needed));
    }
    Ok(addresses)
}

fn parse_address(text: &str, at: usize, has_bar: bool) -> Result<ObjectAddress, UrlError> {
    let Some((protocol, rest)) = text.split_once(':') else {
        let needed = "an address such as iiop:host:port, :host or rir:";
        return Err(UrlError::address(at, format!("{text:?}"), needed));
    };
    let rest_at = at + protocol.len() + 1;
    match protocol.to_ascii_lowercase().as_str() {
        "rir" if rest.is_empty() => Ok(ObjectAddress::InitialReference),
        "rir" => Err(UrlError::address(rest_at, format!("{rest:?}"), "nothing after \"rir:\"")),
        "" | "iiop" => {
            let (version, address) = parse_iiop(rest, rest_at, DEFAULT_PORT)?;
            Ok(ObjectAddress::Iiop { version: version.unwrap_or(Version::V1_0), address })
        }
        "ssliop" => parse_ssliop(rest, rest_at),
        GIOPLITE => {
            let (version, address) = parse_iiop(rest, rest_at, DEFAULT_PORT)?;
            let version = version.unwrap_or(Version::V1_0);
            let over = Box::new(ObjectAddress::Iiop { version, address });
            Ok(ObjectAddress::Spoken { messages: GIOPLITE.to_owned(), over })
        }
        spoken if spoken.contains('+') => parse_spoken(text, at, has_bar),
        known @ ("uiop" | "shmiop") if !has_bar => {
            let found = format!("the protocol {known:?} without a `|`");
            Err(UrlError::address(at, found, "a `|` between its address and the key"))
        }
        other if has_bar && other.bytes().all(|octet| octet.is_ascii_alphanumeric()) => {
            parse_rendezvous(other, rest, rest_at)
        }
        _ => {
            let needed = "one of the protocols iiop, ssliop, uiop and rir, or that of a transport \
                          with a `|` before the key";
            Err(UrlError::address(at, format!("the protocol {protocol:?}"), needed))
        }
    }
}

/// `giopl+uiop:1.2@/path`: the message protocol, and an address as it stands alone.
fn parse_spoken(text: &str, at: usize, has_bar: bool) -> Result<ObjectAddress, UrlError> {
    let (messages, over) = text.split_once('+').unwrap_or_default();
    let over_at = at + messages.len() + 1;
    let is_name = messages.bytes().all(|octet| octet.is_ascii_alphanumeric());
    if messages.is_empty() || !is_name {
        let found = format!("the message protocol {messages:?}");
        return Err(UrlError::address(at, found, "a name such as giopl"));
    }
    let (transport, _) = over.split_once(':').unwrap_or_default();
    if transport.contains('+') || ["", "rir", GIOPLITE].contains(&transport) {
        let found = format!("the transport {transport:?}");
        return Err(UrlError::address(over_at, found, "one behind the `+`, such as iiop or uiop"));
    }
    let over = parse_address(over, over_at, has_bar)?;
    Ok(ObjectAddress::Spoken { messages: messages.to_ascii_lowercase(), over: Box::new(over) })
}

fn parse_rendezvous(protocol: &str, text: &str, at: usize) -> Result<ObjectAddress, UrlError> {
    // An abstract name begins with an `@`, too; a version before it is not empty.
    let (version, rest, rest_at) = match text.split_once('@') {
        Some((version, rest)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            (parse_version(version, at)?, rest, at + version.len() + 1)
        }
        _ => (Version::V1_0, text, at),
    };
    let address = String::from_utf8(escape::unescape_leniently(rest, rest_at)?).map_err(|_| {
        UrlError::address(rest_at, "escapes that are no text", "an address in UTF-8")
    })?;
    if address.is_empty() || address.contains('\0') {
        return Err(UrlError::address(rest_at, format!("{rest:?}"), "an address, as /path is"));
    }
    Ok(ObjectAddress::Rendezvous { protocol: protocol.to_owned(), version, address })
}

/// What would end an address is escaped.
fn write_rendezvous(address: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for octet in address.bytes() {
        match octet {
            b'%' | b',' | b'|' | b'#' | 0..=b' ' | 0x7f.. => write!(f, "%{octet:02x}")?,
            plain => f.write_char(plain.into())?,
        }
    }
    Ok(())
}

fn parse_ssliop(text: &str, at: usize) -> Result<ObjectAddress, UrlError> {
    let (version, address) = parse_iiop(text, at, DEFAULT_TLS_PORT)?;
    match version.unwrap_or(Version::V1_2) {
        Version::V1_0 => {
            let found = "the version 1.0, whose profiles have no place for TLS";
            Err(UrlError::address(at, found, "the version 1.1 or 1.2"))
        }
        version => Ok(ObjectAddress::Ssliop { version, address }),
    }
}

/// The version, where there is one, and the address.
fn parse_iiop(
    text: &str,
    at: usize,
    default_port: u16,
) -> Result<(Option<Version>, Address), UrlError> {
    let (version, rest, rest_at) = match text.split_once('@') {
        Some((version, rest)) => (Some(parse_version(version, at)?), rest, at + version.len() + 1),
        None => (None, text, at),
    };
    let (host, port, port_at) = split_host(rest, rest_at)?;
    if host.is_empty() {
        return Err(UrlError::address(rest_at, "no host", "a host name or address"));
    }
    let port = match port {
        None => default_port,
        Some(digits) => digits.parse().ok().filter(|port| *port != 0).ok_or_else(|| {
            UrlError::address(port_at, format!("the port {digits:?}"), "a number from 1 to 65535")
        })?,
    };
    Ok((version, Address::new(host, port)))
}

/// Host, port and the place of the port; brackets around an IPv6 address are taken off.
fn split_host(text: &str, at: usize) -> Result<(&str, Option<&str>, usize), UrlError> {
    if let Some(inner) = text.strip_prefix('[') {
        let Some((host, behind)) = inner.split_once(']') else {
            let needed = "a closing bracket after the IPv6 address";
            return Err(UrlError::address(at, format!("{text:?}"), needed));
        };
        let behind_at = at + host.len() + 2;
        return match behind.strip_prefix(':') {
            Some(port) => Ok((host, Some(port), behind_at + 1)),
            None if behind.is_empty() => Ok((host, None, behind_at)),
            None => {
                let needed = "a colon and the port, or nothing";
                Err(UrlError::address(behind_at, format!("{behind:?}"), needed))
            }
        };
    }
    match text.split_once(':') {
        Some((_, port)) if port.contains(':') => {
            let needed = "brackets around an IPv6 address, as in [::1]:2809";
            Err(UrlError::address(at, format!("{text:?}"), needed))
        }
        Some((host, port)) => Ok((host, Some(port), at + host.len() + 1)),
        None => Ok((text, None, at)),
    }
}

fn parse_version(text: &str, at: usize) -> Result<Version, UrlError> {
    let parsed = text.split_once('.').and_then(|(major, minor)| {
        Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? })
    });
    match parsed {
        Some(version) if version.major == 1 => Ok(version),
        _ => Err(UrlError::address(at, format!("the version {text:?}"), "1.0, 1.1 or 1.2")),
    }
}

/// `file:///etc/ref.ior`, `file:/etc/ref.ior` and `file:ref.ior`, escapes resolved.
fn file_path(text: &str, at: usize) -> Result<String, UrlError> {
    let (path, path_at) = match text.strip_prefix("//") {
        Some(rest) => match rest.find('/') {
            Some(0) => (rest, at + 2),
            Some(slash) if rest.starts_with("localhost/") => (&rest[slash..], at + 2 + slash),
            _ => {
                let found = format!("{text:?}");
                return Err(UrlError::specific(at, found, "file:///path: the file must be here"));
            }
        },
        None => (text, at),
    };
    if path.is_empty() {
        return Err(UrlError::specific(path_at, "no path", "the path of a file"));
    }
    let path = escape::unescape_leniently(path, path_at)?;
    String::from_utf8(path)
        .map_err(|_| UrlError::specific(path_at, "escapes that are no text", "a path in UTF-8"))
}

impl fmt::Display for Corbaloc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("corbaloc:")?;
        write_location(self, f)
    }
}

fn write_location(location: &Corbaloc, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut before_key = '/';
    for (index, address) in location.addresses.iter().enumerate() {
        if index > 0 {
            f.write_str(",")?;
        }
        let address = match address {
            ObjectAddress::Spoken { messages, over } => {
                write!(f, "{messages}+")?;
                over
            }
            address => address,
        };
        match address {
            ObjectAddress::InitialReference => f.write_str("rir:")?,
            ObjectAddress::Iiop { version: Version::V1_0, address } => write!(f, "iiop:{address}")?,
            ObjectAddress::Iiop { version, address } => write!(f, "iiop:{version}@{address}")?,
            ObjectAddress::Ssliop { version, address } => write!(f, "ssliop:{version}@{address}")?,
            ObjectAddress::Rendezvous { protocol, version, address } => {
                write!(f, "{protocol}:{version}@")?;
                write_rendezvous(address, f)?;
                before_key = '|';
            }
            ObjectAddress::Spoken { .. } => {} // Parsing makes none within another.
        }
    }
    write!(f, "{before_key}{}", escape(&location.key))
}

impl fmt::Display for Corbaname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("corbaname:")?;
        write_location(&self.context, f)?;
        write!(f, "#{}", escape(self.name.as_bytes()))
    }
}

impl fmt::Display for ObjectUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ior(ior) => ior.fmt(f),
            Self::Corbaloc(url) => url.fmt(f),
            Self::Corbaname(url) => url.fmt(f),
            Self::File(path) => write!(f, "file://{}", escape(path.as_bytes())),
        }
    }
}
