//! The server of the catalogue: its root, and the servants that keep something between calls.
//! Called by `peer server`.

use super::asynchrony::{self, Style};
use super::servants::{ReferencesOne, Side};
use super::yard::{Forwarding, YardOne};
use crate::idl::adapters::{Yard, YardSkeleton};
use crate::idl::asynchrony::Host;
use crate::idl::interop::*;
use crate::values::*;
use corbie::{CompletionStatus, Minor, Object, Orb, Poa, PoaPolicy, SystemException, TypedServant};
use std::fmt::Display;
use std::io::Read;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(super) fn failed(error: impl Display) -> Different {
    Different(error.to_string())
}

/// Serves until standard input closes.
#[allow(clippy::print_stdout)]
pub(super) fn serve(orb: &Orb, style: Style) -> Result<(), Different> {
    let root = activate_root(orb, style)?;
    println!("ior {}", orb.object_to_string(root.as_object()));
    println!("ready");
    let ending = orb.clone();
    std::thread::spawn(move || {
        let mut rest = [0; 64];
        // An error ends it as well as the end does.
        while std::io::stdin().read(&mut rest).is_ok_and(|count| count > 0) {}
        ending.shutdown(false);
    });
    // With `event_loop = application` this thread serves.
    orb.run();
    Ok(())
}

/// Activates everything that the server has.
pub(super) fn activate_root(orb: &Orb, style: Style) -> Result<Root, Different> {
    let side = Side::new(orb)?;
    let root = RootOne::new(side.clone(), style)?;
    let root = side.poa.activate(RootSkeleton::new(root)).map_err(failed)?;
    // The plain object key of corbaloc:iiop:host:port/InteropRoot
    orb.bind_object_key("InteropRoot", root.as_object());
    Ok(root)
}

struct AttributesOne {
    number: AtomicI32,
    text: Mutex<String>,
    someone: Mutex<Person>,
    numbers: Mutex<Vec<i32>>,
    tint: Mutex<Colour>,
    charts: Mutex<(Matrix, Matrix)>,
    myself: OnceLock<Attributes>,
}

impl AttributesOne {
    fn new() -> AttributesOne {
        AttributesOne {
            number: AtomicI32::new(long(1)),
            text: Mutex::new(string(1)),
            someone: Mutex::new(person(1)),
            numbers: Mutex::new(long_seq(1)),
            tint: Mutex::new(colour(1)),
            charts: Mutex::new((matrix(1), matrix(2))),
            myself: OnceLock::new(),
        }
    }
}

fn get<T: Clone>(slot: &Mutex<T>) -> Result<T, SystemException> {
    Ok(slot.lock().unwrap_or_else(PoisonError::into_inner).clone())
}
fn set<T>(slot: &Mutex<T>, value: T) -> Result<(), SystemException> {
    *slot.lock().unwrap_or_else(PoisonError::into_inner) = value;
    Ok(())
}

impl AttributesServant for AttributesOne {
    fn version(&self) -> Result<String, SystemException> {
        Ok("1.0".to_owned())
    }
    fn number(&self) -> Result<i32, SystemException> {
        Ok(self.number.load(Ordering::SeqCst))
    }
    fn set_number(&self, value: i32) -> Result<(), SystemException> {
        if value == 13 {
            return Err(SystemException::no_permission(Minor::of::<13>(), CompletionStatus::No));
        }
        self.number.store(value, Ordering::SeqCst);
        Ok(())
    }
    fn text(&self) -> Result<String, SystemException> {
        get(&self.text)
    }
    fn set_text(&self, value: &str) -> Result<(), SystemException> {
        set(&self.text, value.to_owned())
    }
    fn someone(&self) -> Result<Person, SystemException> {
        get(&self.someone)
    }
    fn set_someone(&self, value: &Person) -> Result<(), SystemException> {
        set(&self.someone, value.clone())
    }
    fn numbers(&self) -> Result<Vec<i32>, SystemException> {
        get(&self.numbers)
    }
    fn set_numbers(&self, value: &[i32]) -> Result<(), SystemException> {
        set(&self.numbers, value.to_vec())
    }
    fn tint(&self) -> Result<Colour, SystemException> {
        get(&self.tint)
    }
    fn set_tint(&self, value: Colour) -> Result<(), SystemException> {
        set(&self.tint, value)
    }
    fn chart(&self) -> Result<Matrix, SystemException> {
        Ok(get(&self.charts)?.0)
    }
    fn set_chart(&self, value: &Matrix) -> Result<(), SystemException> {
        let second = get(&self.charts)?.1;
        set(&self.charts, (*value, second))
    }
    fn second_chart(&self) -> Result<Matrix, SystemException> {
        Ok(get(&self.charts)?.1)
    }
    fn set_second_chart(&self, value: &Matrix) -> Result<(), SystemException> {
        let first = get(&self.charts)?.0;
        set(&self.charts, (first, *value))
    }
    fn myself(&self) -> Result<Option<Attributes>, SystemException> {
        Ok(self.myself.get().cloned())
    }
}

struct TopOne {
    who: &'static str,
    height: AtomicI32,
}

impl TopServant for TopOne {
    fn from_top(&self, n: i32) -> Result<String, SystemException> {
        Ok(format!("{} {n}", self.who))
    }
    fn height(&self) -> Result<i32, SystemException> {
        Ok(self.height.load(Ordering::SeqCst))
    }
    fn set_height(&self, value: i32) -> Result<(), SystemException> {
        self.height.store(value, Ordering::SeqCst);
        Ok(())
    }
}
impl LeftServant for TopOne {
    fn from_left(&self, n: i32) -> Result<String, SystemException> {
        Ok(format!("left {n}"))
    }
}
impl RightServant for TopOne {
    fn from_right(&self, n: i32) -> Result<String, SystemException> {
        Ok(format!("right {n}"))
    }
}
impl BottomServant for TopOne {
    fn from_bottom(&self, n: i32) -> Result<String, bottom::FromBottomError> {
        if n < 0 { Err(details(1).into()) } else { Ok(format!("bottom {n}")) }
    }
}

#[derive(Default)]
struct OnewaysOne {
    count: AtomicI32,
    sum: AtomicI64,
}

impl OnewaysServant for OnewaysOne {
    fn fire(&self, text: &str, number: i32) -> Result<(), SystemException> {
        if text == format!("fire {number}") {
            self.sum.fetch_add(i64::from(number), Ordering::SeqCst);
            self.count.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }
    fn reset(&self) -> Result<(), SystemException> {
        self.sum.store(0, Ordering::SeqCst);
        self.count.store(0, Ordering::SeqCst);
        Ok(())
    }
    fn fired(&self) -> Result<(i32, i64), SystemException> {
        Ok((self.count.load(Ordering::SeqCst), self.sum.load(Ordering::SeqCst)))
    }
}

impl BulkServant for Side {
    fn pass_octets(&self, a: &[u8]) -> Result<Vec<u8>, SystemException> {
        self.guarded(|| {
            check_equal("pass_octets", a, &bulk_octets(a.len(), 1)[..])?;
            Ok(bulk_octets(a.len(), 2))
        })
    }
    fn pass_longs(&self, a: &[i32]) -> Result<Vec<i32>, SystemException> {
        self.guarded(|| {
            check_equal("pass_longs", a, &bulk_longs(a.len(), 1)[..])?;
            Ok(bulk_longs(a.len(), 2))
        })
    }
    fn pass_doubles(&self, shift: u8, a: &[f64]) -> Result<Vec<f64>, SystemException> {
        self.guarded(|| {
            check_equal("shift", &shift, &255)?;
            check_equal("pass_doubles", a, &bulk_doubles(a.len(), 1)[..])?;
            Ok(bulk_doubles(a.len(), 2))
        })
    }
    fn pass_string(&self, a: &str) -> Result<String, SystemException> {
        self.guarded(|| {
            check_equal("pass_string", a, &bulk_string(a.len(), 1)[..])?;
            Ok(bulk_string(a.len(), 2))
        })
    }
    fn pass_texts(&self, a: &[String]) -> Result<Vec<String>, SystemException> {
        self.guarded(|| {
            check_equal("pass_texts", a, &bulk_texts(a.len(), 1)[..])?;
            Ok(bulk_texts(a.len(), 2))
        })
    }
    fn pass_people(&self, a: &[Person]) -> Result<Vec<Person>, SystemException> {
        self.guarded(|| {
            check_equal("pass_people", a, &bulk_people(a.len(), 1)[..])?;
            Ok(bulk_people(a.len(), 2))
        })
    }
}

impl ForwardedServant for Side {
    fn answered_by(&self, payload: &[u8]) -> Result<(String, u32), SystemException> {
        self.guarded(|| {
            check_equal("answered_by", payload, &bulk_octets(payload.len(), 9)[..])?;
            Ok(("target".to_owned(), payload.len() as u32))
        })
    }
}

#[derive(Default)]
struct CounterOne(AtomicI32);

impl CounterServant for CounterOne {
    fn increment(&self) -> Result<i32, SystemException> {
        Ok(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
    fn incarnation(&self) -> Result<String, SystemException> {
        Ok(std::process::id().to_string())
    }
}

#[derive(Default)]
struct KeywordsOne {
    r#type: AtomicI32,
    fixed: AtomicI32,
}

impl KeywordsServant for KeywordsOne {
    fn r#fn(&self, r#match: i32, r#let: i32) -> Result<(i32, i32, i32), SystemException> {
        Ok((1, r#match, r#let))
    }
    fn r#impl(&self, crate_: i32) -> Result<i32, SystemException> {
        Ok(crate_ + 2)
    }
    fn class(&self, new: i32) -> Result<i32, SystemException> {
        Ok(new + 3)
    }
    fn r#virtual(&self, this: i32) -> Result<i32, SystemException> {
        Ok(this + 4)
    }
    fn package(&self, synchronized: i32) -> Result<i32, SystemException> {
        Ok(synchronized + 5)
    }
    fn self_(&self, super_: i32) -> Result<i32, SystemException> {
        Ok(super_ + 6)
    }
    fn r#async(&self, r#dyn: i32) -> Result<i32, SystemException> {
        Ok(r#dyn + 7)
    }
    fn interface(&self, r#in: i32) -> Result<i32, SystemException> {
        Ok(r#in + 8)
    }
    fn union(&self, switch: i32) -> Result<i32, SystemException> {
        Ok(switch + 9)
    }
    fn camel_case(&self, mixed_case: i32) -> Result<i32, SystemException> {
        Ok(mixed_case + 10)
    }
    fn http_server(&self, x86_64: i32) -> Result<i32, SystemException> {
        Ok(x86_64 + 11)
    }
    fn pass_words(&self, w: &keywords::Words) -> Result<keywords::Words, SystemException> {
        Ok(keywords::Words {
            r#type: w.r#loop,
            r#move: w.self_,
            r#struct: w.class,
            class: w.r#struct,
            self_: w.r#move,
            r#loop: w.r#type,
        })
    }
    fn pass_verbs(&self, verb: keywords::Verbs) -> Result<keywords::Verbs, SystemException> {
        let first = verb == keywords::Verbs::Yield;
        Ok(if first { keywords::Verbs::Try } else { keywords::Verbs::Yield })
    }
    fn r#type(&self) -> Result<i32, SystemException> {
        Ok(self.r#type.load(Ordering::SeqCst))
    }
    fn set_type(&self, value: i32) -> Result<(), SystemException> {
        self.r#type.store(value, Ordering::SeqCst);
        Ok(())
    }
    fn r#static(&self) -> Result<i32, SystemException> {
        Ok(self.fixed.load(Ordering::SeqCst))
    }
    fn set_static(&self, value: i32) -> Result<(), SystemException> {
        self.fixed.store(value, Ordering::SeqCst);
        Ok(())
    }
}

// ------------------------------------------------------------------ the root

struct RootOne {
    side: Side,
    primitives: Primitives,
    texts: Texts,
    structs: Structs,
    unions: Unions,
    sequences: Sequences,
    arrays: Arrays,
    fixeds: Fixeds,
    extensions: Extensions,
    host: Host,
    anys: Anys,
    exceptions: Exceptions,
    attributes: Attributes,
    bottom: Bottom,
    only_top: Top,
    references: References,
    oneways: Oneways,
    bulk: Bulk,
    forwarding: Forwarding,
    yard: Yard,
    counter: Counter,
    keywords: Keywords,
}

impl RootOne {
    fn new(side: Side, style: Style) -> Result<RootOne, Different> {
        let poa = side.poa.clone();
        let attributes = Arc::new(AttributesOne::new());
        let references = Arc::new(ReferencesOne { side: side.clone(), myself: OnceLock::new() });
        let top = |who| TopOne { who, height: AtomicI32::new(1) };
        let persistent = poa
            .create_poa("persistent", Some(&poa.the_poa_manager()), &PoaPolicy::PERSISTENT_USER_ID)
            .map_err(failed)?;
        let counter = CounterSkeleton::new(CounterOne::default());
        let root = RootOne {
            primitives: active(&poa, PrimitivesSkeleton::new(side.clone()))?,
            texts: active(&poa, TextsSkeleton::new(side.clone()))?,
            structs: active(&poa, StructsSkeleton::new(side.clone()))?,
            unions: active(&poa, UnionsSkeleton::new(side.clone()))?,
            sequences: active(&poa, SequencesSkeleton::new(side.clone()))?,
            arrays: active(&poa, ArraysSkeleton::new(side.clone()))?,
            fixeds: active(&poa, FixedsSkeleton::new(side.clone()))?,
            extensions: active(&poa, ExtensionsSkeleton::new(side.clone()))?,
            host: asynchrony::start(&side, style)?,
            anys: active(&poa, AnysSkeleton::new(side.clone()))?,
            exceptions: active(&poa, ExceptionsSkeleton::new(side.clone()))?,
            attributes: active(&poa, AttributesSkeleton::new(attributes.clone()))?,
            bottom: active(&poa, BottomSkeleton::new(top("top")))?,
            only_top: active(&poa, TopSkeleton::new(top("only top")))?,
            references: active(&poa, ReferencesSkeleton::new(references.clone()))?,
            oneways: active(&poa, OnewaysSkeleton::new(OnewaysOne::default()))?,
            bulk: active(&poa, BulkSkeleton::new(side.clone()))?,
            forwarding: Forwarding::new(&side)?,
            yard: persistent
                .activate_with_id(b"yard", YardSkeleton::new(YardOne::new(&side)?))
                .map_err(failed)?,
            counter: persistent.activate_with_id(b"counter", counter).map_err(failed)?,
            keywords: active(&poa, KeywordsSkeleton::new(KeywordsOne::default()))?,
            side,
        };
        // Set once, here: the results say nothing new.
        let _ = attributes.myself.set(root.attributes.clone());
        let _ = references.myself.set(root.references.clone());
        Ok(root)
    }
}

fn active<S: TypedServant>(poa: &Poa, servant: S) -> Result<S::Reference, Different> {
    poa.activate(servant).map_err(failed)
}

type Answered<T> = Result<Option<T>, SystemException>;

impl RootServant for RootOne {
    fn peer(&self) -> Result<String, SystemException> {
        Ok(concat!("Corbie ", env!("CARGO_PKG_VERSION")).to_owned())
    }
    fn last_mismatch(&self) -> Result<String, SystemException> {
        Ok(self.side.last_mismatch())
    }
    fn get_primitives(&self) -> Answered<Primitives> {
        Ok(Some(self.primitives.clone()))
    }
    fn get_texts(&self) -> Answered<Texts> {
        Ok(Some(self.texts.clone()))
    }
    fn get_structs(&self) -> Answered<Structs> {
        Ok(Some(self.structs.clone()))
    }
    fn get_unions(&self) -> Answered<Unions> {
        Ok(Some(self.unions.clone()))
    }
    fn get_sequences(&self) -> Answered<Sequences> {
        Ok(Some(self.sequences.clone()))
    }
    fn get_arrays(&self) -> Answered<Arrays> {
        Ok(Some(self.arrays.clone()))
    }
    fn get_fixeds(&self) -> Answered<Fixeds> {
        Ok(Some(self.fixeds.clone()))
    }
    fn get_anys(&self) -> Answered<Anys> {
        Ok(Some(self.anys.clone()))
    }
    fn get_exceptions(&self) -> Answered<Exceptions> {
        Ok(Some(self.exceptions.clone()))
    }
    fn get_attributes(&self) -> Answered<Attributes> {
        Ok(Some(self.attributes.clone()))
    }
    fn get_bottom(&self) -> Answered<Bottom> {
        Ok(Some(self.bottom.clone()))
    }
    fn get_top(&self) -> Answered<Top> {
        Ok(Some(self.bottom.clone().into()))
    }
    fn get_only_top(&self) -> Answered<Top> {
        Ok(Some(self.only_top.clone()))
    }
    fn get_references(&self) -> Answered<References> {
        Ok(Some(self.references.clone()))
    }
    fn get_oneways(&self) -> Answered<Oneways> {
        Ok(Some(self.oneways.clone()))
    }
    fn get_bulk(&self) -> Answered<Bulk> {
        Ok(Some(self.bulk.clone()))
    }
    fn get_forwarded(&self, how: ForwardMode) -> Answered<Forwarded> {
        self.forwarding.reference(how).map(Some)
    }
    fn get_counter(&self) -> Answered<Counter> {
        Ok(Some(self.counter.clone()))
    }
    fn get_keywords(&self) -> Answered<Keywords> {
        Ok(Some(self.keywords.clone()))
    }
    fn get_constants(&self) -> Result<Constants, SystemException> {
        Ok(constants())
    }
    fn get_extensions(&self) -> Answered<Object> {
        Ok(Some(self.extensions.clone().into_object()))
    }
    fn get_asynchrony(&self) -> Answered<Object> {
        Ok(Some(self.host.clone().into_object()))
    }
    fn get_yard(&self) -> Answered<Object> {
        Ok(Some(self.yard.clone().into_object()))
    }
}
