//! TypeCodes as JSON, in both directions.
//! The forms are those of `corbie call --help`.

use corbie::types::{TypeCode, Value, ValueModifier, Visibility};

use super::*;

fn type_both_ways(json: &str) -> TypeCode {
    match both_ways(json, &TypeCode::TYPE_CODE) {
        Value::TypeCode(type_code) => type_code,
        other => panic!("{json} became {other:?}"),
    }
}

#[test]
fn types_without_definitions_are_text() {
    for text in [
        "null",
        "void",
        "boolean",
        "char",
        "wchar",
        "octet",
        "short",
        "unsigned short",
        "long",
        "unsigned long",
        "long long",
        "unsigned long long",
        "float",
        "double",
        "long double",
        "any",
        "TypeCode",
        "Principal",
        "Object",
        "string",
        "string<8>",
        "wstring",
        "wstring<3>",
        "fixed<31,0>",
        "fixed<5,2>",
        "fixed<3,-2>",
        "sequence<long>",
        "sequence<string<3>,7>",
        "sequence<sequence<octet>,4>",
        "sequence<Known::Colour>",
        "Known::Colour",
    ] {
        type_both_ways(&format!("\"{text}\""));
    }
}

#[test]
fn spaces_and_the_words_of_idl_4_are_read() {
    for (text, type_code) in [
        ("uint8", TypeCode::OCTET),
        ("int64", TypeCode::LONGLONG),
        (" unsigned   long ", TypeCode::ULONG),
        ("sequence< long , 3 >", TypeCode::sequence(TypeCode::LONG, 3)),
        ("sequence<sequence<long, 3>>", {
            TypeCode::sequence(TypeCode::sequence(TypeCode::LONG, 3), 0)
        }),
        ("fixed< 5 , 2 >", TypeCode::fixed(5, 2)),
    ] {
        let read = read(&format!("\"{text}\""), &TypeCode::TYPE_CODE).unwrap();
        assert_eq!(read, Value::TypeCode(type_code), "{text}");
    }
}

#[test]
fn wrong_types_are_refused() {
    for (json, expected) in [
        (r#""sequence<long""#, "does not end with the `>`"),
        (r#""string<x>""#, "`x` in `string<x>` is not a bound"),
        (r#""fixed<40,2>""#, "is not fixed<DIGITS,SCALE>"),
        (r#""map<long>""#, "`map<…>` is not a type"),
        (r#""Un::Known""#, "there is no type `Un::Known`"),
        (r#"{"kind":"structure"}"#, "there is no kind of type `structure`; did you mean `struct`?"),
        (r#"{"kind":"struct"}"#, "expected a type with `members`"),
        (r#"{"kind":"array","element":"long"}"#, "expected a type with `length`"),
        ("7", "expected a type: text, or an object"),
    ] {
        let text = read(json, &TypeCode::TYPE_CODE).unwrap_err();
        assert!(text.contains(expected), "{json}: {text}");
    }
}

#[test]
fn constructed_types_are_objects() {
    for json in [
        r#"{"kind":"struct","id":"IDL:S:1.0","name":"S","members":[{"name":"a","type":"long"}]}"#,
        r#"{"kind":"exception","id":"IDL:E:1.0","name":"E","members":[]}"#,
        r#"{"kind":"enum","id":"IDL:N:1.0","name":"N","enumerators":["a","b"]}"#,
        r#"{"kind":"alias","id":"IDL:A:1.0","name":"A","type":"string"}"#,
        r#"{"kind":"array","element":"long","length":3}"#,
        r#"{"kind":"interface","id":"IDL:I:1.0","name":"I"}"#,
        r#"{"kind":"abstract_interface","id":"IDL:I:1.0","name":"I"}"#,
        r#"{"kind":"native","id":"IDL:I:1.0","name":"I"}"#,
        r#"{"kind":"value_box","id":"IDL:B:1.0","name":"B","type":"long"}"#,
    ] {
        type_both_ways(json);
    }
    let union = r#"{"kind":"union","id":"IDL:U:1.0","name":"U","discriminator":"short","cases":[{"label":-1,"name":"a","type":"long"},{"label":null,"name":"b","type":"octet"}]}"#;
    let union = type_both_ways(union);
    assert_eq!(union.union_members()[0].label, Some(-1));
    assert_eq!(union.union_members()[1].label, None);
    let value = r#"{"kind":"value","id":"IDL:V:1.0","name":"V","modifier":"custom","base":"null","members":[{"name":"a","type":"long","public":true}]}"#;
    let value = type_both_ways(value);
    assert_eq!(value.value_modifier(), Some(ValueModifier::Custom));
    assert_eq!(value.value_members()[0].visibility, Visibility::Public);
}

#[test]
fn recursive_types_refer_to_themselves_by_id() {
    let json = r#"{"kind":"struct","id":"IDL:T:1.0","name":"T","members":[{"name":"next","type":{"kind":"sequence","element":{"kind":"recursive","id":"IDL:T:1.0"},"bound":0}}]}"#;
    let tree = type_both_ways(json);
    assert!(tree.is_complete());
    let element = tree.members()[0].type_code.content_type().unwrap();
    assert_eq!(element, tree);
}
