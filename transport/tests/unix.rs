//! What is particular to unix-domain sockets: files and their permissions, sockets left behind,
//! abstract names, lengths, and who is at the other end. The rest is in `suite.rs`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use corbie_transport::{Acceptor, Endpoint, Link, PeerAddress, UnixName, UnixOptions};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A folder of its own, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("corbie-unix-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn name(&self, file: &str) -> UnixName {
        self.0.join(file).to_str().unwrap().parse().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn listen(name: &UnixName) -> std::io::Result<Acceptor> {
    Acceptor::bind_unix(Some(name), UnixOptions::default())
}

fn connect(name: &UnixName) -> std::io::Result<Link> {
    Link::connect(&Endpoint::Unix(name.clone()), Some(Duration::from_secs(60)), None)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn only_the_user_may_connect_unless_told_otherwise() {
    let folder = Folder::new();
    let name = folder.name("private");
    let acceptor = listen(&name).unwrap();
    assert_eq!(mode(name.path().unwrap()), 0o600);
    drop(acceptor);
    let shared = Acceptor::bind_unix(Some(&name), UnixOptions { mode: 0o666 }).unwrap();
    assert_eq!(mode(name.path().unwrap()), 0o666, "whatever the mask of the process is");
    drop(shared);
}

#[test]
fn the_file_goes_when_listening_ends() {
    let folder = Folder::new();
    for is_closed in [true, false] {
        let name = folder.name("socket");
        let acceptor = listen(&name).unwrap();
        assert!(fs::metadata(name.path().unwrap()).unwrap().file_type().is_socket());
        if is_closed {
            acceptor.close();
            assert!(!name.path().unwrap().exists());
        }
        drop(acceptor);
        assert!(!name.path().unwrap().exists());
        let failed = connect(&name).unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::NotFound);
    }
}

#[test]
fn a_socket_left_behind_is_replaced() {
    let folder = Folder::new();
    let name = folder.name("socket");
    // As a server that was killed leaves it.
    drop(UnixListener::bind(name.path().unwrap()).unwrap());
    let failed = connect(&name).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::ConnectionRefused, "no server listens there");
    let acceptor = listen(&name).unwrap();
    let (ours, theirs) = (connect(&name).unwrap(), acceptor.accept().unwrap());
    ours.send_one(b"new").unwrap();
    assert_eq!(theirs.receive(&mut [0; 8]).unwrap(), 3);
}

#[test]
fn a_socket_that_is_listened_on_is_left_alone() {
    let folder = Folder::new();
    let name = folder.name("socket");
    let first = listen(&name).unwrap();
    assert_eq!(listen(&name).unwrap_err().kind(), ErrorKind::AddrInUse);
    // The look of the second was a connection; it is closed.
    let looked = first.accept().unwrap();
    assert_eq!(looked.receive(&mut [0; 8]).unwrap(), 0);
    let (_ours, _theirs) = (connect(&name).unwrap(), first.accept().unwrap());
}

#[test]
fn one_of_many_gets_a_socket_left_behind() {
    let folder = Folder::new();
    let name = folder.name("socket");
    drop(UnixListener::bind(name.path().unwrap()).unwrap());
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| listen(&name))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert!(connect(&name).is_ok(), "and it can be reached");
}

#[test]
fn what_is_no_socket_is_left_alone() {
    let folder = Folder::new();
    let name = folder.name("file");
    fs::write(name.path().unwrap(), "something dear").unwrap();
    let error = listen(&name).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("is no socket"), "{error}");
    assert_eq!(fs::read(name.path().unwrap()).unwrap(), b"something dear");
}

#[test]
fn a_file_that_is_somebody_elses_now_stays() {
    let folder = Folder::new();
    let name = folder.name("socket");
    let first = listen(&name).unwrap();
    fs::remove_file(name.path().unwrap()).unwrap();
    let second = listen(&name).unwrap();
    drop(first);
    assert!(connect(&name).is_ok(), "the second is still there");
    drop(second);
}

#[test]
fn an_abstract_name_is_no_file() {
    let name: UnixName = format!("@corbie-unix-test-{}", std::process::id()).parse().unwrap();
    assert_eq!((name.is_abstract(), name.path()), (true, None));
    let acceptor = listen(&name).unwrap();
    assert!(connect(&name).is_ok());
    assert_eq!(listen(&name).unwrap_err().kind(), ErrorKind::AddrInUse);
    drop(acceptor);
    assert_eq!(connect(&name).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(listen(&name).is_ok(), "free again");
}

#[test]
fn names_have_a_length() {
    let longest = format!("/{}", "x".repeat(106));
    let name: UnixName = longest.parse().unwrap();
    assert_eq!(name.as_str().len(), 107);
    let error = format!("{longest}x").parse::<UnixName>().unwrap_err();
    assert!(error.contains("has 108 octets; the system takes 107"), "{error}");
    let folder = Folder::new();
    let room = 107 - folder.0.to_str().unwrap().len() - 1;
    let name = folder.name(&"y".repeat(room));
    let acceptor = listen(&name).unwrap();
    assert!(connect(&name).is_ok());
    drop(acceptor);
    let name: UnixName = format!("@{}", "z".repeat(107)).parse().unwrap();
    let acceptor = listen(&name).unwrap();
    assert!(connect(&name).is_ok());
    drop(acceptor);
    assert!(format!("@{}", "z".repeat(108)).parse::<UnixName>().is_err());
    for wrong in ["", "@", "/a\0b"] {
        assert!(wrong.parse::<UnixName>().is_err(), "{wrong:?}");
    }
    let relative: UnixName = "socket".parse().unwrap();
    assert!(relative.path().unwrap().is_absolute());
}

#[test]
fn without_a_name_a_free_one_is_taken() {
    let some: Vec<_> =
        (0..3).map(|_| Acceptor::bind_unix(None, UnixOptions::default()).unwrap()).collect();
    for acceptor in &some {
        assert!(Link::connect(&acceptor.endpoint(), None, None).is_ok());
    }
}

#[test]
fn the_system_vouches_for_the_peer() {
    let folder = Folder::new();
    let name = folder.name("socket");
    let acceptor = listen(&name).unwrap();
    let (ours, theirs) = (connect(&name).unwrap(), acceptor.accept().unwrap());
    let file = fs::metadata(name.path().unwrap()).unwrap();
    for link in [ours, theirs] {
        let peer = link.peer();
        let process = peer.process().unwrap();
        assert_eq!(process.process, std::process::id());
        assert_eq!((process.user, process.group), (file.uid(), file.gid()));
        assert!(matches!(peer, PeerAddress::Unix(_)));
        assert_eq!(peer.socket_address(), None);
    }
}

#[test]
fn a_server_that_does_not_accept_is_not_waited_for_beyond_the_time() {
    let folder = Folder::new();
    let name = folder.name("socket");
    // Its queue has room for one or two.
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None).unwrap();
    socket.bind(&socket2::SockAddr::unix(name.path().unwrap()).unwrap()).unwrap();
    socket.listen(0).unwrap();
    let each = Duration::from_millis(100);
    let endpoint = Endpoint::Unix(name);
    let mut waiting = Vec::new();
    let begun = Instant::now();
    let error = loop {
        match Link::connect(&endpoint, Some(each), None) {
            Ok(link) => waiting.push(link),
            Err(error) => break error,
        }
        assert!(waiting.len() < 10, "the queue has no end");
    };
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(60));
}
