//! A peer with very many connections, each with a pull that waits: others still connect, and wait.

mod fixture;

use corbie::{Object, Orb};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_event::{ChannelQos, EventServer, Limits};
use corbie_testkit::{RawRequest, object_key_in};
use fixture::{any, until};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};

/// Connections of the server, and of the attack.
const CONNECTIONS: usize = 60;
const SOCKETS: usize = 400;

/// A connection from another address of this machine, as from another machine.
fn connect_from(host: u8, to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    let from: SocketAddr = ([127, 0, 0, host], 0).into();
    socket.bind(&from.into())?;
    socket.connect(&to.into())?;
    Ok(socket.into())
}

#[test]
fn a_peer_with_a_thousand_waiting_pulls_locks_out_no_other() {
    let most = CONNECTIONS.to_string();
    let settings = ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBServerConnectionsMax", &most];
    let server_orb = Orb::init(settings).expect("an ORB");
    let server = EventServer::start(&server_orb, Limits::default()).expect("a server");
    let channel = server.create("test", ChannelQos::default()).expect("a channel");
    let clients = |channel: &EventChannel| {
        let orb = fixture::orb();
        let ior = channel.as_object().ior().clone();
        (EventChannel::unchecked_narrow(Object::new(&orb, ior)), orb)
    };
    let puller = |channel: &EventChannel| {
        let consumers = channel.for_consumers().expect("an answer").expect("not nil");
        let puller = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
        puller.connect_pull_consumer(None).expect("connected");
        puller
    };
    // Ten for each proxy.
    let (attacked, attacker) = clients(&channel);
    let pullers: Vec<_> = (0..SOCKETS / 10).map(|_| puller(&attacked)).collect();
    let body = pullers[0].as_object().ior().iiop_profiles().expect("profiles")[0].clone();
    let address: SocketAddr = format!("{}:{}", body.host, body.port).parse().expect("an address");
    let mut sockets = Vec::new();
    for number in 0..SOCKETS {
        let object_key = object_key_in(&pullers[number / 10].as_object().to_string());
        let (operation, request_id, arguments) = ("pull", 1, &[]);
        let pull = RawRequest { object_key: &object_key, operation, request_id, arguments };
        // Some are refused, or closed for others.
        if let Ok(mut socket) = connect_from(2, address)
            && socket.write_all(&pull.octets()).is_ok()
        {
            sockets.push(socket);
        }
    }
    let statistics = || server.statistics();
    until("they wait", || statistics().waiting_pulls >= CONNECTIONS as u64 / 2);
    until("some were refused", || statistics().refused_pulls > 0);
    // Clients that come now, one after the other and all at once, wait for events and get them.
    let honest: Vec<_> = (0..5).map(|_| clients(&channel)).collect();
    let waiting: Vec<_> = honest.iter().map(|(channel, _)| (puller(channel), channel)).collect();
    let threads: Vec<_> = waiting
        .iter()
        .map(|(puller, _)| {
            let puller = puller.clone();
            std::thread::spawn(move || puller.pull())
        })
        .collect();
    let before = CONNECTIONS as u64 / 2;
    until("all wait", || statistics().waiting_pulls >= before + 5);
    let suppliers = waiting[0].1.for_suppliers().expect("an answer").expect("not nil");
    let supplier = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
    supplier.connect_push_supplier(None).expect("connected");
    supplier.push(&any(7)).expect("taken");
    for thread in threads {
        assert_eq!(thread.join().expect("no panic").expect("an event"), any(7));
    }
    // What leaves gives its places back.
    drop(sockets);
    until("all places are free", || statistics().waiting_pulls == 0);
    honest.into_iter().for_each(|(_, orb)| orb.shutdown(true));
    attacker.shutdown(true);
    drop(server);
    server_orb.shutdown(true);
}
