//! Service contexts: tagged octets that ride along with requests and replies.
//!
//! Unknown contexts are carried and ignored. Callers: the header codecs of `message`,
//! `orb/core`. CORBA 3.3 P2 §9.7 (service contexts), §7.10.2.6 (code set context).

use corbie_cdr::{ByteOrder, CodeSet, CodeSets, Decoder};

use super::tagged::{Tagged, TaggedList};
use crate::error::GiopError;

/// One service context; its tag is one of [`service_context_id`].
pub type ServiceContext<'a> = Tagged<'a>;

/// The service contexts of a request or reply.
pub type ServiceContexts<'a> = TaggedList<'a>;

/// The numbers that say what a service context means. CORBA 3.3 P2 §9.7.1.
pub mod service_context_id {
    /// The transaction service's propagation context.
    pub const TRANSACTION_SERVICE: u32 = 0;
    /// The transmission code sets of the connection.
    pub const CODE_SETS: u32 = 1;
    /// Bidirectional GIOP: the client's own listening points.
    pub const BI_DIR_IIOP: u32 = 5;
    /// The IOR of the sender's CodeBase.
    pub const SENDING_CONTEXT_RUN_TIME: u32 = 6;
    /// The policies of the caller for this request (CORBA Messaging §22.3.3).
    pub const INVOCATION_POLICIES: u32 = 7;
    /// An exception's text, as Java sends it.
    pub const UNKNOWN_EXCEPTION_INFO: u32 = 9;
    /// The priority of real-time CORBA.
    pub const RT_CORBA_PRIORITY: u32 = 10;
    /// More of a system exception than its body carries.
    pub const EXCEPTION_DETAIL_MESSAGE: u32 = 14;
    /// For which user a request is made (CORBA 3.3 P2 §10.2): `corbie_types::csi`.
    pub const SECURITY_ATTRIBUTE_SERVICE: u32 = 15;
}

impl ServiceContexts<'_> {
    /// The transmission code sets that the client chose, when the list has them.
    ///
    /// # Errors
    /// `Malformed`: the context is there but cannot be decoded.
    pub fn code_sets(&self) -> Result<Option<CodeSets>, GiopError> {
        self.find(service_context_id::CODE_SETS).map(CodeSetContext::decode).transpose()
    }
}

/// The encapsulated data of a CodeSets context (id 1), made without allocation.
///
/// ```text
///  0      1  2  3   4 … 7                8 … 11
/// order   0  0  0   char_data: ulong     wchar_data: ulong
/// ```
/// CORBA 3.3 P2 §7.10.2.6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSetContext([u8; 12]);

impl CodeSetContext {
    /// Encodes the context's data.
    #[must_use]
    pub fn new(code_sets: CodeSets, order: ByteOrder) -> Self {
        let CodeSets { char_data: CodeSet(char_data), wchar_data: CodeSet(wchar_data) } = code_sets;
        let octets = |value: u32| match order {
            ByteOrder::BigEndian => value.to_be_bytes(),
            ByteOrder::LittleEndian => value.to_le_bytes(),
        };
        let mut data = [0; 12];
        data[0] = u8::from(matches!(order, ByteOrder::LittleEndian));
        data[4..8].copy_from_slice(&octets(char_data));
        data[8..].copy_from_slice(&octets(wchar_data));
        Self(data)
    }

    /// The service context to put into a request.
    #[must_use]
    pub fn as_context(&self) -> ServiceContext<'_> {
        Tagged { tag: service_context_id::CODE_SETS, data: &self.0 }
    }

    /// Decodes the data of such a context.
    ///
    /// # Errors
    /// `Malformed`: fewer than twelve octets.
    pub fn decode(data: &[u8]) -> Result<CodeSets, GiopError> {
        let malformed = |e| GiopError::malformed("CodeSetContext", &e);
        let order = match data.first() {
            Some(octet) if octet & 1 == 1 => ByteOrder::LittleEndian,
            _ => ByteOrder::BigEndian,
        };
        let mut d = Decoder::new(data, order);
        d.read_octet().map_err(malformed)?;
        let char_data = CodeSet(d.read_ulong().map_err(malformed)?);
        let wchar_data = CodeSet(d.read_ulong().map_err(malformed)?);
        Ok(CodeSets { char_data, wchar_data })
    }
}
