//! `Messaging::ExceptionHolder`: an exception on its way to a reply handler, as a value.
//!
//! Holds what the reply of the server had as its body, undecoded; the typed holders of generated
//! code (`AmiQuoterExceptionHolder::raise_get_quote`) turn it into the error of the operation.
//! CORBA Messaging §22.7 (what it holds), CORBA 3.3 P2 §9.3.4 (how a value travels).

use corbie_cdr::idl::Sequence;
use corbie_cdr::{ByteOrder, CodeSets, Decoder, Encoder, Marshal, StateRead, ValueStart, Version};
use corbie_core::{Orb, orb_of};
use corbie_types::{
    Any, CompletionStatus, SystemException, TypeCode, Typed, Value, ValueModifier, Visibility,
    minor,
};
use std::fmt;
use std::sync::Arc;

/// An exception that an asynchronous call ended with. Cheap to clone.
///
/// ```
/// use corbie_messaging::{ExceptionHolder, Raised};
/// use corbie_types::{CompletionStatus, SystemException, minor};
/// let timeout = SystemException::timeout(minor::TIMEOUT_CALL, CompletionStatus::Maybe);
/// let holder = ExceptionHolder::of_system(&timeout)?;
/// assert_eq!(holder.raise_exception(), Err(Raised::System(timeout)));
/// # Ok::<(), SystemException>(())
/// ```
#[derive(Clone)]
pub struct ExceptionHolder(Arc<Held>);

struct Held {
    is_system_exception: bool,
    byte_order: ByteOrder,
    /// The body of the reply: repository id, then the members.
    marshaled_exception: Vec<u8>,
    version: Version,
    code_sets: CodeSets,
    /// What reading object references among the members needs.
    orb: Option<Orb>,
}

/// What [`ExceptionHolder::raise_exception`] raises.
#[derive(Clone, Debug, PartialEq)]
pub enum Raised {
    /// A system exception.
    System(SystemException),
    /// A user exception whose type is not known here: its repository id.
    User(String),
    /// A user exception of a known type: an any that holds it.
    Typed(Any),
}

impl ExceptionHolder {
    /// What names the type on the wire.
    pub const REPOSITORY_ID: &'static str = "IDL:omg.org/Messaging/ExceptionHolder:1.0";

    /// Holds a system exception.
    ///
    /// # Errors
    /// None in practice.
    pub fn of_system(exception: &SystemException) -> Result<Self, SystemException> {
        let mut e = Encoder::native();
        exception.encode_reply(&mut e)?;
        Ok(Self::local(true, e, None))
    }

    /// Holds a user exception: `members` writes its members.
    ///
    /// # Errors
    /// What `members` makes.
    pub fn of_user<'a>(
        orb: &Orb,
        repository_id: &'a str,
        members: &dyn Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
    ) -> Result<Self, SystemException> {
        let mut e = Encoder::native();
        e.write_str(repository_id)?;
        members(&mut e)?;
        Ok(Self::local(false, e, Some(orb.clone())))
    }

    fn local(is_system_exception: bool, e: Encoder<'_>, orb: Option<Orb>) -> Self {
        let (byte_order, version, code_sets) = (e.order(), e.version(), e.code_sets());
        let marshaled_exception = if e.is_contiguous() { e.into_buffer() } else { e.to_vec() };
        let held =
            Held { is_system_exception, byte_order, marshaled_exception, version, code_sets, orb };
        ExceptionHolder(Arc::new(held))
    }

    /// Whether it holds a system exception, rather than a user exception.
    #[must_use]
    pub fn is_system_exception(&self) -> bool {
        self.0.is_system_exception
    }

    /// The byte order of [`ExceptionHolder::marshaled_exception`]; `TRUE` on the wire is
    /// little-endian, as in a message header.
    #[must_use]
    pub fn byte_order(&self) -> ByteOrder {
        self.0.byte_order
    }

    /// The exception as a reply's body: repository id, then the members.
    #[must_use]
    pub fn marshaled_exception(&self) -> &[u8] {
        &self.0.marshaled_exception
    }

    /// Always fails, with the exception held. User exceptions have no type here: use the typed
    /// holder, or [`ExceptionHolder::raise_exception_with_list`].
    ///
    /// # Errors
    /// [`Raised::System`] and [`Raised::User`]. `MARSHAL` when the octets are no exception.
    pub fn raise_exception(&self) -> Result<(), Raised> {
        self.raise_exception_with_list(&[])
    }

    /// As [`ExceptionHolder::raise_exception`], with the types of the user exceptions that may
    /// come.
    ///
    /// # Errors
    /// [`Raised::Typed`] for an exception in the list, else as the other.
    pub fn raise_exception_with_list(&self, exceptions: &[TypeCode]) -> Result<(), Raised> {
        let id = self.user_exception().map_err(Raised::System)?;
        let known = exceptions.iter().find(|type_code| type_code.id() == id);
        Err(match known {
            None => Raised::User(id.to_owned()),
            Some(type_code) => match self.to_any(type_code) {
                Ok(any) => Raised::Typed(any),
                Err(exception) => Raised::System(exception),
            },
        })
    }

    fn to_any(&self, type_code: &TypeCode) -> Result<Any, SystemException> {
        let value = Value::decode(type_code, &mut self.decoder()).map_err(unreadable)?;
        Any::from_dynamic(type_code.clone(), &value)
    }

    /// The repository id of the user exception held; [`ExceptionHolder::members`] then reads its
    /// members. Generated code is made of this.
    ///
    /// # Errors
    /// The system exception, where it holds one; `MARSHAL` when the octets are no exception.
    pub fn user_exception(&self) -> Result<&str, SystemException> {
        let mut d = self.decoder();
        if !self.is_system_exception() {
            return d.read_str().map_err(unreadable);
        }
        let exception = SystemException::decode_reply(&mut d).unwrap_or_else(unreadable);
        match d.read_str() {
            // Within a process, the holder says why, too.
            Ok(detail) if d.remaining() == 0 => Err(exception.with_detail(detail)),
            _ => Err(exception),
        }
    }

    /// Reads the members of the user exception held.
    ///
    /// # Errors
    /// `MARSHAL` or what else `read` makes of the octets, `COMPLETED_YES`.
    pub fn members<T>(
        &self,
        read: impl FnOnce(&mut Decoder<'_>) -> Result<T, corbie_cdr::Error>,
    ) -> Result<T, SystemException> {
        let mut d = self.decoder();
        d.read_string_octets().map_err(unreadable)?;
        read(&mut d).map_err(unreadable)
    }

    /// The exception for a user exception that the operation does not raise by its IDL
    /// (CORBA 3.3 P1 §8.11: `UNKNOWN`, minor 1, `COMPLETED_YES`).
    #[must_use]
    pub fn unknown_user_exception(&self) -> SystemException {
        let id = self.user_exception().unwrap_or_default();
        minor::UNKNOWN_USER_EXCEPTION.raise(
            CompletionStatus::Yes,
            format!("the user exception {id:?} is not in the IDL of the operation"),
        )
    }

    fn decoder(&self) -> Decoder<'_> {
        let held = &*self.0;
        let mut d = Decoder::new(&held.marshaled_exception, held.byte_order);
        d.set_version(held.version);
        d.set_code_sets(held.code_sets);
        if let Some(orb) = &held.orb {
            d.set_limits(orb.limits());
            d.set_context(Some(orb));
        }
        d
    }

    /// Writes a holder as a value without making one: `exception` is the body of a reply.
    ///
    /// # Errors
    /// The encoder's.
    pub(crate) fn write(
        is_system_exception: bool,
        byte_order: ByteOrder,
        exception: &[u8],
        e: &mut Encoder<'_>,
    ) -> Result<(), corbie_cdr::Error> {
        e.write_new_value(Arc::new(()), &[Self::REPOSITORY_ID], false, |e| {
            e.write_boolean(is_system_exception);
            e.write_boolean(byte_order == ByteOrder::LittleEndian);
            e.write_length(exception.len())?;
            e.write_octets(exception);
            Ok(())
        })
    }
}

/// The body of a reply with a user exception, written anew where its octets cannot be taken as they
/// are: in a holder the exception begins at an alignment origin of its own (in GIOP 1.0 and 1.1 a
/// body may not), and its characters are in the code sets of the connection that the holder takes.
/// `None`: as they are, or the type of the exception is not known.
pub(crate) fn reply_body_as(
    body: &Decoder<'_>,
    type_of: &dyn Fn(&str) -> Option<TypeCode>,
    version: Version,
    code_sets: CodeSets,
) -> Option<(ByteOrder, Vec<u8>)> {
    let is_aligned = body.position().is_multiple_of(8);
    let is_same_version = body.version().of_values() == version.of_values();
    if is_aligned && is_same_version && body.code_sets() == code_sets {
        return None;
    }
    let type_code = type_of(body.clone().read_str().ok()?)?;
    let value = Value::decode(&type_code, &mut body.clone()).ok()?;
    let mut e = Encoder::native();
    e.set_version(version);
    e.set_code_sets(code_sets);
    value.encode(&type_code, &mut e).ok()?;
    Some((e.order(), e.to_vec()))
}

#[cold]
fn unreadable(error: corbie_cdr::Error) -> SystemException {
    SystemException::from(error).completed(CompletionStatus::Yes)
}

/// Whether this is the type of a holder. Before CORBA 3.0 every interface had a derived type of its
/// own with the same state (`AMI_QuoterExceptionHolder`), which old peers still send.
fn is_holder(id: &str) -> bool {
    id == ExceptionHolder::REPOSITORY_ID
        || id.strip_suffix(":1.0").is_some_and(|id| id.ends_with("ExceptionHolder"))
}

impl Marshal for ExceptionHolder {
    type Value = Self;
    /// A tag, or what stands for one.
    const MIN_OCTETS: usize = 4;

    /// Characters among the members are in the code sets of the connection that the exception came
    /// over: only the IDL of the operation could convert them.
    fn encode<'a>(value: &'a Self, e: &mut Encoder<'a>) -> Result<(), corbie_cdr::Error> {
        let held = &*value.0;
        Self::write(held.is_system_exception, held.byte_order, &held.marshaled_exception, e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, corbie_cdr::Error> {
        let header = match d.value_start()? {
            ValueStart::Null => return Err(d.invalid("value", "a null value", "a value")),
            ValueStart::Known(known) => {
                let known = known.downcast::<Self>();
                let known = known.map_err(|_| d.invalid("value", "another one", "a holder"))?;
                return Ok((*known).clone());
            }
            ValueStart::New(header) => header,
        };
        let how = match header.repository_ids.iter().position(|id| is_holder(id)) {
            None if !header.repository_ids.is_empty() => {
                let found = format!("a value of type {:?}", header.repository_ids);
                return Err(d.invalid("value", found, "the type that the IDL says"));
            }
            Some(1..) => StateRead::Truncated,
            _ => StateRead::Whole,
        };
        let holder = d.value_state(&header, how, Self::decode_held)?;
        d.value_is(&header, Arc::new(holder.clone()));
        Ok(holder)
    }
}

impl ExceptionHolder {
    /// Reads its state.
    fn decode_held(d: &mut Decoder<'_>) -> Result<Self, corbie_cdr::Error> {
        let (version, code_sets) = (d.version(), d.code_sets());
        Ok(ExceptionHolder(Arc::new(Held {
            is_system_exception: d.read_boolean()?,
            byte_order: ByteOrder::from_flag(u8::from(d.read_boolean()?)),
            marshaled_exception: Sequence::<u8>::decode(d)?,
            version,
            code_sets,
            orb: orb_of(d).cloned(),
        })))
    }
}

impl Typed for ExceptionHolder {
    fn type_code() -> TypeCode {
        let octets = TypeCode::sequence(TypeCode::OCTET, 0);
        let marshaled = TypeCode::alias(
            "IDL:omg.org/Messaging/MarshaledException:1.0",
            "MarshaledException",
            octets,
        );
        let members = [
            ("is_system_exception", TypeCode::BOOLEAN, Visibility::Private),
            ("byte_order", TypeCode::BOOLEAN, Visibility::Private),
            ("marshaled_exception", marshaled, Visibility::Private),
        ];
        let none = ValueModifier::None;
        TypeCode::value(Self::REPOSITORY_ID, "ExceptionHolder", none, None, &members)
    }
}

impl PartialEq for ExceptionHolder {
    /// Whether both hold the same octets.
    fn eq(&self, other: &Self) -> bool {
        let octets = |holder: &Self| {
            (
                holder.is_system_exception(),
                holder.byte_order(),
                holder.0.marshaled_exception.clone(),
            )
        };
        Arc::ptr_eq(&self.0, &other.0) || octets(self) == octets(other)
    }
}

impl fmt::Debug for ExceptionHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user_exception() {
            Ok(id) => write!(f, "ExceptionHolder({id})"),
            Err(exception) => write!(f, "ExceptionHolder({exception})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie_cdr::CodeSet;

    const ID: &str = "IDL:Test/Far:1.0";

    fn far() -> TypeCode {
        TypeCode::exception(ID, "Far", &[("x", TypeCode::DOUBLE), ("why", TypeCode::string(0))])
    }

    /// A reply whose body begins after `before` octets.
    fn reply(before: usize, code_sets: CodeSets) -> Vec<u8> {
        let mut e = Encoder::native();
        e.set_code_sets(code_sets);
        e.write_octets(&vec![0; before]);
        e.write_str(ID).expect("no NUL");
        e.write_double(1.5);
        e.write_string("é").expect("in the code set");
        e.to_vec()
    }

    #[track_caller]
    fn check(before: usize, sent: CodeSets, wanted: CodeSets) {
        let octets = reply(before, sent);
        let mut d = Decoder::with_position(&octets, before, ByteOrder::NATIVE);
        d.set_code_sets(sent);
        let type_of = |id: &str| (id == ID).then(far);
        let anew = reply_body_as(&d, &type_of, Version::V1_2, wanted);
        assert_eq!(anew.is_some(), !before.is_multiple_of(8) || sent != wanted);
        let (order, body) = anew.unwrap_or_else(|| (ByteOrder::NATIVE, d.rest().to_vec()));
        let mut e = Encoder::native();
        ExceptionHolder::write(false, order, &body, &mut e).expect("written");
        let holder = e.to_vec();
        let mut d = Decoder::new(&holder, ByteOrder::NATIVE);
        d.set_code_sets(wanted);
        let holder = ExceptionHolder::decode(&mut d).expect("a holder");
        let members = holder.members(|d| Ok((d.read_double()?, d.read_string()?.into_owned())));
        assert_eq!(members, Ok((1.5, "é".to_owned())));
    }

    #[test]
    fn a_users_exception_is_whole_wherever_its_reply_stood() {
        let code_sets = |char_data| CodeSets { char_data, wchar_data: CodeSet::UTF_16 };
        let (latin, utf) = (code_sets(CodeSet::ISO_8859_1), code_sets(CodeSet::UTF_8));
        for before in [0, 4, 16, 20] {
            check(before, latin, latin);
            check(before, utf, latin);
            check(before, latin, utf);
        }
    }

    #[test]
    fn an_exception_of_unknown_type_stays_as_it_came() {
        let octets = reply(4, CodeSets::DEFAULT);
        let d = Decoder::with_position(&octets, 4, ByteOrder::NATIVE);
        assert_eq!(reply_body_as(&d, &|_| None, Version::V1_2, CodeSets::DEFAULT), None);
    }
}
