//! What an interface of an IDL file consists of, for programs that were not built for it. Used by
//! `corbie events` to tell servers of typed channels.

use corbie::types::{
    AttributeDescription, InterfaceDescription, OperationDescription, ParameterMode,
};
use corbie_frontend::model::{Direction, Operation};
use corbie_frontend::{Definition, DefinitionKind, Type};

use super::TypeCodes;
use crate::failure::Failure;

/// What the interface `definition` consists of, inherited operations and attributes too.
pub(crate) fn describe(
    type_codes: &TypeCodes<'_>,
    definition: &Definition,
) -> Result<InterfaceDescription, Failure> {
    let model = type_codes.model();
    let name = format!("::{}", definition.scoped_name);
    let mut description = InterfaceDescription::new(&definition.repository_id, &name);
    for base in model.all_bases(definition.id) {
        description = description.with_base(&model.get(base).repository_id);
    }
    for id in model.all_operations(definition.id) {
        let member = model.get(id);
        let declared_by = member.parent.map(|parent| model.get(parent).repository_id.as_str());
        let declared_by = declared_by.unwrap_or_default();
        match &member.kind {
            DefinitionKind::Operation(x) => {
                let operation = operation(type_codes, (&member.name, declared_by), x)?;
                description = description.with_operation(operation);
            }
            DefinitionKind::Attribute(x) => {
                let type_code = type_codes.of(&x.ty)?;
                let attribute = AttributeDescription::new(&member.name, declared_by, type_code);
                let attribute = if x.readonly { attribute.as_readonly() } else { attribute };
                description = description.with_attribute(attribute);
            }
            _ => {}
        }
    }
    Ok(description)
}

fn operation(
    type_codes: &TypeCodes<'_>,
    (name, declared_by): (&str, &str),
    x: &Operation,
) -> Result<OperationDescription, Failure> {
    let mut operation = OperationDescription::new(name, declared_by);
    if x.oneway {
        operation = operation.as_oneway();
    }
    if x.result != Type::Void {
        operation = operation.with_result(type_codes.of(&x.result)?);
    }
    for parameter in &x.parameters {
        let mode = match parameter.direction {
            Direction::In => ParameterMode::In,
            Direction::Out => ParameterMode::Out,
            Direction::InOut => ParameterMode::InOut,
        };
        let type_code = type_codes.of(&parameter.ty)?;
        operation = operation.with_parameter(mode, &parameter.name, type_code);
    }
    for &id in &x.raises {
        operation = operation.with_exception(&type_codes.model().get(id).repository_id);
    }
    for name in &x.contexts {
        operation = operation.with_context(name);
    }
    Ok(operation)
}
