//! Other people's servers that tests start: etcd, omniORB's and JacORB's naming services, and
//! `corbie` itself. Each on a free port of loopback, with data in a folder of its own, killed when
//! it is dropped. Where a program is not installed, it is named as missing and the test passes it
//! over; `cargo xtask test` installs them.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a process may take to open its port on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// Says past the capture of test output what a run does not try.
pub fn say_missing(what: &str) {
    let _ = writeln!(std::io::stderr(), "missing peer: {what}");
}

/// Ports below those that the system gives to connections and to listeners that want any: what is
/// free there stays free until it is used, unless another process of tests looks at the same place.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// A port on which no process listens, for a process that has to be told one.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn free_port() -> u16 {
    free_ports(1)
}

/// The first of so many ports side by side on which no process listens.
///
/// # Panics
/// When there are none.
#[must_use]
pub fn free_ports(many: u16) -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let (first, count) = (std::process::id().wrapping_mul(97), PORTS.len() as u32);
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let are_free = |first: &u16| {
        first.checked_add(many).is_some_and(|end| end <= PORTS.end)
            && (*first..).take(many.into()).all(is_free)
    };
    let next = || {
        let at = first.wrapping_add(NEXT.fetch_add(many.into(), Ordering::Relaxed)) % count;
        u16::try_from(at).ok().map(|at| PORTS.start + at)
    };
    std::iter::repeat_with(next).take(PORTS.len()).flatten().find(are_free).expect("free ports")
}

/// A folder that is removed when it is dropped.
#[derive(Debug)]
pub struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// An empty folder.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("corbie-{name}-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        Self(folder)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A process that is killed when it is dropped.
#[derive(Debug)]
pub struct Server(Child);

impl Server {
    /// Starts a program with nothing on its standard streams; `None` where it is not installed.
    #[must_use]
    pub fn start(command: &mut Command) -> Option<Self> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.spawn().ok().map(Self)
    }

    /// Takes a process over.
    #[must_use]
    pub fn of(process: Child) -> Self {
        Self(process)
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Ends it with SIGKILL, as `kill -9` does, and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Waits until a process listens on `port`.
    ///
    /// # Panics
    /// When none does in time.
    pub fn wait_for_port(&mut self, port: u16, who: &str) {
        let deadline = Instant::now() + START_MAX;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = self.0.try_wait().ok().flatten();
            assert!(ended.is_none(), "{who} ended with {ended:?}");
            assert!(Instant::now() < deadline, "{who} does not listen on port {port}");
            // tidy: sleep: another process has to open its port; nothing tells when.
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// An etcd of one member.
#[derive(Debug)]
pub struct Etcd {
    server: Server,
    folder: ScratchFolder,
    port: u16,
    peer_port: u16,
    tls: Option<EtcdFiles>,
}

/// The files of an etcd that is asked over TLS only, by clients with a certificate.
#[derive(Clone, Debug)]
pub struct EtcdFiles {
    /// Its certificate, in PEM.
    pub certificate: String,
    /// The key of that.
    pub key: String,
    /// The authority of its clients, in PEM.
    pub trust: String,
}

impl Etcd {
    /// Starts one; `None` where it is not installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with(None)
    }

    /// Starts one with these files; `None` where it is not installed.
    #[must_use]
    pub fn start_with(tls: Option<EtcdFiles>) -> Option<Self> {
        let (port, peer_port) = (free_port(), free_port());
        let folder = ScratchFolder::new("etcd");
        let Some(server) = start_etcd(folder.path(), port, peer_port, tls.as_ref()) else {
            say_missing("etcd (package etcd-server)");
            return None;
        };
        Some(Self { server, folder, port, peer_port, tls })
    }

    /// Host and port for clients.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The client URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", scheme(self.tls.as_ref()), self.address())
    }

    /// Ends it with SIGKILL.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts it again with its data.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        let again = start_etcd(self.folder.path(), self.port, self.peer_port, self.tls.as_ref());
        self.server = again.expect("etcd was there before");
    }
}

fn scheme(tls: Option<&EtcdFiles>) -> &'static str {
    if tls.is_some() { "https" } else { "http" }
}

fn start_etcd(folder: &Path, port: u16, peer_port: u16, tls: Option<&EtcdFiles>) -> Option<Server> {
    let client = format!("{}://127.0.0.1:{port}", scheme(tls));
    let peer = format!("http://127.0.0.1:{peer_port}");
    let mut command = Command::new("etcd");
    command
        .args(["--name", "one", "--log-level", "error"])
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("one={peer}")])
        .arg("--data-dir")
        .arg(folder.join("data"));
    if let Some(files) = tls {
        command.args(["--cert-file", &files.certificate, "--key-file", &files.key]);
        command.args(["--client-cert-auth", "--trusted-ca-file", &files.trust]);
    }
    let mut server = Server::start(&mut command)?;
    server.wait_for_port(port, "etcd");
    Some(server)
}

/// A naming service of another ORB.
#[derive(Debug)]
pub struct ForeignNames {
    server: Server,
    _folder: ScratchFolder,
    /// `corbaloc:` of its root context.
    pub url: String,
}

impl ForeignNames {
    /// omniORB's; `None` where it is not installed.
    #[must_use]
    pub fn omninames() -> Option<Self> {
        let (folder, port) = (ScratchFolder::new("omninames"), free_port());
        let mut command = Command::new("omniNames");
        command
            .args(["-start", &port.to_string(), "-logdir"])
            .arg(folder.path())
            .arg("-errlog")
            .arg(folder.path().join("errors"))
            .args(["-ORBendPoint", &format!("giop:tcp:127.0.0.1:{port}")]);
        let Some(mut server) = Server::start(&mut command) else {
            say_missing("omniNames of omniORB (package omniorb-nameserver)");
            return None;
        };
        server.wait_for_port(port, "omniNames");
        wait_for_names(port, "omniNames");
        let url = format!("corbaloc:iiop:1.2@127.0.0.1:{port}/NameService");
        Some(Self { server, _folder: folder, url })
    }

    /// JacORB's, with the jars in `libraries`; `None` where there is no Java.
    #[must_use]
    pub fn jacorb(libraries: &Path) -> Option<Self> {
        let (folder, port) = (ScratchFolder::new("jacorb-names"), free_port());
        let mut command = java(libraries);
        let file = folder.path().join("reference");
        command
            .arg(format!("-DOAPort={port}"))
            .arg("-DOAIAddr=127.0.0.1")
            .arg(format!("-Djacorb.naming.ior_filename={}", file.display()))
            .arg("org.jacorb.naming.NameServer");
        let Some(mut server) = Server::start(&mut command) else {
            say_missing("java");
            return None;
        };
        server.wait_for_port(port, "JacORB's name server");
        wait_for_names(port, "JacORB's name server");
        let url = format!("corbaloc:iiop:1.2@127.0.0.1:{port}/NameService");
        Some(Self { server, _folder: folder, url })
    }

    /// Ends it with SIGKILL.
    pub fn kill(&mut self) {
        self.server.kill();
    }
}

/// A server opens its port before its objects are there: asks for `NameService` until it is.
fn wait_for_names(port: u16, who: &str) {
    let deadline = Instant::now() + START_MAX;
    while !matches!(reply_status(port), Ok(NO_EXCEPTION | LOCATION_FORWARD)) {
        assert!(Instant::now() < deadline, "{who} has no NameService on port {port}");
        // tidy: sleep: another process has to make its objects; nothing tells when.
        std::thread::sleep(Duration::from_millis(20));
    }
}

const NO_EXCEPTION: u32 = 0;
const LOCATION_FORWARD: u32 = 3;

/// The status of the reply to `_non_existent` of the object with the key `NameService`, in GIOP 1.0
/// by hand: the testkit has no ORB.
fn reply_status(port: u16) -> std::io::Result<u32> {
    let mut body = vec![0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 11];
    body.extend(b"NameService\0");
    body.extend([0, 0, 0, 14]);
    body.extend(b"_non_existent\0\0\0");
    body.extend([0, 0, 0, 0]);
    let mut message = b"GIOP\x01\0\0\0".to_vec();
    message.extend((body.len() as u32).to_be_bytes());
    message.extend(body);
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(&message)?;
    let mut header = [0; 12];
    stream.read_exact(&mut header)?;
    let is_little = header[6] & 1 == 1;
    let mut number = || {
        let mut octets = [0; 4];
        stream.read_exact(&mut octets)?;
        let number = if is_little { u32::from_le_bytes } else { u32::from_be_bytes };
        std::io::Result::Ok(number(octets))
    };
    for _ in 0..number()? {
        let _context = number()?;
        for _ in 0..number()?.div_ceil(4) {
            number()?;
        }
    }
    let _request = number()?;
    number()
}

/// Java with JacORB as its ORB.
#[must_use]
pub fn java(libraries: &Path) -> Command {
    let mut command = Command::new("java");
    command
        .arg("-cp")
        .arg(libraries.join("*"))
        .arg("-Dorg.omg.CORBA.ORBClass=org.jacorb.orb.ORB")
        .arg("-Dorg.omg.CORBA.ORBSingletonClass=org.jacorb.orb.ORBSingleton")
        .arg("-Djacorb.log.default.verbosity=1");
    command
}
