//! What tells the ways of `reply_wait` apart (paper AMI §3.1): which thread reads a reply, and where
//! a thread sleeps while another one waits. A transport of the test notes the threads that read.

#![allow(clippy::unwrap_used, clippy::cast_possible_wrap, reason = "a test fails by panicking")]

mod echo;

use corbie::codegen::Marshal as _;
use corbie::transport::{PeerAddress, PluggedAcceptor, PluggedLink, Transport};
use corbie::{Orb, ResponseHandler, Servant, ServerRequest, SystemException, TypedServant};
use echo::Echo;
use std::io::{self, ErrorKind, IoSlice, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
/// With a thread that waits, so many calls of another one.
const CALLS: usize = 20;

/// The threads that received octets from the server.
type Readers = Arc<Mutex<Vec<ThreadId>>>;

/// Streams whose links tell an event loop when something comes.
#[derive(Debug, Default)]
struct Watched(Readers);

#[derive(Debug)]
struct WatchedLink {
    stream: UnixStream,
    readers: Readers,
}

#[derive(Debug)]
struct WatchedAcceptor(UnixListener, PathBuf);

impl Transport for Watched {
    fn scheme(&self) -> &'static str {
        "watched"
    }

    fn profile_tag(&self) -> u32 {
        0x5741_5443
    }

    fn is_of_one_machine(&self) -> bool {
        true
    }

    fn check_address(&self, _address: &str) -> Result<(), String> {
        Ok(())
    }

    fn connect(
        &self,
        address: &str,
        _each: Option<Duration>,
        _deadline: Option<Instant>,
    ) -> io::Result<Box<dyn PluggedLink>> {
        let (stream, readers) = (UnixStream::connect(address)?, Arc::clone(&self.0));
        Ok(Box::new(WatchedLink { stream, readers }))
    }

    fn listen(&self, address: &str) -> io::Result<Box<dyn PluggedAcceptor>> {
        Ok(Box::new(WatchedAcceptor(UnixListener::bind(address)?, address.into())))
    }
}

impl WatchedLink {
    fn read(&self, space: &mut [u8], patience: Option<Duration>) -> io::Result<usize> {
        self.stream.set_read_timeout(patience)?;
        let octets = (&self.stream).read(space)?;
        self.readers.lock().unwrap().push(thread::current().id());
        Ok(octets)
    }
}

impl PluggedLink for WatchedLink {
    fn send(&self, segments: &mut [IoSlice<'_>]) -> io::Result<()> {
        segments.iter().try_for_each(|segment| (&self.stream).write_all(segment))
    }

    fn try_send(&self, octets: &[u8]) -> io::Result<usize> {
        (&self.stream).write(octets)
    }

    fn receive(&self, space: &mut [u8]) -> io::Result<usize> {
        self.read(space, None)
    }

    fn try_receive(&self, space: &mut [u8]) -> io::Result<Option<usize>> {
        match self.read(space, Some(Duration::from_micros(1))) {
            Ok(octets) => Ok(Some(octets)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_stale(&self) -> bool {
        false
    }

    fn set_receive_timeout(&self, _timeout: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn set_send_timeout(&self, _timeout: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    fn shutdown(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn peer(&self) -> PeerAddress {
        PeerAddress::Plugged("watched", "here".into())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stream.as_fd())
    }
}

impl PluggedAcceptor for WatchedAcceptor {
    fn address(&self) -> String {
        self.1.to_str().unwrap().to_owned()
    }

    fn accept(&self) -> io::Result<Box<dyn PluggedLink>> {
        let (stream, _) = self.0.accept()?;
        Ok(Box::new(WatchedLink { stream, readers: Readers::default() }))
    }

    fn try_accept(&self) -> io::Result<Option<Box<dyn PluggedLink>>> {
        Err(ErrorKind::Unsupported.into())
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn close(&self) {
        let _ = std::fs::remove_file(&self.1);
    }
}

/// Answers odd numbers when the test says so, others at once.
struct Answers(mpsc::Sender<(ResponseHandler, i64)>);

impl Servant for Answers {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let value = request.arguments().read_longlong()?;
        let held = (request.defer(), value);
        if value % 2 == 0 {
            answer(held)
        } else {
            self.0.send(held).unwrap()
        }
        Ok(())
    }
}

impl TypedServant for Answers {
    type Reference = Echo;
}

fn answer((response, value): (ResponseHandler, i64)) {
    let double = 2 * value;
    response.reply(&|e| i64::encode(&double, e)).unwrap();
}

/// An ORB with the transport, which calls do not get around.
fn orb(readers: &Readers, more: &[&str]) -> Orb {
    let mut arguments: Vec<_> =
        ["-ORBCollocation", "none"].iter().chain(more).map(ToString::to_string).collect();
    let transport = Arc::new(Watched(Arc::clone(readers))) as Arc<dyn Transport>;
    Orb::builder().transport(transport).arguments(&mut arguments).build().unwrap()
}

struct Scene {
    server: Orb,
    client: Orb,
    readers: Readers,
    echo: Echo,
    held: mpsc::Receiver<(ResponseHandler, i64)>,
}

impl Scene {
    fn new(wait: &str, event_loop: &str) -> Scene {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let file = format!("corbie-reply-wait-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(file);
        let endpoint = format!("watched://{}", path.display());
        let (sender, held) = mpsc::channel();
        let server = orb(&Readers::default(), &["-ORBListenEndpoints", &endpoint]);
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(Answers(sender)).unwrap();
        let readers = Readers::default();
        let client = orb(&readers, &["-ORBReplyWait", wait, "-ORBEventLoop", event_loop]);
        let echo = echo::as_client(&client, &echo);
        Scene { server, client, readers, echo, held }
    }

    fn end(self) {
        self.client.shutdown(true);
        self.server.shutdown(true);
    }

    /// The threads that have received something since the last time.
    fn take_readers(&self) -> Vec<ThreadId> {
        std::mem::take(&mut *self.readers.lock().unwrap())
    }
}

/// In which system call the thread sleeps: the first word of the file, a number.
fn sleeps_in(thread: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
    text.split(' ').next().filter(|word| word.parse::<u32>().is_ok()).map(str::to_owned)
}

/// Calls with `value` in another thread; the thread as the system names it.
fn call(scene: &Scene, value: i64) -> (thread::JoinHandle<i64>, String) {
    let (sender, name) = mpsc::channel();
    let echo = scene.echo.clone();
    let caller = thread::spawn(move || {
        let path = std::fs::read_link("/proc/thread-self").unwrap();
        sender.send(path.to_str().unwrap().to_owned()).unwrap();
        echo.double(value).unwrap()
    });
    (caller, name.recv().unwrap())
}

#[test]
fn each_thread_that_waits_on_the_reactor_reads_its_own_replies() {
    for event_loop in ["application", "background"] {
        let scene = Scene::new("reactor", event_loop);
        let (waits, _) = call(&scene, 1);
        let held = scene.held.recv().unwrap();
        assert_eq!(scene.take_readers(), [], "the first call waits");
        for value in 0..CALLS as i64 {
            assert_eq!(scene.echo.double(2 * value).unwrap(), 4 * value);
        }
        let readers = scene.take_readers();
        let this = thread::current().id();
        assert!(readers.len() >= CALLS && readers.iter().all(|reader| *reader == this));
        let other = waits.thread().id();
        answer(held);
        assert_eq!(waits.join().unwrap(), 2);
        assert!(scene.take_readers().iter().all(|reader| *reader == other));
        scene.end();
    }
}

#[test]
fn a_leader_reads_the_replies_of_its_followers_until_it_leaves() {
    let scene = Scene::new("leader-followers", "application");
    let (waits, _) = call(&scene, 1);
    let held = scene.held.recv().unwrap();
    let leader = waits.thread().id();
    let begun = Instant::now();
    // Once this thread has led for its first call and has left, the other one leads.
    while !scene.take_readers().contains(&leader) {
        assert!(begun.elapsed() < PATIENCE, "the leader never read a reply of this thread");
        assert_eq!(scene.echo.double(2).unwrap(), 4);
    }
    answer(held);
    assert_eq!(waits.join().unwrap(), 2);
    scene.take_readers();
    assert_eq!(scene.echo.double(2).unwrap(), 4);
    let this = thread::current().id();
    assert!(scene.take_readers().iter().all(|reader| *reader == this), "no other thread leads");
    scene.end();
}

#[test]
fn a_follower_sleeps_elsewhere_and_a_thread_with_a_loop_of_its_own_in_that() {
    if sleeps_in("self").is_none() && std::fs::read("/proc/self/syscall").is_err() {
        return; // The system does not tell.
    }
    for (wait, differ) in [("leader-followers", true), ("reactor", false)] {
        let scene = Scene::new(wait, "application");
        let callers = [call(&scene, 1), call(&scene, 3)];
        let held = [scene.held.recv().unwrap(), scene.held.recv().unwrap()];
        let begun = Instant::now();
        loop {
            let calls = callers.each_ref().map(|(_, thread)| sleeps_in(thread));
            if let [Some(one), Some(other)] = calls
                && (one != other) == differ
            {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "{wait}: both in the same call: {}", !differ);
            thread::yield_now();
        }
        held.into_iter().for_each(answer);
        let answers = callers.map(|(caller, _)| caller.join().unwrap());
        assert_eq!(answers, [2, 6]);
        scene.end();
    }
}
