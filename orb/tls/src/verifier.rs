//! Judges certificates as `rustls` does, but for two things: where `tls_any_host` is on the name of
//! a server's is not looked at, and a client's has to be readable.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::sync::Arc;

use crate::identity;

/// Signatures are judged by the verifier within.
macro_rules! signatures_as_the_inner {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.0.verify_tls12_signature(message, cert, dss)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.0.verify_tls13_signature(message, cert, dss)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.supported_verify_schemes()
        }
    };
}

/// Takes a certificate of a trusted authority for any host.
#[derive(Debug)]
pub(crate) struct AnyHost(pub(crate) Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let inner = &self.0;
        let judged =
            inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match judged {
            // The name is looked at last: all else was found good.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    signatures_as_the_inner!();
}

/// Refuses what access rules could not read: a rule that refuses by a name would not hold for it.
#[derive(Debug)]
pub(crate) struct Readable(pub(crate) Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for Readable {
    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let judged = self.0.verify_client_cert(end_entity, intermediates, now)?;
        match identity::of(end_entity) {
            Some(_) => Ok(judged),
            None => Err(CertificateError::BadEncoding.into()),
        }
    }

    fn offer_client_auth(&self) -> bool {
        self.0.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.0.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    signatures_as_the_inner!();
}
