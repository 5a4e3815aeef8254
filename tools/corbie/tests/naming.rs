//! `corbie naming`: the server as a process of its own and the subcommands that use it.
//!
//! Changes that were acknowledged outlive `kill -9` of the server, and of etcd, in the middle of a
//! stream of them.

mod process;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use corbie::{Ior, Object, Orb};
use corbie_naming::{Naming, NamingError};
use corbie_testkit::certificates::{Authority, Folder};
use corbie_testkit::servers::{Etcd, EtcdFiles, ScratchFolder, Server, free_port};
use process::{Outcome, corbie};

const PATIENCE: Duration = Duration::from_secs(60);

/// `corbie naming serve`, killed when it is dropped.
struct Names {
    server: Server,
    reference: String,
    port: u16,
    store: String,
}

impl Names {
    fn start(store: &str) -> Self {
        Self::start_at(free_port(), store, &[])
    }

    fn start_at(port: u16, store: &str, more: &[&str]) -> Self {
        let listen = format!("127.0.0.1:{port}");
        let mut process = Command::new(env!("CARGO_BIN_EXE_corbie"))
            .args(["naming", "serve", "--print-reference", "--listen", &listen, "--store", store])
            .args(more)
            .env_remove("CORBIE_CONFIG_FILE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary was built with the test");
        let reference = first_line(&mut process);
        let server = Server::of(process);
        assert!(reference.starts_with("IOR:"), "the first line is {reference:?}");
        Self { server, reference, port, store: store.to_owned() }
    }

    /// Ends it with SIGKILL and starts it again on its port, with its store.
    fn kill_and_restart(&mut self) {
        self.server.kill();
        *self = Self::start_at(self.port, &self.store, &[]);
    }

    fn url(&self) -> String {
        format!("corbaloc::127.0.0.1:{}/NameService", self.port)
    }

    /// Runs a subcommand against it.
    fn run(&self, arguments: &[&str]) -> Outcome {
        let url = self.url();
        let mut all = vec!["naming"];
        all.extend(arguments);
        all.extend(["--name-service", &url]);
        corbie(&all)
    }

    fn naming(&self, orb: &Orb) -> Naming {
        Naming::at(orb, &self.url()).expect("the server answers")
    }
}

fn first_line(process: &mut Child) -> String {
    let output = process.stdout.take().expect("it is piped");
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("text");
    line.trim().to_owned()
}

fn path(folder: &ScratchFolder) -> String {
    folder.path().join("names.redb").display().to_string()
}

fn done(stdout: &str) -> Outcome {
    Outcome { stdout: stdout.to_owned(), ..Outcome::default() }
}

fn client() -> Orb {
    Orb::init(["-ORBRequestTimeout", "60s"]).expect("an ORB")
}

/// A reference that tells which one it is.
fn numbered(orb: &Orb, number: usize) -> Object {
    let text = "corbaloc::127.0.0.1:1/missing";
    let profiles = orb.string_to_object(text).expect("a reference").ior().profiles.clone();
    Object::new(orb, Ior { type_id: format!("IDL:test/{number}:1.0"), profiles })
}

#[test]
fn names_are_bound_shown_and_taken_away() {
    let folder = ScratchFolder::new("names");
    let names = Names::start(&path(&folder));
    let reference = names.reference.clone();
    assert_eq!(names.run(&["list"]), done(""));
    assert_eq!(names.run(&["bind", "--parents", r"stock/nyse/I\.B.quoter", &reference]), done(""));
    assert_eq!(names.run(&["bind", "plain", &reference]), done(""));
    let made = names.run(&["bind-context", "empty"]);
    assert!(made.status == 0 && made.stdout.starts_with("IOR:"), "{made:?}");
    assert_eq!(names.run(&["list"]), done("empty/\nplain\nstock/\n"));
    assert_eq!(names.run(&["list", "stock/nyse"]), done("I\\.B.quoter\n"));
    let listed: serde_json::Value =
        serde_json::from_str(&names.run(&["list", "--json"]).stdout).expect("JSON");
    assert_eq!(
        listed,
        serde_json::json!([
            { "name": "empty", "kind": "context" },
            { "name": "plain", "kind": "object" },
            { "name": "stock", "kind": "context" },
        ])
    );
    let expected = "\
/
├─ empty/
├─ plain: IDL:omg.org/CosNaming/NamingContextExt:1.0
└─ stock/
   └─ nyse/
      └─ I\\.B.quoter: IDL:omg.org/CosNaming/NamingContextExt:1.0
";
    assert_eq!(names.run(&["tree"]), done(expected));
    assert_eq!(names.run(&["resolve", "plain"]), done(&format!("{reference}\n")));
    let initial = format!("NameService={}", names.url());
    let resolved = corbie(&["naming", "resolve", "plain", "-ORBInitRef", &initial]);
    assert_eq!(resolved, done(&format!("{reference}\n")));

    let refused = |arguments: &[&str], status: i32, sentence: &str| {
        let stderr = format!("corbie: {sentence}\n");
        assert_eq!(names.run(arguments), Outcome { status, stderr, ..Outcome::default() });
    };
    refused(
        &["bind", "plain", &reference],
        2,
        "`plain` is bound already; rebind replaces it, unbind takes it away",
    );
    refused(
        &["bind", "--rebind", "empty", &reference],
        2,
        "`empty` is a context where an object is needed",
    );
    refused(
        &["resolve", "stock/nasdaq/x"],
        2,
        "`stock/nasdaq/x` was not found: `stock/nasdaq` is not bound",
    );
    refused(&["destroy", "stock"], 2, "the context `stock` has bindings; unbind them first");
    let malformed = names.run(&["resolve", "a//b"]);
    assert_eq!(malformed.status, 1);
    assert!(malformed.stderr.contains("at character 3: found an empty component"), "{malformed:?}");

    assert_eq!(names.run(&["bind", "--rebind", "plain", &names.url()]), done(""));
    assert_eq!(names.run(&["unbind", "plain"]), done(""));
    assert_eq!(names.run(&["destroy", "empty"]), done(""));
    assert_eq!(names.run(&["list"]), done("stock/\n"));
}

#[test]
fn people_are_told_what_is_wrong() {
    let unnamed = corbie(&["naming", "list"]);
    assert_eq!(unnamed.status, 64);
    assert!(unnamed.stderr.contains("--name-service HOST:PORT"), "{unnamed:?}");
    let port = free_port().to_string();
    let url = format!("corbaloc::127.0.0.1:{port}/NameService");
    let gone = corbie(&["naming", "tree", "--name-service", &url]);
    assert_eq!(gone.status, 1);
    assert!(gone.stderr.contains(&port) && gone.stderr.contains("refused"), "{gone:?}");

    let folder = ScratchFolder::new("names");
    let names = Names::start(&path(&folder));
    let second = corbie(&["naming", "serve", "--store", &names.store, "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status, 1);
    assert!(second.stderr.contains("names.redb is in use by another process"), "{second:?}");
    let garbage = folder.path().join("garbage").display().to_string();
    std::fs::write(&garbage, "no store").expect("the folder can be written");
    let store = corbie(&["naming", "serve", "--store", &garbage, "--listen", "127.0.0.1:0"]);
    assert_eq!(store.status, 1);
    assert!(store.stderr.contains("garbage is no store of names"), "{store:?}");
    let address = format!("127.0.0.1:{}", names.port);
    assert_eq!(corbie(&["naming", "list", "-n", &address]), done(""));
    let other_key = corbie(&["naming", "list", "-n", &format!("corbaloc::{address}/Names")]);
    assert!(other_key.stderr.contains("is it a naming service"), "{other_key:?}");
    let parents = names.run(&["bind", "a/b/c", &names.url()]);
    assert_eq!(parents.status, 2);
    let expected = "`a/b/c` was not found: `a` is not bound; --parents makes";
    assert!(parents.stderr.contains(expected), "{parents:?}");
    let busy = names.run(&["watch", "--interval", "0"]);
    assert_eq!((busy.status, busy.stderr.contains("more than 0")), (64, true), "{busy:?}");
    let other = folder.path().join("other.redb").display().to_string();
    let listen = format!("127.0.0.1:{}", names.port);
    let second = corbie(&["naming", "serve", "--store", &other, "--listen", &listen]);
    assert_eq!(second.status, 1);
    assert!(second.stderr.contains(&listen), "{second:?}");
    let nowhere = corbie(&["naming", "serve", "--store", "etcd:///x", "--listen", "127.0.0.1:0"]);
    assert_eq!(nowhere.status, 64);
    assert!(nowhere.stderr.contains("etcd://HOST:PORT/PREFIX"), "{nowhere:?}");
    let no_context = names.run(&["bind-context", "x", "corbaloc::127.0.0.1:1/missing"]);
    assert_eq!(no_context.status, 1, "{no_context:?}");
    let limited = Names::start_at(free_port(), &other, &["--name-components-max", "2"]);
    let refused = limited.run(&["resolve", "a/b/c"]);
    assert!(refused.stderr.contains("IMP_LIMIT_NAME"), "{refused:?}");
}

#[test]
fn references_outlive_the_server() {
    let folder = ScratchFolder::new("names");
    let mut names = Names::start(&path(&folder));
    let orb = client();
    let sub = names.naming(&orb).make_contexts("a/b").expect("made");
    sub.bind("o", &numbered(&orb, 7)).expect("bound");
    let root = names.reference.clone();
    names.kill_and_restart();
    assert_eq!(names.reference, root);
    // References from before: of the root, and of a context that no client has asked for since.
    // The first call may find that its connection broke.
    let listed = sub.list("").or_else(|_| sub.list("")).expect("the same context");
    assert_eq!(listed[0].name, "o");
    let context = Naming::at(&orb, &root).expect("the root").context("a/b").expect("the context");
    assert_eq!(context.as_context().as_object(), sub.as_context().as_object());
    orb.shutdown(true);
}

#[test]
fn changes_are_seen_while_they_happen() {
    let folder = ScratchFolder::new("names");
    let names = Names::start(&path(&folder));
    assert_eq!(names.run(&["bind", "old", &names.reference]), done(""));
    let url = names.url();
    let mut process = Command::new(env!("CARGO_BIN_EXE_corbie"))
        .args(["naming", "watch", "--interval", "0.02", "--name-service", &url])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary was built with the test");
    let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
    let _watch = Server::of(process);
    let mut next = || lines.next().expect("it goes on").expect("text");
    assert_eq!(next(), "watching; Ctrl-C ends it");
    names.run(&["bind-context", "c"]);
    assert_eq!(next(), "+ c/");
    names.run(&["bind", "c/new", &names.reference]);
    assert_eq!(next(), "+ c/new");
    names.run(&["bind", "--rebind", "old", &url]);
    assert_eq!(next(), "~ old");
    names.run(&["unbind", "old"]);
    assert_eq!(next(), "- old");
}

/// Binds names one after the other until the server is gone; those that were acknowledged, and
/// the one that was not.
fn stream(naming: &Naming, orb: &Orb, thread: usize, acknowledged: &AtomicUsize) -> (usize, bool) {
    for number in 0..1_000_000 {
        match naming.bind(&format!("stream/{thread}-{number}"), &numbered(orb, number)) {
            Ok(()) => acknowledged.fetch_add(1, Ordering::SeqCst),
            Err(NamingError::System { .. }) => return (number, true),
            Err(other) => panic!("{other}"),
        };
    }
    (1_000_000, false)
}

/// Streams of binds, `kill` in the midst of them, `check` what is there.
fn kill_under_load(names: &mut Names, kill: impl FnOnce(&mut Names), round: usize) {
    const THREADS: usize = 4;
    let orb = client();
    let naming = names.naming(&orb);
    match naming.bind_new_context("stream") {
        Ok(_) => {}
        Err(error) => panic!("round {round}: {error}"),
    }
    let acknowledged = AtomicUsize::new(0);
    let goal = 60 + 40 * round;
    let counts: Vec<(usize, bool)> = std::thread::scope(|scope| {
        let streams: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (naming, orb, acknowledged) = (&naming, &orb, &acknowledged);
                scope.spawn(move || stream(naming, orb, thread, acknowledged))
            })
            .collect();
        let deadline = Instant::now() + PATIENCE;
        while acknowledged.load(Ordering::SeqCst) < goal {
            assert!(Instant::now() < deadline, "binds are not acknowledged");
            // tidy: sleep: a look now and then at what other threads count.
            std::thread::sleep(Duration::from_millis(1));
        }
        kill(names);
        streams.into_iter().map(|stream| stream.join().expect("a stream")).collect()
    });
    assert!(counts.iter().all(|(_, was_cut)| *was_cut), "killed while all were binding");
    // Another client: a connection that was used within the last 50 ms is not looked at before it
    // is used again, and the server may have gone and come back faster than that.
    orb.shutdown(true);
    let orb = client();
    let naming = names.naming(&orb);
    let listed = naming.list("stream").expect("listed");
    let listed: BTreeMap<String, ()> = listed.into_iter().map(|entry| (entry.name, ())).collect();
    for (thread, (count, _)) in counts.iter().enumerate() {
        for number in 0..*count {
            let name = format!("{thread}-{number}");
            let found = naming.resolve_object(&format!("stream/{name}"));
            let found = found.unwrap_or_else(|error| panic!("acknowledged, and lost: {error}"));
            assert_eq!(found.ior().type_id, format!("IDL:test/{number}:1.0"));
            assert!(listed.contains_key(&name), "{name} is not listed");
        }
    }
    // What was not acknowledged may be there: at most one bind a thread.
    let sum: usize = counts.iter().map(|(count, _)| count).sum();
    assert!((sum..=sum + THREADS).contains(&listed.len()), "{sum} and {}", listed.len());
    // The store goes on, and is not full of remains.
    for name in listed.keys() {
        naming.unbind(&format!("stream/{name}")).expect("unbound");
    }
    naming.destroy("stream").expect("destroyed");
    orb.shutdown(true);
}

#[test]
fn kill_9_loses_no_binding_in_the_file() {
    let folder = ScratchFolder::new("names");
    let mut names = Names::start(&path(&folder));
    for round in 0..3 {
        kill_under_load(&mut names, Names::kill_and_restart, round);
    }
    assert!(Path::new(&names.store).is_file());
}

#[test]
fn kill_9_loses_no_binding_in_etcd() {
    let Some(mut etcd) = Etcd::start() else { return };
    let mut names = Names::start(&format!("etcd://{}/names", etcd.address()));
    for round in 0..2 {
        kill_under_load(&mut names, Names::kill_and_restart, round);
        // The other half: etcd itself.
        kill_under_load(
            &mut names,
            |_| {
                etcd.kill();
                etcd.restart();
            },
            round,
        );
    }
}

#[test]
fn names_are_kept_in_an_etcd_that_is_asked_over_tls() {
    let (folder, authority) = (Folder::default(), Authority::new("etcd authority"));
    let (etcd, own) = (authority.issue("etcd", &["127.0.0.1"]), authority.issue("names", &[]));
    let trust = folder.write("trust.pem", authority.pem());
    let certificate = folder.write("etcd.pem", &etcd.certificate);
    let key = folder.write("etcd.key", &etcd.key);
    let files = EtcdFiles { certificate, key, trust: trust.clone() };
    let Some(etcd) = Etcd::start_with(Some(files)) else { return };
    let store = format!("etcd://{}/names", etcd.address());
    let certificate = folder.write("own.pem", &own.certificate);
    let key = folder.write("own.key", &own.key);
    let flags = ["--etcd-trust", &trust, "--etcd-certificate", &certificate, "--etcd-key", &key];
    let names = Names::start_at(free_port(), &store, &flags);
    assert_eq!(names.run(&["bind", "o", &names.reference]), done(""));
    assert_eq!(names.run(&["resolve", "o"]), done(&format!("{}\n", names.reference)));

    let serve = |more: &[&str]| {
        let start = ["naming", "serve", "--listen", "127.0.0.1:0", "--store"];
        corbie(&[&start[..], more].concat())
    };
    let unproven = serve(&[&store, "--etcd-trust", &trust]);
    assert_eq!(unproven.status, 1, "{unproven:?}");
    assert!(unproven.stderr.contains("cannot use the store"), "{unproven:?}");
    for (wrong, why) in [
        (&[&store[..], "--etcd-user", "names"][..], "--etcd-password-file"),
        (&[&store, "--etcd-user", "names", "--etcd-password-file", "x"], "--etcd-trust"),
        (&[&store, "--etcd-trust", &trust, "--etcd-certificate", "x"], "--etcd-key"),
        (&["names.redb", "--etcd-trust", &trust], "is a file"),
    ] {
        let refused = serve(wrong);
        assert_eq!((refused.status, refused.stderr.contains(why)), (64, true), "{refused:?}");
    }
}

#[test]
fn servers_on_one_etcd_are_one_naming_service() {
    let Some(etcd) = Etcd::start() else { return };
    let store = format!("etcd://{}", etcd.address());
    let (one, other) = (Names::start(&store), Names::start(&store));
    assert_eq!(one.run(&["bind", "--parents", "a/b/o", &one.reference]), done(""));
    assert_eq!(other.run(&["resolve", "a/b/o"]), done(&format!("{}\n", one.reference)));
    // A context made by one is served by the other too, under a reference of its own.
    let orb = client();
    let (first, second) = (one.naming(&orb), other.naming(&orb));
    let of_first = first.context("a/b").expect("the context");
    let of_second = second.context("a/b").expect("the context");
    assert!(of_first.as_context() != of_second.as_context());
    of_second.bind("p", &numbered(&orb, 1)).expect("bound");
    assert_eq!(of_first.list("").expect("listed").len(), 2);
    // A reference of one's context, bound in the other, is a context of the store they share.
    second.bind_context("alias", of_first.as_context()).expect("bound");
    drop(one);
    assert_eq!(second.list("alias").expect("served by the other alone").len(), 2);
    second.unbind("alias/p").expect("unbound");
    let mut other = other;
    other.kill_and_restart();
    assert_eq!(other.run(&["tree", "a"]).stdout.lines().count(), 3);
    orb.shutdown(true);
}
