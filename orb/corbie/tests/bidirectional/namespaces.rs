//! A client behind a firewall: client and server are processes in network namespaces of their own,
//! joined by a cable, and a rule of the client's firewall drops each connection that comes in.
//!
//! Needs root, `ip` (iproute2) and `nft` (nftables); without one of them the test says so and does
//! nothing.

use super::echo::{Echo, EchoServant, orb};
use super::{BOTH, called_back};
use corbie::{Orb, SystemExceptionKind};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

/// The addresses at both ends of the cable.
const OF_CLIENT: &str = "10.77.0.1";
const OF_SERVER: &str = "10.77.0.2";
/// Tells a process of the test what to be: the server, or the client of this reference.
const ROLE: &str = "CORBIE_TEST_ROLE";

const FIREWALL: &str = "table inet corbie { chain input { type filter hook input priority 0; \
                        iifname cable tcp flags & (syn | ack) == syn drop; }; }";

/// Two namespaces, until dropped.
struct Namespaces {
    client: String,
    server: String,
}

/// Runs `command`, a line of words.
fn run(command: &str) -> Result<(), String> {
    let mut words = command.split(' ');
    let program = words.next().unwrap();
    let done = Command::new(program).args(words).output();
    let done = done.map_err(|error| format!("{program} cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    done.status.success().then_some(()).ok_or(format!("`{command}`: {}", said.trim()))
}

impl Namespaces {
    /// # Errors
    /// What is missing for them.
    fn make() -> Result<Self, String> {
        let name = |end: &str| format!("corbie-{end}-{}", std::process::id());
        let made = Namespaces { client: name("client"), server: name("server") };
        let Namespaces { client, server } = &made;
        run("nft --version")?;
        run(&format!("ip netns add {client}"))?;
        run(&format!("ip netns add {server}"))?;
        run(&format!("ip link add cable netns {client} type veth peer name cable netns {server}"))?;
        for (end, address) in [(client, OF_CLIENT), (server, OF_SERVER)] {
            run(&format!("ip -n {end} addr add {address}/30 dev cable"))?;
            run(&format!("ip -n {end} link set cable up"))?;
            run(&format!("ip -n {end} link set lo up"))?;
        }
        let mut nft = Command::new("ip");
        nft.args(["netns", "exec", client, "nft", "-f", "-"]).stdin(Stdio::piped());
        let mut nft = nft.spawn().map_err(|error| error.to_string())?;
        nft.stdin.take().unwrap().write_all(FIREWALL.as_bytes()).unwrap();
        let is_set = nft.wait().unwrap().success();
        is_set.then_some(made).ok_or("nft sets no rule".to_owned())
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in [&self.client, &self.server] {
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}

/// This program, within a namespace, as `role`.
fn start(namespace: &str, role: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command.args(["--exact", "namespaces::within_a_namespace", "--ignored", "--nocapture"]);
    command.env(ROLE, role).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[allow(clippy::print_stderr, reason = "who reads the tests' output has to know")]
fn skipped(why: &str) {
    eprintln!("SKIPPED a_client_behind_a_firewall_is_called_back: {why}");
}

#[test]
fn a_client_behind_a_firewall_is_called_back() {
    let namespaces = match Namespaces::make() {
        Ok(namespaces) => namespaces,
        Err(why) => return skipped(&why),
    };
    let mut server = start(&namespaces.server, "server");
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let reference = lines.find_map(|line| {
        line.unwrap().split_once("reference ").map(|(_, reference)| reference.to_owned())
    });
    let client = start(&namespaces.client, &reference.unwrap()).wait_with_output().unwrap();
    assert!(client.status.success(), "{}", String::from_utf8_lossy(&client.stdout));
    assert!(String::from_utf8_lossy(&client.stdout).contains("1 passed"));
    // The end of its input ends it.
    drop(server.stdin.take());
    assert!(server.wait().unwrap().success());
}

#[test]
#[ignore = "one of the processes of the test above, which starts it"]
fn within_a_namespace() {
    match std::env::var(ROLE).unwrap().as_str() {
        "server" => be_server(),
        reference => be_client(reference),
    }
}

#[allow(clippy::print_stdout, reason = "how the other process learns it")]
fn be_server() {
    let listen = format!("iiop://{OF_SERVER}:0");
    // What the firewall drops is not answered.
    let arguments = ["-ORBListenEndpoints", &listen, "-ORBConnectTimeout", "500ms"];
    let server = orb(&[&arguments, &BOTH[..]].concat());
    let poa = server.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let echo = poa.activate(EchoServant::new().0).unwrap();
    println!("reference {}", echo.0);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    server.shutdown(true);
}

fn be_client(reference: &str) {
    let theirs = |client: &Orb| Echo(client.string_to_object(reference).unwrap());
    let listen = format!("iiop://{OF_CLIENT}:0");
    let normal = orb(&["-ORBListenEndpoints", &listen]);
    let poa = normal.root_poa().unwrap();
    poa.the_poa_manager().activate().unwrap();
    let unreached = poa.activate(EchoServant::new().0).unwrap();
    assert_eq!(theirs(&normal).double(1).unwrap(), 2, "the client reaches the server");
    let dropped = theirs(&normal).call_back(&unreached, 1).unwrap_err();
    let kinds = [SystemExceptionKind::Transient, SystemExceptionKind::Timeout];
    assert!(kinds.contains(&dropped.kind), "the server reaches no client: {dropped}");
    for at in [&*listen, "none"] {
        let client = orb(&[&["-ORBListenEndpoints", at], &BOTH[..]].concat());
        let (own, _noted) = called_back(&client, "behind the firewall");
        let theirs = theirs(&client);
        assert_eq!(theirs.call_back(&own, 21).unwrap(), 42, "{at}");
        assert_eq!(theirs.bounce(&own, &theirs, 5).unwrap(), 5, "{at}: nested");
        client.shutdown(true);
    }
    normal.shutdown(true);
}
