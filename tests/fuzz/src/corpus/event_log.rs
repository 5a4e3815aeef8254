//! Segments of event logs, and events as they are in them.
//!
//! The octet before each is that of `targets::event_log`.

use super::Input;
use corbie_event::interfaces::Signature;
use corbie_event::log::segment_of;
use corbie_event::{Event, Shape};
use corbie_types::{Any, TypeCode};
use std::sync::Arc;

/// A whole segment, one that is torn, one that is damaged; events of each form.
pub(super) fn event_logs() -> Vec<Input> {
    let any = Any::from_value::<i32>(&42).expect("an any");
    let untyped = Arc::new(Event::of_any(&any).expect("an event"));
    let parameters = [("price".to_owned(), TypeCode::DOUBLE)];
    let signature = Arc::new(Signature::new("IDL:Ticker:1.0", "::Ticker", "tick", parameters));
    let shape = Shape::Typed(Arc::clone(&signature));
    let typed = Event::written(signature.operation().clone(), shape, |e| {
        e.write_double(2.5);
        Ok(())
    });
    let typed = Arc::new(typed.expect("an event"));
    let named = Event::written(corbie::Operation::oneway("shout"), Shape::Any, |e| {
        e.write_ulong(0);
        Ok(())
    });
    let named = Arc::new(named.expect("an event"));
    let batches = [vec![Arc::clone(&untyped), Arc::clone(&typed)], vec![Arc::clone(&named)]];
    let segment = segment_of(0x1122_3344_5566_7788, 7, &batches).expect("a segment");
    let with = |first: u8, octets: &[u8]| [&[first][..], octets].concat();
    let mut damaged = segment.clone();
    damaged[90] ^= 1;
    let mut inputs = vec![
        ("whole".to_owned(), with(0, &segment)),
        ("torn".to_owned(), with(1, &segment[..segment.len() - 9])),
        ("damaged".to_owned(), with(1, &damaged)),
    ];
    for (name, event) in [("untyped", untyped), ("typed", typed), ("named", named)] {
        let one = segment_of(0, 0, &[vec![event]]).expect("a segment");
        // Behind the headers of the segment and the batch there are a length and the event.
        let length = u32::from_le_bytes(one[72..76].try_into().expect("four octets"));
        inputs.push((name.to_owned(), with(2, &one[76..76 + length as usize])));
    }
    inputs
}
