//! Every way to pass results, asynchronously: as the synchronous call returns them.
//!
//! A module of `messaging.rs`. Handlers tell what they are given, in the order of the IDL; those
//! elsewhere show that results are passed on whole.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use corbie::codegen::{Any, Object, WChar};
use corbie::messaging::ExceptionHolder;
use corbie::{Abstract, Orb, SystemException};
use messaging::own_calls::calls::{
    self, AmiDescribedHandlerServant, AmiWaysExceptionHolder, AmiWaysHandler,
    AmiWaysHandlerServant, AmiWaysHandlerSkeleton,
};

use crate::World;
use crate::futures::block_on;

type Done = Result<(), SystemException>;

/// Tells what it is called with.
struct Teller(Mutex<Sender<String>>);

impl Teller {
    fn tell(&self, what: String) -> Done {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.send(what).expect("the program listens");
        Ok(())
    }

    fn raised(&self, raised: &dyn std::error::Error) -> Done {
        self.tell(format!("raised {raised}"))
    }
}

/// Handler operations whose arguments are told with their names.
macro_rules! told {
    ($($name:ident($($argument:ident: $type:ty),*) or $excep:ident by $raise:ident;)+) => {$(
        fn $name(&self $(, $argument: $type)*) -> Done {
            let words = [stringify!($name).to_owned() $(, format!("{:?}", $argument))*];
            self.tell(words.join(" "))
        }

        fn $excep(&self, excep_holder: &ExceptionHolder) -> Done {
            let Err(raised) = AmiWaysExceptionHolder::from(excep_holder).$raise();
            self.raised(&raised)
        }
    )+};
}

impl AmiDescribedHandlerServant for Teller {
    told! {
        describe(result: &str) or describe_excep by raise_describe;
    }
}

impl AmiWaysHandlerServant for Teller {
    told! {
        mixed(result: i32, a: i32, b: i32, d: &str, e: &str) or mixed_excep by raise_mixed;
        reversed(data: &[u8], count: u32) or reversed_excep by raise_reversed;
        locals(r: &str, d: i32, result: i32) or locals_excep by raise_locals;
        with_context(result: &str) or with_context_excep by raise_with_context;
        sort(result: &[i32]) or sort_excep by raise_sort;
        transpose_sign(result: &calls::Matrix) or transpose_sign_excep by raise_transpose_sign;
        fill(result: &calls::Order, answer: &calls::Choice) or fill_excep by raise_fill;
        widen(result: &str) or widen_excep by raise_widen;
        repeat(result: &Any) or repeat_excep by raise_repeat;
        get_level(result: i32) or get_level_excep by raise_get_level;
        set_level() or set_level_excep by raise_set_level;
        get_title(result: &str) or get_title_excep by raise_get_title;
        set_title() or set_title_excep by raise_set_title;
        half(result: calls::Money) or half_excep by raise_half;
    }

    fn invert(&self, result: &calls::Huge) -> Done {
        let sum: u32 = result.iter().flatten().map(|octet| u32::from(*octet)).sum();
        self.tell(format!("invert {sum}"))
    }

    fn invert_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        self.tell(format!("{excep_holder:?}"))
    }

    fn me(&self, result: Option<&calls::Ways>) -> Done {
        self.tell(format!("me {}", text(result.map(calls::Ways::as_object))))
    }

    fn me_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        self.tell(format!("{excep_holder:?}"))
    }

    fn pass_on(&self, result: Option<&Abstract<calls::Described>>) -> Done {
        self.tell(format!("pass_on {}", text(result.and_then(Abstract::as_object).map(calls::Described::as_object))))
    }

    fn pass_on_excep(&self, excep_holder: &ExceptionHolder) -> Done {
        self.tell(format!("{excep_holder:?}"))
    }
}

fn text(object: Option<&Object>) -> String {
    object.map_or_else(|| "nil".to_owned(), |object| object.to_string())
}

pub fn check(world: &World) {
    world.ways.set_level(1).expect("set");
    with_pollers_and_futures(&world.ways);
    for place in [&world.client, &world.elsewhere] {
        with_handlers(world, place);
    }
}

/// Compares the forms of one call with the synchronous one.
macro_rules! same {
    ($ways:ident: $($call:ident $send:ident $poll:ident $future:ident ($($argument:expr),*);)+) => {$(
        let expected = $ways.$call($($argument),*);
        let poller = $ways.$send($($argument),*).expect("sent");
        assert_eq!(poller.$poll(None), expected);
        assert_eq!(block_on($ways.$future($($argument),*)), expected);
    )+};
}

fn with_pollers_and_futures(ways: &calls::Ways) {
    let context = [("user".to_owned(), "me".to_owned()), ("other".to_owned(), "x".to_owned())];
    let (fine, none) = (calls::Choice::Price(9), calls::Choice::Price(0));
    let (order, any, huge) = (order(), any(), huge());
    let half = "12.50".parse().expect("an amount");
    let described = Abstract::from(calls::Described::from(ways.clone()));
    same! { ways:
        mixed sendp_mixed mixed mixed_async (2, 3, "e");
        reversed sendp_reversed reversed reversed_async (&[1, 2, 3]);
        locals sendp_locals locals locals_async (1, 2, 4, 8, "r");
        with_context sendp_with_context with_context with_context_async ("n", &context);
        sort sendp_sort sort sort_async (&[3, -1, 2]);
        transpose_sign sendp_transpose_sign transpose_sign transpose_sign_async (&[[1; 3]; 2]);
        invert sendp_invert invert invert_async (&huge);
        fill sendp_fill fill fill_async (&order, &fine);
        fill sendp_fill fill fill_async (&order, &none);
        widen sendp_widen widen widen_async ("abcd", WChar(0x20ac));
        repeat sendp_repeat repeat repeat_async (&any);
        me sendp_me me me_async (Some(ways), Some(ways.as_object()));
        me sendp_me me me_async (None, None);
        pass_on sendp_pass_on pass_on pass_on_async (Some(&described));
        level sendp_get_level get_level level_async ();
        set_level sendp_set_level set_level set_level_async (-5);
        title sendp_get_title get_title title_async ();
        set_title sendp_set_title set_title set_title_async ("ab");
        half sendp_half half half_async (half);
        describe sendp_describe describe describe_async ();
    }
    // What cannot be sent is said at once, or by the future.
    let error = ways.widen("abcde", WChar(65)).expect_err("bounded to 4");
    assert_eq!(ways.sendp_widen("abcde", WChar(65)).map(|_| ()), Err(error.clone()));
    assert_eq!(block_on(ways.widen_async("abcde", WChar(65))), Err(error));
}

fn order() -> calls::Order {
    calls::Order { symbol: "IBM".to_owned(), which: calls::Side::Buy, amount: 5 }
}

fn any() -> Any {
    Any::from_value::<calls::Order>(&order()).expect("an any")
}

fn huge() -> calls::Huge {
    vec![[1; 1024]; 32].into_boxed_slice().try_into().expect("32 rows")
}

fn with_handlers(world: &World, place: &Orb) {
    let ways = &world.ways;
    let (told, hear) = channel();
    let poa = place.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let servant = AmiWaysHandlerSkeleton::new(Teller(Mutex::new(told)));
    let handler = poa.activate(servant).expect("active");
    let handler = crate::through(&world.client, handler.as_object());
    let handler = &AmiWaysHandler::unchecked_narrow(handler);
    let hear = &hear;
    ways.sendc_mixed(handler, 2, 3, "e").expect("sent");
    expect(hear, "mixed 5 7 20 \"d3\" \"e!\"");
    ways.sendc_reversed(handler, &[1, 2, 3]).expect("sent");
    expect(hear, "reversed [3, 2, 1] 3");
    ways.sendc_locals(handler, 1, 2, 4, 8, "r").expect("sent");
    expect(hear, "locals \"R\" 3 13");
    let context = [("user".to_owned(), "me".to_owned())];
    ways.sendc_with_context(handler, "n", &context).expect("sent");
    expect(hear, "with_context \"n:user=me\"");
    ways.sendc_sort(handler, &[3, -1, 2]).expect("sent");
    expect(hear, "sort [-1, 2, 3]");
    ways.sendc_transpose_sign(handler, &[[1, 2, 3], [4, 5, 6]]).expect("sent");
    expect(hear, "transpose_sign [[-1, -2, -3], [-4, -5, -6]]");
    ways.sendc_invert(handler, &huge()).expect("sent");
    expect(hear, &format!("invert {}", 254 * 32 * 1024));
    ways.sendc_widen(handler, "abcd", WChar(0x20ac)).expect("sent");
    expect(hear, "widen \"abcd€\"");
    ways.sendc_repeat(handler, &any()).expect("sent");
    expect(hear, &format!("repeat {:?}", any()));
    ways.sendc_half(handler, "12.50".parse().expect("an amount")).expect("sent");
    let half: calls::Money = "6.25".parse().expect("an amount");
    expect(hear, &format!("half {half:?}"));
    ways.sendc_describe(handler).expect("sent");
    expect(hear, "describe \"ways\"");
    references(ways, handler, hear);
    exceptions(ways, handler, hear);
}

fn references(ways: &calls::Ways, handler: &AmiWaysHandler, hear: &Receiver<String>) {
    ways.sendc_me(handler, Some(ways), Some(ways.as_object())).expect("sent");
    expect(hear, &format!("me {}", ways.as_object()));
    ways.sendc_me(handler, None, None).expect("sent");
    expect(hear, "me nil");
    let described = Abstract::from(calls::Described::from(ways.clone()));
    ways.sendc_pass_on(handler, Some(&described)).expect("sent");
    expect(hear, &format!("pass_on {}", ways.as_object()));
    ways.sendc_pass_on(handler, None).expect("sent");
    expect(hear, "pass_on nil");
}

fn exceptions(ways: &calls::Ways, handler: &AmiWaysHandler, hear: &Receiver<String>) {
    let order = order();
    ways.sendc_fill(handler, &order, &calls::Choice::Price(9)).expect("sent");
    let filled = calls::Order { which: calls::Side::Sell, ..order.clone() };
    let answer = calls::Choice::Reason("9 for IBM".to_owned());
    expect(hear, &format!("fill {filled:?} {answer:?}"));
    ways.sendc_fill(handler, &order, &calls::Choice::Price(0)).expect("sent");
    expect(hear, "raised Calls::Refused (code: 5)");
    ways.sendc_fill(handler, &order, &calls::Choice::Reason(String::new())).expect("sent");
    assert!(next(hear).starts_with("raised NO_PERMISSION"));
    ways.sendc_set_level(handler, -2).expect("sent");
    expect(hear, "raised Calls::Refused (code: -2)");
    ways.sendc_set_level(handler, 13).expect("sent");
    expect(hear, "set_level");
    ways.sendc_get_level(handler).expect("sent");
    expect(hear, "raised Calls::Refused (code: 13)");
    ways.sendc_set_title(handler, "four").expect("sent");
    expect(hear, "set_title");
    ways.sendc_get_level(handler).expect("sent");
    expect(hear, "get_level 4");
    ways.sendc_get_title(handler).expect("sent");
    expect(hear, "get_title \"title\"");
}

fn next(hear: &Receiver<String>) -> String {
    hear.recv_timeout(Duration::from_secs(30)).expect("the handler is called")
}

#[track_caller]
fn expect(hear: &Receiver<String>, expected: &str) {
    assert_eq!(next(hear), expected);
}
