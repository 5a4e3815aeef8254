//! TypeCodes: octets by the book, indirections, recursion, equality, hostile input; and values
//! of every type through `Value` and `Any`, in every order and alignment.

mod typed_values;

use corbie_cdr::idl::{Array, Sequence, Wstring};
use corbie_cdr::{
    ByteOrder, CodeSets, Decoder, Encoder, Error, ErrorKind, Fixed, Limits, Marshal, Version,
};
use corbie_types::{
    Any, Ior, SystemExceptionKind, TcKind, TypeCode, Typed, UnionValue, Value, ValueModifier,
    Visibility, minor,
};
use proptest::prelude::*;
use typed_values::{normal, tree, typed_value};

const ORDERS: [ByteOrder; 2] = [ByteOrder::BigEndian, ByteOrder::LittleEndian];
const BIG: ByteOrder = ByteOrder::BigEndian;

fn written(type_code: &TypeCode, order: ByteOrder, lead: usize) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), order);
    (0..lead).for_each(|_| e.write_octet(0xff));
    type_code.write(&mut e).expect("complete");
    e.to_vec()
}

fn read(octets: &[u8], order: ByteOrder, lead: usize) -> Result<TypeCode, Error> {
    TypeCode::decode(&mut Decoder::with_position(octets, lead, order))
}

fn round_trip(type_code: &TypeCode) {
    for order in ORDERS {
        for lead in 0..8 {
            let octets = written(type_code, order, lead);
            let back = read(&octets, order, lead).expect("what we wrote");
            assert_eq!(&back, type_code, "{order}, alignment {lead}");
            assert!(back.equivalent(type_code));
            assert_eq!(written(&back, order, lead), octets, "the same type, other octets");
        }
    }
}

fn one_of_each() -> Vec<TypeCode> {
    let point = [("x", TypeCode::SHORT), ("y", TypeCode::DOUBLE)];
    let side = TypeCode::enumeration("IDL:Side:1.0", "Side", &["buy", "sell"]);
    let cases = [
        (Some(0), "a", TypeCode::LONG),
        (Some(1), "b", TypeCode::wstring(8)),
        (None, "c", TypeCode::ANY),
    ];
    let state = [
        ("x", TypeCode::LONG, Visibility::Public),
        ("next", TypeCode::recursive("IDL:V:1.0"), Visibility::Private),
    ];
    let base = TypeCode::value("IDL:B:1.0", "B", ValueModifier::Custom, None, &[]);
    let truncatable = ValueModifier::Truncatable;
    let mut all: Vec<TypeCode> =
        (0..=36).filter_map(TcKind::from_number).filter_map(TypeCode::basic).collect();
    all.extend([
        TypeCode::object(),
        TypeCode::structure("IDL:P:1.0", "P", &point),
        TypeCode::structure("IDL:Empty:1.0", "Empty", &[]),
        TypeCode::exception("IDL:E:1.0", "E", &point),
        TypeCode::union("IDL:U:1.0", "U", side.clone(), &cases),
        TypeCode::union("IDL:C:1.0", "C", TypeCode::CHAR, &[(Some(65), "a", TypeCode::LONG)]),
        side,
        TypeCode::string(7),
        TypeCode::wstring(0),
        TypeCode::fixed(9, -2),
        TypeCode::sequence(TypeCode::OCTET, 12),
        TypeCode::array(TypeCode::array(TypeCode::FLOAT, 3), 2),
        TypeCode::alias("IDL:A:1.0", "A", tree()),
        tree(),
        TypeCode::value("IDL:V:1.0", "V", truncatable, Some(base), &state),
        TypeCode::event("IDL:Ev:1.0", "Ev", ValueModifier::None, None, &state[..1]),
        TypeCode::value_box("IDL:Bx:1.0", "Bx", TypeCode::LONG),
        TypeCode::native("IDL:N:1.0", "N"),
        TypeCode::abstract_interface("IDL:Ab:1.0", "Ab"),
        TypeCode::local_interface("IDL:L:1.0", "L"),
        TypeCode::component("IDL:Co:1.0", "Co"),
        TypeCode::home("IDL:H:1.0", "H"),
    ]);
    all
}

#[test]
fn every_kind_round_trips() {
    let all = one_of_each();
    let kinds: std::collections::HashSet<TcKind> = all.iter().map(TypeCode::kind).collect();
    assert_eq!(kinds.len(), 37, "a kind has no example");
    for (i, a) in all.iter().enumerate() {
        round_trip(a);
        assert!(a.is_complete());
        for (j, b) in all.iter().enumerate() {
            assert_eq!(a == b, i == j, "{a} and {b}");
        }
    }
}

#[test]
fn octets_by_the_book() {
    // CORBA 3.3 P2 §9.3.5.1: kind; for strings the bound; for the rest an encapsulation.
    assert_eq!(written(&TypeCode::LONG, BIG, 0), [0, 0, 0, 3]);
    assert_eq!(written(&TypeCode::string(5), BIG, 0), [0, 0, 0, 18, 0, 0, 0, 5]);
    assert_eq!(written(&TypeCode::fixed(5, 2), BIG, 0), [0, 0, 0, 28, 0, 5, 0, 2]);
    let alias = TypeCode::alias("IDL:A:1.0", "A", TypeCode::OCTET);
    let expected = [
        0, 0, 0, 21, // tk_alias
        0, 0, 0, 32, // length of the encapsulation
        0, 0, 0, 0, // big-endian, padding
        0, 0, 0, 10, b'I', b'D', b'L', b':', b'A', b':', b'1', b'.', b'0', 0, 0, 0, // id
        0, 0, 0, 2, b'A', 0, 0, 0, // name
        0, 0, 0, 10, // tk_octet
    ];
    assert_eq!(written(&alias, BIG, 0), expected);
    assert_eq!(read(&expected, BIG, 0), Ok(alias));
}

#[test]
fn indirections_lead_only_to_what_all_orbs_take() {
    let is_repeated = |of: TypeCode| {
        let twice = [("a", of.clone()), ("b", of)];
        let both = TypeCode::structure("IDL:Both:1.0", "Both", &twice);
        round_trip(&both);
        let octets = written(&both, BIG, 0);
        octets.windows(4).any(|word| word == [0xff; 4])
    };
    let point = TypeCode::structure("IDL:P:1.0", "P", &[("x", TypeCode::LONG)]);
    assert!(is_repeated(TypeCode::alias("IDL:L:1.0", "L", TypeCode::LONG)));
    assert!(is_repeated(point.clone()));
    assert!(!is_repeated(TypeCode::enumeration("IDL:E:1.0", "E", &["one", "two"])));
    assert!(!is_repeated(TypeCode::interface("IDL:I:1.0", "I")));
    assert!(!is_repeated(TypeCode::sequence(TypeCode::SHORT, 0)));
    assert!(!is_repeated(TypeCode::value_box("IDL:B:1.0", "B", TypeCode::LONG)));
    assert!(is_repeated(TypeCode::sequence(point, 0)), "of its elements");
}

#[test]
fn recursion_is_an_indirection_to_the_enclosing_definition() {
    let octets = written(&tree(), BIG, 0);
    let marker = octets.windows(4).position(|w| w == [0xff; 4]).expect("an indirection");
    let distance = i32::from_be_bytes(octets[marker + 4..marker + 8].try_into().expect("four"));
    // From the distance itself back to the kind, which is the first octet.
    assert_eq!(distance, -i32::try_from(marker + 4).expect("small"));
}

#[test]
fn repeated_types_are_written_once() {
    let members: Vec<_> = (0..20).map(|_| ("p", one_of_each()[20].clone())).collect();
    let shared = TypeCode::alias("IDL:Shared:1.0", "Shared", TypeCode::LONG);
    let members: Vec<_> = members.iter().map(|(name, _)| (*name, shared.clone())).collect();
    let many = TypeCode::structure("IDL:M:1.0", "M", &members);
    let octets = written(&many, BIG, 0);
    assert_eq!(octets.windows(6).filter(|w| w == b"Shared").count(), 2, "id and name, once");
    round_trip(&many);
    // Written out in full it is the same type.
    let apart: Vec<_> = (0..20)
        .map(|_| ("p", TypeCode::alias("IDL:Shared:1.0", "Shared", TypeCode::LONG)))
        .collect();
    let apart = TypeCode::structure("IDL:M:1.0", "M", &apart);
    assert_eq!(apart, many);
    assert_eq!(read(&written(&apart, BIG, 0), BIG, 0), Ok(many));
}

#[test]
fn parts_of_recursive_types_stand_alone() {
    let tree = tree();
    let children = tree.members()[1].type_code.clone();
    assert!(children.is_complete());
    let child = children.content_type().expect("an element");
    assert_eq!(child, tree);
    assert_eq!(child.kind(), TcKind::Struct);
    // Written alone, the part carries its definition along.
    round_trip(&children);
    let back = read(&written(&children, BIG, 0), BIG, 0).expect("what we wrote");
    assert_eq!(back.content_type(), Some(tree.clone()));
    // A placeholder without its definition is incomplete, and says so.
    let lost = TypeCode::sequence(TypeCode::recursive("IDL:Tree:1.0"), 0);
    assert!(!lost.is_complete());
    let error = lost.write(&mut Encoder::native()).expect_err("incomplete");
    assert_eq!(error.kind(), ErrorKind::BadTypeCode);
    assert!(error.to_string().contains("IDL:Tree:1.0"), "{error}");
    let error = Value::decode(&lost, &mut Decoder::new(&[0; 8], BIG)).expect_err("incomplete");
    assert_eq!(error.kind(), ErrorKind::BadTypeCode);
}

#[test]
fn mutual_recursion_and_types_without_ids() {
    // struct A { struct B { sequence<A> as; sequence<B> bs; } b; }.
    let a = |id_a: &str, id_b: &str| {
        let list = |id: &str| TypeCode::sequence(TypeCode::recursive(id), 0);
        let b = TypeCode::structure(id_b, "B", &[("as", list(id_a)), ("bs", list(id_b))]);
        TypeCode::structure(id_a, "A", &[("b", b)])
    };
    let named = a("IDL:A:1.0", "IDL:B:1.0");
    round_trip(&named);
    let b = named.members()[0].type_code.clone();
    round_trip(&b);
    assert_eq!(b.members()[0].type_code.content_type(), Some(named.clone()));
    // The same without ids, as compact TypeCodes come: only indirections tell A from B.
    let compact = |octets: &[u8]| {
        // Empty ids are shorter; so build the octets by hand.
        read(octets, BIG, 0)
    };
    let mut e = Encoder::new(Vec::new(), BIG);
    e.write_ulong(TcKind::Struct as u32);
    e.encapsulation(|e| {
        e.write_string("")?;
        e.write_string("")?;
        e.write_ulong(1);
        e.write_string("")?;
        e.align(4);
        e.write_ulong(TcKind::Sequence as u32);
        e.encapsulation(|e| {
            e.write_ulong(0xffff_ffff);
            let back = i32::try_from(e.len()).expect("small");
            e.write_long(-back);
            e.write_ulong(0);
            Ok(())
        })
    })
    .expect("it fits");
    let list = compact(&e.to_vec()).expect("by the book");
    assert!(list.is_complete());
    assert_eq!(list.members()[0].type_code.content_type(), Some(list.clone()));
    assert!(list.equivalent(&list.members()[0].type_code.content_type().expect("itself")));
    round_trip(&list);
}

#[test]
fn equal_is_exact_and_equivalent_is_not() {
    let point = |id: &str, name: &str, x: &str| {
        TypeCode::structure(id, name, &[(x, TypeCode::SHORT), ("y", TypeCode::DOUBLE)])
    };
    let full = point("IDL:P:1.0", "P", "x");
    let renamed = point("IDL:P:1.0", "Q", "z");
    let compact = point("", "", "");
    assert_ne!(full, renamed);
    assert!(full.equivalent(&renamed), "the ids are the same");
    assert!(full.equivalent(&compact) && compact.equivalent(&renamed));
    assert!(!full.equivalent(&point("IDL:Other:1.0", "P", "x")));
    let alias = TypeCode::alias("IDL:A:1.0", "A", full.clone());
    assert_ne!(alias, full);
    assert!(alias.equivalent(&full) && full.equivalent(&alias));
    let lists = (TypeCode::sequence(alias, 0), TypeCode::sequence(full, 0));
    assert!(lists.0.equivalent(&lists.1) && lists.0 != lists.1);
    assert!(!TypeCode::string(0).equivalent(&TypeCode::string(1)));
    assert!(!TypeCode::string(0).equivalent(&TypeCode::wstring(0)));
}

#[test]
fn type_codes_read_like_idl() {
    for (type_code, text) in [
        (TypeCode::ULONGLONG, "unsigned long long"),
        (TypeCode::string(0), "string"),
        (TypeCode::wstring(8), "wstring<8>"),
        (TypeCode::fixed(5, 2), "fixed<5, 2>"),
        (TypeCode::sequence(TypeCode::array(TypeCode::LONG, 3), 9), "sequence<long[3], 9>"),
        (tree(), "struct IDL:Tree:1.0"),
        (TypeCode::structure("", "P", &[]), "struct P"),
    ] {
        assert_eq!(type_code.to_string(), text);
    }
}

#[test]
fn hostile_type_codes() {
    let kind = |octets: &[u8]| read(octets, BIG, 0).expect_err("hostile").kind();
    assert_eq!(kind(&[0, 0, 0, 99]), ErrorKind::BadTypeCode);
    // Indirections to nowhere, forward, to itself.
    for distance in [-4i32, -8, 0, 4, i32::MIN, i32::MAX] {
        let mut octets = vec![0xff; 4];
        octets.extend(distance.to_be_bytes());
        octets.extend([0; 8]);
        assert_eq!(kind(&octets), ErrorKind::BadTypeCode, "{distance}");
    }
    // A struct that claims four thousand million members.
    let mut e = Encoder::new(Vec::new(), BIG);
    e.write_ulong(TcKind::Struct as u32);
    e.encapsulation(|e| {
        e.write_string("")?;
        e.write_string("")?;
        e.write_ulong(u32::MAX);
        Ok(())
    })
    .expect("it fits");
    assert_eq!(kind(&e.to_vec()), ErrorKind::UnexpectedEnd);
    // A union over a struct.
    let union = TypeCode::union("", "", tree(), &[]);
    let octets = written(&union, BIG, 0);
    let union = read(&octets, BIG, 0).expect("no label needs the type");
    let error = Value::decode(&union, &mut Decoder::new(&[0; 64], BIG)).expect_err("no label");
    assert_eq!(error.kind(), ErrorKind::BadTypeCode);
}

#[test]
fn deep_and_wide_type_codes_are_refused() {
    let mut deep = TypeCode::LONG;
    for _ in 0..200 {
        deep = TypeCode::sequence(deep, 0);
    }
    let error = read(&written(&deep, BIG, 0), BIG, 0).expect_err("too deep");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    // Two members of the type before, thirty times: 2^30 nodes in a few hundred octets.
    let mut wide = TypeCode::LONG;
    for level in 0..30 {
        let members = [("a", wide.clone()), ("b", wide)];
        wide = TypeCode::structure(&format!("IDL:L{level}:1.0"), "L", &members);
    }
    let octets = written(&wide, BIG, 0);
    assert!(octets.len() < 4000, "{}", octets.len());
    let error = read(&octets, BIG, 0).expect_err("too wide");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("type_code_nodes"), "{error}");
}

#[test]
fn values_are_counted() {
    // An array of 2^20 arrays of 2^20 empty structs takes no octets at all.
    let empty = TypeCode::structure("", "", &[]);
    let huge = TypeCode::array(TypeCode::array(empty, 1 << 20), 1 << 20);
    let mut e = Encoder::new(Vec::new(), BIG);
    huge.write(&mut e).expect("complete");
    let octets = e.to_vec();
    let error = Any::decode(&mut Decoder::new(&octets, BIG)).expect_err("too many");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("empty_elements"), "{error}");
    let error = Value::decode(&huge, &mut Decoder::new(&[], BIG)).expect_err("too many");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    // An array whose octets are not there is found out before it is begun.
    let error =
        Value::decode(&TypeCode::array(TypeCode::LONG, u32::MAX), &mut Decoder::new(&[0; 8], BIG));
    assert_eq!(error.map_err(|e| e.kind()), Err(ErrorKind::UnexpectedEnd));
    static FEW: Limits = Limits { dynamic_values: 3, ..Limits::DEFAULT };
    let list = TypeCode::sequence(TypeCode::SHORT, 0);
    let octets = [0, 0, 0, 3, 0, 1, 0, 2, 0, 3];
    let mut d = Decoder::new(&octets, BIG);
    d.set_limits(&FEW);
    let error = Value::decode(&list, &mut d).expect_err("too many");
    assert!(error.to_string().contains("dynamic_values"), "{error}");
}

#[test]
fn nested_anys_are_limited() {
    let mut any = Any::from_value::<i32>(&1).expect("a long");
    for _ in 0..100 {
        any = Any::from_value::<Any>(&any).expect("an any");
    }
    let mut e = Encoder::new(Vec::new(), BIG);
    Any::encode(&any, &mut e).expect("it can be sent");
    let error = Any::decode(&mut Decoder::new(&e.to_vec(), BIG)).expect_err("too deep");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn values_and_anys_of_every_type((type_code, value) in typed_value()) {
        let expected = normal(value.clone(), &type_code);
        let any = Any::from_dynamic(type_code.clone(), &value).expect("it fits");
        prop_assert_eq!(&any.to_value().expect("what we wrote"), &expected);
        for order in ORDERS {
            for lead in 0..8 {
                let mut e = Encoder::new(Vec::new(), order);
                (0..lead).for_each(|_| e.write_octet(0xff));
                value.encode(&type_code, &mut e).expect("it fits");
                let octets = e.to_vec();
                let mut d = Decoder::with_position(&octets, lead, order);
                let back = Value::decode(&type_code, &mut d).expect("what we wrote");
                prop_assert_eq!(&back, &expected);
                prop_assert_eq!(d.remaining(), 0);
                // As an any: there, and from there on in the other order, elsewhere, in UTF-8.
                let mut e = Encoder::new(Vec::new(), order);
                (0..lead).for_each(|_| e.write_octet(0xff));
                Any::encode(&any, &mut e).expect("it can be sent");
                let octets = e.to_vec();
                let mut d = Decoder::with_position(&octets, lead, order);
                let got = Any::decode(&mut d).expect("what we wrote");
                prop_assert_eq!(d.remaining(), 0);
                prop_assert_eq!(&got, &any);
                let mut e = Encoder::new(Vec::new(), order.opposite());
                e.set_code_sets(CodeSets::UNICODE);
                e.set_version(Version::V1_1);
                e.write_octet(0);
                Any::encode(&got, &mut e).expect("it can be sent");
                let octets = e.to_vec();
                let mut d = Decoder::with_position(&octets, 1, order.opposite());
                d.set_code_sets(CodeSets::UNICODE);
                d.set_version(Version::V1_1);
                prop_assert_eq!(&Any::decode(&mut d).expect("what we wrote"), &any);
                prop_assert_eq!(d.remaining(), 0);
            }
        }
    }

    #[test]
    fn types_of_every_shape((type_code, _) in typed_value()) {
        for order in ORDERS {
            let octets = written(&type_code, order, 3);
            let back = read(&octets, order, 3).expect("what we wrote");
            prop_assert_eq!(&back, &type_code);
            // Cut anywhere it is an error.
            for end in 3..octets.len() {
                prop_assert!(read(&octets[..end], order, 3).is_err());
            }
        }
    }

    #[test]
    fn mutated_anys_never_panic((type_code, value) in typed_value(), at: usize, octet: u8) {
        let any = Any::from_dynamic(type_code, &value).expect("it fits");
        let mut e = Encoder::native();
        Any::encode(&any, &mut e).expect("it can be sent");
        let mut octets = e.to_vec();
        let at = at % octets.len();
        octets[at] = octet;
        if let Ok(any) = Any::decode(&mut Decoder::new(&octets, ByteOrder::NATIVE)) {
            let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE.opposite());
            let _ = Any::encode(&any, &mut e);
            let _ = format!("{any:?}");
            let _ = any.to_value();
        }
    }

    #[test]
    fn arbitrary_octets_never_panic(octets: Vec<u8>) {
        let _ = read(&octets, BIG, 0);
        let _ = Any::decode(&mut Decoder::new(&octets, BIG));
        for type_code in one_of_each() {
            let _ = Value::decode(&type_code, &mut Decoder::new(&octets, BIG));
        }
    }
}

fn through_any<M: Typed>(value: &M::Value)
where
    M::Value: PartialEq + std::fmt::Debug,
{
    let any = Any::from_value::<M>(value).expect("it can be sent");
    assert_eq!(any.type_code(), &M::type_code());
    let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE.opposite());
    e.write_octet(0);
    Any::encode(&any, &mut e).expect("it can be sent");
    let octets = e.to_vec();
    let mut d = Decoder::with_position(&octets, 1, ByteOrder::NATIVE.opposite());
    let got = Any::decode(&mut d).expect("what we wrote");
    assert_eq!(&got.extract::<M>().expect("the same type"), value);
    assert_eq!(got, any);
}

#[test]
fn build_time_types_through_any() {
    through_any::<()>(&());
    through_any::<i8>(&-3);
    through_any::<String>(&"Grüße".to_owned());
    through_any::<Wstring>(&"世界".to_owned());
    through_any::<Sequence<f64>>(&vec![1.5, -2.0]);
    through_any::<Sequence<u8>>(&vec![7; 100_000]);
    through_any::<Array<Array<u16, 2>, 3>>(&[[1, 2], [3, 4], [5, 6]]);
    through_any::<Fixed<5, 2>>(&"-12.34".parse().expect("a number"));
    through_any::<TypeCode>(&tree());
    through_any::<Ior>(&Ior::nil());
    through_any::<Any>(&Any::from_value::<u16>(&5).expect("an unsigned short"));
}

#[test]
fn anys_keep_characters_that_no_single_code_set_has() {
    let members = [("c", TypeCode::CHAR), ("s", TypeCode::string(0))];
    let of = TypeCode::structure("IDL:T:1.0", "T", &members);
    let value = Value::Struct(vec![Value::Char('é'), Value::String("€".into())]);
    let any = Any::from_dynamic(of, &value).expect("it fits");
    assert_eq!(any.to_value(), Ok(value));
    for code_sets in [CodeSets::DEFAULT, CodeSets::UNICODE] {
        let mut e = Encoder::native();
        e.set_code_sets(code_sets);
        let error = Any::encode(&any, &mut e).expect_err("one of the two has no place");
        assert_eq!(error.kind(), ErrorKind::DataConversion);
    }
}

/// What generated code makes of `exception Bad { long code; }`.
#[derive(Debug, PartialEq)]
struct Bad {
    code: i32,
}

impl Marshal for Bad {
    type Value = Self;
    const MIN_OCTETS: usize = 4;

    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_long(value.code);
        Ok(())
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self { code: d.read_long()? })
    }
}

impl Typed for Bad {
    fn type_code() -> TypeCode {
        TypeCode::exception("IDL:Bad:1.0", "Bad", &[("code", TypeCode::LONG)])
    }
}

#[test]
fn exceptions_in_an_any_have_their_id_before_them() {
    through_any::<Bad>(&Bad { code: 7 });
    let any = Any::from_value::<Bad>(&Bad { code: 7 }).expect("it can be sent");
    assert_eq!(any.to_value(), Ok(Value::Struct(vec![Value::Long(7)])));
    let mut e = Encoder::new(Vec::new(), BIG);
    Any::encode(&any, &mut e).expect("it can be sent");
    let end = [0, 0, 0, 12, 73, 68, 76, 58, 66, 97, 100, 58, 49, 46, 48, 0, 0, 0, 0, 7];
    assert!(e.to_vec().ends_with(&end), "length, IDL:Bad:1.0, NUL, 7");
}

#[test]
fn extraction_checks_the_type() {
    let any = Any::from_value::<i32>(&1).expect("a long");
    assert!(any.holds::<i32>() && !any.holds::<u32>());
    let error = any.extract::<String>().expect_err("a long is no string");
    let expected = (SystemExceptionKind::BadParam, minor::BAD_PARAM_WRONG_TYPE);
    assert_eq!((error.kind, error.minor), expected);
    assert!(error.to_string().contains("the any holds long, not string"), "{error}");
    // Aliases do not matter; every reference is an Object.
    let alias = TypeCode::alias("IDL:Price:1.0", "Price", TypeCode::LONG);
    let any = Any::from_dynamic(alias, &Value::Long(3)).expect("it fits");
    assert_eq!(any.extract::<i32>(), Ok(3));
    let quoter = TypeCode::interface("IDL:Stock/Quoter:1.0", "Quoter");
    let any = Any::from_dynamic(quoter, &Value::Object(Ior::nil())).expect("it fits");
    assert_eq!(any.extract::<Ior>(), Ok(Ior::nil()));
    assert_eq!(Any::default().type_code(), &TypeCode::NULL);
    assert_eq!(Any::default().to_value(), Ok(Value::Void));
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let refused = |type_code: &TypeCode, value: Value| {
        let error = value.encode(type_code, &mut Encoder::native()).expect_err("does not fit");
        println!("{error}");
        error.kind()
    };
    let side = TypeCode::enumeration("IDL:S:1.0", "S", &["a", "b"]);
    let point = TypeCode::structure("IDL:P:1.0", "P", &[("x", TypeCode::LONG)]);
    let union = TypeCode::union("", "U", TypeCode::OCTET, &[(Some(1), "a", TypeCode::LONG)]);
    let of = |discriminator, member| Value::Union(Box::new(UnionValue { discriminator, member }));
    for (type_code, value) in [
        (&TypeCode::LONG, Value::Short(1)),
        (&side, Value::Enum(2)),
        (&point, Value::Struct(vec![])),
        (&point, Value::Struct(vec![Value::Void])),
        (&TypeCode::string(1), Value::String("ab".into())),
        (&TypeCode::sequence(TypeCode::LONG, 1), Value::List(vec![Value::Long(1); 2])),
        (&TypeCode::array(TypeCode::LONG, 2), Value::List(vec![Value::Long(1)])),
        (&TypeCode::sequence(TypeCode::LONG, 0), Value::Octets(vec![1])),
        (&union, of(1, None)),
        (&union, of(2, Some(Value::Long(1)))),
        (&union, of(300, None)),
        (&TypeCode::fixed(2, 0), Value::Fixed(100)),
    ] {
        assert_eq!(refused(type_code, value), ErrorKind::BadParameter);
    }
    let box_of = TypeCode::value_box("IDL:B:1.0", "B", TypeCode::LONG);
    assert_eq!(refused(&box_of, Value::Long(1)), ErrorKind::BadParameter);
    let mut d = Decoder::new(&[0x7f, 0xff, 0xff, 0, 0, 0, 0, 1], BIG);
    let read = Value::decode(&box_of, &mut d).expect("a box");
    assert!(matches!(read, Value::Valuetype(held) if held.is_a(&box_of)));
    // Null values and nil abstract interfaces can be sent. CORBA 3.3 P2 §9.3.4.1, §9.3.7.
    let nothing = TypeCode::abstract_interface("IDL:Ab:1.0", "Ab");
    for (type_code, value, octets) in
        [(&box_of, Value::Void, &[0; 4][..]), (&nothing, Value::Object(Ior::nil()), &[0; 8])]
    {
        let mut e = Encoder::new(Vec::new(), BIG);
        assert_eq!(value.encode(type_code, &mut e), Ok(()));
        assert_eq!(e.to_vec(), octets);
        let mut d = Decoder::new(octets, BIG);
        assert_eq!(Value::decode(type_code, &mut d).as_ref(), Ok(&value));
        let any = Any::from_dynamic(type_code.clone(), &value).expect("it fits");
        let mut e = Encoder::new(Vec::new(), BIG);
        assert_eq!(Any::encode(&any, &mut e), Ok(()));
        let octets = e.to_vec();
        let read = Any::decode(&mut Decoder::new(&octets, BIG)).expect("as written");
        assert_eq!(read.to_value(), Ok(value.clone()));
    }
    // A value as its own type is read back: enumerators out of range, labels of no case.
    let mut d = Decoder::new(&[0, 0, 0, 2], BIG);
    assert_eq!(Value::decode(&side, &mut d).map_err(|e| e.kind()), Err(ErrorKind::InvalidValue));
    let mut d = Decoder::new(&[9], BIG);
    assert_eq!(Value::decode(&union, &mut d), Ok(of(9, None)));
}

#[test]
fn type_codes_that_idl_could_not_have_written_are_refused() {
    let long = TypeCode::LONG;
    let union = |of, cases: &[_]| TypeCode::union("IDL:U:1.0", "U", of, cases);
    let structure = |members: &[_]| TypeCode::structure("IDL:S:1.0", "S", members);
    let exception = TypeCode::exception("IDL:X:1.0", "X", &[]);
    let colours = TypeCode::enumeration("IDL:C:1.0", "C", &["red", "blue"]);
    for (type_code, expected) in [
        (TypeCode::structure("IDL:S:1.0", "2 S", &[]), minor::BAD_PARAM_TYPECODE_NAME),
        (TypeCode::structure("no id", "S", &[]), minor::BAD_PARAM_TYPECODE_ID),
        (structure(&[("a b", long.clone())]), minor::BAD_PARAM_TYPECODE_MEMBER_NAME),
        (structure(&[("v", TypeCode::VOID)]), minor::BAD_TYPECODE_MEMBER),
        (TypeCode::sequence(exception.clone(), 0), minor::BAD_TYPECODE_MEMBER),
        (TypeCode::recursive("IDL:S:1.0"), minor::BAD_PARAM_INCOMPLETE_TYPECODE),
        (union(TypeCode::FLOAT, &[]), minor::BAD_PARAM_TYPECODE_DISCRIMINATOR),
        (
            union(TypeCode::OCTET, &[(Some(256), "a", long.clone())]),
            minor::BAD_PARAM_TYPECODE_LABEL_TYPE,
        ),
        (
            union(colours.clone(), &[(Some(2), "a", long.clone())]),
            minor::BAD_PARAM_TYPECODE_LABEL_TYPE,
        ),
        (
            union(TypeCode::OCTET, &[(Some(1), "a", long.clone()), (Some(1), "b", long.clone())]),
            minor::BAD_PARAM_TYPECODE_DUPLICATE_LABEL,
        ),
        (
            structure(&[("inner", structure(&[("x", long.clone()), ("X", long.clone())]))]),
            minor::BAD_PARAM_TYPECODE_MEMBER_NAME,
        ),
        (TypeCode::enumeration("", "", &["a", "A"]), minor::BAD_PARAM_TYPECODE_MEMBER_NAME),
    ] {
        let error = type_code.check().expect_err("not legal");
        assert_eq!(error.minor, expected, "{error}");
    }
    let labels = [(Some(0), "a", long.clone()), (Some(1), "a", long.clone()), (None, "b", long)];
    for type_code in [union(colours, &labels), exception, tree()] {
        assert_eq!(type_code.check(), Ok(()), "{type_code}");
    }
    one_of_each().iter().for_each(|type_code| assert_eq!(type_code.check(), Ok(())));
}

#[test]
fn compact_type_codes_are_equivalent_and_smaller() {
    for type_code in one_of_each().into_iter().chain([tree()]) {
        let compact = type_code.compact();
        assert!(compact.equivalent(&type_code), "{type_code}");
        assert_eq!(compact.id(), type_code.id());
        assert!(compact.name().is_empty());
        assert!(compact.members().iter().all(|member| member.name.is_empty()));
        let octets = written(&compact, BIG, 0);
        assert!(octets.len() <= written(&type_code, BIG, 0).len());
        assert_eq!(read(&octets, BIG, 0).expect("what we wrote"), compact);
    }
}
