//! Values in chunks: what a peer may cut where, and what it may not.

use std::sync::Arc;

use corbie_cdr::idl::Sequence;
use corbie_cdr::{
    ByteOrder, Decoder, Encoder, Error, ErrorKind, Limits, Marshal, SharedValue, StateRead,
    ValueHeader, ValueStart,
};
use proptest::prelude::*;

/// The header of a value without repository ids, in chunks.
const CHUNKED: u32 = 0x7fff_ff08;

fn message(parts: &[&dyn Fn(&mut Encoder<'_>)]) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    parts.iter().for_each(|part| part(&mut e));
    e.to_vec()
}

fn words<'w>(words: &'w [u32]) -> impl Fn(&mut Encoder<'_>) + 'w {
    move |e| words.iter().for_each(|word| e.write_ulong(*word))
}

fn octets(octets: &'static [u8]) -> impl Fn(&mut Encoder<'_>) {
    move |e| e.write_octets(octets)
}

fn start<'d>(d: &mut Decoder<'d>) -> ValueHeader<'d> {
    match d.value_start().expect("a value") {
        ValueStart::New(header) => header,
        other => panic!("{other:?}"),
    }
}

fn read<T>(
    d: &mut Decoder<'_>,
    how: StateRead,
    state: impl FnOnce(&mut Decoder<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let header = start(d);
    d.value_state(&header, how, state)
}

#[test]
fn texts_and_sequences_are_cut_by_chunks() {
    let octets = message(&[
        &words(&[CHUNKED, 6, 6]),
        &octets(b"he"),
        &words(&[4]),
        &octets(b"llo\0"),
        // A sequence of longs, cut after its length and between two.
        &words(&[8, 3, 1, 8, 2, 3]),
        &words(&[4, 5]),
        &words(&[2]),
        &octets(&[1, 2]),
        &words(&[3]),
        &octets(&[3, 4, 5]),
        &words(&[u32::MAX]),
        &words(&[77]),
    ]);
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    let state = read(&mut d, StateRead::Whole, |d| {
        let text = d.read_string()?.into_owned();
        let longs = Sequence::<i32>::decode(d)?;
        Ok((text, longs, Sequence::<u8>::decode(d)?))
    });
    assert_eq!(state, Ok(("hello".to_owned(), vec![1, 2, 3], vec![1, 2, 3, 4, 5])));
    assert_eq!(d.read_ulong(), Ok(77), "after the value there are no chunks");
}

#[test]
fn what_a_base_does_not_know_is_passed_over() {
    // In what is passed over: a value, in it another, whose end ends both.
    let octets = message(&[
        &words(&[CHUNKED, 4, 1, 4, 2]),
        &words(&[CHUNKED, 4, 3, CHUNKED, 4, 4, 0xffff_fffe]),
        &words(&[4, 5, u32::MAX]),
        // Null, and indirections to the second and the first value.
        &words(&[0, u32::MAX, (-48_i32).cast_unsigned(), u32::MAX, (-76_i32).cast_unsigned()]),
    ]);
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    let header = start(&mut d);
    let one: SharedValue = Arc::new(1_u32);
    d.value_is(&header, one);
    assert_eq!(d.value_state(&header, StateRead::Truncated, Decoder::read_ulong), Ok(1));
    assert!(matches!(d.value_start(), Ok(ValueStart::Null)));
    let passed_over = start(&mut d);
    let state = d.value_state(&passed_over, StateRead::Truncated, Decoder::read_ulong);
    assert_eq!(state, Ok(3));
    match d.value_start().expect("known") {
        ValueStart::Known(value) => assert_eq!(value.downcast_ref::<u32>(), Some(&1)),
        other => panic!("{other:?}"),
    }
    assert_eq!(d.remaining(), 0);
}

#[test]
fn malformed_values_are_refused() {
    let check = |parts: &[u32], how: StateRead, says: &str| {
        let octets: Vec<u8> = parts.iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
        let error = read(&mut d, how, |d| d.read_ulong()).expect_err(says);
        assert!(error.to_string().contains(says), "{error}, not {says}");
    };
    use StateRead::{Truncated, Whole};
    check(&[CHUNKED, u32::MAX], Whole, "the state has less than its type");
    check(&[CHUNKED, 8, 1, 2, u32::MAX], Whole, "4 octets more");
    check(&[CHUNKED, 4, 1, 4, 2, u32::MAX], Whole, "the end tag -1");
    check(&[CHUNKED, 4, 1, 0xffff_fffe], Whole, "the end tag -1");
    check(&[CHUNKED, 4, 1], Whole, "the end of the octets");
    check(&[CHUNKED, 2, 0x1234_0000], Whole, "whole primitives");
    check(&[CHUNKED, 400, 1], Whole, "a chunk of 400 octets and 4 left");
    check(&[0x7fff_ff00, 1], Truncated, "not in chunks");
    check(&[CHUNKED, 4, 1, 0x7fff_ff00, 1, u32::MAX], Truncated, "a value without chunks");
}

/// An octet string of words, at whose end more can be put; places are counted in octets.
fn push(words: &mut Vec<u32>, more: &[u32]) -> u32 {
    let place = 4 * u32::try_from(words.len()).expect("short");
    words.extend_from_slice(more);
    place
}

/// The distance from the word that comes next to this place.
fn back_to(words: &[u32], place: u32) -> u32 {
    place.wrapping_sub(4 * u32::try_from(words.len()).expect("short"))
}

#[test]
fn a_list_of_repository_ids_has_no_lists_in_it() {
    // A list of 256 ids, one and indirections to it; then a list of indirections to that list.
    let mut words = vec![0x7fff_ff0e];
    let list = push(&mut words, &[256]);
    let id = push(&mut words, &[2, u32::from_be_bytes(*b"x\0\0\0")]);
    for _ in 1..256 {
        push(&mut words, &[u32::MAX]);
        let back = back_to(&words, id);
        push(&mut words, &[back]);
    }
    push(&mut words, &[u32::MAX, 0x7fff_ff0e, 256]);
    for _ in 0..256 {
        push(&mut words, &[u32::MAX]);
        let back = back_to(&words, list);
        push(&mut words, &[back]);
    }
    let octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    let header = start(&mut d);
    assert_eq!(header.repository_ids.len(), 256);
    d.value_state(&header, StateRead::Truncated, |_| Ok(())).expect("empty");
    let error = d.value_start().expect_err("a list in a list");
    assert!(error.to_string().contains("where none is"), "{error}");
}

/// Values one in another that are passed over, then indirections to each, the innermost first or
/// last: every one is passed over once.
#[test]
fn what_was_passed_over_is_not_passed_over_again() {
    const DEPTH: u32 = 5000;
    for is_inner_first in [false, true] {
        let mut words = vec![CHUNKED, 4, 1];
        let places: Vec<u32> = (0..DEPTH).map(|_| push(&mut words, &[CHUNKED, 4, 2])).collect();
        push(&mut words, &[u32::MAX]);
        let mut order = places.clone();
        if is_inner_first {
            order.reverse();
        }
        for place in &order {
            push(&mut words, &[u32::MAX]);
            let back = back_to(&words, *place);
            push(&mut words, &[back]);
        }
        let octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
        let first = read(&mut d, StateRead::Truncated, |d| d.read_ulong());
        assert_eq!(first, Ok(1));
        for _ in &order {
            let header = start(&mut d);
            d.value_is(&header, Arc::new(()));
            let read = d.value_state(&header, StateRead::Truncated, |d| d.read_ulong());
            assert_eq!(read, Ok(2));
        }
        assert_eq!(d.remaining(), 0);
    }
}

/// Values that stand in each other, so many.
fn write_nested(e: &mut Encoder<'_>, values: usize) -> Result<(), Error> {
    let Some(rest) = values.checked_sub(1) else { return Ok(()) };
    // With contents of its own: another place in the memory.
    let value: SharedValue = Arc::new(values);
    e.write_new_value(value, &["IDL:V:1.0"], false, |e| write_nested(e, rest))
}

#[test]
fn a_value_that_is_refused_takes_no_level_from_those_after_it() {
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    for _ in 0..200 {
        write_nested(&mut e, 128).expect("so many may be");
        let refused = write_nested(&mut e, 129).expect_err("one too many");
        assert_eq!(refused.kind(), ErrorKind::LimitExceeded);
    }
}

#[test]
fn values_are_counted_also_where_they_are_passed_over() {
    let mut words = vec![CHUNKED, 4, 1];
    words.extend([CHUNKED; 1000]);
    push(&mut words, &[u32::MAX]);
    let octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let limits = Limits { dynamic_values: 1000, ..Limits::DEFAULT };
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    d.set_limits(&limits);
    let error = read(&mut d, StateRead::Truncated, |d| d.read_ulong()).expect_err("too many");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

proptest! {
    /// Whatever the octets are, the decoder neither panics nor reads on for ever.
    #[test]
    fn any_octets_are_read_or_refused(words in proptest::collection::vec(prop_oneof![
        Just(CHUNKED), Just(0x7fff_ff0e), Just(0x7fff_ff02), Just(u32::MAX), Just(0),
        1_u32..12, any::<u32>(), (-80_i32..0).prop_map(i32::cast_unsigned),
    ], 0..60)) {
        fn tree(d: &mut Decoder<'_>) -> Result<(), Error> {
            let header = match d.value_start()? {
                ValueStart::New(header) => header,
                ValueStart::Null | ValueStart::Known(_) => return Ok(()),
            };
            let value: SharedValue = Arc::new(());
            d.value_is(&header, value);
            assert!(header.repository_ids.len() <= 256);
            let how = if header.repository_ids.len() % 2 == 1 {
                StateRead::Whole
            } else {
                StateRead::Truncated
            };
            d.value_state(&header, how, |d| {
                tree(d)?;
                d.read_string()?;
                tree(d)
            })
        }
        let octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
        while tree(&mut d).is_ok() && d.remaining() > 0 {}
    }

    /// What is written in chunks is read, whatever there is in what order, and shared as it was.
    #[test]
    fn values_come_back(
        texts in proptest::collection::vec("[ -~é]{0,40}", 1..6),
        octets in proptest::collection::vec(any::<u8>(), 0..9000),
        is_custom: bool,
    ) {
        let shared: Vec<SharedValue> = texts.iter().map(|text| Arc::new(text.clone()) as _).collect();
        let outer: SharedValue = Arc::new(());
        let mut e = Encoder::native();
        e.write_octet(1);
        e.write_new_value(Arc::clone(&outer), &["IDL:A:1.0", "IDL:B:1.0"], is_custom, |e| {
            e.copied(|e| {
                for (text, value) in texts.iter().zip(&shared) {
                    e.write_new_value(Arc::clone(value), &["IDL:T:1.0"], false, |e| {
                        e.write_string(text)
                    })?;
                    prop_assert_known(e, &outer);
                    e.write_octet_sequence(&octets)?;
                    prop_assert_known(e, value);
                }
                Ok(())
            })
        }).expect("written");
        e.write_ulong(99);
        let message = e.to_vec();
        let limits = Limits { value_cycles: true, ..Limits::DEFAULT };
        let mut d = Decoder::new(&message, ByteOrder::NATIVE);
        d.set_limits(&limits);
        prop_assert_eq!(d.read_octet(), Ok(1));
        let header = start(&mut d);
        prop_assert_eq!(&*header.repository_ids, &["IDL:A:1.0", "IDL:B:1.0"][..]);
        d.value_is(&header, outer);
        d.value_state(&header, StateRead::Whole, |d| {
            for text in &texts {
                let inner = start(d);
                assert_eq!(&*inner.repository_ids, &["IDL:T:1.0"][..]);
                let read = d.value_state(&inner, StateRead::Whole, |d| Ok(d.read_string()?.into_owned()))?;
                assert_eq!(&read, text);
                d.value_is(&inner, Arc::new(read));
                assert!(matches!(d.value_start()?, ValueStart::Known(known) if known.is::<()>()));
                assert_eq!(Sequence::<u8>::decode(d)?, octets);
                match d.value_start()? {
                    ValueStart::Known(known) => assert_eq!(known.downcast_ref(), Some(text)),
                    other => panic!("{other:?}"),
                }
            }
            Ok(())
        }).expect("read");
        prop_assert_eq!(d.read_ulong(), Ok(99));
    }
}

fn prop_assert_known(e: &mut Encoder<'_>, value: &SharedValue) {
    assert!(e.write_known_value(value), "it was written before");
}
