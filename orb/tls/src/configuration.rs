//! What connections are opened and accepted with, made of the files, and made anew when these have
//! changed.
//!
//! Each connection is judged in full: no session is resumed, so a certificate that was revoked or
//! has expired opens no new one. TLS 1.3 and 1.2, no early data, no ALPN.

use crate::files::{Contents, Files, Stamps};
use crate::identity;
use crate::verifier::{AnyHost, Readable};
use corbie_settings::{Settings, TlsClients};
use corbie_threads::lock::{Guard, Ranked, rank};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How long before its end the own certificate is warned of.
const SOON: Duration = Duration::from_secs(30 * 24 * 3600);
/// How often.
const DAY: Duration = Duration::from_secs(24 * 3600);
/// How often the files are looked at where no connection has them looked at.
const MINUTE: Duration = Duration::from_secs(60);

/// The configurations of one ORB.
#[derive(Debug)]
pub(crate) struct Configuration {
    files: Files,
    clients: TlsClients,
    any_host: bool,
    current: Ranked<rank::Leaf, Current>,
}

#[derive(Debug)]
struct Current {
    made: Made,
    /// The files as they were when they were read last, whatever came of it.
    stamps: Stamps,
    /// When the files were looked at by the clock alone.
    looked: Instant,
    /// When the end of the own certificate was looked at.
    warned: Instant,
}

/// What a set of files makes possible; each side says why not, where it is not.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) client: Result<Arc<ClientConfig>, String>,
    pub(crate) server: Result<Arc<ServerConfig>, String>,
    /// Whose certificate of the own chain ends first, and when.
    first_end: Option<(Arc<str>, SystemTime)>,
}

impl Configuration {
    /// Reads the files.
    ///
    /// # Errors
    /// A sentence that names the setting and the file.
    pub(crate) fn new(settings: &Settings) -> Result<Self, String> {
        let files = Files::of(settings);
        let stamps = files.stamps();
        let (clients, any_host) = (settings.tls_clients, settings.tls_any_host);
        let made = Made::of(files.read()?, clients, any_host)?;
        made.warn_of_end();
        let now = Instant::now();
        let current = Ranked::new(Current { made, stamps, looked: now, warned: now });
        Ok(Self { files, clients, any_host, current })
    }

    /// Whether a client can use TLS at all.
    pub(crate) fn client_is_ready(&self) -> bool {
        self.lock().made.client.is_ok()
    }

    /// When the first certificate of the own chain ends; `None`: there is none.
    pub(crate) fn expiry(&self) -> Option<SystemTime> {
        self.lock().made.first_end.as_ref().map(|(_, end)| *end)
    }

    /// What is to be used now: files that have changed are read again. When they cannot be used,
    /// the log says so, once for each change, and what there was stays.
    pub(crate) fn current(&self) -> Made {
        if self.files.are_named() {
            self.read_what_changed();
        }
        self.lock().made.clone()
    }

    /// Reads the files, changed or not; whether any is named.
    ///
    /// # Errors
    /// A sentence that names the setting and the file; what there was stays.
    pub(crate) fn reload(&self) -> Result<bool, String> {
        if self.files.are_named() {
            let stamps = self.files.stamps();
            self.lock().stamps = stamps;
            self.read(stamps)?;
        }
        Ok(self.files.are_named())
    }

    /// Called once a second: looks at the files once a minute, and says once a day that the own
    /// certificate ends soon, also where no connection comes.
    pub(crate) fn look(&self, now: Instant) {
        let (look, warn) = {
            let mut current = self.lock();
            (is_due(&mut current.looked, now, MINUTE), is_due(&mut current.warned, now, DAY))
        };
        if look && self.files.are_named() {
            self.read_what_changed();
        }
        if warn {
            let made = self.lock().made.clone();
            made.warn_of_end();
        }
    }

    fn read_what_changed(&self) {
        // Not under the lock, as other connections need it. Two threads may read the same.
        let stamps = self.files.stamps();
        if std::mem::replace(&mut self.lock().stamps, stamps) == stamps {
            return;
        }
        match self.read(stamps) {
            Ok(()) => tracing::info!("certificates were read again, as their files have changed"),
            Err(why) => tracing::warn!(
                "the certificates that were in use stay, as the files have changed and cannot be \
                 used: {why}"
            ),
        }
    }

    /// Reads the files, whose stamps were `stamps` before. Where another thread has seen newer ones
    /// since, what they held then is its to set, and nothing is changed here.
    fn read(&self, stamps: Stamps) -> Result<(), String> {
        let made = Made::of(self.files.read()?, self.clients, self.any_host)?;
        made.warn_of_end();
        let mut current = self.lock();
        current.warned = Instant::now();
        if current.stamps == stamps {
            current.made = made;
        }
        Ok(())
    }

    fn lock(&self) -> Guard<'_, rank::Leaf, Current> {
        self.current.lock()
    }
}

/// Whether `time` has passed since it was last due.
fn is_due(since: &mut Instant, now: Instant, time: Duration) -> bool {
    let is_due = now.saturating_duration_since(*since) >= time;
    if is_due {
        *since = now;
    }
    is_due
}

impl Made {
    fn of(read: Contents, clients: TlsClients, any_host: bool) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let roots = read.trust.as_deref().map(roots).transpose()?.map(Arc::new);
        if let Some((chain, key)) = &read.own {
            CertifiedKey::from_der(chain.clone(), key.clone_key(), &provider).map_err(unusable)?;
        }
        let first_end = read.own.as_ref().and_then(|(chain, _)| identity::first_end(chain));
        let first_end = first_end.map(|(subject, end)| (subject.into(), end));
        let client = match &roots {
            Some(roots) => Ok(client(&provider, roots, &read, any_host)?),
            None => Err("no authority is trusted; name a file of certificates with tls_trust \
                         (-ORBTlsTrust)"
                .to_owned()),
        };
        let server = match &read.own {
            None => Err("a server needs a certificate; name one with tls_certificate \
                         (-ORBTlsCertificate)"
                .to_owned()),
            Some(_) if roots.is_none() && clients != TlsClients::None => {
                Err("clients are judged by authorities; name a file of them with tls_trust \
                     (-ORBTlsTrust), or set tls_clients to none"
                    .to_owned())
            }
            Some(_) => Ok(server(&provider, roots.as_ref(), &read, clients)?),
        };
        Ok(Self { client, server, first_end })
    }

    /// Tells the log that the own certificate ends soon, or has ended.
    fn warn_of_end(&self) {
        let Some((subject, end)) = &self.first_end else { return };
        let setting = "tls_certificate";
        match end.duration_since(SystemTime::now()) {
            Ok(left) if left > SOON => {}
            Ok(left) => tracing::warn!(
                setting,
                "the certificate {subject:?} (tls_certificate) expires in {} days; renew it, and \
                 write the new one into the same files",
                left.as_secs() / DAY.as_secs()
            ),
            Err(_) => tracing::warn!(
                setting,
                "the certificate {subject:?} (tls_certificate) has expired: peers refuse it; renew \
                 it, and write the new one into the same files"
            ),
        }
    }
}

fn roots(trusted: &[CertificateDer<'static>]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        let added = roots.add(certificate.clone());
        added.map_err(|error| format!("tls_trust has a certificate of no authority: {error}"))?;
    }
    Ok(roots)
}

fn client(
    provider: &Arc<CryptoProvider>,
    roots: &Arc<RootCertStore>,
    read: &Contents,
    any_host: bool,
) -> Result<Arc<ClientConfig>, String> {
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider))
            .with_crls(read.revoked.iter().cloned())
            .enforce_revocation_expiration()
            .build()
            .map_err(|error| format!("tls_trust or tls_revocation cannot be used: {error}"))?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match any_host {
        false => builder.with_webpki_verifier(verifier),
        true => builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyHost(verifier))),
    };
    let mut config = match &read.own {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            builder.with_client_auth_cert(chain.clone(), key.clone_key()).map_err(unusable)?
        }
    };
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn server(
    provider: &Arc<CryptoProvider>,
    roots: Option<&Arc<RootCertStore>>,
    read: &Contents,
    clients: TlsClients,
) -> Result<Arc<ServerConfig>, String> {
    let builder = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match roots.filter(|_| clients != TlsClients::None) {
        None => builder.with_no_client_auth(),
        Some(roots) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(
                Arc::clone(roots),
                Arc::clone(provider),
            )
            .with_crls(read.revoked.iter().cloned())
            .enforce_revocation_expiration();
            let verifier = match clients {
                TlsClients::Requested => verifier.allow_unauthenticated(),
                _ => verifier,
            };
            let verifier = verifier
                .build()
                .map_err(|error| format!("tls_trust or tls_revocation cannot be used: {error}"))?;
            builder.with_client_cert_verifier(Arc::new(Readable(verifier)))
        }
    };
    let Some((chain, key)) = &read.own else { return Err("there is no certificate".to_owned()) };
    let mut config = builder.with_single_cert(chain.clone(), key.clone_key()).map_err(unusable)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn unusable(error: rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            "the key of tls_key is not that of the certificate of tls_certificate".to_owned()
        }
        error => format!("tls_certificate and tls_key cannot be used: {error}"),
    }
}
