//! GIOP 1.2 as far as `echo` needs it, octet by octet: what the load generator and the sink speak.
//!
//! `sources.rs` writes requests and reads replies, `sink.rs` the other way round. No ORB is in
//! between, so that the processes around a middle tier cost as little as messages can, and so that
//! an error of Corbie's own encoder cannot hide in both ends.

/// Octets of a GIOP header (CORBA 3.3 P2 §9.4.1).
pub(crate) const HEADER_OCTETS: usize = 12;
/// Octets of a reply to `echo`: header, id, status, no contexts, the value.
pub(crate) const REPLY_OCTETS: usize = 32;
/// The largest message taken: what is exchanged here has less than 200 octets.
const LARGEST: usize = 64 * 1024;

/// Where the request id of a message of GIOP 1.2 stands.
const ID_AT: usize = HEADER_OCTETS;
/// The bit of the flags octet for a little-endian sender.
const LITTLE_ENDIAN: u8 = 1;
/// Reply status `NO_EXCEPTION` (CORBA 3.3 P2 §9.4.3).
const NO_EXCEPTION: u32 = 0;
/// Locate status `OBJECT_HERE` (CORBA 3.3 P2 §9.4.5).
const OBJECT_HERE: u32 = 1;

/// Kinds of messages (CORBA 3.3 P2 §9.4.1).
mod kind {
    pub(super) const REQUEST: u8 = 0;
    pub(super) const REPLY: u8 = 1;
    pub(super) const LOCATE_REQUEST: u8 = 3;
    pub(super) const LOCATE_REPLY: u8 = 4;
}

/// What a message says, as far as anybody here wants to know.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A request of an operation with one 64-bit value.
    Request {
        /// Its id.
        id: u32,
        /// The value.
        value: i64,
        /// Whether the client waits for a reply.
        answered: bool,
    },
    /// A reply without exception.
    Reply {
        /// The request's id.
        id: u32,
        /// The value.
        value: i64,
    },
    /// A question where an object is.
    LocateRequest {
        /// Its id.
        id: u32,
    },
    /// The answer to that.
    LocateReply,
    /// A message that needs no answer (`CancelRequest`, `CloseConnection`).
    Other,
}

/// Octets of the whole message that begins in `octets`, or `None` when even its header is not
/// whole.
///
/// # Errors
/// When it is no GIOP message, or one larger than anything expected here.
pub(crate) fn whole_size(octets: &[u8]) -> Result<Option<usize>, String> {
    let Some(header) = octets.get(..HEADER_OCTETS) else { return Ok(None) };
    if !header.starts_with(b"GIOP") {
        return Err(format!("not a GIOP message: {header:02x?}"));
    }
    let size = HEADER_OCTETS + long(header, 8, header[6]).unwrap_or(0) as usize;
    if size > LARGEST {
        return Err(format!("a message of {size} octets, where `echo` has less than 200"));
    }
    Ok(Some(size))
}

fn long(octets: &[u8], at: usize, flags: u8) -> Option<u32> {
    let four = octets.get(at..at + 4)?.try_into().ok()?;
    let little = flags & LITTLE_ENDIAN != 0;
    Some(if little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) })
}

/// Reads a whole message.
///
/// # Errors
/// When it is cut off inside, or a reply with an exception.
pub(crate) fn read(message: &[u8]) -> Result<Message, String> {
    let cut = || format!("a message cut off inside: {message:02x?}");
    let flags = *message.get(6).ok_or_else(cut)?;
    let id = || long(message, ID_AT, flags).ok_or_else(cut);
    let last_value = || -> Result<i64, String> {
        let start = message.len().checked_sub(8).filter(|&start| start >= HEADER_OCTETS);
        let eight = message[start.ok_or_else(cut)?..].try_into().map_err(|_| cut())?;
        Ok(if flags & LITTLE_ENDIAN != 0 {
            i64::from_le_bytes(eight)
        } else {
            i64::from_be_bytes(eight)
        })
    };
    match message[7] {
        kind::REQUEST => {
            let answered = message.get(ID_AT + 4).ok_or_else(cut)? & 1 != 0;
            Ok(Message::Request { id: id()?, value: last_value()?, answered })
        }
        kind::REPLY => match long(message, ID_AT + 4, flags).ok_or_else(cut)? {
            NO_EXCEPTION => Ok(Message::Reply { id: id()?, value: last_value()? }),
            status => Err(exception(message, status)),
        },
        kind::LOCATE_REQUEST => Ok(Message::LocateRequest { id: id()? }),
        kind::LOCATE_REPLY => Ok(Message::LocateReply),
        _ => Ok(Message::Other),
    }
}

/// A reply that is none, in words: the id of the exception is the first text in its body.
fn exception(message: &[u8], status: u32) -> String {
    let text: String = message[HEADER_OCTETS..]
        .split(|octet| !octet.is_ascii_graphic())
        .find(|word| word.starts_with(b"IDL:"))
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .unwrap_or_default();
    format!("a reply with status {status} {text}")
}

/// A message with a header for the octets that `body` appends.
fn framed(kind: u8, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut message = b"GIOP\x01\x02\x01".to_vec();
    message.extend([kind, 0, 0, 0, 0]);
    body(&mut message);
    let size = (message.len() - HEADER_OCTETS) as u32;
    message[8..HEADER_OCTETS].copy_from_slice(&size.to_le_bytes());
    message
}

fn pad(message: &mut Vec<u8>, to: usize) {
    message.resize(message.len().next_multiple_of(to), 0);
}

fn push_octets(message: &mut Vec<u8>, octets: &[u8]) {
    pad(message, 4);
    message.extend((octets.len() as u32).to_le_bytes());
    message.extend(octets);
}

/// A request that is sent again and again, each time with another id and value.
#[derive(Clone)]
pub(crate) struct Request(Vec<u8>);

impl Request {
    /// A request of `operation` on the object with this key (CORBA 3.3 P2 §9.4.2).
    pub(crate) fn new(object_key: &[u8], operation: &str) -> Request {
        Request(framed(kind::REQUEST, |message| {
            message.extend([0; 4]); // the id
            message.extend([3, 0, 0, 0]); // a reply is wanted; three octets reserved
            message.extend([0; 4]); // the target is a key; its padding
            push_octets(message, object_key);
            push_octets(message, &[operation.as_bytes(), &[0]].concat());
            pad(message, 4);
            message.extend([0; 4]); // no service context
            pad(message, 8);
            message.extend([0; 8]); // the value
        }))
    }

    /// The octets with this id and value.
    pub(crate) fn with(&mut self, id: u32, value: i64) -> &[u8] {
        self.0[ID_AT..ID_AT + 4].copy_from_slice(&id.to_le_bytes());
        let value_at = self.0.len() - 8;
        self.0[value_at..].copy_from_slice(&value.to_le_bytes());
        &self.0
    }
}

/// A question where the object with this key is (CORBA 3.3 P2 §9.4.4).
pub(crate) fn locate_request(object_key: &[u8]) -> Vec<u8> {
    framed(kind::LOCATE_REQUEST, |message| {
        message.extend([0; 8]); // the id; the target is a key; its padding
        push_octets(message, object_key);
    })
}

/// Appends the reply of `echo`.
pub(crate) fn push_reply(octets: &mut Vec<u8>, id: u32, value: i64) {
    octets.extend(*b"GIOP\x01\x02\x01\x01\x14\0\0\0");
    octets.extend(id.to_le_bytes());
    octets.extend([0; 8]); // no exception, no service context
    octets.extend(value.to_le_bytes());
}

/// Appends the answer that the object is here.
pub(crate) fn push_locate_reply(octets: &mut Vec<u8>, id: u32) {
    octets.extend(framed(kind::LOCATE_REPLY, |message| {
        message.extend(id.to_le_bytes());
        message.extend(OBJECT_HERE.to_le_bytes());
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_replies_are_read_as_they_were_written() {
        let mut request = Request::new(b"key/5", "echo");
        for (id, value) in [(7, -3), (1 << 31, i64::MAX)] {
            let octets = request.with(id, value).to_vec();
            assert_eq!(whole_size(&octets), Ok(Some(octets.len())));
            assert_eq!(octets.len() % 8, 0);
            assert_eq!(read(&octets), Ok(Message::Request { id, value, answered: true }));
            let mut reply = Vec::new();
            push_reply(&mut reply, id, value);
            assert_eq!((reply.len(), whole_size(&reply)), (REPLY_OCTETS, Ok(Some(REPLY_OCTETS))));
            assert_eq!(read(&reply), Ok(Message::Reply { id, value }));
        }
    }

    #[test]
    fn places_are_asked_and_told() {
        let question = locate_request(b"key");
        assert_eq!(whole_size(&question), Ok(Some(question.len())));
        assert_eq!(read(&question), Ok(Message::LocateRequest { id: 0 }));
        let mut answer = Vec::new();
        push_locate_reply(&mut answer, 9);
        assert_eq!(read(&answer), Ok(Message::LocateReply));
    }

    #[test]
    fn a_big_endian_peer_is_understood() {
        let octets = b"GIOP\x01\x02\x00\x01\0\0\0\x14\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x2a";
        assert_eq!(whole_size(octets), Ok(Some(REPLY_OCTETS)));
        assert_eq!(read(octets), Ok(Message::Reply { id: 5, value: 42 }));
    }

    #[test]
    fn what_is_not_understood_is_an_error_in_words() {
        assert!(whole_size(b"HTTP/1.1 200 OK").unwrap_err().contains("not a GIOP message"));
        assert_eq!(whole_size(b"GIOP"), Ok(None));
        assert!(whole_size(b"GIOP\x01\x02\x01\x00\xff\xff\xff\x7f").is_err());
        assert!(read(b"GIOP\x01\x02\x01\x01\0\0\0\0").unwrap_err().contains("cut off"));
        let mut refused = Vec::new();
        push_reply(&mut refused, 1, 0);
        refused[16] = 2;
        refused.extend(b"\x1e\0\0\0IDL:omg.org/CORBA/TRANSIENT:1.0\0");
        let text = read(&refused).unwrap_err();
        assert_eq!(text, "a reply with status 2 IDL:omg.org/CORBA/TRANSIENT:1.0");
    }
}
