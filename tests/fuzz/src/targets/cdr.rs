//! CDR: the input is a small program of reads and the octets that they read.
//! What was read is written again and has to read the same.

use corbie_cdr::idl::{BoundedString, BoundedWstring, Sequence, Wstring};
use corbie_cdr::{Decoder, Error, ErrorKind, LongDouble, Marshal, WChar};

use super::Dialect;

/// A dialect, the number of reads modulo 32, the reads, then the octets to read from.
pub fn cdr(data: &[u8]) {
    let Some((dialect, [reads, rest @ ..])) = Dialect::take(data) else { return };
    let reads = usize::from(reads % 32).min(rest.len());
    let (reads, octets) = rest.split_at(reads);
    let mut d = dialect.decoder(octets);
    for &read in reads {
        let before = d.position();
        if let Err(error) = read_one(read, &mut d, dialect, 0) {
            assert!(error.offset() <= octets.len() + 8, "{error}");
            assert!(!error.to_string().is_empty());
        }
        assert!(before <= d.position() && d.position() <= octets.len());
        assert_eq!(d.remaining(), octets.len() - d.position());
    }
}

fn read_one(read: u8, d: &mut Decoder<'_>, dialect: Dialect, depth: u32) -> Result<(), Error> {
    match read % 28 {
        0 => check::<bool>(d, dialect),
        1 => check::<u8>(d, dialect),
        2 => check::<i8>(d, dialect),
        3 => check::<i16>(d, dialect),
        4 => check::<u16>(d, dialect),
        5 => check::<i32>(d, dialect),
        6 => check::<u32>(d, dialect),
        7 => check::<i64>(d, dialect),
        8 => check::<u64>(d, dialect),
        9 => f32::decode(d).map(drop),
        10 => f64::decode(d).map(drop),
        11 => check::<LongDouble>(d, dialect),
        12 => check::<char>(d, dialect),
        13 => check::<WChar>(d, dialect),
        14 => check::<String>(d, dialect),
        15 => check::<Wstring>(d, dialect),
        16 => check::<BoundedString<3>>(d, dialect),
        17 => check::<BoundedWstring<3>>(d, dialect),
        18 => check::<Sequence<u8>>(d, dialect),
        19 => check::<Sequence<i16>>(d, dialect),
        20 => check::<Sequence<u64>>(d, dialect),
        21 => check::<Sequence<bool>>(d, dialect),
        22 => check::<Sequence<String>>(d, dialect),
        23 => check::<Sequence<Sequence<Wstring>>>(d, dialect),
        24 => d.align(1 << (read % 4)),
        25 => d.read_octets(usize::from(read)).map(drop),
        26 if depth < 100 => {
            let mut inner = d.encapsulation()?;
            read_one(read.wrapping_add(1), &mut inner, dialect, depth + 1)
        }
        27 if depth < 100 => d.nested(|d| read_one(read, d, dialect, depth + 1)),
        _ => d.read_octet_sequence().map(drop),
    }
}

/// Reads a value, writes it at the same place, and reads it again.
fn check<M>(d: &mut Decoder<'_>, dialect: Dialect) -> Result<(), Error>
where
    M: Marshal,
    M::Value: PartialEq + std::fmt::Debug,
{
    let value = M::decode(d)?;
    let mut e = dialect.encoder();
    if let Err(error) = M::encode(&value, &mut e) {
        if matches!(error.kind(), ErrorKind::BadParameter | ErrorKind::DataConversion) {
            // A NUL within a string, and surrogates in UCS-2, are let in but never sent.
            return Ok(());
        }
        panic!("{value:?} was read and cannot be written: {error}");
    }
    let again = e.to_vec();
    let mut d = dialect.decoder(&again);
    match M::decode(&mut d) {
        Ok(second) => assert_eq!(value, second),
        Err(error) => panic!("{value:?} was written and cannot be read: {error}"),
    }
    assert_eq!(d.remaining(), 0);
    Ok(())
}
