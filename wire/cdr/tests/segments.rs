//! Large octet sequences are borrowed, small ones copied; the octets are the same. What may be
//! patched and taken back afterwards.

use corbie_cdr::idl::Sequence;
use corbie_cdr::{ByteOrder, Decoder, Encoder, Marshal};

const LARGE: usize = Encoder::BORROW_THRESHOLD;

#[test]
fn large_sequences_are_borrowed() {
    let large = vec![7u8; LARGE];
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    e.write_octet(1);
    e.write_octet_sequence(&large).expect("it fits");
    e.write_ulonglong(2);
    let segments: Vec<&[u8]> = e.segments().collect();
    assert_eq!(segments.len(), 3);
    assert!(std::ptr::eq(segments[1], large.as_slice()), "not a copy");
    assert_eq!(e.len(), segments.iter().map(|s| s.len()).sum::<usize>());
    assert_eq!(e.position() % 8, 0, "alignment counts borrowed octets");
    let all = e.to_vec();
    let mut d = Decoder::with_position(&all, 1, ByteOrder::BigEndian);
    assert_eq!(d.read_octet_sequence().expect("what we wrote"), large);
    assert_eq!(d.read_ulonglong(), Ok(2));
    assert!(!e.is_contiguous());
    assert_eq!(e.into_buffer().len(), all.len() - LARGE);
}

#[test]
fn small_sequences_are_copied() {
    let small = vec![7u8; LARGE - 1];
    let mut e = Encoder::native();
    e.write_octet_sequence(&small).expect("it fits");
    assert!(e.is_contiguous());
    assert_eq!(e.segments().count(), 1);
    assert_eq!(Encoder::native().segments().count(), 0);
}

#[test]
fn native_primitives_are_borrowed_too_and_swapped_ones_are_not() {
    let values: Vec<u32> = (0..LARGE as u32).collect();
    for order in [ByteOrder::NATIVE, ByteOrder::NATIVE.opposite()] {
        let mut e = Encoder::new(Vec::new(), order);
        Sequence::<u32>::encode(&values, &mut e).expect("it fits");
        assert_eq!(e.is_contiguous(), order.is_swapped());
        let all = e.to_vec();
        let back = Sequence::<u32>::decode(&mut Decoder::new(&all, order)).expect("what we wrote");
        assert_eq!(back, values);
    }
}

#[test]
fn the_seventeenth_large_sequence_is_copied() {
    let large = vec![7u8; LARGE];
    let mut e = Encoder::native();
    for _ in 0..20 {
        e.write_octet_sequence(&large).expect("it fits");
    }
    // 16 borrowed, each behind its length, and the rest in one piece.
    assert_eq!(e.segments().count(), 33);
    assert_eq!(e.to_vec().len(), 20 * (LARGE + 4));
}

#[test]
fn encapsulations_may_hold_borrowed_octets() {
    let large = vec![7u8; LARGE + 3];
    let mut e = Encoder::new(Vec::new(), ByteOrder::LittleEndian);
    e.write_octet(1);
    e.encapsulation(|e| {
        e.write_octet_sequence(&large)?;
        e.write_ulonglong(5);
        Ok(())
    })
    .expect("it fits");
    e.write_ulong(6);
    let all = e.to_vec();
    let mut d = Decoder::with_position(&all, 1, ByteOrder::LittleEndian);
    let mut inner = d.encapsulation().expect("an encapsulation");
    assert_eq!(inner.read_octet_sequence().expect("octets"), large);
    assert_eq!(inner.read_ulonglong(), Ok(5));
    assert_eq!(inner.remaining(), 0);
    assert_eq!(d.read_ulong(), Ok(6));
}

#[test]
fn placeholders_and_truncation() {
    let large = vec![7u8; LARGE];
    let mut e = Encoder::new(vec![1; 100], ByteOrder::BigEndian);
    assert!(e.is_empty(), "the buffer given is cleared");
    e.write_octet(9);
    let place = e.reserve_ulong();
    e.write_octet_sequence(&large).expect("it fits");
    let before = e.len();
    e.align(8);
    e.write_ulong(1);
    e.truncate(before);
    assert_eq!(e.len(), before);
    e.truncate(0);
    assert_eq!(e.len(), before, "not across a borrowed chunk");
    e.patch_ulong(place, 0x0102_0304);
    e.patch_octet(1, 8);
    let size = e.placeholder_at(8);
    e.patch_ulong(size, 5);
    assert_eq!(e.own_octets(), [9, 8, 0, 0, 1, 2, 3, 4, 0, 0, 0, 5]);
}
