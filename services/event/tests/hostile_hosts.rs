//! Consumers at addresses that never answer a connect: no other consumer waits for them.

mod fixture;

use corbie_event::cos_event_comm::PushConsumer;
use corbie_event::{ChannelQos, Limits};
use fixture::{Fixture, PATIENCE, any, any_listener};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// More than the threads that may connect to what can only be waited for.
const HOLES: usize = 100;
/// No first event is later than this because of them.
const LATE: Duration = Duration::from_secs(1);

/// An address that drops what asks for a connection, as one behind a firewall does: a listener that
/// accepts nothing, with all places taken.
struct BlackHole {
    listener: TcpListener,
    _waiting: Vec<TcpStream>,
}

impl BlackHole {
    fn new() -> Self {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let socket = socket.expect("a socket");
        let any_port: SocketAddr = ([127, 0, 0, 1], 0).into();
        socket.bind(&any_port.into()).expect("bound");
        socket.listen(0).expect("listens");
        let listener: TcpListener = socket.into();
        let address = listener.local_addr().expect("an address");
        let (soon, mut waiting) = (Duration::from_millis(50), Vec::new());
        while let Ok(stream) = TcpStream::connect_timeout(&address, soon) {
            waiting.push(stream);
        }
        Self { listener, _waiting: waiting }
    }

    fn consumer(&self, number: usize, orb: &corbie::Orb) -> PushConsumer {
        let address = self.listener.local_addr().expect("an address");
        let url = format!("corbaloc:iiop:1.2@{address}/consumer-{number}");
        let object = orb.string_to_object(&url).expect("a reference");
        PushConsumer::unchecked_narrow(object)
    }
}

#[test]
fn consumers_that_never_answer_a_connect_delay_no_first_event() {
    let fixture = Fixture::with_limits(ChannelQos::default(), Limits::default());
    let holes: Vec<_> = std::thread::scope(|threads| {
        let made: Vec<_> = (0..HOLES).map(|_| threads.spawn(BlackHole::new)).collect();
        made.into_iter().map(|hole| hole.join().expect("a hole")).collect()
    });
    for (number, hole) in holes.iter().enumerate() {
        let consumer = hole.consumer(number, &fixture.client_orb);
        fixture.push_supplier().connect_push_consumer(Some(&consumer)).expect("connected");
    }
    let supplier = fixture.supplier();
    // From now on they are tried, again and again.
    supplier.push(&any(0)).expect("taken");
    for round in 1..=5 {
        let (consumer, got) = any_listener(&fixture.poa);
        fixture.push_supplier().connect_push_consumer(Some(&consumer)).expect("connected");
        let began = Instant::now();
        supplier.push(&any(round)).expect("taken");
        assert_eq!(got.recv_timeout(PATIENCE), Ok(any(round)));
        assert!(began.elapsed() < LATE, "{:?}", began.elapsed());
        // The next one is at another address, to which there is no connection yet.
        let orb = fixture::orb();
        let poa = orb.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("active");
        let (consumer, got) = any_listener(&poa);
        fixture.push_supplier().connect_push_consumer(Some(&consumer)).expect("connected");
        let began = Instant::now();
        supplier.push(&any(100 + round)).expect("taken");
        assert_eq!(got.recv_timeout(PATIENCE), Ok(any(100 + round)));
        assert!(began.elapsed() < LATE, "{:?}", began.elapsed());
        orb.shutdown(true);
    }
    let taken = fixture.core().statistics().consumers;
    assert_eq!(taken.iter().take(HOLES).map(|one| one.delivered).sum::<u64>(), 0, "they hang");
}
