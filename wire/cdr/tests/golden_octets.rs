//! Octets derived by hand from the rules of the specification, both ways. Captures from other
//! ORBs stand in `tests/golden`.

use corbie_cdr::idl::{Array, Sequence, Wstring};
use corbie_cdr::{
    ByteOrder::{self, BigEndian, LittleEndian},
    CodeSet, CodeSets, Decoder, Encoder, ErrorKind, Fixed, LongDouble, Marshal, Version, WChar,
};

fn write<M: Marshal>(value: &M::Value, order: ByteOrder, version: Version, lead: usize) -> Vec<u8> {
    let mut e: Encoder<'_> = Encoder::new(Vec::new(), order);
    e.set_version(version);
    (0..lead).for_each(|_| e.write_octet(0xff));
    M::encode(value, &mut e).expect("the value can be sent");
    e.to_vec()
}

fn read<M: Marshal>(octets: &[u8], order: ByteOrder, version: Version, lead: usize) -> M::Value {
    let mut d = Decoder::with_position(octets, lead, order);
    d.set_version(version);
    let value = M::decode(&mut d).expect("octets by the book");
    assert_eq!(d.remaining(), 0);
    value
}

fn golden<M: Marshal>(value: &M::Value, order: ByteOrder, version: Version, octets: &[u8])
where
    M::Value: PartialEq + std::fmt::Debug,
{
    let lead = octets.iter().take_while(|octet| **octet == 0xff).count().min(1);
    assert_eq!(write::<M>(value, order, version, lead), octets);
    assert_eq!(&read::<M>(octets, order, version, lead), value);
}

const V: Version = Version::V1_2;

#[test]
fn primitives_are_aligned_on_their_size() {
    // CORBA 3.3 P2 §9.3.1.1, table 9.1; the first octet is there to need padding.
    golden::<u16>(&0x0102, BigEndian, V, &[0xff, 0, 1, 2]);
    golden::<u16>(&0x0102, LittleEndian, V, &[0xff, 0, 2, 1]);
    golden::<i32>(&-2, BigEndian, V, &[0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe]);
    golden::<i32>(&-2, LittleEndian, V, &[0xff, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
    golden::<u64>(&1, BigEndian, V, &[0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    // 1.0 is 3f80 0000, -2.0 is c000 0000 0000 0000 (IEEE 754).
    golden::<f32>(&1.0, BigEndian, V, &[0xff, 0, 0, 0, 0x3f, 0x80, 0, 0]);
    golden::<f64>(
        &-2.0,
        LittleEndian,
        V,
        &[
            0xff, 0, 0, 0, 0, 0, 0, 0, //
            0, 0, 0, 0, 0, 0, 0, 0xc0,
        ],
    );
    golden::<bool>(&true, BigEndian, V, &[0xff, 1]);
}

#[test]
fn long_double_is_binary128_aligned_on_8() {
    // 1.0: exponent 0x3fff, fraction 0; -0.5: sign and exponent 0x3ffe.
    let mut octets = [0; 24];
    octets[0] = 0xff;
    octets[8] = 0x3f;
    octets[9] = 0xff;
    golden::<LongDouble>(&LongDouble::from(1.0), BigEndian, V, &octets);
    let mut octets = [0; 24];
    octets[0] = 0xff;
    octets[22] = 0xfe;
    octets[23] = 0xbf;
    golden::<LongDouble>(&LongDouble::from(-0.5), LittleEndian, V, &octets);
}

#[test]
fn long_double_rounds_to_nearest_even() {
    let one = 0x3fffu128 << 112;
    // Half a unit of the last place of a double: to even, that is down to 1.0 and up from odd.
    let half = 1u128 << 59;
    assert_eq!(LongDouble::from_bits(one | half).to_f64(), 1.0);
    assert_eq!(LongDouble::from_bits(one | half | 1).to_f64(), 1.0 + f64::EPSILON);
    let odd = one | 1 << 60;
    assert_eq!(LongDouble::from_bits(odd | half).to_f64(), 1.0 + 2.0 * f64::EPSILON);
    // All ones round up into the next power of two; the largest exponent into infinity.
    assert_eq!(LongDouble::from_bits(0x3fffu128 << 112 | ((1 << 112) - 1)).to_f64(), 2.0);
    assert_eq!(LongDouble::from_bits(0x43feu128 << 112 | ((1 << 112) - 1)).to_f64(), f64::INFINITY);
    assert_eq!(LongDouble::from_bits(0x7ffe << 112).to_f64(), f64::INFINITY);
    // The smallest subnormal, half of it (to even: zero), and a bit more than half.
    let exponent = |e: i32| ((e + 16383) as u128) << 112;
    let smallest = f64::from_bits(1);
    assert_eq!(LongDouble::from_bits(exponent(-1074)).to_f64(), smallest);
    assert_eq!(LongDouble::from_bits(exponent(-1075)).to_f64(), 0.0);
    assert_eq!(LongDouble::from_bits(exponent(-1075) | 1).to_f64(), smallest);
    assert_eq!(LongDouble::from_bits(1 << 127).to_f64().to_bits(), 1 << 63);
    // A NaN whose payload lies in the low bits stays one.
    assert!(LongDouble::from_bits(0x7fff << 112 | 1).to_f64().is_nan());
}

#[test]
fn strings_count_their_nul() {
    golden::<String>(&"hi".into(), BigEndian, V, &[0, 0, 0, 3, b'h', b'i', 0]);
    golden::<String>(&String::new(), LittleEndian, V, &[1, 0, 0, 0, 0]);
    // ISO 8859-1 until something else is negotiated (CORBA 3.3 P2 §7.10.2.6).
    golden::<String>(&"é".into(), BigEndian, V, &[0, 0, 0, 2, 0xe9, 0]);
    golden::<char>(&'é', BigEndian, V, &[0xe9]);
    // A NUL inside is none of CORBA's strings.
    let mut d = Decoder::new(&[0, 0, 0, 4, b'a', 0, b'b', 0], BigEndian);
    assert_eq!(d.read_string().map_err(|e| e.kind()), Err(ErrorKind::InvalidValue));
    // Some ORBs send an empty string without its NUL.
    assert_eq!(read::<String>(&[0, 0, 0, 0], BigEndian, V, 0), "");
}

#[test]
fn utf_8_strings_count_octets() {
    let mut e = Encoder::new(Vec::new(), BigEndian);
    e.set_code_sets(CodeSets::UNICODE);
    e.write_string("é").expect("UTF-8 has it");
    assert_eq!(e.to_vec(), [0, 0, 0, 3, 0xc3, 0xa9, 0]);
    // A char is one octet; é has two in UTF-8.
    assert_eq!(e.write_char('é').map_err(|e| e.kind()), Err(ErrorKind::DataConversion));
    let mut d = Decoder::new(&[0, 0, 0, 3, 0xc3, 0x28, 0], BigEndian);
    d.set_code_sets(CodeSets::UNICODE);
    assert_eq!(d.read_string().map_err(|e| e.kind()), Err(ErrorKind::DataConversion));
}

#[test]
fn wide_text_of_giop_1_2_has_octet_lengths_and_no_terminator() {
    // CORBA 3.3 P2 §9.3.1.6 and §9.3.2.7: big-endian without byte order mark, in both orders.
    golden::<WChar>(&WChar(0x20ac), BigEndian, V, &[2, 0x20, 0xac]);
    golden::<WChar>(&WChar(0x20ac), LittleEndian, V, &[2, 0x20, 0xac]);
    golden::<Wstring>(&"a€".into(), LittleEndian, V, &[4, 0, 0, 0, 0, b'a', 0x20, 0xac]);
    golden::<Wstring>(&String::new(), LittleEndian, V, &[0, 0, 0, 0]);
    // A character beyond U+FFFF is a surrogate pair.
    golden::<Wstring>(&"😀".into(), BigEndian, V, &[0, 0, 0, 4, 0xd8, 0x3d, 0xde, 0x00]);
}

#[test]
fn byte_order_marks_are_read_either_way() {
    // omniORB writes one and its own order; an empty string is the mark alone.
    let read = |octets: &[u8]| read::<Wstring>(octets, LittleEndian, V, 0);
    assert_eq!(read(&[6, 0, 0, 0, 0xff, 0xfe, b'a', 0, 0xac, 0x20]), "a€");
    assert_eq!(read(&[6, 0, 0, 0, 0xfe, 0xff, 0, b'a', 0x20, 0xac]), "a€");
    assert_eq!(read(&[2, 0, 0, 0, 0xff, 0xfe]), "");
    // A terminator, which 1.2 does not have, is dropped; a NUL elsewhere is refused.
    assert_eq!(read(&[4, 0, 0, 0, 0, b'a', 0, 0]), "a");
    let mut d = Decoder::new(&[4, 0, 0, 0, 0, 0, 0, b'a'], LittleEndian);
    assert_eq!(d.read_wstring().map_err(|e| e.kind()), Err(ErrorKind::InvalidValue));
    let read = |octets: &[u8]| self::read::<WChar>(octets, LittleEndian, V, 0);
    assert_eq!(read(&[4, 0xff, 0xfe, 0xac, 0x20]), WChar(0x20ac));
    assert_eq!(read(&[4, 0xfe, 0xff, 0x20, 0xac]), WChar(0x20ac));
}

#[test]
fn wide_text_of_giop_1_1_is_in_message_order_with_terminator() {
    let v = Version::V1_1;
    golden::<WChar>(&WChar(0x20ac), LittleEndian, v, &[0xff, 0, 0xac, 0x20]);
    golden::<Wstring>(&"a€".into(), LittleEndian, v, &[3, 0, 0, 0, b'a', 0, 0xac, 0x20, 0, 0]);
    golden::<Wstring>(&"a".into(), BigEndian, v, &[0, 0, 0, 2, 0, b'a', 0, 0]);
}

#[test]
fn giop_1_0_has_no_wide_text() {
    let mut e = Encoder::new(Vec::new(), BigEndian);
    e.set_version(Version::V1_0);
    let kind = ErrorKind::WideCharacterInGiop10;
    assert_eq!(e.write_wstring("a").map_err(|e| e.kind()), Err(kind));
    assert_eq!(e.write_wchar(WChar(1)).map_err(|e| e.kind()), Err(kind));
    let mut d = Decoder::new(&[0; 8], BigEndian);
    d.set_version(Version::V1_0);
    assert_eq!(d.read_wstring().map_err(|e| e.kind()), Err(kind));
    assert_eq!(d.read_wchar().map_err(|e| e.kind()), Err(kind));
}

#[test]
fn unknown_wide_code_sets_are_refused() {
    let sets = CodeSets { wchar_data: CodeSet(0), ..CodeSets::DEFAULT };
    let mut e = Encoder::new(Vec::new(), BigEndian);
    e.set_code_sets(sets);
    assert_eq!(e.write_wstring("a").map_err(|e| e.kind()), Err(ErrorKind::CodeSetIncompatible));
}

#[test]
fn sequences_and_arrays() {
    golden::<Sequence<u16>>(&vec![1, 2], BigEndian, V, &[0, 0, 0, 2, 0, 1, 0, 2]);
    // Elements are aligned, also behind the length: 4 octets of padding.
    golden::<Sequence<u64>>(
        &vec![1],
        LittleEndian,
        V,
        &[
            1, 0, 0, 0, 0, 0, 0, 0, //
            1, 0, 0, 0, 0, 0, 0, 0,
        ],
    );
    // No elements, no padding.
    golden::<Sequence<u64>>(&vec![], LittleEndian, V, &[0, 0, 0, 0]);
    golden::<Array<u16, 2>>(&[1, 2], LittleEndian, V, &[1, 0, 2, 0]);
    golden::<Array<Array<u8, 2>, 2>>(&[[1, 2], [3, 4]], LittleEndian, V, &[1, 2, 3, 4]);
}

#[test]
fn fixed_is_packed_decimal() {
    // CORBA 3.3 P2 §9.3.2.8: most significant digit first, sign nibble last, c plus, d minus;
    // an even number of digits gets a leading zero nibble.
    let value: Fixed<5, 2> = "-123.45".parse().expect("a number");
    golden::<Fixed<5, 2>>(&value, BigEndian, V, &[0x12, 0x34, 0x5d]);
    let value: Fixed<4, 2> = "12.34".parse().expect("a number");
    golden::<Fixed<4, 2>>(&value, LittleEndian, V, &[0x01, 0x23, 0x4c]);
    assert_eq!(value.to_string(), "12.34");
    assert_eq!("0.5d".parse::<Fixed<4, 2>>().expect("a number").to_string(), "0.50");
    assert_eq!("1200".parse::<Fixed<2, -2>>().expect("a number").to_string(), "1200");
    assert!("1.234".parse::<Fixed<4, 2>>().is_err(), "a digit too many behind the point");
    assert!("123.4".parse::<Fixed<4, 2>>().is_err(), "a digit too many before the point");
    assert!("1x".parse::<Fixed<4, 2>>().is_err());
    assert!("".parse::<Fixed<4, 2>>().is_err());
}

#[test]
fn encapsulations_align_from_their_own_start() {
    // CORBA 3.3 P2 §9.3.3: length, byte order, then aligned relative to the byte-order octet.
    let mut e = Encoder::new(Vec::new(), BigEndian);
    e.write_octet(0xff);
    e.encapsulation(|e| {
        e.write_octet(7);
        e.write_ulong(8);
        e.encapsulation(|e| {
            e.write_ulonglong(9);
            Ok(())
        })
    })
    .expect("it fits");
    e.write_ulong(10);
    let expected = [
        0xff, 0, 0, 0, // octet, padding
        0, 0, 0, 28, // length of the outer one
        0, 7, 0, 0, 0, 0, 0, 8, // order, octet, padding, ulong
        0, 0, 0, 16, // length of the inner one
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, // order, padding, ulonglong
        0, 0, 0, 10,
    ];
    assert_eq!(e.to_vec(), expected);
    let mut d = Decoder::with_position(&expected, 1, BigEndian);
    let mut outer = d.encapsulation().expect("an encapsulation");
    assert_eq!(outer.read_octet(), Ok(7));
    assert_eq!(outer.read_ulong(), Ok(8));
    let mut inner = outer.encapsulation().expect("an encapsulation");
    assert_eq!(inner.offset(), 21, "offsets count from the start of the message");
    assert_eq!(inner.read_ulonglong(), Ok(9));
    assert_eq!(inner.offset(), 36);
    assert_eq!((inner.remaining(), outer.remaining()), (0, 0));
    assert_eq!(d.read_ulong(), Ok(10));
}

#[test]
fn an_encapsulation_may_have_the_other_order() {
    let octets = [0, 0, 0, 8, 1, 0, 0, 0, 5, 0, 0, 0];
    let mut inner = Decoder::new(&octets, BigEndian).encapsulation().expect("an encapsulation");
    assert_eq!(inner.order(), LittleEndian);
    assert_eq!(inner.read_ulong(), Ok(5));
    let mut d = Decoder::from_encapsulation(&octets[4..]).expect("an encapsulation");
    assert_eq!(d.read_ulong(), Ok(5));
}
