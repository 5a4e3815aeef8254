//! Every error is a sentence: what was read or written, where, what was found, what was needed.
//! Run with `--nocapture` to read them all.

use corbie_cdr::idl::{BoundedString, Sequence};
use corbie_cdr::{
    ByteOrder, CodeSet, CodeSets, Decoder, Direction, Encoder, Error, ErrorKind, Fixed, Limits,
    Marshal, Version, WChar,
};

fn reading<M: Marshal>(octets: &[u8]) -> Error
where
    M::Value: std::fmt::Debug,
{
    M::decode(&mut Decoder::new(octets, ByteOrder::BigEndian)).expect_err("malformed")
}

fn reading_with(set: impl FnOnce(&mut Decoder<'static>) -> Option<Error>) -> Error {
    set(&mut Decoder::new(&[0, 0, 0, 2, 0xff, 0], ByteOrder::BigEndian)).expect("malformed")
}

fn writing(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), Error>) -> Error {
    write(&mut Encoder::native()).expect_err("not sendable")
}

fn from_decoders() -> Vec<Error> {
    let d = Decoder::new(&[], ByteOrder::BigEndian);
    static SHALLOW: Limits = Limits { nesting_depth: 0, ..Limits::DEFAULT };
    vec![
        reading::<u32>(&[0, 0]),
        reading::<Sequence<u32>>(&[0, 0, 0, 9, 0]),
        reading::<bool>(&[2]),
        reading::<String>(&[0, 0, 0, 1, 65]),
        reading::<BoundedString<1>>(&[0, 0, 0, 3, 65, 65, 0]),
        reading::<Fixed<3, 1>>(&[0xff, 0xff]),
        reading::<WChar>(&[1, 0]),
        reading_with(|d| {
            d.set_code_sets(CodeSets::UNICODE);
            d.read_string().err()
        }),
        reading_with(|d| {
            d.set_version(Version::V1_0);
            d.read_wstring().err()
        }),
        reading_with(|d| {
            d.set_code_sets(CodeSets { wchar_data: CodeSet(0xbad), ..CodeSets::DEFAULT });
            d.read_wchar().err()
        }),
        reading_with(|d| {
            d.set_limits(&SHALLOW);
            d.nested(|_| Ok(())).err()
        }),
        d.invalid_enumerator("Stock::Side", 7, 2),
        d.invalid_discriminator("Stock::Event", 9),
        d.not_implemented("valuetype Stock::History"),
        d.error(ErrorKind::InvalidReference, "object reference", "no profile", "one at least"),
        d.error(ErrorKind::BadTypeCode, "TypeCode", "the kind 99", "0 to 36"),
    ]
}

fn from_encoders() -> Vec<Error> {
    vec![
        writing(|e| e.write_string("a\0b")),
        writing(|e| e.write_string("€")),
        writing(|e| BoundedString::<2>::write("abc", e)),
        writing(|e| e.write_char('€')),
        writing(|e| {
            e.set_version(Version::V1_0);
            e.write_wchar(WChar(65))
        }),
        writing(|e| corbie_cdr::encode_fixed(1000, 3, e)),
        Encoder::native().not_implemented("valuetype Stock::History"),
    ]
}

#[test]
fn every_error_is_a_sentence() {
    let mut kinds = Vec::new();
    for (errors, direction, verb) in [
        (from_decoders(), Direction::Reading, "cannot read "),
        (from_encoders(), Direction::Writing, "cannot write "),
    ] {
        for error in errors {
            let text = error.to_string();
            println!("{:?}: {text}", error.kind());
            assert_eq!(error.direction(), direction);
            assert!(text.starts_with(verb), "{text}");
            for part in [error.what(), error.found(), error.needed()] {
                assert!(!part.is_empty() && text.contains(part), "{part:?} in {text}");
            }
            assert!(text.contains(&format!("at octet {}", error.offset())), "{text}");
            assert!(text.is_char_boundary(text.len()) && !text.contains('\n'), "{text}");
            kinds.push(error.kind());
        }
    }
    for kind in [
        ErrorKind::UnexpectedEnd,
        ErrorKind::InvalidValue,
        ErrorKind::LimitExceeded,
        ErrorKind::DataConversion,
        ErrorKind::BadParameter,
        ErrorKind::CodeSetIncompatible,
        ErrorKind::WideCharacterInGiop10,
        ErrorKind::InvalidReference,
        ErrorKind::BadTypeCode,
        ErrorKind::NotImplemented,
    ] {
        assert!(kinds.contains(&kind), "{kind:?} has no example");
    }
}

#[test]
fn the_place_of_an_error_counts_from_the_start_of_the_message() {
    let error = reading::<Sequence<bool>>(&[0, 0, 0, 3, 1, 1, 9]);
    assert_eq!(
        error.to_string(),
        "cannot read boolean at octet 6: found octet 9, needed 0 (FALSE) or 1 (TRUE)"
    );
    // Inside an encapsulation, too.
    let octets = [0, 0, 0, 3, 0, 1, 7];
    let mut inner = Decoder::new(&octets, ByteOrder::BigEndian).encapsulation().expect("one");
    inner.read_boolean().expect("TRUE");
    assert_eq!(inner.read_boolean().expect_err("seven").offset(), 6);
    assert_eq!(inner.read_boolean().expect_err("the end").offset(), 7);
}

#[test]
fn an_error_is_one_pointer() {
    assert_eq!(size_of::<Error>(), size_of::<usize>());
    assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
}
