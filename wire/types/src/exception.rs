//! The standard system exceptions (CORBA 3.3 P1 §A.5): kinds, completion status, minor codes and
//! a text of our own that says why. Raised by every layer; carried in replies by `corbie_giop`.
//!
//! One function turns a CDR error into an exception: `From<corbie_cdr::Error>`, below.

pub mod minor;

pub use minor::Minor;

use std::fmt;

use corbie_cdr::{Decoder, Direction, Encoder, Error, ErrorKind, Marshal};

/// Whether the operation was carried out before the exception was raised
/// (CORBA 3.3 P1 §A.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum CompletionStatus {
    /// It was.
    Yes = 0,
    /// It was not begun.
    No = 1,
    /// It is not known.
    Maybe = 2,
}

impl CompletionStatus {
    /// Its IDL name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "COMPLETED_YES",
            Self::No => "COMPLETED_NO",
            Self::Maybe => "COMPLETED_MAYBE",
        }
    }
}

impl fmt::Display for CompletionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Marshal for CompletionStatus {
    type Value = Self;
    const MIN_OCTETS: usize = 4;

    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_ulong(*value as u32);
        Ok(())
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        match d.read_ulong()? {
            0 => Ok(Self::Yes),
            1 => Ok(Self::No),
            2 => Ok(Self::Maybe),
            other => Err(d.invalid_enumerator("CORBA::completion_status", other, 3)),
        }
    }
}

macro_rules! system_exceptions {
    ($($variant:ident $constructor:ident $name:literal $text:literal;)+) => {
        /// Which standard exception it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SystemExceptionKind {
            $(#[doc = concat!("`", $name, "`: ", $text, ".")] $variant,)+
        }

        impl SystemExceptionKind {
            /// All of them, in the order of the specification.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its IDL name, such as `COMM_FAILURE`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it means in general.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Its repository id, such as `IDL:omg.org/CORBA/COMM_FAILURE:1.0`.
            #[must_use]
            pub fn repository_id(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("IDL:omg.org/CORBA/", $name, ":1.0"),)+
                }
            }

            /// The kind with this repository id.
            #[must_use]
            pub fn from_repository_id(id: &str) -> Option<Self> {
                let name = id.strip_prefix("IDL:omg.org/CORBA/")?.strip_suffix(":1.0")?;
                match name { $($name => Some(Self::$variant),)+ _ => None }
            }
        }

        impl SystemException {
            $(
                #[doc = concat!("`", $name, "`: ", $text, ".")]
                #[cold]
                #[must_use]
                pub fn $constructor(minor: Minor, completed: CompletionStatus) -> Self {
                    Self::new(SystemExceptionKind::$variant, minor, completed)
                }
            )+
        }
    };
}

system_exceptions! {
    Unknown unknown "UNKNOWN" "an exception that the interface does not name was raised";
    BadParam bad_param "BAD_PARAM" "a parameter has a value that cannot be sent or used";
    NoMemory no_memory "NO_MEMORY" "memory ran out";
    ImpLimit imp_limit "IMP_LIMIT" "a limit of the implementation is exceeded";
    CommFailure comm_failure "COMM_FAILURE" "the connection failed after a request was sent";
    InvObjref inv_objref "INV_OBJREF" "the object reference is malformed";
    NoPermission no_permission "NO_PERMISSION" "the caller has no permission";
    Internal internal "INTERNAL" "the ORB found an error in itself";
    Marshal marshal "MARSHAL" "a message does not fit its types";
    Initialize initialize "INITIALIZE" "the ORB could not be set up";
    NoImplement no_implement "NO_IMPLEMENT" "the operation is not implemented";
    BadTypecode bad_typecode "BAD_TYPECODE" "a TypeCode is malformed";
    BadOperation bad_operation "BAD_OPERATION" "the object has no such operation";
    NoResources no_resources "NO_RESOURCES" "a resource of the ORB ran out";
    NoResponse no_response "NO_RESPONSE" "the reply is not there";
    PersistStore persist_store "PERSIST_STORE" "persistent storage failed";
    BadInvOrder bad_inv_order "BAD_INV_ORDER" "operations were called in the wrong order";
    Transient transient "TRANSIENT" "the request did not reach the object and may be tried again";
    FreeMem free_mem "FREE_MEM" "memory could not be given back";
    InvIdent inv_ident "INV_IDENT" "an IDL identifier is malformed";
    InvFlag inv_flag "INV_FLAG" "a flag has no meaning";
    IntfRepos intf_repos "INTF_REPOS" "the interface repository cannot be used";
    BadContext bad_context "BAD_CONTEXT" "a context object lacks a property";
    ObjAdapter obj_adapter "OBJ_ADAPTER" "the object adapter failed";
    DataConversion data_conversion "DATA_CONVERSION"
        "a value has no counterpart in the other representation";
    ObjectNotExist object_not_exist "OBJECT_NOT_EXIST" "the object exists no more";
    TransactionRequired transaction_required "TRANSACTION_REQUIRED"
        "the operation needs a transaction";
    TransactionRolledback transaction_rolledback "TRANSACTION_ROLLEDBACK"
        "the transaction was rolled back";
    InvalidTransaction invalid_transaction "INVALID_TRANSACTION"
        "the transaction context is invalid";
    InvPolicy inv_policy "INV_POLICY" "policies contradict each other or are unknown";
    CodesetIncompatible codeset_incompatible "CODESET_INCOMPATIBLE"
        "client and server share no code set";
    Rebind rebind "REBIND" "the reference would have to be bound again, which its policy forbids";
    Timeout timeout "TIMEOUT" "the time allowed has passed";
    TransactionUnavailable transaction_unavailable "TRANSACTION_UNAVAILABLE"
        "the transaction service cannot be reached";
    TransactionMode transaction_mode "TRANSACTION_MODE"
        "the kind of transaction does not fit the object";
    BadQos bad_qos "BAD_QOS" "the quality of service asked for cannot be had";
    InvalidActivity invalid_activity "INVALID_ACTIVITY" "the activity context is invalid";
    ActivityCompleted activity_completed "ACTIVITY_COMPLETED" "the activity has ended";
    ActivityRequired activity_required "ACTIVITY_REQUIRED" "the operation needs an activity";
    ThreadCancelled thread_cancelled "THREAD_CANCELLED" "the thread was cancelled";
}

/// A standard system exception (CORBA 3.3 P1 §A.5).
///
/// `detail` is ours: it says why, and does not travel in the reply body.
///
/// ```
/// use corbie_types::{CompletionStatus, SystemException, minor};
/// let e = SystemException::transient(minor::TRANSIENT_CONNECT_FAILED, CompletionStatus::No)
///     .with_detail("192.0.2.7:2809 refused the connection");
/// assert!(e.to_string().starts_with("TRANSIENT: 192.0.2.7:2809 refused the connection"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SystemException {
    /// Which one it is.
    pub kind: SystemExceptionKind,
    /// Which rule was broken, see [`minor`].
    pub minor: Minor,
    /// Whether the operation was carried out.
    pub completed: CompletionStatus,
    /// Why, in words; known only on the side that raised it.
    pub detail: Option<Box<str>>,
}

impl SystemException {
    /// An exception without detail. There is a constructor for each kind, too.
    #[cold]
    #[must_use]
    pub fn new(kind: SystemExceptionKind, minor: Minor, completed: CompletionStatus) -> Self {
        let is_ours = minor.vendor() == minor::VMCID;
        debug_assert!(!is_ours || minor::lookup(kind, minor).is_some(), "{kind:?} {minor}");
        Self { kind, minor, completed, detail: None }
    }

    /// An exception as a peer sent it: `minor` may be 0, or a code that does not fit the kind.
    #[cold]
    #[must_use]
    pub fn received(kind: SystemExceptionKind, minor: u32, completed: CompletionStatus) -> Self {
        Self { kind, minor: Minor::received(minor, kind), completed, detail: None }
    }

    /// Adds why it was raised, replacing what was there.
    #[cold]
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into().into_boxed_str());
        self
    }

    /// Puts `what: ` before the detail: what was being done when it happened.
    #[cold]
    #[must_use]
    pub fn while_doing(mut self, what: &str) -> Self {
        let why = self.detail.take();
        let why = why.as_deref().unwrap_or_else(|| self.meaning());
        self.detail = Some(format!("{what}: {why}").into_boxed_str());
        self
    }

    /// The same with another completion status.
    #[cold]
    #[must_use]
    pub fn completed(mut self, completed: CompletionStatus) -> Self {
        self.completed = completed;
        self
    }

    /// Its repository id.
    #[must_use]
    pub fn repository_id(&self) -> &'static str {
        self.kind.repository_id()
    }

    /// What is known of its minor code, when the code is the OMG's or ours.
    #[must_use]
    pub fn minor_code(&self) -> Option<&'static minor::MinorCode> {
        minor::lookup(self.kind, self.minor)
    }

    /// What its minor code says, or else its kind.
    fn meaning(&self) -> &'static str {
        self.minor_code().map_or(self.kind.meaning(), |code| code.meaning)
    }

    /// Writes it as a reply body of status SYSTEM_EXCEPTION: repository id, minor code,
    /// completion status (CORBA 3.3 P2 §9.4.3.2).
    ///
    /// # Errors
    /// None in practice.
    pub fn encode_reply(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        e.write_str(self.repository_id())?;
        e.write_ulong(self.minor.code());
        e.write_ulong(self.completed as u32);
        Ok(())
    }

    /// Reads a reply body of status SYSTEM_EXCEPTION. An exception that is none of the standard
    /// ones becomes `UNKNOWN`, minor 2, with its name as detail.
    ///
    /// # Errors
    /// When the octets end early or the completion status is none.
    pub fn decode_reply(d: &mut Decoder<'_>) -> Result<Self, Error> {
        let id = d.read_str()?;
        let minor = d.read_ulong()?;
        let completed = CompletionStatus::decode(d)?;
        Ok(match SystemExceptionKind::from_repository_id(id) {
            Some(kind) => Self::received(kind, minor, completed),
            None => Self::unknown(minor::UNKNOWN_SYSTEM_EXCEPTION, completed).with_detail(format!(
                "the peer raised {id:?}, minor code {minor:#010x}, which is no standard exception"
            )),
        })
    }
}

impl fmt::Display for SystemException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, minor, completed, detail } = self;
        let known = self.minor_code();
        let why = detail.as_deref().unwrap_or_else(|| self.meaning());
        write!(f, "{}: {why} ({completed}, minor code ", kind.name())?;
        match known {
            Some(code) => write!(f, "{} {minor})", code.name),
            None => match minor.vendor_name() {
                Some(vendor) => write!(f, "{minor} of {vendor})"),
                None => write!(f, "{minor})"),
            },
        }
    }
}

impl fmt::Debug for SystemException {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SystemException({self})")
    }
}

impl std::error::Error for SystemException {}

impl From<Error> for SystemException {
    /// The exception that the kind of CDR error becomes; completion status NO, to be changed
    /// with [`SystemException::completed`] where more is known.
    #[cold]
    fn from(error: Error) -> Self {
        use SystemExceptionKind as Kind;
        let (kind, minor) = match error.kind() {
            ErrorKind::UnexpectedEnd => (Kind::Marshal, minor::MARSHAL_UNEXPECTED_END),
            ErrorKind::InvalidValue => (Kind::Marshal, minor::MARSHAL_INVALID_VALUE),
            ErrorKind::LimitExceeded => match error.direction() {
                Direction::Reading => (Kind::ImpLimit, minor::IMP_LIMIT_DECODING),
                // Nothing is sent that the receiver is known not to take.
                Direction::Writing => (Kind::ImpLimit, minor::IMP_LIMIT_MESSAGE_SIZE),
            },
            ErrorKind::DataConversion => (Kind::DataConversion, minor::DATA_CONVERSION_CHARACTER),
            ErrorKind::BadParameter => (Kind::BadParam, minor::BAD_PARAM_NOT_SENDABLE),
            ErrorKind::CodeSetIncompatible => {
                (Kind::CodesetIncompatible, minor::CODESET_INCOMPATIBLE_NEGOTIATION)
            }
            ErrorKind::WideCharacterInGiop10 => {
                (Kind::Marshal, minor::MARSHAL_WIDE_CHARACTER_FROM_CLIENT)
            }
            ErrorKind::InvalidReference => (Kind::InvObjref, minor::INV_OBJREF_MALFORMED),
            ErrorKind::BadTypeCode => (Kind::BadTypecode, minor::BAD_TYPECODE_MALFORMED),
            ErrorKind::NoValueFactory => (Kind::Marshal, minor::MARSHAL_NO_VALUE_FACTORY),
            ErrorKind::LocalObject => (Kind::Marshal, minor::MARSHAL_LOCAL_OBJECT),
            ErrorKind::NotImplemented => (Kind::NoImplement, minor::NO_IMPLEMENT_FEATURE),
            _ => match error.direction() {
                Direction::Reading => (Kind::Marshal, minor::MARSHAL_INVALID_VALUE),
                Direction::Writing => (Kind::BadParam, minor::BAD_PARAM_NOT_SENDABLE),
            },
        };
        Self::new(kind, minor, CompletionStatus::No).with_detail(error.to_string())
    }
}
