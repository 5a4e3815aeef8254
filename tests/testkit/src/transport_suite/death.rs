//! A peer that is killed: a thread that waits for it is woken, one that looks sees it, one that
//! sends gets an error. The peer is a process of its own, this test program started again.

use super::{PATIENCE, TransportSubject, eventually};
use corbie_transport::{Events, Link, Readiness};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where the peer connects to; without it the peer's test does nothing.
const ADDRESS: &str = "CORBIE_TRANSPORT_SUITE_ADDRESS";

/// What a peer says first.
const READY: &[u8] = b"ready";

/// The other process: connects, says that it is there, and waits to be killed.
///
/// # Panics
/// When it cannot connect.
pub fn be_the_peer(subject: &dyn TransportSubject) {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    let endpoint = subject.read(&address);
    let link = Link::connect(&endpoint, Some(PATIENCE), None).expect("to connect");
    link.send_one(READY).expect("to send");
    link.set_receive_timeout(Some(PATIENCE)).expect("a time-out");
    let _ = link.receive(&mut [0; 8]);
}

/// Killed when dropped, so that nothing is left behind by a check that fails.
struct Peer(Child);

impl Peer {
    fn start(subject: &dyn TransportSubject, test: &str) -> (Peer, Link) {
        let acceptor = subject.listen();
        let test = test.split_once("::").map_or(test, |(_, inside)| inside);
        let program = std::env::current_exe().expect("a program");
        let child = Command::new(program)
            .args(["--exact", test, "--test-threads=1"])
            .env(ADDRESS, subject.write(&acceptor.endpoint()))
            .stdout(Stdio::null())
            .spawn()
            .expect("a process");
        let (peer, link) = (Peer(child), acceptor.accept().expect("to accept"));
        let mut space = [0; READY.len()];
        link.set_receive_timeout(Some(PATIENCE)).expect("a time-out");
        assert_eq!(link.receive_all(&mut space).expect("its word"), READY.len());
        (peer, link)
    }

    fn kill(mut self) {
        self.0.kill().expect("to kill it");
        self.0.wait().expect("its end");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `peer` is the path of the test that calls [`be_the_peer`].
///
/// # Panics
/// When the death is not noticed.
pub fn a_peer_that_dies_is_noticed(subject: &dyn TransportSubject, peer: &str) {
    // A thread that waits for it.
    let (process, link) = Peer::start(subject, peer);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| link.receive(&mut [0; 8]));
        process.kill();
        let ended = waiting.join().expect("no panic");
        assert!(is_an_end(&ended), "{ended:?}");
    });
    // One that looks, one that sends, and an event loop.
    let (process, link) = Peer::start(subject, peer);
    let readiness = Readiness::new().expect("descriptors");
    if let Some(descriptor) = link.descriptor() {
        readiness.add(descriptor, 1).expect("to watch");
    }
    assert!(!link.is_stale());
    process.kill();
    eventually("the end shows", || link.is_stale());
    if link.descriptor().is_some() {
        eventually("the end is an event", || {
            let wait = Some(Duration::from_secs(1));
            let mut events = Events::default();
            readiness.wait(&mut events, 8, wait).expect("to wait").any(|event| event.input)
        });
    }
    let ended = link.try_receive(&mut [0; 8]).map(|octets| octets.unwrap_or(usize::MAX));
    assert!(is_an_end(&ended), "{ended:?}");
    eventually("sending fails", || link.send_one(&[7; 1_000]).is_err());
}

fn is_an_end(received: &std::io::Result<usize>) -> bool {
    use std::io::ErrorKind;
    match received {
        Ok(octets) => *octets == 0,
        Err(error) => {
            let ends = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
            ends.contains(&error.kind())
        }
    }
}
