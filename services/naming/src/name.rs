//! Names as text: `id.kind/id.kind` with backslash escapes (Naming Service 1.3 §2.4), and as URLs
//! (§2.5). The grammar itself is in `corbie_types::url`, which `corbaname:` needs too.
//!
//! Used by server and client.

use crate::NameComponent;
use corbie::types::url::{self, UrlError};

/// The object key under which a server can be reached as `corbaloc::HOST:PORT/NameService`, and
/// the name of the initial reference.
pub const NAME_SERVICE: &str = "NameService";

/// Reads a name: at least one component.
///
/// # Errors
/// For a text that is no name, saying where and what should stand there.
///
/// ```
/// let name = corbie_naming::parse("stock/IBM.quoter")?;
/// assert_eq!((name[1].id.as_str(), name[1].kind.as_str()), ("IBM", "quoter"));
/// assert!(corbie_naming::parse("stock//IBM").is_err());
/// # Ok::<(), corbie::types::UrlError>(())
/// ```
pub fn parse(text: &str) -> Result<Vec<NameComponent>, UrlError> {
    if text.is_empty() {
        let needed = "at least one component".to_owned();
        let minor = corbie::minor::BAD_PARAM_URL_SCHEME_SPECIFIC;
        return Err(UrlError { at: 0, minor, found: "an empty name".to_owned(), needed });
    }
    let components = url::parse_name(text)?.into_iter();
    Ok(components.map(|url::NameComponent { id, kind }| NameComponent { id, kind }).collect())
}

/// Writes a name, with escapes where they are needed.
///
/// ```
/// use corbie_naming::{NameComponent, stringify};
/// let name = [NameComponent { id: "a/b".into(), kind: "".into() }];
/// assert_eq!(stringify(&name), r"a\/b");
/// ```
#[must_use]
pub fn stringify(name: &[NameComponent]) -> String {
    let component = |NameComponent { id, kind }: &NameComponent| url::NameComponent {
        id: id.clone(),
        kind: kind.clone(),
    };
    url::stringify_name(&name.iter().map(component).collect::<Vec<_>>())
}

/// Why [`url()`] made none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadUrl {
    /// The address is empty or malformed.
    Address(String),
    /// The name is malformed.
    Name(String),
}

/// The `corbaname:` URL of a name in the context at `address`, which is what stands in a
/// `corbaloc:` behind the colon: `:host:port/key` (§2.5.3.5). An empty name is the context itself.
///
/// # Errors
/// [`BadUrl`].
pub fn url(address: &str, name: &str) -> Result<String, BadUrl> {
    if address.is_empty() {
        return Err(BadUrl::Address("the address is empty".to_owned()));
    }
    url::parse_name(name).map_err(|error| BadUrl::Name(error.to_string()))?;
    let text = format!("corbaname:{address}");
    // A `#` in the address would begin the name.
    let read = if address.contains('#') {
        Err("the address has a `#` in it".to_owned())
    } else {
        text.parse::<corbie::ObjectUrl>().map_err(|error| error.to_string())
    };
    read.map_err(BadUrl::Address)?;
    Ok(format!("{text}#{}", url::escape(name.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_made_of_addresses_and_names() {
        let made = url(":myhost.xyz.com:9999/a/b/c", r"<a>.k/b\.c");
        assert_eq!(made.as_deref(), Ok("corbaname::myhost.xyz.com:9999/a/b/c#%3ca%3e.k/b%5c.c"));
        assert_eq!(url("rir:", "").as_deref(), Ok("corbaname:rir:#"));
        for address in ["", "nonsense", ":", ":host#", "iiop:host:99999"] {
            assert!(matches!(url(address, "a"), Err(BadUrl::Address(_))), "{address:?}");
        }
        for name in ["a//b", "a.b.c", "a\\"] {
            assert!(matches!(url(":host", name), Err(BadUrl::Name(_))), "{name:?}");
        }
    }
}
