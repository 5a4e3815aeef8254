//! Makes and serves every call of `idl/codegen/tests/idl/calls.idl` over IIOP.
//!
//! Compiled and run by `tests/behaviour.rs`, and a module of `asynchronous.rs`. The servant answers with something made of all that it
//! was given, so that a parameter that is lost or misplaced shows.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use behaviour::own_calls::calls;
use behaviour::own_interfaces::interfaces;
use calls::ways::{FillError, LevelError, SetLevelError};
use calls::DescribedServant as _;
use corbie::codegen::{Any, Encoder, ErrorKind, Fixed, Marshal, Object, Operation, WChar};
use corbie::{Abstract, Orb, SystemException, SystemExceptionKind};

pub struct Servant {
    level: AtomicI32,
    told: SyncSender<String>,
}

impl Servant {
    /// A servant, and what hears the oneways that it is told.
    pub fn new() -> (Servant, Receiver<String>) {
        let (told, hear) = sync_channel(1);
        (Servant { level: AtomicI32::new(0), told }, hear)
    }
}

pub type Answer<T> = Result<T, SystemException>;

impl calls::DescribedServant for Servant {
    fn describe(&self) -> Answer<String> {
        Ok("ways".to_owned())
    }
}

impl calls::WaysServant for Servant {
    fn mixed(&self, b: i32, c: i32, e: &str) -> Answer<(i32, i32, String, i32, String)> {
        Ok((b + c, 10 * b, format!("{e}!"), 7, format!("d{c}")))
    }

    fn reversed(&self, data: &[u8]) -> Answer<(Vec<u8>, u32)> {
        Ok((data.iter().rev().copied().collect(), data.len() as u32))
    }

    fn locals(
        &self,
        e: i32,
        d: i32,
        request: i32,
        servant: i32,
        reply: &str,
    ) -> Answer<(String, i32, i32)> {
        Ok((reply.to_uppercase(), d + 1, e + request + servant))
    }

    fn tell(&self, what: &str) -> Answer<()> {
        self.told.send(what.to_owned()).expect("the test listens");
        Ok(())
    }

    fn with_context(&self, name: &str, context: &[(String, String)]) -> Answer<String> {
        let entries = context.iter().map(|(name, value)| format!("{name}={value}"));
        Ok(format!("{name}:{}", entries.collect::<Vec<_>>().join(",")))
    }

    fn sort(&self, values: &[i32]) -> Answer<Vec<i32>> {
        let mut values = values.to_vec();
        values.sort_unstable();
        Ok(values)
    }

    fn transpose_sign(&self, m: &calls::Matrix) -> Answer<calls::Matrix> {
        Ok(m.map(|row| row.map(|value| -value)))
    }

    fn invert(&self, h: &calls::Huge) -> Answer<calls::Huge> {
        let mut inverted = h.clone();
        inverted.iter_mut().flatten().for_each(|octet| *octet = !*octet);
        Ok(inverted)
    }

    fn fill(
        &self,
        o: &calls::Order,
        c: &calls::Choice,
    ) -> Result<(calls::Order, calls::Choice), FillError> {
        match c {
            calls::Choice::Price(0) => Err(calls::Refused { code: o.amount }.into()),
            calls::Choice::Price(price) => {
                let order = calls::Order { which: calls::Side::Sell, ..o.clone() };
                Ok((order, calls::Choice::Reason(format!("{price} for {}", o.symbol))))
            }
            calls::Choice::Reason(_) => Err(SystemException::no_permission(
                corbie::Minor::of::<7>(),
                corbie::CompletionStatus::No,
            )
            .into()),
        }
    }

    fn widen(&self, narrow_text: &str, c: WChar) -> Answer<String> {
        Ok(format!("{narrow_text}{c}"))
    }

    fn repeat(&self, value: &Any) -> Answer<Any> {
        Ok(value.clone())
    }

    fn me(
        &self,
        other: Option<&calls::Ways>,
        any_object: Option<&Object>,
    ) -> Answer<Option<calls::Ways>> {
        let same = other.map(calls::Ways::as_object) == any_object;
        Ok(other.filter(|_| same).cloned())
    }

    fn pass_on(&self, d: Option<&Abstract<calls::Described>>) -> Answer<Option<Abstract<calls::Described>>> {
        Ok(d.cloned())
    }

    fn level(&self) -> Result<i32, LevelError> {
        match self.level.load(Ordering::SeqCst) {
            13 => Err(calls::Refused { code: 13 }.into()),
            level => Ok(level),
        }
    }

    fn set_level(&self, value: i32) -> Result<(), SetLevelError> {
        if value < 0 {
            return Err(calls::Refused { code: value }.into());
        }
        self.level.store(value, Ordering::SeqCst);
        Ok(())
    }

    fn title(&self) -> Answer<String> {
        Ok("title".to_owned())
    }

    fn set_title(&self, value: &str) -> Answer<()> {
        self.level.store(value.len() as i32, Ordering::SeqCst);
        Ok(())
    }

    fn half(&self, amount: calls::Money) -> Answer<calls::Money> {
        Ok(Fixed::from_digits(amount.digits() / 2).expect("smaller than it was"))
    }
}

fn main() {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
    let poa = orb.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let (servant, hear) = Servant::new();
    let ways = poa.activate(calls::WaysSkeleton::new(servant)).expect("active");
    all_calls(&ways, &hear);
    what_stays_in_the_process();
    orb.shutdown(true);
    println!("all well");
}

/// Every call, made by a client that cannot tell how the object is served.
pub fn all_calls(ways: &calls::Ways, hear: &Receiver<String>) {
    parameters(ways, hear);
    composed_types(ways);
    references(ways);
    attributes(ways);
    object_operations(ways.as_object());
}

fn parameters(ways: &calls::Ways, hear: &Receiver<String>) {
    let mixed = ways.mixed(2, 3, "e").expect("mixed");
    assert_eq!(mixed, (5, 20, "e!".to_owned(), 7, "d3".to_owned()));
    assert_eq!(ways.reversed(&[1, 2, 3]).expect("reversed"), (vec![3, 2, 1], 3));
    let locals = ways.locals(1, 2, 4, 8, "r").expect("locals");
    assert_eq!(locals, ("R".to_owned(), 3, 13));
    ways.tell("it").expect("told");
    let context = [("user", "me"), ("sys_os", "linux"), ("other", "x")];
    let context = context.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let answer = ways.with_context("n", &context).expect("with context");
    assert_eq!(answer, "n:user=me,sys_os=linux");
    let heard = hear.recv_timeout(Duration::from_secs(10)).expect("the oneway arrives");
    assert_eq!(heard, "it");
}

fn composed_types(ways: &calls::Ways) {
    assert_eq!(ways.sort(&[3, -1, 2]).expect("sorted"), [-1, 2, 3]);
    let negated = ways.transpose_sign(&[[1, 2, 3], [4, 5, 6]]).expect("negated");
    assert_eq!(negated, [[-1, -2, -3], [-4, -5, -6]]);
    let huge: calls::Huge = vec![[1; 1024]; 32].into_boxed_slice().try_into().expect("32 rows");
    assert!(ways.invert(&huge).expect("inverted").iter().flatten().all(|octet| *octet == 254));
    let order = calls::Order { symbol: "IBM".to_owned(), which: calls::Side::Buy, amount: 5 };
    let (filled, answer) = ways.fill(&order, &calls::Choice::Price(9)).expect("filled");
    assert_eq!((filled.which, filled.amount), (calls::Side::Sell, 5));
    assert_eq!(answer, calls::Choice::Reason("9 for IBM".to_owned()));
    let error = ways.fill(&order, &calls::Choice::Price(0)).expect_err("refused");
    assert_eq!(error, FillError::Refused(calls::Refused { code: 5 }));
    match ways.fill(&order, &calls::Choice::Reason(String::new())) {
        Err(FillError::System(exception)) => assert_eq!(exception.minor, 7),
        other => panic!("{other:?}"),
    }
    assert_eq!(ways.widen("abcd", WChar(0x20ac)).expect("widened"), "abcd€");
    let error = ways.widen("abcde", WChar(0x20ac)).expect_err("bounded to 4");
    assert!(error.to_string().contains('4'), "{error}");
    let any = Any::from_value::<calls::Order>(&order).expect("an any");
    let any = ways.repeat(&any).expect("repeated");
    assert_eq!(any.extract::<calls::Order>().expect("an order"), order);
    let amount = "12.50".parse().expect("an amount");
    assert_eq!(ways.half(amount).expect("half").to_string(), "6.25");
}

fn references(ways: &calls::Ways) {
    let me = ways.me(Some(ways), Some(ways.as_object())).expect("me");
    assert_eq!(me.expect("not nil").sort(&[2, 1]).expect("sorted"), [1, 2]);
    assert_eq!(ways.me(None, None).expect("nil"), None);
    assert_eq!(ways.me(Some(ways), None).expect("nil"), None);
    let described = calls::Described::from(ways.clone());
    let passed = ways.pass_on(Some(&described.into())).expect("passed").expect("not nil");
    assert_eq!(passed.describe().expect("described"), "ways");
    assert_eq!(ways.pass_on(None).expect("nil"), None);
}

fn attributes(ways: &calls::Ways) {
    ways.set_level(12).expect("set");
    assert_eq!(ways.level().expect("got"), 12);
    let refused = SetLevelError::Refused(calls::Refused { code: -1 });
    assert_eq!(ways.set_level(-1).expect_err("refused"), refused);
    ways.set_level(13).expect("set");
    let refused = LevelError::Refused(calls::Refused { code: 13 });
    assert_eq!(ways.level().expect_err("refused"), refused);
    assert_eq!(ways.title().expect("got"), "title");
    ways.set_title("four").expect("set");
    assert_eq!(ways.level().expect("got"), 4);
}

/// What the object adapter answers for every object. CORBA 3.3 P1 §8.3.
fn object_operations(object: &Object) {
    static REPOSITORY_ID: Operation = Operation::twoway("_repository_id");
    let mut reply = object.invoke(&REPOSITORY_ID, &|_| Ok(())).expect("answered");
    let id = reply.results_only(|d| Ok(d.read_string()?.into_owned()));
    assert_eq!(id.as_deref(), Ok(calls::Ways::REPOSITORY_ID));
    for id in [calls::Ways::REPOSITORY_ID, calls::Described::REPOSITORY_ID] {
        assert_eq!(object.is_a(id), Ok(true), "{id}");
    }
    assert_eq!(object.is_a("IDL:omg.org/CORBA/Object:1.0"), Ok(true));
    assert_eq!(object.is_a("IDL:Calls/Way:1.0"), Ok(false));
    assert_eq!(object.is_a("IDL:Calls/AMH_Ways:1.0"), Ok(false));
    assert_eq!(object.non_existent(), Ok(false));
    static DOMAIN_MANAGERS: Operation = Operation::twoway("_domain_managers");
    let mut reply = object.invoke(&DOMAIN_MANAGERS, &|_| Ok(())).expect("answered");
    assert_eq!(reply.results_only(|d| d.read_ulong()), Ok(0));
    static COMPONENT: Operation = Operation::twoway("_component");
    let mut reply = object.invoke(&COMPONENT, &|_| Ok(())).expect("answered");
    assert_eq!(reply.results_only(Object::decode), Ok(None));
    // There is no Interface Repository yet.
    static INTERFACE: Operation = Operation::twoway("_interface");
    let refused =
        object.invoke(&INTERFACE, &|_| Ok(())).and_then(|mut r| r.results_only(|_| Ok(())));
    assert_eq!(refused.map_err(|e| e.kind), Err(SystemExceptionKind::IntfRepos));
}

fn what_stays_in_the_process() {
    let visit = interfaces::Visit::default();
    let error = interfaces::Visit::encode(&visit, &mut Encoder::native()).expect_err("local");
    assert_eq!(error.kind(), ErrorKind::LocalObject);
    assert!(error.to_string().contains("Interfaces::Visitor"), "{error}");
}
