//! Object ids that no peer can work out from others: a name, and 128 bits of a keyed hash of it.
//!
//! Used by `poa` for the ids of `SYSTEM_ID` under [`crate::SystemIds::Secret`], and by
//! applications, such as the event services, that choose ids of their own.

use corbie_types::{SystemException, minor};
use siphasher::sip128::{Hasher128 as _, SipHasher24};
use std::fmt;
use std::fmt::Write as _;
use std::hash::Hasher as _;

/// Makes object ids of names that peers may know: of one name always the same id, which no peer
/// finds that does not have the secret (SipHash-2-4 with 128 bits of key and of result). An
/// application that keeps the secret makes the same ids in its next life.
///
/// ```
/// use corbie_poa::IdSecret;
///
/// let secret = IdSecret::new(b"16 random octets");
/// assert_ne!(secret.id("account/1"), secret.id("account/2"));
/// assert!(secret.id("account/1").starts_with("account/1."));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct IdSecret([u8; IdSecret::OCTETS]);

impl IdSecret {
    /// How long a secret is.
    pub const OCTETS: usize = 16;

    /// The secret of these octets, which were random when they were made.
    #[must_use]
    pub fn new(octets: &[u8; Self::OCTETS]) -> Self {
        Self(*octets)
    }

    /// A new one, of random numbers of the operating system.
    ///
    /// # Errors
    /// `INTERNAL` when the operating system has none to give.
    pub fn random() -> Result<Self, SystemException> {
        let mut octets = [0; Self::OCTETS];
        getrandom::fill(&mut octets).map_err(|error| {
            minor::INTERNAL_STATE
                .no(format!("the operating system gave no random octets for object ids: {error}"))
        })?;
        Ok(Self(octets))
    }

    /// Its octets, to be kept where only the application reads them.
    #[must_use]
    pub fn octets(&self) -> &[u8; Self::OCTETS] {
        &self.0
    }

    /// The object id of `name`: the name, a point, and 32 hexadecimal digits.
    #[must_use]
    pub fn id(&self, name: &str) -> String {
        let mut id = String::with_capacity(name.len() + 1 + 2 * Self::OCTETS);
        id.push_str(name);
        id.push('.');
        for octet in self.hash(name.as_bytes()) {
            // Writing to a string does not fail.
            let _ = write!(id, "{octet:02x}");
        }
        id
    }

    pub(crate) fn hash(&self, name: &[u8]) -> [u8; 16] {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(name);
        hasher.finish128().as_bytes()
    }
}

impl fmt::Debug for IdSecret {
    /// Without the octets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::IdSecret;

    /// The vectors of the authors of SipHash for 128 bits: key 00 to 0f, input 00, 00 01, and so
    /// on.
    #[test]
    fn hashes_are_those_of_siphash_2_4_with_128_bits() {
        let secret = IdSecret::new(&std::array::from_fn(|at| at as u8));
        let hex = |input: &[u8]| -> String {
            secret.hash(input).iter().map(|octet| format!("{octet:02x}")).collect()
        };
        assert_eq!(hex(&[]), "a3817f04ba25a8e66df67214c7550293");
        assert_eq!(hex(&[0]), "da87c1d86b99af44347659119b22fc45");
    }

    #[test]
    fn each_secret_makes_ids_of_its_own_and_the_same_again() {
        let (one, other) = (IdSecret::random().unwrap(), IdSecret::random().unwrap());
        assert_eq!(one.id("1/2"), IdSecret::new(one.octets()).id("1/2"));
        assert_ne!(one.id("1/2"), other.id("1/2"));
        assert_ne!(one.id("1/2").split('.').nth(1), one.id("1/3").split('.').nth(1));
        assert_eq!(one.id("1/2").len(), "1/2.".len() + 32);
        assert_eq!(format!("{one:?}"), "IdSecret(..)");
    }
}
