//! TLS for the contenders: `rustls` alone around a TCP stream for the raw ones, and the files of
//! certificates that both sides of every contender read.
//!
//! The provider is `ring`, as in `orb/tls`; no client proves who it is.

use corbie_testkit::certificates::Authority;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};
use rustls::{StreamOwned, version};
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

/// The host that the certificate is for.
const HOST: &str = "127.0.0.1";

/// A stream with TLS around it.
pub(crate) trait Secured: Read + Write + Send {}

impl<S: Read + Write + Send> Secured for S {}

/// The files of a run, in PEM.
pub(crate) struct Files {
    /// The authority that clients trust.
    pub(crate) trust: PathBuf,
    /// The server's certificate.
    pub(crate) certificate: PathBuf,
    /// Its key.
    pub(crate) key: PathBuf,
}

/// The files beside this program; made when they are not there.
///
/// # Errors
/// What the system says.
pub(crate) fn files() -> io::Result<Files> {
    let program = std::env::current_exe()?;
    let folder = program.with_file_name("bench-tls");
    if !folder.is_dir() {
        // In one step, as several processes may make it.
        let fresh = program.with_file_name(format!("bench-tls-{}", std::process::id()));
        fs::create_dir_all(&fresh)?;
        let authority = Authority::new("corbie-bench");
        let own = authority.issue("corbie-bench server", &[HOST]);
        fs::write(fresh.join("trust.pem"), authority.pem())?;
        fs::write(fresh.join("server.pem"), own.certificate)?;
        fs::write(fresh.join("server.key"), own.key)?;
        if fs::rename(&fresh, &folder).is_err() {
            // Another process was faster.
            fs::remove_dir_all(&fresh)?;
        }
    }
    let file = |name: &str| folder.join(name);
    let (certificate, key) = (file("server.pem"), file("server.key"));
    Ok(Files { trust: file("trust.pem"), certificate, key })
}

/// The client's side of a stream.
///
/// # Errors
/// What is wrong with the files.
pub(crate) fn client(stream: TcpStream) -> io::Result<Box<dyn Secured>> {
    let mut trusted = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(files()?.trust).map_err(io::Error::other)?;
    trusted.add(authority).map_err(io::Error::other)?;
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .map_err(io::Error::other)?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let host = ServerName::try_from(HOST).map_err(io::Error::other)?;
    let tls = ClientConnection::new(Arc::new(config), host).map_err(io::Error::other)?;
    Ok(Box::new(StreamOwned::new(tls, stream)))
}

/// What servers have in common.
///
/// # Errors
/// What is wrong with the files.
pub(crate) fn server_config() -> io::Result<Arc<ServerConfig>> {
    let files = files()?;
    let chain = CertificateDer::from_pem_file(files.certificate).map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_file(files.key).map_err(io::Error::other)?;
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .map_err(io::Error::other)?;
    Ok(Arc::new(config))
}

/// The server's side of a stream.
///
/// # Errors
/// What `rustls` says.
pub(crate) fn server(
    stream: TcpStream,
    config: &Arc<ServerConfig>,
) -> io::Result<Box<dyn Secured>> {
    let tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    Ok(Box::new(StreamOwned::new(tls, stream)))
}
