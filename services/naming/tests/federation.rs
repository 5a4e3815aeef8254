//! Contexts of other servers: names that lead there, round in circles, or nowhere.

mod fixture;

use corbie::Ior;
use corbie::SystemExceptionKind;
use corbie_naming::cos_naming::NamingContext;
use corbie_naming::cos_naming::naming_context::{BindError, ResolveError};
use corbie_naming::{Bounds, Change, Limits, NamingError, Watch, parse, stringify};
use fixture::Fixture;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Long after every bound of these tests, so that a hang fails instead of waiting for CI.
const PATIENCE: Duration = Duration::from_secs(60);

fn short_limits() -> Limits {
    Limits { federated_timeout: Duration::from_secs(1), ..Limits::default() }
}

#[test]
fn every_operation_goes_on_at_the_other_server() {
    let (here, there) = (Fixture::new(Limits::default()), Fixture::new(Limits::default()));
    let (naming, other) = (here.naming(), there.naming());
    naming.bind_context("there", other.as_context()).expect("bound");
    let made = naming.bind_new_context("there/sub").expect("made there");
    assert_eq!(other.list("").expect("listed")[0].name, "sub");
    let (one, two) = (here.object("IDL:one:1.0"), here.object("IDL:two:1.0"));
    naming.bind("there/sub/o", &one).expect("bound there");
    assert_eq!(other.resolve_object("sub/o").expect("resolved").ior(), one.ior());
    let again = naming.bind("there/sub/o", &two).expect_err("it is bound");
    assert!(matches!(again, NamingError::AlreadyBound { .. }), "{again:?}");
    naming.rebind("there/sub/o", &two).expect("rebound there");
    assert_eq!(naming.resolve_object("there/sub/o").expect("resolved").ior(), two.ior());
    // A context of the first server, bound in the second, reached through the first.
    let own = naming.bind_new_context("own").expect("made");
    naming.bind_context("there/sub/back", own.as_context()).expect("bound there");
    naming.rebind_context("there/sub/back", own.as_context()).expect("rebound there");
    naming.bind("there/sub/back/o", &one).expect("there and back");
    assert_eq!(naming.resolve_object("own/o").expect("resolved").ior(), one.ior());

    let missing = naming.resolve_object("there/sub/missing/x").expect_err("not bound");
    let NamingError::NotFound { rest, .. } = &missing else { panic!("{missing:?}") };
    assert_eq!(rest, "missing/x");
    naming.unbind("there/sub/back").expect("unbound there");
    naming.unbind("there/sub/o").expect("unbound there");
    assert!(made.list("").expect("listed").is_empty());
    naming.destroy("there/sub").expect("destroyed there");
    assert!(other.list("").expect("listed").is_empty());
}

#[test]
fn two_servers_that_lead_to_each_other_do_not_hang() {
    let (here, there) = (Fixture::new(short_limits()), Fixture::new(short_limits()));
    let (naming, other) = (here.naming(), there.naming());
    naming.bind_context("x", other.as_context()).expect("bound");
    other.bind_context("x", naming.as_context()).expect("bound");
    naming.bind("o", &here.object("IDL:here:1.0")).expect("bound");
    let began = Instant::now();
    // Four hops there and back, and the object.
    let found = naming.resolve_object("x/x/x/x/x/x/x/x/o").expect("resolved");
    assert_eq!(found.ior().type_id, "IDL:here:1.0");
    // As many as a name may have: more than servers call each other at a time. The first server
    // gives up where it is, and the client goes on from there.
    let long = vec!["x"; 62].join("/") + "/o";
    let found = naming.resolve_object(&long).expect("resolved, with the client's help");
    assert_eq!(found.ior().type_id, "IDL:here:1.0");
    // A client that does not go on by itself is told where it may.
    match here.root.resolve(&parse(&long).expect("a name")) {
        Err(ResolveError::CannotProceed(stop)) => {
            assert!(stop.cxt.is_some());
            let rest = stringify(&stop.rest_of_name);
            assert!(rest.ends_with("x/o") && rest.len() < long.len(), "{rest}");
        }
        other => panic!("{other:?}"),
    }
    let too_long = vec!["x"; 65].join("/");
    let refused = naming.resolve_object(&too_long).expect_err("beyond the limit");
    assert!(refused.to_string().contains("IMP_LIMIT_NAME"), "{refused}");
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    // A tree is cut where it comes back.
    let tree = naming.tree(corbie_naming::Bounds { depth: 6, bindings: 100 }).expect("a tree");
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert_eq!(tree.children.len(), 2);
}

#[test]
fn a_server_that_is_gone_cannot_be_gone_through() {
    let here = Fixture::new(short_limits());
    let naming = here.naming();
    let gone = {
        let there = Fixture::new(Limits::default());
        there.server.root().as_object().ior().clone()
    };
    let gone = NamingContext::unchecked_narrow(corbie::Object::new(&here.client_orb, gone));
    naming.bind_context("gone", &gone).expect("bound, and not called");
    match here.root.resolve(&parse("gone/a/b").expect("a name")) {
        Err(ResolveError::CannotProceed(stop)) => {
            assert_eq!(
                stop.cxt.map(|context| context.as_object().ior().clone()),
                Some(gone.as_object().ior().clone())
            );
            assert_eq!(stringify(&stop.rest_of_name), "a/b");
        }
        other => panic!("{other:?}"),
    }
    let refused = naming.resolve_object("gone/a/b").expect_err("no server is there");
    assert!(matches!(refused, NamingError::CannotProceed { .. }), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains("gone/a/b") && text.contains("TRANSIENT"), "{text}");
    // The binding itself is as good as any.
    assert_eq!(naming.resolve_object("gone").expect("resolved").ior(), gone.as_object().ior());
    let tree = naming.tree(corbie_naming::Bounds::default()).expect("a tree");
    assert!(tree.children[0].note.as_deref().is_some_and(|note| note.contains("TRANSIENT")));
}

#[test]
fn who_watches_hears_of_no_change_when_a_server_is_away() {
    let (here, there) = (Fixture::new(short_limits()), Fixture::new(Limits::default()));
    let (naming, other) = (here.naming(), there.naming());
    naming.bind_context("there", other.as_context()).expect("bound");
    naming.bind("o", &here.object("IDL:o:1.0")).expect("bound");
    other.bind_new_context("sub").expect("made");
    other.bind("sub/o", &here.object("IDL:o:1.0")).expect("bound");
    let mut watch = Watch::begin(&naming, Bounds::default()).expect("looked");
    drop((other, there));
    let tree = naming.tree(Bounds::default()).expect("a tree");
    let away = tree.children.iter().find(|node| node.name == "there").expect("it is bound");
    assert!(!away.is_seen && away.note.is_some(), "{away:?}");
    assert_eq!(watch.changes().expect("looked"), [], "no client took a name away");
    assert_eq!(watch.changes().expect("looked"), [], "nor meanwhile");
    naming.unbind("o").expect("unbound");
    assert_eq!(watch.changes().expect("looked"), [Change::Unbound { name: "o".to_owned() }]);
    naming.unbind("there").expect("unbound");
    let gone = watch.changes().expect("looked");
    let gone_names = ["there", "there/sub", "there/sub/o"];
    assert_eq!(gone, gone_names.map(|name| Change::Unbound { name: name.to_owned() }));
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let here = Fixture::new(Limits { federated_calls: 2, ..short_limits() });
    // Connections are taken by the system, and no server reads them.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("its address").port();
    let url = format!("corbaloc:iiop:1.2@127.0.0.1:{port}/NameService");
    let object = here.client_orb.string_to_object(&url).expect("a reference");
    let silent_context = NamingContext::unchecked_narrow(object);
    here.root
        .bind_context(&parse("silent").expect("a name"), Some(&silent_context))
        .expect("bound");
    let began = Instant::now();
    let resolve = || here.root.resolve(&parse("silent/a").expect("a name"));
    let stopped = resolve();
    assert!(matches!(stopped, Err(ResolveError::CannotProceed(_))), "{stopped:?}");
    // What may have been done there is not said to be undone.
    match here.root.bind(&parse("silent/a").expect("a name"), None) {
        Err(BindError::System(e)) => assert_eq!(e.kind, SystemExceptionKind::Timeout),
        other => panic!("{other:?}"),
    }
    // Many clients at once: two calls wait, the others are told at once; and others are served.
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..8).map(|_| scope.spawn(resolve)).collect();
        for client in waiting {
            let stopped = client.join().expect("a thread");
            assert!(matches!(stopped, Err(ResolveError::CannotProceed(_))), "{stopped:?}");
        }
    });
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    drop(silent);
}

#[test]
fn a_context_of_the_same_store_is_not_called_over_the_network() {
    let here = Fixture::new(Limits { federated_calls: 0, ..Limits::default() });
    let naming = here.naming();
    let sub = naming.bind_new_context("sub").expect("made");
    naming.bind_context("again", sub.as_context()).expect("bound");
    naming.bind("again/o", &here.object("IDL:o:1.0")).expect("bound without a call elsewhere");
    assert_eq!(naming.resolve_object("sub/o").expect("resolved").ior().type_id, "IDL:o:1.0");
    // One more turn of the wheel, through a cycle in the store itself.
    naming
        .bind_context("sub/up", naming.context("again").expect("it").as_context())
        .expect("bound");
    naming.resolve_object("sub/up/up/up/up/o").expect("resolved");
    // A nil reference as a context is refused, and so is a nil reference by name.
    let foreign = NamingContext::unchecked_narrow(corbie::Object::new(
        &here.client_orb,
        Ior { type_id: "IDL:x:1.0".into(), ..here.root.as_object().ior().clone() },
    ));
    naming.bind_context("plain key", &foreign).expect("bound");
    let stopped = naming.resolve_object("plain key/sub");
    assert!(stopped.is_ok(), "the client goes on by itself: {stopped:?}");
}
