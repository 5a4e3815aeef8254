//! Allocations of calls with much in them, client and server together: none but those that the
//! mapping asks for, however large the messages are and whichever thread reads the replies (paper POA
//! §3.2).
//!
//! One test in a file of its own: it counts for the whole process.

#![allow(clippy::unwrap_used)] // also in the functions that the test uses

mod echo;

use corbie::idl::Sequence;
use corbie::{
    Interface, Marshal, Object, Operation, Reply, ReplySink, ReplyStub, Servant, ServerRequest,
    SystemException, TypedServant, buffers,
};
use corbie_testkit::CountingAllocator;
use echo::{Echo, as_client, lend_a_thread, loopback_orb};
use std::sync::atomic::{AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// What is called: results are as many octets as asked for, from memory that lives as long as the
/// servant.
struct Store(Vec<u8>);

impl Servant for Store {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let mut d = request.arguments();
        let amh = request.operation().starts_with("amh_");
        let result: usize = match request.operation() {
            // Read in place.
            "put" | "amh_put" => d.read_octet_sequence()?.len(),
            // One vector.
            "doubles" => Sequence::<f64>::decode(&mut d)?.len(),
            "records" => {
                let count = d.read_length(12)?;
                (0..count).try_for_each(|_| d.read_long().and(d.read_double()).map(drop))?;
                count
            }
            "get" | "amh_get" => {
                let octets = &self.0[..d.read_ulong()? as usize];
                return match amh {
                    true => request.defer().reply(&|e| e.write_octet_sequence(octets)),
                    false => request.reply(&|e| e.write_octet_sequence(octets)),
                };
            }
            _ => return Err(request.unknown_operation()),
        };
        let result = result as u32;
        match amh {
            true => request.defer().reply(&|e| u32::encode(&result, e)),
            false => request.reply(&|e| u32::encode(&result, e)),
        }
    }
}

impl TypedServant for Store {
    type Reference = Echo;
}

static REPLIES: AtomicU64 = AtomicU64::new(0);

struct Handler;

impl Servant for Handler {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/AMI_EchoHandler:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let octets = request.arguments().read_octet_sequence()?.to_vec();
        assert!(!octets.is_empty());
        REPLIES.fetch_add(1, Ordering::Release);
        request.reply(&|_| Ok(()))
    }
}

impl TypedServant for Handler {
    type Reference = Echo;
}

static GET_STUB: ReplyStub = ReplyStub {
    operation: Operation::twoway("get"),
    excep_operation: Operation::twoway("get_excep"),
    forward: |_: &mut Reply, _: Option<&Object>| panic!("the handler is in this process"),
    exceptions: &[],
};

fn call(echo: &Echo, name: &'static str, octets: &[u8]) -> u32 {
    let operation = Operation::twoway(name);
    let mut reply =
        echo.as_object().invoke(&operation, &|e| e.write_octet_sequence(octets)).unwrap();
    reply.results_only(u32::decode).unwrap()
}

fn get(echo: &Echo, name: &'static str, octets: u32) -> Vec<u8> {
    let operation = Operation::twoway(name);
    let mut reply = echo.as_object().invoke(&operation, &|e| u32::encode(&octets, e)).unwrap();
    reply.results_only(Sequence::<u8>::decode).unwrap()
}

/// Allocations of the process in each call of many.
fn each(expected: u64, calls: u64, call: impl Fn()) -> f64 {
    let run = || (0..calls).for_each(|_| call());
    let needed =
        CountingAllocator::needed(CountingAllocator::of_all_threads, expected * calls, run);
    needed as f64 / calls as f64
}

fn check(server: &[&str], client: &[&str]) {
    const LARGEST: usize = 16 << 20;
    let how = format!("{server:?}, {client:?}");
    let server = loopback_orb(server);
    lend_a_thread(&server);
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let store = poa.activate(Store(vec![7; LARGEST])).unwrap();
    let client = loopback_orb(client);
    let echo = as_client(&client, &store);
    let handlers = client.root_poa().unwrap();
    handlers.the_poa_manager().activate().unwrap();
    let handler = handlers.activate(Handler).unwrap();
    let octets = vec![7; LARGEST];
    let doubles: Vec<f64> = (0..100_000).map(f64::from).collect();
    for size in [100, 5_000, 50_000, 300_000, 2 << 20, LARGEST] {
        let calls = if size > 1 << 20 { 4 } else { 20 };
        for name in ["put", "amh_put"] {
            let put =
                each(0, calls, || assert_eq!(call(&echo, name, &octets[..size]), size as u32));
            assert_eq!(put, 0.0, "{name} of {size} octets, {how}");
        }
        for name in ["get", "amh_get"] {
            let got = each(1, calls, || assert_eq!(get(&echo, name, size as u32).len(), size));
            assert_eq!(got, 1.0, "{name} of {size} octets: the result's vector, {how}");
        }
        let got = each(1, calls, || {
            let before = REPLIES.load(Ordering::Acquire);
            let sink = ReplySink::handler(handler.as_object(), &GET_STUB);
            let size = size as u32;
            echo.as_object()
                .invoke_async(&Operation::twoway("get"), &|e| u32::encode(&size, e), sink)
                .unwrap();
            while REPLIES.load(Ordering::Acquire) == before {
                std::thread::yield_now();
            }
        });
        assert_eq!(got, 1.0, "asynchronous get of {size} octets: the handler's vector, {how}");
    }
    let sent = each(0, 4, || {
        let encode = |e: &mut corbie::Encoder<'_>| {
            // What stubs do with a sequence of structures: nothing of it can be borrowed.
            e.write_length(doubles.len())?;
            doubles.iter().for_each(|value| {
                e.write_long(1);
                e.write_double(*value);
            });
            Ok(())
        };
        let mut reply = echo.as_object().invoke(&Operation::twoway("records"), &encode).unwrap();
        assert_eq!(reply.results_only(u32::decode).unwrap(), 100_000);
    });
    assert_eq!(sent, 0.0, "a sequence of structures in linked blocks, {how}");
    let sent = each(1, 4, || {
        let mut reply = echo
            .as_object()
            .invoke(&Operation::twoway("doubles"), &|e| Sequence::<f64>::write(&doubles[1..], e))
            .unwrap();
        assert_eq!(reply.results_only(u32::decode).unwrap(), 99_999);
    });
    assert_eq!(sent, 1.0, "doubles from the caller's memory into the servant's vector, {how}");
    server.shutdown(true);
    client.shutdown(true);
}

#[test]
fn much_is_received_in_one_allocation_and_sent_in_none() {
    check(&[], &[]);
    check(&["-ORBServerConcurrency", "reactor-per-thread"], &[]);
    check(&[], &["-ORBTransportMultiplexing", "muxed"]);
    let held = buffers::shared_octets();
    assert!(held <= buffers::limits().shared_octets, "{held} octets in the process's pool");
}
