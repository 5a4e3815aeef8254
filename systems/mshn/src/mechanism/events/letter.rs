//! What goes through the channels: a header and a request, an answer, or a probe; as an `any` with
//! an `Envelope`, or as an operation with the same members.
//!
//! Encoded and decoded by hand, in the form that the IDL says: requests are not copied into a
//! union first, and the TypeCode, which is always the same, is compared instead of parsed.

use super::Form;
use crate::idl::events::{Correlations, CorrelationsIdl, Envelope, Header, Kind, Raised};
use crate::messages::{Reply, Request};
use corbie::cdr::Error;
use corbie::{
    Any, ByteOrder, CompletionStatus, Decoder, Encoder, Marshal, Operation, SystemException,
    SystemExceptionKind, TypeCode, Typed, minor,
};
use std::sync::LazyLock;

/// The operation of an untyped event.
pub(super) static PUSH: Operation = Operation::twoway("push");

static PROBE: Operation = Operation::twoway("probe");
static REFUSAL: Operation = Operation::twoway("answer_refusal");
static ALIVE: Operation = Operation::twoway("answer_alive");

static TYPE: LazyLock<TypeCode> = LazyLock::new(Envelope::type_code);

/// The TypeCode of an envelope as it stands in an any, in our byte order.
static TYPE_OCTETS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut e = Encoder::native();
    let written = <TypeCode as Marshal>::encode(&TYPE, &mut e);
    written.map_or_else(|_| Vec::new(), |()| e.to_vec())
});

/// One event.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) head: Header,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Asks(Request),
    Answers(Reply),
    Refuses(SystemException),
    /// Is anybody there? And what of these requests, which are awaited?
    Probes(Correlations),
    /// The answer to it: of those, these are not in work and were not answered just now.
    IsAlive(Correlations),
}

impl Body {
    fn kind(&self) -> Kind {
        match self {
            Body::Asks(request) => request.kind(),
            Body::Answers(reply) => reply.kind(),
            Body::Refuses(_) => Kind::Refusal,
            Body::Probes(_) => Kind::Probe,
            Body::IsAlive(_) => Kind::Alive,
        }
    }

    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<(), Error> {
        match self {
            Body::Asks(request) => request.encode_member(e),
            Body::Answers(reply) => reply.encode_member(e),
            Body::Refuses(exception) => {
                e.write_str(exception.repository_id())?;
                e.write_ulong(exception.minor.code());
                <CompletionStatus as Marshal>::encode(&exception.completed, e)?;
                e.write_string(exception.detail.as_deref().unwrap_or_default())
            }
            Body::Probes(listed) | Body::IsAlive(listed) => {
                <CorrelationsIdl as Marshal>::encode(listed, e)
            }
        }
    }

    fn decode(kind: Kind, d: &mut Decoder<'_>) -> Result<Self, Error> {
        if let Some(request) = Request::decode_member(kind, d)? {
            return Ok(Body::Asks(request));
        }
        if let Some(reply) = Reply::decode_member(kind, d)? {
            return Ok(Body::Answers(reply));
        }
        match kind {
            Kind::Refusal => Ok(Body::Refuses(exception(<Raised as Marshal>::decode(d)?))),
            Kind::Alive => <CorrelationsIdl as Marshal>::decode(d).map(Body::IsAlive),
            _ => <CorrelationsIdl as Marshal>::decode(d).map(Body::Probes),
        }
    }
}

fn exception(raised: Raised) -> SystemException {
    let kind = SystemExceptionKind::from_repository_id(&raised.repository_id);
    let completed = match raised.completed {
        0 => CompletionStatus::Yes,
        1 => CompletionStatus::No,
        _ => CompletionStatus::Maybe,
    };
    let kind = kind.unwrap_or(SystemExceptionKind::Unknown);
    SystemException::received(kind, raised.minor, completed).with_detail(raised.why)
}

impl Letter {
    /// The operation that it is sent as.
    pub(super) fn operation(&self, form: Form) -> &'static Operation {
        match form {
            Form::Untyped => &PUSH,
            Form::Typed => match &self.body {
                Body::Asks(request) => request.event(),
                Body::Answers(reply) => reply.event(),
                Body::Refuses(_) => &REFUSAL,
                Body::Probes(_) => &PROBE,
                Body::IsAlive(_) => &ALIVE,
            },
        }
    }

    /// Writes the arguments of that operation.
    pub(super) fn encode<'a>(&'a self, form: Form, e: &mut Encoder<'a>) -> Result<(), Error> {
        match form {
            Form::Untyped => {
                if e.order() == ByteOrder::NATIVE
                    && e.position().is_multiple_of(4)
                    && !TYPE_OCTETS.is_empty()
                {
                    e.write_octets(&TYPE_OCTETS);
                } else {
                    <TypeCode as Marshal>::encode(&TYPE, e)?;
                }
                <Header as Marshal>::encode(&self.head, e)?;
                e.write_ulong(self.body.kind() as u32);
                self.body.encode(e)
            }
            Form::Typed => {
                <Header as Marshal>::encode(&self.head, e)?;
                self.body.encode(e)
            }
        }
    }

    /// The letter that a typed event of that operation is; nothing when it is none of ours.
    ///
    /// # Errors
    /// When the arguments are malformed.
    pub(super) fn decode_event(
        operation: &str,
        mut d: Decoder<'_>,
    ) -> Result<Option<Self>, SystemException> {
        let member = Request::kind_of(operation).or_else(|| Reply::kind_of(operation));
        let kind = match (member, operation) {
            (Some(kind), _) => Some(kind),
            (None, "answer_refusal") => Some(Kind::Refusal),
            (None, "answer_alive") => Some(Kind::Alive),
            (None, "probe") => Some(Kind::Probe),
            (None, _) => None,
        };
        let Some(kind) = kind else { return Ok(None) };
        let head = <Header as Marshal>::decode(&mut d)?;
        Ok(Some(Self { head, body: Body::decode(kind, &mut d)? }))
    }

    /// The letter in an untyped event.
    ///
    /// # Errors
    /// When the any is malformed or holds something else.
    pub(super) fn decode_any(mut d: Decoder<'_>) -> Result<Self, SystemException> {
        let is_alike = d.order() == ByteOrder::NATIVE && d.position().is_multiple_of(4);
        if is_alike && !TYPE_OCTETS.is_empty() && d.rest().starts_with(&TYPE_OCTETS) {
            d.read_octets(TYPE_OCTETS.len())?;
            return Ok(Self::decode(&mut d)?);
        }
        let any = Any::decode(&mut d)?;
        if !any.type_code().equivalent(&TYPE) {
            let found = any.type_code();
            return Err(SystemException::bad_param(
                minor::BAD_PARAM_WRONG_TYPE,
                CompletionStatus::No,
            )
            .with_detail(format!("the event should be an MSHN envelope, but is a {found}")));
        }
        let mut own = Encoder::native();
        any.encode_value(&mut own)?;
        let octets = own.to_vec();
        Ok(Self::decode(&mut Decoder::new(&octets, ByteOrder::NATIVE))?)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        let head = <Header as Marshal>::decode(d)?;
        let kind = <Kind as Marshal>::decode(d)?;
        Ok(Self { head, body: Body::decode(kind, d)? })
    }
}
