//! How much a profile holds, found without keeping anything of it: a reference from a peer is
//! measured before memory is taken for its parts.

use corbie_cdr::{Decoder, Error};

use super::component_tag;
use super::security::count_tls_addresses;

/// How much a profile in the form of IIOP or UIOP holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileExtent {
    /// Octets of the object key.
    pub object_key: usize,
    /// Addresses: its own, alternate ones, and those of TLS.
    pub addresses: usize,
    /// Components of any kind.
    pub components: usize,
}

impl ProfileExtent {
    /// Of an IIOP profile body.
    ///
    /// # Errors
    /// When the octets are no such body.
    pub fn of_iiop(data: &[u8]) -> Result<Self, Error> {
        Self::measure(data, |d| {
            d.read_string_octets()?;
            d.read_ushort().map(drop)
        })
    }

    /// Of a profile body in the form of UIOP.
    ///
    /// # Errors
    /// When the octets are no such body.
    pub fn of_uiop(data: &[u8]) -> Result<Self, Error> {
        Self::measure(data, |d| d.read_string_octets().map(drop))
    }

    /// The object key of an IIOP profile body, without a look at what stands behind it.
    ///
    /// # Errors
    /// When the octets do not begin as such a body.
    pub fn key_of_iiop(data: &[u8]) -> Result<&[u8], Error> {
        let mut d = Decoder::from_encapsulation(data)?;
        d.read_octet()?;
        d.read_octet()?;
        d.read_string_octets()?;
        d.read_ushort()?;
        d.read_octet_sequence()
    }

    fn measure(
        data: &[u8],
        pass_address: impl FnOnce(&mut Decoder<'_>) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let mut d = Decoder::from_encapsulation(data)?;
        d.read_octet()?;
        let minor_version = d.read_octet()?;
        pass_address(&mut d)?;
        let object_key = d.read_octet_sequence()?.len();
        let components =
            if minor_version == 0 || d.remaining() == 0 { 0 } else { d.read_length(8)? };
        let mut addresses = 1;
        for _ in 0..components {
            let (tag, data) = (d.read_ulong()?, d.read_octet_sequence()?);
            addresses += match tag {
                component_tag::ALTERNATE_IIOP_ADDRESS | component_tag::SSL_SEC_TRANS => 1,
                // One that cannot be read has no address.
                component_tag::CSI_SEC_MECH_LIST => count_tls_addresses(data).unwrap_or_default(),
                _ => 0,
            };
        }
        Ok(Self { object_key, addresses, components })
    }
}
