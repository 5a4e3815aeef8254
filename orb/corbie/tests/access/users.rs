//! Users by CSIv2: passwords, contexts and asserted identities, sent and accepted, over real
//! sockets; what is refused; rules that go by the user.

use super::echo::{lend_a_thread, loopback_orb};
use super::{PATIENCE, assert_refused, assert_refused_with};
use corbie::access::{AccessRules, AssertionRules, Peers, Rule, hash_password};
use corbie::codegen::Marshal as _;
use corbie::portable_interceptor::{
    ClientRequestInfo, ClientRequestInterceptor, Interceptor, Interruption, OrbInitError,
    OrbInitInfo, OrbInitializer, ServiceContext,
};
use corbie::types::csi::gssup::{self, InitialContextToken};
use corbie::types::csi::{
    EstablishContext, IdentityToken, MessageInContext, SAS_CONTEXT, SasMessage,
};
use corbie::{
    Credentials, Current, Object, Operation, Orb, ReplySink, Servant, ServerRequest,
    SystemException, TypedServant, minor,
};
use corbie_testkit::CapturedLog;
use corbie_testkit::certificates::{Authority, Folder};
use corbie_testkit::servers::ScratchFolder;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

const WHO: Operation = Operation::twoway("who");
const TELL: Operation = Operation::oneway("tell");
const RELAY: Operation = Operation::twoway("relay");
/// Of tests that are not about TLS.
const PLAIN: [&str; 5] =
    ["-ORBCsiPlainPasswords", "-ORBCollocation", "none", "-ORBCsiRealm", "bank"];

/// Says for which user it is called, and how the client said so; calls on to `next`.
struct Who {
    current: Current,
    told: mpsc::Sender<String>,
    next: Mutex<Option<Object>>,
}

impl Servant for Who {
    fn _interfaces(&self) -> &'static [&'static str] {
        &["IDL:Test/Who:1.0"]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        let user = self.current.user()?;
        assert_eq!(user.as_deref(), request.user());
        assert_eq!(user.as_deref(), self.current.peer()?.user.as_deref());
        let how =
            match self.current.request_context(SAS_CONTEXT)?.as_deref().map(SasMessage::decode) {
                None => "nothing",
                Some(Ok(SasMessage::Establish(EstablishContext {
                    client_context_id: 0, ..
                }))) => "once",
                Some(Ok(SasMessage::Establish(_))) => "context",
                Some(Ok(SasMessage::InContext(_))) => "number",
                other => panic!("{other:?}"),
            };
        let said = format!("{} by {how}", user.as_deref().unwrap_or("-"));
        let answer = match request.operation() {
            "tell" => {
                self.told.send(said).unwrap();
                return Ok(());
            }
            "call" => who(&Object::decode(&mut request.arguments())?.unwrap())?,
            "relay" => {
                let next = self.next.lock().unwrap().clone().unwrap();
                format!("{said}, {}", who(&next)?)
            }
            // Also from another thread, when the request is over here.
            "relay_later" => {
                let next = self.next.lock().unwrap().clone().unwrap();
                let response = request.defer();
                let sink = ReplySink::function(move |reply| {
                    let there = reply.and_then(text).unwrap_or_else(|refused| refused.to_string());
                    let answer = format!("{said}, {there}");
                    response.reply(&|e| e.write_string(&answer)).unwrap();
                });
                return next.invoke_async(&WHO, &|_| Ok(()), sink);
            }
            _ => said,
        };
        request.reply(&|e| e.write_string(&answer))
    }
}

impl TypedServant for Who {
    type Reference = Object;
}

fn text(mut reply: corbie::Reply) -> Result<String, SystemException> {
    reply.results_only(|d| d.read_string().map(std::borrow::Cow::into_owned))
}

fn who(object: &Object) -> Result<String, SystemException> {
    text(object.invoke(&WHO, &|_| Ok(()))?)
}

/// A server whose object says for which user it is called.
struct Server {
    orb: Orb,
    who: Object,
    servant: Arc<Who>,
    told: mpsc::Receiver<String>,
    checks: Arc<AtomicUsize>,
}

impl Server {
    /// Passwords are the names backwards.
    fn new(more: &[&str]) -> Self {
        Self::of(loopback_orb(&[&PLAIN[..], more].concat()), None)
    }

    fn of(orb: Orb, assertions: Option<AssertionRules>) -> Self {
        let checks = Arc::new(AtomicUsize::new(0));
        know_users(&orb, &checks);
        orb.set_assertions(assertions.unwrap_or_default());
        Self::without_users(orb, checks)
    }

    fn without_users(orb: Orb, checks: Arc<AtomicUsize>) -> Self {
        lend_a_thread(&orb);
        let (tell, told) = mpsc::channel();
        let servant = Arc::new(Who { current: orb.current(), told: tell, next: Mutex::new(None) });
        let poa = orb.root_poa().unwrap();
        poa.the_poa_manager().activate().unwrap();
        let id = poa.activate_object(Arc::<Who>::clone(&servant)).unwrap();
        let who = poa.create_reference_with_id(&id, "IDL:Test/Who:1.0").unwrap();
        Server { orb, who, servant, told, checks }
    }

    fn know_users(&self) {
        know_users(&self.orb, &self.checks);
    }

    fn checks(&self) -> usize {
        self.checks.load(Ordering::SeqCst)
    }

    /// Its object, as `client` sees it.
    fn at(&self, client: &Orb) -> Object {
        client.string_to_object(&self.who.to_string()).unwrap()
    }

    fn key(&self) -> Vec<u8> {
        self.who.object_key().unwrap()
    }
}

fn know_users(orb: &Orb, checks: &Arc<AtomicUsize>) {
    let checks = Arc::clone(checks);
    orb.set_users(move |user: &str, password: &[u8]| {
        checks.fetch_add(1, Ordering::SeqCst);
        user.bytes().rev().eq(password.iter().copied())
    });
}

fn of_user(name: &str) -> Credentials {
    Credentials::new(name, name.bytes().rev().collect::<Vec<_>>()).unwrap()
}

/// A client that calls as `name`.
fn client(name: &str, more: &[&str]) -> Orb {
    let orb = loopback_orb(&[&PLAIN[..], more].concat());
    orb.set_credentials(Some(of_user(name)));
    orb
}

fn shut_down(orbs: &[&Orb]) {
    orbs.iter().for_each(|orb| orb.shutdown(true));
}

#[test]
fn a_password_is_sent_once_a_connection_or_with_each_request_and_checked_once() {
    for (stateful, later) in [("true", "alice by number"), ("false", "alice by once")] {
        let server = Server::new(&[&format!("-ORBCsiStateful={stateful}")]);
        for multiplexing in ["exclusive", "muxed"] {
            let client = client("alice", &["-ORBTransportMultiplexing", multiplexing]);
            let object = server.at(&client);
            let first = if stateful == "true" { "alice by context" } else { "alice by once" };
            assert_eq!(who(&object).unwrap(), first);
            for _ in 0..3 {
                assert_eq!(who(&object).unwrap(), later);
            }
            object.invoke_oneway(&TELL, &|_| Ok(())).unwrap();
            // The answer to a oneway never comes, so it names no context.
            assert_eq!(server.told.recv_timeout(PATIENCE).unwrap(), "alice by once");
            let deferred = object.invoke_deferred(&WHO, &|_| Ok(())).unwrap();
            assert!(deferred.wait(Some(PATIENCE)));
            assert!(text(deferred.take().unwrap()).unwrap().starts_with("alice by "));
            client.shutdown(true);
        }
        assert_eq!(server.checks(), 1, "the second client brought what is known");
        server.orb.shutdown(true);
    }
}

#[test]
fn each_way_of_serving_checks_passwords_beside_what_it_serves() {
    for strategy in super::echo::STRATEGIES {
        let orb = loopback_orb(&[&PLAIN[..], &["-ORBServerConcurrency", strategy]].concat());
        let server = Server::of(orb, None);
        let (begun, begins) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel();
        let goes_on = Mutex::new(goes_on);
        server.orb.set_users(move |user: &str, _: &[u8]| {
            begun.send(()).unwrap();
            goes_on.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            user == "alice"
        });
        let alice = client("alice", &[]);
        let (tell, told) = mpsc::channel();
        let object = server.at(&alice);
        for _ in 0..2 {
            let tell = tell.clone();
            let sink = ReplySink::function(move |reply| {
                tell.send(reply.and_then(text).unwrap()).unwrap();
            });
            object.invoke_async(&WHO, &|_| Ok(()), sink).unwrap();
        }
        begins.recv_timeout(PATIENCE).unwrap();
        // The password is being checked: others are served meanwhile, by the same threads.
        let other = loopback_orb(&PLAIN);
        assert_eq!(who(&server.at(&other)).unwrap(), "- by nothing", "{strategy}");
        go_on.send(()).unwrap();
        for _ in 0..2 {
            assert_eq!(told.recv_timeout(PATIENCE).unwrap(), "alice by context", "{strategy}");
        }
        shut_down(&[&alice, &other, &server.orb]);
    }
}

#[test]
fn a_server_that_has_forgotten_a_context_gets_the_password_again() {
    let server = Server::new(&[]);
    for multiplexing in ["exclusive", "muxed"] {
        let client = client("alice", &["-ORBTransportMultiplexing", multiplexing]);
        let object = server.at(&client);
        assert_eq!(who(&object).unwrap(), "alice by context");
        assert_eq!(who(&object).unwrap(), "alice by number");
        // What was accepted before counts no more, contexts and verdicts alike.
        let checks = server.checks();
        server.know_users();
        assert_eq!(who(&object).unwrap(), "alice by context", "{multiplexing}");
        assert_eq!(who(&object).unwrap(), "alice by number");
        assert_eq!(server.checks(), checks + 1);
        server.know_users();
        let again = object.invoke_deferred(&WHO, &|_| Ok(())).unwrap();
        assert!(again.wait(Some(PATIENCE)));
        assert!(text(again.take().unwrap()).unwrap().starts_with("alice"));
        client.shutdown(true);
    }
    server.orb.shutdown(true);
}

#[test]
fn wrong_passwords_and_calls_without_a_user_are_refused_and_written_down() {
    let log = CapturedLog::install();
    let server = Server::new(&["-ORBCsiUsers", "required"]);
    let wrong = client("mallory", &[]);
    wrong.set_credentials(Some(Credentials::new("mallory", "guessed").unwrap()));
    let object = server.at(&wrong);
    for _ in 0..2 {
        assert_refused_with(who(&object), minor::NO_PERMISSION_USER);
    }
    assert_eq!(server.checks(), 1, "a wrong one is known as well");
    let parts = ["refused for its user", "127.0.0.1", "mallory", "wrong"];
    assert!(log.line_with(&parts, PATIENCE).is_some());
    // A user that has no credentials does not ask; one that does not know that it needs some, does.
    wrong.set_credentials(None);
    assert_refused_with(who(&object), minor::NO_PERMISSION_USER_NEEDED);
    let port = server.orb.listen_addresses()[0].port();
    let unaware = super::by_key(&wrong, port, &server.key());
    assert_refused_with(who(&unaware.0), minor::NO_PERMISSION_USER_NEEDED);
    assert!(log.line_with(&["refused: it names no user", "127.0.0.1"], PATIENCE).is_some());
    wrong.set_credentials(Some(of_user("mallory")));
    assert_eq!(who(&object).unwrap(), "mallory by context", "the same connection");
    shut_down(&[&wrong, &server.orb]);
}

#[test]
fn passwords_do_not_travel_in_plain_text_unless_told_to() {
    let server = Server::new(&[]);
    let careful = loopback_orb(&PLAIN[1..]);
    careful.set_credentials(Some(of_user("alice")));
    let refused = who(&server.at(&careful)).unwrap_err();
    assert_eq!(refused.minor, minor::NO_PERMISSION_PASSWORD_PLAIN, "{refused}");
    // A careful server does not offer it, and takes none that comes all the same.
    let strict = Server::of(loopback_orb(&PLAIN[1..]), None);
    let client = client("alice", &[]);
    assert_eq!(who(&strict.at(&client)).unwrap(), "- by nothing");
    let (raw, told) = raw_client();
    *told.lock().unwrap() = Some(establish(0, &token("alice", ""), IdentityToken::Absent));
    let refused = who(&strict.at(&raw)).unwrap_err();
    assert_eq!(refused.minor, minor::NO_PERMISSION_PASSWORD_PLAIN, "{refused}");
    assert_eq!(strict.checks(), 0);
    // A socket of this machine is read by none but its two ends.
    let on_socket = loopback_orb(&[&PLAIN[1..], &["-ORBListenEndpoints", "uiop://"]].concat());
    let on_socket = Server::of(on_socket, None);
    assert_eq!(who(&on_socket.at(&careful)).unwrap(), "alice by context");
    shut_down(&[&careful, &client, &raw, &server.orb, &strict.orb, &on_socket.orb]);
}

#[test]
fn a_password_goes_to_no_other_realm_and_to_no_object_that_a_peer_handed_over() {
    let server = Server::new(&[]);
    let other = Server::new(&["-ORBCsiRealm", "thieves"]);
    let alice = client("alice", &[]);
    assert_eq!(who(&other.at(&alice)).unwrap(), "- by nothing", "another realm");
    let unset = loopback_orb(&PLAIN[..3]);
    unset.set_credentials(Some(of_user("alice")));
    assert_eq!(who(&server.at(&unset)).unwrap(), "- by nothing", "no realm is set");
    // A gateway with a password calls an object that its client hands over.
    let gateway = Server::new(&[]);
    gateway.orb.set_credentials(Some(of_user("alice")));
    assert_eq!(who(&server.at(&gateway.orb)).unwrap(), "alice by context");
    let call = Operation::twoway("call");
    let thief = loopback_orb(&PLAIN);
    let (at, handed) = (gateway.at(&thief), Some(server.at(&thief)));
    let answer = at.invoke(&call, &|e| Object::encode(&handed, e));
    assert_eq!(answer.and_then(text).unwrap(), "- by nothing");
    assert_eq!(other.checks(), 0);
    shut_down(&[&alice, &unset, &thief, &gateway.orb, &other.orb, &server.orb]);
}

#[test]
fn over_tls_a_password_names_the_user_and_the_certificate_the_gateway() {
    let folder = Folder::default();
    let authority = Authority::new("the authority");
    let server_side = authority.issue("a server", &["127.0.0.1"]);
    let gateway_side = authority.issue("gateway", &["gateway.example"]);
    let arguments = |name, issued, more: &[&str]| {
        let mut arguments = folder.arguments(name, issued, &authority);
        arguments.extend(PLAIN[1..].iter().chain(more).map(ToString::to_string));
        arguments
    };
    let orb = |name, issued, more: &[&str]| {
        let arguments = arguments(name, issued, more);
        super::echo::orb(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let listen = ["-ORBListenEndpoints", "ssliop://127.0.0.1:0"];
    let gateway = Peers::anyone().certificate("gateway.example");
    let trust = AssertionRules::none().allow([gateway], ["alice"]);
    let server = Server::of(orb("server", &server_side, &listen), Some(trust));
    let client = orb("client", &gateway_side, &[]);
    client.set_credentials(Some(of_user("bob")));
    assert_eq!(who(&server.at(&client)).unwrap(), "bob by context");
    // As a certificate it may call for alice, with and without a password of its own.
    let (raw, told) = raw_client_of(arguments("raw", &gateway_side, &[]));
    let alice = gssup::exported_name("alice").unwrap();
    for authentication in [token("bob", ""), Vec::new()] {
        let identity = IdentityToken::PrincipalName(&alice);
        *told.lock().unwrap() = Some(establish(0, &authentication, identity));
        assert_eq!(who(&server.at(&raw)).unwrap(), "alice by once");
    }
    shut_down(&[&client, &raw, &server.orb]);
}

#[test]
fn rules_go_by_the_user_of_each_request() {
    let server = Server::new(&[]);
    let rules = AccessRules::none()
        .allow(Rule::of([Peers::anyone().user("alice")]))
        .allow(Rule::of([Peers::anyone().user("b*")]).operations(["tell"]))
        .refuse(Rule::of([Peers::anyone().user("alice")]).operations(["relay"]));
    server.orb.set_access(rules);
    let client = client("alice", &[]);
    let object = server.at(&client);
    assert_eq!(who(&object).unwrap(), "alice by context");
    assert_refused(object.invoke(&RELAY, &|_| Ok(())).map(drop));
    client.set_credentials(Some(of_user("bob")));
    assert_refused(who(&object));
    object.invoke_oneway(&TELL, &|_| Ok(())).unwrap();
    assert_eq!(server.told.recv_timeout(PATIENCE).unwrap(), "bob by once");
    client.set_credentials(None);
    assert_refused(who(&object));
    client.set_credentials(Some(of_user("alice")));
    assert_eq!(who(&object).unwrap(), "alice by context", "over the same connection");
    server.orb.set_access(AccessRules::none());
    assert_refused(who(&object));
    shut_down(&[&client, &server.orb]);
}

#[test]
fn calls_for_the_user_of_a_request_are_made_by_those_that_are_trusted() {
    let log = CapturedLog::install();
    let gateway = Peers::anyone().user("gateway");
    let trust = AssertionRules::none().allow([gateway], ["alice", "guest-*"]);
    let back = Server::of(loopback_orb(&PLAIN), Some(trust));
    let front = Server::new(&["-ORBCsiAssert"]);
    front.orb.set_credentials(Some(of_user("gateway")));
    *front.servant.next.lock().unwrap() = Some(back.at(&front.orb));
    let relay = |client: &Orb, operation: &'static str| {
        let operation = Operation::twoway(operation);
        front.at(client).invoke(&operation, &|_| Ok(())).and_then(text)
    };
    let alice = client("alice", &[]);
    for operation in ["relay", "relay_later"] {
        let said = relay(&alice, operation).unwrap();
        assert!(said.ends_with(", alice by once"), "{said}");
    }
    assert!(log.line_with(&["calls for a user", "alice", "gateway"], PATIENCE).is_some());
    let bob = client("bob", &[]);
    assert_refused_with(relay(&bob, "relay"), minor::NO_PERMISSION_USER);
    let parts = ["refused for its user", "no rule of assertion", "bob"];
    assert!(log.line_with(&parts, PATIENCE).is_some());
    // A caller without a name has none there either: the gateway's own rights are not lent.
    let unnamed = loopback_orb(&PLAIN);
    assert_eq!(relay(&unnamed, "relay").unwrap(), "- by nothing, - by once");
    // Its own calls are its own.
    assert_eq!(who(&back.at(&front.orb)).unwrap(), "gateway by context");
    // Without the password of the gateway, no assertion is believed.
    front.orb.set_credentials(None);
    assert_refused_with(relay(&alice, "relay"), minor::NO_PERMISSION_USER);
    shut_down(&[&alice, &bob, &unnamed, &front.orb, &back.orb]);
}

#[test]
fn users_passwords_and_trust_stand_in_the_access_file_and_credentials_in_another() {
    let folder = ScratchFolder::new("csi-users");
    let hash = hash_password(b"open sesame").unwrap();
    let file = folder.path().join("access.toml");
    let rules = |operations: &str| {
        format!(
            "[peers.ali]\nusers = [\"ali baba\"]\n[[allow]]\npeers = \"ali\"\n\
             operations = {operations}\n[users]\n\"ali baba\" = \"{hash}\"\n\
             [[assert]]\npeers = \"ali\"\nusers = \"guest\"\n"
        )
    };
    std::fs::write(&file, rules("\"who\"")).unwrap();
    let file = file.to_str().unwrap();
    let orb = loopback_orb(&[&PLAIN[..], &["-ORBAccessFile", file]].concat());
    let server = Server::without_users(orb, Arc::default());
    let password = folder.path().join("password");
    std::fs::write(&password, "open sesame\nwhat follows is for people\n").unwrap();
    let password = password.to_str().unwrap();
    let named = ["-ORBCsiUser", "ali baba", "-ORBCsiPasswordFile", password];
    let client = loopback_orb(&[&PLAIN[..], &named].concat());
    assert_eq!(who(&server.at(&client)).unwrap(), "ali baba by context");
    let (raw, told) = raw_client();
    let of_ali = |password| {
        let username = b"ali baba";
        InitialContextToken { username, password, target_name: b"" }.encode().unwrap()
    };
    let guest = gssup::exported_name("guest").unwrap();
    let tell = |password, identity| {
        *told.lock().unwrap() = Some(establish(0, &of_ali(password), identity));
        who(&server.at(&raw))
    };
    assert_eq!(tell(b"open sesame", IdentityToken::Absent).unwrap(), "ali baba by once");
    // Trusted, and then no rule lets guests call.
    assert_refused(tell(b"open sesame", IdentityToken::PrincipalName(&guest)));
    let wrong = tell(b"open barley", IdentityToken::Absent);
    assert_refused_with(wrong, minor::NO_PERMISSION_USER);
    std::fs::write(file, rules("\"relay\"")).unwrap();
    server.orb.reload_access().unwrap();
    assert_refused(who(&server.at(&client)));
    // A user that was taken out of the file is none any more.
    std::fs::write(file, "[[allow]]\npeers = \"anyone\"\n").unwrap();
    server.orb.reload_access().unwrap();
    assert_refused_with(who(&server.at(&client)), minor::NO_PERMISSION_USER);
    shut_down(&[&client, &raw, &server.orb]);
}

#[test]
fn one_peer_has_so_many_passwords_checked_in_a_second_and_no_more() {
    let server = Server::new(&["-ORBCsiChecksPerPeer", "1"]);
    let alice = client("alice", &[]);
    let object = server.at(&alice);
    assert_eq!(who(&object).unwrap(), "alice by context");
    // More than a second of them, however slow this machine is: one of two that come together is
    // too many, unless a second lies between them.
    let guesser = client("mallory", &[]);
    let is_too_fast = (0..1000).any(|number| {
        let guess = format!("guess {number}");
        guesser.set_credentials(Some(Credentials::new("mallory", guess).unwrap()));
        let refused = who(&server.at(&guesser)).unwrap_err();
        assert_eq!(refused.completed, corbie::CompletionStatus::No);
        refused.minor == minor::TRANSIENT_OVERLOAD
    });
    assert!(is_too_fast);
    assert_eq!(who(&object).unwrap(), "alice by number", "what is known is served");
    shut_down(&[&alice, &guesser, &server.orb]);
}

/// Adds a context to each request.
struct Adds(Arc<Mutex<Option<Vec<u8>>>>);

impl Interceptor for Adds {
    fn name(&self) -> &str {
        "adds"
    }
}

impl ClientRequestInterceptor for Adds {
    fn send_request(&self, info: &ClientRequestInfo<'_>) -> Result<(), Interruption> {
        if let Some(data) = &*self.0.lock().unwrap() {
            info.add_request_service_context(ServiceContext::new(SAS_CONTEXT, data.clone()), true)?;
        }
        Ok(())
    }
}

impl OrbInitializer for Adds {
    fn pre_init(&self, info: &mut OrbInitInfo<'_>) -> Result<(), OrbInitError> {
        info.add_client_request_interceptor(Arc::new(Adds(Arc::clone(&self.0))))
    }
}

type Told = Arc<Mutex<Option<Vec<u8>>>>;

/// A client that sends what a test makes up.
fn raw_client() -> (Orb, Told) {
    raw_client_of(PLAIN.map(str::to_owned).to_vec())
}

fn raw_client_of(mut arguments: Vec<String>) -> (Orb, Told) {
    let told = Told::default();
    let adds: Arc<dyn OrbInitializer> = Arc::new(Adds(Arc::clone(&told)));
    let orb = Orb::builder().arguments(&mut arguments).initializer(adds).build().unwrap();
    (orb, told)
}

fn token(user: &str, realm: &str) -> Vec<u8> {
    let name = user.split('@').next().unwrap();
    let password: Vec<u8> = name.bytes().rev().collect();
    let target_name = match realm {
        "" => Vec::new(),
        realm => gssup::exported_name(realm).unwrap(),
    };
    let token = InitialContextToken {
        username: user.as_bytes(),
        password: &password,
        target_name: &target_name,
    };
    token.encode().unwrap()
}

fn establish(id: u64, authentication: &[u8], identity: IdentityToken<'_>) -> Vec<u8> {
    let message = EstablishContext {
        client_context_id: id,
        authorization: Vec::new(),
        identity,
        authentication,
    };
    SasMessage::Establish(message).encode().unwrap()
}

#[test]
fn what_hostile_clients_make_up_is_refused() {
    let server = Server::new(&["-ORBCsiContextsMax", "2"]);
    let (raw, told) = raw_client();
    let object = server.at(&raw);
    let tell = |data: Vec<u8>| {
        *told.lock().unwrap() = Some(data);
        who(&object)
    };
    let in_context = |client_context_id, discard_context| {
        let message = MessageInContext { client_context_id, discard_context };
        SasMessage::InContext(message).encode().unwrap()
    };
    let absent = IdentityToken::Absent;
    assert_eq!(tell(establish(7, &token("alice", "bank"), absent)).unwrap(), "alice by context");
    assert_eq!(tell(in_context(7, false)).unwrap(), "alice by number");
    let refused = |data| assert_refused_with(tell(data), minor::NO_PERMISSION_USER);
    refused(establish(7, &token("bob", "bank"), absent));
    refused(in_context(8, false));
    refused(establish(0, &token("alice", "elsewhere"), absent));
    let name = gssup::exported_name("alice").unwrap();
    refused(establish(0, &token("bob", ""), IdentityToken::PrincipalName(&name)));
    refused(establish(0, &[], IdentityToken::Anonymous));
    refused(establish(0, &[], IdentityToken::DistinguishedName(b"\x30\x00")));
    refused(establish(0, b"\x60\x03\x06\x01\x2a", absent));
    refused(establish(0, b"no token", absent));
    for cut in [0, 1, 5, 12] {
        let mut data = establish(0, &token("alice", ""), absent);
        data.truncate(cut);
        let exception = tell(data).unwrap_err();
        assert_eq!(exception.kind, corbie::SystemExceptionKind::Marshal, "{exception}");
    }
    assert_eq!(tell(establish(0, &token("alice@bank", ""), absent)).unwrap(), "alice by once");
    assert_eq!(tell(in_context(7, true)).unwrap(), "alice by number", "it is still known");
    refused(in_context(7, false));
    // Of two contexts, the one that was used least recently makes room for a third.
    for id in [1, 2] {
        tell(establish(id, &token("alice", ""), absent)).unwrap();
    }
    tell(in_context(1, false)).unwrap();
    tell(establish(3, &token("alice", ""), absent)).unwrap();
    tell(in_context(1, false)).unwrap();
    refused(in_context(2, false));
    shut_down(&[&raw, &server.orb]);
}

#[test]
fn an_asserted_name_is_no_proof_where_one_is_required() {
    let trust = AssertionRules::none().allow([Peers::loopback()], ["alice"]);
    let orb = loopback_orb(&[&PLAIN[..], &["-ORBCsiUsers", "required"]].concat());
    let server = Server::of(orb, Some(trust));
    let (raw, told) = raw_client();
    // A reference that says nothing of users, so that the client itself sends nothing of them.
    let port = server.orb.listen_addresses()[0].port();
    let object = super::by_key(&raw, port, &server.key()).0;
    let name = gssup::exported_name("alice").unwrap();
    let identity = IdentityToken::PrincipalName(&name);
    *told.lock().unwrap() = Some(establish(0, &[], identity));
    assert_refused_with(who(&object), minor::NO_PERMISSION_USER_NEEDED);
    *told.lock().unwrap() = Some(establish(0, &token("bob", ""), identity));
    assert_eq!(who(&object).unwrap(), "alice by once");
    shut_down(&[&raw, &server.orb]);
}

#[test]
fn a_server_without_users_passes_over_what_clients_say_of_them() {
    let orb = loopback_orb(&[&PLAIN[..], &["-ORBCsiUsers", "none"]].concat());
    let server = Server::of(orb, None);
    let (raw, told) = raw_client();
    *told.lock().unwrap() = Some(establish(0, &token("alice", ""), IdentityToken::Absent));
    assert_eq!(who(&server.at(&raw)).unwrap(), "- by once");
    let client = client("alice", &[]);
    assert_eq!(who(&server.at(&client)).unwrap(), "- by nothing", "its references say so");
    shut_down(&[&raw, &server.orb]);
}
