//! The exceptions of request infos: their own, and those that they tell of, as anys
//! (CORBA 3.3 P1 §16.4.12).

use super::flow::FlowEnd;
use corbie_types::{Any, CompletionStatus, SystemException, TypeCode, Value, minor};

/// The point does not have this attribute or operation.
#[cold]
pub(crate) fn invalid(point: &str, what: &str) -> SystemException {
    minor::BAD_INV_ORDER_INTERCEPTOR_CALL.no(format!(
        "{what} is not valid in {point}: the tables of CORBA 3.3 P1 §16.4 say where it is"
    ))
}

/// The language binding does not have it.
#[cold]
pub(crate) fn unavailable(what: &str) -> SystemException {
    minor::NO_RESOURCES_INTERCEPTOR.no(format!(
        "{what} is not available to interceptors: stubs and skeletons hand typed values over"
    ))
}

/// The system exception of an ending, if it is one.
pub(crate) fn system_exception(ending: Option<&FlowEnd>) -> Option<&SystemException> {
    match ending {
        Some(FlowEnd::SystemException(exception)) => Some(exception),
        _ => None,
    }
}

/// The repository id of the exception of an ending.
///
/// # Errors
/// [`invalid`] where it is none.
pub(crate) fn exception_id<'e>(
    ending: Option<&'e FlowEnd>,
    point: &str,
    what: &str,
) -> Result<&'e str, SystemException> {
    match ending {
        Some(FlowEnd::SystemException(exception)) => Ok(exception.repository_id()),
        Some(FlowEnd::UserException(id)) => Ok(id),
        _ => Err(invalid(point, what)),
    }
}

/// The exception of an ending in an any.
///
/// # Errors
/// [`invalid`] where it is none.
pub(crate) fn exception_any(
    ending: Option<&FlowEnd>,
    point: &str,
    what: &str,
) -> Result<Any, SystemException> {
    match ending {
        Some(FlowEnd::SystemException(exception)) => as_any(exception),
        Some(FlowEnd::UserException(id)) => as_any(&minor::UNKNOWN_USER_EXCEPTION.raise(
            CompletionStatus::Yes,
            format!("the user exception {id:?}, whose type the stub knows"),
        )),
        _ => Err(invalid(point, what)),
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
