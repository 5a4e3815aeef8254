//! What the infos of both sides say of the point where a request is and of how it ended, and the
//! exceptions that they raise (CORBA 3.3 P1 §16.4.12).

use super::flow::{FlowEnd, ReplyStatus};
use crate::Object;
use corbie_types::{Any, CompletionStatus, SystemException, TypeCode, Value, minor};

/// A point of a request.
#[derive(Clone, Copy)]
pub(crate) struct Stage<'w> {
    /// The name of the interceptor's operation.
    pub(crate) point: &'static str,
    /// How the request ended, if it has.
    pub(crate) ending: Option<&'w FlowEnd>,
}

impl<'w> Stage<'w> {
    /// The point does not have this attribute or operation.
    #[cold]
    pub(crate) fn invalid(self, what: &str) -> SystemException {
        let point = self.point;
        minor::BAD_INV_ORDER_INTERCEPTOR_CALL.no(format!(
            "{what} is not valid in {point}: the tables of CORBA 3.3 P1 §16.4 say where it is"
        ))
    }

    /// # Errors
    /// [`Stage::invalid`], unless `is_valid`.
    pub(crate) fn valid(self, what: &str, is_valid: bool) -> Result<(), SystemException> {
        if is_valid { Ok(()) } else { Err(self.invalid(what)) }
    }

    /// The language binding does not have it; `is_here`: the specification has it at this point.
    #[cold]
    pub(crate) fn unavailable(self, what: &str, is_here: bool) -> SystemException {
        if !is_here {
            return self.invalid(what);
        }
        minor::NO_RESOURCES_INTERCEPTOR.no(format!(
            "{what} is not available to interceptors: stubs and skeletons hand typed values over"
        ))
    }

    /// # Errors
    /// [`Stage::invalid`] before the request has ended.
    pub(crate) fn reply_status(self) -> Result<ReplyStatus, SystemException> {
        self.ending.map(FlowEnd::status).ok_or_else(|| self.invalid("reply_status"))
    }

    /// # Errors
    /// [`Stage::invalid`] where the request does not go to another object.
    pub(crate) fn forward_reference(self) -> Result<Object, SystemException> {
        match self.ending {
            Some(FlowEnd::Forward(object)) => Ok(object.clone()),
            _ => Err(self.invalid("forward_reference")),
        }
    }

    /// The system exception that the request ended with, if it was one.
    pub(crate) fn system_exception(self) -> Option<&'w SystemException> {
        match self.ending {
            Some(FlowEnd::SystemException(exception)) => Some(exception),
            _ => None,
        }
    }

    /// The repository id of the exception that the request ended with.
    ///
    /// # Errors
    /// [`Stage::invalid`] where there is none.
    pub(crate) fn exception_id(self, what: &str) -> Result<&'w str, SystemException> {
        match self.ending {
            Some(FlowEnd::SystemException(exception)) => Ok(exception.repository_id()),
            Some(FlowEnd::UserException(id)) => Ok(id),
            _ => Err(self.invalid(what)),
        }
    }

    /// The exception that the request ended with, in an any.
    ///
    /// # Errors
    /// [`Stage::invalid`] where there is none.
    pub(crate) fn exception_any(self, what: &str) -> Result<Any, SystemException> {
        match self.ending {
            Some(FlowEnd::SystemException(exception)) => as_any(exception),
            Some(FlowEnd::UserException(id)) => as_any(&minor::UNKNOWN_USER_EXCEPTION.raise(
                CompletionStatus::Yes,
                format!("the user exception {id:?}, whose type the stub knows"),
            )),
            _ => Err(self.invalid(what)),
        }
    }
}

/// As `exception UNKNOWN { unsigned long minor; CompletionStatus completed; };`.
fn as_any(exception: &SystemException) -> Result<Any, SystemException> {
    let statuses = ["COMPLETED_YES", "COMPLETED_NO", "COMPLETED_MAYBE"];
    let completed = TypeCode::enumeration(
        "IDL:omg.org/CORBA/completion_status:1.0",
        "completion_status",
        &statuses,
    );
    let members = [("minor", TypeCode::ULONG), ("completed", completed)];
    let (id, name) = (exception.repository_id(), exception.kind.name());
    let values =
        vec![Value::ULong(exception.minor.code()), Value::Enum(exception.completed as u32)];
    Any::from_dynamic(TypeCode::exception(id, name, &members), &Value::Struct(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_in_an_any_has_its_id_and_members() {
        let exception = minor::OBJECT_NOT_EXIST_NO_MATCH.no("gone");
        let any = as_any(&exception).expect("can be written");
        assert_eq!(any.type_code().id(), "IDL:omg.org/CORBA/OBJECT_NOT_EXIST:1.0");
        let Value::Struct(members) = any.to_value().expect("can be read") else {
            panic!("an exception has members")
        };
        assert_eq!(members, [Value::ULong(exception.minor.code()), Value::Enum(1)]);
    }
}
