//! An encoder that links blocks writes what one with a single buffer writes: whatever is written,
//! wherever the blocks end, whatever is borrowed, shared, patched and taken back.

use corbie_cdr::idl::Sequence;
use corbie_cdr::payload::SharedOctets;
use corbie_cdr::{ByteOrder, Encoder, Error, Marshal, Piece, Placeholder, buffers};
use proptest::prelude::*;

const LARGE: usize = Encoder::BORROW_THRESHOLD;

/// Something to write.
#[derive(Clone, Debug)]
enum Step {
    Octet(u8),
    Short(i16),
    Ulong(u32),
    Double(f64),
    Text(String),
    Wide(String),
    /// Copied when small, borrowed when large.
    Octets(Vec<u8>),
    /// Shared when large.
    Shared(SharedOctets),
    /// Lent to the encoder, and written by a caller that knows nothing of it.
    Lent(SharedOctets),
    Longs(Vec<i32>),
    Doubles(Vec<f64>),
    Reserved(u32),
    /// Written and taken back.
    TakenBack(Vec<u8>),
    Encapsulation(Vec<Step>),
}

fn large() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![0..50_usize, LARGE - 2..LARGE + 3, Just(3 * LARGE)];
    (length, any::<u8>())
        .prop_map(|(length, first)| (0..length).map(|at| first.wrapping_add(at as u8)).collect())
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        any::<u8>().prop_map(Step::Octet),
        any::<i16>().prop_map(Step::Short),
        any::<u32>().prop_map(Step::Ulong),
        any::<f64>().prop_map(Step::Double),
        "[a-zé]{0,20}".prop_map(Step::Text),
        "[a-zé]{0,20}".prop_map(Step::Wide),
        large().prop_map(Step::Octets),
        large().prop_map(|octets| Step::Shared(SharedOctets::new(octets))),
        large().prop_map(|octets| Step::Lent(SharedOctets::new(octets).slice(1..usize::MAX))),
        proptest::collection::vec(any::<i32>(), 0..40).prop_map(Step::Longs),
        (0..3000_usize).prop_map(|n| Step::Doubles((0..n).map(|at| at as f64).collect())),
        any::<u32>().prop_map(Step::Reserved),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Step::TakenBack),
    ];
    leaf.prop_recursive(3, 40, 8, |inner| {
        proptest::collection::vec(inner, 0..8).prop_map(Step::Encapsulation)
    })
}

fn write<'a>(
    e: &mut Encoder<'a>,
    steps: &'a [Step],
    patches: &mut Vec<(Placeholder, u32)>,
) -> Result<(), Error> {
    for step in steps {
        match step {
            Step::Octet(value) => e.write_octet(*value),
            Step::Short(value) => e.write_short(*value),
            Step::Ulong(value) => e.write_ulong(*value),
            Step::Double(value) => e.write_double(*value),
            Step::Text(value) => e.write_string(value)?,
            Step::Wide(value) => e.write_wstring(value)?,
            Step::Octets(value) => e.write_octet_sequence(value)?,
            Step::Shared(value) => e.write_shared_octets(value.clone()),
            Step::Lent(value) => value.lend(|octets| e.write_octet_sequence(octets))?,
            Step::Longs(value) => Sequence::<i32>::encode(value, e)?,
            Step::Doubles(value) => Sequence::<f64>::encode(value, e)?,
            Step::Reserved(value) => patches.push((e.reserve_ulong(), *value)),
            Step::TakenBack(value) => {
                let before = e.len();
                e.align(8);
                e.write_octets(value);
                e.truncate(before);
            }
            Step::Encapsulation(steps) => e.encapsulation(|e| write(e, steps, patches))?,
        }
    }
    Ok(())
}

fn written<'a>(mut e: Encoder<'a>, steps: &'a [Step]) -> Encoder<'a> {
    let mut patches = Vec::new();
    write(&mut e, steps, &mut patches).expect("it can be written");
    patches.into_iter().for_each(|(place, value)| e.patch_ulong(place, value));
    e.patch_octet(1, 0xee);
    e
}

fn pieces(mut e: Encoder<'_>) -> Vec<u8> {
    let mut all = Vec::new();
    e.take_pieces(|piece| match piece {
        Piece::Octets(octets) => all.extend_from_slice(octets),
        Piece::Shared(octets) => all.extend_from_slice(&octets),
        Piece::Block(block) => {
            all.extend_from_slice(&block);
            buffers::give(block);
        }
    });
    assert!(e.is_empty() && e.segments().next().is_none(), "all was taken out");
    all
}

proptest! {
    #[test]
    fn blocks_make_no_difference(
        steps in proptest::collection::vec(step(), 0..24),
        block in prop_oneof![1..40_usize, 100..9000_usize],
        lead in 0..9_usize,
        order in prop_oneof![Just(ByteOrder::BigEndian), Just(ByteOrder::LittleEndian)],
    ) {
        let lead: Vec<Step> = (0..lead).map(|at| Step::Octet(at as u8)).collect();
        let steps = [lead, steps].concat();
        let whole = written(Encoder::new(Vec::new(), order), &steps);
        let expected = whole.to_vec();
        prop_assert_eq!(whole.len(), expected.len());
        let own = whole.into_buffer();
        for make in [|order, _| Encoder::pooled(order), |order, block| Encoder::in_blocks_of(block, order)] {
            let e = written(make(order, block), &steps);
            prop_assert_eq!(e.len(), expected.len());
            prop_assert!(e.segments().all(|segment| !segment.is_empty()), "no empty piece");
            prop_assert_eq!(&e.to_vec(), &expected);
            prop_assert_eq!(e.position() % 8, expected.len() % 8);
            prop_assert_eq!(&e.into_buffer(), &own);
            prop_assert_eq!(&pieces(written(make(order, block), &steps)), &expected);
        }
    }
}

#[test]
fn what_is_written_stays_where_it_is() {
    let mut e = Encoder::pooled(ByteOrder::NATIVE);
    let mut places = Vec::new();
    for value in 0..200_000 {
        e.write_ulong(value);
        if value % 10_000 == 0 {
            places.push(e.own_octets().as_ptr());
        }
    }
    assert!(places.windows(2).all(|pair| pair[0] == pair[1]), "the first block was moved");
    let sizes: Vec<usize> = e.segments().map(<[u8]>::len).collect();
    assert_eq!(sizes, [4 << 10, 16 << 10, 128 << 10, 648_448], "{sizes:?}");
}

#[test]
fn lent_octets_are_shared_and_others_borrowed() {
    let frame = SharedOctets::new(vec![7; 3 * LARGE]);
    let other = vec![8; LARGE];
    let mut e = Encoder::native();
    frame.lend(|octets| {
        e.write_octet_sequence(&octets[LARGE..2 * LARGE]).expect("it fits");
        e.write_octet_sequence(&other).expect("it fits");
    });
    e.write_octet_sequence(&frame).expect("it fits");
    let mut kinds = Vec::new();
    e.take_pieces(|piece| match piece {
        Piece::Shared(octets) => {
            assert!(std::ptr::eq(&raw const octets[0], &raw const frame[LARGE]), "a copy");
            kinds.push("shared");
        }
        Piece::Octets(octets) if octets.len() >= LARGE => kinds.push("borrowed"),
        Piece::Octets(_) | Piece::Block(_) => {}
    });
    assert_eq!(kinds, ["shared", "borrowed", "borrowed"], "the last was not lent any more");
}
