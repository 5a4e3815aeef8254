//! Profiles of endpoints at which another message protocol than GIOP is spoken: the profile of the
//! transport, and around it the name of the protocol (paper POA §3.3, pluggable protocols).
//!
//! GIOPlite over TCP has had a tag of its own before, with the body of IIOP, and keeps it.

use corbie_cdr::{ByteOrder, Decoder, Error};

use super::{TaggedProfile, encapsulated, profile_tag};

/// The name of GIOPlite in endpoints, object URLs and profiles.
pub const GIOPLITE: &str = "giopl";

/// A profile of a transport, and the message protocol that is spoken there.
///
/// ```text
/// | order | protocol name string | transport's tag ulong | transport's profile data octets |
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessagesProfile {
    /// The name of the message protocol.
    pub protocol: String,
    /// The byte order of the server, in which the profile is written: of GIOPlite that of all
    /// messages.
    pub order: ByteOrder,
    /// The profile of the transport.
    pub carrier: TaggedProfile,
}

impl MessagesProfile {
    /// Takes a profile apart; `None` when GIOP is spoken there, or the tag is an unknown one.
    ///
    /// # Errors
    /// When it has a tag of ours and cannot be read.
    pub fn of(tag: u32, data: &[u8]) -> Result<Option<Self>, Error> {
        // Of data without a first octet nothing can be read.
        let order = data.first().map_or(ByteOrder::NATIVE, |flag| ByteOrder::from_flag(*flag));
        match tag {
            profile_tag::CORBIE_GIOPLITE => {
                let (tag, data) = (profile_tag::INTERNET_IOP, data.to_vec());
                let carrier = TaggedProfile { tag, data };
                Ok(Some(Self { protocol: GIOPLITE.to_owned(), order, carrier }))
            }
            profile_tag::CORBIE_MESSAGES => {
                let mut d = Decoder::from_encapsulation(data)?;
                let protocol = d.read_str()?.to_owned();
                let (tag, data) = (d.read_ulong()?, d.read_octet_sequence()?.to_vec());
                Ok(Some(Self { protocol, order, carrier: TaggedProfile { tag, data } }))
            }
            _ => Ok(None),
        }
    }

    /// The profile for `carrier`, a profile written on this machine, where `protocol` is spoken.
    ///
    /// # Errors
    /// When the name contains a NUL.
    pub fn around(protocol: &str, carrier: TaggedProfile) -> Result<TaggedProfile, Error> {
        if protocol == GIOPLITE && carrier.tag == profile_tag::INTERNET_IOP {
            return Ok(TaggedProfile { tag: profile_tag::CORBIE_GIOPLITE, data: carrier.data });
        }
        let data = encapsulated(|e| {
            e.write_str(protocol)?;
            e.write_ulong(carrier.tag);
            e.write_octet_sequence_copied(&carrier.data)
        })?;
        Ok(TaggedProfile { tag: profile_tag::CORBIE_MESSAGES, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UiopProfile;
    use corbie_cdr::Version;

    #[test]
    fn a_profile_keeps_what_it_is_around() {
        let unix = UiopProfile::new(Version::V1_2, "/run/stock", *b"key").to_tagged().unwrap();
        for protocol in [GIOPLITE, "crc"] {
            let around = MessagesProfile::around(protocol, unix.clone()).unwrap();
            assert_eq!(around.tag, profile_tag::CORBIE_MESSAGES);
            let read = MessagesProfile::of(around.tag, &around.data).unwrap().unwrap();
            assert_eq!((&*read.protocol, read.order), (protocol, ByteOrder::NATIVE));
            assert_eq!(read.carrier, unix);
            for cut in 0..around.data.len() {
                assert!(MessagesProfile::of(around.tag, &around.data[..cut]).is_err(), "{cut}");
            }
        }
        assert_eq!(MessagesProfile::of(unix.tag, &unix.data).unwrap(), None);
    }

    #[test]
    fn gioplite_over_tcp_keeps_its_tag() {
        let tcp = TaggedProfile { tag: profile_tag::INTERNET_IOP, data: vec![1, 1, 2, 0] };
        let around = MessagesProfile::around(GIOPLITE, tcp.clone()).unwrap();
        assert_eq!((around.tag, &around.data), (profile_tag::CORBIE_GIOPLITE, &tcp.data));
        let read = MessagesProfile::of(around.tag, &around.data).unwrap().unwrap();
        assert_eq!((&*read.protocol, read.order), (GIOPLITE, ByteOrder::LittleEndian));
        assert_eq!(read.carrier, tcp);
    }
}
