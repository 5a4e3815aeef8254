//! What the tests of the naming service share: etcd processes, ORBs on loopback, folders.
//! Each test file uses a part of it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use corbie::Orb;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a process may take to open its port on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// Past the capture of test output, so that a run says what it did not try.
pub(crate) fn say_missing(what: &str) {
    let _ = writeln!(std::io::stderr(), "missing peer: {what}");
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// An empty folder of this test's own.
pub(crate) fn scratch_folder(name: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("{name}-{}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Waits until somebody listens on a port.
pub(crate) fn wait_for_port(port: u16, who: &str) {
    let deadline = Instant::now() + START_MAX;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < deadline, "{who} does not listen on port {port}");
        // tidy: sleep: another process has to open its port; nothing tells when.
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An etcd of one member, killed when it is dropped.
pub(crate) struct Etcd {
    process: Child,
    folder: PathBuf,
    port: u16,
    peer_port: u16,
}

impl Etcd {
    /// Starts one on free ports; `None` where it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let (port, peer_port) = (free_port(), free_port());
        let folder = scratch_folder("etcd");
        let Some(process) = spawn_etcd(&folder, port, peer_port) else {
            say_missing("etcd (package etcd-server)");
            return None;
        };
        wait_for_port(port, "etcd");
        Some(Self { process, folder, port, peer_port })
    }

    /// The client URL.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Host and port.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends it with SIGKILL and starts it again with its data.
    pub(crate) fn kill_and_restart(&mut self) {
        self.kill();
        self.process = spawn_etcd(&self.folder, self.port, self.peer_port).expect("etcd again");
        wait_for_port(self.port, "etcd");
    }

    /// Ends it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn spawn_etcd(folder: &Path, port: u16, peer_port: u16) -> Option<Child> {
    let client = format!("http://127.0.0.1:{port}");
    let peer = format!("http://127.0.0.1:{peer_port}");
    Command::new("etcd")
        .args(["--name", "one", "--log-level", "error"])
        .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("one={peer}")])
        .arg("--data-dir")
        .arg(folder.join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// An ORB that listens on a free port of loopback, if it is asked to listen.
pub(crate) fn orb(more: &[&str]) -> Orb {
    let mut arguments = vec!["-ORBListenEndpoints", "iiop://127.0.0.1:0"];
    arguments.extend(more);
    Orb::init(arguments).expect("an ORB")
}
