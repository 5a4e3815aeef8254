//! Interfaces that an Interface Repository knows: JacORB's tells our channel of them, and of ours
//! as of anybody's (CORBA 3.3 P1 §14).
//!
//! What is not installed is named as missing and passed over; `cargo xtask test` installs it.

mod fixture;

use corbie::{Object, Operation, SystemExceptionKind};
use corbie_event::corba::InterfaceDef;
use corbie_event::cos_typed_event_channel_admin::TypedEventChannel;
use corbie_event::cos_typed_event_channel_admin::typed_supplier_admin::ObtainTypedPushConsumerError;
use corbie_event::interfaces::{InterfaceRepository, Interfaces};
use corbie_event::{ChannelQos, EventServer, Limits};
use corbie_testkit::clients::{self, JavaProgram};
use corbie_testkit::servers::{ScratchFolder, Server};
use fixture::{orb, until};
use std::process::Stdio;
use std::sync::Arc;

/// Generated code.
#[allow(missing_docs, reason = "the IDL is that of the tests")]
mod generated {
    corbie::include_idl!("Weather");
}

use generated::weather::{Asked, PullReport, Report, Sample, Station};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// JacORB's repository of `Weather.idl`, and its reference; none where it cannot be started.
fn repository() -> Option<(Server, JavaProgram, String)> {
    let libraries = clients::jacorb(env!("CARGO_TARGET_TMPDIR"))?;
    let idl = format!("{FOLDER}/tests/idl/Weather.idl");
    let program = JavaProgram::for_repository(libraries, &[&idl]);
    let folder = ScratchFolder::new("repository");
    let file = folder.path().join("reference");
    let mut command = program.command();
    command.args(["-DOAIAddr=127.0.0.1", "org.jacorb.ir.IRServer"]);
    command.arg(program.classes()).arg(&file).stdout(Stdio::null());
    let server = Server::of(command.spawn().expect("Java is there"));
    let written = || std::fs::read_to_string(&file).is_ok_and(|text| text.len() > 100);
    until("it writes its reference", written);
    let reference = std::fs::read_to_string(&file).expect("it is there");
    Some((server, program, reference.trim().to_owned()))
}

#[test]
fn a_channel_asks_jacorbs_interface_repository() {
    let Some((_server, _program, reference)) = repository() else { return };
    let (server_orb, client_orb) = (orb(), orb());
    let server = EventServer::start(&server_orb, Limits::default()).expect("a server");
    let object = server_orb.string_to_object(&reference).expect("a reference");
    until("it has read the classes", || {
        let repository = InterfaceRepository::new(&object).expect("a repository");
        let ids = [Report::REPOSITORY_ID, PullReport::REPOSITORY_ID, Asked::REPOSITORY_ID];
        ids.iter().all(|id| matches!(repository.describe(id), Ok(Some(_))))
    });
    let repository = Arc::new(InterfaceRepository::new(&object).expect("a repository"));
    let described = repository.describe(Report::REPOSITORY_ID).expect("an answer");
    let described = described.expect("it knows it");
    assert_eq!(described.name, "::Weather::Report");
    assert_eq!(described.bases, [Station::REPOSITORY_ID]);
    assert_eq!(repository.describe("IDL:Never/Declared:1.0").expect("an answer"), None);
    server.add_interfaces(repository);

    let channel = server.create_typed("weather", ChannelQos::default(), []).expect("a channel");
    let ior = channel.as_object().ior().clone();
    let channel = TypedEventChannel::unchecked_narrow(Object::new(&client_orb, ior));
    let consumers = channel.for_consumers().expect("an answer").expect("not nil");
    let pulled = consumers.obtain_typed_pull_supplier(PullReport::REPOSITORY_ID);
    let pulled = pulled.expect("it is known").expect("not nil");
    pulled.connect_pull_consumer(None).expect("connected");
    let typed = pulled.get_typed_supplier().expect("an answer").expect("not nil");
    let pulls = PullReport::narrow(&typed).expect("an answer").expect("it is one");
    let suppliers = channel.for_suppliers().expect("an answer").expect("not nil");
    let proxy = suppliers.obtain_typed_push_consumer(Report::REPOSITORY_ID);
    let proxy = proxy.expect("it is known").expect("not nil");
    proxy.connect_push_supplier(None).expect("connected");
    let typed = proxy.get_typed_consumer().expect("an answer").expect("not nil");
    let report = Report::narrow(&typed).expect("an answer").expect("it is one");
    let sample = Sample { station: "Brocken".to_owned(), celsius: -7.5 };
    report.measured(&sample, 1 << 40).expect("taken");
    report.alarm("storm").expect("sent");
    report.moved("Brocken", 51.8).expect("taken");
    assert_eq!(pulls.measured().expect("pulled"), (sample, 1 << 40));
    assert_eq!(pulls.alarm().expect("pulled"), "storm");
    assert_eq!(pulls.moved().expect("pulled"), ("Brocken".to_owned(), 51.8));
    let empty = Sample { station: String::new(), celsius: 0.0 };
    assert_eq!(pulls.try_measured().expect("an answer"), (false, empty, 0));

    // The typed object says where its interface is described.
    const INTERFACE: Operation = Operation::twoway("_interface");
    let mut reply = typed.invoke(&INTERFACE, &|_| Ok(())).expect("an answer");
    let definition = reply.results(<Object as corbie::Marshal>::decode).expect("a reference");
    let definition = InterfaceDef::unchecked_narrow(definition.expect("not nil"));
    assert_eq!(definition.id().expect("an answer"), Report::REPOSITORY_ID);
    assert!(definition.is_a(Station::REPOSITORY_ID).expect("an answer"));
    let refused = suppliers.obtain_typed_push_consumer(Asked::REPOSITORY_ID);
    assert!(
        matches!(refused, Err(ObtainTypedPushConsumerError::InterfaceNotSupported(_))),
        "{refused:?}"
    );
    client_orb.shutdown(true);
    drop(server);
    server_orb.shutdown(true);
}

#[test]
fn a_repository_that_is_away_is_no_reason_to_say_that_nobody_knows_an_interface() {
    let server_orb = orb();
    let server = EventServer::start(&server_orb, Limits::default()).expect("a server");
    let port = corbie_testkit::servers::free_port();
    let absent = server_orb.string_to_object(&format!("corbaloc::127.0.0.1:{port}/Repository"));
    let repository = InterfaceRepository::new(&absent.expect("a reference")).expect("one");
    server.add_interfaces(Arc::new(repository));
    let channel = server.create_typed("weather", ChannelQos::default(), []).expect("a channel");
    let suppliers = channel.for_suppliers().expect("an answer").expect("not nil");
    let refused = suppliers.obtain_typed_push_consumer(Report::REPOSITORY_ID);
    let Err(ObtainTypedPushConsumerError::System(away)) = refused else { panic!("{refused:?}") };
    assert!(
        matches!(away.kind, SystemExceptionKind::Transient | SystemExceptionKind::CommFailure),
        "{away}"
    );
    drop(server);
    server_orb.shutdown(true);
}
