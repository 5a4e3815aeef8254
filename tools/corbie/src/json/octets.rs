//! Octet sequences and arrays: base64 in JSON, with three more forms for people to write.
//!
//! Used by `decode` and `encode`. An array of numbers would be four times as large.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::mismatch::Mismatch;
use super::number;

const FORMS: &str = r#"{"base64": …}, {"hex": …}, {"text": …} or an array of numbers"#;

/// Reads octets in any of the forms.
pub(super) fn octets(json: &Json) -> Result<Vec<u8>, Mismatch> {
    match json {
        Json::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(index, element)| {
                number::integer(element, 0, 255).map_err(|mismatch| mismatch.inside(index))
            })
            .collect(),
        Json::Object(members) if members.len() == 1 => {
            let (form, text) = members.iter().next().ok_or_else(|| unknown(json))?;
            match (form.as_str(), text.as_str()) {
                ("base64", Some(text)) => STANDARD
                    .decode(text)
                    .map_err(|error| Mismatch::new(format!("this is not base64: {error}"))),
                ("hex", Some(text)) => from_hex(text),
                ("text", Some(text)) => Ok(text.as_bytes().to_vec()),
                _ => Err(unknown(json)),
            }
        }
        _ => Err(unknown(json)),
    }
}

fn unknown(json: &Json) -> Mismatch {
    Mismatch::expected(FORMS, json)
}

/// Two hexadecimal digits for each octet; white space between octets is passed over.
fn from_hex(text: &str) -> Result<Vec<u8>, Mismatch> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let octet = |pair: &[char]| match pair {
        [high, low] => Some(high.to_digit(16)? << 4 | low.to_digit(16)?),
        _ => None,
    };
    digits
        .chunks(2)
        .map(|pair| octet(pair).and_then(|octet| u8::try_from(octet).ok()))
        .collect::<Option<Vec<u8>>>()
        .ok_or_else(|| Mismatch::new("two hexadecimal digits for each octet are needed"))
}

/// Octets as base64.
pub(super) fn octets_to_json(octets: &[u8]) -> Json {
    json!({ "base64": STANDARD.encode(octets) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_reads_the_same_octets() {
        for form in [
            json!({"base64": "AP8Q"}),
            json!({"hex": "00ff10"}),
            json!({"hex": "00 FF 10"}),
            json!([0, 255, 16]),
            json!([0, "255", 16]),
        ] {
            assert_eq!(octets(&form).unwrap(), [0, 255, 16], "{form}");
        }
        assert_eq!(octets(&json!({"text": "é"})).unwrap(), "é".as_bytes());
        assert_eq!(octets(&octets_to_json(&[7; 100])).unwrap(), [7; 100]);
    }

    #[test]
    fn what_is_no_octets_is_refused() {
        for wrong in [
            json!("AP8Q"),
            json!(1),
            json!({"base64": "AP8"}),
            json!({"hex": "0"}),
            json!({"hex": "0g"}),
            json!({"base64": "", "hex": ""}),
            json!({"bin": "1"}),
            json!([256]),
            json!([-1]),
            json!([1.5]),
        ] {
            assert!(octets(&wrong).is_err(), "{wrong}");
        }
    }
}
