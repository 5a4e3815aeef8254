//! The transport itself: opens connections and listens.
//!
//! The façade makes one for each ORB and gives it to the core beside those of the application.

use crate::configuration::Configuration;
use crate::link::{Counts, TlsLink};
use crate::sentence::refused;
use corbie_settings::Settings;
use corbie_transport::{
    Acceptor, AddressFilter, Endpoint, Handshakes, Link, PluggedAcceptor, PluggedLink, SSLIOP,
    Transport,
};
use corbie_types::{SystemException, ior::profile_tag, minor};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConnection};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// TLS over TCP: endpoints are `ssliop://host:port`. What it goes by are the settings `tls_…`.
#[derive(Clone, Debug)]
pub struct Tls(Arc<Configuration>, Arc<Counts>);

impl Tls {
    /// Reads the files that `settings` name; none are needed where TLS is not used.
    ///
    /// # Errors
    /// `INITIALIZE` (`COMPLETED_NO`) when a file cannot be read or holds something else, with the
    /// name of the setting.
    pub fn new(settings: &Settings) -> Result<Self, SystemException> {
        let configuration = Configuration::new(settings);
        let configuration = configuration.map_err(|why| minor::INITIALIZE_TLS.no(why))?;
        Ok(Self(Arc::new(configuration), Arc::default()))
    }

    /// Does what is due at `now`: looks at the files once a minute, and warns once a day of a
    /// certificate that ends soon. Called once a second by the ORB.
    pub fn look(&self, now: Instant) {
        self.0.look(now);
    }

    fn serve(&self, tcp: Link) -> io::Result<Box<dyn PluggedLink>> {
        let config = self.0.current().server.map_err(refused)?;
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        Ok(Box::new(TlsLink::server(tcp, tls, &self.1)))
    }

    /// Connects to `address`, as far as `filter` permits.
    fn open(
        &self,
        address: &str,
        filter: Option<&AddressFilter>,
        each: Option<Duration>,
        deadline: Option<Instant>,
    ) -> io::Result<Box<dyn PluggedLink>> {
        let (host, port) = host_and_port(address)
            .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let config = self.0.current().client.map_err(refused)?;
        let name = ServerName::try_from(host).map_err(|_| {
            refused(format!(
                "no certificate can name {host:?}: it is neither a name nor an address"
            ))
        })?;
        let mut endpoint = Endpoint::tcp(host, port);
        if let Some(filter) = filter {
            endpoint = endpoint.within(filter);
        }
        let tcp = Link::connect(&endpoint, each, deadline)?;
        let tls = ClientConnection::new(config, name.to_owned()).map_err(io::Error::other)?;
        let link = TlsLink::client(tcp, tls, host, &self.1);
        // From here on: addresses of the host that did not answer have had their own time.
        let each = each.and_then(|each| Instant::now().checked_add(each));
        link.handshake(each.into_iter().chain(deadline).min())?;
        Ok(Box::new(link))
    }
}

impl Transport for Tls {
    fn scheme(&self) -> &'static str {
        SSLIOP
    }

    /// That of IIOP: addresses of TLS stand in components of its profiles.
    fn profile_tag(&self) -> u32 {
        profile_tag::INTERNET_IOP
    }

    fn check_address(&self, address: &str) -> Result<(), String> {
        host_and_port(address).map(drop)
    }

    fn check_client(&self) -> Result<(), String> {
        match self.0.client_is_ready() {
            true => Ok(()),
            false => Err("no authority is trusted here: name a file of certificates with \
                          tls_trust (-ORBTlsTrust)"
                .to_owned()),
        }
    }

    fn reload(&self) -> Result<bool, String> {
        self.0.reload()
    }

    fn certificate_expiry(&self) -> Option<SystemTime> {
        self.0.expiry()
    }

    fn handshakes(&self) -> Handshakes {
        self.1.so_far()
    }

    fn on_tick(&self) {
        self.look(Instant::now());
    }

    fn connect(
        &self,
        address: &str,
        each: Option<Duration>,
        deadline: Option<Instant>,
    ) -> io::Result<Box<dyn PluggedLink>> {
        self.open(address, None, each, deadline)
    }

    fn connect_within(
        &self,
        address: &str,
        filter: &AddressFilter,
        each: Option<Duration>,
        deadline: Option<Instant>,
    ) -> io::Result<Box<dyn PluggedLink>> {
        self.open(address, Some(filter), each, deadline)
    }

    fn listen(&self, address: &str) -> io::Result<Box<dyn PluggedAcceptor>> {
        self.0.current().server.map_err(refused)?;
        let (host, port) = match address {
            "" => ("", 0),
            address => host_and_port(address)
                .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?,
        };
        let host = (!host.is_empty()).then_some(host);
        Ok(Box::new(TlsAcceptor { tcp: Acceptor::bind_host(host, port)?, tls: self.clone() }))
    }
}

/// Host, without the brackets of IPv6, and port.
fn host_and_port(address: &str) -> Result<(&str, u16), String> {
    let wrong = || format!("{address:?} is not `host:port`");
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let port = port.parse().map_err(|_| wrong())?;
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    Ok((inner.unwrap_or(host), port))
}

/// The listening side. A connection is given out before its handshake.
#[derive(Debug)]
struct TlsAcceptor {
    tcp: Acceptor,
    tls: Tls,
}

impl PluggedAcceptor for TlsAcceptor {
    fn address(&self) -> String {
        self.tcp.socket_address().map_or_else(String::new, |address| address.to_string())
    }

    fn accept(&self) -> io::Result<Box<dyn PluggedLink>> {
        self.tls.serve(self.tcp.accept()?)
    }

    fn try_accept(&self) -> io::Result<Option<Box<dyn PluggedLink>>> {
        self.tcp.try_accept()?.map(|tcp| self.tls.serve(tcp)).transpose()
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        self.tcp.set_nonblocking()
    }

    fn close(&self) {
        self.tcp.close();
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.tcp.descriptor()
    }
}
