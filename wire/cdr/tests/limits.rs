//! Hostile octets: lengths that are not there, nesting without end, many for little. Nothing is
//! allocated for a claim, and every refusal says what was claimed.

use corbie_cdr::idl::{Array, BoundedSequence, BoundedString, BoundedWstring, Sequence, Wstring};
use corbie_cdr::{ByteOrder, Decoder, Encoder, Error, ErrorKind, Limits, Marshal};

fn decode<M: Marshal>(octets: &[u8]) -> Result<M::Value, Error> {
    M::decode(&mut Decoder::new(octets, ByteOrder::BigEndian))
}

fn kind<M: Marshal>(octets: &[u8]) -> ErrorKind
where
    M::Value: std::fmt::Debug,
{
    decode::<M>(octets).expect_err("hostile octets").kind()
}

const HUGE: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

#[test]
fn claimed_lengths_are_checked_before_use() {
    assert_eq!(kind::<Sequence<u8>>(&HUGE), ErrorKind::UnexpectedEnd);
    assert_eq!(kind::<Sequence<u64>>(&HUGE), ErrorKind::UnexpectedEnd);
    assert_eq!(kind::<Sequence<String>>(&HUGE), ErrorKind::UnexpectedEnd);
    assert_eq!(kind::<Sequence<Array<u64, 1000>>>(&HUGE), ErrorKind::UnexpectedEnd);
    assert_eq!(kind::<String>(&HUGE), ErrorKind::UnexpectedEnd);
    assert_eq!(kind::<Wstring>(&HUGE), ErrorKind::UnexpectedEnd);
    let mut d = Decoder::new(&HUGE, ByteOrder::BigEndian);
    assert_eq!(d.encapsulation().err().map(|e| e.kind()), Some(ErrorKind::UnexpectedEnd));
    // Two elements claimed, octets for one: found out before the first is read.
    let error = decode::<Sequence<u32>>(&[0, 0, 0, 2, 0, 0, 0, 1]).expect_err("too short");
    assert_eq!((error.kind(), error.offset()), (ErrorKind::UnexpectedEnd, 0));
}

/// An IDL struct without members.
#[derive(Debug)]
struct Empty;

impl Marshal for Empty {
    type Value = Self;
    const MIN_OCTETS: usize = 0;

    fn encode(_: &Self, _: &mut Encoder<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn decode(_: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self)
    }
}

#[test]
fn elements_without_octets_are_counted() {
    assert_eq!(decode::<Sequence<Empty>>(&[0, 0, 0, 3]).expect("three nothings").len(), 3);
    assert_eq!(kind::<Sequence<Empty>>(&HUGE), ErrorKind::LimitExceeded);
}

#[test]
fn sequence_elements_are_limited() {
    let limits = Limits { sequence_elements: 3, ..Limits::DEFAULT };
    let octets = [0, 0, 0, 4, 1, 2, 3, 4];
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    d.set_limits(&limits);
    let error = Sequence::<u8>::decode(&mut d).expect_err("one too many");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("sequence_elements"), "{error}");
}

/// `struct Node { sequence<Node> children; }`.
#[derive(Debug)]
struct Node {
    children: Vec<Node>,
}

impl Marshal for Node {
    type Value = Self;
    const MIN_OCTETS: usize = 4;

    fn encode<'a>(value: &'a Self, e: &mut Encoder<'a>) -> Result<(), Error> {
        Sequence::<Node>::encode(&value.children, e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        Ok(Self { children: Sequence::<Node>::decode(d)? })
    }
}

#[test]
fn nesting_is_limited() {
    let nested = |levels: usize| {
        let mut octets: Vec<u8> = [0, 0, 0, 1].repeat(levels);
        octets.extend([0; 4]);
        octets
    };
    let node = decode::<Node>(&nested(60)).expect("sixty levels are fine");
    assert_eq!(node.children.len(), 1);
    // A million levels in 4 MB: refused, and the stack stays.
    let error = decode::<Node>(&nested(1_000_000)).expect_err("too deep");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.to_string().contains("nesting_depth"), "{error}");
}

#[test]
fn nested_encapsulations_are_limited() {
    let mut octets = vec![0];
    for _ in 0..100 {
        let mut outer = vec![0, 0, 0, 0];
        outer.extend(u32::try_from(octets.len()).expect("small").to_be_bytes());
        outer.extend(octets);
        octets = outer;
    }
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    d.read_ulong().expect("a byte order and its padding");
    let mut levels = 0;
    let error = loop {
        match d.encapsulation() {
            Ok(inner) => {
                d = inner;
                d.align(4).expect("padding");
                levels += 1;
            }
            Err(error) => break error,
        }
    };
    assert_eq!((levels, error.kind()), (64, ErrorKind::LimitExceeded));
}

#[test]
fn bounds_of_the_idl_hold_on_both_sides() {
    let three = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
    let mut e = Encoder::native();
    let error = BoundedSequence::<String, 2>::write(&three, &mut e).expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::BadParameter);
    let error = BoundedString::<2>::write("abc", &mut e).expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::BadParameter);
    let error = BoundedWstring::<3>::write("😀😀", &mut e).expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::BadParameter);
    BoundedString::<2>::write("éé", &mut e).expect("two characters, four octets in UTF-8");
    assert_eq!(kind::<BoundedSequence<u8, 2>>(&[0, 0, 0, 3, 1, 2, 3]), ErrorKind::InvalidValue);
    let mut d = Decoder::new(&[0, 0, 0, 3, 1, 2, 3], ByteOrder::BigEndian);
    let error = BoundedSequence::<u8, 2>::read(&mut d).expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    let mut d = Decoder::new(&[0, 0, 0, 3, 1, 2, 3], ByteOrder::BigEndian);
    assert_eq!(BoundedSequence::<u8, 3>::read(&mut d), Ok(&[1, 2, 3][..]));
    assert_eq!(kind::<BoundedString<2>>(&[0, 0, 0, 4, 65, 65, 65, 0]), ErrorKind::InvalidValue);
}

#[test]
fn malformed_values() {
    assert_eq!(kind::<bool>(&[2]), ErrorKind::InvalidValue);
    assert_eq!(kind::<Sequence<bool>>(&[0, 0, 0, 2, 1, 7]), ErrorKind::InvalidValue);
    assert_eq!(kind::<String>(&[0, 0, 0, 2, 65, 66]), ErrorKind::InvalidValue);
    assert_eq!(kind::<Wstring>(&[0, 0, 0, 3, 0, 65, 66]), ErrorKind::DataConversion);
    assert_eq!(kind::<Wstring>(&[0, 0, 0, 2, 0xd8, 0]), ErrorKind::DataConversion);
    assert_eq!(kind::<corbie_cdr::WChar>(&[3, 0, 0, 0]), ErrorKind::DataConversion);
    assert_eq!(kind::<corbie_cdr::Fixed<3, 0>>(&[0x12, 0x3f]), ErrorKind::InvalidValue);
    assert_eq!(kind::<corbie_cdr::Fixed<3, 0>>(&[0x1a, 0x3c]), ErrorKind::InvalidValue);
    assert_eq!(kind::<corbie_cdr::Fixed<2, 0>>(&[0x12, 0x3c]), ErrorKind::InvalidValue);
    let mut d = Decoder::new(&[0, 0, 0, 1, 9], ByteOrder::BigEndian);
    assert_eq!(d.encapsulation().err().map(|e| e.kind()), Some(ErrorKind::InvalidValue));
}
