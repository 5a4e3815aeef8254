//! Finds what `Module::Interface.operation` names, with the types of everything that travels.
//!
//! An attribute is two operations on the wire, `_get_NAME` and `_set_NAME` (CORBA 3.3 P2
//! §9.4.2.2); which one is meant shows in the number of arguments.

use corbie::types::TypeCode;
use corbie_frontend::model::{Attribute, DefId, Direction, Operation};
use corbie_frontend::{Definition, DefinitionKind, Model, Type};

use super::TypeCodes;
use crate::failure::Failure;
use crate::near_names;

/// One parameter.
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) direction: Direction,
    pub(crate) type_code: TypeCode,
}

/// An operation as the wire knows it.
pub(crate) struct Target<'m> {
    pub(crate) type_codes: TypeCodes<'m>,
    /// The name on the wire.
    pub(crate) operation: String,
    pub(crate) oneway: bool,
    /// The names in the `context` clause of the operation: a context follows the arguments.
    pub(crate) contexts: Vec<String>,
    pub(crate) parameters: Vec<Parameter>,
    /// `None` for `void`.
    pub(crate) result: Option<TypeCode>,
    /// The user exceptions that it may raise.
    pub(crate) raises: Vec<TypeCode>,
}

impl<'m> Target<'m> {
    /// Finds `wanted`; `arguments` is how many values were given for it.
    pub(crate) fn find(model: &'m Model, wanted: &str, arguments: usize) -> Result<Self, Failure> {
        let (interface, name) = split(model, wanted)?;
        let definition = operation(model, interface, name)?;
        let mut target = Target {
            type_codes: TypeCodes::new(model),
            operation: name.to_owned(),
            oneway: false,
            contexts: Vec::new(),
            parameters: Vec::new(),
            result: None,
            raises: Vec::new(),
        };
        match &definition.kind {
            DefinitionKind::Operation(operation) => target.operation(operation)?,
            DefinitionKind::Attribute(attribute) => {
                target.attribute(definition, attribute, arguments)?;
            }
            _ => return Err(Failure::usage(format!("`{wanted}` cannot be called"))),
        }
        target.check_count(definition, arguments)?;
        Ok(target)
    }

    fn operation(&mut self, operation: &Operation) -> Result<(), Failure> {
        self.oneway = operation.oneway;
        self.contexts = operation.contexts.clone();
        self.result = match operation.result {
            Type::Void => None,
            ref ty => Some(self.type_codes.of(ty)?),
        };
        for parameter in &operation.parameters {
            self.parameters.push(Parameter {
                name: parameter.name.clone(),
                direction: parameter.direction,
                type_code: self.type_codes.of(&parameter.ty)?,
            });
        }
        self.raised(&operation.raises)
    }

    fn attribute(
        &mut self,
        definition: &Definition,
        attribute: &Attribute,
        arguments: usize,
    ) -> Result<(), Failure> {
        let type_code = self.type_codes.of(&attribute.ty)?;
        if arguments == 0 {
            self.operation = format!("_get_{}", definition.name);
            self.result = Some(type_code);
            return self.raised(&attribute.get_raises);
        }
        if attribute.readonly {
            let name = &definition.scoped_name;
            let sentence =
                format!("the attribute `{name}` is readonly; without a value it is read");
            return Err(Failure::usage(sentence));
        }
        self.operation = format!("_set_{}", definition.name);
        let (name, direction) = (definition.name.clone(), Direction::In);
        self.parameters.push(Parameter { name, direction, type_code });
        self.raised(&attribute.set_raises)
    }

    fn raised(&mut self, raises: &[DefId]) -> Result<(), Failure> {
        for &id in raises {
            self.raises.push(self.type_codes.of(&Type::Named(id))?);
        }
        Ok(())
    }

    fn check_count(&self, definition: &Definition, given: usize) -> Result<(), Failure> {
        let sent: Vec<String> = self
            .parameters
            .iter()
            .filter(|parameter| parameter.direction != Direction::Out)
            .map(|parameter| format!("`{}`", parameter.name))
            .collect();
        if sent.len() == given {
            return Ok(());
        }
        let names = if sent.is_empty() { String::new() } else { format!(": {}", sent.join(", ")) };
        let word = if sent.len() == 1 { "value" } else { "values" };
        let name = &definition.scoped_name;
        let wanted = sent.len();
        Err(Failure::usage(format!("`{name}` takes {wanted} {word}{names}; {given} given")))
    }
}

/// Splits `Module::Interface.operation`; `Module::Interface::operation` is understood too.
fn split<'m, 'w>(model: &'m Model, wanted: &'w str) -> Result<(&'m Definition, &'w str), Failure> {
    let (interface, name) =
        wanted.rsplit_once('.').or_else(|| wanted.rsplit_once("::")).ok_or_else(|| {
            Failure::usage(format!("`{wanted}` names no operation: write Module::Interface.name"))
        })?;
    let is_interface = |d: &&Definition| matches!(d.kind, DefinitionKind::Interface(_));
    if let Some(found) = model.find(interface) {
        if is_interface(&found) {
            return Ok((found, name));
        }
        let word = found.kind.word();
        let article = if word.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
        return Err(Failure::usage(format!("`{interface}` is no interface, but {article} {word}")));
    }
    let known = model.iter().filter(is_interface).map(|d| d.scoped_name.as_str());
    let near = near_names::suggestion(interface, known);
    Err(Failure::usage(format!("the IDL file has no interface `{interface}`{near}")))
}

fn operation<'m>(
    model: &'m Model,
    interface: &Definition,
    name: &str,
) -> Result<&'m Definition, Failure> {
    let all: Vec<&Definition> =
        model.all_operations(interface.id).into_iter().map(|id| model.get(id)).collect();
    all.iter().find(|definition| definition.name == name).copied().ok_or_else(|| {
        let near = near_names::suggestion(name, all.iter().map(|d| d.name.as_str()));
        let interface = &interface.scoped_name;
        Failure::usage(format!("`{interface}` has no operation or attribute `{name}`{near}"))
    })
}
