//! How etcd is reached, and as whom: TLS with the authorities that are trusted, a certificate of
//! the server's own, a user with a password from a file.

use crate::store::StoreError;
use rustls::crypto::ring;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

/// The longest file that is read, in octets.
const FILE_OCTETS_MAX: u64 = 1 << 20;

/// How the members of etcd are reached, and as whom. Without `trust`: in plain text, as anyone.
#[derive(Clone, Debug, Default)]
pub struct EtcdAccess {
    /// The authorities, in PEM, one of which has to have made the certificate of each member; the
    /// certificate has to be for the host that its URL names. With it all is sent over TLS (1.3 or
    /// 1.2), never in plain text.
    pub trust: Option<PathBuf>,
    /// The server's own certificate, in PEM, for an etcd with `--client-cert-auth`, with those
    /// between it and the authority; and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// The user of etcd, where it has authentication enabled.
    pub user: Option<EtcdUser>,
}

/// A user of etcd.
#[derive(Clone, Debug)]
pub struct EtcdUser {
    /// As in `etcdctl user add`.
    pub name: String,
    /// Its first line is the password. It is read whenever etcd wants to be told who asks, so it
    /// can be replaced while the server runs.
    pub password_file: PathBuf,
}

impl EtcdAccess {
    /// That members with these URLs can be asked like this.
    pub(super) fn check(&self, members: &[String]) -> Result<(), StoreError> {
        let is_secret = self.trust.is_some();
        if !is_secret && (self.user.is_some() || self.certificate.is_some()) {
            let why = "a user or a certificate for etcd needs the authorities that are trusted: \
                       a password is not sent in plain text";
            return Err(StoreError::Failed(why.to_owned()));
        }
        let scheme = if is_secret { "https://" } else { "http://" };
        match members.iter().find(|member| !member.starts_with(scheme)) {
            None => Ok(()),
            Some(other) => Err(StoreError::Failed(format!(
                "the member of etcd {other:?} should begin with {scheme}, as {}",
                if is_secret { "authorities are trusted" } else { "no authority is trusted" }
            ))),
        }
    }

    /// What TLS is to be like; `None` for plain text.
    pub(super) fn tls(&self) -> Result<Option<TlsConfig>, StoreError> {
        let Some(trust) = &self.trust else { return Ok(None) };
        let own = match &self.certificate {
            None => None,
            Some((chain, key)) => {
                Some(ClientCert::new_with_certs(&certificates(chain)?, private_key(key)?))
            }
        };
        let config = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .root_certs(RootCerts::new_with_certs(&certificates(trust)?))
            .client_cert(own)
            .build();
        Ok(Some(config))
    }
}

impl EtcdUser {
    pub(super) fn password(&self) -> Result<String, StoreError> {
        let octets = read(&self.password_file)?;
        let text = String::from_utf8(octets)
            .map_err(|_| unusable(&self.password_file, "a password", "it is not UTF-8"))?;
        match text.lines().next() {
            None | Some("") => {
                Err(unusable(&self.password_file, "a password", "its first line is empty"))
            }
            Some(password) => Ok(password.to_owned()),
        }
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate<'static>>, StoreError> {
    let mut found = Vec::new();
    for item in parse_pem(&read(path)?) {
        let item = item.map_err(|error| unusable(path, "certificates", error))?;
        if let PemItem::Certificate(certificate) = item {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(unusable(path, "certificates", "there is none in it (PEM is read)"));
    }
    Ok(found)
}

fn private_key(path: &Path) -> Result<PrivateKey<'static>, StoreError> {
    PrivateKey::from_pem(&read(path)?).map_err(|error| unusable(path, "a private key", error))
}

fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    use std::io::Read as _;
    let mut octets = Vec::new();
    let file = std::fs::File::open(path);
    file.and_then(|file| file.take(FILE_OCTETS_MAX + 1).read_to_end(&mut octets))
        .map_err(|error| unusable(path, "what etcd is to be told", error))?;
    if octets.len() as u64 > FILE_OCTETS_MAX {
        return Err(unusable(path, "what etcd is to be told", "it has more than 1 MiB"));
    }
    Ok(octets)
}

fn unusable(path: &Path, what: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("cannot read {what} from {}: {why}", path.display()))
}
