//! Asynchronous calls over IIOP: callbacks to handlers here and elsewhere, pollers, futures.
//!
//! Compiled and run by `tests/behaviour.rs`. One ORB serves, one calls, and a third one has the
//! handlers that are elsewhere. Nothing waits for time to pass: the servant is held back by gates.

#[path = "parts/callbacks.rs"]
mod callbacks;
#[path = "parts/futures.rs"]
mod futures;
#[allow(dead_code)]
#[path = "parts/calls.rs"]
mod ordinary;
#[path = "parts/pollers.rs"]
mod pollers;
#[path = "parts/results.rs"]
mod results;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use corbie::types::IiopProfile;
use corbie::{CompletionStatus, Ior, Object, Orb, SystemException};
use messaging::own_interfaces::interfaces::{self, right};
use messaging::own_stock::stock::{self, InvalidStockSymbol, Quoter, quoter::GetQuoteError};

/// Answers `wait` when the program says so.
struct Market {
    served: AtomicU64,
    gate: Mutex<Receiver<i32>>,
}

impl stock::QuoterServant for Market {
    fn quotes_served(&self) -> Result<u64, SystemException> {
        Ok(self.served.load(Ordering::SeqCst))
    }

    fn get_quote(&self, stock_name: &str) -> Result<i32, GetQuoteError> {
        self.served.fetch_add(1, Ordering::SeqCst);
        match stock_name {
            "IBM" => Ok(100),
            "wait" => {
                let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(gate.recv().expect("the program opens the gate"))
            }
            "denied" => {
                let minor = corbie::Minor::of::<7>();
                Err(SystemException::no_permission(minor, CompletionStatus::No).into())
            }
            symbol => Err(InvalidStockSymbol { symbol: symbol.to_owned() }.into()),
        }
    }
}

/// Serves an interface with bases.
struct Bottom;

impl interfaces::TopServant for Bottom {
    fn get_top(&self) -> Result<i32, SystemException> {
        Ok(1)
    }

    fn name(&self) -> Result<String, SystemException> {
        Ok("bottom".to_owned())
    }
}

impl interfaces::LeftServant for Bottom {
    fn go_left(&self, value: i32) -> Result<(), SystemException> {
        match value {
            0 => Ok(()),
            minor => {
                let kind = corbie::SystemExceptionKind::BadParam;
                Err(SystemException::received(kind, minor as u32, CompletionStatus::No))
            }
        }
    }
}

impl interfaces::RightServant for Bottom {
    fn go_right(&self) -> Result<(), right::GoRightError> {
        Err(right::Wrong { why: "it is left".to_owned() }.into())
    }
}

impl interfaces::BottomServant for Bottom {
    fn get_bottom(&self) -> Result<String, SystemException> {
        Ok("b".to_owned())
    }
}

fn orb() -> Orb {
    Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB")
}

/// The same object, called through another ORB.
fn through(orb: &Orb, object: &Object) -> Object {
    orb.string_to_object(&object.to_string()).expect("a reference")
}

/// What the parts of the program use.
pub struct World {
    /// Calls.
    pub client: Orb,
    /// Has the handlers that are elsewhere.
    pub elsewhere: Orb,
    pub quoter: Quoter,
    /// Lets a call of "wait" answer.
    pub gate: Sender<i32>,
    pub bottom: interfaces::Bottom,
    pub ways: messaging::own_calls::calls::Ways,
}

/// A server that takes a connection, reads from it, and closes it.
pub fn breaking(world: &World) -> Quoter {
    scripted(world, |mut stream| {
        let read = stream.read(&mut [0; 12]).expect("a request comes");
        assert!(read > 0);
        stream.shutdown(Shutdown::Both).expect("it was open");
    })
}

/// A server that answers one request with a reply that has no results in it.
pub fn terse(world: &World) -> Quoter {
    scripted(world, |mut stream| {
        let mut header = [0; 12];
        stream.read_exact(&mut header).expect("a request comes");
        // GIOP 1.2, in this machine's byte order: kind and size, then the request id.
        let size = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]);
        let mut request = vec![0; size as usize];
        stream.read_exact(&mut request).expect("all of it");
        header[7] = 1;
        header[8..].copy_from_slice(&12_u32.to_ne_bytes());
        let reply = [&header[..], &request[..4], &[0; 8]].concat();
        stream.write_all(&reply).expect("the client reads");
        // Until the client goes.
        let _ = stream.read(&mut header);
    })
}

fn scripted(world: &World, serve: fn(TcpStream)) -> Quoter {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let there = world.quoter.as_object().ior().iiop_profiles().expect("profiles").remove(0);
    let profile = IiopProfile { port, host: "127.0.0.1".to_owned(), ..there };
    let ior = Ior::from_iiop(Quoter::REPOSITORY_ID, &profile).expect("an IOR");
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the client connects");
        serve(stream);
    });
    Quoter::unchecked_narrow(Object::new(&world.client, ior))
}

fn main() {
    let (server, client, elsewhere) = (orb(), orb(), orb());
    let poa = server.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let (gate, receiver) = channel();
    let market = Market { served: AtomicU64::new(0), gate: Mutex::new(receiver) };
    let quoter = poa.activate(stock::QuoterSkeleton::new(market)).expect("active");
    let bottom = poa.activate(interfaces::BottomSkeleton::new(Bottom)).expect("active");
    let (servant, _hear) = ordinary::Servant::new();
    let skeleton = messaging::own_calls::calls::WaysSkeleton::new(servant);
    let ways = poa.activate(skeleton).expect("active");
    let world = World {
        quoter: Quoter::unchecked_narrow(through(&client, quoter.as_object())),
        bottom: interfaces::Bottom::unchecked_narrow(through(&client, bottom.as_object())),
        ways: messaging::own_calls::calls::Ways::unchecked_narrow(through(
            &client,
            ways.as_object(),
        )),
        client,
        elsewhere,
        gate,
    };
    callbacks::check(&world);
    pollers::check(&world);
    futures::check(&world);
    results::check(&world);
    for orb in [&world.client, &world.elsewhere, &server] {
        orb.shutdown(true);
    }
    println!("all well");
}
