//! What GSS-API puts around the tokens and names of its mechanisms (RFC 2743 §3.1, §3.2): DER, of
//! which only object identifiers and definite lengths occur.

use std::fmt;

/// The object identifier 2.23.130.1.1.1, of GSSUP, in DER without tag and length
/// (CORBA 3.3 P2 §10.2.4.2).
pub const GSSUP: &[u8] = &[0x67, 0x81, 0x02, 0x01, 0x01, 0x01];

/// The object identifier 2.23.130.1.2.1, of user names with a scope, likewise.
pub const SCOPED_USERNAME: &[u8] = &[0x67, 0x81, 0x02, 0x01, 0x02, 0x01];

/// Octets of an object identifier at most.
const OID_OCTETS_MAX: usize = 64;

const TAG_OID: u8 = 0x06;
const TAG_MECHANISM_TOKEN: u8 = 0x60;
const EXPORTED_NAME: [u8; 2] = [0x04, 0x01];

/// Why octets are no token, name or object identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedToken(pub(super) &'static str);

impl fmt::Display for MalformedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the security token cannot be read: {}", self.0)
    }
}

impl std::error::Error for MalformedToken {}

/// An object identifier with its tag and length, as components of references have it.
#[must_use]
pub fn tagged_oid(oid: &[u8]) -> Vec<u8> {
    let mut octets = vec![TAG_OID];
    write_length(&mut octets, oid.len());
    octets.extend_from_slice(oid);
    octets
}

/// The `inner` token of a mechanism, in the frame of a first token.
#[must_use]
pub fn framed(mechanism: &[u8], inner: &[u8]) -> Vec<u8> {
    let oid = tagged_oid(mechanism);
    let mut octets = vec![TAG_MECHANISM_TOKEN];
    write_length(&mut octets, oid.len() + inner.len());
    octets.extend_from_slice(&oid);
    octets.extend_from_slice(inner);
    octets
}

/// The mechanism of a first token, and what is in its frame.
///
/// # Errors
/// When there is no such frame, or it ends elsewhere than the octets.
pub fn unframed(token: &[u8]) -> Result<(&[u8], &[u8]), MalformedToken> {
    let Some((&TAG_MECHANISM_TOKEN, rest)) = token.split_first() else {
        return Err(MalformedToken("it does not begin with 0x60"));
    };
    let (length, rest) = read_length(rest)?;
    if length != rest.len() {
        return Err(MalformedToken("its length is not that of its contents"));
    }
    read_tagged_oid(rest)
}

/// A name with the mechanism that it is of (`GSS_NT_ExportedName`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportedName<'a> {
    /// An object identifier, in DER without tag and length.
    pub mechanism: &'a [u8],
    /// As the mechanism writes names.
    pub name: &'a [u8],
}

impl<'a> ExportedName<'a> {
    /// The octets of the name; `None` when it is too long for its length field.
    #[must_use]
    pub fn encode(&self) -> Option<Vec<u8>> {
        let oid = tagged_oid(self.mechanism);
        let (oid_octets, name_octets) =
            (u16::try_from(oid.len()).ok()?, u32::try_from(self.name.len()).ok()?);
        let mut octets = EXPORTED_NAME.to_vec();
        octets.extend_from_slice(&oid_octets.to_be_bytes());
        octets.extend_from_slice(&oid);
        octets.extend_from_slice(&name_octets.to_be_bytes());
        octets.extend_from_slice(self.name);
        Some(octets)
    }

    /// Reads a name.
    ///
    /// # Errors
    /// When the octets are none.
    pub fn decode(octets: &'a [u8]) -> Result<Self, MalformedToken> {
        let Some((&EXPORTED_NAME, rest)) = octets.split_first_chunk() else {
            return Err(MalformedToken("an exported name begins with 0x04 0x01"));
        };
        let short = MalformedToken("an exported name ends early");
        let (oid_octets, rest) = rest.split_first_chunk().ok_or(short)?;
        let oid_octets = usize::from(u16::from_be_bytes(*oid_octets));
        let (oid, rest) = rest.split_at_checked(oid_octets).ok_or(short)?;
        let (mechanism, behind) = read_tagged_oid(oid)?;
        let (name_octets, name) = rest.split_first_chunk().ok_or(short)?;
        let name_octets = usize::try_from(u32::from_be_bytes(*name_octets)).map_err(|_| short)?;
        if !behind.is_empty() || name.len() != name_octets {
            return Err(MalformedToken("an exported name has other lengths than it says"));
        }
        Ok(ExportedName { mechanism, name })
    }
}

/// An object identifier with its tag and length: its octets, and what is behind it.
fn read_tagged_oid(octets: &[u8]) -> Result<(&[u8], &[u8]), MalformedToken> {
    let Some((&TAG_OID, rest)) = octets.split_first() else {
        return Err(MalformedToken("an object identifier begins with 0x06"));
    };
    let (length, rest) = read_length(rest)?;
    if length == 0 || length > OID_OCTETS_MAX {
        return Err(MalformedToken("an object identifier has 1 to 64 octets"));
    }
    rest.split_at_checked(length).ok_or(MalformedToken("an object identifier ends early"))
}

fn write_length(octets: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => octets.push(short),
        _ => {
            let all = length.to_be_bytes();
            let significant = all.iter().position(|octet| *octet != 0).unwrap_or(all.len() - 1);
            let significant = &all[significant..];
            // At most eight octets.
            octets.push(0x80 | u8::try_from(significant.len()).unwrap_or(8));
            octets.extend_from_slice(significant);
        }
    }
}

/// A length, and what is behind it.
fn read_length(octets: &[u8]) -> Result<(usize, &[u8]), MalformedToken> {
    let short = MalformedToken("it ends within a length");
    let (&first, rest) = octets.split_first().ok_or(short)?;
    if first < 0x80 {
        return Ok((usize::from(first), rest));
    }
    let count = usize::from(first & 0x7f);
    if count == 0 || count > 4 {
        return Err(MalformedToken("a length has a form that DER does not allow here"));
    }
    let (length, rest) = rest.split_at_checked(count).ok_or(short)?;
    let length = length.iter().fold(0, |length, octet| length << 8 | usize::from(*octet));
    Ok((length, rest))
}
