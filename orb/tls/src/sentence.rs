//! What went wrong, in words for people: which certificate, which host, what to try.
//!
//! Shown to callers in the text of `NO_PERMISSION`, and to the operator of a server in its log.

use rustls::{AlertDescription, CertificateError, Error};
use std::io;

/// The peer, or this side, refuses the other: `PermissionDenied`, which the ORB raises as
/// `NO_PERMISSION`.
pub(crate) fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// What became of a connection, for the side that sees `error`. `peer` is the host, or the address
/// of a client; `is_client`: this side is the client.
pub(crate) fn of(error: &Error, peer: &str, is_client: bool) -> String {
    match error {
        Error::InvalidCertificate(fault) => certificate(fault, peer, is_client),
        Error::NoCertificatesPresented => format!(
            "{peer} shows no certificate, which tls_clients (-ORBTlsClients) requires; give the \
             client one with tls_certificate, or require none"
        ),
        Error::AlertReceived(alert) => format!("{peer} {}", alerted(*alert)),
        Error::InvalidMessage(_) if is_client => format!(
            "{peer} does not speak TLS at this port ({error}); see that the reference names the \
             port of ssliop://"
        ),
        Error::InvalidMessage(_) => {
            format!("{peer} does not speak TLS ({error}); its reference is of another port")
        }
        other => format!("TLS with {peer} failed: {other}"),
    }
}

fn certificate(fault: &CertificateError, peer: &str, is_client: bool) -> String {
    use CertificateError as C;
    let of = if is_client { "the server" } else { "the client" };
    let whose = format!("the certificate of {of} {peer}");
    match fault {
        C::Expired | C::ExpiredContext { .. } => {
            format!("{whose} has expired ({fault}); it needs a new one")
        }
        C::NotValidYet | C::NotValidYetContext { .. } => {
            format!("{whose} is not valid yet ({fault}); see that both clocks are right")
        }
        C::Revoked => format!("{whose} was revoked, as tls_revocation says"),
        C::UnknownIssuer => format!(
            "{whose} is of an authority that tls_trust (-ORBTlsTrust) does not name; add the \
             certificate of the authority if it is to be trusted"
        ),
        C::UnknownRevocationStatus => format!(
            "tls_revocation has no list of the authority that made {whose}; add it to the file"
        ),
        C::ExpiredRevocationList | C::ExpiredRevocationListContext { .. } => {
            format!("the list in tls_revocation that tells of {whose} is out of date ({fault})")
        }
        C::NotValidForName | C::NotValidForNameContext { .. } => format!(
            "{whose} does not name this host ({fault}); reach the server by a name or an address \
             of its certificate, or make one that has this among its alternative names"
        ),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            format!("{whose} was not made for a peer in this role ({fault})")
        }
        other => format!("{whose} cannot be used: {other}"),
    }
}

/// Why the peer gave up, as it says.
fn alerted(alert: AlertDescription) -> &'static str {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired => {
            "wants a certificate of this process: name one with tls_certificate \
             (-ORBTlsCertificate)"
        }
        A::UnknownCA => {
            "does not trust the authority of this process's certificate: have it added there, or \
             use a certificate of one that is trusted"
        }
        A::CertificateExpired => "says that this process's certificate has expired: renew it",
        A::CertificateRevoked => "says that this process's certificate was revoked: get another",
        A::BadCertificate | A::CertificateUnknown | A::UnsupportedCertificate => {
            "does not take this process's certificate: its log says why"
        }
        A::AccessDenied => "takes no connection from this process: its log says why",
        A::ProtocolVersion => "speaks neither TLS 1.3 nor TLS 1.2: it is too old",
        A::HandshakeFailure => {
            "has no cipher suite in common with this process, or wants a certificate of it \
             (tls_certificate)"
        }
        A::DecryptError => "finds that a signature or a key of the handshake is wrong",
        _ => "ended the connection with an alert of TLS: its log may say why",
    }
}

/// Whether the peer's alert means that it did not take what was sent to it.
pub(crate) fn is_refusal(error: &Error) -> bool {
    use AlertDescription as A;
    matches!(
        error,
        Error::AlertReceived(
            A::CertificateRequired
                | A::UnknownCA
                | A::CertificateExpired
                | A::CertificateRevoked
                | A::BadCertificate
                | A::CertificateUnknown
                | A::UnsupportedCertificate
                | A::AccessDenied
                | A::DecryptError
        )
    )
}
