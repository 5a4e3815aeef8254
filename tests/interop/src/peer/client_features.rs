//! The features of the catalogue, from the client's side: what is called, and what has to come
//! back. Called by `client`.

use super::client::{Call, Failure, Feature};
use super::rows;
use super::servants::{
    CallbackOne, check_holder, check_named, check_named_seq, check_object, status,
};
use crate::idl::interop::*;
use crate::values::{self, *};
use corbie::idl::Wstring;
use corbie::{CompletionStatus, LongDouble, Marshal, SystemException, SystemExceptionKind, WChar};
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(super) type Outcome = Result<(), Failure>;

pub(super) fn there<T>(reference: Option<T>) -> Result<T, Failure> {
    reference.ok_or_else(|| "the server gave a nil reference".into())
}

fn compare<M: Marshal>(
    name: &str,
    got: (M::Value, M::Value, M::Value),
    value: fn(i64) -> M::Value,
) -> Outcome
where
    M::Value: Debug,
{
    check::<M>(&format!("{name} return"), &got.0, &value(5))?;
    check::<M>(&format!("{name} inout"), &got.1, &value(3))?;
    check::<M>(&format!("{name} out"), &got.2, &value(4))?;
    Ok(())
}

macro_rules! call {
    ($into:ident $get:ident;
     $($kind:ident $op:ident $name:ident $marker:ty, $argument:ty;)*) => {
        $($into.push((stringify!($name), Box::new(|call: &Call| {
            let it = $get(&call.root)?;
            let got = call_one!($kind it $op $name)?;
            compare::<$marker>(stringify!($name), got, values::$name)
        })));)*
    };
}
macro_rules! call_one {
    (value $it:ident $op:ident $name:ident) => {
        $it.$op(values::$name(1), values::$name(2))
    };
    (reference $it:ident $op:ident $name:ident) => {
        $it.$op(&values::$name(1), &values::$name(2))
    };
}

macro_rules! parts {
    ($($part:ident: $type:ident;)*) => {$(
        fn $part(root: &Root) -> Result<$type, Failure> {
            there(root.$part()?)
        }
    )*};
}
parts! {
    get_primitives: Primitives;
    get_texts: Texts;
    get_structs: Structs;
    get_unions: Unions;
    get_sequences: Sequences;
    get_arrays: Arrays;
    get_fixeds: Fixeds;
    get_anys: Anys;
    get_exceptions: Exceptions;
    get_attributes: Attributes;
    get_bottom: Bottom;
    get_top: Top;
    get_only_top: Top;
    get_references: References;
    get_oneways: Oneways;
    get_bulk: Bulk;
    get_keywords: Keywords;
}
fn get_extensions(root: &Root) -> Result<Extensions, Failure> {
    let object = root.get_extensions()?.ok_or("the server has no extensions")?;
    there(Extensions::narrow(&object)?)
}

/// All of them, in order.
pub(super) fn features() -> Vec<Feature> {
    let mut all: Vec<Feature> = Vec::new();
    rows::primitives! { call!(all get_primitives;) }
    rows::texts! { call!(all get_texts;) }
    rows::structs! { call!(all get_structs;) }
    rows::unions! { call!(all get_unions;) }
    rows::sequences! { call!(all get_sequences;) }
    rows::arrays! { call!(all get_arrays;) }
    rows::fixeds! { call!(all get_fixeds;) }
    rows::extensions! { call!(all get_extensions;) }
    anys(&mut all);
    exceptions(&mut all);
    objects(&mut all);
    references(&mut all);
    bulk(&mut all);
    let mut add = |name, feature: fn(&Call) -> Outcome| all.push((name, Box::new(feature)));
    add("oneway", oneway);
    add("forward_by_locator", |call| forward(call, ForwardMode::ByLocator));
    add("forward_by_activator", |call| forward(call, ForwardMode::ByActivator));
    add("keywords", keywords);
    add("keyword_attributes", keyword_attributes);
    add("constants", |call| {
        Ok(check::<Constants>("constants", &call.root.get_constants()?, &constants())?)
    });
    all.extend(super::asynchrony::client::features());
    all.extend(super::adapters::features());
    all
}

// ------------------------------------------------------------------ any and TypeCode

fn any_kinds(call: &Call, kinds: &[i32]) -> Outcome {
    let it = get_anys(&call.root)?;
    for &kind in kinds {
        let make = |n| call.side.any(kind, n, "client");
        let (r, b, c) = it.pass_any(kind, &make(1)?, &make(2)?)?;
        for (what, got, n) in [("inout", b, 3), ("out", c, 4), ("return", r, 5)] {
            let what = format!("any of kind {kind} {what}");
            check_any(&what, &got, kind, n, "server", &call.side.orb)?;
        }
    }
    Ok(())
}

fn anys(all: &mut Vec<Feature>) {
    let groups: [(&'static str, &'static [i32]); 14] = [
        ("any_primitive", &[0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        ("any_wide", &[3, 15]),
        ("any_string", &[13, 14]),
        ("any_fixed", &[16]),
        ("any_struct", &[17, 18, 19, 20, 37]),
        ("any_recursive", &[21, 22]),
        ("any_union", &[23, 24, 39]),
        ("any_sequence", &[25, 26, 27, 36, 38]),
        ("any_array", &[28, 29, 40]),
        ("any_alias", &[30, 31]),
        ("any_exception", &[32]),
        ("any_nested", &[33]),
        ("any_typecode", &[34]),
        ("any_reference", &[35]),
    ];
    for (name, kinds) in groups {
        all.push((name, Box::new(move |call| any_kinds(call, kinds))));
    }
    all.push((
        "any_seq",
        Box::new(|call| {
            let (r, b, c) = get_anys(&call.root)?.pass_any_seq(&any_seq(1)?, &any_seq(2)?)?;
            check_any_seq("any_seq inout", &b, 3, &call.side.orb)?;
            check_any_seq("any_seq out", &c, 4, &call.side.orb)?;
            check_any_seq("any_seq return", &r, 5, &call.side.orb)?;
            Ok(())
        }),
    ));
    all.push((
        "typecode",
        Box::new(|call| {
            let it = get_anys(&call.root)?;
            for kind in 0..ANY_KINDS {
                let (r, b, c) = it.pass_typecode(kind, &type_code(kind), &type_code(kind + 1))?;
                check_type_code("TypeCode inout", &b, kind + 2)?;
                check_type_code("TypeCode out", &c, kind + 3)?;
                check_type_code("TypeCode return", &r, kind + 4)?;
            }
            Ok(())
        }),
    ));
}

// ------------------------------------------------------------------ exceptions

fn other<T: Debug, E: Debug>(got: &Result<T, E>) -> Failure {
    Failure::Different(Different(format!("not the exception expected, but {got:?}")))
}

fn exceptions(all: &mut Vec<Feature>) {
    use crate::idl::interop::exceptions::*;
    let mut add = |name, feature: fn(&Call) -> Outcome| all.push((name, Box::new(feature)));
    add("exception_empty", |call| match get_exceptions(&call.root)?.raise_empty() {
        Err(RaiseEmptyError::Empty(Empty {})) => Ok(()),
        got => Err(other(&got)),
    });
    add("exception_members", |call| match get_exceptions(&call.root)?.raise_details() {
        Err(RaiseDetailsError::Details(got)) => Ok(check::<Details>("Details", &got, &details(2))?),
        got => Err(other(&got)),
    });
    add("exception_sequences", |call| {
        match get_exceptions(&call.root)?.raise_lists(long(1), long(2)) {
            Err(RaiseListsError::Lists(got)) => Ok(check::<Lists>("Lists", &got, &lists(4))?),
            got => Err(other(&got)),
        }
    });
    add("exception_one_of", |call| {
        let it = get_exceptions(&call.root)?;
        let got = [0, 1, 2, 3].map(|which| it.raise_one_of(which));
        let wanted = [
            Ok("none".to_owned()),
            Err(RaiseOneOfError::Empty(Empty {})),
            Err(RaiseOneOfError::Details(details(3))),
            Err(RaiseOneOfError::Nearby(Nearby { number: long(3) })),
        ];
        Ok(check_equal("raise_one_of", &got, &wanted)?)
    });
    add("exception_nested_scope", |call| match get_exceptions(&call.root)?.raise_nearby() {
        Err(RaiseNearbyError::Nearby(got)) => Ok(check_equal("number", &got.number, &long(4))?),
        got => Err(other(&got)),
    });
    add("exception_system", |call| system_exceptions(call, false));
    add("exception_activity", |call| system_exceptions(call, true));
    add("exception_foreign", |call| {
        let got = get_exceptions(&call.root)?.raise_foreign();
        raised(&got, SystemExceptionKind::Unknown, None)
    });
    add("unknown_operation", |call| {
        // A Top that is called as a Bottom.
        let wrong = Bottom::unchecked_narrow(get_only_top(&call.root)?.into_object());
        match wrong.from_bottom(1) {
            Err(bottom::FromBottomError::System(exception)) => {
                let no = Some(CompletionStatus::No);
                raised::<()>(&Err(exception), SystemExceptionKind::BadOperation, no)
            }
            got => Err(other(&got)),
        }
    });
}

pub(super) fn raised<T: Debug>(
    got: &Result<T, SystemException>,
    kind: SystemExceptionKind,
    completed: Option<CompletionStatus>,
) -> Outcome {
    match got {
        Err(exception) if exception.kind == kind => match completed {
            Some(completed) if completed != exception.completed => Err(other(got)),
            _ => Ok(()),
        },
        _ => Err(other(got)),
    }
}

/// Came with activities (CORBA 3.0); neither omniORB 4.2 nor JacORB 3.9 has them.
const ACTIVITY: [SystemExceptionKind; 3] = [
    SystemExceptionKind::InvalidActivity,
    SystemExceptionKind::ActivityCompleted,
    SystemExceptionKind::ActivityRequired,
];

fn system_exceptions(call: &Call, activity: bool) -> Outcome {
    let it = get_exceptions(&call.root)?;
    let mut minor = 0x4f4d_0001;
    for &kind in SystemExceptionKind::ALL {
        let newer = kind.name() == "THREAD_CANCELLED";
        if newer || ACTIVITY.contains(&kind) != activity {
            continue;
        }
        for completed in
            [Completion::CompletedYes, Completion::CompletedNo, Completion::CompletedMaybe]
        {
            minor += 77;
            let Err(got) = it.raise_system(kind.name(), minor, completed) else {
                return Err(Failure::Different(Different(format!("{kind:?}: not raised"))));
            };
            let wanted = (kind, minor, status(completed));
            check_equal(kind.name(), &(got.kind, got.minor.code(), got.completed), &wanted)?;
        }
    }
    Ok(())
}

// ------------------------------------------------------------------ attributes and inheritance

fn objects(all: &mut Vec<Feature>) {
    let mut add = |name, feature: fn(&Call) -> Outcome| all.push((name, Box::new(feature)));
    add("attribute_readonly", |call| {
        let it = get_attributes(&call.root)?;
        check_equal("version", &it.version()?, "1.0")?;
        Ok(check_equal("myself.version", &there(it.myself()?)?.version()?, "1.0")?)
    });
    add("attributes", |call| {
        let it = get_attributes(&call.root)?;
        for n in [2, 1] {
            it.set_number(long(n))?;
            it.set_text(&string(n))?;
            it.set_someone(&person(n))?;
            it.set_numbers(&long_seq(n))?;
            it.set_tint(colour(n))?;
            it.set_chart(&matrix(n))?;
            it.set_second_chart(&matrix(n + 1))?;
            check_equal("number", &it.number()?, &long(n))?;
            check_equal("text", &it.text()?, &string(n))?;
            check_equal("someone", &it.someone()?, &person(n))?;
            check_equal("numbers", &it.numbers()?, &long_seq(n))?;
            check_equal("tint", &it.tint()?, &colour(n))?;
            check_equal("chart", &it.chart()?, &matrix(n))?;
            check_equal("second_chart", &it.second_chart()?, &matrix(n + 1))?;
        }
        Ok(())
    });
    add("attribute_refused", |call| match get_attributes(&call.root)?.set_number(13) {
        Err(got) if got.kind == SystemExceptionKind::NoPermission && got.minor == 13 => Ok(()),
        got => Err(other(&got)),
    });
    add("inheritance", inheritance);
    add("narrow", |call| {
        let top = get_top(&call.root)?;
        let only = get_only_top(&call.root)?;
        check_equal("from_top", &top.from_top(6)?, "top 6")?;
        let bottom = Bottom::narrow(top.as_object())?;
        let bottom = bottom.ok_or("the Top that is a Bottom does not narrow to it")?;
        check_equal("from_right", &bottom.from_right(7)?, "right 7")?;
        expect(Right::narrow(only.as_object())?.is_none(), "a mere Top narrows to Right")?;
        Ok(check_equal("from_top", &only.from_top(8)?, "only top 8")?)
    });
    add("implicit_operations", |call| {
        let top = get_top(&call.root)?.into_object();
        expect(top.is_a("IDL:corbie.test/Interop/Bottom:1.0")?, "_is_a its own type")?;
        expect(top.is_a("IDL:corbie.test/Interop/Left:1.0")?, "_is_a a base")?;
        expect(top.is_a("IDL:omg.org/CORBA/Object:1.0")?, "_is_a Object")?;
        expect(!top.is_a("IDL:corbie.test/Interop/Named:1.0")?, "_is_a something else")?;
        expect(!top.non_existent()?, "_non_existent of a living object")?;
        let gone = there(get_references(&call.root)?.gone()?)?;
        expect(gone.as_object().non_existent()?, "_non_existent of a deactivated object")?;
        Ok(())
    });
    add("object_not_exist", |call| {
        let gone = there(get_references(&call.root)?.gone()?)?;
        let no = Some(CompletionStatus::No);
        raised(&gone.name(), SystemExceptionKind::ObjectNotExist, no)
    });
    add("locate", |call| {
        get_top(&call.root)?.as_object().locate()?;
        let gone = there(get_references(&call.root)?.gone()?)?;
        raised(&gone.as_object().locate(), SystemExceptionKind::ObjectNotExist, None)?;
        let moved = there(call.root.get_forwarded(ForwardMode::ByLocator)?)?;
        Ok(moved.as_object().locate()?)
    });
}

fn inheritance(call: &Call) -> Outcome {
    let it = get_bottom(&call.root)?;
    check_equal("from_top", &it.from_top(1)?, "top 1")?;
    check_equal("from_left", &it.from_left(2)?, "left 2")?;
    check_equal("from_right", &it.from_right(3)?, "right 3")?;
    check_equal("from_bottom", &it.from_bottom(4).ok(), &Some("bottom 4".to_owned()))?;
    let left: Left = it.clone().into();
    check_equal("from_top by Left", &left.from_top(5)?, "top 5")?;
    left.set_height(long(4))?;
    check_equal("height", &it.height()?, &long(4))?;
    match it.from_bottom(-1) {
        Err(bottom::FromBottomError::Details(got)) => {
            Ok(check::<Details>("Details", &got, &details(1))?)
        }
        got => Err(other(&got)),
    }
}

// ------------------------------------------------------------------ references

fn references(all: &mut Vec<Feature>) {
    let mut add = |name, feature: fn(&Call) -> Outcome| all.push((name, Box::new(feature)));
    add("object", |call| {
        let (one, two) = (call.side.named("client-1")?, call.side.named("client-2")?);
        let it = get_references(&call.root)?;
        let (r, b, c) = it.pass_object(Some(one.as_object()), Some(two.as_object()))?;
        check_object("object inout", b.as_ref(), 3, "server")?;
        check_object("object out", c.as_ref(), 4, "server")?;
        Ok(check_object("object return", r.as_ref(), 5, "server")?)
    });
    add("named", |call| {
        let (one, two) = (call.side.named("client-1")?, call.side.named("client-2")?);
        let (r, b, c) = get_references(&call.root)?.pass_named(Some(&one), Some(&two))?;
        check_named("named inout", b.as_ref(), 3, "server")?;
        check_named("named out", c.as_ref(), 4, "server")?;
        Ok(check_named("named return", r.as_ref(), 5, "server")?)
    });
    add("nil", |call| {
        let (r, b, c) = get_references(&call.root)?.pass_nil(None, None)?;
        Ok(expect(r.is_none() && b.is_none() && c.is_none(), "got a reference")?)
    });
    add("named_seq", |call| {
        let make = |n| call.side.named_seq(n, "client");
        let (r, b, c) = get_references(&call.root)?.pass_named_seq(&make(1)?, &make(2)?)?;
        check_named_seq("named_seq inout", &b, 3, "server")?;
        check_named_seq("named_seq out", &c, 4, "server")?;
        Ok(check_named_seq("named_seq return", &r, 5, "server")?)
    });
    add("holder", |call| {
        let make = |n| call.side.holder(n, "client");
        let (r, b, c) = get_references(&call.root)?.pass_holder(&make(1)?, &make(2)?)?;
        check_holder("holder inout", &b, 3, "server")?;
        check_holder("holder out", &c, 4, "server")?;
        Ok(check_holder("holder return", &r, 5, "server")?)
    });
    add("callback", |call| {
        let servant = Arc::new(CallbackOne { myself: OnceLock::new() });
        let mine = call.side.poa.activate(CallbackSkeleton::new(servant.clone()));
        let mine = mine.map_err(|error| Different(error.to_string()))?;
        // Set once, here.
        let _ = servant.myself.set(mine.clone());
        let it = get_references(&call.root)?;
        let back = there(it.bounce(Some(&mine))?)?;
        expect(back == mine, "the reference that came back is another one")?;
        check_equal("depth 0", &it.call_back(Some(&mine), 0)?, &2)?;
        Ok(check_equal("depth 5", &it.call_back(Some(&mine), 5)?, &12)?)
    });
}

// ------------------------------------------------------------------ bulk

fn bulk(all: &mut Vec<Feature>) {
    let mut add = |name, feature: fn(&Bulk, usize) -> Outcome| {
        all.push((name, Box::new(move |call: &Call| feature(&get_bulk(&call.root)?, call.bulk))));
    };
    add("bulk_octets", |it, n| {
        Ok(check_equal("octets", &it.pass_octets(&bulk_octets(n, 1))?, &bulk_octets(n, 2))?)
    });
    add("bulk_longs", |it, n| {
        let n = n / 4;
        Ok(check_equal("longs", &it.pass_longs(&bulk_longs(n, 1))?, &bulk_longs(n, 2))?)
    });
    add("bulk_texts", |it, n| {
        let n = n / 32;
        Ok(check_equal("texts", &it.pass_texts(&bulk_texts(n, 1))?, &bulk_texts(n, 2))?)
    });
    add("bulk_structs", |it, n| {
        let n = n / 256;
        Ok(check_equal("people", &it.pass_people(&bulk_people(n, 1))?, &bulk_people(n, 2))?)
    });
    add("bulk_doubles", |it, n| {
        let n = n / 8;
        Ok(check_equal(
            "doubles",
            &it.pass_doubles(255, &bulk_doubles(n, 1))?,
            &bulk_doubles(n, 2),
        )?)
    });
    add("bulk_string", |it, n| {
        Ok(check_equal("string", &it.pass_string(&bulk_string(n, 1))?, &bulk_string(n, 2))?)
    });
    // Sizes round the places where messages are cut into fragments.
    add("bulk_sizes", |it, _| {
        let bases = [1024, 2048, 4096, 8192, 16384, 32768, 65536];
        let around = bases.into_iter().flat_map(|base| (base - 72..=base + 8).step_by(5));
        for size in (0..40).chain(around) {
            let got = it.pass_octets(&bulk_octets(size, 1))?;
            check_equal(&format!("{size} octets"), &got, &bulk_octets(size, 2))?;
        }
        Ok(())
    });
}

// ------------------------------------------------------------------ oneway, forwarding, the rest

/// Asks again, every 10 ms and at most `times`, until it is so.
pub(super) fn wait_until(times: u32, mut is_so: impl FnMut() -> Result<bool, Failure>) -> Outcome {
    for _ in 0..times {
        if is_so()? {
            return Ok(());
        }
        // tidy: sleep: a oneway has no reply to wait for
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("waited in vain".into())
}

fn oneway(call: &Call) -> Outcome {
    let it = get_oneways(&call.root)?;
    let count = 1000;
    // A oneway may be overtaken, so each step is waited for: something to reset, then the reset.
    it.fire("fire 1", 1)?;
    wait_until(500, || Ok(it.fired()?.0 > 0))?;
    it.reset()?;
    wait_until(500, || Ok(it.fired()?.0 == 0))?;
    for i in 1..=count {
        it.fire(&format!("fire {i}"), i)?;
    }
    wait_until(500, || Ok(it.fired()?.0 >= count))?;
    let sum = i64::from(count) * i64::from(count + 1) / 2;
    Ok(check_equal("fired", &it.fired()?, &(count, sum))?)
}

fn forward(call: &Call, how: ForwardMode) -> Outcome {
    // Small then large over one reference; large first over another; asked for its type over more.
    let large = call.bulk.min(100_000);
    for first in [8, large] {
        let it = there(call.root.get_forwarded(how)?)?;
        for size in [first, large, 0] {
            let got = it.answered_by(&bulk_octets(size, 9))?;
            check_equal("answered_by", &got, &("target".to_owned(), size as u32))?;
        }
    }
    let it = there(call.root.get_forwarded(how)?)?.into_object();
    expect(!it.non_existent()?, "_non_existent of a forwarded object")?;
    let it = there(call.root.get_forwarded(how)?)?.into_object();
    Ok(expect(it.is_a("IDL:corbie.test/Interop/Forwarded:1.0")?, "_is_a of a forwarded object")?)
}

fn keywords(call: &Call) -> Outcome {
    use crate::idl::interop::keywords::{Verbs, Words};
    let it = get_keywords(&call.root)?;
    check_equal("fn", &it.r#fn(5, 7)?, &(1, 5, 7))?;
    check_equal("impl", &it.r#impl(100)?, &102)?;
    check_equal("class", &it.class(100)?, &103)?;
    check_equal("virtual", &it.r#virtual(100)?, &104)?;
    check_equal("package", &it.package(100)?, &105)?;
    check_equal("self", &it.self_(100)?, &106)?;
    check_equal("async", &it.r#async(100)?, &107)?;
    check_equal("interface", &it.interface(100)?, &108)?;
    check_equal("union", &it.union(100)?, &109)?;
    check_equal("CamelCase", &it.camel_case(100)?, &110)?;
    check_equal("HTTPServer", &it.http_server(100)?, &111)?;
    let words = |[a, b, c, d, e, f]: [i32; 6]| Words {
        r#type: a,
        r#move: b,
        r#struct: c,
        class: d,
        self_: e,
        r#loop: f,
    };
    let got = it.pass_words(&words([1, 2, 3, 4, 5, 6]))?;
    check_equal("words", &got, &words([6, 5, 4, 3, 2, 1]))?;
    check_equal("verbs", &it.pass_verbs(Verbs::Yield)?, &Verbs::Try)?;
    Ok(check_equal("verbs", &it.pass_verbs(Verbs::Final)?, &Verbs::Yield)?)
}

fn keyword_attributes(call: &Call) -> Outcome {
    let it = get_keywords(&call.root)?;
    it.set_type(31)?;
    it.set_static(41)?;
    check_equal("type", &it.r#type()?, &31)?;
    Ok(check_equal("static", &it.r#static()?, &41)?)
}
