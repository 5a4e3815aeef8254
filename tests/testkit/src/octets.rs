//! GIOP octets for peers that misbehave in one exact way: good requests and bad pieces.
//! Used together with `RawPeer`.

use corbie_cdr::{ByteOrder, Encoder, Version};
use corbie_giop::{
    MessageHeader, MessageKind, RequestHeader, ResponseFlags, ServiceContext, ServiceContexts,
    Target, finish_message, write_request,
};
use corbie_types::Ior;
use corbie_types::ior::MessagesProfile;

/// The object key in the first profile of IIOP or UIOP of a stringified reference.
///
/// # Panics
/// When the text is no reference with such a profile.
#[must_use]
pub fn object_key_in(reference: &str) -> Vec<u8> {
    let ior: Ior = reference.parse().expect("a stringified reference");
    let mut profiles = ior.profiles.iter();
    let key = profiles.find_map(|profile| {
        let spoken = MessagesProfile::of(profile.tag, &profile.data).expect("a profile of ours");
        let profile = spoken.map_or_else(|| profile.clone(), |spoken| spoken.carrier);
        let iiop = profile.iiop().expect("a profile that decodes").map(|body| body.object_key);
        let uiop = profile.uiop().expect("a profile that decodes").map(|body| body.object_key);
        iiop.or(uiop)
    });
    key.expect("a profile of IIOP or UIOP")
}

/// The object keys that a peer can make up for a neighbour of an object that it may call: all of
/// the neighbour's key but the secret at its end, which it takes from its own, leaves out or
/// guesses. `secret` is how many octets that has.
///
/// # Panics
/// When the secrets of the two have more than half of their octets in common.
#[must_use]
pub fn made_up_keys(own: &[u8], neighbour: &[u8], secret: usize) -> Vec<Vec<u8>> {
    let tail_of = |key: &[u8]| key[key.len() - secret..].to_vec();
    let head = &neighbour[..neighbour.len() - secret];
    let (own, theirs) = (tail_of(own), tail_of(neighbour));
    let alike = own.iter().zip(&theirs).filter(|(one, other)| one == other).count();
    assert!(alike * 2 <= secret, "{own:02x?} and {theirs:02x?} have {alike} octets in common");
    let mut guessed = theirs.clone();
    *guessed.last_mut().expect("a secret") ^= 1;
    [&own[..], &[], &guessed, &vec![b'0'; secret]].map(|tail| [head, tail].concat()).to_vec()
}

/// The `corbaloc` reference of what has the key there.
#[must_use]
pub fn corbaloc(address: impl std::fmt::Display, key: &[u8]) -> String {
    let key: String = key.iter().map(|octet| format!("%{octet:02x}")).collect();
    format!("corbaloc::{address}/{key}")
}

/// Checks that both objects with these `keys` are at `address`, and that a peer which may call the
/// first reaches the second by no key that it can make up ([`made_up_keys`]). `is_gone`: whether a
/// reference leads to no object.
///
/// # Panics
/// When that is not so.
pub fn neighbour_cannot_be_made_up(
    address: impl std::fmt::Display,
    keys: &[Vec<u8>; 2],
    secret: usize,
    is_gone: impl Fn(&str) -> bool,
) {
    let at = |key: &Vec<u8>| corbaloc(&address, key);
    keys.iter().for_each(|key| assert!(!is_gone(&at(key)), "{}", at(key)));
    for key in made_up_keys(&keys[0], &keys[1], secret) {
        assert!(is_gone(&at(&key)), "{}", at(&key));
    }
}

/// A request in GIOP 1.2, big-endian, as octets.
#[derive(Clone, Debug)]
pub struct RawRequest<'a> {
    /// The object key.
    pub object_key: &'a [u8],
    /// The operation.
    pub operation: &'a str,
    /// The request id.
    pub request_id: u32,
    /// The encoded arguments; they begin at a multiple of 8.
    pub arguments: &'a [u8],
}

impl RawRequest<'_> {
    /// The octets of the whole message.
    ///
    /// # Panics
    /// When the message has 4 GiB or more.
    #[must_use]
    pub fn octets(&self) -> Vec<u8> {
        self.octets_with(&[])
    }

    /// The octets of the whole message, with these service contexts.
    ///
    /// # Panics
    /// As [`RawRequest::octets`].
    #[must_use]
    pub fn octets_with(&self, contexts: &[ServiceContext<'_>]) -> Vec<u8> {
        let Self { object_key, operation, request_id, arguments } = *self;
        let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
        e.set_version(Version::V1_2);
        let header = RequestHeader {
            request_id,
            response: ResponseFlags::WithTarget,
            target: Target::Key(object_key),
            operation,
            service_contexts: ServiceContexts::new(contexts),
        };
        let start = write_request(&mut e, &header).expect("a small header");
        e.write_octets(arguments);
        finish_message(&mut e, start).expect("less than 4 GiB");
        e.to_vec()
    }
}

/// The header of a GIOP 1.2 message in big-endian order, whatever it claims.
#[must_use]
pub fn message_header(kind: MessageKind, more_fragments: bool, size: u32) -> [u8; 12] {
    let (version, order) = (Version::V1_2, ByteOrder::BigEndian);
    MessageHeader { version, order, more_fragments, kind, size }.encode()
}

/// A piece of a fragmented GIOP 1.2 message in big-endian order; more is to follow.
///
/// # Panics
/// When the data has 4 GiB or more.
#[must_use]
pub fn fragment_of_1_2(kind: MessageKind, request_id: u32, data: &[u8]) -> Vec<u8> {
    let size = u32::try_from(4 + data.len()).expect("less than 4 GiB");
    [&message_header(kind, true, size)[..], &request_id.to_be_bytes(), data].concat()
}
