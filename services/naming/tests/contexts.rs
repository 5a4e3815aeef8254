//! Every operation and exception of `NamingContext` and `NamingContextExt`, over the wire: a
//! server in one ORB, called from another.

mod fixture;

use corbie::{SystemExceptionKind, minor};
use corbie_naming::cos_naming::naming_context::{
    BindContextError, BindError, BindNewContextError, DestroyError, NotFoundReason,
    RebindContextError, RebindError, ResolveError, UnbindError,
};
use corbie_naming::cos_naming::naming_context_ext::{ResolveStrError, ToNameError, ToUrlError};
use corbie_naming::cos_naming::{BindingType, NamingContext};
use corbie_naming::store::embedded::Embedded;
use corbie_naming::store::{ContextId, Store};
use corbie_naming::{Change, Limits, NameComponent, NamingServer, Watch, parse};
use corbie_testkit::servers::ScratchFolder;
use corbie_testkit::{RawRequest, neighbour_cannot_be_made_up, object_key_in};
use fixture::Fixture;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn name(text: &str) -> Vec<NameComponent> {
    parse(text).expect("a name")
}

/// `why` and the rest of `NotFound`, or what else it was.
macro_rules! not_found {
    ($error:ident, $outcome:expr) => {
        match $outcome {
            Err($error::NotFound(e)) => (e.why, corbie_naming::stringify(&e.rest_of_name)),
            other => panic!("no NotFound: {other:?}"),
        }
    };
}

#[test]
fn objects_are_bound_resolved_and_unbound() {
    let fixture = Fixture::new(Limits::default());
    let root = &fixture.root;
    let (one, two) = (fixture.object("IDL:one:1.0"), fixture.object("IDL:two:1.0"));
    root.bind(&name("o"), Some(&one)).expect("bound");
    let again = root.bind(&name("o"), Some(&two));
    assert!(matches!(again, Err(BindError::AlreadyBound(_))), "{again:?}");
    assert_eq!(root.resolve(&name("o")).expect("resolved").as_ref(), Some(&one));
    root.rebind(&name("o"), Some(&two)).expect("rebound");
    assert_eq!(root.resolve(&name("o")).expect("resolved").as_ref(), Some(&two));
    assert_eq!(root.resolve_str("o").expect("resolved").as_ref(), Some(&two));
    root.unbind(&name("o")).expect("unbound");
    root.bind(&name("nil"), None).expect("nil is bound");
    assert_eq!(root.resolve(&name("nil")).expect("resolved"), None);

    let missing = (NotFoundReason::MissingNode, "o".to_owned());
    assert_eq!(not_found!(ResolveError, root.resolve(&name("o"))), missing);
    assert_eq!(not_found!(ResolveStrError, root.resolve_str("o")), missing);
    assert_eq!(not_found!(UnbindError, root.unbind(&name("o"))), missing);
}

#[test]
fn contexts_are_made_bound_and_destroyed() {
    let fixture = Fixture::new(Limits::default());
    let root = &fixture.root;
    let sub = root.bind_new_context(&name("a")).expect("made").expect("not nil");
    let again = root.bind_new_context(&name("a"));
    assert!(matches!(again, Err(BindNewContextError::AlreadyBound(_))), "{again:?}");
    root.bind_new_context(&name("a/b")).expect("made");
    let deep = fixture.object("IDL:deep:1.0");
    root.bind(&name("a/b/o"), Some(&deep)).expect("bound");
    assert_eq!(sub.resolve(&name("b/o")).expect("resolved").as_ref(), Some(&deep));
    assert_eq!(root.resolve_str("a/b/o").expect("resolved"), Some(deep));

    let full = sub.destroy();
    assert!(matches!(full, Err(DestroyError::NotEmpty(_))), "{full:?}");
    let loose = root.new_context().expect("made").expect("not nil");
    root.bind_context(&name("a/loose"), Some(&loose)).expect("bound");
    let again = root.bind_context(&name("a/loose"), Some(&loose));
    assert!(matches!(again, Err(BindContextError::AlreadyBound(_))), "{again:?}");
    root.rebind_context(&name("a/loose"), Some(&sub)).expect("rebound");
    let found = root.resolve(&name("a/loose/loose/b/o")).expect("round and round");
    assert!(found.is_some());
    loose.destroy().expect("destroyed");
    let gone = loose.resolve(&name("x")).expect_err("it is gone");
    let ResolveError::System(gone) = gone else { panic!("{gone:?}") };
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    assert!(loose.as_object().non_existent().expect("it answers"));
    assert!(!sub.as_object().non_existent().expect("it answers"));
    let gone = loose.new_context().expect_err("it is gone");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    let root_stays = root.destroy().expect_err("the root");
    let DestroyError::System(root_stays) = root_stays else { panic!("{root_stays:?}") };
    assert_eq!(root_stays.minor, minor::NO_PERMISSION_ROOT_CONTEXT);
}

#[test]
fn a_server_that_is_dropped_lets_go_of_its_store() {
    let folder = ScratchFolder::new("names");
    let open = || Arc::new(Embedded::open(folder.path().join("names.redb")).expect("a store"));
    let orb = fixture::orb(&[]);
    let server = NamingServer::start(&orb, open(), Limits::default()).expect("a server");
    // Else a request for a POA that is gone waits for an adapter activator of the root.
    orb.root_poa().expect("a POA").the_poa_manager().activate().expect("active");
    let root = server.root().clone();
    root.bind(&name("o"), None).expect("bound");
    drop(server);
    let gone = root.resolve(&name("o")).expect_err("no server serves it");
    assert!(
        matches!(&gone, ResolveError::System(e)
        if matches!(e.kind, SystemExceptionKind::ObjectNotExist | SystemExceptionKind::Transient)),
        "{gone:?}"
    );
    // The thread that served the last call may hold the store for a moment after its reply.
    let deadline = Instant::now() + Duration::from_secs(60);
    let store = loop {
        match Embedded::open(folder.path().join("names.redb")) {
            Ok(store) => break store,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::yield_now();
    };
    assert!(store.lookup(ContextId::ROOT, &name("o")[0]).is_ok());
    orb.shutdown(true);
}

#[test]
fn not_found_says_why_and_where() {
    use NotFoundReason::{MissingNode, NotContext, NotObject};
    let fixture = Fixture::new(Limits::default());
    let root = &fixture.root;
    let object = fixture.object("IDL:o:1.0");
    let context = root.bind_new_context(&name("c")).expect("made");
    root.bind(&name("c/o"), Some(&object)).expect("bound");
    let found = |text: &str| not_found!(ResolveError, root.resolve(&name(text)));
    assert_eq!(found("c/x"), (MissingNode, "x".to_owned()));
    assert_eq!(found("c/x/y/z"), (MissingNode, "x/y/z".to_owned()));
    assert_eq!(found("x/c/o"), (MissingNode, "x/c/o".to_owned()));
    assert_eq!(found("c/o/p"), (NotContext, "o/p".to_owned()));
    assert_eq!(found("c.kind/o"), (MissingNode, "c.kind/o".to_owned()));

    let bound = root.bind(&name("c/o/p"), Some(&object));
    assert_eq!(not_found!(BindError, bound), (NotContext, "o/p".to_owned()));
    let made = root.bind_new_context(&name("x/y"));
    assert_eq!(not_found!(BindNewContextError, made), (MissingNode, "x/y".to_owned()));
    let rebound = root.rebind(&name("c"), Some(&object));
    assert_eq!(not_found!(RebindError, rebound), (NotObject, "c".to_owned()));
    let rebound = root.rebind_context(&name("c/o"), context.as_ref());
    assert_eq!(not_found!(RebindContextError, rebound), (NotContext, "o".to_owned()));
    let bound = root.bind_context(&name("x/y"), context.as_ref());
    assert_eq!(not_found!(BindContextError, bound), (MissingNode, "x/y".to_owned()));

    // A context on the way that was destroyed: nothing is bound in it.
    let loose = root.new_context().expect("made").expect("not nil");
    root.bind_context(&name("gone"), Some(&loose)).expect("bound");
    loose.destroy().expect("destroyed");
    assert_eq!(found("gone/o"), (MissingNode, "o".to_owned()));
}

#[test]
fn names_that_are_none_are_refused() {
    let fixture = Fixture::new(Limits::default());
    let root = &fixture.root;
    let object = fixture.object("IDL:o:1.0");
    assert!(matches!(root.bind(&[], Some(&object)), Err(BindError::InvalidName(_))));
    assert!(matches!(root.rebind(&[], Some(&object)), Err(RebindError::InvalidName(_))));
    assert!(matches!(root.resolve(&[]), Err(ResolveError::InvalidName(_))));
    assert!(matches!(root.unbind(&[]), Err(UnbindError::InvalidName(_))));
    assert!(matches!(root.bind_new_context(&[]), Err(BindNewContextError::InvalidName(_))));
    assert!(matches!(root.bind_context(&[], None), Err(BindContextError::InvalidName(_))));
    assert!(matches!(root.rebind_context(&[], None), Err(RebindContextError::InvalidName(_))));
    assert!(matches!(root.to_name(""), Err(ToNameError::InvalidName(_))));
    assert!(matches!(root.to_name("a//b"), Err(ToNameError::InvalidName(_))));
    assert!(matches!(root.resolve_str("a."), Err(ResolveStrError::InvalidName(_))));
    let nil = root.bind_context(&name("nil"), None).expect_err("nil");
    let BindContextError::System(nil) = nil else { panic!("{nil:?}") };
    assert_eq!(nil.kind, SystemExceptionKind::BadParam);
}

#[test]
fn names_are_text_and_urls() {
    let fixture = Fixture::new(Limits::default());
    let root = &fixture.root;
    let tricky = [
        NameComponent { id: "a/b".into(), kind: "".into() },
        NameComponent { id: "c.d".into(), kind: "e\\f".into() },
        NameComponent { id: "".into(), kind: "".into() },
    ];
    let text = root.to_string(&tricky).expect("text");
    assert_eq!(text, r"a\/b/c\.d.e\\f/.");
    assert_eq!(root.to_name(&text).expect("a name"), tricky);
    assert!(root.to_string(&[]).is_err());
    let url = root.to_url(":localhost:4711/key", r"<a>/b\.c").expect("a URL");
    assert_eq!(url, "corbaname::localhost:4711/key#%3ca%3e/b%5c.c");
    let refused = root.to_url("", "a");
    assert!(matches!(refused, Err(ToUrlError::InvalidAddress(_))), "{refused:?}");
    let refused = root.to_url(":host:nonsense", "a");
    assert!(matches!(refused, Err(ToUrlError::InvalidAddress(_))), "{refused:?}");
    let refused = root.to_url(":host", "a//b");
    assert!(matches!(refused, Err(ToUrlError::InvalidName(_))), "{refused:?}");
}

#[test]
fn urls_lead_to_bound_objects() {
    let fixture = Fixture::new(Limits::default());
    let object = fixture.object("IDL:o:1.0");
    fixture.root.bind_new_context(&name("x y")).expect("made");
    fixture.root.bind(&name(r"x y/o\.1.k"), Some(&object)).expect("bound");
    let port = fixture.server_orb.listen_addresses()[0].port();
    for address in [format!(":127.0.0.1:{port}"), format!("iiop:1.2@127.0.0.1:{port}/NameService")]
    {
        let url = fixture.root.to_url(&address, r"x y/o\.1.k").expect("a URL");
        assert_eq!(fixture.client_orb.string_to_object(&url).expect("resolved"), object, "{url}");
    }
    let initial = format!("NameService=corbaloc:iiop:1.2@127.0.0.1:{port}/NameService");
    let orb = fixture::orb(&["-ORBInitRef", &initial]);
    let found = orb.string_to_object(r"corbaname:rir:#x%20y/o%5c.1.k").expect("resolved");
    assert_eq!(found.ior(), object.ior());
    let found = orb.string_to_object(r"corbaname:rir:/NameService#x%20y").expect("resolved");
    assert!(NamingContext::narrow(&found).expect("it answers").is_some());
    let refused = orb.string_to_object("corbaname:rir:#missing").expect_err("not bound");
    assert!(refused.to_string().contains("missing"), "{refused}");
    orb.shutdown(true);
    // In the server's own process, the initial reference needs no setting.
    let own = fixture.server_orb.string_to_object("corbaname:rir:#x%20y/o%5c.1.k");
    assert_eq!(own.expect("resolved").ior(), object.ior());
}

#[test]
fn iterators_of_others_cannot_be_made_up() {
    let fixture = Fixture::new(Limits::default());
    let object = fixture.object("IDL:o:1.0");
    for number in 0..4 {
        fixture.root.bind(&name(&format!("n{number}")), Some(&object)).expect("bound");
    }
    let iterators = [(), ()].map(|()| {
        let (_, iterator) = fixture.root.list(1).expect("listed");
        object_key_in(&iterator.expect("there are more").as_object().to_string())
    });
    let address = fixture.server_orb.listen_addresses()[0];
    neighbour_cannot_be_made_up(address, &iterators, 16, |url| {
        let object = fixture.client_orb.string_to_object(url).expect("a reference");
        object.non_existent().expect("an answer")
    });
}

#[test]
fn lists_go_on_in_iterators() {
    let fixture = Fixture::new(Limits { list: 4, ..Limits::default() });
    let root = &fixture.root;
    let object = fixture.object("IDL:o:1.0");
    let (none, iterator) = root.list(10).expect("listed");
    assert!(none.is_empty() && iterator.is_none());
    for number in 0..8 {
        root.bind(&name(&format!("n{number}")), Some(&object)).expect("bound");
    }
    root.bind_new_context(&name("c.k")).expect("made");

    let (first, iterator) = root.list(2).expect("listed");
    let iterator = iterator.expect("there are more");
    assert_eq!(first[0].binding_name, name("c.k"));
    assert_eq!(first[0].binding_type, BindingType::Ncontext);
    assert_eq!(
        (first[1].binding_name.clone(), first[1].binding_type),
        (name("n0"), BindingType::Nobject)
    );
    let (more, one) = iterator.next_one().expect("one");
    assert!(more && one.binding_name == name("n1"));
    let (more, some) = iterator.next_n(100).expect("some");
    assert!(more);
    assert_eq!(some.len(), 4, "at most `list` in an answer");
    let (more, rest) = iterator.next_n(4).expect("the rest");
    assert!(more && rest.len() == 2);
    assert_eq!(iterator.next_n(4).expect("none"), (false, vec![]));
    assert!(!iterator.next_one().expect("none").0);
    let zero = iterator.next_n(0).expect_err("how many?");
    assert_eq!(zero.kind, SystemExceptionKind::BadParam);
    iterator.destroy().expect("destroyed");
    let gone = iterator.next_one().expect_err("destroyed");
    assert_eq!(gone.kind, SystemExceptionKind::ObjectNotExist);
    assert_eq!(fixture.server.iterators(), 0);

    let (none, iterator) = root.list(0).expect("listed");
    assert!(none.is_empty());
    let (more, one) = iterator.expect("all are in it").next_one().expect("one");
    assert!(more && one.binding_name == name("c.k"));
    let (page, iterator) = root.list(1000).expect("listed");
    assert!(page.len() == 4 && iterator.is_some(), "a client that asks for much gets a page");
}

#[test]
fn iterators_are_few_and_end_by_themselves() {
    let limited = |idle| Limits { iterators: 3, iterator_idle: idle, ..Limits::default() };
    let iterate = |fixture: &Fixture| -> Vec<_> {
        for text in ["a", "b", "c"] {
            fixture.root.bind(&name(text), None).expect("bound");
        }
        let list = || fixture.root.list(1).expect("listed").1.expect("there are more");
        (0..4).map(|_| list()).collect()
    };
    let fixture = Fixture::new(limited(Duration::from_secs(3600)));
    let iterators = iterate(&fixture);
    assert_eq!(fixture.server.iterators(), 3);
    let ended = iterators[0].next_one().expect_err("the oldest made room");
    assert_eq!(ended.kind, SystemExceptionKind::ObjectNotExist);
    assert!(iterators[3].next_one().is_ok(), "not idle for long");

    let fixture = Fixture::new(limited(Duration::from_millis(300)));
    let iterators = iterate(&fixture);
    let deadline = Instant::now() + Duration::from_secs(60);
    while fixture.server.iterators() > 0 {
        assert!(Instant::now() < deadline, "iterators do not end");
        // tidy: sleep: what is tested is that time passes.
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = iterators[3].next_one().expect_err("it was idle");
    assert_eq!(ended.kind, SystemExceptionKind::ObjectNotExist);
}

/// A connection from another address of this machine, as from another machine.
fn connect_from(host: u8, to: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    let socket = socket.expect("a socket");
    let from: SocketAddr = ([127, 0, 0, host], 0).into();
    socket.bind(&from.into()).expect("bound");
    socket.connect(&to.into()).expect("connected");
    socket.into()
}

#[test]
fn a_peer_that_asks_for_very_many_iterators_ends_its_own() {
    let limits = Limits { iterators: 20, ..Limits::default() };
    let fixture = Fixture::new(limits);
    for text in ["a", "b", "c"] {
        fixture.root.bind(&name(text), None).expect("bound");
    }
    let list = || fixture.root.list(1).expect("listed").1.expect("there are more");
    let honest = [list(), list()];
    let body = fixture.root.as_object().ior().iiop_profiles().expect("profiles")[0].clone();
    let to = format!("{}:{}", body.host, body.port).parse().expect("an address");
    let mut greedy = connect_from(2, to);
    let object_key = object_key_in(&fixture.server.root().as_object().to_string());
    for request_id in 1..=100 {
        let (operation, arguments) = ("list", &[0, 0, 0, 1]);
        let request = RawRequest { object_key: &object_key, operation, request_id, arguments };
        greedy.write_all(&request.octets()).expect("sent");
        // The reply, as it comes in one piece.
        assert!(greedy.read(&mut [0; 4096]).expect("answered") > 0);
    }
    assert_eq!(fixture.server.iterators(), 20);
    for iterator in &honest {
        iterator.next_one().expect("it is there");
    }
    // An honest client that comes now has one, too.
    list().next_one().expect("it is there");
}

#[test]
fn limits_are_refused_with_a_sentence() {
    let fixture = Fixture::new(Limits {
        name_components: 3,
        component_octets: 10,
        reference_octets: 2000,
        contexts: 2,
        bindings_per_context: 2,
        ..Limits::default()
    });
    let root = &fixture.root;
    let refused = |outcome: Result<(), BindError>| match outcome {
        Err(BindError::System(e)) if e.kind == SystemExceptionKind::ImpLimit => e,
        other => panic!("no IMP_LIMIT: {other:?}"),
    };
    refused(root.bind(&name("a/b/c/d"), None));
    refused(root.bind(&name("elevenchars"), None));
    refused(root.bind(&name("a"), Some(&fixture.object(&"x".repeat(3000)))));
    root.bind_new_context(&name("c")).expect("the second context");
    let third = root.new_context().expect_err("one too many");
    assert_eq!(third.kind, SystemExceptionKind::ImpLimit);
    root.bind(&name("b"), None).expect("the second binding");
    refused(root.bind(&name("d"), None));
    let long = "x".repeat(10_000);
    assert!(matches!(root.to_name(&long),
        Err(ToNameError::System(e)) if e.minor == minor::IMP_LIMIT_NAME));
    assert!(matches!(root.resolve_str(&long),
        Err(ResolveStrError::System(e)) if e.kind == SystemExceptionKind::ImpLimit));
}

#[test]
fn a_name_that_is_unbound_amid_a_look_leads_nowhere_else() {
    let fixture = Fixture::new(Limits::default());
    let naming = fixture.naming();
    let object = fixture.object("IDL:x:1.0");
    let is_over = AtomicBool::new(false);
    let rebound = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..300 {
                naming.bind("x", &object).expect("bound");
                naming.unbind("x").expect("unbound");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let bounds = corbie_naming::Bounds::default();
        let mut watch = Watch::begin(&naming, bounds).expect("a look");
        let mut rebound = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let changes = watch.changes().expect("a look").into_iter();
            rebound.extend(changes.filter(|change| matches!(change, Change::Rebound { .. })));
        }
        rebound
    });
    assert_eq!(rebound, [], "it had one reference all the time");
}
