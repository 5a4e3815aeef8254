//! Names as text, for any name: every name can be written, what is written is read again, and
//! what is read is written the same but for escapes that were not needed (Naming Service 1.3 §2.4).

use corbie::ObjectUrl;
use corbie_naming::{NameComponent, parse, stringify, url};
use proptest::prelude::*;

/// Parts of names, with the characters that need escapes more often than chance has them.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c./\\\\]{0,6}",
        "[ -~]{0,8}",
        any::<String>().prop_map(|text| text.replace('\0', "")),
    ]
}

fn name() -> impl Strategy<Value = Vec<NameComponent>> {
    let component = (part(), part()).prop_map(|(id, kind)| NameComponent { id, kind });
    proptest::collection::vec(component, 1..8)
}

proptest! {
    #[test]
    fn every_name_is_read_as_it_was_written(name in name()) {
        let text = stringify(&name);
        prop_assert_eq!(parse(&text), Ok(name));
    }

    #[test]
    fn a_text_that_is_read_is_written_at_most_as_long(text in "[a-c./\\\\]{0,12}") {
        match parse(&text) {
            Ok(name) => {
                let again = stringify(&name);
                prop_assert!(again.len() <= text.len());
                prop_assert_eq!(parse(&again), Ok(name));
            }
            Err(error) => prop_assert!(error.at <= text.len() && !error.needed.is_empty()),
        }
    }

    #[test]
    fn names_go_through_urls(name in name()) {
        let text = stringify(&name);
        let made = url(":example.org:2809/NameService", &text).expect("name and address are good");
        match made.parse() {
            Ok(ObjectUrl::Corbaname(read)) => prop_assert_eq!(parse(&read.name), Ok(name)),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn different_names_have_different_texts(one in name(), other in name()) {
        prop_assert_eq!(one == other, stringify(&one) == stringify(&other));
    }
}

/// The examples of the specification, and each rule of the grammar.
#[test]
fn the_grammar_of_the_specification() {
    let components = |text: &str| -> Vec<(String, String)> {
        parse(text).expect(text).into_iter().map(|c| (c.id, c.kind)).collect()
    };
    let pair = |id: &str, kind: &str| (id.to_owned(), kind.to_owned());
    assert_eq!(components("a/b/c"), [pair("a", ""), pair("b", ""), pair("c", "")]);
    assert_eq!(
        components("id1/./id3.kind3"),
        [pair("id1", ""), pair("", ""), pair("id3", "kind3")]
    );
    assert_eq!(components("a.b/c.d/.e"), [pair("a", "b"), pair("c", "d"), pair("", "e")]);
    assert_eq!(components(r"a/x\/y\/z/b"), [pair("a", ""), pair("x/y/z", ""), pair("b", "")]);
    assert_eq!(components(r"a\.b.c\.d"), [pair("a.b", "c.d")]);
    assert_eq!(components(r"c:\\temp"), [pair(r"c:\temp", "")]);
    let at = |text: &str| parse(text).expect_err(text).at;
    assert_eq!(
        [at(""), at("a//b"), at("a/"), at("a."), at("a.b.c"), at(r"a\b"), at(r"a\")],
        [0, 2, 2, 2, 3, 1, 1]
    );
}
