//! For which user a request is made: the identity token (CORBA 3.3 P2 §10.2.4.1). Part of
//! `EstablishContext`, which reads and writes it.

use corbie_cdr::{Decoder, Encoder, Error};

/// The kinds of identity tokens, as bits of `SAS_ContextSec::supported_identity_types`.
pub mod identity_type {
    /// The client asserts none.
    pub const ABSENT: u32 = 0;
    /// A caller that has no name.
    pub const ANONYMOUS: u32 = 1;
    /// A name in a mechanism.
    pub const PRINCIPAL_NAME: u32 = 2;
    /// Certificates.
    pub const X509_CERT_CHAIN: u32 = 4;
    /// The subject of a certificate.
    pub const DISTINGUISHED_NAME: u32 = 8;
}

/// For which user a client calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityToken<'a> {
    /// For itself.
    Absent,
    /// For a caller without a name.
    Anonymous,
    /// For this one, as an exported name ([`super::gss::ExportedName`]).
    PrincipalName(&'a [u8]),
    /// For the subject of these certificates, in DER.
    CertificateChain(&'a [u8]),
    /// For this subject, in DER.
    DistinguishedName(&'a [u8]),
    /// A kind that came after this specification.
    Other {
        /// Which.
        kind: u32,
        /// In the encoding of `kind`.
        data: &'a [u8],
    },
}

impl<'a> IdentityToken<'a> {
    /// Which kind it is.
    #[must_use]
    pub fn kind(&self) -> u32 {
        match self {
            IdentityToken::Absent => identity_type::ABSENT,
            IdentityToken::Anonymous => identity_type::ANONYMOUS,
            IdentityToken::PrincipalName(_) => identity_type::PRINCIPAL_NAME,
            IdentityToken::CertificateChain(_) => identity_type::X509_CERT_CHAIN,
            IdentityToken::DistinguishedName(_) => identity_type::DISTINGUISHED_NAME,
            IdentityToken::Other { kind, .. } => *kind,
        }
    }

    pub(super) fn read(d: &mut Decoder<'a>) -> Result<Self, Error> {
        Ok(match d.read_ulong()? {
            identity_type::ABSENT => {
                d.read_boolean()?;
                IdentityToken::Absent
            }
            identity_type::ANONYMOUS => {
                d.read_boolean()?;
                IdentityToken::Anonymous
            }
            identity_type::PRINCIPAL_NAME => IdentityToken::PrincipalName(d.read_octet_sequence()?),
            identity_type::X509_CERT_CHAIN => {
                IdentityToken::CertificateChain(d.read_octet_sequence()?)
            }
            identity_type::DISTINGUISHED_NAME => {
                IdentityToken::DistinguishedName(d.read_octet_sequence()?)
            }
            kind => IdentityToken::Other { kind, data: d.read_octet_sequence()? },
        })
    }

    pub(super) fn write(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_ulong(self.kind());
        match self {
            IdentityToken::Absent | IdentityToken::Anonymous => {
                e.write_boolean(true);
                Ok(())
            }
            IdentityToken::PrincipalName(data)
            | IdentityToken::CertificateChain(data)
            | IdentityToken::DistinguishedName(data)
            | IdentityToken::Other { data, .. } => e.write_octet_sequence_copied(data),
        }
    }
}
