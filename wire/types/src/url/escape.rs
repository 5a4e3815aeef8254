//! Escapes of object keys and names in URLs: `%` and two hexadecimal digits, as RFC 2396 and
//! CORBA 3.3 P2 §7.6.10.1 say. Used by the URL parser and by what prints URLs.

use super::UrlError;
use super::stringified_ior::hex_digit;

/// Characters that stand for themselves besides letters and digits (CORBA 3.3 P2 §7.6.10.1).
const PLAIN: &[u8] = b";/:?@&=+$,-_.!~*'()";

fn is_plain(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || PLAIN.contains(&octet)
}

/// Escapes everything but letters, digits and the characters that the specification lists.
#[must_use]
pub fn escape(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    for octet in octets {
        if is_plain(*octet) {
            text.push(char::from(*octet));
        } else {
            text.push_str(&format!("%{octet:02x}"));
        }
    }
    text
}

/// Resolves the escapes of a key or name that begins at `at` of the whole text.
///
/// # Errors
/// For a `%` without two hexadecimal digits, and for characters that must be escaped.
pub fn unescape(text: &str, at: usize) -> Result<Vec<u8>, UrlError> {
    resolve(text, at, false)
}

/// The same, but every character may stand for itself: for file paths.
pub(super) fn unescape_leniently(text: &str, at: usize) -> Result<Vec<u8>, UrlError> {
    resolve(text, at, true)
}

fn resolve(text: &str, at: usize, lenient: bool) -> Result<Vec<u8>, UrlError> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let place = at + text.len() - rest.len();
        rest = match *first {
            b'%' => {
                let (octet, behind) = escaped(behind).ok_or_else(|| bad_escape(text, place, at))?;
                octets.push(octet);
                behind
            }
            octet if lenient || is_plain(octet) => {
                octets.push(octet);
                behind
            }
            octet => return Err(not_plain(text, octet, place, at)),
        };
    }
    Ok(octets)
}

fn escaped(behind: &[u8]) -> Option<(u8, &[u8])> {
    match behind {
        [high, low, rest @ ..] => Some((hex_digit(*high)? << 4 | hex_digit(*low)?, rest)),
        _ => None,
    }
}

fn bad_escape(text: &str, place: usize, at: usize) -> UrlError {
    let found: String = text.get(place - at..).unwrap_or_default().chars().take(3).collect();
    UrlError::specific(place, format!("{found:?}"), "% and two hexadecimal digits")
}

fn not_plain(text: &str, octet: u8, place: usize, at: usize) -> UrlError {
    let shown = text.get(place - at..).and_then(|rest| rest.chars().next());
    let shown = shown.unwrap_or(char::REPLACEMENT_CHARACTER);
    UrlError::specific(place, format!("{shown:?}"), format!("it escaped, as %{octet:02x}"))
}
