//! Our suppliers and consumers, pushing and pulling, at the channels of others: JacORB's event
//! service (found in our naming service) and omniEvents; and at ours, by the same steps.
//!
//! What is not installed is named as missing and passed over; `cargo xtask test` installs it.

mod fixture;

use corbie::{Any, Object, Orb};
use corbie_event::cos_event_channel_admin::EventChannel;
use corbie_naming::store::embedded::Embedded;
use corbie_naming::{Naming, NamingServer};
use corbie_testkit::clients;
use corbie_testkit::servers::{ScratchFolder, Server, free_port, java, say_missing};
use fixture::values::{TEXTS, all, text};
use fixture::{Fixture, PATIENCE, any_listener, any_source};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// A naming service where the channels of others are bound.
struct Names {
    orb: Orb,
    _server: NamingServer,
    url: String,
}

impl Names {
    fn start() -> Self {
        let orb = fixture::orb();
        let store = Arc::new(Embedded::in_memory().expect("a store"));
        let limits = corbie_naming::Limits::default();
        let server = NamingServer::start(&orb, store, limits).expect("a server");
        let port = orb.listen_addresses().first().expect("it listens").port();
        Self { orb, _server: server, url: format!("corbaloc::127.0.0.1:{port}/NameService") }
    }

    /// What `server` binds to `name`, once it does.
    fn wait_for(&self, client: &Orb, name: &str, server: &mut Server) -> Object {
        let naming = Naming::at(client, &self.url).expect("it answers");
        let deadline = Instant::now() + PATIENCE;
        loop {
            match naming.resolve_object(name) {
                Ok(object) => return object,
                Err(error) => assert!(Instant::now() < deadline, "{name}: {error}"),
            }
            assert!(server.is_running(), "the server of {name} has ended");
            std::thread::yield_now();
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        self.orb.shutdown(true);
    }
}

/// Uses a channel in all four roles; every value is pushed, and so many are pulled.
fn use_in_all_models(orb: &Orb, channel: &EventChannel, pulls_of: usize) {
    let poa = orb.root_poa().expect("a POA");
    poa.the_poa_manager().activate().expect("active");
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    let suppliers = channel.for_suppliers().expect("an answer").expect("not nil");
    let to_ours = consumers.obtain_push_supplier().expect("an answer").expect("not nil");
    let (consumer, pushed) = any_listener(&poa);
    to_ours.connect_push_consumer(Some(&consumer)).expect("connected");
    let pulled = consumers.obtain_pull_supplier().expect("an answer").expect("not nil");
    pulled.connect_pull_consumer(None).expect("connected");
    let push = suppliers.obtain_push_consumer().expect("an answer").expect("not nil");
    push.connect_push_supplier(None).expect("connected");

    let about = channel.as_object();
    let see = |expected: &str, how: &str| {
        let event = pushed.recv_timeout(PATIENCE).expect("an event");
        assert_eq!(text(&event, about), expected, "{how} to push");
        let event = pulled.pull().expect("pulled");
        assert_eq!(text(&event, about), expected, "{how} to pull");
    };
    for (event, expected) in all(about).iter().zip(TEXTS) {
        push.push(event).expect("pushed");
        see(expected, "push");
    }
    let (_, has_event) = pulled.try_pull().expect("an answer");
    assert!(!has_event, "all were pulled");

    // Only now: JacORB pushes and pulls with two threads over one connection, and when both begin at
    // once, neither of its first requests says which code sets it uses.
    let (source, give) = any_source(&poa);
    let pulls = suppliers.obtain_pull_consumer().expect("an answer").expect("not nil");
    pulls.connect_pull_supplier(Some(&source)).expect("connected");
    for (event, expected) in all(about).into_iter().zip(TEXTS).take(pulls_of) {
        give.send(event).expect("it listens");
        see(expected, "pull");
    }
    push.push(&Any::string("last").expect("an any")).expect("pushed");
    see("string \"last\"", "push");
    // A pull that waits ends: its servant says that it is disconnected.
    drop(give);
    push.disconnect_push_consumer().expect("disconnected");
    to_ours.disconnect_push_supplier().expect("disconnected");
    pulled.disconnect_pull_supplier().expect("disconnected");
}

#[test]
fn our_clients_work_with_our_channel() {
    let fixture = Fixture::new(corbie_event::ChannelQos::default());
    use_in_all_models(&fixture.client_orb, &fixture.channel, TEXTS.len());
}

#[test]
fn our_clients_work_with_jacorbs_event_channel() {
    let Some(libraries) = clients::jacorb(env!("CARGO_TARGET_TMPDIR")) else { return };
    let names = Names::start();
    let mut command = java(libraries);
    command.arg(format!("-DORBInitRef.NameService={}", names.url)).args([
        "-DOAIAddr=127.0.0.1",
        "org.jacorb.events.EventChannelImpl",
        "foreign.channel",
    ]);
    let Some(mut server) = Server::start(&mut command) else { return say_missing("java") };
    let orb = fixture::orb();
    let channel = names.wait_for(&orb, "foreign.channel", &mut server);
    use_in_all_models(&orb, &EventChannel::unchecked_narrow(channel), TEXTS.len());
    orb.shutdown(true);
}

#[test]
fn our_clients_work_with_omnievents() {
    let names = Names::start();
    let (folder, port) = (ScratchFolder::new("omnievents"), free_port());
    let initial = format!("NameService={}", names.url);
    let mut command = Command::new("omniEvents");
    command
        .args(["-f", "-p", &port.to_string(), "-l"])
        .arg(folder.path())
        .arg("-t")
        .arg(folder.path().join("trace"))
        .args(["-ORBInitRef", &initial]);
    let Some(mut server) = Server::start(&mut command) else {
        return say_missing("omniEvents (package omnievents)");
    };
    let orb = fixture::orb();
    names.wait_for(&orb, "EventChannelFactory", &mut server);
    let created = Command::new("eventc").args(["-c", "5000000", "-ORBInitRef", &initial]).output();
    let created = created.expect("it comes with omniEvents");
    assert!(created.status.success(), "{created:?}");
    let channel = names.wait_for(&orb, "EventChannel", &mut server);
    // It asks suppliers for an event once a second.
    use_in_all_models(&orb, &EventChannel::unchecked_narrow(channel), 3);
    orb.shutdown(true);
}
