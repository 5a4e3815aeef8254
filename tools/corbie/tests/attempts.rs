//! Every operation that the IDL of a shipped server declares is attempted at that server, over a
//! real socket, by a peer that may not call it. The list is made from the IDL, so no new operation
//! is forgotten. And what the commands do when they are told nothing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod process;

use corbie::access::{AccessRules, Peers, Rule};
use corbie::{Object, Operation, Orb, SystemException, minor};
use corbie_build::FileLoader;
use corbie_event::{EventServer, Limits as EventLimits};
use corbie_frontend::Options;
use corbie_frontend::model::DefinitionKind;
use corbie_naming::store::embedded::Embedded;
use corbie_naming::{Limits, NamingServer};
use corbie_rtevent::{Configuration, RtEventServer};
use corbie_testkit::servers::{ScratchFolder, Server};
use process::corbie;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The operations that the IDL files of `folder` declare, as they are named on the wire.
fn operations(folder: &str) -> Vec<&'static str> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|ending| ending == "idl")).collect();
    let names: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let includes = ["services/naming/idl", "services/event/idl", "services/rtevent/idl"]
        .map(|other| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(other));
    let loader = FileLoader::new(&includes);
    let model = corbie_frontend::compile_all(&names, &loader, &Options::new()).model;
    let mut all: Vec<String> = Vec::new();
    for definition in model.iter() {
        match &definition.kind {
            DefinitionKind::Operation(_) => all.push(definition.name.clone()),
            DefinitionKind::Attribute(attribute) => {
                all.push(format!("_get_{}", definition.name));
                if !attribute.readonly {
                    all.push(format!("_set_{}", definition.name));
                }
            }
            _ => {}
        }
    }
    let every_object = ["_is_a", "_non_existent", "_repository_id", "_interface", "_component"];
    all.extend(every_object.map(str::to_owned));
    all.sort();
    all.dedup();
    all.into_iter().map(|name| &*name.leak()).collect()
}

fn call(object: &Object, operation: &'static str) -> Result<(), SystemException> {
    object.invoke(&Operation::twoway(operation), &|_| Ok(())).map(drop)
}

fn is_refused(outcome: &Result<(), SystemException>) -> bool {
    matches!(outcome, Err(exception) if exception.minor == minor::NO_PERMISSION_ACCESS)
}

fn orb() -> Orb {
    Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBCollocation", "none"]).unwrap()
}

/// Attempts each of `operations` at `objects` of `server`: refused where no rule allows it, also
/// when a rule allows another one; and no rule stands in the way of the one that is allowed.
fn attempt(server: &Orb, objects: &[Object], operations: &[&'static str]) {
    let client = orb();
    let there: Vec<Object> =
        objects.iter().map(|o| client.string_to_object(&o.to_string()).unwrap()).collect();
    let elsewhere = || Peers::anyone().address("192.0.2.0/24".parse().unwrap());
    let only = |operation: &str| {
        server.set_access(
            AccessRules::none()
                .allow(Rule::of([Peers::loopback()]).operations([operation]))
                .allow(Rule::of([elsewhere()])),
        );
    };
    for object in &there {
        for operation in operations {
            server.set_access(AccessRules::none().allow(Rule::of([elsewhere()])));
            assert!(is_refused(&call(object, operation)), "{operation}");
            if !operation.starts_with('_') || operation.starts_with("_get_") {
                only("no_such_operation");
                assert!(is_refused(&call(object, operation)), "{operation}");
            }
        }
    }
    // What follows may destroy the objects.
    for object in &there {
        for operation in operations {
            only(operation);
            let outcome = call(object, operation);
            assert!(!is_refused(&outcome), "{operation}: {outcome:?}");
        }
    }
    client.shutdown(true);
    server.shutdown(true);
}

#[test]
fn every_operation_of_a_naming_server_is_refused_where_no_rule_allows_it() {
    let server = orb();
    let store = Arc::new(Embedded::in_memory().unwrap());
    let names = NamingServer::start(&server, store, Limits::default()).unwrap();
    server.root_poa().unwrap().the_poa_manager().activate().unwrap();
    let operations = operations("services/naming/idl");
    assert!(operations.contains(&"rebind_context") && operations.contains(&"next_n"));
    attempt(&server, &[names.root().as_object().clone()], &operations);
}

#[test]
fn every_operation_of_an_event_server_is_refused_where_no_rule_allows_it() {
    let server = orb();
    let events = EventServer::start(&server, EventLimits::default()).unwrap();
    let channel = events.create("prices", corbie_event::ChannelQos::default()).unwrap();
    server.root_poa().unwrap().the_poa_manager().activate().unwrap();
    let suppliers = channel.for_suppliers().unwrap().unwrap();
    let proxy = suppliers.obtain_push_consumer().unwrap().unwrap();
    let typed = events.create_typed("typed", corbie_event::ChannelQos::default(), []).unwrap();
    let operations = operations("services/event/idl");
    assert!(operations.contains(&"push") && operations.contains(&"obtain_typed_push_consumer"));
    let objects = [
        events.factory().as_object().clone(),
        channel.as_object().clone(),
        suppliers.as_object().clone(),
        proxy.as_object().clone(),
        typed.as_object().clone(),
    ];
    attempt(&server, &objects, &operations);
}

#[test]
fn every_operation_of_a_real_time_event_server_is_refused_where_no_rule_allows_it() {
    let server = orb();
    let events = RtEventServer::start(&server, EventLimits::default()).unwrap();
    let channel = events.create("prices", Configuration::default()).unwrap();
    server.root_poa().unwrap().the_poa_manager().activate().unwrap();
    let suppliers = channel.for_suppliers().unwrap().unwrap();
    let consumers = channel.for_consumers().unwrap().unwrap();
    let operations = operations("services/rtevent/idl");
    assert!(operations.contains(&"push") && operations.contains(&"append_observer"));
    let objects = [
        events.factory().as_object().clone(),
        suppliers.obtain_push_consumer().unwrap().unwrap().as_object().clone(),
        consumers.obtain_push_supplier().unwrap().unwrap().as_object().clone(),
        suppliers.as_object().clone(),
        consumers.as_object().clone(),
        channel.as_object().clone(),
    ];
    attempt(&server, &objects, &operations);
}

/// A `corbie` that serves until it is dropped, and the first line that it prints.
fn serving(arguments: &[&str]) -> (Server, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corbie"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = command.spawn().unwrap();
    let output = process.stdout.take().unwrap();
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    (Server::of(process), line.trim().to_owned())
}

#[test]
fn every_operation_of_a_component_of_mshn_is_refused_unless_its_peer_is_named() {
    let folder = ScratchFolder::new("attempts-mshn");
    let file = folder.path().join("access.toml");
    let rules =
        "[peers.elsewhere]\naddresses = \"192.0.2.0/24\"\n[[allow]]\npeers = \"elsewhere\"\n";
    std::fs::write(&file, rules).unwrap();
    let (_names, naming) = serving(&["mshn", "serve", "naming", "--name", "naming"]);
    let client = orb();
    let operations = operations("systems/mshn/idl");
    assert!(operations.contains(&"_is_a") && operations.len() > 10);
    let names = client.string_to_object(&naming).unwrap();
    assert!(!is_refused(&call(&names, "_non_existent")), "this user is the server's");
    let served = ["daemon", "advisor", "status", "requirements"].map(|component| {
        let arguments = ["mshn", "serve", component, "--name", "c", "-n", &naming];
        let access = ["-ORBAccessFile", file.to_str().unwrap()];
        let (server, ready) = serving(&[&arguments[..], &access].concat());
        assert_eq!(ready, "ready", "{component}");
        server
    });
    let objects = bound(&client, &naming);
    assert!(objects.len() >= served.len(), "{objects:?}");
    for object in objects {
        for operation in &operations {
            let outcome = call(&object, operation);
            assert!(is_refused(&outcome), "{}: {operation}: {outcome:?}", object.ior().type_id);
        }
    }
    client.shutdown(true);
}

/// All objects below the naming context `root` that are no contexts.
fn bound(client: &Orb, root: &str) -> Vec<Object> {
    use corbie_naming::cos_naming::{BindingType, NamingContext};
    let mut contexts =
        vec![NamingContext::unchecked_narrow(client.string_to_object(root).unwrap())];
    let mut found = Vec::new();
    while let Some(context) = contexts.pop() {
        let (bindings, _) = context.list(1000).unwrap();
        for binding in bindings {
            let object = context.resolve(&binding.binding_name).unwrap().unwrap();
            match binding.binding_type {
                BindingType::Ncontext => contexts.push(NamingContext::unchecked_narrow(object)),
                BindingType::Nobject => found.push(object),
            }
        }
    }
    assert!(!found.is_empty());
    found
}

#[test]
fn a_server_that_is_told_nothing_listens_on_loopback() {
    let folder = ScratchFolder::new("attempts-default");
    let store = folder.path().join("names.redb");
    let (_names, said) = serving(&["naming", "serve", "--store", store.to_str().unwrap()]);
    let place = said.split_whitespace().find(|word| word.starts_with("corbaloc:")).unwrap();
    assert!(place.starts_with("corbaloc::127.0.0.1:"), "{said}");
    let listed = corbie(&["naming", "list", "-n", place.trim_end_matches(';')]);
    assert_eq!(listed.status, 0, "{listed:?}");
    let (_events, said) = serving(&["events", "serve"]);
    assert!(said.contains("corbaloc::127.0.0.1:"), "{said}");
    let (_mshn, reference) = serving(&["mshn", "serve", "naming", "--name", "n"]);
    let shown = corbie(&["ior", "dump", &reference]);
    assert!(
        shown.stdout.contains("corbie-mshn-") && !shown.stdout.contains("127.0.0.1"),
        "{shown:?}"
    );
}

#[test]
fn a_shipped_server_connects_to_no_socket_for_peers_over_tcp() {
    use corbie_naming::cos_naming::{NameComponent, NamingContext};
    let folder = ScratchFolder::new("attempts-egress");
    let store = folder.path().join("names.redb");
    let (_names, said) = serving(&["naming", "serve", "--store", store.to_str().unwrap()]);
    let place = said.split_whitespace().find(|word| word.starts_with("corbaloc:")).unwrap();
    let client = orb();
    let names = client.string_to_object(place.trim_end_matches(';')).unwrap();
    let names = NamingContext::unchecked_narrow(names);
    let name = |id: &str| vec![NameComponent { id: id.into(), kind: String::new() }];
    let bind = |id, reference: &str| {
        let context = client.string_to_object(reference).unwrap();
        names.bind_context(&name(id), Some(&NamingContext::unchecked_narrow(context)))
    };
    bind("loopback", "corbaloc::127.0.0.1:1/NameService").unwrap();
    let refused = bind("socket", "corbaloc:uiop:1.2@/var/run/docker.sock|NameService");
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("NO_PERMISSION"), "{refused}");
    // By this name the server is asked to connect to loopback, as its peer could itself.
    let unreachable = names.resolve(&[name("loopback"), name("x")].concat()).unwrap_err();
    assert!(unreachable.to_string().contains("CannotProceed"), "{unreachable}");
    client.shutdown(true);
}
