//! Beside omniORB (C++): its suppliers and consumers at our channel, in all four models, with ours
//! at the same channel.
//!
//! What is not installed is named as missing and passed over; `cargo xtask test` installs it.

mod fixture;

use corbie::Any;
use corbie_event::ChannelQos;
use corbie_testkit::servers::{ScratchFolder, say_missing};
use fixture::{Fixture, any, until};
use std::path::Path;
use std::process::{Command, Stdio};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

const EXPECTED: &str = r#"AlreadyConnected
BAD_PARAM
push to push: 1
push to pull: 1
a string: "zwei"
try_pull: 1 "zwei"
try_pull: 0
pull to push: 3
pull to pull: 3
from the test: 99
pull to push: 4
destroyed: disconnected
"#;

/// Runs a compiler.
fn run(command: &mut Command) {
    let output = command.output().expect("it is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
}

#[test]
fn omniorb_supplies_and_consumes_in_all_models() {
    let has_compiler = Command::new("omniidl").arg("-V").output().is_ok();
    if !has_compiler || !Path::new("/usr/include/omniORB4/CORBA.h").exists() {
        return say_missing("omniORB (packages omniidl, libomniorb4-dev)");
    }
    let folder = ScratchFolder::new("event-client");
    for idl in ["CosEventComm", "CosEventChannelAdmin"] {
        run(Command::new("omniidl")
            .args(["-bcxx", &format!("-I{FOLDER}/idl"), &format!("-C{}", folder.path().display())])
            .arg(format!("{FOLDER}/idl/{idl}.idl")));
    }
    let program = folder.path().join("event_client");
    run(Command::new("g++")
        .args(["-std=c++17", "-O0", "-o"])
        .arg(&program)
        .arg(format!("-I{}", folder.path().display()))
        .arg(format!("{FOLDER}/tests/peers/omniorb/event_client.cc"))
        .arg(folder.path().join("CosEventCommSK.cc"))
        .arg(folder.path().join("CosEventChannelAdminSK.cc"))
        .args(["-lomniDynamic4", "-lomniORB4", "-lomnithread", "-lpthread"]));

    let fixture = Fixture::new(ChannelQos::default());
    let pulled = fixture.pull_supplier();
    pulled.connect_pull_consumer(None).expect("connected");
    let supplier = fixture.supplier();
    let client = Command::new(&program)
        .arg(fixture.channel.as_object().to_string())
        .args(["-ORBendPoint", "giop:tcp:127.0.0.1:"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built");
    let zwei = Any::string("zwei").expect("an any");
    for expected in [any(1), zwei, any(3)] {
        let pull = pulled.pull().expect("pulled");
        assert_eq!(pull.to_value().expect("a value"), expected.to_value().expect("a value"));
    }
    // Suppliers have no order among each other: the third event is to be everywhere before.
    until("all have taken it", || {
        let consumers = fixture.core().statistics().consumers;
        consumers.len() == 3 && consumers.iter().all(|consumer| consumer.delivered == 3)
    });
    supplier.push(&any(99)).expect("pushed");
    let output = client.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), EXPECTED);
}
