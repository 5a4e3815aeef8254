//! The server under test and its client, and one combination of policies.

use crate::witness::Object;
use corbie::{
    EventLoop, IdAssignment, IdUniqueness, ImplicitActivation, Lifespan, Orb, Poa, PoaPolicy,
    RequestProcessing, ServantDemux, ServantRetention, Synchronization, ThreadModel,
};
use std::sync::mpsc;
use std::thread::ThreadId;
use std::time::Duration;

/// One combination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) thread: ThreadModel,
    pub(crate) lifespan: Lifespan,
    pub(crate) uniqueness: IdUniqueness,
    pub(crate) assignment: IdAssignment,
    pub(crate) activation: ImplicitActivation,
    pub(crate) retention: ServantRetention,
    pub(crate) processing: RequestProcessing,
}

impl Case {
    pub(crate) fn policies(&self) -> Vec<PoaPolicy> {
        vec![
            self.thread.into(),
            self.lifespan.into(),
            self.uniqueness.into(),
            self.assignment.into(),
            self.activation.into(),
            self.retention.into(),
            self.processing.into(),
        ]
    }

    pub(crate) fn retains(&self) -> bool {
        self.retention == ServantRetention::Retain
    }

    pub(crate) fn is_unique(&self) -> bool {
        self.uniqueness == IdUniqueness::UniqueId
    }

    pub(crate) fn is_implicit(&self) -> bool {
        self.activation == ImplicitActivation::Implicit
    }

    pub(crate) fn gives_ids(&self) -> bool {
        self.assignment == IdAssignment::SystemId
    }

    pub(crate) fn has_default_servant(&self) -> bool {
        self.processing == RequestProcessing::DefaultServant
    }

    pub(crate) fn has_servant_manager(&self) -> bool {
        self.processing == RequestProcessing::ServantManager
    }
}

/// The thread that runs the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    /// Its own threads, and one that is the main thread.
    Background,
    /// The thread of the test, which also uses the POAs: they need no lock.
    ThisThread,
}

/// A server and a client.
pub(crate) struct Site {
    pub(crate) server: Orb,
    pub(crate) client: Orb,
    pub(crate) root: Poa,
    driver: Driver,
    /// The main thread of the server.
    pub(crate) main: ThreadId,
}

/// How client and server, which are of one process, meet.
pub(crate) const BY_MESSAGE: [&str; 2] = ["-ORBCollocation", "none"];
pub(crate) const THROUGH_POA: [&str; 2] = ["-ORBCollocationStrategy", "through-poa"];
pub(crate) const DIRECT: [&str; 2] = ["-ORBCollocationStrategy", "direct"];

fn orb(strategy: &str, driver: Driver, mode: [&str; 2]) -> Orb {
    let mut arguments = vec![
        "-ORBListenEndpoints".to_owned(),
        "iiop://127.0.0.1:0".to_owned(),
        "-ORBServerConcurrency".to_owned(),
        strategy.to_owned(),
        "-ORBRequestTimeout".to_owned(),
        "60s".to_owned(),
        mode[0].to_owned(),
        mode[1].to_owned(),
    ];
    Orb::builder()
        .settings(|s| match driver {
            Driver::Background => s,
            Driver::ThisThread => s.event_loop(EventLoop::Application),
        })
        .arguments(&mut arguments)
        .build()
        .unwrap()
}

impl Site {
    pub(crate) fn new(strategy: &str, driver: Driver, mode: [&str; 2]) -> Self {
        let server = orb(strategy, driver, mode);
        let client = orb("thread-per-connection", Driver::Background, mode);
        let main = match driver {
            Driver::ThisThread => {
                server.perform_work();
                std::thread::current().id()
            }
            Driver::Background => {
                let (sender, main) = mpsc::channel();
                let server = server.clone();
                std::thread::spawn(move || {
                    server.perform_work();
                    sender.send(std::thread::current().id()).unwrap();
                    server.run();
                });
                main.recv_timeout(Duration::from_secs(60)).unwrap()
            }
        };
        let root = server.root_poa().unwrap();
        root.the_poa_manager().activate().unwrap();
        Site { server, client, root, driver, main }
    }

    /// A child of the root with the policies of `case`, which takes requests.
    pub(crate) fn child(&self, case: &Case, demux: ServantDemux) -> Poa {
        let mut policies = case.policies();
        policies.push(demux.into());
        if self.driver == Driver::ThisThread {
            policies.push(Synchronization::NullLock.into());
        }
        let manager = self.root.the_poa_manager();
        let poa = self.root.create_poa("child", Some(&manager), &policies).unwrap();
        let resolved = poa.policies();
        assert_eq!(resolved.thread, case.thread);
        assert_eq!(resolved.lifespan, case.lifespan);
        assert_eq!(resolved.id_uniqueness, case.uniqueness);
        assert_eq!(resolved.id_assignment, case.assignment);
        assert_eq!(resolved.implicit_activation, case.activation);
        assert_eq!(resolved.servant_retention, case.retention);
        assert_eq!(resolved.request_processing, case.processing);
        poa
    }

    /// The object as the client sees it.
    pub(crate) fn far(&self, object: &corbie::Object) -> Object {
        Object(self.client.string_to_object(&object.to_string()).unwrap())
    }

    /// Makes a call, while the thread that has to runs the server.
    pub(crate) fn call<T: Send>(&self, call: impl FnOnce() -> T + Send) -> T {
        match self.driver {
            Driver::Background => call(),
            Driver::ThisThread => std::thread::scope(|threads| {
                let caller = threads.spawn(call);
                let done = || caller.is_finished();
                assert!(self.server.work_until(&done, Some(Duration::from_secs(60))));
                caller.join().unwrap()
            }),
        }
    }

    pub(crate) fn end(self) {
        self.client.shutdown(true);
        self.server.shutdown(true);
    }
}
