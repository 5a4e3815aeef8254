//! Payloads without copies: sent from memory of the application, also after the call returned, and
//! received into memory that its allocator gave (paper POA §3.2).

#![allow(clippy::unwrap_used)] // also in the functions that the tests use

mod echo;

use corbie::payload::{self, OctetSource, PayloadAllocator, PayloadMemory, SharedOctets};
use corbie::{
    Interface, Operation, ResponseHandler, Servant, ServerRequest, SystemException, TypedServant,
};
use corbie_testkit::CountingAllocator;
use echo::{Echo, as_client, lend_a_thread, loopback_orb, serve};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::yield_now();
    }
}

/// Memory of fixed places, each of which goes back when its last holder drops it.
#[derive(Debug, Default)]
struct Frames {
    free: Arc<Mutex<Vec<Vec<u8>>>>,
    asked: AtomicUsize,
}

struct Frame {
    octets: Vec<u8>,
    home: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.octets
    }
}

impl AsMut<[u8]> for Frame {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.octets
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        self.home.lock().unwrap().push(std::mem::take(&mut self.octets));
    }
}

const FRAME: usize = 2 << 20;

impl Frames {
    fn with(count: usize) -> Arc<Self> {
        let frames = Frames::default();
        frames.free.lock().unwrap().extend((0..count).map(|_| vec![0; FRAME]));
        Arc::new(frames)
    }

    fn free(&self) -> usize {
        self.free.lock().unwrap().len()
    }
}

impl PayloadAllocator for Frames {
    fn allocate(&self, octets: usize) -> Option<Arc<dyn PayloadMemory>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let octets = (octets <= FRAME).then(|| self.free.lock().unwrap().pop())??;
        Some(Arc::new(Frame { octets, home: Arc::clone(&self.free) }))
    }
}

/// Keeps what it is sent.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<SharedOctets>>>);

impl Servant for Recorder {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let octets = request.arguments().read_octet_sequence()?.to_vec();
        let mut arguments = request.arguments();
        let kept = payload::keep(arguments.read_octet_sequence()?);
        assert_eq!(&*kept, octets);
        let part = payload::keep(&kept[..octets.len() / 2]);
        assert_eq!(&*part, &octets[..octets.len() / 2]);
        self.0.lock().unwrap().push(kept);
        request.reply(&|e| e.write_octet_sequence(&part))
    }
}

impl TypedServant for Recorder {
    type Reference = Echo;
}

fn pattern(octets: usize) -> Vec<u8> {
    (0..octets).map(|at| (at % 251) as u8).collect()
}

#[test]
fn large_messages_are_received_into_the_allocators_memory_and_kept_there() {
    for concurrency in ["thread-per-connection", "thread-pool", "reactive"] {
        let frames = Frames::with(3);
        let server = loopback_orb(&["-ORBServerConcurrency", concurrency]);
        lend_a_thread(&server);
        server.set_payload_allocator(Arc::clone(&frames) as Arc<dyn PayloadAllocator>);
        let recorder = Recorder::default();
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(recorder.clone()).unwrap();
        let client = loopback_orb(&[]);
        let echo = as_client(&client, &echo);
        let octets = pattern(1 << 20);

        for kept in 1..=2 {
            assert_eq!(echo.octets(&octets).unwrap(), octets[..octets.len() / 2]);
            assert_eq!(frames.free(), 3 - kept, "{concurrency}: the servant holds {kept}");
        }
        assert_eq!(recorder.0.lock().unwrap()[0][..], octets[..]);
        // Small ones, too large ones, and those for which there is no memory are received all the
        // same; what is kept of them is a copy.
        assert_eq!(echo.octets(&octets[..1000]).unwrap(), octets[..500]);
        let huge = pattern(FRAME + 1);
        assert_eq!(echo.octets(&huge).unwrap(), huge[..huge.len() / 2]);
        let asked = frames.asked.load(Ordering::Relaxed);
        assert_eq!(asked, 3, "{concurrency}: for each large message, once");
        let last = frames.free.lock().unwrap().drain(..).collect::<Vec<_>>();
        assert_eq!(echo.octets(&octets).unwrap().len(), octets.len() / 2);
        frames.free.lock().unwrap().extend(last);
        recorder.0.lock().unwrap().clear();
        eventually("all memory came back", || frames.free() == 3);
        server.shutdown(true);
        client.shutdown(true);
    }
}

#[test]
fn results_are_received_into_the_allocators_memory_and_kept_there() {
    let frames = Frames::with(2);
    let (server, echo, _) = serve(&[]);
    let client = loopback_orb(&[]);
    client.set_payload_allocator(Arc::clone(&frames) as Arc<dyn PayloadAllocator>);
    let echo = as_client(&client, &echo);
    let octets = pattern(1 << 20);
    const OPERATION: Operation = Operation::twoway("octets");
    let keep = |d: &mut corbie::Decoder<'_>| Ok(payload::keep(d.read_octet_sequence()?));

    let mut reply =
        echo.as_object().invoke(&OPERATION, &|e| e.write_octet_sequence(&octets)).unwrap();
    let kept = reply.results_only(keep).unwrap();
    drop(reply);
    assert_eq!((&*kept, frames.free()), (&octets[..], 1));

    let pending =
        echo.as_object().invoke_deferred(&OPERATION, &|e| e.write_octet_sequence(&octets)).unwrap();
    assert!(pending.wait(None));
    let later = pending.take().unwrap().results_only(keep).unwrap();
    assert_eq!((&*later, frames.free()), (&octets[..], 0));
    drop((kept, later));
    eventually("all memory came back", || frames.free() == 2);
    server.shutdown(true);
    client.shutdown(true);
}

/// Answers later, with a lot.
struct Generous {
    payload: SharedOctets,
    is_lent: bool,
    sent: Mutex<std::sync::mpsc::Sender<u64>>,
}

impl Generous {
    fn answer(&self, response: ResponseHandler) {
        let before = CountingAllocator::of_this_thread();
        if self.is_lent {
            self.payload
                .lend(|octets| response.reply(&|e| e.write_octet_sequence(octets)))
                .unwrap();
        } else {
            response.reply(&|e| e.write_octet_sequence(&self.payload)).unwrap();
        }
        let octets = CountingAllocator::of_this_thread().since(before).octets;
        self.sent.lock().unwrap().send(octets).unwrap();
    }
}

impl Servant for Generous {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.answer(request.defer());
        Ok(())
    }
}

impl TypedServant for Generous {
    type Reference = Echo;
}

/// A client that sends a request and does not read.
fn stalled_client(echo: &Echo) -> TcpStream {
    let ior = echo.as_object().ior();
    let profile = corbie::types::IiopProfile::decode(&ior.profiles[0].data).unwrap();
    let mut stream = TcpStream::connect((profile.host.as_str(), profile.port)).unwrap();
    let mut e = corbie::Encoder::new(Vec::new(), corbie::ByteOrder::NATIVE);
    e.write_octets(b"GIOP\x01\x02");
    e.write_octet(u8::from(cfg!(target_endian = "little")));
    e.write_octet(0);
    let size = e.reserve_ulong();
    e.write_ulong(7); // The request id.
    e.write_ulong(3); // The client waits.
    e.write_ulong(0); // By key.
    e.write_octet_sequence_copied(&profile.object_key).unwrap();
    e.write_string("octets").unwrap();
    e.write_ulong(0);
    let octets = e.len() as u32 - 12;
    e.patch_ulong(size, octets);
    stream.write_all(&e.into_buffer()).unwrap();
    stream
}

#[test]
fn what_is_lent_is_not_copied_while_the_peer_does_not_take_it() {
    const OCTETS: usize = 16 << 20;
    for is_lent in [true, false] {
        let server = loopback_orb(&["-ORBServerConcurrency", "reactor-per-thread"]);
        let memory: Arc<dyn OctetSource> = Arc::new(pattern(OCTETS));
        let (sent, was_sent) = std::sync::mpsc::channel();
        let payload = SharedOctets::from_arc(Arc::clone(&memory));
        let generous = Generous { payload, is_lent, sent: Mutex::new(sent) };
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let echo = poa.activate(generous).unwrap();
        let mut stream = stalled_client(&echo);
        // The answer was given, and its client has not read any of it.
        let allocated = was_sent.recv_timeout(Duration::from_secs(60)).unwrap();
        let holders = Arc::strong_count(&memory);
        if is_lent {
            assert_eq!(holders, 3, "test, servant and queue");
            assert!(allocated < 100_000, "{allocated} octets were allocated for the reply");
        } else {
            assert_eq!(holders, 2, "test and servant");
            assert!(
                allocated > OCTETS as u64 / 2,
                "{allocated}: what is borrowed has to be copied"
            );
        }
        let mut reply = vec![0; 12 + 12 + 4 + OCTETS];
        stream.read_exact(&mut reply).unwrap();
        assert!(reply[28..] == (*memory).as_ref()[..], "the octets are the same");
        eventually("the queue lets go", || Arc::strong_count(&memory) == 2);
        server.shutdown(true);
    }
}
