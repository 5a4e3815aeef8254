//! Anys as omniORB and JacORB wrote them (`tests/golden`): types and values are understood, and
//! what we write of them is understood again. TypeCodes with recursion and indirections,
//! wide text with and without byte order mark, exceptions, unions, fixed, nested anys.

use std::collections::HashMap;

use corbie_cdr::{ByteOrder, Decoder, Encoder, Marshal, WChar};
use corbie_types::{Any, Ior, TypeCode, UnionValue, Value};

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

fn check(text: &str, orders: usize, same_octets: bool) {
    let expected = expected();
    let captures = captures(text);
    assert_eq!(captures.len(), orders * expected.len());
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
        let got = any.to_value().expect("it was walked over");
        // An Ior of nil may have the type id of Object.
        match got {
            Value::Object(reference) => assert!(reference.is_nil()),
            got => assert_eq!(&got, value, "{name} {order}"),
        }
        for again in [order, order.opposite()] {
            let mut e = Encoder::new(Vec::new(), again);
            Any::encode(&any, &mut e).expect("it can be sent");
            let written = e.to_vec();
            assert_eq!(Any::decode(&mut Decoder::new(&written, again)), Ok(any.clone()));
            if same_octets && again == order {
                assert_eq!(written, octets, "{name} {order}");
            }
        }
    }
}

#[test]
fn omniorb() {
    check(include_str!("golden/omniorb.txt"), 2, false);
}

#[test]
fn jacorb() {
    check(include_str!("golden/jacorb.txt"), 1, true);
}
