//! Values of each type, read and written.
//! One test for each row of the table in `corbie call --help`.

use corbie::cdr::{LongDouble, WChar};
use corbie::types::{IiopProfile, Ior, TypeCode, UnionValue, Value};

use super::super::INT8_ID;
use super::*;

#[test]
fn integers_are_exact_to_the_last_bit() {
    for (type_code, least, most) in [
        (TypeCode::OCTET, "0", "255"),
        (TypeCode::SHORT, "-32768", "32767"),
        (TypeCode::USHORT, "0", "65535"),
        (TypeCode::LONG, "-2147483648", "2147483647"),
        (TypeCode::ULONG, "0", "4294967295"),
        (TypeCode::LONGLONG, "-9223372036854775808", "9223372036854775807"),
        (TypeCode::ULONGLONG, "0", "18446744073709551615"),
        (TypeCode::alias(INT8_ID, "int8", TypeCode::OCTET), "-128", "127"),
    ] {
        for text in [least, most] {
            let number = both_ways(text, &type_code);
            let quoted = read(&format!("\"{text}\""), &type_code).unwrap();
            assert_eq!(number, quoted, "a string of digits is read too");
        }
        let beyond = |text: &str, by: i128| (text.parse::<i128>().unwrap() + by).to_string();
        assert!(read(&beyond(least, -1), &type_code).is_err(), "{type_code}");
        assert!(read(&beyond(most, 1), &type_code).is_err(), "{type_code}");
        assert!(read("1.0", &type_code).is_err() && read("1e2", &type_code).is_err());
    }
}

#[test]
fn floats_are_the_shortest_numbers_that_are_read_back() {
    assert_eq!(both_ways("0.1", &TypeCode::FLOAT), Value::Float(0.1));
    assert_eq!(both_ways("0.1", &TypeCode::DOUBLE), Value::Double(0.1));
    assert_eq!(both_ways("1.5e+300", &TypeCode::DOUBLE), Value::Double(1.5e300));
    assert_eq!(both_ways("3.4028235e+38", &TypeCode::FLOAT), Value::Float(f32::MAX));
    assert_eq!(both_ways("5e-324", &TypeCode::DOUBLE), Value::Double(5e-324));
    assert_eq!(read("7", &TypeCode::DOUBLE), Ok(Value::Double(7.0)));
    let Value::Double(zero) = both_ways("-0.0", &TypeCode::DOUBLE) else { panic!() };
    assert!(zero.is_sign_negative());
    assert!(read("1e39", &TypeCode::FLOAT).is_err(), "too large for float");
    assert!(read("1e309", &TypeCode::DOUBLE).is_err(), "too large for double");
}

#[test]
fn what_json_has_no_number_for_is_a_string() {
    for type_code in [TypeCode::FLOAT, TypeCode::DOUBLE] {
        for text in ["\"NaN\"", "\"Infinity\"", "\"-Infinity\""] {
            both_ways(text, &type_code);
        }
        assert!(read("\"nan\"", &type_code).is_err());
        assert!(read("\"1.5\"", &type_code).is_err(), "numbers are not strings");
    }
    both_ways("\"-Infinity\"", &TypeCode::LONGDOUBLE);
}

#[test]
fn a_long_double_keeps_all_its_bits() {
    both_ways("1.5", &TypeCode::LONGDOUBLE);
    let third = LongDouble::from_bits(0x3ffd_5555_5555_5555_5555_5555_5555_5555);
    let json = r#"{"long_double":"0x3ffd5555555555555555555555555555"}"#;
    assert_eq!(both_ways(json, &TypeCode::LONGDOUBLE), Value::LongDouble(third));
    let odd_nan = LongDouble::from_bits(0x7fff_0000_0000_0000_0000_0000_0000_0001);
    let text = write(&Value::LongDouble(odd_nan), &TypeCode::LONGDOUBLE);
    assert_eq!(read(&text, &TypeCode::LONGDOUBLE), Ok(Value::LongDouble(odd_nan)));
    for wrong in [r#"{"long_double":"3ffd"}"#, r#"{"long_double":1}"#, "true"] {
        assert!(read(wrong, &TypeCode::LONGDOUBLE).is_err(), "{wrong}");
    }
}

#[test]
fn fixed_is_a_string_and_a_number_is_read_too() {
    let money = TypeCode::fixed(7, 2);
    assert_eq!(both_ways("\"-12.50\"", &money), Value::Fixed(-1250));
    assert_eq!(read("12.5", &money), Ok(Value::Fixed(1250)));
    let error = read("\"12.505\"", &money).unwrap_err();
    assert!(error.contains("more than 2 digits behind the point"), "{error}");
}

#[test]
fn texts() {
    both_ways(r#""é""#, &TypeCode::CHAR);
    both_ways(r#""€""#, &TypeCode::WCHAR);
    both_ways(r#""snowman ☃, \"quotes\", \n and 😀""#, &TypeCode::string(0));
    both_ways(r#""😀""#, &TypeCode::wstring(2));
    assert_eq!(both_ways("55357", &TypeCode::WCHAR), Value::WChar(WChar(0xd83d)));
    assert_eq!(read("65", &TypeCode::WCHAR), Ok(Value::WChar(WChar(65))));
    for (wrong, type_code) in [
        (r#""ab""#, TypeCode::CHAR),
        (r#""""#, TypeCode::CHAR),
        ("1", TypeCode::CHAR),
        (r#""😀""#, TypeCode::WCHAR),
        (r#""😀""#, TypeCode::wstring(1)),
        (r#""abcd""#, TypeCode::string(3)),
        (r#""a\u0000b""#, TypeCode::string(0)),
        ("null", TypeCode::string(0)),
    ] {
        assert!(read(wrong, &type_code).is_err(), "{wrong} as {type_code}");
    }
}

#[test]
fn enums_structs_and_lists() {
    assert_eq!(both_ways(r#""blue""#, &colour()), Value::Enum(2));
    assert_eq!(read("1", &colour()), Ok(Value::Enum(1)));
    let members = vec![Value::Long(1), Value::Long(-2)];
    assert_eq!(both_ways(r#"{"x":1,"y":-2}"#, &point()), Value::Struct(members.clone()));
    assert_eq!(read(r#"{"y":-2,"x":1}"#, &point()), Ok(Value::Struct(members)));
    let points = TypeCode::sequence(point(), 2);
    both_ways(r#"[{"x":1,"y":2},{"x":3,"y":4}]"#, &points);
    both_ways("[]", &points);
    let matrix = TypeCode::array(TypeCode::array(TypeCode::LONG, 2), 2);
    both_ways("[[1,2],[3,4]]", &matrix);
}

#[test]
fn octet_lists_are_base64() {
    let octets = TypeCode::sequence(TypeCode::OCTET, 4);
    assert_eq!(both_ways(r#"{"base64":"AAEC"}"#, &octets), Value::Octets(vec![0, 1, 2]));
    assert_eq!(read("[0,1,2]", &octets), Ok(Value::Octets(vec![0, 1, 2])));
    assert_eq!(read(r#"{"text":"A"}"#, &octets), Ok(Value::Octets(vec![65])));
    assert!(read("[0,1,2,3,4]", &octets).is_err(), "beyond the bound");
    let digest = TypeCode::array(TypeCode::alias("IDL:Byte:1.0", "Byte", TypeCode::OCTET), 2);
    assert_eq!(read(r#"{"hex":"0aff"}"#, &digest), Ok(Value::Octets(vec![10, 255])));
    assert!(read(r#"{"hex":"0a"}"#, &digest).is_err(), "an array has its length");
    let signed = TypeCode::sequence(TypeCode::alias(INT8_ID, "int8", TypeCode::OCTET), 0);
    assert_eq!(both_ways("[-1,127]", &signed), Value::Octets(vec![255, 127]));
}

fn choice() -> TypeCode {
    let cases = [
        (Some(0), "number", TypeCode::LONG),
        (Some(1), "text", TypeCode::string(0)),
        (Some(2), "text", TypeCode::string(0)),
    ];
    TypeCode::union("IDL:Choice:1.0", "Choice", colour(), &cases)
}

fn union_value(discriminator: i128, member: Option<Value>) -> Value {
    Value::Union(Box::new(UnionValue { discriminator, member }))
}

#[test]
fn a_union_names_its_discriminator_and_its_member() {
    let number = both_ways(r#"{"_d":"red","number":5}"#, &choice());
    assert_eq!(number, union_value(0, Some(Value::Long(5))));
    both_ways(r#"{"_d":"blue","text":"x"}"#, &choice());
    assert_eq!(read(r#"{"number":5}"#, &choice()), Ok(number));
    let text = read(r#"{"text":"x"}"#, &choice()).unwrap();
    assert_eq!(text, union_value(1, Some(Value::String("x".to_owned()))), "the first label");
}

#[test]
fn the_default_of_a_union_takes_a_label_that_nobody_has() {
    let cases = [(Some(0), "zero", TypeCode::OCTET), (None, "other", TypeCode::OCTET)];
    let with_default = TypeCode::union("IDL:U:1.0", "U", TypeCode::SHORT, &cases);
    let other = Some(Value::Octet(9));
    assert_eq!(read(r#"{"other":9}"#, &with_default), Ok(union_value(1, other.clone())));
    assert_eq!(both_ways(r#"{"_d":-7,"other":9}"#, &with_default), union_value(-7, other));
    let cases = [(Some(1), "yes", TypeCode::OCTET)];
    let maybe = TypeCode::union("IDL:M:1.0", "M", TypeCode::BOOLEAN, &cases);
    assert_eq!(both_ways(r#"{"_d":false}"#, &maybe), union_value(0, None));
    both_ways(r#"{"_d":true,"yes":1}"#, &maybe);
}

#[test]
fn a_recursive_value() {
    let id = "IDL:Tree:1.0";
    let branches = TypeCode::sequence(TypeCode::recursive(id), 0);
    let members = [("name", TypeCode::string(0)), ("branches", branches)];
    let tree = TypeCode::structure(id, "Tree", &members);
    let leaf = r#"{"name":"leaf","branches":[]}"#;
    both_ways(&format!(r#"{{"name":"root","branches":[{leaf},{leaf}]}}"#), &tree);
}

#[test]
fn an_any_says_its_type() {
    both_ways(r#"{"type":"long","value":5}"#, &TypeCode::ANY);
    both_ways(r#"{"type":"null","value":null}"#, &TypeCode::ANY);
    for nothing in ["null", "void"] {
        let short = format!(r#"{{"type":"{nothing}"}}"#);
        let long = format!(r#"{{"type":"{nothing}","value":null}}"#);
        assert_eq!(read(&short, &TypeCode::ANY).unwrap(), both_ways(&long, &TypeCode::ANY));
    }
    both_ways(r#"{"type":"Known::Colour","value":"green"}"#, &TypeCode::ANY);
    both_ways(r#"{"type":"sequence<octet>","value":{"base64":"AQ=="}}"#, &TypeCode::ANY);
    both_ways(r#"{"type":"any","value":{"type":"string","value":"inside"}}"#, &TypeCode::ANY);
    let point =
        r#"{"kind":"struct","id":"IDL:P:1.0","name":"P","members":[{"name":"x","type":"long"}]}"#;
    both_ways(&format!(r#"{{"type":{point},"value":{{"x":1}}}}"#), &TypeCode::ANY);
}

#[test]
fn references_are_text_and_nil_is_null() {
    let object = TypeCode::object();
    assert_eq!(both_ways("null", &object), Value::Object(Ior::nil()));
    let profile = IiopProfile::new(corbie::Version::V1_2, "host", 2809, *b"key");
    let ior = Ior::from_iiop("IDL:Point:1.0", &profile).unwrap();
    assert_eq!(both_ways(&format!("\"{ior}\""), &object), Value::Object(ior));
    let error = read(r#""corbaloc::host/x""#, &object).unwrap_err();
    assert_eq!(error, "args[0]: `corbaloc::host/x` cannot be resolved here");
    assert!(read(r#""IOR:zz""#, &object).is_err());
}

#[test]
fn nothing_is_null() {
    assert_eq!(both_ways("null", &TypeCode::VOID), Value::Void);
    assert!(read("0", &TypeCode::VOID).is_err());
    both_ways("true", &TypeCode::BOOLEAN);
    assert!(read("1", &TypeCode::BOOLEAN).is_err());
}
