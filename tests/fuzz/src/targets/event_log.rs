//! The log of durable event channels: what a disk gives back may be anything.
//! A segment is whole, ends in a torn batch, or is damaged; an event is read and written the same.

use corbie_event::log::{check_segment, event_again};

/// The first octet: bit 0 says that the segment is the last of its log, bit 1 that there is one
/// event instead of a segment.
pub fn event_log(data: &[u8]) {
    let Some((&first, rest)) = data.split_first() else { return };
    if first & 2 != 0 {
        if let Some(again) = event_again(rest) {
            assert_eq!(event_again(&again).as_ref(), Some(&again));
        }
        return;
    }
    let (is_last, length) = (first & 1 != 0, rest.len() as u64);
    if let Ok((_, torn)) = check_segment(rest, is_last) {
        assert!(torn == 0 || is_last && torn < length);
        // Without what is torn it is whole, wherever it stands.
        let whole = rest.get(..(length - torn) as usize).unwrap_or_default();
        assert!(matches!(check_segment(whole, false), Ok((_, 0))));
    }
}
