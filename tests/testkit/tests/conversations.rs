//! Whole conversations over the simulated network: every order of request, reply, cancel and close,
//! with latency, jitter, chunks and fragments. CORBA 3.3 P2 §9.4.4, §9.4.7, §9.5.1.

use corbie_cdr::{ByteOrder, Version};
use corbie_giop::{ConnectionState, GiopErrorKind, Protocol};
use corbie_testkit::{Arrival, NetworkConditions, Pair, Seed, Side};

fn pair() -> Pair {
    Pair::new(NetworkConditions::default(), 1)
}

#[test]
fn a_call_takes_two_latencies() {
    let mut pair = pair();
    assert!(pair.request(1, b"how much?"));
    pair.after(150, |pair| assert!(pair.reply(1, b"42")));
    pair.run();
    let operation = "operation".to_owned();
    assert_eq!(pair.server.arrivals, [(100, Arrival::Request(1, operation))]);
    assert_eq!(pair.client.arrivals, [(250, Arrival::Reply(1, b"42".to_vec()))]);
}

#[test]
fn replies_come_in_any_order_and_reach_their_requests() {
    let mut seed = Seed::new(7);
    for run in 0..50 {
        let conditions = NetworkConditions { latency_us: 10, jitter_us: 30, chunk_octets_max: 40 };
        let mut pair = Pair::new(conditions, run);
        let mut ids: Vec<u32> = (1..=20).collect();
        for id in &ids {
            assert!(pair.request(*id, b"x"));
        }
        seed.shuffle(&mut ids);
        for (delay, id) in ids.iter().copied().enumerate() {
            pair.after(100 + delay as u64, move |pair| {
                assert!(pair.reply(id, &id.to_le_bytes()));
            });
        }
        pair.run();
        let expected: Vec<Arrival> =
            ids.iter().map(|id| Arrival::Reply(*id, id.to_le_bytes().to_vec())).collect();
        assert_eq!(pair.client.saw(), expected);
        assert!(pair.client.connection.outstanding().is_empty());
    }
}

/// One of the things that happen to a request.
#[derive(Clone, Copy, Debug)]
enum Move {
    Reply,
    Cancel,
    CloseServer,
    CloseClient,
    Lose,
}

/// Plays the moves at these times for request 1, while request 2 is sent late; checks what holds
/// whatever happens: every request has exactly one fate, no side breaks a rule, and what may be sent
/// again was never begun.
fn play(moves: &[(u64, Move)], conditions: NetworkConditions, seed: u64) {
    for protocol in [Protocol::Giop, Protocol::GiopLite] {
        play_in(Pair::speaking(protocol, conditions, seed), moves, conditions, seed);
    }
}

fn play_in(mut pair: Pair, moves: &[(u64, Move)], conditions: NetworkConditions, seed: u64) {
    assert!(pair.request(1, b"first"));
    for &(time, action) in moves {
        pair.after(time, move |pair| match action {
            Move::Reply => {
                pair.reply(1, b"one");
                pair.reply(2, b"two");
            }
            Move::Cancel => pair.cancel(1),
            Move::CloseServer => pair.close(Side::Server),
            Move::CloseClient => pair.close(Side::Client),
            Move::Lose => pair.lose_connection(),
        });
    }
    pair.after(60, |pair| {
        pair.request(2, b"second");
    });
    pair.run();

    let context = format!("{moves:?} {conditions:?} seed {seed}: {pair:?}");
    let client = pair.client.saw();
    for id in [1, 2] {
        let replies = client.iter().filter(|a| matches!(a, Arrival::Reply(i, _) if *i == id));
        let outstanding = pair.client.connection.outstanding().contains(id);
        let replies = replies.count();
        assert!(replies + usize::from(outstanding) <= 1, "request {id}: {context}");
        let begun = pair.server.has_seen(&Arrival::Request(id, "operation".to_owned()));
        if pair.client.has_seen(&Arrival::CloseConnection) && outstanding {
            assert!(!begun, "request {id} was begun and would be sent again: {context}");
        }
        if replies > 0 {
            assert!(begun, "{context}");
        }
    }
    for arrival in client.iter().chain(&pair.server.saw()) {
        if let Arrival::Failed(kind) = arrival {
            let broken = [GiopErrorKind::Lost, GiopErrorKind::Truncated];
            assert!(broken.contains(kind), "{context}");
            let may_break =
                moves.iter().any(|(_, action)| matches!(action, Move::Lose | Move::CloseClient));
            assert!(may_break, "{context}");
        }
    }
    let closed = moves.iter().any(|(_, a)| matches!(a, Move::CloseServer));
    if closed && pair.server.connection.outstanding().is_empty() {
        assert_eq!(pair.server.connection.state(), ConnectionState::Closed, "{context}");
        assert_eq!(pair.client.connection.state(), ConnectionState::Closed, "{context}");
    }
}

/// All orders and distances of up to three moves: before the request arrives, while it is served,
/// at the same instant, after the reply.
#[test]
fn every_order_of_reply_cancel_and_close() {
    let moves = [Move::Reply, Move::Cancel, Move::CloseServer, Move::CloseClient, Move::Lose];
    let times = [0, 50, 100, 130, 200, 230, 400];
    let slow = NetworkConditions::default();
    let chunked = NetworkConditions { jitter_us: 90, chunk_octets_max: 9, ..slow };
    let mut games = 0;
    for first in moves {
        for second in moves {
            for third in moves {
                for (i, &a) in times.iter().enumerate() {
                    for &b in &times[..=i] {
                        let sequence = [(b, first), (a, second), (a + 7, third)];
                        play(&sequence, slow, 0);
                        play(&sequence, chunked, games);
                        games += 1;
                    }
                }
            }
        }
    }
    assert_eq!(games, 125 * 28);
}

#[test]
fn a_server_that_closes_answers_what_it_has_begun_and_nothing_else() {
    let mut pair = pair();
    assert!(pair.request(1, b""));
    pair.after(120, |pair| pair.close(Side::Server));
    pair.after(130, |pair| {
        assert!(pair.request(2, b""), "the client cannot know yet");
    });
    pair.after(300, |pair| assert!(pair.reply(1, b"late")));
    pair.run();
    assert_eq!(pair.client.saw(), [Arrival::Reply(1, b"late".to_vec()), Arrival::CloseConnection]);
    assert_eq!(pair.client.connection.outstanding().iter().collect::<Vec<_>>(), [2]);
    assert_eq!(pair.server.saw()[0], Arrival::Request(1, "operation".to_owned()));
    assert!(!pair.server.has_seen(&Arrival::Request(2, "operation".to_owned())));
}

#[test]
fn a_client_that_half_closes_still_gets_its_replies() {
    // The server sees the end of the stream and closes; a reply that is under way arrives.
    let mut pair = pair();
    assert!(pair.request(1, b""));
    pair.after(110, |pair| assert!(pair.reply(1, b"done")));
    pair.after(120, |pair| pair.half_close(Side::Client));
    pair.run();
    let reply = Arrival::Reply(1, b"done".to_vec());
    assert_eq!(pair.client.saw(), [reply, Arrival::EndOfStream]);
    assert!(pair.server.has_seen(&Arrival::EndOfStream));
}

#[test]
fn a_lost_connection_leaves_the_request_in_doubt() {
    for time in [10, 100, 150] {
        let mut pair = pair();
        assert!(pair.request(1, b""));
        pair.after(time, Pair::lose_connection);
        pair.run();
        assert_eq!(pair.client.saw(), [Arrival::Failed(GiopErrorKind::Lost)]);
        assert!(!pair.request(2, b""));
    }
}

#[test]
fn fragments_interleave_and_come_back_whole() {
    let body: Vec<u8> = (0..10_000u32).map(|i| i as u8).collect();
    for version in [Version::V1_0, Version::V1_1, Version::V1_2] {
        for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
            let conditions =
                NetworkConditions { latency_us: 5, jitter_us: 20, chunk_octets_max: 777 };
            let mut pair = Pair::new(conditions, 3);
            pair.version = version;
            pair.order = order;
            pair.fragment_octets = 512;
            for id in 1..5 {
                assert!(pair.request(id, &body));
                let answer = body.clone();
                pair.after(1000, move |pair| assert!(pair.reply(id, &answer)));
            }
            pair.run();
            let replies: Vec<Arrival> = (1..5).map(|id| Arrival::Reply(id, body.clone())).collect();
            assert_eq!(pair.client.saw(), replies, "{version} {order}");
        }
    }
}

#[test]
fn a_peer_that_breaks_the_rules_hears_of_it() {
    for side in [Side::Client, Side::Server] {
        let mut pair = pair();
        assert!(pair.request(1, b""));
        pair.after(150, move |pair| pair.send(side, b"nonsense that is not GIOP at all"));
        pair.run();
        let victim = pair.end(side.other()).saw();
        assert!(victim.contains(&Arrival::Failed(GiopErrorKind::BadMagic)), "{victim:?}");
        let culprit = pair.end(side).saw();
        let told = Arrival::Failed(GiopErrorKind::PeerReportedError);
        assert_eq!(
            culprit,
            if side == Side::Client {
                vec![told]
            } else {
                vec![Arrival::Request(1, "operation".to_owned()), told]
            }
        );
    }
}

#[test]
fn a_oneway_has_no_reply_and_does_not_delay_the_close() {
    let mut pair = pair();
    pair.oneway(1);
    pair.oneway(1);
    pair.after(150, |pair| {
        assert!(!pair.reply(1, b""));
        pair.close(Side::Server);
    });
    pair.run();
    assert_eq!(pair.server.saw().len(), 2, "two oneways: {:?}", pair.server.saw());
    assert_eq!(pair.client.saw(), [Arrival::CloseConnection]);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let conditions = NetworkConditions { latency_us: 50, jitter_us: 500, chunk_octets_max: 3 };
    let run = |seed| {
        let mut pair = Pair::new(conditions, seed);
        for id in 0..10 {
            pair.request(id, b"body");
            pair.after(u64::from(id) * 13 + 700, move |pair| {
                pair.reply(id, b"answer");
            });
        }
        pair.run();
        (pair.client.arrivals, pair.server.arrivals)
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}
