//! What a certificate says of its owner: subject, alternative names, and until when it is good.
//!
//! `link` asks for that of a peer, `configuration` for the end of the own one.

use corbie_transport::PeerCertificate;
use rustls::pki_types::CertificateDer;
use std::net::IpAddr;
use std::time::SystemTime;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// What the certificate that a peer has proven to own says; `None`: it cannot be read, or its
/// alternative names cannot, though `rustls` takes it.
pub(crate) fn of(certificate: &CertificateDer<'_>) -> Option<PeerCertificate> {
    let certificate = Certificate::from_der(certificate).ok()?.tbs_certificate;
    let subject = certificate.subject.to_string();
    let names = match certificate.get::<SubjectAltName>().ok()? {
        Some((_, names)) => names.0.iter().filter_map(name).collect(),
        None => Vec::new(),
    };
    Some(PeerCertificate { subject, names })
}

fn name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.to_string()),
        GeneralName::Rfc822Name(name) => Some(name.to_string()),
        GeneralName::UniformResourceIdentifier(name) => Some(name.to_string()),
        GeneralName::DirectoryName(name) => Some(name.to_string()),
        GeneralName::IpAddress(octets) => {
            let octets = octets.as_bytes();
            let ipv4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
            let address = ipv4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

/// Subject and end of that certificate of a chain which ends first; `None`: none can be read.
pub(crate) fn first_end(chain: &[CertificateDer<'_>]) -> Option<(String, SystemTime)> {
    let end = |certificate: &CertificateDer<'_>| {
        let certificate = Certificate::from_der(certificate).ok()?.tbs_certificate;
        let end = certificate.validity.not_after.to_system_time();
        Some((certificate.subject.to_string(), end))
    };
    chain.iter().filter_map(end).min_by_key(|(_, end)| *end)
}
