//! Where threads, buffers and event loops meet: replies that came together, requests that leave in
//! pieces, upcalls nested in upcalls, loops of several ORBs. Each was a way to wait for ever.

#![allow(clippy::unwrap_used)] // also in the functions that the tests share

mod echo;
mod script;

use corbie::codegen::{Encoder, Marshal};
use corbie::{
    Object, Operation, PendingReply, Reply, ReplySink, ReplyStub, Servant, ServerRequest,
    SystemException, SystemExceptionKind, TypedServant,
};
use corbie_testkit::{MessageKind, message_header};
use echo::{Echo, as_client, loopback_orb, serve};
use script::{PATIENCE, accept, client, id_of, message, reply, scripted};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

const DOUBLE: Operation = Operation::twoway("double");
const OCTETS: Operation = Operation::twoway("octets");
const FORTY_TWO: i64 = 42;

fn decode(reply: Result<Reply, SystemException>) -> Result<i64, SystemException> {
    reply.and_then(|mut reply| reply.results_only(i64::decode))
}

fn call(echo: &Echo, value: i64, sink: ReplySink) {
    echo.0.invoke_async(&DOUBLE, &|e| i64::encode(&value, e), sink).unwrap();
}

fn deferred(echo: &Echo, value: i64) -> PendingReply {
    echo.0.invoke_deferred(&DOUBLE, &|e| i64::encode(&value, e)).unwrap()
}

/// Tells a channel that it was woken.
struct Told(mpsc::SyncSender<()>);

impl Wake for Told {
    fn wake(self: Arc<Self>) {
        let _ = self.0.try_send(());
    }
}

#[test]
fn a_reply_that_came_with_another_reaches_the_future() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        let ids = [(); 2].map(|()| id_of(&message(&mut stream).unwrap()));
        let replies = ids.map(|id| reply(id, 0, &FORTY_TWO.to_be_bytes()));
        stream.write_all(&replies.concat()).unwrap();
        message(&mut stream)
    });
    let (orb, echo) = client(&url, &[]);
    let first = deferred(&echo, 1);
    let mut second = deferred(&echo, 2);
    assert!(first.wait(Some(PATIENCE)), "this thread reads, and gets both");
    let (sender, woken) = mpsc::sync_channel(1);
    let waker = Waker::from(Arc::new(Told(sender)));
    let outcome = loop {
        match second.poll_reply(&mut Context::from_waker(&waker)) {
            Poll::Ready(reply) => break decode(reply),
            Poll::Pending => woken.recv_timeout(PATIENCE).unwrap(),
        }
    };
    assert_eq!((decode(first.take()).unwrap(), outcome.unwrap()), (FORTY_TWO, FORTY_TWO));
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), None);
}

#[test]
fn functions_that_call_are_nested_only_so_deep() {
    const CALLS: i64 = 5_000;
    let (server, echo, _noted) = serve(&[]);
    for more in [&[][..], &["-ORBTransportMultiplexing", "muxed", "-ORBReplyWait", "reactor"]] {
        let client = loopback_orb(more);
        let through = as_client(&client, &echo);
        let (sender, doubled) = mpsc::channel();
        for value in 0..CALLS {
            let (sender, echo) = (sender.clone(), through.clone());
            let sink = ReplySink::function(move |reply| {
                sender.send(decode(reply).and_then(|value| echo.double(value))).unwrap();
            });
            call(&through, value, sink);
        }
        for _ in 0..CALLS {
            doubled.recv_timeout(PATIENCE).unwrap().unwrap();
        }
        client.shutdown(true);
    }
    server.shutdown(true);
}

#[test]
fn what_is_left_of_a_request_is_sent_while_its_thread_waits() {
    for event_loop in ["background", "application"] {
        let (go, begin) = mpsc::channel();
        let (url, server) = scripted(move |listener| {
            let mut stream = accept(listener);
            begin.recv_timeout(PATIENCE).unwrap();
            let request = message(&mut stream).unwrap();
            stream.write_all(&reply(id_of(&request), 0, &FORTY_TWO.to_be_bytes())).unwrap();
            message(&mut stream)
        });
        let (orb, echo) = client(&url, &["-ORBEventLoop", event_loop]);
        // More than the system takes, by a little: what is left does not count as stuck.
        let octets: &'static [u8] = vec![7; room() + 20_000].leak();
        let thread = thread::spawn({
            let echo = echo.clone();
            move || {
                let write = |e: &mut Encoder<'static>| e.write_octet_sequence(octets);
                let pending = echo.0.invoke_deferred(&OCTETS, &write).unwrap();
                pending.wait(Some(PATIENCE)).then(|| decode(pending.take()))
            }
        });
        go.send(()).unwrap();
        assert_eq!(thread.join().unwrap().expect("a reply").unwrap(), FORTY_TWO);
        orb.shutdown(true);
        assert_eq!(server.join().unwrap(), None);
    }
}

/// How many octets a connection takes whose other side does not read.
fn room() -> usize {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let _other = listener.accept().unwrap();
    stream.set_nonblocking(true).unwrap();
    let octets = vec![0; 32 << 20];
    let mut taken = 0;
    while let Ok(octets) = stream.write(&octets) {
        taken += octets;
    }
    taken
}

/// Doubles by way of another ORB, whose server calls back ours.
struct Relay {
    via: Echo,
    back: Echo,
}

impl Servant for Relay {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Echo:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let value = request.arguments().read_longlong()?;
        let result = self.via.call_back(&self.back, value)?;
        request.reply(&|e| i64::encode(&result, e))
    }
}

impl TypedServant for Relay {
    type Reference = Echo;
}

#[test]
fn the_loop_of_one_orb_serves_it_while_another_orb_calls() {
    let timeout = ["-ORBRequestTimeout", "60s"];
    let (peer, echo, _noted) = serve(&timeout);
    for strategy in ["reactive", "reactor-per-thread", "thread-pool"] {
        let (server, back, _noted) = serve(&["-ORBServerConcurrency", strategy]);
        let middle = loopback_orb(&timeout);
        let relay = Relay { via: as_client(&middle, &echo), back: as_client(&middle, &back) };
        let poa = server.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let relay = poa.activate(relay).unwrap();
        let client = loopback_orb(&timeout);
        assert_eq!(as_client(&client, &relay).double(21).unwrap(), FORTY_TWO, "{strategy}");
        for orb in [client, middle, server] {
            orb.shutdown(true);
        }
    }
    peer.shutdown(true);
}

/// A oneway to an object that does not exist.
fn oneway() -> Vec<u8> {
    let key_and_operation = b"\0\0\0\x04none\0\0\0\x05note\0\0\0\0";
    let header = message_header(MessageKind::Request, false, 44);
    [&header[..], &[0; 12], key_and_operation, &[0; 12]].concat()
}

#[test]
fn a_peer_that_sends_much_and_goes_is_noticed() {
    for strategy in echo::STRATEGIES {
        let one = ["-ORBServerConnectionsMax", "1", "-ORBWhenFull", "wait"];
        let (server, echo, _noted) =
            serve(&[&one[..], &["-ORBServerConcurrency", strategy]].concat());
        let mut stream = TcpStream::connect(server.listen_addresses()[0]).unwrap();
        stream.write_all(&oneway().repeat(5_000)).unwrap();
        drop(stream);
        let client = loopback_orb(&["-ORBRequestTimeout", "60s"]);
        assert_eq!(as_client(&client, &echo).double(21).unwrap(), FORTY_TWO, "{strategy}");
        client.shutdown(true);
        server.shutdown(true);
    }
}

#[test]
fn a_wait_that_ends_amid_a_reply_leaves_the_connection() {
    let (go, begin) = mpsc::channel();
    let (url, server) = scripted(move |listener| {
        let mut stream = accept(listener);
        let id = id_of(&message(&mut stream).unwrap());
        let reply = reply(id, 0, &FORTY_TWO.to_be_bytes());
        let (begins, ends) = reply.split_at(15);
        stream.write_all(begins).unwrap();
        begin.recv_timeout(PATIENCE).unwrap();
        stream.write_all(ends).unwrap();
        message(&mut stream)
    });
    let (orb, echo) = client(&url, &[]);
    let pending = deferred(&echo, 21);
    assert!(!pending.wait(Some(Duration::from_millis(50))), "not all of it is here");
    go.send(()).unwrap();
    assert!(pending.wait(Some(PATIENCE)));
    assert_eq!(decode(pending.take()).unwrap(), FORTY_TWO);
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), None);
}

static STUB: ReplyStub = ReplyStub {
    operation: Operation::twoway("double"),
    excep_operation: Operation::twoway("double_excep"),
    forward: |_: &mut Reply, _: Option<&Object>| Ok(()),
    exceptions: &[],
};

/// A reply handler that tells what it is called with.
struct Handler(mpsc::Sender<String>);

impl Servant for Handler {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/AMI_EchoHandler:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        self.0.send(request.operation().to_owned()).unwrap();
        request.reply(&|_| Ok(()))
    }
}

impl TypedServant for Handler {
    type Reference = Echo;
}

#[test]
fn shutdown_tells_the_handlers_of_the_same_orb() {
    for wait_for_completion in [false, true] {
        let (came, is_there) = mpsc::channel();
        let (url, server) = scripted(move |listener| {
            let mut stream = accept(listener);
            message(&mut stream).unwrap();
            came.send(()).unwrap();
            message(&mut stream)
        });
        let (orb, echo) = client(&url, &[]);
        let (sender, called) = mpsc::channel();
        let poa = orb.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let handler = poa.activate(Handler(sender)).unwrap();
        call(&echo, 21, ReplySink::handler(&handler.0, &STUB));
        is_there.recv_timeout(PATIENCE).unwrap();
        orb.shutdown(wait_for_completion);
        assert_eq!(called.try_recv().unwrap(), "double_excep", "before its POA was destroyed");
        assert_eq!(server.join().unwrap(), None);
    }
}

#[test]
fn the_thread_that_works_tells_that_time_is_over() {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        while message(&mut stream).is_some() {}
    });
    let (orb, echo) = client(&url, &["-ORBEventLoop", "application", "-ORBRequestTimeout", "50ms"]);
    let (sender, told) = mpsc::channel();
    let sink = ReplySink::function(move |reply| {
        sender.send((reply.err().unwrap().kind, thread::current().id())).unwrap();
    });
    call(&echo, 21, sink);
    let outcome = Mutex::new(None);
    let is_told = || {
        let mut outcome = outcome.lock().unwrap();
        *outcome = outcome.take().or_else(|| told.try_recv().ok());
        outcome.is_some()
    };
    assert!(orb.work_until(&is_told, Some(PATIENCE)));
    let here = thread::current().id();
    assert_eq!(*outcome.lock().unwrap(), Some((SystemExceptionKind::Timeout, here)));
    orb.shutdown(true);
    server.join().unwrap();
}
