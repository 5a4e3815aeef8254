//! Where the sender of a request listens: the data of a BI_DIR_IIOP service context (id 5), by
//! which a client offers its connection for requests to its own objects.
//!
//! Written by `orb/core` once for each ORB, read by the server for each context that comes. CORBA
//! 3.3 P2 §9.8.1 (IIOP::BiDirIIOPServiceContext).

use corbie_cdr::{ByteOrder, Decoder, Encoder};

use super::service_context::{ServiceContexts, service_context_id};
use super::tagged::Tagged;
use crate::error::GiopError;

/// One place where the sender listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListenPoint {
    /// The host, as in the profiles of its references.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// The encapsulated data of a BI_DIR_IIOP context.
///
/// ```text
/// order: octet │ 3 octets padding │ count: ulong │ count × (host: string │ port: ushort)
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenPoints(Vec<u8>);

impl ListenPoint {
    /// The smallest encoding of one: the length of the host, its NUL and the port.
    const MIN_OCTETS: usize = 8;
}

impl ListenPoints {
    /// Encodes the context's data.
    ///
    /// # Errors
    /// The encoder's: a host cannot be written.
    pub fn new(points: &[ListenPoint], order: ByteOrder) -> Result<Self, corbie_cdr::Error> {
        let mut e = Encoder::new(Vec::new(), order);
        e.write_octet(u8::from(order == ByteOrder::LittleEndian));
        e.write_length(points.len())?;
        for ListenPoint { host, port } in points {
            e.write_string(host)?;
            e.write_ushort(*port);
        }
        Ok(ListenPoints(e.to_vec()))
    }

    /// The service context to put into a request.
    #[must_use]
    pub fn as_context(&self) -> Tagged<'_> {
        Tagged { tag: service_context_id::BI_DIR_IIOP, data: &self.0 }
    }

    /// Decodes the data of such a context, `most` points of it; and how many there are.
    ///
    /// # Errors
    /// `Malformed`: the data ends early, or a host is no text.
    pub fn decode(data: &[u8], most: usize) -> Result<(Vec<ListenPoint>, usize), GiopError> {
        let malformed = |e| GiopError::malformed("BiDirIIOPServiceContext", &e);
        let order = match data.first() {
            Some(octet) if octet & 1 == 1 => ByteOrder::LittleEndian,
            _ => ByteOrder::BigEndian,
        };
        let mut d = Decoder::new(data, order);
        d.read_octet().map_err(malformed)?;
        let count = d.read_length(ListenPoint::MIN_OCTETS).map_err(malformed)?;
        let mut points = Vec::with_capacity(count.min(most));
        for _ in 0..count.min(most) {
            let host = d.read_string().map_err(malformed)?.into_owned();
            let port = d.read_ushort().map_err(malformed)?;
            points.push(ListenPoint { host, port });
        }
        Ok((points, count))
    }
}

impl ServiceContexts<'_> {
    /// Where the client listens, when it offers its connection: `most` places, and how many it
    /// named.
    ///
    /// # Errors
    /// `Malformed`: the context is there but cannot be decoded.
    pub fn listen_points(
        &self,
        most: usize,
    ) -> Result<Option<(Vec<ListenPoint>, usize)>, GiopError> {
        let data = self.find(service_context_id::BI_DIR_IIOP);
        data.map(|data| ListenPoints::decode(data, most)).transpose()
    }
}
