//! Every type goes onto the wire and comes back the same: both byte orders, every alignment,
//! every version that has the type. Truncated octets are an error, never a panic.

use corbie_cdr::idl::{
    Array, BoundedSequence, BoundedString, BoundedWstring, BoxedArray, Sequence, Wstring,
};
use corbie_cdr::{
    ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Error, ErrorKind, Fixed, LongDouble, Marshal,
    Version, WChar,
};
use proptest::prelude::*;

const ORDERS: [ByteOrder; 2] = [ByteOrder::BigEndian, ByteOrder::LittleEndian];
const SENTINEL: u8 = 0xa5;

fn encoder(order: ByteOrder, version: Version, code_sets: CodeSets) -> Encoder<'static> {
    let mut e = Encoder::new(Vec::new(), order);
    e.set_version(version);
    e.set_code_sets(code_sets);
    e
}

fn encoded<M: Marshal>(
    value: &M::Value,
    lead: usize,
    (order, version, code_sets): (ByteOrder, Version, CodeSets),
) -> Vec<u8> {
    let mut e: Encoder<'_> = encoder(order, version, code_sets);
    (0..lead).for_each(|_| e.write_octet(SENTINEL));
    M::encode(value, &mut e).expect("the value can be sent");
    let octets = e.to_vec();
    // In blocks of whatever size the octets are the same.
    for block in [1, 13] {
        let mut e = Encoder::in_blocks_of(block, order);
        e.set_version(version);
        e.set_code_sets(code_sets);
        (0..lead).for_each(|_| e.write_octet(SENTINEL));
        M::encode(value, &mut e).expect("the value can be sent");
        assert_eq!((e.len(), e.to_vec()), (octets.len(), octets.clone()), "blocks of {block}");
    }
    octets
}

fn decoded<M: Marshal>(
    octets: &[u8],
    lead: usize,
    (order, version, code_sets): (ByteOrder, Version, CodeSets),
) -> Result<(M::Value, usize), Error> {
    let mut d = Decoder::with_position(octets, lead, order);
    d.set_version(version);
    d.set_code_sets(code_sets);
    M::decode(&mut d).map(|value| (value, d.remaining()))
}

fn check_with<M: Marshal>(value: &M::Value, versions: &[Version], code_sets: CodeSets)
where
    M::Value: PartialEq + std::fmt::Debug,
{
    for order in ORDERS {
        for version in versions {
            for lead in 0..8 {
                let how = (order, *version, code_sets);
                let octets = encoded::<M>(value, lead, how);
                assert!(octets.len() - lead >= M::MIN_OCTETS, "MIN_OCTETS is too large");
                let (back, rest) = decoded::<M>(&octets, lead, how).expect("what we wrote");
                assert_eq!(&back, value, "{how:?}, alignment {lead}");
                assert_eq!(rest, 0, "octets left over");
                assert_eq!(octets, encoded::<M>(&back, lead, how), "the same value, other octets");
                // One octet less is always too few.
                if let Some((_, shorter)) = octets.split_last().filter(|_| octets.len() > lead) {
                    assert!(decoded::<M>(shorter, lead, how).is_err(), "{how:?}: cut short");
                }
            }
        }
    }
}

const ALL: [Version; 3] = [Version::V1_0, Version::V1_1, Version::V1_2];
const WIDE: [Version; 2] = [Version::V1_1, Version::V1_2];

fn check<M: Marshal>(value: &M::Value)
where
    M::Value: PartialEq + std::fmt::Debug,
{
    check_with::<M>(value, &ALL, CodeSets::DEFAULT);
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>().prop_filter("no NUL", |c| *c != '\0'), 0..40)
        .prop_map(|characters| characters.into_iter().collect())
}

fn latin() -> impl Strategy<Value = String> {
    proptest::collection::vec(1u8..=255, 0..40)
        .prop_map(|octets| octets.into_iter().map(char::from).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn integers(a: i8, b: u8, c: i16, d: u16, e: i32, f: u32, g: i64, h: u64, i: bool) {
        check::<i8>(&a);
        check::<u8>(&b);
        check::<i16>(&c);
        check::<u16>(&d);
        check::<i32>(&e);
        check::<u32>(&f);
        check::<i64>(&g);
        check::<u64>(&h);
        check::<bool>(&i);
    }

    #[test]
    fn floats(a in -1e30f32..1e30, b in -1e300f64..1e300, c: u128) {
        check::<f32>(&a);
        check::<f64>(&b);
        check::<LongDouble>(&LongDouble::from_bits(c));
    }

    #[test]
    fn characters(octet: u8, unit: u16) {
        check::<char>(&char::from(octet));
        check_with::<WChar>(&WChar(unit), &WIDE, CodeSets::DEFAULT);
    }

    #[test]
    fn latin_strings(text in latin()) {
        check::<String>(&text);
    }

    #[test]
    fn unicode_strings(text in text()) {
        check_with::<String>(&text, &ALL, CodeSets::UNICODE);
        check_with::<Wstring>(&text, &WIDE, CodeSets::UNICODE);
        check_with::<BoundedWstring<80>>(&text, &WIDE, CodeSets::UNICODE);
    }

    #[test]
    fn sequences_of_primitives(
        a: Vec<u8>, b: Vec<i16>, c: Vec<u32>, d: Vec<i64>, e: Vec<bool>, f: Vec<i8>,
    ) {
        check::<Sequence<u8>>(&a);
        check::<Sequence<i16>>(&b);
        check::<Sequence<u32>>(&c);
        check::<Sequence<i64>>(&d);
        check::<Sequence<bool>>(&e);
        check::<Sequence<i8>>(&f);
        check::<Sequence<f32>>(&b.iter().map(|x| f32::from(*x)).collect());
        check::<Sequence<f64>>(&c.iter().map(|x| f64::from(*x)).collect());
        check::<Sequence<char>>(&a.iter().map(|x| char::from(*x)).collect());
        check::<Sequence<LongDouble>>(&d.iter().map(|x| LongDouble::from(*x as f64)).collect());
        check_with::<Sequence<WChar>>(
            &c.iter().map(|x| WChar(*x as u16)).collect(), &WIDE, CodeSets::DEFAULT,
        );
    }

    #[test]
    fn nested_sequences(a: Vec<Vec<u64>>, b in proptest::collection::vec(latin(), 0..5)) {
        check::<Sequence<Sequence<u64>>>(&a);
        check::<Sequence<String>>(&b);
        check::<BoundedSequence<BoundedString<40>, 5>>(&b);
    }

    #[test]
    fn arrays(a: [u32; 5], b: [[u16; 3]; 2], c: [bool; 3], d: [u8; 7], e: [i64; 4]) {
        check::<Array<u32, 5>>(&a);
        check::<Array<Array<u16, 3>, 2>>(&b);
        check::<Array<bool, 3>>(&c);
        check::<Array<u8, 7>>(&d);
        check::<BoxedArray<i64, 4>>(&Box::new(e));
        check::<Array<String, 2>>(&[format!("{a:?}"), String::new()]);
    }

    #[test]
    fn fixed(digits in -999_999_999i128..=999_999_999, large in 0i128..10i128.pow(30)) {
        check::<Fixed<9, 2>>(&Fixed::from_digits(digits).expect("nine digits"));
        check::<Fixed<10, 0>>(&Fixed::from_digits(digits).expect("nine digits"));
        check::<Fixed<31, 5>>(&Fixed::from_digits(large).expect("thirty digits"));
        let value: Fixed<9, 2> = Fixed::from_digits(digits).expect("nine digits");
        prop_assert_eq!(value.to_string().parse::<Fixed<9, 2>>(), Ok(value));
    }

    #[test]
    fn long_double_keeps_every_double(bits: u64) {
        let value = f64::from_bits(bits);
        let back = LongDouble::from(value).to_f64();
        prop_assert!(back == value || (back.is_nan() && value.is_nan()), "{value} became {back}");
        prop_assert_eq!(back.is_sign_negative(), value.is_sign_negative());
    }

    #[test]
    fn arbitrary_octets_never_panic(
        octets: Vec<u8>, lead in 0usize..8, little: bool, minor in 0u8..3,
    ) {
        let order = if little { ByteOrder::LittleEndian } else { ByteOrder::BigEndian };
        let version = Version { major: 1, minor };
        for code_sets in [CodeSets::DEFAULT, CodeSets::UNICODE] {
            let how = (order, version, code_sets);
            let _ = decoded::<String>(&octets, lead, how);
            let _ = decoded::<Wstring>(&octets, lead, how);
            let _ = decoded::<WChar>(&octets, lead, how);
            let _ = decoded::<Sequence<String>>(&octets, lead, how);
            let _ = decoded::<Sequence<Sequence<Sequence<u16>>>>(&octets, lead, how);
            let _ = decoded::<Fixed<31, 3>>(&octets, lead, how);
            let _ = decoded::<Array<LongDouble, 3>>(&octets, lead, how);
            let mut d = Decoder::with_position(&octets, lead, order);
            if let Ok(mut inner) = d.encapsulation() {
                let _ = inner.read_string();
            }
        }
    }
}

#[test]
fn empty_values() {
    check::<()>(&());
    check::<Sequence<u64>>(&Vec::new());
    check::<Sequence<LongDouble>>(&Vec::new());
    check::<Array<u64, 0>>(&[]);
    check::<String>(&String::new());
    check_with::<Wstring>(&String::new(), &WIDE, CodeSets::DEFAULT);
    check::<Box<u16>>(&Box::new(3));
}

#[test]
fn text_that_looks_like_a_byte_order_mark() {
    for text in ["\u{feff}", "\u{feff}a", "\u{fffe}", "\u{fffe}\u{feff}"] {
        check_with::<Wstring>(&text.to_owned(), &WIDE, CodeSets::DEFAULT);
    }
    for unit in [0xfeff, 0xfffe] {
        check_with::<WChar>(&WChar(unit), &WIDE, CodeSets::DEFAULT);
    }
}

#[test]
fn ucs_2_has_no_surrogates() {
    let sets = CodeSets { char_data: CodeSet::ISO_646, wchar_data: CodeSet::UCS_2 };
    check_with::<Wstring>(&"Grüße, 世界".to_owned(), &WIDE, sets);
    let mut e = encoder(ByteOrder::NATIVE, Version::V1_2, sets);
    assert_eq!(e.write_wstring("😀").map_err(|e| e.kind()), Err(ErrorKind::DataConversion));
    assert_eq!(e.write_string("é").map_err(|e| e.kind()), Err(ErrorKind::DataConversion));
    assert_eq!(e.write_char('é').map_err(|e| e.kind()), Err(ErrorKind::DataConversion));
}
