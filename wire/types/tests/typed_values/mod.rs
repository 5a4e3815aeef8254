//! Types with values of them, at random, for the property tests.
#![allow(missing_docs, unreachable_pub, dead_code)] // a part of each test

use corbie_cdr::{LongDouble, WChar};
use corbie_types::{Any, Ior, TcKind, TypeCode, UnionValue, Value};
use proptest::prelude::*;

pub fn tree() -> TypeCode {
    let children = TypeCode::sequence(TypeCode::recursive("IDL:Tree:1.0"), 0);
    let members = [("label", TypeCode::string(0)), ("children", children)];
    TypeCode::structure("IDL:Tree:1.0", "Tree", &members)
}

/// A type with a value of it.
pub fn typed_value() -> impl Strategy<Value = (TypeCode, Value)> {
    let text = || {
        proptest::collection::vec(1u8..=255, 0..6)
            .prop_map(|octets| octets.into_iter().map(char::from).collect::<String>())
    };
    let leaf = prop_oneof![
        Just((TypeCode::VOID, Value::Void)),
        any::<bool>().prop_map(|v| (TypeCode::BOOLEAN, Value::Boolean(v))),
        any::<u8>().prop_map(|v| (TypeCode::OCTET, Value::Octet(v))),
        (0u8..128).prop_map(|v| (TypeCode::CHAR, Value::Char(char::from(v)))),
        any::<u16>().prop_map(|v| (TypeCode::WCHAR, Value::WChar(WChar(v)))),
        any::<i16>().prop_map(|v| (TypeCode::SHORT, Value::Short(v))),
        any::<u16>().prop_map(|v| (TypeCode::USHORT, Value::UShort(v))),
        any::<i32>().prop_map(|v| (TypeCode::LONG, Value::Long(v))),
        any::<u32>().prop_map(|v| (TypeCode::ULONG, Value::ULong(v))),
        any::<i64>().prop_map(|v| (TypeCode::LONGLONG, Value::LongLong(v))),
        any::<u64>().prop_map(|v| (TypeCode::ULONGLONG, Value::ULongLong(v))),
        any::<i16>().prop_map(|v| (TypeCode::FLOAT, Value::Float(v.into()))),
        any::<i32>().prop_map(|v| (TypeCode::DOUBLE, Value::Double(v.into()))),
        any::<u128>()
            .prop_map(|v| (TypeCode::LONGDOUBLE, Value::LongDouble(LongDouble::from_bits(v)))),
        (0i128..100_000).prop_map(|v| (TypeCode::fixed(5, 2), Value::Fixed(-v))),
        text().prop_map(|v| (TypeCode::string(0), Value::String(v))),
        text().prop_map(|v| (TypeCode::wstring(6), Value::WString(v))),
        any::<Vec<u8>>().prop_map(|v| (TypeCode::sequence(TypeCode::OCTET, 0), Value::Octets(v))),
        (0u32..2).prop_map(|v| {
            (TypeCode::enumeration("IDL:S:1.0", "S", &["a", "b"]), Value::Enum(v))
        }),
        any::<i64>().prop_map(|v| {
            let any = Any::from_value::<i64>(&v).expect("a long long");
            (TypeCode::ANY, Value::Any(Box::new(any)))
        }),
        Just((TypeCode::TYPE_CODE, Value::TypeCode(tree()))),
        Just((TypeCode::object(), Value::Object(Ior::nil()))),
        any::<Vec<u8>>().prop_map(|v| (TypeCode::PRINCIPAL, Value::Principal(v))),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let members = proptest::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (members.clone(), any::<bool>()).prop_map(|(members, exception)| {
                let types: Vec<_> = members.iter().map(|(t, _)| ("m", t.clone())).collect();
                let make = if exception { TypeCode::exception } else { TypeCode::structure };
                let values = members.into_iter().map(|(_, v)| v).collect();
                (make("IDL:X:1.0", "X", &types), Value::Struct(values))
            }),
            (inner.clone(), 0usize..4, any::<bool>()).prop_map(|((t, v), n, array)| {
                let values = vec![v; n];
                let length = u32::try_from(n).expect("small");
                let list =
                    if array { TypeCode::array(t, length) } else { TypeCode::sequence(t, 0) };
                (list, Value::List(values))
            }),
            (members, any::<i16>()).prop_map(|(members, label)| {
                let cases: Vec<_> = members
                    .iter()
                    .enumerate()
                    .map(|(i, (t, _))| (Some(i128::try_from(i).expect("small")), "m", t.clone()))
                    .collect();
                let discriminator = i128::from(label % 4).abs();
                let member = usize::try_from(discriminator).ok().and_then(|i| members.get(i));
                let member = member.map(|(_, v)| v.clone());
                let union = TypeCode::union("IDL:U:1.0", "U", TypeCode::SHORT, &cases);
                (union, Value::Union(Box::new(UnionValue { discriminator, member })))
            }),
            inner.prop_map(|(t, v)| (TypeCode::alias("IDL:A:1.0", "A", t), v)),
        ]
    })
}

/// Lists of octets come back as octets.
pub fn normal(value: Value, of: &TypeCode) -> Value {
    let plain = of.unaliased().expect("complete");
    match value {
        Value::List(values) => {
            let element = plain.content_type().expect("a list");
            if element.unaliased().is_some_and(|e| e.kind() == TcKind::Octet) {
                let octet = |v| if let Value::Octet(v) = v { v } else { unreachable!() };
                return Value::Octets(values.into_iter().map(octet).collect());
            }
            Value::List(values.into_iter().map(|v| normal(v, &element)).collect())
        }
        Value::Struct(values) => {
            let members = plain.members();
            let each = |(v, m): (Value, &corbie_types::Member)| normal(v, &m.type_code);
            Value::Struct(values.into_iter().zip(&members).map(each).collect())
        }
        Value::Union(union) => {
            let case = plain.union_case(union.discriminator);
            let member = case.and_then(|i| plain.union_members().get(i).cloned());
            let member = union.member.zip(member).map(|(v, m)| normal(v, &m.type_code));
            Value::Union(Box::new(UnionValue { discriminator: union.discriminator, member }))
        }
        other => other,
    }
}
