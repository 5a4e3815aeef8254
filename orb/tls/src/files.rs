//! The files of an ORB's certificates: reading them, and noticing that they have changed.
//!
//! Used by `configuration` alone, which makes of them what connections are opened with.

use corbie_settings::Settings;
use p12_keystore::KeyStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

/// Where certificates, keys and lists are: the settings `tls_…`.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    certificate: Option<String>,
    key: Option<String>,
    password: Option<String>,
    trust: Option<String>,
    revocation: Option<String>,
}

/// What the files held.
#[derive(Debug)]
pub(crate) struct Contents {
    /// The own certificate, those that lead to its authority, and its key.
    pub(crate) own: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    /// Of authorities; `None`: the setting names no file.
    pub(crate) trust: Option<Vec<CertificateDer<'static>>>,
    /// Lists of what authorities revoked.
    pub(crate) revoked: Vec<CertificateRevocationListDer<'static>>,
}

/// What shows that a file is another than before: time of change, length, number.
type Stamp = Option<(SystemTime, u64, u64)>;

/// Those of all files.
pub(crate) type Stamps = [Stamp; 5];

impl Files {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            certificate: settings.tls_certificate.clone(),
            key: settings.tls_key.clone(),
            password: settings.tls_password.clone(),
            trust: settings.tls_trust.clone(),
            revocation: settings.tls_revocation.clone(),
        }
    }

    /// Whether any is named: without one there is nothing to speak TLS with.
    pub(crate) fn are_named(&self) -> bool {
        self.certificate.is_some() || self.trust.is_some()
    }

    /// How the files are now.
    pub(crate) fn stamps(&self) -> Stamps {
        let stamp = |path: Option<&str>| {
            let found = fs::metadata(path?).ok()?;
            Some((found.modified().ok()?, found.len(), found.ino()))
        };
        let password = self.password.as_deref().and_then(|from| from.strip_prefix("file:"));
        let own = [self.certificate.as_deref(), self.key.as_deref(), password];
        let [certificate, key, password] = own.map(stamp);
        let [trust, revocation] = [self.trust.as_deref(), self.revocation.as_deref()].map(stamp);
        [certificate, key, password, trust, revocation]
    }

    /// Reads them all.
    ///
    /// # Errors
    /// A sentence that names the setting and the file.
    pub(crate) fn read(&self) -> Result<Contents, String> {
        let own = self.certificate.as_deref().map(|path| self.own(path)).transpose()?;
        let trust = self.trust.as_deref().map(|path| certificates("tls_trust", path));
        let revoked = match self.revocation.as_deref() {
            None => Vec::new(),
            Some(path) => {
                let data = read("tls_revocation", path)?;
                let lists = CertificateRevocationListDer::pem_slice_iter(&data);
                some(lists.collect(), "tls_revocation", path, "list of revoked certificates")?
            }
        };
        Ok(Contents { own, trust: trust.transpose()?, revoked })
    }

    fn own(
        &self,
        path: &str,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let data = read("tls_certificate", path)?;
        if data.first() == Some(&DER_SEQUENCE) {
            return self.own_in_pkcs12(&data, path);
        }
        let chain = CertificateDer::pem_slice_iter(&data);
        let chain = some(chain.collect(), "tls_certificate", path, "certificate")?;
        let (setting, path, data) = match self.key.as_deref() {
            Some(key) => ("tls_key", key, read("tls_key", key)?),
            None => ("tls_key (without it, the file of tls_certificate)", path, data),
        };
        let key = PrivateKeyDer::from_pem_slice(&data).map_err(|error| match error {
            pem::Error::NoItemsFound => format!(
                "{setting}: {path} has no private key in PEM that is not encrypted; \
                 `openssl pkcs8` decrypts one"
            ),
            error => format!("{setting}: {path} cannot be read: {error}"),
        })?;
        Ok((chain, key))
    }

    fn own_in_pkcs12(
        &self,
        data: &[u8],
        path: &str,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let password = self.password.as_deref().map_or(Ok(String::new()), password)?;
        let store = KeyStore::from_pkcs12(data, &password).map_err(|error| {
            format!(
                "tls_certificate: {path} is no PKCS#12 that tls_password (-ORBTlsPassword) opens: \
                 {error}"
            )
        })?;
        let (_, chain) = store.private_key_chain().ok_or_else(|| {
            format!("tls_certificate: {path} has no private key with its certificate")
        })?;
        let certificates = chain.chain().iter();
        let certificates = certificates.map(|one| one.as_der().to_vec().into()).collect();
        let key = PrivateKeyDer::try_from(chain.key().to_vec())
            .map_err(|error| format!("tls_certificate: the key in {path}: {error}"))?;
        Ok((certificates, key))
    }
}

/// The first octet of a PKCS#12 file, and of none in PEM.
const DER_SEQUENCE: u8 = 0x30;

/// What `file:PATH` or `env:NAME` holds.
fn password(from: &str) -> Result<String, String> {
    if let Some(path) = from.strip_prefix("file:") {
        let data = read("tls_password", path)?;
        let text = String::from_utf8(data).map_err(|_| format!("tls_password: {path} is no text"));
        return Ok(text?.lines().next().unwrap_or_default().to_owned());
    }
    if let Some(name) = from.strip_prefix("env:") {
        return std::env::var(name)
            .map_err(|_| format!("tls_password: there is no variable {name} in the environment"));
    }
    Err("tls_password is neither `file:PATH` nor `env:NAME`".to_owned())
}

fn certificates(setting: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let data = read(setting, path)?;
    some(CertificateDer::pem_slice_iter(&data).collect(), setting, path, "certificate")
}

fn read(setting: &str, path: &str) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{setting}: {path} cannot be read: {error}"))
}

fn some<T>(
    found: Result<Vec<T>, pem::Error>,
    setting: &str,
    path: &str,
    what: &str,
) -> Result<Vec<T>, String> {
    match found {
        Err(error) => Err(format!("{setting}: {path} cannot be read: {error}")),
        Ok(found) if found.is_empty() => Err(format!("{setting}: {path} has no {what} in PEM")),
        Ok(found) => Ok(found),
    }
}
