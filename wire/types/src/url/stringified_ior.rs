//! The `IOR:` text form: the octets of an encapsulated reference in hexadecimal
//! (CORBA 3.3 P2 §7.6.9). Used by `object_to_string` and `string_to_object`.

use std::fmt::{self, Write};
use std::str::FromStr;

use corbie_cdr::{Decoder, Marshal};

use super::UrlError;
use crate::ior::{Ior, encapsulated};

const PREFIX: &str = "IOR:";

impl fmt::Display for Ior {
    /// A NUL in the type id, which no string of CDR can have, is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = encapsulated(|e| match self.type_id.contains('\0') {
            false => self.encode_copied(e),
            true => {
                Self { type_id: self.type_id.replace('\0', ""), ..self.clone() }.encode_copied(e)
            }
        });
        let octets = encoded.map_err(|_| fmt::Error)?;
        let mut text = String::with_capacity(PREFIX.len() + 2 * octets.len());
        text.push_str(PREFIX);
        for octet in octets {
            write!(text, "{octet:02x}")?;
        }
        f.write_str(&text)
    }
}

impl FromStr for Ior {
    type Err = UrlError;

    /// Reads `IOR:` and hexadecimal digits; letters in either case, white space around it
    /// tolerated.
    fn from_str(text: &str) -> Result<Self, UrlError> {
        let start = text.len() - text.trim_start().len();
        let body = text.trim();
        let Some((prefix, digits)) = body.split_at_checked(PREFIX.len()) else {
            return Err(UrlError::scheme(text, start));
        };
        if !prefix.eq_ignore_ascii_case(PREFIX) {
            return Err(UrlError::scheme(text, start));
        }
        let octets = octets_of(digits, start + PREFIX.len())?;
        let decoded = Decoder::from_encapsulation(&octets).and_then(|mut d| Self::decode(&mut d));
        decoded.map_err(|error| UrlError {
            // Two digits for an octet.
            at: start + PREFIX.len() + 2 * error.offset(),
            minor: crate::minor::BAD_PARAM_URL_SCHEME_SPECIFIC,
            found: format!("octets that are no object reference ({error})"),
            needed: "the whole IOR as its server printed it".to_owned(),
        })
    }
}

fn octets_of(digits: &str, start: usize) -> Result<Vec<u8>, UrlError> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let mut octets = Vec::with_capacity(pairs.len());
    for (index, [high, low]) in pairs.iter().enumerate() {
        match (hex_digit(*high), hex_digit(*low)) {
            (Some(high), Some(low)) => octets.push(high << 4 | low),
            (high, _) => {
                let at = 2 * index + usize::from(high.is_some());
                return Err(not_hex(digits, at, start));
            }
        }
    }
    match rest {
        [] => return Ok(octets),
        [last] if hex_digit(*last).is_none() => {
            return Err(not_hex(digits, 2 * pairs.len(), start));
        }
        _ => {}
    }
    Err(UrlError {
        at: start + digits.len(),
        minor: crate::minor::BAD_PARAM_URL_SCHEME_SPECIFIC,
        found: format!("an odd number of digits, {}", digits.len()),
        needed: "two hexadecimal digits for each octet; the text may have been cut".to_owned(),
    })
}

fn not_hex(digits: &str, at: usize, start: usize) -> UrlError {
    let found = digits.get(at..).and_then(|rest| rest.chars().next());
    UrlError {
        at: start + at,
        minor: crate::minor::BAD_PARAM_URL_SCHEME_SPECIFIC,
        found: found.map_or("a broken character".to_owned(), |c| format!("{c:?}")),
        needed: "a hexadecimal digit; line breaks and quotes must go".to_owned(),
    }
}

/// The value of a hexadecimal digit, in either case.
pub(super) fn hex_digit(octet: u8) -> Option<u8> {
    char::from(octet).to_digit(16).map(|digit| digit as u8)
}
