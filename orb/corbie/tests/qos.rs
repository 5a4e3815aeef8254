//! Policies of CORBA Messaging over real sockets: times, levels, scopes, rebinding, priorities;
//! which exception, minor code and completion status they lead to.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod echo;
mod script;

use corbie::policy::{
    Policy, PolicyError, PolicyType, PriorityRange, QueueOrder, RebindMode, SetOverrideType,
    SyncScope, UtcT,
};
use corbie::{
    ByteOrder, CompletionStatus, Encoder, Interface, Ior, Marshal, Minor, Operation, ReplySink,
    SystemException, SystemExceptionKind, minor,
};
use corbie_testkit::{MessageKind, RawPeer, message_header};
use echo::{Echo, WAITING, as_client, loopback_orb, serve};
use script::{PATIENCE, accept, answer_all, client, id_of, message, reply, scripted};
use std::io::Write;
use std::time::{Duration, Instant};

/// As long as a servant takes that no client waits for.
const LONG: Duration = Duration::from_secs(30);
/// What a call that does not wait for that takes at most.
const SHORT: Duration = Duration::from_secs(2);

/// Two server strategies that hand requests over in different ways.
const CONCURRENCY: [&str; 2] = ["thread-per-connection", "thread-pool"];

#[track_caller]
fn is(exception: &SystemException, kind: SystemExceptionKind, code: Minor, done: CompletionStatus) {
    let found = (exception.kind, exception.minor, exception.completed);
    assert_eq!(found, (kind, code, done), "{exception}");
}

fn with(echo: &Echo, policies: &[Policy]) -> Echo {
    echo.set_policy_overrides(policies, SetOverrideType::Add).unwrap()
}

fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Calls the operation `name`, which takes and gives an integer, as a oneway.
fn oneway(echo: &Echo, name: &'static str, value: i64) -> Result<(), SystemException> {
    echo.0.invoke_oneway(&Operation::oneway(name), &|e| {
        e.write_longlong(value);
        Ok(())
    })
}

#[test]
fn a_roundtrip_time_ends_the_calls_of_its_level_only() {
    let (server, echo, _noted) = serve(&[]);
    let orb = loopback_orb(&[]);
    let echo = as_client(&orb, &echo);
    let timed_out = |result: Result<i64, SystemException>| {
        let (kind, done) = (SystemExceptionKind::Timeout, CompletionStatus::Maybe);
        is(&result.unwrap_err(), kind, minor::TIMEOUT_CALL, done);
    };
    let short = Policy::RelativeRoundtripTimeout(milliseconds(50));
    let long = Policy::RelativeRoundtripTimeout(PATIENCE);

    timed_out(with(&echo, &[short]).wait(milliseconds(800)));
    assert_eq!(echo.wait(milliseconds(100)).unwrap(), 100, "that reference only");

    let scope = orb.policy_current().scope(&[short]).unwrap();
    timed_out(echo.wait(milliseconds(800)));
    assert_eq!(with(&echo, &[long]).wait(milliseconds(100)).unwrap(), 100, "it wins");
    std::thread::scope(|s| {
        s.spawn(|| assert_eq!(echo.wait(milliseconds(100)).unwrap(), 100, "another thread"));
    });
    drop(scope);
    assert_eq!(echo.wait(milliseconds(100)).unwrap(), 100, "the scope has ended");

    let manager = orb.policy_manager();
    manager.set_policy_overrides(&[short], SetOverrideType::Set).unwrap();
    timed_out(echo.wait(milliseconds(800)));
    {
        let _scope = orb.policy_current().scope(&[long]).unwrap();
        assert_eq!(echo.wait(milliseconds(100)).unwrap(), 100, "the thread wins over the ORB");
    }
    manager.set_policy_overrides(&[], SetOverrideType::Set).unwrap();
    assert_eq!(echo.wait(milliseconds(100)).unwrap(), 100, "as it was");
    orb.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_reply_time_counts_from_when_the_request_was_sent() {
    let (server, echo, _noted) = serve(&[]);
    // As long as a busy machine may take for the reply to the second.
    let reply_time = SHORT;
    let short = with(&echo, &[Policy::RelativeReplyTimeout(reply_time)]);
    let exception = short.wait(PATIENCE).unwrap_err();
    let (kind, done) = (SystemExceptionKind::Timeout, CompletionStatus::Maybe);
    is(&exception, kind, minor::TIMEOUT_CALL, done);
    // The request may take its time to leave: it is not part of the reply's.
    let begun = Instant::now();
    let leaves = reply_time + milliseconds(200);
    let later = Policy::RequestStartTime(UtcT::after(leaves));
    assert_eq!(with(&short, &[later]).double(4).unwrap(), 8);
    assert!(begun.elapsed() >= leaves - milliseconds(10), "{:?}", begun.elapsed());
    // The servant of the first waits still.
    server.shutdown(false);
}

#[test]
fn a_reply_time_may_be_longer_than_the_setting_for_calls() {
    let (server, echo, _noted) = serve(&[]);
    let orb = loopback_orb(&["-ORBRequestTimeout", "1s"]);
    let echo = as_client(&orb, &echo);
    let patient = with(&echo, &[Policy::RelativeReplyTimeout(PATIENCE)]);
    assert_eq!(patient.wait(milliseconds(1500)).unwrap(), 1500);
    assert_eq!(asynchronous(&patient, "wait", 1500).unwrap(), 1500);
    let both = with(&patient, &[Policy::RelativeRoundtripTimeout(milliseconds(1000))]);
    let exception = both.wait(milliseconds(3000)).unwrap_err();
    let (kind, done) = (SystemExceptionKind::Timeout, CompletionStatus::Maybe);
    is(&exception, kind, minor::TIMEOUT_CALL, done);
    orb.shutdown(true);
    server.shutdown(true);
}

#[test]
fn what_cannot_be_in_time_is_not_sent() {
    let (url, server) = scripted(|listener| answer_all(&mut accept(listener)));
    let (orb, echo) = client(&url, &[]);
    let (kind, no) = (SystemExceptionKind::Timeout, CompletionStatus::No);
    let past = UtcT { time: UtcT::now().time - 10_000, ..UtcT::default() };
    let later = UtcT::after(PATIENCE);
    for (policies, code) in [
        (&[Policy::RequestEndTime(past)][..], minor::TIMEOUT_REQUEST_END),
        (&[Policy::ReplyEndTime(past)], minor::TIMEOUT_REPLY_END),
        (
            &[Policy::RelativeRequestTimeout(LONG), Policy::RequestStartTime(later)],
            minor::TIMEOUT_REQUEST_END,
        ),
        (
            &[Policy::RelativeRoundtripTimeout(LONG), Policy::RequestStartTime(later)],
            minor::TIMEOUT_REPLY_END,
        ),
    ] {
        let begun = Instant::now();
        is(&with(&echo, policies).double(1).unwrap_err(), kind, code, no);
        assert!(begun.elapsed() < LONG, "{policies:?}");
    }
    assert_eq!(echo.double(1).unwrap(), 42);
    orb.shutdown(true);
    assert_eq!(server.join().unwrap(), 1, "none of them was sent");
}

#[test]
fn a_reply_is_held_until_its_start_time() {
    let (server, echo, _noted) = serve(&[]);
    let begun = Instant::now();
    let start = Policy::ReplyStartTime(UtcT::after(milliseconds(200)));
    assert_eq!(with(&echo, &[start]).double(2).unwrap(), 4);
    assert!(begun.elapsed() >= milliseconds(190), "{:?}", begun.elapsed());
    server.shutdown(true);
}

/// The request that a client with this policy sends to the object with the key `Echo`.
fn captured(policy: Policy) -> Vec<u8> {
    let (url, server) = scripted(|listener| {
        let mut stream = accept(listener);
        let request = message(&mut stream).unwrap();
        stream.write_all(&reply(id_of(&request), 0, &[0; 8])).unwrap();
        request
    });
    let (orb, echo) = client(&url, &["-ORBGIOPVersion", "1.2"]);
    assert_eq!(with(&echo, &[policy]).double(1).unwrap(), 0);
    let request = server.join().unwrap();
    orb.shutdown(true);
    request
}

#[test]
fn a_request_that_comes_too_late_is_not_served() {
    let far = UtcT::after(Duration::from_secs(1000));
    // The end time of a reply is compared generously: a second, in units of 100 ns.
    for (policy, late_by, code) in [
        (Policy::RequestEndTime(far), 1, minor::TIMEOUT_REQUEST_END),
        (Policy::ReplyEndTime(far), 10_000_001, minor::TIMEOUT_REPLY_END),
    ] {
        let request = captured(policy);
        let mut late = request.clone();
        let past = UtcT::now().time - late_by;
        replace(&mut late, &far.time.to_ne_bytes(), &past.to_ne_bytes());
        for concurrency in CONCURRENCY {
            let (server, echo, _noted) = serve(&["-ORBServerConcurrency", concurrency]);
            server.bind_object_key("Echo", &echo.0);
            let mut peer = RawPeer::connect_to(&server.listen_endpoints()[0]).unwrap();
            peer.send(&late).unwrap();
            let answer = peer.receive_message(PATIENCE).unwrap();
            let text = String::from_utf8_lossy(&answer);
            assert!(text.contains("IDL:omg.org/CORBA/TIMEOUT:1.0"), "{concurrency}: {text}");
            let no = CompletionStatus::No as u32;
            let end: Vec<u8> = [code.code(), no].iter().flat_map(|n| n.to_ne_bytes()).collect();
            assert!(answer.ends_with(&end), "{concurrency}: {answer:x?}");
            // In time it would be sent on to the object, as the plain key says.
            peer.send(&request).unwrap();
            let answer = peer.receive_message(PATIENCE).unwrap();
            let text = String::from_utf8_lossy(&answer);
            assert!(text.contains("IDL:Test/Echo:1.0"), "{concurrency}: {text}");
            server.shutdown(true);
        }
    }
}

fn replace(octets: &mut [u8], from: &[u8], to: &[u8]) {
    let at = octets.windows(from.len()).position(|window| window == from).unwrap();
    octets[at..at + to.len()].copy_from_slice(to);
}

/// The policies in the INVOCATION_POLICIES context of a captured little- or big-endian request.
fn policies_in(request: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let ulong = |octets: &[u8], at: usize| u32::from_ne_bytes(*octets[at..].first_chunk().unwrap());
    let tag = 7u32.to_ne_bytes();
    let at = request.windows(4).rposition(|window| window == tag).unwrap();
    let data = &request[at + 8..at + 8 + ulong(request, at + 4) as usize];
    assert_eq!(data[0], u8::from(cfg!(target_endian = "little")));
    let (mut at, mut policies) = (8usize, Vec::new());
    for _ in 0..ulong(data, 4) {
        at = at.next_multiple_of(4);
        let length = ulong(data, at + 4) as usize;
        policies.push((ulong(data, at), data[at + 8..at + 8 + length].to_vec()));
        at += 8 + length;
    }
    assert_eq!(at, data.len());
    policies
}

#[test]
fn policies_travel_as_the_specification_says() {
    let (url, captured) = scripted(|listener| {
        let mut stream = accept(listener);
        let mut requests = Vec::new();
        while let Some(request) = message(&mut stream) {
            stream.write_all(&reply(id_of(&request), 0, &[0; 8])).unwrap();
            requests.push(request);
        }
        requests
    });
    let (orb, echo) = client(&url, &["-ORBGIOPVersion", "1.2"]);
    let before = UtcT::now().time;
    echo.double(1).unwrap();
    with(
        &echo,
        &[
            Policy::RelativeRoundtripTimeout(PATIENCE),
            Policy::RelativeRequestTimeout(SHORT),
            Policy::RequestPriority(PriorityRange { min: 2, max: 5 }),
            Policy::ReplyPriority(PriorityRange { min: -3, max: -3 }),
            Policy::QueueOrder(QueueOrder::DEADLINE),
            Policy::SyncScope(SyncScope::None),
            Policy::Rebind(RebindMode::NoRebind),
        ],
    )
    .double(2)
    .unwrap();
    orb.shutdown(true);
    let requests = captured.join().unwrap();
    let no_context = b"double\0\0\0\0\0\0";
    assert!(requests[0].windows(12).any(|window| window == no_context), "nothing is set");
    let policies = policies_in(&requests[1]);
    let types: Vec<u32> = policies.iter().map(|(policy_type, _)| *policy_type).collect();
    assert_eq!(types, [28, 30, 25, 26, 35], "scope and rebind mode stay here");
    let order = [u8::from(cfg!(target_endian = "little")), 0];
    for (index, time) in [(0, SHORT), (1, PATIENCE)] {
        let (_, value) = &policies[index];
        assert_eq!((value.len(), &value[..2]), (24, &order[..]));
        let end = u64::from_ne_bytes(*value[8..].first_chunk().unwrap());
        let left = Duration::from_nanos(end.saturating_sub(before) * 100);
        assert!(left >= time && left < time + PATIENCE, "{left:?}");
    }
    let shorts = |values: &[i16]| -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    };
    assert_eq!(policies[2].1, [&order[..], &shorts(&[2, 5])].concat());
    assert_eq!(policies[3].1, [&order[..], &shorts(&[-3, -3])].concat());
    assert_eq!(policies[4].1, [&order[..], &shorts(&[8])].concat());
}

#[test]
fn each_scope_of_a_oneway_waits_for_what_it_says() {
    for concurrency in CONCURRENCY {
        let (server, echo, noted) = serve(&["-ORBServerConcurrency", concurrency]);
        let in_time = Policy::RelativeRoundtripTimeout(SHORT);
        let wait = |scope| {
            // A connection of its own each: the servants of the others are still waiting.
            let orb = loopback_orb(&[]);
            let echo = with(&as_client(&orb, &echo), &[in_time, Policy::SyncScope(scope)]);
            let outcome = oneway(&echo, "wait", LONG.as_millis() as i64);
            assert_eq!(noted.recv_timeout(PATIENCE), Ok(WAITING), "{concurrency}, {scope:?}");
            outcome
        };
        for scope in [SyncScope::None, SyncScope::WithTransport, SyncScope::WithServer] {
            let begun = Instant::now();
            wait(scope).unwrap();
            assert!(begun.elapsed() < LONG, "{concurrency}, {scope:?}");
        }
        let exception = wait(SyncScope::WithTarget).unwrap_err();
        let (kind, maybe) = (SystemExceptionKind::Timeout, CompletionStatus::Maybe);
        is(&exception, kind, minor::TIMEOUT_CALL, maybe);
        let orb = loopback_orb(&[]);
        let echo = as_client(&orb, &echo);
        let patient = with(&echo, &[Policy::SyncScope(SyncScope::WithTarget)]);
        let begun = Instant::now();
        oneway(&patient, "wait", 200).unwrap();
        assert!(begun.elapsed() >= milliseconds(200), "{concurrency}: {:?}", begun.elapsed());
        orb.shutdown(true);
        // Four servants are waiting still.
        server.shutdown(false);
    }
}

#[test]
fn what_goes_wrong_shows_as_far_as_the_scope_reaches() {
    let (server, echo, _noted) = serve(&[]);
    let orb = loopback_orb(&[]);
    let echo = as_client(&orb, &echo);
    let scope = |echo: &Echo, scope| with(echo, &[Policy::SyncScope(scope)]);
    let gone = {
        let mut profile = echo.0.ior().iiop_profiles().unwrap().remove(0);
        profile.object_key = b"missing".to_vec();
        Echo(corbie::Object::new(&orb, Ior::from_iiop("", &profile).unwrap()))
    };
    for here in [SyncScope::None, SyncScope::WithTransport] {
        oneway(&scope(&gone, here), "note", 1).unwrap();
        oneway(&scope(&echo, here), "panic", 1).unwrap();
    }
    for here in [SyncScope::WithServer, SyncScope::WithTarget] {
        let exception = oneway(&scope(&gone, here), "note", 1).unwrap_err();
        assert_eq!(exception.kind, SystemExceptionKind::ObjectNotExist, "{here:?}: {exception}");
    }
    oneway(&scope(&echo, SyncScope::WithServer), "panic", 1).unwrap();
    let exception = oneway(&scope(&echo, SyncScope::WithTarget), "panic", 1).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::Unknown, "{exception}");
    // The two-way operations of the same reference wait for their results all the same.
    assert_eq!(scope(&echo, SyncScope::None).double(4).unwrap(), 8);
    orb.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_oneway_that_waits_for_the_server_is_forwarded() {
    let (server, echo, noted) = serve(&[]);
    server.bind_object_key("Plain", &echo.0);
    let orb = loopback_orb(&[]);
    let url = format!("corbaloc::{}/Plain", server.listen_addresses()[0]);
    for (value, here) in [(1, SyncScope::WithServer), (2, SyncScope::WithTarget)] {
        let plain = Echo(orb.string_to_object(&url).unwrap());
        oneway(&with(&plain, &[Policy::SyncScope(here)]), "note", value).unwrap();
        assert_eq!(noted.recv_timeout(PATIENCE), Ok(value), "{here:?}");
    }
    orb.shutdown(true);
    server.shutdown(true);
}

#[test]
fn response_flags_say_what_is_waited_for() {
    let scopes = [SyncScope::WithTransport, SyncScope::WithServer, SyncScope::WithTarget];
    for (scope, flags) in scopes.into_iter().zip([0, 1, 3]) {
        let (url, captured) = scripted(|listener| {
            let mut stream = accept(listener);
            let request = message(&mut stream).unwrap();
            if request[16] != 0 {
                stream.write_all(&reply(id_of(&request), 0, &[])).unwrap();
            }
            request[16]
        });
        let (orb, echo) = client(&url, &["-ORBGIOPVersion", "1.2"]);
        oneway(&with(&echo, &[Policy::SyncScope(scope)]), "note", 1).unwrap();
        assert_eq!(captured.join().unwrap(), flags, "{scope:?}");
        orb.shutdown(true);
    }
}

#[test]
fn a_lost_connection_is_opened_again_only_when_told_to() {
    let (url, server) = scripted(|listener| {
        for _ in 0..3 {
            let mut stream = accept(listener);
            let request = message(&mut stream).unwrap();
            // The second connection begins with the LocateRequest of validate_connection.
            let answer = match request[7] {
                3 => {
                    let size = [&id_of(&request).to_be_bytes()[..], &1u32.to_be_bytes()].concat();
                    let header = message_header(MessageKind::LocateReply, false, 8);
                    [&header[..], &size].concat()
                }
                _ => reply(id_of(&request), 0, &42i64.to_be_bytes()),
            };
            stream.write_all(&answer).unwrap();
            if request[7] == 3 {
                assert_eq!(answer_all(&mut stream), 1);
                return;
            }
            stream.write_all(&message_header(MessageKind::CloseConnection, false, 0)).unwrap();
        }
    });
    let (orb, echo) = client(&url, &[]);
    let echo = with(&echo, &[Policy::Rebind(RebindMode::NoReconnect)]);
    assert_eq!(echo.double(1).unwrap(), 42, "the first call binds");
    let (kind, no) = (SystemExceptionKind::Rebind, CompletionStatus::No);
    // The server has closed the connection by now or does before it reads the request.
    is(&echo.double(1).unwrap_err(), kind, minor::REBIND_RECONNECT, no);
    is(&echo.double(1).unwrap_err(), kind, minor::REBIND_RECONNECT, no);
    assert_eq!(echo.validate_connection().unwrap(), []);
    assert_eq!(echo.double(1).unwrap(), 42);
    orb.shutdown(true);
    server.join().unwrap();
}

/// The reference of `echo` as a server with these policies would make it.
fn exposing(echo: &Echo, policies: &[(u32, &[u8])]) -> Ior {
    let mut data = vec![0, 0, 0, 0];
    data.extend((policies.len() as u32).to_be_bytes());
    for (policy_type, value) in policies {
        data.resize(data.len().next_multiple_of(4), 0);
        data.extend(policy_type.to_be_bytes());
        data.extend((value.len() as u32).to_be_bytes());
        data.extend(*value);
    }
    let mut profile = echo.0.ior().iiop_profiles().unwrap().remove(0);
    profile.components.push(corbie::types::ior::TaggedComponent { tag: 2, data });
    Ior::from_iiop(Echo::REPOSITORY_ID, &profile).unwrap()
}

/// A range of priorities as an encapsulation, big-endian.
fn range(min: i16, max: i16) -> Vec<u8> {
    [&[0, 0][..], &min.to_be_bytes(), &max.to_be_bytes()].concat()
}

#[test]
fn what_a_reference_says_narrows_what_is_set() {
    let (server, echo, _noted) = serve(&[]);
    let priority = PolicyType::REQUEST_PRIORITY;
    let (number, exposed) = (priority.0, range(0, 10));
    let ior = exposing(&echo, &[(number, &exposed), (0x7777, b"?")]);
    let echo = Echo(corbie::Object::new(&server, ior));
    let of = |min, max| Policy::RequestPriority(PriorityRange { min, max });
    assert_eq!(echo.get_policy(priority).unwrap(), Some(of(0, 10)), "nothing is set here");
    assert_eq!(echo.get_client_policy(priority).unwrap(), None);
    let narrowed = with(&echo, &[of(5, 20)]);
    assert_eq!(narrowed.get_policy(priority).unwrap(), Some(of(5, 10)));
    assert_eq!(narrowed.get_client_policy(priority).unwrap(), Some(of(5, 20)));
    assert_eq!(narrowed.validate_connection().unwrap(), []);
    assert_eq!(narrowed.double(1).unwrap(), 2);

    let excluded = with(&echo, &[of(11, 20)]);
    let (kind, no) = (SystemExceptionKind::InvPolicy, CompletionStatus::No);
    is(&excluded.double(1).unwrap_err(), kind, minor::INV_POLICY_IRRECONCILABLE, no);
    let exception = excluded.get_policy(priority).unwrap_err();
    is(&exception, kind, minor::INV_POLICY_IRRECONCILABLE, no);
    assert_eq!(excluded.validate_connection().unwrap(), [of(11, 20)]);
    let exception = echo.get_policy(PolicyType(0x7777)).unwrap_err();
    is(&exception, kind, minor::INV_POLICY_TYPE, no);
    server.shutdown(true);
}

/// A server that answers the first request and sends all others on to `ior`.
fn moving(ior: &Ior) -> (String, std::thread::JoinHandle<()>) {
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    Ior::encode(ior, &mut e).unwrap();
    let forward = e.to_vec();
    scripted(move |listener| {
        let mut stream = accept(listener);
        let first = message(&mut stream).unwrap();
        stream.write_all(&reply(id_of(&first), 0, &42i64.to_be_bytes())).unwrap();
        while let Some(request) = message(&mut stream) {
            stream.write_all(&reply(id_of(&request), 3, &forward)).unwrap();
        }
    })
}

#[test]
fn forwards_are_followed_as_the_rebind_policy_says() {
    let (server, echo, _noted) = serve(&[]);
    let of = |min, max| Policy::RequestPriority(PriorityRange { min, max });
    let plain = echo.0.ior().clone();
    let (narrow, other) = (range(4, 9), range(30, 40));
    let narrower = exposing(&echo, &[(25, &narrow)]);
    let contrary = exposing(&echo, &[(25, &other)]);
    let (transparent, no_rebind) = (RebindMode::Transparent, RebindMode::NoRebind);
    let rebind = Some((SystemExceptionKind::Rebind, minor::REBIND_FORWARD));
    let excluded = Some((SystemExceptionKind::InvPolicy, minor::INV_POLICY_IRRECONCILABLE));
    for (ior, mode, outcome) in [
        (&plain, transparent, None),
        (&narrower, transparent, None),
        (&contrary, transparent, excluded),
        (&plain, no_rebind, None),
        (&narrower, no_rebind, rebind),
        (&contrary, no_rebind, rebind),
        (&plain, RebindMode::NoReconnect, rebind),
    ] {
        let (url, forwarder) = moving(ior);
        let (orb, moves) = client(&url, &[]);
        let moves = with(&moves, &[Policy::Rebind(mode), of(3, 5)]);
        assert_eq!(moves.double(1).unwrap(), 42, "{mode:?}");
        match outcome {
            None => assert_eq!(moves.double(4).unwrap(), 8, "{mode:?}"),
            Some((kind, code)) => {
                is(&moves.double(4).unwrap_err(), kind, code, CompletionStatus::No);
            }
        }
        orb.shutdown(true);
        forwarder.join().unwrap();
    }
    server.shutdown(true);
}

#[test]
fn policies_that_can_never_be_met_are_refused() {
    let (server, echo, _noted) = serve(&[]);
    let upside_down = Policy::ReplyPriority(PriorityRange { min: 2, max: 1 });
    let fine = Policy::SyncScope(SyncScope::WithServer);
    let set = |policies: &[Policy]| {
        server.policy_manager().set_policy_overrides(policies, SetOverrideType::Add).unwrap_err()
    };
    let PolicyError::InvalidPolicies { indices, .. } = set(&[fine, upside_down]) else { panic!() };
    assert_eq!(indices, [1]);
    assert_eq!(server.policy_manager().get_policy_overrides(&[]), [], "nothing was changed");
    let PolicyError::System(exception) = set(&[fine, fine]) else { panic!() };
    let (kind, no) = (SystemExceptionKind::BadParam, CompletionStatus::No);
    is(&exception, kind, minor::BAD_PARAM_DUPLICATE_POLICY, no);
    let object = &echo.0;
    assert!(object.set_policy_overrides(&[upside_down], SetOverrideType::Set).is_err());
    let both = [fine, Policy::Rebind(RebindMode::NoRebind)];
    let other = object.set_policy_overrides(&both, SetOverrideType::Set).unwrap();
    assert_eq!(other.get_policy_overrides(&[PolicyType::SYNC_SCOPE]), [fine]);
    let other = other.set_policy_overrides(&[fine], SetOverrideType::Set).unwrap();
    assert_eq!(other.get_policy_overrides(&[]), [fine]);
    assert_eq!(object.get_policy_overrides(&[]), [], "the first reference is unchanged");
    server.shutdown(true);
}

#[test]
fn the_setting_for_scopes_holds_where_no_policy_speaks() {
    let (server, echo, _noted) = serve(&[]);
    let orb = loopback_orb(&["-ORBSyncScope", "with-target"]);
    let echo = as_client(&orb, &echo);
    oneway(&echo, "panic", 1).unwrap_err();
    assert_eq!(echo.get_policy(PolicyType::SYNC_SCOPE).unwrap(), None, "it is no policy");
    oneway(&with(&echo, &[Policy::SyncScope(SyncScope::WithTransport)]), "panic", 1).unwrap();
    orb.shutdown(true);
    server.shutdown(true);
}

/// Calls `double` asynchronously; how it ended.
fn asynchronous(echo: &Echo, name: &'static str, value: i64) -> Result<i64, SystemException> {
    begun(echo, name, value)?.recv_timeout(PATIENCE).unwrap()
}

/// Makes an asynchronous call, whose outcome comes out of the channel.
fn begun(echo: &Echo, name: &'static str, value: i64) -> Result<Outcomes, SystemException> {
    let (ends, ended) = std::sync::mpsc::channel();
    let sink = ReplySink::function(move |outcome: Result<corbie::Reply, SystemException>| {
        let value = outcome.and_then(|mut reply| reply.results_only(|d| d.read_longlong()));
        ends.send(value).unwrap();
    });
    let arguments = |e: &mut Encoder<'_>| {
        e.write_longlong(value);
        Ok(())
    };
    echo.0.invoke_async(&Operation::twoway(name), &arguments, sink)?;
    Ok(ended)
}

type Outcomes = std::sync::mpsc::Receiver<Result<i64, SystemException>>;

#[test]
fn an_asynchronous_request_waits_for_its_start_time_and_its_thread_does_not() {
    let (server, echo, _noted) = serve(&[]);
    let orb = loopback_orb(&["-ORBPendingRequestsMax", "1", "-ORBRequestTimeout", "7200s"]);
    let echo = as_client(&orb, &echo);
    let soon = UtcT::after(milliseconds(200));
    let timely = with(&echo, &[Policy::RequestStartTime(soon)]);
    assert_eq!(asynchronous(&timely, "double", 4).unwrap(), 8);
    assert!(soon.has_passed());

    let in_an_hour = Policy::RequestStartTime(UtcT::after(Duration::from_secs(3600)));
    let later = with(&echo, &[in_an_hour, Policy::SyncScope(SyncScope::None)]);
    oneway(&later, "note", 1).unwrap();
    /// Of the application: it calls when it is dropped.
    struct Last(Echo);
    impl Drop for Last {
        fn drop(&mut self) {
            begun(&self.0, "double", 4).unwrap_err();
        }
    }
    // The line is bounded: four times the pending requests.
    let calls: Vec<_> = (0..3).map(|_| begun(&later, "double", 4).unwrap()).collect();
    let (kind, no) = (SystemExceptionKind::Transient, CompletionStatus::No);
    is(&begun(&later, "double", 4).unwrap_err(), kind, minor::TRANSIENT_OVERLOAD, no);
    let last = Last(Echo(later.0.clone()));
    let sink = ReplySink::function(move |_| drop(last));
    let refused = later.0.invoke_async(&Operation::twoway("double"), &|_| Ok(()), sink);
    is(&refused.unwrap_err(), kind, minor::TRANSIENT_OVERLOAD, no);
    assert_eq!(asynchronous(&echo, "double", 5).unwrap(), 10, "others go on");
    orb.shutdown(true);
    for call in calls {
        let exception = call.recv_timeout(PATIENCE).unwrap().unwrap_err();
        assert_eq!(exception.completed, no, "{exception}");
    }
    server.shutdown(true);
}

#[test]
fn a_call_with_a_start_time_is_refused_after_shutdown() {
    let (server, echo, _noted) = serve(&[]);
    let orb = loopback_orb(&[]);
    let echo = as_client(&orb, &echo);
    let later = with(&echo, &[Policy::RequestStartTime(UtcT::after(milliseconds(1)))]);
    assert_eq!(later.double(1).unwrap(), 2);
    orb.shutdown(true);
    let refused = asynchronous(&later, "double", 1).unwrap_err();
    assert_eq!((refused.kind, refused.completed), {
        (SystemExceptionKind::BadInvOrder, CompletionStatus::No)
    });
    server.shutdown(true);
}

#[test]
fn policies_hold_for_asynchronous_calls_too() {
    let (server, echo, _noted) = serve(&[]);
    let orb = loopback_orb(&[]);
    let echo = as_client(&orb, &echo);
    let (kind, no) = (SystemExceptionKind::Timeout, CompletionStatus::No);
    let (short, too_long) = (milliseconds(200), 1500);
    assert_eq!(asynchronous(&echo, "double", 4).unwrap(), 8, "there is a connection");
    for policy in [Policy::RelativeRoundtripTimeout(short), Policy::RelativeReplyTimeout(short)] {
        let exception = asynchronous(&with(&echo, &[policy]), "wait", too_long).unwrap_err();
        is(&exception, kind, minor::TIMEOUT_CALL, CompletionStatus::Maybe);
    }
    {
        let _scope = orb.policy_current().scope(&[Policy::RelativeReplyTimeout(short)]).unwrap();
        let exception = asynchronous(&echo, "wait", too_long).unwrap_err();
        is(&exception, kind, minor::TIMEOUT_CALL, CompletionStatus::Maybe);
    }
    let past = UtcT { time: UtcT::now().time - 10_000, ..UtcT::default() };
    let exception = asynchronous(&with(&echo, &[Policy::RequestEndTime(past)]), "double", 1);
    is(&exception.unwrap_err(), kind, minor::TIMEOUT_REQUEST_END, no);
    assert_eq!(asynchronous(&echo, "double", 4).unwrap(), 8, "the connection is of use still");
    orb.shutdown(true);
    server.shutdown(true);
}

#[test]
fn a_late_request_of_an_asynchronous_call_is_not_served() {
    // The servant, for which there is one thread, is busy with the first request when the second
    // has its end.
    let (server, echo, noted) = serve(&["-ORBPoolThreadsMax", "1", "-ORBPoolThreadsMin", "1"]);
    let orb = loopback_orb(&[]);
    let echo = as_client(&orb, &echo);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| asynchronous(&echo, "wait", 500));
        assert_eq!(noted.recv_timeout(PATIENCE), Ok(WAITING));
        let in_time = Policy::RelativeRequestTimeout(milliseconds(100));
        let exception = asynchronous(&with(&echo, &[in_time]), "wait", 1).unwrap_err();
        let (kind, no) = (SystemExceptionKind::Timeout, CompletionStatus::No);
        is(&exception, kind, minor::TIMEOUT_REQUEST_END, no);
        assert_eq!(first.join().unwrap().unwrap(), 500);
    });
    assert!(noted.try_recv().is_err(), "the servant did not see it");
    orb.shutdown(true);
    server.shutdown(true);
}

#[test]
fn asynchronous_calls_follow_forwards_as_the_rebind_policy_says() {
    let (server, echo, _noted) = serve(&[]);
    let value = range(4, 9);
    let narrower = exposing(&echo, &[(25, &value)]);
    let of = |min, max| Policy::RequestPriority(PriorityRange { min, max });
    for (mode, is_followed) in [(RebindMode::Transparent, true), (RebindMode::NoRebind, false)] {
        let (url, forwarder) = moving(&narrower);
        let (orb, moves) = client(&url, &["-ORBTransportMultiplexing", "muxed"]);
        let moves = with(&moves, &[Policy::Rebind(mode), of(3, 5)]);
        assert_eq!(asynchronous(&moves, "double", 1).unwrap(), 42, "{mode:?}");
        let outcome = asynchronous(&moves, "double", 4);
        if is_followed {
            assert_eq!(outcome.unwrap(), 8);
        } else {
            let (kind, no) = (SystemExceptionKind::Rebind, CompletionStatus::No);
            is(&outcome.unwrap_err(), kind, minor::REBIND_FORWARD, no);
        }
        orb.shutdown(true);
        forwarder.join().unwrap();
    }
    server.shutdown(true);
}

#[test]
fn policies_work_in_every_version_of_giop() {
    for version in ["1.0", "1.1", "1.2"] {
        let (server, echo, noted) = serve(&["-ORBGIOPVersion", version]);
        let orb = loopback_orb(&["-ORBGIOPVersion", version]);
        let travelling = [
            Policy::RelativeRoundtripTimeout(PATIENCE),
            Policy::RequestEndTime(UtcT::after(PATIENCE)),
            Policy::RequestPriority(PriorityRange { min: -1, max: 7 }),
        ];
        let echo = with(&as_client(&orb, &echo), &travelling);
        assert_eq!(echo.double(2).unwrap(), 4, "{version}");
        assert_eq!(asynchronous(&echo, "double", 3).unwrap(), 6, "{version}");
        let scopes = [
            SyncScope::None,
            SyncScope::WithTransport,
            SyncScope::WithServer,
            SyncScope::WithTarget,
        ];
        for (value, scope) in (0..).zip(scopes) {
            oneway(&with(&echo, &[Policy::SyncScope(scope)]), "note", value).unwrap();
            assert_eq!(noted.recv_timeout(PATIENCE), Ok(value), "{version}, {scope:?}");
        }
        orb.shutdown(true);
        server.shutdown(true);
    }
}

#[test]
fn a_oneway_in_line_behind_the_call_that_opens_a_connection_is_sent() {
    for version in ["1.0", "1.1", "1.2"] {
        let (server, echo, noted) = serve(&["-ORBGIOPVersion", version]);
        for value in 0..5 {
            let orb = loopback_orb(&["-ORBGIOPVersion", version]);
            let echo = with(&as_client(&orb, &echo), &[Policy::SyncScope(SyncScope::None)]);
            // Only the first request of a connection names the code sets, so the head of the
            // second one, whose arguments were kept, may be shorter.
            let doubled = begun(&echo, "double", value).unwrap();
            oneway(&echo, "note", value).unwrap();
            assert_eq!(noted.recv_timeout(PATIENCE), Ok(value), "{version}");
            assert_eq!(doubled.recv_timeout(PATIENCE).unwrap().unwrap(), 2 * value);
            orb.shutdown(true);
        }
        server.shutdown(true);
    }
}
