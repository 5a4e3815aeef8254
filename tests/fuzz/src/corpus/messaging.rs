//! Inputs of the targets of CORBA Messaging and of a shared connection. Called by `generate`.

use super::{Input, ORDERS, in_all_dialects};
use corbie::messaging::ExceptionHolder;
use corbie::{ByteOrder, CompletionStatus, Encoder, Minor, SystemException};

/// A holder in the plain form that Corbie writes, and in those that peers write: without its
/// repository id, with a list of ids, and in chunks (CORBA 3.3 P2 §9.3.4).
pub(super) fn exception_holders() -> Vec<Input> {
    let timeout = SystemException::timeout(Minor::of::<0x4f4d_0001>(), CompletionStatus::Maybe);
    let state =
        |e: &mut Encoder<'_>| state(e, false, &|body| body.write_string("IDL:Test/Nothing:1.0"));
    let mut inputs = in_all_dialects("system", |e| {
        e.write_ulong(0x7fff_ff02);
        e.write_string(ExceptionHolder::REPOSITORY_ID)?;
        self::state(e, true, &|body| timeout.encode_reply(body))
    });
    inputs.extend(in_all_dialects("untyped", |e| {
        e.write_ulong(0x7fff_ff00);
        state(e)
    }));
    inputs.extend(in_all_dialects("list", |e| {
        e.write_ulong(0x7fff_ff06);
        e.write_ulong(1);
        e.write_string(ExceptionHolder::REPOSITORY_ID)?;
        state(e)
    }));
    inputs.extend(in_all_dialects("chunked", |e| {
        e.write_ulong(0x7fff_ff0a);
        e.write_string(ExceptionHolder::REPOSITORY_ID)?;
        // two flags, padding, length, 4 + 21 octets
        e.write_ulong(33);
        state(e)?;
        e.write_ulong(u32::MAX);
        Ok(())
    }));
    inputs
}

type Write<'a> = dyn Fn(&mut Encoder<'_>) -> Result<(), corbie_cdr::Error> + 'a;

/// The members of a holder whose exception is what `write` writes.
fn state(e: &mut Encoder<'_>, is_system: bool, write: &Write<'_>) -> Result<(), corbie_cdr::Error> {
    e.write_boolean(is_system);
    e.write_boolean(e.order() == ByteOrder::LittleEndian);
    let mut body = Encoder::new(Vec::new(), e.order());
    write(&mut body)?;
    write_octets(e, &body.to_vec());
    Ok(())
}

/// A sequence of octets, copied.
fn write_octets(e: &mut Encoder<'_>, octets: &[u8]) {
    e.write_ulong(octets.len() as u32);
    octets.iter().for_each(|&octet| e.write_octet(octet));
}

/// Policies of every kind that travels, each an encapsulation in an encapsulation.
pub(super) fn invocation_policies() -> Vec<Input> {
    let encapsulated = |order, write: &dyn Fn(&mut Encoder<'_>)| {
        let mut e = Encoder::new(Vec::new(), order);
        e.write_octet(order.flag());
        write(&mut e);
        e.to_vec()
    };
    let input = |order: ByteOrder| {
        let time = encapsulated(order, &|e| {
            e.write_ulonglong(0x01dc_0000_0000_0000);
            e.write_ulong(0);
            e.write_ushort(0);
            e.write_short(60);
        });
        let priority = encapsulated(order, &|e| {
            e.write_short(1);
            e.write_short(9);
        });
        let queue = encapsulated(order, &|e| e.write_ushort(2));
        let octets = encapsulated(order, &|e| {
            let policies =
                [(28, &time), (30, &time), (25, &priority), (26, &priority), (35, &queue)];
            e.write_ulong(policies.len() as u32);
            for (number, policy) in policies {
                e.write_ulong(number);
                write_octets(e, policy);
            }
        });
        (format!("all-{order}"), octets)
    };
    ORDERS.into_iter().map(input).collect()
}

/// Steps of a server; see `targets::shared_connection`.
pub(super) fn shared_connections() -> Vec<Input> {
    let answer = |to: u8, body: &[u8]| [&[to << 3, body.len() as u8][..], body].concat();
    let raised =
        [&[2, 40, 0, 0, 0, 28][..], b"IDL:omg.org/CORBA/UNKNOWN:1.0\0\0\0\0\0\0\0\0"].concat();
    let input = |name: &str, steps: &[Vec<u8>]| (name.to_owned(), steps.concat());
    let (first, second, third) = (answer(0, b"one"), answer(1, b""), answer(2, b"three"));
    vec![
        input("in-order", &[first.clone(), second.clone(), third.clone()]),
        input("reversed", &[third.clone(), second.clone(), first.clone()]),
        input("twice", &[first.clone(), first.clone(), second.clone(), third.clone()]),
        input("stale", &[vec![0x63, 0], first.clone(), second.clone(), third.clone()]),
        input("exceptions", &[raised, vec![9, 0], third.clone()]),
        input("close", &[second.clone(), vec![4, 0], third.clone()]),
        input("error", &[first.clone(), vec![5, 0]]),
        input("raw", &[vec![6, 12], b"GIOP\x01\x02\0\x01\0\0\0\x40".to_vec(), first]),
        input("odd-status", &[vec![0x87, 0], vec![0xef, 3, 0, 0, 0], third]),
        input("silence", &[vec![6, 0]]),
    ]
}
