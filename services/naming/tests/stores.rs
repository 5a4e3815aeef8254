//! One suite for every store: what the server relies on (`Store`).
//!
//! etcd is started by the test; where it is not installed, it is named as missing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use corbie::Ior;
use corbie_naming::NameComponent;
use corbie_naming::store::embedded::Embedded;
use corbie_naming::store::etcd::{Etcd, EtcdAccess, EtcdUser};
use corbie_naming::store::{ContextId, Kind, Mode, Quota, Store, StoreError, Target};
use corbie_testkit::certificates::{Authority, Folder};
use corbie_testkit::servers::{self, ScratchFolder, free_port};
use rustls::crypto::ring;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

const QUOTA: Quota = Quota { contexts: 1000, bindings_per_context: 1000 };
const ROOT: ContextId = ContextId::ROOT;
const TIMEOUT: Duration = Duration::from_secs(60);

fn name(id: &str, kind: &str) -> NameComponent {
    NameComponent { id: id.to_owned(), kind: kind.to_owned() }
}

fn object(type_id: &str) -> Target {
    Target::Object(Ior { type_id: type_id.to_owned(), ..Ior::nil() })
}

fn bind(
    store: &dyn Store,
    context: ContextId,
    id: &str,
    target: &Target,
) -> Result<(), StoreError> {
    store.bind(context, &name(id, ""), target, Mode::New, QUOTA)
}

/// A rule of the suite, for a store that no other test has touched.
type Rule = fn(&dyn Store);

const RULES: [Rule; 10] = [
    names_are_followed_as_far_as_they_lead,
    bindings_are_found_again,
    a_bound_name_is_refused_and_replaced_by_its_kind_only,
    unbinding_is_for_what_is_bound,
    contexts_are_made_bound_and_destroyed,
    what_is_not_there_is_named,
    lists_are_in_pages_and_in_order,
    names_that_look_alike_are_kept_apart,
    limits_hold,
    nothing_is_lost_between_threads,
];

fn bindings_are_found_again(store: &dyn Store) {
    let elsewhere = Target::ForeignContext(Ior { type_id: "IDL:x:1.0".into(), ..Ior::nil() });
    for (id, target) in [("o", object("IDL:o:1.0")), ("f", elsewhere), ("n", object(""))] {
        bind(store, ROOT, id, &target).expect("bound");
        assert_eq!(store.lookup(ROOT, &name(id, "")), Ok(target));
    }
    assert_eq!(store.lookup(ROOT, &name("o", "kind")), Err(StoreError::NotBound));
}

fn a_bound_name_is_refused_and_replaced_by_its_kind_only(store: &dyn Store) {
    let (first, second) = (object("first"), object("second"));
    let foreign = Target::ForeignContext(Ior::nil());
    bind(store, ROOT, "a", &first).expect("bound");
    assert_eq!(bind(store, ROOT, "a", &second), Err(StoreError::AlreadyBound));
    assert_eq!(bind(store, ROOT, "a", &foreign), Err(StoreError::AlreadyBound));
    assert_eq!(store.lookup(ROOT, &name("a", "")), Ok(first));
    let replace =
        |id: &str, target: &Target| store.bind(ROOT, &name(id, ""), target, Mode::Replace, QUOTA);
    replace("a", &second).expect("replaced");
    assert_eq!(store.lookup(ROOT, &name("a", "")), Ok(second.clone()));
    assert_eq!(replace("a", &foreign), Err(StoreError::OtherKind(Kind::Object)));
    replace("c", &foreign).expect("made");
    assert_eq!(replace("c", &second), Err(StoreError::OtherKind(Kind::Context)));
    assert_eq!(store.lookup(ROOT, &name("c", "")), Ok(foreign));
}

fn unbinding_is_for_what_is_bound(store: &dyn Store) {
    bind(store, ROOT, "a", &object("x")).expect("bound");
    assert_eq!(store.unbind(ROOT, &name("b", "")), Err(StoreError::NotBound));
    store.unbind(ROOT, &name("a", "")).expect("unbound");
    assert_eq!(store.unbind(ROOT, &name("a", "")), Err(StoreError::NotBound));
    assert_eq!(store.lookup(ROOT, &name("a", "")), Err(StoreError::NotBound));
    bind(store, ROOT, "a", &object("y")).expect("the name is free again");
}

fn contexts_are_made_bound_and_destroyed(store: &dyn Store) {
    let bound = store.create_bound(ROOT, &name("sub", ""), QUOTA).expect("made");
    assert_eq!(store.lookup(ROOT, &name("sub", "")), Ok(Target::Context(bound)));
    assert_eq!(store.create_bound(ROOT, &name("sub", ""), QUOTA), Err(StoreError::AlreadyBound));
    let loose = store.create(QUOTA).expect("made");
    assert!(loose != bound && loose != ROOT && bound != ROOT);
    bind(store, loose, "back", &Target::Context(bound)).expect("bound");
    assert_eq!(store.destroy(loose), Err(StoreError::NotEmpty));
    store.unbind(loose, &name("back", "")).expect("unbound");
    assert_eq!(store.exists(loose), Ok(true));
    store.destroy(loose).expect("destroyed");
    assert_eq!(store.exists(loose), Ok(false));
    assert_eq!(store.destroy(loose), Err(StoreError::NoContext));
    store.destroy(bound).expect("destroyed, though it is bound");
    assert_eq!(store.lookup(ROOT, &name("sub", "")), Ok(Target::Context(bound)));
    assert!(matches!(store.destroy(ROOT), Err(StoreError::Failed(_))));
    let next = store.create(QUOTA).expect("made");
    assert!(next != loose && next != bound, "numbers are not used twice");
}

fn what_is_not_there_is_named(store: &dyn Store) {
    let gone = store.create(QUOTA).expect("made");
    store.destroy(gone).expect("destroyed");
    let a = name("a", "");
    assert_eq!(store.lookup(gone, &a), Err(StoreError::NoContext));
    assert_eq!(bind(store, gone, "a", &object("x")), Err(StoreError::NoContext));
    let replaced = store.bind(gone, &a, &object("x"), Mode::Replace, QUOTA);
    assert_eq!(replaced, Err(StoreError::NoContext));
    assert_eq!(store.unbind(gone, &a), Err(StoreError::NoContext));
    assert_eq!(store.create_bound(gone, &a, QUOTA), Err(StoreError::NoContext));
    assert_eq!(store.list(gone, None, 10), Err(StoreError::NoContext));
}

fn lists_are_in_pages_and_in_order(store: &dyn Store) {
    let context = store.create(QUOTA).expect("made");
    let neighbour = store.create(QUOTA).expect("made");
    bind(store, neighbour, "other", &object("x")).expect("bound");
    assert_eq!(store.list(context, None, 5), Ok(vec![]));
    for number in 0..7 {
        bind(store, context, &format!("n{number}"), &object("x")).expect("bound");
    }
    store.create_bound(context, &name("a", "z"), QUOTA).expect("made");
    let mut seen = Vec::new();
    loop {
        let page = store.list(context, seen.last().map(|(name, _)| name), 3).expect("listed");
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        seen.extend(page);
    }
    let mut expected = vec![(name("a", "z"), Kind::Context)];
    expected.extend((0..7).map(|number| (name(&format!("n{number}"), ""), Kind::Object)));
    assert_eq!(seen, expected);
    assert_eq!(store.list(context, None, 0), Ok(vec![]));
    // A cursor at a name that is gone goes on behind it.
    let middle = name("n3", "");
    store.unbind(context, &middle).expect("unbound");
    let rest = store.list(context, Some(&middle), 100).expect("listed");
    assert_eq!(rest.first().map(|(name, _)| name.id.as_str()), Some("n4"));
}

fn names_that_look_alike_are_kept_apart(store: &dyn Store) {
    let names = [
        name("", ""),
        name("a", ""),
        name("", "a"),
        name("a/b", ""),
        name("a", "b"),
        name("a.b", ""),
        name("ä", "日本"),
        name("a\u{1}", "b"),
        name("a", "\u{1}b"),
        name("0", "/"),
        name("%00", "\\"),
    ];
    for (number, name) in names.iter().enumerate() {
        let target = object(&format!("IDL:{number}:1.0"));
        store.bind(ROOT, name, &target, Mode::New, QUOTA).expect("bound");
    }
    for (number, name) in names.iter().enumerate() {
        assert_eq!(store.lookup(ROOT, name), Ok(object(&format!("IDL:{number}:1.0"))));
    }
    let listed = store.list(ROOT, None, 100).expect("listed").into_iter();
    let listed: BTreeSet<_> = listed.map(|(name, _)| (name.id, name.kind)).collect();
    let expected: BTreeSet<_> = names.iter().map(|n| (n.id.clone(), n.kind.clone())).collect();
    assert_eq!(listed, expected);
}

fn names_are_followed_as_far_as_they_lead(store: &dyn Store) {
    let sub = store.create_bound(ROOT, &name("sub", ""), QUOTA).expect("made");
    bind(store, sub, "up", &Target::Context(ROOT)).expect("bound");
    bind(store, sub, "o", &object("IDL:o:1.0")).expect("bound");
    let foreign = Target::ForeignContext(Ior::nil());
    bind(store, sub, "f", &foreign).expect("bound");
    let gone = store.create_bound(sub, &name("gone", ""), QUOTA).expect("made");
    store.destroy(gone).expect("destroyed");
    let follow = |ids: &[&str]| {
        let names: Vec<NameComponent> = ids.iter().map(|id| name(id, "")).collect();
        store.follow(ROOT, &names)
    };
    assert_eq!(follow(&["sub"]), (0, Ok(Target::Context(sub))));
    assert_eq!(follow(&["sub", "up", "sub", "o"]), (3, Ok(object("IDL:o:1.0"))));
    assert_eq!(follow(&["sub", "o", "x"]), (1, Ok(object("IDL:o:1.0"))));
    assert_eq!(follow(&["sub", "f", "x", "y"]), (1, Ok(foreign)));
    assert_eq!(follow(&["sub", "x", "y"]), (1, Err(StoreError::NotBound)));
    assert_eq!(follow(&["sub", "gone", "x"]), (2, Err(StoreError::NoContext)));
    let from_gone = store.follow(gone, &[name("x", "")]);
    assert_eq!(from_gone, (0, Err(StoreError::NoContext)));
}

fn limits_hold(store: &dyn Store) {
    let quota = Quota { contexts: 3, bindings_per_context: 2 };
    let context = store.create(quota).expect("the second, after the root");
    store.create_bound(context, &name("c", ""), quota).expect("the third");
    assert!(matches!(store.create(quota), Err(StoreError::Full(_))));
    let refused = store.create_bound(ROOT, &name("d", ""), quota);
    assert!(matches!(refused, Err(StoreError::Full(_))));
    assert_eq!(store.lookup(ROOT, &name("d", "")), Err(StoreError::NotBound));
    let bind = |id: &str, mode| store.bind(context, &name(id, ""), &object("x"), mode, quota);
    bind("o", Mode::New).expect("the second binding");
    assert!(matches!(bind("p", Mode::New), Err(StoreError::Full(_))));
    assert!(matches!(bind("p", Mode::Replace), Err(StoreError::Full(_))));
    bind("o", Mode::Replace).expect("replacing adds nothing");
    store.unbind(context, &name("o", "")).expect("unbound");
    bind("p", Mode::New).expect("there is room again");
}

fn nothing_is_lost_between_threads(store: &dyn Store) {
    const THREADS: usize = 8;
    const NAMES: usize = 20;
    let context = store.create(QUOTA).expect("made");
    let wins: usize = std::thread::scope(|scope| {
        let work = |thread: usize| {
            move || {
                let mut wins = 0;
                for number in 0..NAMES {
                    bind(store, context, &format!("{thread}-{number}"), &object("x")).expect("own");
                    // All want this one: one gets it.
                    let shared = bind(store, context, &format!("all-{number}"), &object("x"));
                    wins += usize::from(shared.is_ok());
                    assert!(matches!(shared, Ok(()) | Err(StoreError::AlreadyBound)), "{shared:?}");
                }
                wins
            }
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).sum()
    });
    assert_eq!(wins, NAMES);
    let listed = store.list(context, None, 10_000).expect("listed");
    assert_eq!(listed.len(), NAMES * (THREADS + 1));
    assert_eq!(store.destroy(context), Err(StoreError::NotEmpty));
}

#[test]
fn the_store_in_a_file_keeps_the_rules() {
    for rule in RULES {
        let folder = ScratchFolder::new("store");
        rule(&Embedded::open(folder.path().join("names.redb")).expect("a store"));
    }
}

#[test]
fn the_store_in_memory_keeps_the_rules() {
    for rule in RULES {
        rule(&Embedded::in_memory().expect("a store"));
    }
}

#[test]
fn the_store_on_etcd_keeps_the_rules() {
    let Some(etcd) = servers::Etcd::start() else { return };
    for (number, rule) in RULES.iter().enumerate() {
        let prefix = format!("/test/{number}");
        rule(&Etcd::connect(&[etcd.url()], &prefix, TIMEOUT).expect("a store"));
    }
}

#[test]
fn a_file_is_the_same_store_when_it_is_opened_again() {
    let folder = ScratchFolder::new("store");
    let path = folder.path().join("names.redb");
    let store = Embedded::open(&path).expect("a store");
    let uid = store.uid();
    let context = store.create_bound(ROOT, &name("sub", ""), QUOTA).expect("made");
    bind(&store, context, "a", &object("IDL:a:1.0")).expect("bound");
    let refused = Embedded::open(&path).err().expect("it is in use");
    assert!(refused.to_string().contains("names.redb"), "{refused}");
    drop(store);
    let store = Embedded::open(&path).expect("the store again");
    assert_eq!(store.uid(), uid);
    assert_eq!(store.lookup(context, &name("a", "")), Ok(object("IDL:a:1.0")));
    assert!(store.create(QUOTA).expect("made") != context);
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let folder = ScratchFolder::new("store");
    let path = folder.path().join("letter.txt");
    std::fs::write(&path, "Dear reader, this is no database. ".repeat(500)).expect("written");
    let before = std::fs::read(&path).expect("read");
    let refused = Embedded::open(&path).err().expect("no store");
    assert!(refused.to_string().contains("letter.txt"), "{refused}");
    assert_eq!(std::fs::read(&path).expect("read"), before);
}

#[test]
fn two_servers_on_etcd_are_one_store() {
    let Some(mut etcd) = servers::Etcd::start() else { return };
    let open = || Etcd::connect(&[etcd.url()], "names", TIMEOUT).expect("a store");
    let (one, other) = (open(), open());
    assert_eq!(one.uid(), other.uid());
    let context = one.create_bound(ROOT, &name("sub", ""), QUOTA).expect("made");
    assert_eq!(other.lookup(ROOT, &name("sub", "")), Ok(Target::Context(context)));
    bind(&other, context, "a", &object("IDL:a:1.0")).expect("bound");
    assert_eq!(bind(&one, context, "a", &object("x")), Err(StoreError::AlreadyBound));
    assert_eq!(one.destroy(context), Err(StoreError::NotEmpty));
    let apart = Etcd::connect(&[etcd.url()], "other names", TIMEOUT).expect("a store");
    assert!(apart.uid() != one.uid());
    assert_eq!(apart.lookup(ROOT, &name("sub", "")), Err(StoreError::NotBound));

    etcd.kill();
    etcd.restart();
    assert_eq!(one.lookup(context, &name("a", "")), Ok(object("IDL:a:1.0")));
    bind(&one, context, "b", &object("IDL:b:1.0")).expect("bound after the restart");

    etcd.kill();
    let unreachable = one.lookup(context, &name("a", "")).expect_err("no server answers");
    assert!(matches!(unreachable, StoreError::Unavailable(_)), "{unreachable:?}");
    let unreachable = bind(&one, context, "c", &object("x")).expect_err("no server answers");
    assert!(
        matches!(unreachable, StoreError::Unavailable(_) | StoreError::Uncertain(_)),
        "{unreachable:?}"
    );
}

#[test]
fn a_member_that_is_gone_is_passed_over() {
    let Some(etcd) = servers::Etcd::start() else { return };
    let unreachable_url = format!("http://127.0.0.1:{}", free_port());
    let members = [unreachable_url.clone(), etcd.url()];
    let store = Arc::new(Etcd::connect(&members, "names", TIMEOUT).expect("a store"));
    bind(&*store, ROOT, "a", &object("x")).expect("bound by the other member");
    let refused =
        Etcd::connect(&[unreachable_url], "names", TIMEOUT).err().expect("no server answers");
    assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
    assert!(refused.to_string().contains("127.0.0.1"), "{refused}");
}

/// An etcd of TLS, with the files that its clients need.
struct Guarded {
    folder: Folder,
    authority: Authority,
    etcd: servers::Etcd,
}

impl Guarded {
    /// With authentication, and a user `names` who may do all below `names/`.
    fn start() -> Option<Self> {
        let (folder, authority) = (Folder::default(), Authority::new("etcd authority"));
        let own = authority.issue("etcd", &["127.0.0.1"]);
        let files = servers::EtcdFiles {
            certificate: folder.write("etcd.pem", &own.certificate),
            key: folder.write("etcd.key", &own.key),
            trust: folder.write("trust.pem", authority.pem()),
        };
        let etcd = servers::Etcd::start_with(Some(files))?;
        // While etcd has users, its gateway takes no certificate with a common name.
        let client = authority.issue("", &[]);
        folder.write("own.pem", &client.certificate);
        folder.write("own.key", &client.key);
        folder.write("password", "first word\n");
        let guarded = Self { folder, authority, etcd };
        let key = |text: &str| BASE64.encode(text);
        let range = json!({
            "permType": "READWRITE", "key": key("names/"), "range_end": key("names0"),
        });
        for (what, request) in [
            ("user/add", json!({ "name": "root", "password": "of root" })),
            ("user/grant", json!({ "user": "root", "role": "root" })),
            ("role/add", json!({ "name": "names" })),
            ("role/grant", json!({ "name": "names", "perm": range })),
            ("user/add", json!({ "name": "names", "password": "first word" })),
            ("user/grant", json!({ "user": "names", "role": "names" })),
            ("enable", json!({})),
        ] {
            guarded.administer(what, &request, None);
        }
        Some(guarded)
    }

    fn administer(&self, what: &str, request: &Value, token: Option<&str>) -> Value {
        let read = |name: &str| std::fs::read(self.folder.path().join(name)).expect("a file");
        let chain = [Certificate::from_pem(&read("own.pem")).expect("a certificate")];
        let key = PrivateKey::from_pem(&read("own.key")).expect("a key");
        let trust = [Certificate::from_pem(&read("trust.pem")).expect("a certificate")];
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
            .root_certs(RootCerts::new_with_certs(&trust))
            .client_cert(Some(ClientCert::new_with_certs(&chain, key)))
            .build();
        let agent: Agent = Agent::config_builder().tls_config(tls).build().into();
        let mut post = agent.post(format!("{}/v3/auth/{what}", self.etcd.url()));
        if let Some(token) = token {
            post = post.header("Authorization", token);
        }
        let mut answer = post.send_json(request).unwrap_or_else(|e| panic!("{what}: {e}"));
        answer.body_mut().read_json().expect("JSON")
    }

    /// Changes the password of the user `names`, as root.
    fn change_password(&self, password: &str) {
        let root = json!({ "name": "root", "password": "of root" });
        let answer = self.administer("authenticate", &root, None);
        let token = answer["token"].as_str().expect("a token");
        let change = json!({ "name": "names", "password": password });
        self.administer("user/changepw", &change, Some(token));
    }

    fn access(&self) -> EtcdAccess {
        let file = |name: &str| self.folder.path().join(name);
        EtcdAccess {
            trust: Some(file("trust.pem")),
            certificate: Some((file("own.pem"), file("own.key"))),
            user: Some(EtcdUser { name: "names".into(), password_file: file("password") }),
        }
    }

    fn connect(&self, access: &EtcdAccess) -> Result<Etcd, StoreError> {
        Etcd::connect_as(&[self.etcd.url()], "names", TIMEOUT, access)
    }
}

/// Changes are not sent twice, so each `bind` shows that the user was proven before it was sent.
#[test]
fn etcd_is_asked_over_tls_as_a_user_also_when_its_tokens_have_ended() {
    let Some(mut guarded) = Guarded::start() else { return };
    let store = guarded.connect(&guarded.access()).expect("a store");
    bind(&store, ROOT, "a", &object("IDL:a:1.0")).expect("bound");
    guarded.etcd.kill();
    guarded.etcd.restart();
    bind(&store, ROOT, "b", &object("IDL:b:1.0")).expect("bound by another token");
    guarded.change_password("second word");
    guarded.folder.write("password", "second word\n");
    bind(&store, ROOT, "c", &object("IDL:c:1.0")).expect("bound by another password");
    assert_eq!(store.lookup(ROOT, &name("a", "")), Ok(object("IDL:a:1.0")));

    guarded.change_password("third word");
    let refused = bind(&store, ROOT, "d", &object("x")).expect_err("the password is another");
    assert!(matches!(refused, StoreError::Unavailable(_)), "nothing was sent: {refused:?}");
    assert!(refused.to_string().contains("the user \"names\" is not let in"), "{refused}");
    assert!(!refused.to_string().contains("second word"), "{refused}");
}

#[test]
fn etcd_and_its_client_have_to_prove_who_they_are() {
    let Some(guarded) = Guarded::start() else { return };
    let good = guarded.access();
    let refused =
        |access: &EtcdAccess| guarded.connect(access).err().expect("it is refused").to_string();
    let other = Authority::new("another authority");
    let distrusting =
        EtcdAccess { trust: Some(guarded.folder.write("other.pem", other.pem()).into()), ..good };
    assert!(refused(&distrusting).contains("UnknownIssuer"), "{}", refused(&distrusting));
    let good = guarded.access();
    let stranger = other.issue("", &[]);
    let certificate = guarded.folder.write("stranger.pem", &stranger.certificate).into();
    let key = guarded.folder.write("stranger.key", &stranger.key).into();
    refused(&EtcdAccess { certificate: Some((certificate, key)), ..good.clone() });
    refused(&EtcdAccess { certificate: None, ..good.clone() });
    let nobody = refused(&EtcdAccess { user: None, ..good.clone() });
    assert!(nobody.contains("user name is empty"), "{nobody}");

    // The certificate is for the address, not for the name.
    let by_name = guarded.etcd.url().replace("127.0.0.1", "localhost");
    let elsewhere = Etcd::connect_as(&[by_name], "names", TIMEOUT, &good).err().expect("refused");
    assert!(elsewhere.to_string().contains("not valid for name"), "{elsewhere}");
    // What etcd lets the user do is below `names/`.
    let url = [guarded.etcd.url()];
    let other_names = Etcd::connect_as(&url, "other", TIMEOUT, &good).err().expect("refused");
    assert!(other_names.to_string().contains("permission denied"), "{other_names}");
    // Plain text does not come through, also where an etcd of TLS takes it.
    let plain = url[0].replace("https", "http");
    Etcd::connect(&[plain], "names", TIMEOUT).err().expect("no plain text");
    drop(guarded.authority);
}

#[test]
fn etcd_is_never_told_a_password_in_plain_text() {
    let folder = Folder::default();
    let trust = Some(PathBuf::from(folder.write("trust.pem", Authority::new("some").pem())));
    let password_file = PathBuf::from(folder.write("password", "word"));
    let user = Some(EtcdUser { name: "names".into(), password_file });
    let refused = |url: &str, access: &EtcdAccess| {
        let refused = Etcd::connect_as(&[url.to_owned()], "names", TIMEOUT, access).err();
        match refused.expect("it is refused") {
            StoreError::Failed(why) => why,
            other => panic!("{other:?}"),
        }
    };
    let in_plain_text = EtcdAccess { user, ..EtcdAccess::default() };
    for scheme in ["http", "https"] {
        let why = refused(&format!("{scheme}://127.0.0.1:1"), &in_plain_text);
        assert!(why.contains("not sent in plain text"), "{why}");
    }
    // It is looked at before anything is sent.
    let nothing = PathBuf::from(folder.write("nothing", "\nword"));
    let user = Some(EtcdUser { name: "names".into(), password_file: nothing });
    let unusable = EtcdAccess { trust: trust.clone(), user, ..EtcdAccess::default() };
    let url = ["https://127.0.0.1:1".to_owned()];
    let refused_later = Etcd::connect_as(&url, "names", TIMEOUT, &unusable).err();
    let why = refused_later.expect("it has no password").to_string();
    assert!(why.contains("its first line is empty"), "{why}");
    let trusting = EtcdAccess { trust, ..EtcdAccess::default() };
    let why = refused("http://127.0.0.1:1", &trusting);
    assert!(why.contains("should begin with https://"), "{why}");
    let why = refused("https://127.0.0.1:1", &EtcdAccess::default());
    assert!(why.contains("should begin with http://"), "{why}");
    let empty = EtcdAccess { trust: Some(folder.write("empty.pem", "").into()), ..trusting };
    let why = refused("https://127.0.0.1:1", &empty);
    assert!(why.contains("empty.pem"), "{why}");
    let large = folder.write("large.pem", vec![b' '; (1 << 20) + 1]).into();
    let why = refused("https://127.0.0.1:1", &EtcdAccess { trust: Some(large), ..empty });
    assert!(why.contains("more than 1 MiB"), "{why}");
}
