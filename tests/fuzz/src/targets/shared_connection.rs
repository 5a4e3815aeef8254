//! A client with requests outstanding on one connection, whose server answers with whatever the
//! input says: every request comes to an end, and what a well-formed reply says reaches the right
//! one.

use corbie::{Object, Operation, Orb, Reply, ReplySink, SystemException};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const REQUESTS: usize = 3;

type Outcome = Result<Vec<u8>, SystemException>;

/// One thing that the server sends.
enum Step<'a> {
    /// A reply to one of the requests; or, with something added to its id, to none.
    Reply {
        to: usize,
        added: u32,
        status: u8,
        body: &'a [u8],
    },
    /// CloseConnection or MessageError.
    Message(u8),
    Raw(&'a [u8]),
}

/// An octet says what, the next how long: bits 0–2 the kind, 3–4 the request, 5–7 what it adds.
fn take<'a>(data: &mut &'a [u8]) -> Option<Step<'a>> {
    let [kind, length, rest @ ..] = data else { return None };
    let (kind, (body, rest)) = (*kind, rest.split_at(rest.len().min(usize::from(*length))));
    *data = rest;
    let to = usize::from(kind >> 3 & 3) % REQUESTS;
    let reply = |status, added| Step::Reply { to, added, status, body };
    Some(match kind & 7 {
        status @ 0..=2 => reply(status, 0),
        3 => reply(0, u32::from(kind >> 5) << 15 | 1),
        4 => Step::Message(5),
        5 => Step::Message(6),
        6 => Step::Raw(body),
        // Any status but the forwards, whose references would have it call who knows whom.
        _ => reply([0, 1, 2, 5, 6, 7, 8, 255][usize::from(kind >> 5)], 0),
    })
}

/// The input is a list of steps, after which the server closes the connection.
pub fn shared_connection(data: &[u8]) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let object = client()
        .string_to_object(&format!("corbaloc:iiop:1.2@{address}/Fuzz"))
        .expect("a reference");
    let outcomes = send(&object);
    let (mut stream, _) = listener.accept().expect("a connection");
    stream.set_nodelay(true).expect("an option");
    let ids: Vec<u32> = (0..REQUESTS).map(|_| read_request(&mut stream)).collect();
    // What is sent again finds no server.
    drop(listener);
    let mut expected: [Option<&[u8]>; REQUESTS] = [None; REQUESTS];
    let mut is_answered = [false; REQUESTS];
    let (mut rest, mut is_sound) = (data, true);
    while let Some(step) = take(&mut rest) {
        let octets = match step {
            Step::Reply { to, added, status, body } => {
                let is_ours = added == 0;
                if is_sound && is_ours && !is_answered[to] && status == 0 {
                    expected[to] = Some(body);
                }
                // What comes after an odd message is not foreseen here.
                is_sound &= status <= 2 && is_ours && !is_answered[to];
                is_answered[to] |= is_ours;
                reply(ids[to].wrapping_add(added), status, body)
            }
            Step::Message(kind) => {
                is_sound = false;
                message(kind, &[])
            }
            Step::Raw(octets) => {
                is_sound = false;
                octets.to_vec()
            }
        };
        // The client may have closed the connection already.
        if stream.write_all(&octets).is_err() {
            break;
        }
    }
    drop(stream);
    check(&outcomes, &expected);
}

/// Each request has its one outcome, which is the reply to it where that was well-formed.
fn check(outcomes: &Receiver<(usize, Outcome)>, expected: &[Option<&[u8]>; REQUESTS]) {
    let mut seen = [false; REQUESTS];
    for _ in 0..REQUESTS {
        let (request, outcome) =
            outcomes.recv_timeout(Duration::from_secs(20)).expect("a request without an outcome");
        assert!(!seen[request], "request {request} has two outcomes");
        seen[request] = true;
        if let Some(body) = expected[request] {
            assert_eq!(outcome.as_deref(), Ok(body), "request {request}");
        }
    }
}

fn client() -> &'static Orb {
    static CLIENT: OnceLock<Orb> = OnceLock::new();
    CLIENT.get_or_init(|| {
        Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBRequestTimeout", "10s"])
            .expect("an ORB")
    })
}

/// Sends the requests; their outcomes arrive with their numbers.
fn send(object: &Object) -> Receiver<(usize, Outcome)> {
    static OPERATION: Operation = Operation::twoway("ask");
    let (sender, outcomes) = channel();
    for request in 0..REQUESTS {
        let sender = sender.clone();
        let sink = ReplySink::function(move |reply: Result<Reply, SystemException>| {
            let body = reply.and_then(|mut reply| reply.results_only(|d| Ok(d.rest().to_vec())));
            // The target is gone only when it has failed.
            let _ = sender.send((request, body));
        });
        object.invoke_async(&OPERATION, &|_| Ok(()), sink).expect("it is accepted");
    }
    outcomes
}

/// The id of the next request.
fn read_request(stream: &mut TcpStream) -> u32 {
    let mut header = [0; 12];
    stream.read_exact(&mut header).expect("a header");
    let is_little = header[6] & 1 == 1;
    let number = |octets: [u8; 4]| match is_little {
        true => u32::from_le_bytes(octets),
        false => u32::from_be_bytes(octets),
    };
    let mut body = vec![0; number([header[8], header[9], header[10], header[11]]) as usize];
    stream.read_exact(&mut body).expect("a body");
    number(*body.first_chunk().expect("an id"))
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut octets = vec![b'G', b'I', b'O', b'P', 1, 2, 0, kind];
    octets.extend((body.len() as u32).to_be_bytes());
    octets.extend(body);
    octets
}

/// GIOP 1.2, big-endian; a body begins at a multiple of eight.
fn reply(id: u32, status: u8, body: &[u8]) -> Vec<u8> {
    let mut octets: Vec<u8> =
        [id, u32::from(status), 0].iter().flat_map(|number| number.to_be_bytes()).collect();
    octets.extend(body);
    message(1, &octets)
}
