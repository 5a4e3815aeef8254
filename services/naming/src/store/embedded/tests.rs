//! A naming server whose disk fails for a while, as a client sees it.

use super::Embedded;
use crate::cos_naming::NamingContextExt;
use crate::cos_naming::naming_context::{BindError, NotFoundReason, ResolveError};
use crate::store::StoreError;
use crate::{Limits, Name, NamingServer, name};
use corbie::{CompletionStatus, Object, Orb, SystemException, SystemExceptionKind, minor};
use corbie_store::StoreFile;
use corbie_testkit::disk::{FailingDisk, Refused};
use corbie_testkit::servers::ScratchFolder;
use std::sync::Arc;

/// A server on a disk, and a client with another ORB.
struct Fixture {
    orb: Orb,
    client: Orb,
    _server: NamingServer,
    root: NamingContextExt,
}

impl Fixture {
    fn of(store: Embedded) -> Self {
        let orb = || Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
        let (orb, client) = (orb(), orb());
        let server =
            NamingServer::start(&orb, Arc::new(store), Limits::default()).expect("a server");
        let port = orb.listen_addresses()[0].port();
        let url = format!("corbaloc:iiop:1.2@127.0.0.1:{port}/NameService");
        let root = client.string_to_object(&url).expect("a reference");
        let root = NamingContextExt::narrow(&root).expect("it answers").expect("of that type");
        Self { orb, client, _server: server, root }
    }

    fn bind(&self, text: &str) -> Result<(), BindError> {
        self.root.bind(&named(text), Some(self.root.as_object()))
    }

    fn find(&self, text: &str) -> Result<Option<Object>, ResolveError> {
        self.root.resolve(&named(text))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.client.shutdown(true);
        self.orb.shutdown(true);
    }
}

fn named(text: &str) -> Name {
    name::parse(text).expect("a name")
}

fn on(disk: &FailingDisk) -> Result<Embedded, StoreError> {
    let disk = disk.clone();
    Embedded::prepare(StoreFile::with_storage("a test's", move || disk.open()).expect("a file"))
}

fn system(error: BindError) -> SystemException {
    match error {
        BindError::System(exception) => exception,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_goes_on_when_the_disk_does() {
    let folder = ScratchFolder::new("naming");
    let path = folder.path().join("names.redb");
    let disk = FailingDisk::new(&path);
    let fixture = Fixture::of(on(&disk).expect("a store"));
    fixture.bind("before").expect("bound");
    let mut acknowledged = vec!["before".to_owned()];
    for (round, refused) in [Refused::Changes, Refused::Flushes, Refused::All].iter().enumerate() {
        disk.refuse(*refused);
        let failed = system(fixture.bind(&format!("lost{round}")).expect_err("the disk is full"));
        assert_eq!(failed.kind, SystemExceptionKind::Transient, "{failed:?}");
        assert_eq!(failed.minor, minor::TRANSIENT_STORE);
        assert_eq!(failed.completed, CompletionStatus::Maybe);
        disk.refuse(Refused::Nothing);
        let text = format!("after{round}");
        fixture.bind(&text).expect("there is room again");
        acknowledged.push(text);
        for text in &acknowledged {
            assert!(fixture.find(text).expect("resolved").is_some(), "{refused:?}: {text}");
        }
    }
    drop(fixture);
    let fixture = Fixture::of(Embedded::open(&path).expect("a store"));
    for text in &acknowledged {
        assert!(fixture.find(text).expect("resolved").is_some(), "{text} is not there");
    }
}

#[test]
fn while_the_file_cannot_be_opened_nothing_is_changed_and_that_is_said() {
    let folder = ScratchFolder::new("naming");
    let disk = FailingDisk::new(folder.path().join("names.redb"));
    let fixture = Fixture::of(on(&disk).expect("a store"));
    fixture.bind("before").expect("bound");
    disk.refuse(Refused::All);
    fixture.bind("first").expect_err("the disk is away");
    for text in ["second", "third"] {
        let failed = system(fixture.bind(text).expect_err("the disk is away"));
        assert_eq!(failed.kind, SystemExceptionKind::PersistStore, "{failed:?}");
        assert_eq!(failed.completed, CompletionStatus::No);
    }
    let unread = fixture.find("before").expect_err("there is nothing to read from");
    let ResolveError::System(unread) = unread else { panic!("{unread:?}") };
    assert_eq!(unread.kind, SystemExceptionKind::PersistStore, "not that nothing is bound");
    disk.refuse(Refused::Nothing);
    for text in ["second", "third"] {
        let ResolveError::NotFound(gone) = fixture.find(text).expect_err("not bound") else {
            panic!("{text}")
        };
        assert_eq!(gone.why, NotFoundReason::MissingNode);
        fixture.bind(text).expect("the disk is back");
    }
    assert!(fixture.find("before").expect("resolved").is_some());
}
