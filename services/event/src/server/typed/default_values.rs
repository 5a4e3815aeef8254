//! What the out parameters of a `try_op` are that has found no event: they have to be something
//! that their types allow (Event Service 1.2 §2.7.2).
//!
//! As a `DynAny` begins: numbers are 0, texts and sequences empty, references nil, enums their
//! first enumerator, unions their first case (CORBA 3.3 P1 §13.2.2).

use corbie::cdr::Error;
use corbie::types::{Ior, TcKind, UnionValue};
use corbie::{Any, CompletionStatus, Encoder, SystemException, TypeCode, Value, minor};

/// Values that a type may have in it, so that an array of arrays of arrays takes no more memory.
const MOST: usize = 1 << 20;
/// Values within values: a structure that is said to have itself as a member has no end.
const DEEPEST: usize = 64;

/// A value of each type.
///
/// # Errors
/// `IMP_LIMIT` (`COMPLETED_NO`) when they are too large, `NO_IMPLEMENT` for types without any.
pub(super) fn of(types: &[TypeCode]) -> Result<Vec<Any>, SystemException> {
    let mut left = MOST;
    let mut values = Vec::with_capacity(types.len());
    for type_code in types {
        values.push(Any::from_dynamic(type_code.clone(), &value(type_code, &mut left, DEEPEST)?)?);
    }
    Ok(values)
}

/// Writes them, one after the other.
///
/// # Errors
/// Those of encoding.
pub(super) fn write(values: &[Any], e: &mut Encoder<'_>) -> Result<(), Error> {
    // What borrows from the values must end before they do.
    let lead = e.position() % 8;
    let mut own = Encoder::new(Vec::new(), e.order());
    own.set_version(e.version());
    own.set_code_sets(e.code_sets());
    (0..lead).for_each(|_| own.write_octet(0));
    values.iter().try_for_each(|value| value.encode_value(&mut own))?;
    e.write_octets(own.to_vec().get(lead..).unwrap_or_default());
    Ok(())
}

fn value(type_code: &TypeCode, left: &mut usize, deeper: usize) -> Result<Value, SystemException> {
    let deeper = deeper.checked_sub(1).ok_or_else(too_large)?;
    *left = left.checked_sub(1).ok_or_else(too_large)?;
    let of = type_code.unaliased().unwrap_or_default();
    Ok(match of.kind() {
        // Of value types: null.
        TcKind::Null | TcKind::Void => Value::Void,
        TcKind::Value | TcKind::ValueBox | TcKind::Event => Value::Void,
        TcKind::Fixed => Value::Fixed(0),
        TcKind::String => Value::String(String::new()),
        TcKind::WString => Value::WString(String::new()),
        TcKind::Enum => Value::Enum(0),
        TcKind::Any => Value::Any(Box::default()),
        TcKind::TypeCode => Value::TypeCode(TypeCode::default()),
        TcKind::ObjRef | TcKind::AbstractInterface | TcKind::Component | TcKind::Home => {
            Value::Object(Ior::nil())
        }
        TcKind::Principal => Value::Principal(Vec::new()),
        TcKind::Sequence => Value::List(Vec::new()),
        TcKind::Array => {
            let length = of.length().and_then(|length| usize::try_from(length).ok());
            let length = length.filter(|&length| length <= *left).ok_or_else(too_large)?;
            let element = of.content_type().unwrap_or_default();
            if element.unaliased().map(|element| element.kind()) == Some(TcKind::Octet) {
                *left -= length;
                return Ok(Value::Octets(vec![0; length]));
            }
            let elements = (0..length).map(|_| value(&element, left, deeper));
            Value::List(elements.collect::<Result<_, _>>()?)
        }
        TcKind::Struct | TcKind::Except => {
            let members = of.members();
            let members = members.iter().map(|member| value(&member.type_code, left, deeper));
            Value::Struct(members.collect::<Result<_, _>>()?)
        }
        TcKind::Union => union(&of, left, deeper)?,
        kind => Value::zero(kind).ok_or_else(|| without_value(&of))?,
    })
}

fn union(of: &TypeCode, left: &mut usize, deeper: usize) -> Result<Value, SystemException> {
    let members = of.union_members();
    let first = members.iter().find(|member| member.label.is_some());
    let (discriminator, member) = match first {
        Some(member) => (member.label.unwrap_or(0), Some(value(&member.type_code, left, deeper)?)),
        // There is a default alone.
        None => match members.first() {
            Some(member) => (0, Some(value(&member.type_code, left, deeper)?)),
            None => (0, None),
        },
    };
    Ok(Value::Union(Box::new(UnionValue { discriminator, member })))
}

fn too_large() -> SystemException {
    let minor = corbie::minor::IMP_LIMIT_NAMES;
    SystemException::imp_limit(minor, CompletionStatus::No).with_detail(format!(
        "the parameters have more than {MOST} values, or more than {DEEPEST} deep"
    ))
}

fn without_value(of: &TypeCode) -> SystemException {
    SystemException::no_implement(minor::NO_IMPLEMENT_FEATURE, CompletionStatus::No)
        .with_detail(format!("there is no default value for a {}", of.kind().name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_without_end_has_no_value() {
        let id = "IDL:Endless:1.0";
        let own = TypeCode::structure(id, "Endless", &[("again", TypeCode::recursive(id))]);
        let more = TypeCode::array(TypeCode::array(TypeCode::LONG, 1 << 11), 1 << 11);
        for endless in [own, more] {
            let refused = of(&[endless]).expect_err("too much");
            assert_eq!(refused.kind, corbie::SystemExceptionKind::ImpLimit);
        }
    }
}
