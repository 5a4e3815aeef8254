//! Rust names made from IDL identifiers.
//!
//! Used by `names` for definitions and by the emitters for members and parameters. The words of an
//! identifier are found at underscores and at changes of case (`get_URL`, `CosNaming`,
//! `IIOPProfile`), then joined as Rust writes the kind of item (RFC 430). Keywords become raw
//! identifiers, and the few that cannot be raw get a trailing underscore.

use proc_macro2::{Ident, Span};

/// How Rust writes a kind of item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// `snake_case`: modules, functions, fields, parameters.
    Snake,
    /// `UpperCamelCase`: types, traits, variants.
    Camel,
    /// `SCREAMING_SNAKE_CASE`: constants.
    Screaming,
}

/// The IDL identifier in the given case, keywords not yet escaped.
pub(crate) fn convert(idl: &str, case: Case) -> String {
    let words = words(idl);
    let name = match case {
        Case::Snake => words.join("_").to_lowercase(),
        Case::Screaming => words.join("_").to_uppercase(),
        Case::Camel => camel(&words),
    };
    // An identifier of underscores only has no words.
    if name.is_empty() { "_x".to_owned() } else { name }
}

/// The identifier, raw or with an underscore appended where it would be a keyword.
pub(crate) fn ident(name: &str) -> Ident {
    // These four cannot be raw identifiers; a lone underscore is no identifier at all.
    if matches!(name, "self" | "Self" | "super" | "crate" | "_") {
        return Ident::new(&format!("{name}_"), Span::call_site());
    }
    // `gen` is reserved since edition 2024.
    if name == "gen" || syn::parse_str::<Ident>(name).is_err() {
        return Ident::new_raw(name, Span::call_site());
    }
    Ident::new(name, Span::call_site())
}

fn words(idl: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in idl.split('_').filter(|part| !part.is_empty()) {
        let letters: Vec<char> = part.chars().collect();
        let mut word = String::new();
        for (at, &letter) in letters.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| letters[before]);
            let after = letters.get(at + 1);
            let starts_word = before.is_some_and(|before| {
                let rises = !before.is_uppercase() && letter.is_uppercase();
                let last_capital_of_acronym = before.is_uppercase()
                    && letter.is_uppercase()
                    && after.is_some_and(|after| after.is_lowercase())
                    // The plural of an acronym: `URLs`.
                    && !(after == Some(&'s') && at + 2 == letters.len());
                rises || last_capital_of_acronym
            });
            if starts_word {
                words.push(std::mem::take(&mut word));
            }
            word.push(letter);
        }
        words.push(word);
    }
    words
}

fn camel(words: &[String]) -> String {
    let mut name = String::new();
    for word in words {
        // `V1_2` must not become `V12`: digits on both sides keep their underscore.
        let digits_meet = name.ends_with(|c: char| c.is_ascii_digit())
            && word.starts_with(|c: char| c.is_ascii_digit());
        if digits_meet {
            name.push('_');
        }
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.extend(letters.map(|letter| letter.to_ascii_lowercase()));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ident_in(idl: &str, case: Case) -> Ident {
        ident(&convert(idl, case))
    }

    #[track_caller]
    fn check(idl: &str, snake: &str, camel: &str) {
        assert_eq!(convert(idl, Case::Snake), snake);
        assert_eq!(convert(idl, Case::Camel), camel);
        assert_eq!(convert(idl, Case::Screaming), snake.to_uppercase());
    }

    #[test]
    fn words_are_found_at_underscores_and_changes_of_case() {
        check("Stock", "stock", "Stock");
        check("Invalid_Stock_Symbol", "invalid_stock_symbol", "InvalidStockSymbol");
        check("get_quote", "get_quote", "GetQuote");
        check("CosNaming", "cos_naming", "CosNaming");
        check("CORBA", "corba", "Corba");
        check("IIOPProfile", "iiop_profile", "IiopProfile");
        check("getURL", "get_url", "GetUrl");
        check("URLs", "urls", "Urls");
        check("CORBA_InitialReferences", "corba_initial_references", "CorbaInitialReferences");
        check("tk_ushort", "tk_ushort", "TkUshort");
        check("x", "x", "X");
        check("dk_AbstractInterface", "dk_abstract_interface", "DkAbstractInterface");
    }

    #[test]
    fn digits_belong_to_the_word_before_them() {
        check("V1_2", "v1_2", "V1_2");
        check("V12", "v12", "V12");
        check("Foo2Bar", "foo2_bar", "Foo2Bar");
        check("int8", "int8", "Int8");
        check("SecurityLevel1", "security_level1", "SecurityLevel1");
        check("R_3_R", "r_3_r", "R3R");
    }

    #[test]
    fn odd_underscores_vanish() {
        check("a__b_", "a_b", "AB");
        assert_eq!(ident_in("__", Case::Snake).to_string(), "_x");
    }

    #[test]
    fn keywords_are_escaped() {
        assert_eq!(ident_in("type", Case::Snake).to_string(), "r#type");
        assert_eq!(ident_in("Async", Case::Snake).to_string(), "r#async");
        assert_eq!(ident_in("gen", Case::Snake).to_string(), "r#gen");
        assert_eq!(ident_in("self", Case::Snake).to_string(), "self_");
        assert_eq!(ident_in("self", Case::Camel).to_string(), "Self_");
        assert_eq!(ident_in("Super", Case::Snake).to_string(), "super_");
        assert_eq!(ident_in("union", Case::Snake).to_string(), "union");
        assert_eq!(ident_in("Type", Case::Camel).to_string(), "Type");
    }
}
