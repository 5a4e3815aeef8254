//! Anys as omniORB and JacORB wrote them (`tests/golden`): types and values are understood, and
//! what we write of them is understood again. TypeCodes with recursion and indirections,
//! wide text with and without byte order mark, exceptions, unions, fixed, nested anys.

use std::collections::HashMap;

use corbie_cdr::{ByteOrder, Decoder, Encoder, Marshal, WChar};
use corbie_types::{Any, Ior, TypeCode, UnionValue, Value, ValueModifier, Visibility};

struct Capture {
    name: String,
    order: ByteOrder,
    octets: Vec<u8>,
}

fn captures(text: &str) -> Vec<Capture> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let capture = |line: &str| {
        let mut fields = line.split(' ');
        let name = fields.next().expect("a name").to_owned();
        let order = match fields.next() {
            Some("big") => ByteOrder::BigEndian,
            Some("little") => ByteOrder::LittleEndian,
            other => panic!("{other:?} is no byte order"),
        };
        let hex = fields.next().expect("octets");
        let octet = |i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hexadecimal");
        let octets = (0..hex.len()).step_by(2).map(octet).collect();
        Capture { name, order, octets }
    };
    lines.map(capture).collect()
}

fn id(name: &str) -> String {
    format!("IDL:Golden/{name}:1.0")
}

fn structure(name: &str, members: &[(&str, TypeCode)]) -> TypeCode {
    TypeCode::structure(&id(name), name, members)
}

fn alias(name: &str, content: TypeCode) -> TypeCode {
    TypeCode::alias(&id(name), name, content)
}

fn union_value(discriminator: i128, member: Value) -> Value {
    Value::Union(Box::new(UnionValue { discriminator, member: Some(member) }))
}

fn text(text: &str) -> Value {
    Value::String(text.into())
}

fn mixed() -> (TypeCode, Value) {
    let members = [
        ("o", TypeCode::OCTET, Value::Octet(1)),
        ("d", TypeCode::DOUBLE, Value::Double(-2.5)),
        ("b", TypeCode::BOOLEAN, Value::Boolean(true)),
        ("ll", TypeCode::LONGLONG, Value::LongLong(-3)),
        ("c", TypeCode::CHAR, Value::Char('x')),
        ("s", TypeCode::SHORT, Value::Short(-4)),
        ("f", TypeCode::FLOAT, Value::Float(0.5)),
        ("w", TypeCode::WCHAR, Value::WChar(WChar(0x20ac))),
        ("ul", TypeCode::ULONG, Value::ULong(4_000_000_000)),
    ];
    let types: Vec<_> = members.iter().map(|(name, t, _)| (*name, t.clone())).collect();
    let values = members.into_iter().map(|(_, _, value)| value).collect();
    (structure("Mixed", &types), Value::Struct(values))
}

/// The types and values of `golden.idl`, as `omniorb.cc` and `JacOrb.java` make them.
fn expected() -> HashMap<&'static str, (TypeCode, Value)> {
    let side = TypeCode::enumeration(&id("Side"), "Side", &["buy", "sell"]);
    let children = alias("TreeSeq", TypeCode::sequence(TypeCode::recursive(&id("Tree")), 0));
    let tree = structure("Tree", &[("label", TypeCode::string(0)), ("children", children)]);
    let leaf = Value::Struct(vec![text("leaf"), Value::List(vec![])]);
    let price = (Some(0), "price", TypeCode::LONG);
    let otherwise = (None, "text", TypeCode::string(0));
    let event = TypeCode::union(&id("Event"), "Event", side.clone(), &[price, otherwise]);
    let small = |label: char| (Some(u32::from(label).into()), "small", TypeCode::OCTET);
    let large = (Some(u32::from('c').into()), "large", TypeCode::DOUBLE);
    let cases = [small('a'), small('b'), large];
    let letter = TypeCode::union(&id("Letter"), "Letter", TypeCode::CHAR, &cases);
    let grid = alias("Grid", TypeCode::array(TypeCode::array(TypeCode::LONG, 3), 2));
    let row = |from| Value::List((from..from + 3).map(Value::Long).collect());
    let rejected = [("why", TypeCode::string(0)), ("code", TypeCode::LONG)];
    let rejected = TypeCode::exception(&id("Rejected"), "Rejected", &rejected);
    let (mixed_type, mixed_value) = mixed();
    let inner = Any::from_value::<i16>(&9).expect("a short");
    let pair = [("one", mixed_type.clone()), ("two", mixed_type.clone()), ("inner", TypeCode::ANY)];
    let pair_value = vec![mixed_value.clone(), mixed_value.clone(), Value::Any(Box::new(inner))];
    HashMap::from([
        ("long", (TypeCode::LONG, Value::Long(-7))),
        ("string", (TypeCode::string(0), text("Grüße"))),
        ("wstring", (TypeCode::wstring(0), Value::WString("a€".into()))),
        ("empty_wstring", (TypeCode::wstring(0), Value::WString(String::new()))),
        ("wchar", (TypeCode::WCHAR, Value::WChar(WChar(0x20ac)))),
        ("side", (side, Value::Enum(1))),
        ("tree", (tree.clone(), Value::Struct(vec![text("root"), Value::List(vec![leaf])]))),
        ("event", (event, union_value(1, text("none")))),
        ("letter", (letter, union_value(u32::from('b').into(), Value::Octet(5)))),
        ("fixed", (TypeCode::fixed(9, 2), Value::Fixed(-123_456_789))),
        ("grid", (grid, Value::List(vec![row(1), row(4)]))),
        (
            "octets",
            (alias("Octets", TypeCode::sequence(TypeCode::OCTET, 0)), Value::Octets(vec![7, 8, 9])),
        ),
        ("rejected", (rejected, Value::Struct(vec![text("closed"), Value::Long(42)]))),
        ("mixed", (mixed_type, mixed_value)),
        ("pair", (structure("Pair", &pair), Value::Struct(pair_value))),
        ("nil", (TypeCode::interface(&id("Target"), "Target"), Value::Object(Ior::nil()))),
        ("type_code", (TypeCode::TYPE_CODE, Value::TypeCode(tree))),
    ])
}

/// A case that selects a member by a number.
fn case(label: i128, name: &'static str, of: TypeCode) -> (Option<i128>, &'static str, TypeCode) {
    (Some(label), name, of)
}

fn basic_types() -> HashMap<&'static str, (TypeCode, Value)> {
    HashMap::from([
        ("null", (TypeCode::NULL, Value::Void)),
        ("void", (TypeCode::VOID, Value::Void)),
        ("boolean", (TypeCode::BOOLEAN, Value::Boolean(true))),
        ("octet", (TypeCode::OCTET, Value::Octet(200))),
        ("char", (TypeCode::CHAR, Value::Char('é'))),
        ("short", (TypeCode::SHORT, Value::Short(-2))),
        ("ushort", (TypeCode::USHORT, Value::UShort(65534))),
        ("ulong", (TypeCode::ULONG, Value::ULong(4_294_967_294))),
        ("longlong", (TypeCode::LONGLONG, Value::LongLong(-2))),
        ("ulonglong", (TypeCode::ULONGLONG, Value::ULongLong(u64::MAX - 1))),
        ("float", (TypeCode::FLOAT, Value::Float(-0.25))),
        ("double", (TypeCode::DOUBLE, Value::Double(1e300))),
        ("bounded_string", (TypeCode::string(8), text("12345678"))),
        ("bounded_wstring", (TypeCode::wstring(5), Value::WString("1234€".into()))),
        ("code", (alias("Code", TypeCode::string(8)), text("12345678"))),
        ("wide_code", (alias("WideCode", TypeCode::wstring(5)), Value::WString("1234€".into()))),
    ])
}

fn node() -> TypeCode {
    let nodes = alias("NodeSeq", TypeCode::sequence(TypeCode::recursive(&id("Node")), 0));
    let members = [("name", TypeCode::string(0)), ("left", nodes.clone()), ("right", nodes)];
    let branch = TypeCode::structure(&id("Node/Branch"), "Branch", &members);
    structure("Node", &[("value", TypeCode::LONG), ("twig", branch)])
}

fn constructed_types() -> HashMap<&'static str, (TypeCode, Value)> {
    let few = alias("Few", TypeCode::sequence(TypeCode::SHORT, 4));
    let few_value = Value::List((1..=3).map(Value::Short).collect());
    let anys = alias("Anys", TypeCode::sequence(TypeCode::ANY, 0));
    let any = |any: Any| Value::Any(Box::new(any));
    let one = Any::string("one").expect("a string");
    let two = Any::from_value::<f64>(&2.0).expect("a double");
    let flags = alias("Flags", TypeCode::sequence(TypeCode::BOOLEAN, 0));
    let flag_values = [true, false, true].map(Value::Boolean).to_vec();
    let doubles = alias("Doubles", TypeCode::sequence(TypeCode::DOUBLE, 0));
    let side = TypeCode::enumeration(&id("Side"), "Side", &["buy", "sell"]);
    let sides = alias("Sides", TypeCode::array(side.clone(), 2));
    let union = |name: &str, of, cases: &[_]| TypeCode::union(&id(name), name, of, cases);
    let flag = union("Flag", TypeCode::BOOLEAN, &[case(1, "yes", TypeCode::LONG)]);
    let no_flag = Value::Union(Box::new(UnionValue { discriminator: 0, member: None }));
    let rest = (None, "rest", TypeCode::OCTET);
    let big = union("Big", TypeCode::LONGLONG, &[case(-5, "low", TypeCode::string(0)), rest]);
    let cases = [case(7, "which", side), case(8, "list", few.clone())];
    let small = union("Small", TypeCode::USHORT, &cases);
    let code = alias("Code", TypeCode::string(8));
    let cases = [case(1, "one", TypeCode::DOUBLE), case(2, "two", code)];
    let wide = union("Wide", TypeCode::ULONG, &cases);
    let empty = || Value::List(vec![]);
    let twig = |name: &str, right| Value::Struct(vec![text(name), empty(), Value::List(right)]);
    let leaf = Value::Struct(vec![Value::Long(2), twig("leaf", vec![])]);
    let root = Value::Struct(vec![Value::Long(1), twig("root", vec![leaf])]);
    let members = [("none", few.clone()), ("nothing", anys.clone()), ("text", TypeCode::string(0))];
    let empties = structure("Empties", &[&members[..], &[("inner", TypeCode::ANY)]].concat());
    let target = TypeCode::interface(&id("Target"), "Target");
    let members = [("one", target.clone()), ("two", target), ("other", TypeCode::object())];
    let nils = vec![Value::Object(Ior::nil()); 3];
    HashMap::from([
        ("few", (few, few_value.clone())),
        ("anys", (anys, Value::List(vec![any(one), any(two)]))),
        ("flags", (flags, Value::List(flag_values))),
        ("doubles", (doubles, Value::List([0.5, -0.5].map(Value::Double).to_vec()))),
        ("sides", (sides, Value::List([1, 0].map(Value::Enum).to_vec()))),
        ("flag", (flag.clone(), union_value(1, Value::Long(9)))),
        ("no_flag", (flag, no_flag)),
        ("big", (big.clone(), union_value(-5, text("deep")))),
        ("big_default", (big, union_value(0, Value::Octet(3)))),
        ("small", (small, union_value(8, few_value))),
        ("wide", (wide, union_value(1, Value::Double(0.125)))),
        ("nothing", (TypeCode::exception(&id("Nothing"), "Nothing", &[]), Value::Struct(vec![]))),
        ("node", (node(), root)),
        (
            "empties",
            (empties, Value::Struct(vec![empty(), empty(), text(""), any(Any::default())])),
        ),
        ("targets", (structure("Targets", &members), Value::Struct(nils))),
    ])
}

/// TypeCodes as values, also of types whose values are not sent here.
fn type_codes() -> HashMap<&'static str, (TypeCode, Value)> {
    let (public, private) = (Visibility::Public, Visibility::Private);
    let members = [("a", TypeCode::LONG, public), ("b", TypeCode::string(0), private)];
    let plain = ValueModifier::None;
    let base = TypeCode::value(&id("Base"), "Base", plain, None, &members);
    let again = [("again", TypeCode::recursive(&id("Derived")), public)];
    let modifier = ValueModifier::Truncatable;
    let derived = TypeCode::value(&id("Derived"), "Derived", modifier, Some(base.clone()), &again);
    [
        ("tc_abstract", TypeCode::abstract_interface(&id("Ab"), "Ab")),
        ("tc_local", TypeCode::local_interface(&id("Lo"), "Lo")),
        ("tc_box", TypeCode::value_box(&id("Bo"), "Bo", TypeCode::string(0))),
        ("tc_value", base),
        ("tc_derived", derived),
        ("tc_node", node()),
        ("tc_object", TypeCode::object()),
    ]
    .map(|(name, type_code)| (name, (TypeCode::TYPE_CODE, Value::TypeCode(type_code))))
    .into()
}

/// A reference of nil may have the type id of its interface or of Object.
fn without_type_ids(value: Value) -> Value {
    match value {
        Value::Object(reference) if reference.is_nil() => Value::Object(Ior::nil()),
        Value::Struct(members) => {
            Value::Struct(members.into_iter().map(without_type_ids).collect())
        }
        other => other,
    }
}

fn check(text: &str, names: usize, orders: usize, same_octets: bool) {
    let mut expected = expected();
    expected.extend(basic_types());
    expected.extend(constructed_types());
    expected.extend(type_codes());
    let captures = captures(text);
    assert_eq!(captures.len(), orders * names);
    for Capture { name, order, octets } in captures {
        let (type_code, value) = expected.get(name.as_str()).expect("a known name");
        let mut d = Decoder::new(&octets, order);
        let any = Any::decode(&mut d).unwrap_or_else(|error| panic!("{name} {order}: {error}"));
        assert_eq!(d.remaining(), 0, "{name} {order}");
        match (name.as_str(), orders) {
            // JacORB calls the type of every nil reference Object.
            ("nil", 1) => assert_eq!(any.type_code(), &TypeCode::object()),
            // JacORB lists the labels of one case backwards.
            ("letter", 1) => assert!(any.type_code().equivalent(type_code)),
            _ => assert_eq!(any.type_code(), type_code, "{name} {order}"),
        }
        let got = without_type_ids(any.to_value().expect("it was walked over"));
        assert_eq!(&got, value, "{name} {order}");
        for again in [order, order.opposite()] {
            let mut e = Encoder::new(Vec::new(), again);
            Any::encode(&any, &mut e).expect("it can be sent");
            let written = e.to_vec();
            assert_eq!(Any::decode(&mut Decoder::new(&written, again)), Ok(any.clone()));
            // JacORB's labels of `default` are octets, whatever the discriminator is, and it repeats
            // the type of a reference by an indirection, which some ORBs refuse.
            let is_like_ours = same_octets && !name.starts_with("big") && name != "targets";
            if is_like_ours && again == order {
                assert_eq!(written, octets, "{name} {order}");
            }
        }
    }
}

#[test]
fn omniorb() {
    check(include_str!("golden/omniorb.txt"), 53, 2, false);
}

#[test]
fn jacorb() {
    check(include_str!("golden/jacorb.txt"), 49, 1, true);
}
