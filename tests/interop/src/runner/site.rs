//! What peers are told when they are to speak TLS: certificates made for one run of the matrix, and
//! how each ORB is told of them. Called by `runner` and `runner::refusals`.

use super::build::Manner;
use corbie_testkit::certificates::{Authority, Folder, Issued, Validity, key_store};
use std::sync::atomic::{AtomicU64, Ordering};

/// What a peer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Good,
    Expired,
    /// Of a server whose references lead elsewhere.
    OtherHost,
    OtherAuthority,
    Revoked,
    Nothing,
}

/// Which ports a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ports {
    /// Those of TLS.
    Secure,
    /// Plain ones first, at two addresses where the ORB has several; then those of TLS.
    Both,
}

/// The certificates of one run.
pub(super) struct Site {
    folder: Folder,
    authority: Authority,
    stranger: Authority,
    revoked: Issued,
    /// An access file that lets peers with a certificate call, and no others.
    access: String,
    revocation: String,
    trust: String,
    /// How many files peers were given.
    files: AtomicU64,
}

const PASSWORD: &str = "interop";
/// A name that every certificate here has, good or not.
const MEMBER: &str = "member.interop.example";

impl Site {
    pub(super) fn new() -> Self {
        let folder = Folder::default();
        let authority = Authority::new("the authority of the matrix");
        let revoked = authority.issue("a peer", &["127.0.0.1", MEMBER]);
        let access = format!(
            "[peers.members]\ncertificates = \"{MEMBER}\"\n[[allow]]\npeers = \"members\"\n"
        );
        Self {
            access: folder.write("access.toml", access),
            revocation: folder.write("revoked.pem", authority.revoking(&[&revoked])),
            trust: folder.write("trust.pem", authority.pem()),
            stranger: Authority::new("another authority"),
            files: AtomicU64::new(0),
            folder,
            authority,
            revoked,
        }
    }

    /// A file of one peer: others that run at the same time have their own.
    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        self.folder.write(&format!("{number}-{name}"), contents)
    }

    fn issued(&self, shown: Shown) -> Option<(&Authority, Issued)> {
        let own = &self.authority;
        let hosts = ["127.0.0.1", "localhost", MEMBER];
        Some(match shown {
            Shown::Good => (own, own.issue("a peer", &hosts)),
            Shown::Expired => (own, own.issue_for("a peer", &hosts, Validity::Over)),
            Shown::OtherHost => (own, own.issue("a peer", &["127.0.0.2", MEMBER])),
            Shown::OtherAuthority => (&self.stranger, self.stranger.issue("a peer", &hosts)),
            Shown::Revoked => (own, self.revoked.clone()),
            Shown::Nothing => return None,
        })
    }

    /// As [`Site::manner`], held to TLS 1.2.
    pub(super) fn older(&self, peer: &str, port: u16) -> Manner {
        let manner = self.manner(peer, Shown::Good, Ports::Secure, port);
        match peer {
            "omniorb" => {
                let text = "openssl_conf = here\n[here]\nssl_conf = ssl\n[ssl]\n\
                            system_default = old\n[old]\nMaxProtocol = TLSv1.2\n";
                manner.within("OPENSSL_CONF", self.folder.write("openssl.cnf", text))
            }
            "jacorb" => manner.and(&[
                "jacorb.security.ssl.client.protocols=TLSv1.2",
                "jacorb.security.ssl.server.protocols=TLSv1.2",
            ]),
            _ => manner,
        }
    }

    /// How a peer is started that shows `shown` and judges by what this site trusts; a server, or a
    /// client with port 0.
    pub(super) fn manner(&self, peer: &str, shown: Shown, ports: Ports, port: u16) -> Manner {
        match peer {
            "omniorb" => self.omniorb(shown, ports, port),
            "jacorb" => self.jacorb(shown, ports, port),
            _ => self.corbie(shown, ports, port),
        }
    }

    fn corbie(&self, shown: Shown, ports: Ports, port: u16) -> Manner {
        let mut arguments = vec!["-ORBTlsTrust".to_owned(), self.trust.clone()];
        let mut tell = |name: &str, value: &str| {
            arguments.extend([name.to_owned(), value.to_owned()]);
        };
        tell("-ORBTlsRevocation", &self.revocation);
        if let Some((_, own)) = self.issued(shown) {
            tell("-ORBTlsCertificate", &self.file("corbie.pem", &own.certificate));
            tell("-ORBTlsKey", &self.file("corbie.key", &own.key));
        }
        match ports {
            // A client that shows nothing cannot be called back.
            Ports::Secure if shown == Shown::Nothing => tell("-ORBListenEndpoints", "uiop://"),
            Ports::Secure => {
                tell("-ORBTlsProtection", "required");
                tell("-ORBListenEndpoints", &format!("ssliop://127.0.0.1:{port}"));
            }
            Ports::Both => tell(
                "-ORBListenEndpoints",
                &format!(
                    "iiop://127.0.0.1:0,iiop://localhost:0,ssliop://127.0.0.1:{port},\
                     ssliop://localhost:0"
                ),
            ),
        }
        if port != 0 {
            tell("-ORBAccessFile", &self.access);
        }
        Manner::new(arguments)
    }

    fn omniorb(&self, shown: Shown, ports: Ports, port: u16) -> Manner {
        let mut arguments = vec!["-ORBsslCAFile".to_owned(), self.trust.clone()];
        let mut tell = |name: &str, value: &str| {
            arguments.extend([name.to_owned(), value.to_owned()]);
        };
        let own = self.issued(shown).map_or(String::new(), |(_, own)| own.certificate + &own.key);
        tell("-ORBsslKeyFile", &self.file("omniorb.pem", own));
        tell("-ORBsslKeyPassword", PASSWORD);
        tell("-ORBclientTransportRule", "* ssl");
        if ports == Ports::Both {
            tell("-ORBendPoint", "giop:tcp:127.0.0.1:");
        }
        let port = if port == 0 { String::new() } else { port.to_string() };
        tell("-ORBendPoint", &format!("giop:ssl:127.0.0.1:{port}"));
        Manner::new(arguments)
    }

    fn jacorb(&self, shown: Shown, ports: Ports, port: u16) -> Manner {
        const JSSE: &str = "org.jacorb.security.ssl.sun_jsse";
        let own = self.issued(shown);
        let own = own.as_ref().map(|(of, own)| (*of, own));
        let store = key_store(own, Some(&self.authority), PASSWORD);
        let store = self.file("jacorb.p12", store);
        // EstablishTrustInTarget and EstablishTrustInClient, in hexadecimal
        let server_requires = if ports == Ports::Both { "0" } else { "60" };
        let mut arguments = vec![
            "jacorb.security.support_ssl=on".to_owned(),
            format!("jacorb.ssl.socket_factory={JSSE}.SSLSocketFactory"),
            format!("jacorb.ssl.server_socket_factory={JSSE}.SSLServerSocketFactory"),
            "jacorb.security.ssl.client.supported_options=60".to_owned(),
            "jacorb.security.ssl.client.required_options=60".to_owned(),
            "jacorb.security.ssl.server.supported_options=60".to_owned(),
            format!("jacorb.security.ssl.server.required_options={server_requires}"),
            format!("jacorb.security.keystore={store}"),
            format!("jacorb.security.keystore_password={PASSWORD}"),
            // It opens files of this type alone, and Java finds out what they really are.
            "jacorb.security.keystore_type=JKS".to_owned(),
            "jacorb.security.jsse.trustees_from_ks=on".to_owned(),
            // Lists of revoked certificates need it, and the authority in the key store.
            "jacorb.security.jsse.client.trust_manager_algorithm=PKIX".to_owned(),
            "jacorb.security.jsse.server.trust_manager_algorithm=PKIX".to_owned(),
            "jacorb.security.support_crl=on".to_owned(),
            format!("jacorb.security.crl_file={}", self.revocation),
        ];
        if port != 0 {
            arguments.push(format!("OASSLPort={port}"));
        }
        Manner::new(arguments)
    }
}
