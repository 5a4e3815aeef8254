//! Which object a Request or LocateRequest is for: its key, a profile, or a whole reference.
//!
//! GIOP 1.0 and 1.1 always send the key; 1.2 has all three forms, and a server that wants more than
//! it got answers NEEDS_ADDRESSING_MODE. Callers: the request codecs, `orb/core`. CORBA 3.3 P2
//! §9.4.2.4.

use corbie_cdr::{Decoder, Encoder, Version};

use super::tagged::{Tagged, TaggedList};
use crate::error::{GiopError, GiopErrorKind};

/// How a request names its target; also the body of NEEDS_ADDRESSING_MODE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i16)]
pub enum AddressingDisposition {
    /// The object key alone.
    Key = 0,
    /// A tagged profile of the reference.
    Profile = 1,
    /// The whole reference and the index of the profile that was used.
    Reference = 2,
}

impl AddressingDisposition {
    /// The form with this number on the wire.
    #[must_use]
    pub fn from_short(value: i16) -> Option<Self> {
        [Self::Key, Self::Profile, Self::Reference]
            .into_iter()
            .find(|disposition| *disposition as i16 == value)
    }

    /// Reads the body of a Reply or LocateReply with the status NEEDS_ADDRESSING_MODE.
    ///
    /// # Errors
    /// `Malformed`: nothing there. `BadValue`: not 0, 1 or 2.
    pub fn decode(d: &mut Decoder<'_>) -> Result<Self, GiopError> {
        const WHAT: &str = "AddressingDisposition";
        let value = d.read_short().map_err(|e| GiopError::malformed(WHAT, &e))?;
        Self::from_short(value)
            .ok_or_else(|| GiopError::new(GiopErrorKind::BadValue, d.position() - 2, WHAT, value))
    }

    /// Writes the body of a Reply or LocateReply with the status NEEDS_ADDRESSING_MODE.
    pub fn encode(self, e: &mut Encoder<'_>) {
        e.write_short(self as i16);
    }
}

/// The target of a request.
///
/// ```text
/// disposition: short │ 0 Key        object_key: sequence<octet>
///                    │ 1 Profile    tag: ulong, profile_data: sequence<octet>
///                    │ 2 Reference  selected_profile_index: ulong, ior: IOP::IOR
/// ```
/// GIOP 1.0 and 1.1 have the object key only, without the disposition. CORBA 3.3 P2 §9.4.2.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// The object key.
    Key(&'a [u8]),
    /// One profile of the reference.
    Profile(Tagged<'a>),
    /// The reference and which of its profiles the client used.
    Reference {
        /// Index into the profiles of the reference, counted from 0; decoded ones are in range.
        selected_profile: u32,
        /// The reference's repository id, without the terminating NUL.
        type_id: &'a [u8],
        /// All profiles of the reference.
        profiles: TaggedList<'a>,
    },
}

impl<'a> Target<'a> {
    /// The object key, when it is given directly.
    #[inline]
    #[must_use]
    pub fn object_key(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Key(key) => Some(key),
            Self::Profile(_) | Self::Reference { .. } => None,
        }
    }

    /// The tag and encapsulation of the profile, when the target is given by one.
    #[must_use]
    pub fn profile(&self) -> Option<Tagged<'a>> {
        match *self {
            Self::Key(_) => None,
            Self::Profile(profile) => Some(profile),
            Self::Reference { selected_profile, profiles, .. } => {
                profiles.iter().nth(usize::try_from(selected_profile).ok()?)
            }
        }
    }

    /// Which form it is.
    #[must_use]
    pub fn disposition(&self) -> AddressingDisposition {
        match self {
            Self::Key(_) => AddressingDisposition::Key,
            Self::Profile(_) => AddressingDisposition::Profile,
            Self::Reference { .. } => AddressingDisposition::Reference,
        }
    }

    /// Reads a target in the form of the decoder's GIOP version.
    ///
    /// # Errors
    /// `Malformed`, or `BadValue` for an unknown disposition or an index beyond the profiles.
    #[inline(always)]
    pub fn decode(d: &mut Decoder<'a>) -> Result<Self, GiopError> {
        const WHAT: &str = "object_key";
        if d.version() >= Version::V1_2 {
            let disposition = AddressingDisposition::decode(d)?;
            return Self::decode_addressed(disposition, d);
        }
        d.read_octet_sequence().map(Self::Key).map_err(|e| GiopError::malformed(WHAT, &e))
    }

    /// Reads what follows the disposition.
    ///
    /// # Errors
    /// As [`Target::decode`].
    #[inline(always)]
    pub(super) fn decode_addressed(
        disposition: AddressingDisposition,
        d: &mut Decoder<'a>,
    ) -> Result<Self, GiopError> {
        if disposition != AddressingDisposition::Key {
            return Self::decode_profile(disposition, d);
        }
        d.read_octet_sequence().map(Self::Key).map_err(|e| GiopError::malformed("object_key", &e))
    }

    #[cold]
    fn decode_profile(
        disposition: AddressingDisposition,
        d: &mut Decoder<'a>,
    ) -> Result<Self, GiopError> {
        const WHAT: &str = "TargetAddress";
        let malformed = |e| GiopError::malformed(WHAT, &e);
        if disposition == AddressingDisposition::Profile {
            let tag = d.read_ulong().map_err(malformed)?;
            let data = d.read_octet_sequence().map_err(malformed)?;
            return Ok(Self::Profile(Tagged { tag, data }));
        }
        let at = d.position();
        let selected_profile = d.read_ulong().map_err(malformed)?;
        let type_id = d.read_octet_sequence().map_err(malformed)?;
        let type_id = type_id.strip_suffix(&[0]).unwrap_or(type_id);
        let profiles = TaggedList::decode(d, WHAT)?;
        if usize::try_from(selected_profile).is_ok_and(|index| index < profiles.len()) {
            return Ok(Self::Reference { selected_profile, type_id, profiles });
        }
        let found = format_args!("index {selected_profile} of {} profiles", profiles.len());
        Err(GiopError::new(GiopErrorKind::BadValue, at, "selected_profile_index", found))
    }

    /// Writes a target: in 1.2 with its disposition, before that the object key alone, which the
    /// caller has to provide: a target without one is written as the empty key.
    ///
    /// # Errors
    /// The encoder's: the message becomes longer than a GIOP message can be.
    #[inline]
    pub fn encode(&self, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
        if e.version() < Version::V1_2 {
            return e.write_octet_sequence_copied(self.object_key().unwrap_or_default());
        }
        self.disposition().encode(e);
        self.encode_addressed(e)
    }

    /// Writes what follows the disposition.
    #[inline]
    pub(super) fn encode_addressed(&self, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
        match *self {
            Self::Key(key) => e.write_octet_sequence_copied(key),
            Self::Profile(Tagged { tag, data }) => {
                e.write_ulong(tag);
                e.write_octet_sequence_copied(data)
            }
            Self::Reference { selected_profile, type_id, profiles } => {
                e.write_ulong(selected_profile);
                e.write_length(type_id.len() + 1)?;
                e.write_octets(type_id);
                e.write_octet(0);
                profiles.encode(e)
            }
        }
    }
}
