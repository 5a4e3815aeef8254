//! What is said about JSON that does not fit: where, what was expected, what was found.
//! The sentences are part of the command: people read nothing else when a call is refused.

use corbie::types::TypeCode;

use super::super::text;
use super::*;

fn error(json: &str, type_code: &TypeCode) -> String {
    read(json, type_code).expect_err("this JSON does not fit")
}

#[test]
fn errors_name_the_place_deep_inside() {
    let person = TypeCode::structure("IDL:Person:1.0", "Person", &[("name", TypeCode::string(0))]);
    let members = [("members", TypeCode::sequence(person, 0))];
    let group = TypeCode::structure("IDL:Group:1.0", "Group", &members);
    let text = error(r#"{"members":[{"name":"a"},{"name":5}]}"#, &group);
    assert_eq!(text, "args[0].members[1].name: expected a string, found 5");
    let text = error(r#"{"members":[{}]}"#, &group);
    assert_eq!(text, "args[0].members[0]: the member `name` of Person is missing");
    let text = error(r#"{"members":[{"nmae":"a"}]}"#, &group);
    assert_eq!(text, "args[0].members[0]: Person has no member `nmae`; did you mean `name`?");
}

#[test]
fn each_type_says_what_it_expects() {
    for (json, type_code, expected) in [
        ("\"x\"", TypeCode::LONG, "expected a whole number, found \"x\""),
        ("300", TypeCode::OCTET, "300 is not between 0 and 255"),
        ("0", TypeCode::BOOLEAN, "expected true or false, found 0"),
        ("[]", TypeCode::DOUBLE, "expected a number, \"NaN\", \"Infinity\" or \"-Infinity\""),
        ("\"gren\"", colour(), "\"gren\" is not an enumerator of Colour; did you mean `green`?"),
        ("9", colour(), "9 is not an enumerator of Colour; there are `red`"),
        ("5", point(), "expected an object with the members, found 5"),
        ("5", TypeCode::sequence(point(), 0), "expected an array, found 5"),
        ("[1,2]", TypeCode::array(TypeCode::LONG, 3), "2 elements, but the array has 3"),
        ("[1,2]", TypeCode::sequence(TypeCode::LONG, 1), "bound of the type is 1"),
        ("[256]", TypeCode::sequence(TypeCode::OCTET, 0), "element 0: 256 is not between"),
        ("5", TypeCode::ANY, "expected {\"type\": TYPE, \"value\": VALUE}, found 5"),
        ("{\"type\":\"long\"}", TypeCode::ANY, "expected {\"type\": TYPE"),
        ("{\"type\":\"lnog\",\"value\":1}", TypeCode::ANY, "args[0].type: there is no type `lnog`"),
        ("{\"type\":\"long\",\"value\":\"x\"}", TypeCode::ANY, "args[0].value: expected a whole"),
        ("5", TypeCode::object(), "expected a reference as a string, or null"),
    ] {
        let text = error(json, &type_code);
        assert!(text.contains(expected), "{json} as {type_code}: {text}");
    }
}

#[test]
fn unions_say_which_member_belongs_to_the_discriminator() {
    let cases = [(Some(0), "a", TypeCode::LONG), (Some(1), "b", TypeCode::LONG)];
    let union = TypeCode::union("IDL:U:1.0", "U", colour(), &cases);
    for (json, expected) in [
        (r#"{"_d":"red","b":1}"#, "the discriminator selects the member `a`, not `b`"),
        (r#"{"_d":"red"}"#, "the member `a`, which the discriminator selects, is missing"),
        (r#"{"_d":"blue","a":1}"#, "the discriminator selects no member, not `a`"),
        (r#"{"_d":"rde","a":1}"#, "args[0]._d: \"rde\" is not an enumerator"),
        (r#"{"c":1}"#, "U has no member `c`"),
        (r#"{"a":1,"b":1}"#, "one member, or `_d` and its member, is needed"),
        ("{}", "one member, or `_d` and its member, is needed"),
        (r#"{"_d":"green","b":"x"}"#, "args[0].b: expected a whole number"),
        ("[]", "expected {\"_d\": discriminator"),
    ] {
        let text = error(json, &union);
        assert!(text.contains(expected), "{json}: {text}");
    }
}

#[test]
fn a_default_without_a_free_label_needs_its_discriminator() {
    let cases = [
        (Some(0), "no", TypeCode::LONG),
        (Some(1), "yes", TypeCode::LONG),
        (None, "other", TypeCode::LONG),
    ];
    let union = TypeCode::union("IDL:U:1.0", "U", TypeCode::BOOLEAN, &cases);
    let text = error(r#"{"other":1}"#, &union);
    assert!(text.contains("`other` alone does not say the discriminator"), "{text}");
}

#[test]
fn long_values_are_cut_in_errors() {
    let text = error(&format!("\"{}\"", "é".repeat(1000)), &TypeCode::LONG);
    assert!(text.ends_with('…') && text.chars().count() < 120, "{text}");
}

#[test]
fn text_that_is_no_json_says_how_to_quote() {
    let place = Place::Whole("args[0]");
    let failure = text::parse("IBM", &place).unwrap_err();
    assert_eq!(failure.status, crate::failure::WRONG_USAGE);
    let sentence = failure.to_string();
    assert!(sentence.contains("args[0] is not JSON: `IBM`"), "{sentence}");
    assert!(sentence.contains(r#"write '"IBM"' with both kinds of quotes"#), "{sentence}");
    let sentence = text::parse("[1,", &place).unwrap_err().to_string();
    assert!(!sentence.contains("quotes"), "{sentence}");
}

#[test]
fn json_that_nests_without_end_is_refused() {
    let deep = "[".repeat(100_000);
    assert!(text::parse(&deep, &Place::Whole("args[0]")).is_err());
}

#[test]
fn an_argument_may_stand_in_a_file() {
    let path = std::env::temp_dir().join(format!("corbie-argument-{}.json", std::process::id()));
    std::fs::write(&path, "[1, 2]").unwrap();
    let loaded = text::load(&format!("@{}", path.display()), "args[0]");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(loaded.unwrap(), "[1, 2]");
    let missing = text::load("@/nowhere/x.json", "args[0]").unwrap_err().to_string();
    assert!(missing.contains("/nowhere/x.json") && missing.contains("args[0]"), "{missing}");
}
