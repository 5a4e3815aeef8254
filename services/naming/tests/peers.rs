//! Beside other ORBs: clients of omniORB (C++) and JacORB (Java) use our server, our client uses
//! omniNames and JacORB's name server, and contexts of all three lead to each other.
//!
//! What is not installed is named as missing and passed over; `cargo xtask test` installs it.

mod fixture;

use corbie_naming::cos_naming::NamingContextExt;
use corbie_naming::store::Kind;
use corbie_naming::{Bounds, Entry, Limits, Naming, NamingError};
use corbie_testkit::clients::{self, JavaProgram, run};
use corbie_testkit::servers::{ForeignNames, ScratchFolder, say_missing};
use fixture::Fixture;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const PEERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers");

/// What both peers print when everything is as the specification says.
const EXPECTED: &str = r"resolve: 11
bind again: AlreadyBound
rebind: done
rebind a context: NotFound not_object drawer|d
rebind_context of an object: NotFound not_context pen|ink
rebind_context: done
missing: NotFound missing_node missing_name|x/y|
not a context: NotFound not_context pen|ink/y|
empty: InvalidName
not empty: NotEmpty
bind_context: done
bind_context again: AlreadyBound
list: 3 n0| 1, 12, 1 n5|, 11
to_string: a\/b.c\.d/.k
to_name: a/b|c.d/|k
to_url: corbaname::host:4711/key#a%5c/b/%3cc%3e
to_url without an address: InvalidAddress
to_name of nonsense: InvalidName
resolve_str: 1
corbaname: 1
unbind: done
unbind again: NotFound missing_node pen|ink
destroy: done
destroyed: OBJECT_NOT_EXIST
";

/// The jars of JacORB; `None` without Maven, Java or the network.
fn jacorb() -> Option<&'static Path> {
    clients::jacorb(env!("CARGO_TARGET_TMPDIR"))
}

/// How long a call may take in these tests.
const CALL_MAX: Duration = Duration::from_secs(5);

/// A server that gives others up after a second, and a client that does after [`CALL_MAX`].
fn hasty_fixture() -> Fixture {
    let limits = Limits { federated_timeout: Duration::from_secs(1), ..Limits::default() };
    Fixture::with_client(limits, &["-ORBRequestTimeout", &format!("{}s", CALL_MAX.as_secs())])
}

#[test]
fn a_client_of_omniorb_uses_every_operation() {
    if !Path::new("/usr/include/omniORB4/Naming.hh").exists() {
        return say_missing("omniORB's C++ stubs (package libomniorb4-dev)");
    }
    let folder = ScratchFolder::new("naming-client");
    let program = folder.path().join("naming_client");
    run(Command::new("g++")
        .args(["-std=c++17", "-O0", "-o"])
        .arg(&program)
        .arg(format!("{PEERS}/omniorb/naming_client.cc"))
        .args(["-lomniORB4", "-lomnithread", "-lpthread"]));
    let fixture = Fixture::new(Limits::default());
    let initial = format!("NameService={}", fixture.url());
    assert_eq!(run(Command::new(&program).args(["-ORBInitRef", &initial])), EXPECTED);
    // The same by the persistent reference.
    let fixture = Fixture::new(Limits::default());
    let initial = format!("NameService={}", fixture.server.root().as_object());
    assert_eq!(run(Command::new(&program).args(["-ORBInitRef", &initial])), EXPECTED);
}

#[test]
fn a_client_of_jacorb_uses_every_operation() {
    let Some(libraries) = jacorb() else { return };
    let program = JavaProgram::compile(libraries, &format!("{PEERS}/jacorb/NamingClient.java"));
    let fixture = Fixture::new(Limits::default());
    let mut command = program.command();
    command.arg(format!("-DORBInitRef.NameService={}", fixture.url())).arg("NamingClient");
    assert_eq!(run(&mut command), EXPECTED);
}

#[test]
fn the_command_of_omniorb_uses_our_server() {
    let found = Command::new("nameclt").arg("-help").output();
    if found.is_err() {
        return say_missing("nameclt of omniORB (package omniorb)");
    }
    let fixture = Fixture::new(Limits::default());
    let initial = format!("NameService={}", fixture.url());
    let nameclt = |arguments: &[&str]| {
        run(Command::new("nameclt").args(["-ORBInitRef", &initial]).args(arguments))
    };
    let reference = fixture.server.root().as_object().to_string();
    nameclt(&["bind_new_context", "shelf"]);
    nameclt(&["bind", "shelf/book.paper", &reference]);
    assert_eq!(nameclt(&["list"]).trim(), "shelf/");
    assert_eq!(nameclt(&["list", "shelf"]).trim(), "book.paper");
    assert_eq!(nameclt(&["resolve", "shelf/book.paper"]).trim(), reference);
    nameclt(&["unbind", "shelf/book.paper"]);
    assert_eq!(nameclt(&["list", "shelf"]).trim(), "");
    nameclt(&["remove_context", "shelf"]);
    assert_eq!(nameclt(&["list"]).trim(), "");
}

/// What our client does with any server.
fn use_with_our_client(fixture: &Fixture, url: &str) {
    let naming = Naming::at(&fixture.client_orb, url).expect("it answers");
    let (one, two) = (fixture.object("IDL:one:1.0"), fixture.object("IDL:two:1.0"));
    naming.make_contexts("a/b.k").expect("made");
    naming.make_contexts("a/b.k").expect("there already");
    naming.bind("a/b.k/o", &one).expect("bound");
    assert_eq!(naming.resolve_object("a/b.k/o").expect("resolved").ior(), one.ior());
    let again = naming.bind("a/b.k/o", &two).expect_err("it is bound");
    assert!(matches!(again, NamingError::AlreadyBound { .. }), "{again:?}");
    naming.rebind("a/b.k/o", &two).expect("rebound");
    assert_eq!(naming.resolve_object("a/b.k/o").expect("resolved").ior(), two.ior());
    let missing = naming.resolve_object("a/b.k/missing_name").expect_err("not bound");
    let NamingError::NotFound { rest, .. } = &missing else { panic!("{missing:?}") };
    assert_eq!(rest, "missing_name");
    let full = naming.destroy("a").expect_err("it is not empty");
    assert!(matches!(full, NamingError::NotEmpty { .. }), "{full:?}");
    // More than one answer of `list`.
    for number in 0..450 {
        naming.bind(&format!("a/n{number:03}"), &one).expect("bound");
    }
    let mut listed = naming.list("a").expect("listed");
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(listed.len(), 451);
    assert_eq!(listed[0], Entry { name: "b.k".into(), kind: Kind::Context });
    assert_eq!(listed[450], Entry { name: "n449".into(), kind: Kind::Object });
    let typed: NamingContextExt = naming.resolve("a/b.k").expect("of that type");
    assert_eq!(
        typed.to_string(&corbie_naming::parse("x/y").expect("a name")).expect("text"),
        "x/y"
    );
    let by_name = fixture
        .client_orb
        .string_to_object(&format!("{}#a/b.k/o", url.replace("corbaloc:", "corbaname:")));
    assert_eq!(by_name.expect("resolved").ior(), two.ior());
    naming.unbind("a/b.k/o").expect("unbound");
    naming.destroy("a/b.k").expect("destroyed");
}

/// Contexts of ours and of another server that lead to each other.
fn federate(fixture: &Fixture, foreign: &mut ForeignNames) {
    let ours = fixture.naming();
    let theirs = Naming::at(&fixture.client_orb, &foreign.url).expect("it answers");
    let object = fixture.object("IDL:shared:1.0");
    ours.bind_context("theirs", theirs.as_context()).expect("bound");
    theirs.bind_context("ours", ours.as_context()).expect("bound there");
    ours.bind_new_context("theirs/made").expect("made there");
    ours.bind("theirs/made/o", &object).expect("bound there");
    assert_eq!(theirs.resolve_object("made/o").expect("resolved").ior(), object.ior());
    theirs.bind("ours/p", &object).expect("bound here");
    assert_eq!(ours.resolve_object("p").expect("resolved").ior(), object.ior());
    // There and back, several times.
    let found = ours.resolve_object("theirs/ours/theirs/ours/theirs/made/o").expect("resolved");
    assert_eq!(found.ior(), object.ior());
    // So often that one of the two has no connection left for it (omniORB has five to a server):
    // it ends all the same, within the time that the client has and one call more.
    let began = Instant::now();
    match ours.resolve_object(&format!("{}theirs/made/o", "theirs/ours/".repeat(30))) {
        Ok(found) => assert_eq!(found.ior(), object.ior()),
        Err(refused) => {
            assert!(matches!(refused, NamingError::CannotProceed { .. }), "{refused:?}");
        }
    }
    assert!(began.elapsed() < 4 * CALL_MAX, "{:?}", began.elapsed());
    let tree = ours.tree(Bounds { depth: 4, bindings: 10_000 }).expect("a tree");
    assert_eq!(tree.children.len(), 2);
    foreign.kill();
    let refused = ours.resolve_object("theirs/made/o").expect_err("it is gone");
    assert!(matches!(refused, NamingError::CannotProceed { .. }), "{refused:?}");
    assert_eq!(ours.resolve_object("p").expect("ours goes on").ior(), object.ior());
}

#[test]
fn our_client_and_our_server_work_with_omninames() {
    let Some(mut foreign) = ForeignNames::omninames() else { return };
    let fixture = hasty_fixture();
    use_with_our_client(&fixture, &foreign.url);
    federate(&fixture, &mut foreign);
}

#[test]
fn our_client_and_our_server_work_with_jacorbs_name_server() {
    let Some(libraries) = jacorb() else { return };
    let Some(mut foreign) = ForeignNames::jacorb(libraries) else { return };
    let fixture = hasty_fixture();
    use_with_our_client(&fixture, &foreign.url);
    federate(&fixture, &mut foreign);
}

#[test]
fn our_client_works_with_our_server() {
    let fixture = Fixture::new(Limits::default());
    use_with_our_client(&fixture, &fixture.url());
}
