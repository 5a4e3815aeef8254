//! The addresses and names that settings carry: what to publish, initial references.
//!
//! Read by `settings`; names are resolved by the transport, not here.

use std::net::IpAddr;
use std::str::FromStr;

use corbie_types::{SystemException, minor};

use crate::value::SettingValue;

/// Splits `host`, `host:port`, `:port`, `[v6]`, `[v6]:port` or nothing.
pub(crate) fn split_host(text: &str) -> Result<(Option<&str>, Option<u16>), String> {
    let (host, port) = if let Some(inside) = text.strip_prefix('[') {
        let (host, after) =
            inside.split_once(']').ok_or_else(|| format!("`{text}` has no closing `]`"))?;
        if !is_ipv6(host) {
            return Err(format!("`{host}` in brackets is not an IPv6 address"));
        }
        let port = match after {
            "" => None,
            _ => Some(after.strip_prefix(':').ok_or("only `:port` can follow `]`")?),
        };
        (host, port)
    } else if text.matches(':').count() > 1 {
        return Err(format!("an IPv6 address stands in brackets: `[{text}]`"));
    } else {
        match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        }
    };
    if let Some(wrong) = host.chars().find(|c| c.is_whitespace() || "/@?#".contains(*c)) {
        return Err(format!("`{wrong}` cannot stand in the host `{host}`"));
    }
    let port = match port {
        None | Some("") => None,
        Some(port) => {
            Some(port.parse::<u16>().map_err(|_| format!("the port `{port}` is not 0 to 65535"))?)
        }
    };
    Ok((Some(host).filter(|host| !host.is_empty()), port))
}

/// An IPv6 address, perhaps with a scope (`fe80::1%eth0`).
fn is_ipv6(host: &str) -> bool {
    let address = host.split_once('%').map_or(host, |(address, _)| address);
    address.parse::<std::net::Ipv6Addr>().is_ok()
}

/// Whether a host is no single place: nothing, `*`, `0.0.0.0`, `::`, and `0` as resolvers read it.
pub(crate) fn means_every_interface(host: &str) -> bool {
    let zeros = host.bytes().all(|b| b == b'0' || b == b'.');
    let unspecified = |a: IpAddr| a.to_canonical().is_unspecified();
    zeros || host == "*" || host.parse::<IpAddr>().is_ok_and(unspecified)
}

pub(crate) fn show_host(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// The items of a list with commas; at least one.
pub(crate) fn items<T>(
    text: &str,
    one: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let items = items.map(one).collect::<Result<Vec<_>, _>>()?;
    if items.is_empty() { Err("it is empty".to_owned()) } else { Ok(items) }
}

impl FromStr for PublishedAddress {
    type Err = SystemException;

    /// Reads one address, `host` or `host:port`. Fails with BAD_PARAM, COMPLETED_NO.
    fn from_str(text: &str) -> Result<Self, SystemException> {
        Self::parse_one(text).map_err(|why| minor::BAD_PARAM_ARGUMENT.no(why))
    }
}

/// An address that is written into references whatever is listened on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PublishedAddress {
    /// A name or an address without brackets; never a wildcard.
    pub host: String,
    /// `None`: the port listened on.
    pub port: Option<u16>,
}

impl PublishedAddress {
    fn parse_one(text: &str) -> Result<Self, String> {
        let (host, port) = split_host(text)?;
        let host = host.ok_or("a published address needs a host")?;
        let address = Self { host: host.to_owned(), port };
        address.check()?;
        Ok(address)
    }

    /// Refuses what no peer can connect to, also when it came from a builder.
    pub(crate) fn check(&self) -> Result<(), String> {
        if means_every_interface(&self.host) {
            return Err(format!("no peer can connect to the host `{}`", self.host));
        }
        if self.port == Some(0) {
            return Err("no peer can connect to port 0".to_owned());
        }
        Ok(())
    }
}

impl SettingValue for Vec<PublishedAddress> {
    const KIND: &'static str = "addresses: `host`, `host:port`, `[2001:db8::1]:2809`";
    const LIST: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        items(text, PublishedAddress::parse_one)
    }

    fn show(&self) -> String {
        let one = |a: &PublishedAddress| match a.port {
            Some(port) => format!("{}:{port}", show_host(&a.host)),
            None => show_host(&a.host),
        };
        self.iter().map(one).collect::<Vec<_>>().join(",")
    }

    fn add(&mut self, later: Self) {
        self.extend(later);
    }
}

/// A name that `resolve_initial_references` knows, and its URL (CORBA 3.3 P1 §8.5.3.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InitialReference {
    /// For example `NameService`.
    pub name: String,
    /// `IOR:…`, `corbaloc:…`, `corbaname:…` or `file:…`.
    pub url: String,
}

/// The schemes of object URLs (CORBA 3.3 P2 §7.6.10).
const SCHEMES: [&str; 4] = ["ior:", "corbaloc:", "corbaname:", "file:"];

/// Checks that a text could be an object URL, or names the schemes.
pub(crate) fn check_object_url(url: &str) -> Result<(), String> {
    let lower = url.to_ascii_lowercase();
    if SCHEMES.iter().any(|scheme| lower.starts_with(scheme)) {
        return Ok(());
    }
    Err(format!("`{url}` does not begin with `IOR:`, `corbaloc:`, `corbaname:` or `file:`"))
}

impl SettingValue for Vec<InitialReference> {
    const KIND: &'static str = "`NAME=URL`, as in `NameService=corbaloc::host:2809/NameService`";
    const LIST: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        let (name, url) = text.split_once('=').ok_or("there is no `=`")?;
        let (name, url) = (name.trim(), url.trim());
        if name.is_empty() {
            return Err("there is no name before `=`".to_owned());
        }
        check_object_url(url)?;
        Ok(vec![InitialReference { name: name.to_owned(), url: url.to_owned() }])
    }

    fn show(&self) -> String {
        let one = |r: &InitialReference| format!("{}={}", r.name, r.url);
        self.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    fn add(&mut self, later: Self) {
        for reference in later {
            self.retain(|earlier| earlier.name != reference.name);
            self.push(reference);
        }
    }

    fn take_from_lower(&mut self, lower: Self) {
        for reference in lower {
            if self.iter().all(|higher| higher.name != reference.name) {
                self.push(reference);
            }
        }
    }
}
