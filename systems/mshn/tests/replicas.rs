//! Several of each component: requests are spread over them, and what one of them was told all of
//! them know (paper MSHN §2, "hierarchically replicated").

#![allow(clippy::unwrap_used)]

mod fixture;

use corbie::SystemException;
use corbie_mshn::channel_server;
use corbie_mshn::idl::{Application, Placement, Requirements, Usage};
use corbie_mshn::messages::{Component, Done, Reply, Request, Role};
use corbie_mshn::node::{self, Kind};
use corbie_mshn::{
    Address, AdvisorOptions, ClientLibrary, EventOptions, MechanismName, StatusOptions, StatusProxy,
};
use corbie_naming::store::embedded::Embedded;
use corbie_naming::{Limits as NamingLimits, Naming, NamingServer};
use fixture::{PATIENCE, System, await_machines, orb, shell, until};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

fn used(wall_s: f64) -> Usage {
    let (application, format) = ("test".to_owned(), "only".to_owned());
    let machine = "m1".to_owned();
    Usage { application, format, machine, wall_s, samples: 1, ..Usage::default() }
}

#[test]
fn what_one_database_was_told_all_of_them_know_by_every_mechanism() {
    for mechanism in MechanismName::ALL {
        let mut system = System::start(*mechanism);
        for name in ["r0", "r1", "r2"] {
            system.join(&Kind::RequirementDatabase, name);
        }
        let (_, peers) = system.peers();
        for number in 0..30 {
            let to = Address::any(Role::RequirementDatabase);
            peers.call(&to, &Request::Record(used(f64::from(number)))).unwrap();
        }
        let means = |name: &str| -> Requirements {
            let which = Application { name: "test".to_owned() };
            let to = Address::named(Role::RequirementDatabase, name);
            peers.ask(&to, &Request::MeansOf(which)).unwrap()
        };
        until("agreement", || {
            let of: Vec<Requirements> = ["r0", "r1", "r2"].into_iter().map(means).collect();
            let is_whole = of[0].means.first().is_some_and(|mean| mean.samples == 30);
            is_whole && of[0] == of[1] && of[1] == of[2]
        });
        let mean = &means("r1").means[0];
        assert!((mean.wall_s - 14.5).abs() < 1e-9, "{mechanism}: {mean:?}");
    }
}

/// Says who it is.
struct Named(&'static str);

impl Component for Named {
    fn serve(&self, request: Request, done: Done) {
        let Request::Schedule(job) = request else { return };
        let (job, machine) = (job.id, self.0.to_owned());
        done(Ok(Placement { job, machine, ..Placement::default() }.into()));
    }
}

#[test]
fn requests_are_spread_over_the_advisors_by_every_mechanism() {
    for mechanism in MechanismName::ALL {
        let mut system = System::start(*mechanism);
        for name in ["a0", "a1", "a2"] {
            let (orb, peers) = system.peers();
            let component: Arc<dyn Component> = Arc::new(Named(name));
            peers.serve(&orb, &Address::named(Role::Advisor, name), &component).unwrap();
        }
        let (_, client) = system.client();
        let (sender, receiver) = channel();
        for number in 0..90 {
            let sender = sender.clone();
            let done = move |outcome: Result<Placement, SystemException>| {
                sender.send(outcome.unwrap().machine).unwrap();
            };
            client.schedule_later(shell(&number.to_string(), &[]), done);
        }
        drop(sender);
        let mut served: Vec<String> = receiver.iter().collect();
        served.sort();
        let of = |name: &str| served.iter().filter(|served| *served == name).count();
        let each = ["a0", "a1", "a2"].map(of);
        // A request that had to be made again had another turn, so the last ones are not exact.
        assert_eq!(each.iter().sum::<usize>(), 90, "{mechanism}: {each:?}");
        assert!(each.iter().all(|served| *served >= 25), "{mechanism}: {each:?}");
    }
}

#[test]
fn a_replica_that_goes_leaves_its_requests_to_the_others() {
    for mechanism in MechanismName::ALL {
        let mut system = System::start(*mechanism);
        // Here a component does die.
        system.silence = Duration::from_secs(3);
        let serve = |system: &mut System, name| {
            let (orb, peers) = system.peers();
            let component: Arc<dyn Component> = Arc::new(Named(name));
            peers.serve(&orb, &Address::named(Role::Advisor, name), &component).unwrap();
            orb
        };
        let first = serve(&mut system, "a0");
        serve(&mut system, "a1");
        let (_, client) = system.client();
        let asks = |number: usize| client.schedule(&shell(&number.to_string(), &[])).unwrap();
        let both: Vec<String> = (0..4).map(|number| asks(number).machine).collect();
        assert!(both.contains(&"a0".to_owned()) && both.contains(&"a1".to_owned()), "{both:?}");
        first.shutdown(true);
        for number in 0..8 {
            assert_eq!(asks(number).machine, "a1", "{mechanism}");
        }
    }
}

#[test]
fn updates_go_through_proxies_when_there_are_any() {
    let mut system = System::start(MechanismName::Asynchronous);
    for name in ["s0", "s1"] {
        system.join(&Kind::StatusServer(StatusOptions::default()), name);
        system.join(&Kind::RequirementDatabase, name);
    }
    let (orb, of_proxy) = system.peers();
    let proxy = Arc::new(StatusProxy::new(of_proxy.clone(), None));
    let component: Arc<dyn Component> = Arc::clone(&proxy) as _;
    of_proxy.serve(&orb, &Address::proxy(Role::StatusServer, "near"), &component).unwrap();
    system.join(&Kind::RequirementProxy(None), "near");
    system.join(&Kind::Advisor(AdvisorOptions::new("a")), "a");
    system.daemon("m1");
    let (peers, client) = system.client();
    // Both have heard of the machine, by way of the proxy.
    for name in ["s0", "s1"] {
        until("the report", || {
            let to = Address::named(Role::StatusServer, name);
            let request = Request::Status(corbie_mshn::idl::Scope::default());
            let Ok(Reply::StatusReport(report)) = peers.call(&to, &request) else { return false };
            report.machines.len() == 1
        });
    }
    until("a report that says nothing new", || proxy.counts().0 > proxy.counts().1);
    await_machines(&peers, 1);
    for number in 0..6 {
        let id = number.to_string();
        client.submit(&shell(&id, &[("only", "exit 0")])).unwrap();
        client.wait(&id, PATIENCE).unwrap();
    }
    // The proxy keeps some of them for a while, and then lets go of them.
    until("the runs", || {
        let which = Application { name: "test".to_owned() };
        let to = Address::any(Role::RequirementDatabase);
        let means: Requirements = peers.ask(&to, &Request::MeansOf(which)).unwrap();
        means.means.iter().map(|mean| mean.samples).sum::<u32>() == 6
    });
}

#[test]
fn a_system_is_found_again_by_those_who_come_later() {
    let mut system = System::start(MechanismName::Untyped);
    system.servers();
    system.daemon("m1");
    let late = orb();
    let naming = Naming::at(&late, &system.url).unwrap();
    let peers = node::peers(&late, naming, system.mechanism);
    await_machines(&peers, 1);
    drop(peers);
    late.shutdown(true);
}

#[test]
fn channels_components_and_callers_may_share_an_orb() {
    let orb = orb();
    let store = Arc::new(Embedded::in_memory().unwrap());
    let names = NamingServer::start(&orb, store, NamingLimits::default()).unwrap();
    orb.root_poa().unwrap().the_poa_manager().activate().unwrap();
    let url = names.root().as_object().to_string();
    let naming = || Naming::at(&orb, &url).unwrap();
    let _channels = channel_server::serve(&orb, &naming(), "e0").unwrap();
    for mechanism in [MechanismName::Untyped, MechanismName::Typed] {
        // Most requests wait before the channel, and many are taken at once when it has room.
        let options = EventOptions {
            silence: PATIENCE,
            window: 4,
            queue_events: 500,
            ..EventOptions::default()
        };
        let peers = node::peers_with(&orb, naming(), mechanism, options);
        let component: Arc<dyn Component> = Arc::new(Named("a"));
        peers.serve(&orb, &Address::named(Role::Advisor, "a"), &component).unwrap();
        let client = ClientLibrary::new(peers).unwrap();
        let (sender, receiver) = channel();
        for number in 0..20_000 {
            let sender = sender.clone();
            let done = move |outcome: Result<Placement, SystemException>| {
                sender.send(outcome.unwrap().job).unwrap();
            };
            client.schedule_later(shell(&number.to_string(), &[]), done);
        }
        drop(sender);
        assert_eq!(receiver.iter().count(), 20_000, "{mechanism}");
    }
}
