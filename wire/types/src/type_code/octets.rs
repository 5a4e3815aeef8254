//! `sequence<octet>` on the wire (CORBA 3.3 P2 §9.3.5.1): its twenty octets are always the same,
//! so they are neither written field by field nor looked up. Asked by `wire` and by `Any`.

use corbie_cdr::{ByteOrder, Decoder, Encoder, Limits};

use super::TypeCode;

/// Kind 19, an encapsulation of 12 octets: byte order, kind 10, no bound.
const BIG: [u8; 20] = [0, 0, 0, 19, 0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0];
const LITTLE: [u8; 20] = [19, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0];

#[inline]
fn of(order: ByteOrder) -> &'static [u8; 20] {
    match order {
        ByteOrder::BigEndian => &BIG,
        ByteOrder::LittleEndian => &LITTLE,
    }
}

/// Writes it.
#[inline]
pub(crate) fn write(e: &mut Encoder<'_>) {
    e.align(4);
    e.write_octets(of(e.order()));
}

/// It, when it stands here and nothing less than usual is allowed; it is read then.
#[inline]
pub(super) fn read(d: &mut Decoder<'_>) -> Option<TypeCode> {
    let Limits { type_code_nodes, nesting_depth, .. } = d.limits();
    if *type_code_nodes < 2
        || *nesting_depth < 4
        || d.rest().first_chunk::<20>() != Some(of(d.order()))
    {
        return None;
    }
    d.read_octets(20).ok()?;
    Some(TypeCode::sequence(TypeCode::OCTET, 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Any;
    use corbie_cdr::{Marshal as _, idl::Sequence};

    #[test]
    fn an_any_of_octets_is_written_as_every_other_and_read() {
        let any = Any::from_value::<Sequence<u8>>(&vec![7; 30]).unwrap();
        for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
            for before in 0..9 {
                let [mut copied, mut usual] = [(); 2].map(|()| Encoder::new(Vec::new(), order));
                for e in [&mut copied, &mut usual] {
                    (0..before).for_each(|_| e.write_octet(9));
                }
                any.encode_copied(&mut copied).unwrap();
                Any::encode(&any, &mut usual).unwrap();
                assert_eq!(copied.to_vec(), usual.to_vec());
                let octets = copied.to_vec();
                let mut d = Decoder::with_position(&octets, before, order);
                let read = Any::decode(&mut d).unwrap();
                assert_eq!(read.octets(), Some([7; 30].as_slice()));
                assert_eq!(read.type_code(), any.type_code());
                assert_eq!(d.remaining(), 0);
                // Again, from what was read at another place.
                let mut again = Encoder::new(Vec::new(), order);
                read.encode_copied(&mut again).unwrap();
                assert_eq!(Any::decode(&mut Decoder::new(&again.to_vec(), order)).unwrap(), any);
            }
        }
    }
}
