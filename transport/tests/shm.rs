//! Shared memory between links: everything that is not the same for all transports. Peers that are
//! killed, peers that scribble, and when the doorbell rings.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use corbie_transport::{
    Acceptor, Endpoint, Events, Link, PeerAddress, Readiness, ShmOptions, WaitStrategy, Waiter,
};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Far more than any of the times waited for here.
const PATIENCE: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(50);
/// Names the endpoint for the process that is to be killed.
const ENDPOINT: &str = "CORBIE_TEST_SHM_ENDPOINT";

fn acceptor(ring_octets: u32) -> Acceptor {
    let options = ShmOptions { ring_octets, ..ShmOptions::default() };
    Acceptor::bind_shm(None, options).unwrap()
}

/// The side that connects waits for the side that accepts.
fn pair_of(acceptor: &Acceptor) -> (Link, Link) {
    let endpoint = acceptor.endpoint();
    thread::scope(|scope| {
        let ours = scope.spawn(|| Link::connect(&endpoint, Some(PATIENCE), None).unwrap());
        let theirs = acceptor.accept().unwrap();
        (ours.join().unwrap(), theirs)
    })
}

fn pair(ring_octets: u32) -> (Link, Link) {
    pair_of(&acceptor(ring_octets))
}

fn name_of(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Shm(name) => name.to_string(),
        other => panic!("{other}"),
    }
}

fn receive_exactly(link: &Link, octets: usize) -> Vec<u8> {
    let mut space = vec![0; octets];
    let mut filled = 0;
    while filled < octets {
        match link.receive(&mut space[filled..]).unwrap() {
            0 => panic!("the end after {filled} octets"),
            more => filled += more,
        }
    }
    space
}

/// A generator of numbers that look random, the same ones every time.
fn numbers(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

#[test]
fn random_pieces_arrive_whole_in_both_directions_at_once() {
    const TOTAL: usize = 8 << 20;
    let octets: Vec<u8> = (0..TOTAL).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect();
    let (ours, theirs) = pair(4 << 10);
    let (ours, theirs) = (Arc::new(ours), Arc::new(theirs));
    thread::scope(|scope| {
        for (sender, receiver, seed) in [(&ours, &theirs, 1), (&theirs, &ours, 2)] {
            let (octets, sender, receiver) = (&octets, Arc::clone(sender), Arc::clone(receiver));
            scope.spawn(move || {
                let (mut next, mut rest) = (numbers(seed), &octets[..]);
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(rest.len().min(next() as usize % 9_000));
                    let (a, b) = piece.split_at(piece.len() / 3);
                    match next() % 3 {
                        0 => sender.send_one(piece).unwrap(),
                        1 => sender.send(&mut [a, b].map(IoSlice::new)).unwrap(),
                        _ => {
                            let sent = sender.try_send(piece).unwrap();
                            sender.send_one(&piece[sent..]).unwrap();
                        }
                    }
                    rest = after;
                }
            });
            scope.spawn(move || {
                let (mut next, mut rest) = (numbers(seed + 7), &octets[..]);
                let mut waiter = Waiter::new(WaitStrategy::Adaptive(Duration::from_micros(20)));
                let mut space = vec![0; 20_000];
                while !rest.is_empty() {
                    let space = &mut space[..rest.len().min(1 + next() as usize % 20_000)];
                    let received = match next() % 4 {
                        0 => receiver.receive_all(space).unwrap(),
                        1 => receiver.try_receive(space).unwrap().unwrap_or(0),
                        2 => waiter.receive(&receiver, space).unwrap(),
                        _ => receiver.receive(space).unwrap(),
                    };
                    let (came, after) = rest.split_at(received);
                    assert!(came == &space[..received], "at {}", TOTAL - rest.len());
                    rest = after;
                }
            });
        }
    });
}

#[test]
fn the_peer_is_the_process_that_the_system_names() {
    let (ours, theirs) = pair(64 << 10);
    for link in [&ours, &theirs] {
        assert!(matches!(link.peer(), PeerAddress::Shm(_)));
        assert_eq!(link.peer().process().unwrap().process, std::process::id());
    }
    let text = theirs.peer().to_string();
    assert!(text.starts_with("shared memory process"), "{text}");
}

#[test]
fn sizes_are_made_fit() {
    for ring_octets in [0, 1, 5_000, 64 << 10, u32::MAX] {
        let (ours, theirs) = pair(ring_octets);
        theirs.send_one(&[7; 3_000]).unwrap();
        assert_eq!(receive_exactly(&ours, 3_000), [7; 3_000]);
    }
}

/// Whether an event comes to `readiness` now.
fn is_told(readiness: &Readiness) -> bool {
    let mut events = Events::default();
    readiness.wait(&mut events, 64, Some(Duration::ZERO)).unwrap().any(|event| event.input)
}

/// The socket of a link carries an octet when its peer has rung, and nothing else.
#[test]
fn the_doorbell_rings_for_who_has_nothing_left_and_only_then() {
    let (ours, theirs) = pair(64 << 10);
    let readiness = Readiness::new().unwrap();
    readiness.add(ours.descriptor().unwrap(), 1).unwrap();
    let mut space = [0; 64];
    for _ in 0..1_000 {
        theirs.send_one(b"first").unwrap();
        assert!(is_told(&readiness), "it had nothing to take");
        theirs.send_one(b"second").unwrap();
        assert!(!is_told(&readiness), "it is awake, and has not taken all there is");
        assert_eq!(ours.try_receive(&mut space[..7]).unwrap(), Some(7));
        assert_eq!(ours.try_receive(&mut space).unwrap(), Some(4));
    }
    assert!(!is_told(&readiness));
    assert_eq!(ours.try_receive(&mut space).unwrap(), None);
    drop(theirs);
    assert!(is_told(&readiness), "of the end");
    assert_eq!(ours.try_receive(&mut space).unwrap(), Some(0));
}

#[test]
fn nobody_rings_for_a_thread_that_spins() {
    let (ours, theirs) = pair(64 << 10);
    let mut space = [0; 64];
    // The first message rings, whichever thread receives.
    theirs.send_one(b"x").unwrap();
    assert_eq!(ours.receive(&mut space).unwrap(), 1);
    for _ in 0..1_000 {
        assert_eq!(ours.spin_receive(&mut space).unwrap(), None);
        theirs.send_one(b"x").unwrap();
        assert_eq!(ours.spin_receive(&mut space).unwrap(), Some(1));
    }
    // An octet on the socket would end this sleep early, but not the receive.
    ours.set_receive_timeout(Some(SOON)).unwrap();
    let begun = Instant::now();
    assert_eq!(ours.receive(&mut space).unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(begun.elapsed() >= SOON);
    let readiness = Readiness::new().unwrap();
    readiness.add(ours.descriptor().unwrap(), 1).unwrap();
    assert!(!is_told(&readiness), "not one octet came over the socket");
}

#[test]
fn octets_that_come_during_a_spin_are_not_forgotten_by_an_event_loop() {
    let (ours, theirs) = pair(64 << 10);
    let readiness = Readiness::new().unwrap();
    readiness.add(ours.descriptor().unwrap(), 1).unwrap();
    let mut space = [0; 4];
    assert_eq!(ours.spin_receive(&mut space).unwrap(), None);
    theirs.send_one(b"12345678").unwrap();
    assert!(!is_told(&readiness), "a thread spins");
    assert_eq!(ours.spin_receive(&mut space).unwrap(), Some(4));
    assert!(ours.has_input(), "so the thread that spun has to see to it");
    assert_eq!(ours.try_receive(&mut space).unwrap(), Some(4));
    assert!(!ours.has_input());
    theirs.send_one(b"x").unwrap();
    assert!(is_told(&readiness), "it asked to be told again");
}

/// As the ORB's event loops do: after an event one look, and what comes after a look that found less
/// than it had space for is another event.
#[test]
fn an_event_loop_misses_nothing_however_fast_octets_come() {
    const MESSAGES: usize = 200_000;
    let (ours, theirs) = pair(4 << 10);
    theirs.set_send_timeout(Some(PATIENCE)).unwrap();
    let readiness = Readiness::new().unwrap();
    readiness.add(ours.descriptor().unwrap(), 1).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| (0..MESSAGES).for_each(|_| theirs.send_one(b"octets").unwrap()));
        let (mut left, mut space) = (MESSAGES * 6, vec![0; 64 << 10]);
        while left > 0 {
            let mut events = Events::default();
            let mut came = readiness.wait(&mut events, 1, Some(PATIENCE)).unwrap().peekable();
            assert!(came.peek().is_some(), "no event, and {left} octets are missing");
            if came.any(|event| event.input) {
                left -= ours.try_receive(&mut space).unwrap().unwrap_or(0);
            }
        }
    });
}

/// What the test below starts: connects, sends a part of a message, and is killed.
#[test]
#[ignore = "started as a process of its own"]
fn the_peer_that_is_killed() {
    let Ok(name) = std::env::var(ENDPOINT) else { return };
    let endpoint = Endpoint::Shm(name.parse().unwrap());
    let link = Link::connect(&endpoint, Some(PATIENCE), None).unwrap();
    link.send_one(b"half of a mess").unwrap();
    // Takes nothing, until it is killed.
    loop {
        thread::park();
    }
}

/// A peer in a process of its own, which has sent a part of a message.
fn doomed_peer() -> (std::process::Child, Link) {
    let acceptor = acceptor(64 << 10);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_peer_that_is_killed", "--ignored", "--test-threads=1"])
        .env(ENDPOINT, name_of(&acceptor.endpoint()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let link = acceptor.accept().unwrap();
    assert_eq!(receive_exactly(&link, 14), b"half of a mess");
    (child, link)
}

#[test]
fn the_death_of_a_peer_ends_every_wait() {
    type Wait = fn(&Link);
    let receives: Wait = |link| assert_eq!(link.receive(&mut [0; 8]).unwrap(), 0);
    let spins: Wait = |link| {
        let mut waiter = Waiter::new(WaitStrategy::Spin(PATIENCE));
        assert_eq!(waiter.receive(link, &mut [0; 8]).unwrap(), 0);
    };
    let sends: Wait = |link| {
        let error = link.send_one(&vec![1; 1 << 20]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    };
    let looks: Wait = |link| {
        let begun = Instant::now();
        while link.try_receive(&mut [0; 8]).unwrap() != Some(0) {
            assert!(begun.elapsed() < PATIENCE);
            thread::yield_now();
        }
        assert!(link.is_stale());
    };
    let watches: Wait = |link| {
        let readiness = Readiness::new().unwrap();
        readiness.add(link.descriptor().unwrap(), 1).unwrap();
        let mut events = Events::default();
        while !readiness.wait(&mut events, 1, Some(PATIENCE)).unwrap().any(|event| event.end) {}
        assert_eq!(link.try_receive(&mut [0; 8]).unwrap(), Some(0));
    };
    for wait in [receives, spins, sends, looks, watches] {
        let (mut child, link) = doomed_peer();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| wait(&link));
            // It has begun to wait, most likely; if not, it finds the peer dead.
            thread::sleep(Duration::from_millis(20)); // tidy: sleep: nothing tells that a thread waits
            let killed = Instant::now();
            child.kill().unwrap(); // SIGKILL
            child.wait().unwrap();
            waiting.join().unwrap();
            assert!(killed.elapsed() < PATIENCE, "{:?}", killed.elapsed());
        });
        assert_eq!(link.receive(&mut [0; 8]).unwrap(), 0, "the end stays the end");
    }
}

/// A client that speaks the rendezvous by hand: the socket, and the memory file.
fn hostile_pair(acceptor: &Acceptor) -> (UnixStream, OwnedFd, Link) {
    let stream = UnixStream::connect(name_of(&acceptor.endpoint())).unwrap();
    let link = acceptor.accept().unwrap();
    let mut hello = [0; 16];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut into = [IoSliceMut::new(&mut hello)];
    recvmsg(&stream, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap();
    let file = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    (stream, file.unwrap(), link)
}

/// Whatever a peer writes into the memory, wherever and whenever: calls end, with octets that make
/// no sense or with an error, and the process lives.
#[test]
fn a_peer_that_scribbles_breaks_its_own_connection_only() {
    let acceptor = acceptor(4 << 10);
    let (honest, honest_peer) = pair_of(&acceptor);
    let mut next = numbers(42);
    for round in 0..60u32 {
        let (stream, file, link) = hostile_pair(&acceptor);
        link.set_receive_timeout(Some(Duration::from_millis(1))).unwrap();
        link.set_send_timeout(Some(Duration::from_millis(1))).unwrap();
        if round % 2 == 0 {
            link.descriptor().unwrap();
        }
        let mut space = vec![0; 10_000];
        for _ in 0..20 {
            // Every word of the control block, and values near the limits as often as any.
            let at = (next() % 1_024) & !3;
            let values = [0, 1, 2, 4_095, 4_096, 4_097, u32::MAX, 1 << 31, next() as u32];
            let value = values[next() as usize % values.len()];
            rustix::io::pwrite(&file, &value.to_ne_bytes(), at).unwrap();
            let begun = Instant::now();
            let _ = link.try_receive(&mut space);
            let _ = link.try_send(&space[..next() as usize % 10_000]);
            let _ = link.spin_receive(&mut space[..64]);
            let _ = link.receive(&mut space[..next() as usize % 10_000]);
            let _ = link.send_one(&space[..next() as usize % 10_000]);
            let _ = link.receive_all(&mut space[..100]);
            let _ = link.is_stale();
            assert!(begun.elapsed() < PATIENCE);
        }
        // The file cannot be made shorter, which would be a signal for us.
        assert!(rustix::fs::ftruncate(&file, 0).is_err());
        drop(stream);
        honest.send_one(&[round as u8]).unwrap();
        assert_eq!(receive_exactly(&honest_peer, 1), [round as u8]);
    }
}

#[test]
fn a_peer_that_rings_all_the_time_does_not_hold_a_receiver() {
    let acceptor = acceptor(4 << 10);
    let (stream, _file, link) = hostile_pair(&acceptor);
    link.set_receive_timeout(Some(Duration::from_millis(300))).unwrap();
    thread::scope(|scope| {
        scope.spawn(move || while std::io::Write::write(&mut &stream, &[1]).is_ok() {});
        let begun = Instant::now();
        assert_eq!(link.receive(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(begun.elapsed() < PATIENCE);
        link.shutdown();
    });
}

/// A server that offers something else: refused in a sentence, before anything is mapped.
#[test]
fn what_is_no_good_offer_is_refused() {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
    const RING: u32 = 4 << 10;
    let file = |octets: u64, seals: SealFlags| {
        let file = memfd_create("hostile", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&file, octets).unwrap();
        fcntl_add_seals(&file, seals).unwrap();
        file
    };
    let hello = |magic: &[u8; 8], version: u32, ring: u32| {
        let numbers = [version.to_le_bytes(), ring.to_le_bytes()].concat();
        [&magic[..], &numbers].concat()
    };
    let good = hello(b"CorbShm\n", 1, RING);
    let whole = u64::from(4_096 + 2 * RING);
    let shrink = SealFlags::SHRINK;
    let disk = || OwnedFd::from(std::fs::File::open("/proc/self/exe").unwrap());
    type Offer = (Vec<u8>, Option<OwnedFd>, &'static str);
    let offers: Vec<Offer> = vec![
        (good.clone(), Some(file(whole, SealFlags::empty())), "can be made shorter"),
        (good.clone(), Some(file(whole - 1, shrink)), "octets, not"),
        (good.clone(), Some(file(0, shrink)), "octets, not"),
        (good.clone(), Some(disk()), ""),
        (good.clone(), None, "not an offer"),
        (good[..15].to_vec(), Some(file(whole, shrink)), "not an offer"),
        (hello(b"HTTP/1.1", 1, RING), Some(file(whole, shrink)), "not an offer"),
        (hello(b"CorbShm\n", 2, RING), Some(file(whole, shrink)), "version 2"),
        (hello(b"CorbShm\n", 1, 0), Some(file(4_096, shrink)), "rings of 0"),
        (hello(b"CorbShm\n", 1, 1), Some(file(4_098, shrink)), "rings of 1 "),
        (hello(b"CorbShm\n", 1, 6_000), Some(file(16_096, shrink)), "rings of 6000"),
        (hello(b"CorbShm\n", 1, 1 << 31), Some(file(whole, shrink)), "rings of 2147483648"),
        (hello(b"CorbShm\n", 1, u32::MAX), Some(file(whole, shrink)), "rings of 4294967295"),
    ];
    let name = format!("corbie-hostile-{}", std::process::id());
    let listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let endpoint = Endpoint::Shm(format!("@{name}").parse().unwrap());
    for (hello, file, expected) in offers {
        let error = thread::scope(|scope| {
            let connecting = scope.spawn(|| Link::connect(&endpoint, Some(PATIENCE), None));
            let (stream, _) = listener.accept().unwrap();
            offer(&stream, &hello, file.as_ref());
            connecting.join().unwrap().unwrap_err()
        });
        assert!(error.to_string().contains(expected), "{error} is not about {expected:?}");
    }
    // One that says nothing, and one that hangs up.
    let silent = Link::connect(&endpoint, Some(SOON), None).unwrap_err();
    assert_eq!(silent.kind(), ErrorKind::TimedOut);
    drop(listener.accept().unwrap());
    thread::scope(|scope| {
        let connecting = scope.spawn(|| Link::connect(&endpoint, Some(PATIENCE), None));
        drop(listener.accept().unwrap());
        assert_eq!(connecting.join().unwrap().unwrap_err().kind(), ErrorKind::ConnectionRefused);
    });
}

fn offer(stream: &UnixStream, hello: &[u8], file: Option<&OwnedFd>) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use std::os::fd::AsFd;
    let files: Vec<_> = file.iter().map(|file| file.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&files));
    }
    sendmsg(stream, &[IoSlice::new(hello)], &mut control, SendFlags::NOSIGNAL).unwrap();
}

/// A listener does not wait for who has connected, and one that goes at once is no failure of it.
#[test]
fn clients_that_say_nothing_hold_nobody() {
    let acceptor = acceptor(4 << 10);
    let connect = || UnixStream::connect(name_of(&acceptor.endpoint())).unwrap();
    let silent: Vec<_> = (0..5).map(|_| connect()).collect();
    let links: Vec<_> = (0..5).map(|_| acceptor.accept().unwrap()).collect();
    let refused = Link::connect(&acceptor.endpoint(), Some(SOON), None).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TimedOut, "no server accepts now");
    for _ in 0..5 {
        drop(connect());
    }
    let (ours, theirs) = pair_of(&acceptor);
    assert!(links.iter().all(|link| !link.is_stale()));
    drop(silent);
    assert!(links.iter().all(|link| link.receive(&mut [0; 8]).unwrap() == 0));
    // Those that had gone were passed over, or their links are at their end; ours is neither.
    let mut last = theirs;
    ours.send_one(b"x").unwrap();
    while last.receive(&mut [0; 8]).unwrap() == 0 {
        last = acceptor.accept().unwrap();
    }
    assert!(!ours.is_stale());
}
