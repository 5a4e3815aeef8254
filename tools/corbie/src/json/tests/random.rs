//! Random values of random types survive JSON: `decode(encode(value)) == value`, also by way of
//! text, and their types do too.

use corbie::cdr::{LongDouble, WChar};
use corbie::types::{Any, TypeCode, UnionValue, Value};
use proptest::prelude::*;
use proptest::strategy::Union;

use super::super::INT8_ID;
use super::*;

/// A type and a value of it.
type Typed = (TypeCode, Value);

/// Numbers and other types without parts.
fn numbers() -> Union<BoxedStrategy<Typed>> {
    let finite32 = any::<f32>().prop_filter("NaN is not equal to itself", |f| !f.is_nan());
    let finite64 = any::<f64>().prop_filter("NaN is not equal to itself", |f| !f.is_nan());
    let int8 = || TypeCode::alias(INT8_ID, "int8", TypeCode::OCTET);
    Union::new(vec![
        Just((TypeCode::VOID, Value::Void)).boxed(),
        any::<bool>().prop_map(|v| (TypeCode::BOOLEAN, Value::Boolean(v))).boxed(),
        any::<u8>().prop_map(|v| (TypeCode::OCTET, Value::Octet(v))).boxed(),
        any::<u8>().prop_map(move |v| (int8(), Value::Octet(v))).boxed(),
        any::<i16>().prop_map(|v| (TypeCode::SHORT, Value::Short(v))).boxed(),
        any::<u16>().prop_map(|v| (TypeCode::USHORT, Value::UShort(v))).boxed(),
        any::<i32>().prop_map(|v| (TypeCode::LONG, Value::Long(v))).boxed(),
        any::<u32>().prop_map(|v| (TypeCode::ULONG, Value::ULong(v))).boxed(),
        any::<i64>().prop_map(|v| (TypeCode::LONGLONG, Value::LongLong(v))).boxed(),
        any::<u64>().prop_map(|v| (TypeCode::ULONGLONG, Value::ULongLong(v))).boxed(),
        finite32.prop_map(|v| (TypeCode::FLOAT, Value::Float(v))).boxed(),
        finite64.prop_map(|v| (TypeCode::DOUBLE, Value::Double(v))).boxed(),
        any::<u128>()
            .prop_map(|v| (TypeCode::LONGDOUBLE, Value::LongDouble(LongDouble::from_bits(v))))
            .boxed(),
        (1_u16..=31, any::<i128>(), -3_i16..=31)
            .prop_map(|(digits, value, scale)| {
                let value = value % 10_i128.pow(digits.into());
                (TypeCode::fixed(digits, scale.min(digits.cast_signed())), Value::Fixed(value))
            })
            .boxed(),
    ])
}

/// Texts, enumerators, octets, types.
fn texts() -> Union<BoxedStrategy<Typed>> {
    let text = "[^\\x00]{0,12}";
    Union::new(vec![
        // Beyond ASCII an `any` that is made here cannot hold a char: its text is UTF-8.
        (1_u32..128)
            .prop_map(|v| (TypeCode::CHAR, Value::Char(char::from_u32(v).unwrap_or('x'))))
            .boxed(),
        any::<u16>().prop_map(|v| (TypeCode::WCHAR, Value::WChar(WChar(v)))).boxed(),
        text.prop_map(|v| (TypeCode::string(0), Value::String(v))).boxed(),
        text.prop_map(|v| (TypeCode::string(v.chars().count() as u32), Value::String(v))).boxed(),
        text.prop_map(|v| (TypeCode::wstring(0), Value::WString(v))).boxed(),
        (0_u32..3).prop_map(|v| (colour(), Value::Enum(v))).boxed(),
        prop::collection::vec(any::<u8>(), 0..20)
            .prop_map(|v| (TypeCode::sequence(TypeCode::OCTET, 0), Value::Octets(v)))
            .boxed(),
        prop::collection::vec(any::<u8>(), 1..20)
            .prop_map(|v| (TypeCode::array(TypeCode::OCTET, v.len() as u32), Value::Octets(v)))
            .boxed(),
    ])
}

/// Types that contain the given ones.
fn containers(inner: BoxedStrategy<Typed>) -> BoxedStrategy<Typed> {
    let several = prop::collection::vec(inner.clone(), 0..4);
    prop_oneof![
        several.clone().prop_map(structure),
        (several, any::<prop::sample::Index>(), any::<bool>()).prop_map(union),
        (inner.clone(), 0_usize..4).prop_map(|((type_code, value), count)| list(
            |t, _| TypeCode::sequence(t, 0),
            type_code,
            &value,
            count
        )),
        (inner.clone(), 1_usize..4).prop_map(|((type_code, value), count)| list(
            TypeCode::array,
            type_code,
            &value,
            count
        )),
        inner.clone().prop_map(|part| {
            let id = unique_id("Alias", std::slice::from_ref(&part));
            (TypeCode::alias(&id, "Alias", part.0), part.1)
        }),
        inner.clone().prop_map(|(type_code, value)| {
            let any = Any::from_dynamic(type_code, &value).expect("the value has this type");
            (TypeCode::ANY, Value::Any(Box::new(any)))
        }),
        inner.prop_map(|(type_code, _)| (TypeCode::TYPE_CODE, Value::TypeCode(type_code))),
    ]
    .boxed()
}

/// A repository id that differs from those of all parts: the same id inside is recursion.
fn unique_id(name: &str, parts: &[Typed]) -> String {
    let parts: Vec<String> = parts.iter().map(|(t, _)| t.to_string()).collect();
    format!("IDL:{name}({}):1.0", parts.join(","))
}

fn structure(parts: Vec<Typed>) -> Typed {
    let names: Vec<String> = (0..parts.len()).map(|index| format!("m{index}")).collect();
    let types = names.iter().zip(&parts).map(|(name, (t, _))| (name.as_str(), t.clone()));
    let type_code = TypeCode::structure(&unique_id("S", &parts), "S", &types.collect::<Vec<_>>());
    (type_code, Value::Struct(parts.into_iter().map(|(_, value)| value).collect()))
}

/// A union over `long` with the parts as cases, the last of which may be `default`.
fn union((parts, chosen, with_default): (Vec<Typed>, prop::sample::Index, bool)) -> Typed {
    let names: Vec<String> = (0..parts.len()).map(|index| format!("m{index}")).collect();
    let label = |index: usize| {
        let is_default = with_default && index + 1 == parts.len();
        (!is_default).then_some(index as i128 * 10 - 5)
    };
    let cases: Vec<_> = parts
        .iter()
        .enumerate()
        .map(|(index, (t, _))| (label(index), names[index].as_str(), t.clone()))
        .collect();
    let type_code = TypeCode::union(&unique_id("U", &parts), "U", TypeCode::LONG, &cases);
    let value = if parts.is_empty() {
        UnionValue { discriminator: 77, member: None }
    } else {
        let index = chosen.index(parts.len());
        let discriminator = label(index).unwrap_or(-1_000_000);
        UnionValue { discriminator, member: Some(parts[index].1.clone()) }
    };
    (type_code, Value::Union(Box::new(value)))
}

/// `count` times the same value; octets have their own form.
fn list(
    make: impl Fn(TypeCode, u32) -> TypeCode,
    type_code: TypeCode,
    value: &Value,
    count: usize,
) -> Typed {
    let value = match value {
        Value::Octet(octet) => Value::Octets(vec![*octet; count]),
        other => Value::List(vec![other.clone(); count]),
    };
    (make(type_code, count as u32), value)
}

fn anything() -> impl Strategy<Value = Typed> {
    let leaf = prop_oneof![numbers(), texts()].boxed();
    leaf.prop_recursive(4, 24, 4, |inner| containers(inner.boxed()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn values_survive_json((type_code, value) in anything()) {
        let text = write(&value, &type_code);
        let again = read(&text, &type_code);
        prop_assert_eq!(again, Ok(value), "{}", text);
    }

    #[test]
    fn types_survive_json((type_code, _) in anything()) {
        let json = write(&Value::TypeCode(type_code.clone()), &TypeCode::TYPE_CODE);
        prop_assert_eq!(read(&json, &TypeCode::TYPE_CODE), Ok(Value::TypeCode(type_code)));
    }

    #[test]
    fn any_json_is_read_or_refused_without_a_panic(
        text in "[\\[\\]{}\",:0-9a-z._ ]{0,40}", (type_code, _) in anything(),
    ) {
        if let Ok(json) = serde_json::from_str::<Json>(&text) {
            let _ = decode(&json, &type_code, &Place::Whole("args[0]"), &Nothing::default());
        }
    }

    #[test]
    fn json_of_another_type_is_read_or_refused_without_a_panic(
        (type_code, value) in anything(), (other, _) in anything(),
    ) {
        let json = encode(&value, &type_code, &Nothing::default());
        let _ = decode(&json, &other, &Place::Whole("args[0]"), &Nothing::default());
    }
}
