//! Authorities, certificates and lists of revoked ones, made for a test and kept in a folder of its
//! own: nothing is checked in that could expire.

use p12_keystore::{Certificate, KeyStore, KeyStoreEntry, PrivateKeyChain};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer,
    CustomExtension, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyIdMethod,
    KeyPair, KeyUsagePurpose, RevocationReason, RevokedCertParams, SerialNumber, date_time_ymd,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Serial numbers, and numbers of folders.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// An authority that makes certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
    der: [Vec<u8>; 2],
    serial: u64,
}

/// When a certificate is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// For decades.
    Long,
    /// No more.
    Over,
    /// Not yet.
    ToCome,
    /// For so many days from now on.
    Days(u32),
}

impl Authority {
    /// One whose certificate has this common name.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Its certificate, in PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate of the common name `subject`, or of none, for these hosts: names or addresses.
    pub fn issue(&self, subject: &str, hosts: &[&str]) -> Issued {
        self.issue_for(subject, hosts, Validity::Long)
    }

    /// As [`Authority::issue`], good at other times.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn issue_for(&self, subject: &str, hosts: &[&str], validity: Validity) -> Issued {
        self.issue_with(subject, hosts, validity, vec![])
    }

    /// A certificate whose list of alternative names has something else in it.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn issue_unreadable(&self, subject: &str) -> Issued {
        const ALTERNATIVE_NAMES: [u64; 4] = [2, 5, 29, 17];
        let list_of_null = vec![0x30, 2, 5, 0];
        let names = CustomExtension::from_oid_content(&ALTERNATIVE_NAMES, list_of_null);
        self.issue_with(subject, &[], Validity::Long, vec![names])
    }

    fn issue_with(
        &self,
        subject: &str,
        hosts: &[&str],
        validity: Validity,
        extensions: Vec<CustomExtension>,
    ) -> Issued {
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(hosts).expect("host names");
        // In place of the name that `rcgen` gives.
        params.distinguished_name = DistinguishedName::new();
        if !subject.is_empty() {
            params.distinguished_name.push(DnType::CommonName, subject);
        }
        params.distinguished_name.push(DnType::OrganizationName, "Corbie");
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.custom_extensions = extensions;
        params.use_authority_key_identifier_extension = true;
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        params.serial_number = Some(SerialNumber::from(serial));
        match validity {
            Validity::Long => {}
            Validity::Over => {
                params.not_before = date_time_ymd(2020, 1, 1);
                params.not_after = date_time_ymd(2021, 1, 1);
            }
            Validity::ToCome => params.not_before = date_time_ymd(4000, 1, 1),
            Validity::Days(days) => {
                let end =
                    std::time::SystemTime::now() + std::time::Duration::from_secs(86_400) * days;
                params.not_after = end.into();
            }
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        let der = [certificate.der().to_vec(), key.serialize_der()];
        Issued { certificate: certificate.pem(), key: key.serialize_pem(), der, serial }
    }

    /// A certificate of this authority with its key and the authority's own certificate, as
    /// PKCS#12: what other programs call a key store.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn pkcs12(&self, issued: &Issued, password: &str) -> Vec<u8> {
        key_store(Some((self, issued)), None, password)
    }

    /// Its list of revoked certificates, in PEM.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn revoking(&self, revoked: &[&Issued]) -> String {
        let revoked = revoked.iter().map(|issued| RevokedCertParams {
            serial_number: SerialNumber::from(issued.serial),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: Some(RevocationReason::KeyCompromise),
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from(NEXT.fetch_add(1, Ordering::Relaxed)),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.0).expect("a list").pem().expect("a list in PEM")
    }
}

/// A key store as PKCS#12: `own` with the authority that made it, and the certificate of an
/// authority that its owner trusts, marked as Java wants it.
///
/// # Panics
/// When it cannot be made.
pub fn key_store(
    own: Option<(&Authority, &Issued)>,
    trusted: Option<&Authority>,
    password: &str,
) -> Vec<u8> {
    let read = |der: &[u8]| Certificate::from_der(der).expect("a certificate");
    let mut store = KeyStore::new();
    if let Some((authority, issued)) = own {
        let [certificate, key] = &issued.der;
        let chain = [read(certificate), read(authority.0.der())];
        let chain = PrivateKeyChain::new(key, b"own", chain);
        store.add_entry("own", KeyStoreEntry::PrivateKeyChain(chain));
    }
    if let Some(trusted) = trusted {
        store.add_entry("trusted", KeyStoreEntry::Certificate(read(trusted.0.der())));
    }
    store.writer(password).write().expect("to write PKCS#12")
}

/// A folder of a test for its certificates; gone with it.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Default for Folder {
    fn default() -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("corbie-certificates-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Self(path)
    }
}

impl Folder {
    /// Writes a file in one step; its path.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        let other = self.0.join(format!("{name}.new"));
        fs::write(&other, contents).expect("to write a file");
        fs::rename(&other, &path).expect("to rename a file");
        path.to_str().expect("a path in UTF-8").to_owned()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The `-ORBTls…` arguments of a process with this certificate that trusts `trusted`.
    pub fn arguments(&self, name: &str, own: &Issued, trusted: &Authority) -> Vec<String> {
        [
            ("-ORBTlsCertificate", self.write(&format!("{name}.pem"), &own.certificate)),
            ("-ORBTlsKey", self.write(&format!("{name}.key"), &own.key)),
            ("-ORBTlsTrust", self.write(&format!("{name}.trust"), trusted.pem())),
        ]
        .into_iter()
        .flat_map(|(argument, path)| [argument.to_owned(), path])
        .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0); // What is left is in the folder for temporary files.
    }
}
