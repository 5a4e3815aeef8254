//! From the model's types to TypeCodes, which values are read and written by.
//!
//! CORBA 3.3 P1 §14.8. Recursive types refer to themselves by repository id; everything else is
//! built once and shared.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;

use corbie::types::{TypeCode, ValueModifier, Visibility};
use corbie_frontend::model::{
    ConstValue, DefId, Interface, InterfaceKind, Member, StateMember, UnionCase, UnionLabel,
    ValueKind, ValueType,
};
use corbie_frontend::{Definition, DefinitionKind, Model, Type};

use crate::failure::Failure;
use crate::json::{self, INT8_ID};

/// A case of a union as `TypeCode::union` takes it: label, name and type of the member.
type Case<'x> = (Option<i128>, &'x str, TypeCode);

/// The TypeCodes of one model.
pub(crate) struct TypeCodes<'m> {
    model: &'m Model,
    /// Finished definitions.
    done: RefCell<HashMap<DefId, TypeCode>>,
    /// Definitions that are being built, outermost first: met again they are recursive.
    open: RefCell<Vec<DefId>>,
}

impl<'m> TypeCodes<'m> {
    /// Nothing is built before it is asked for.
    pub(crate) fn new(model: &'m Model) -> Self {
        Self { model, done: RefCell::default(), open: RefCell::default() }
    }

    /// The model itself.
    pub(crate) fn model(&self) -> &'m Model {
        self.model
    }

    /// The TypeCode of a type as it is used in the model.
    pub(crate) fn of(&self, ty: &Type) -> Result<TypeCode, Failure> {
        Ok(match ty {
            Type::Void => TypeCode::VOID,
            Type::Int8 => TypeCode::alias(INT8_ID, "int8", TypeCode::OCTET),
            Type::String { bound } => TypeCode::string(bound.unwrap_or(0)),
            Type::WString { bound } => TypeCode::wstring(bound.unwrap_or(0)),
            Type::Sequence { element, bound } => {
                TypeCode::sequence(self.of(element)?, bound.unwrap_or(0))
            }
            Type::Array { element, dims } => {
                let element = self.of(element)?;
                dims.iter().rev().fold(element, |inner, &length| TypeCode::array(inner, length))
            }
            Type::Fixed { digits, scale } => {
                TypeCode::fixed(*digits, i16::try_from(*scale).unwrap_or_default())
            }
            Type::Any => TypeCode::ANY,
            Type::Object => TypeCode::object(),
            Type::TypeCode => TypeCode::TYPE_CODE,
            Type::AbstractBase => {
                let id = "IDL:omg.org/CORBA/AbstractBase:1.0";
                TypeCode::abstract_interface(id, "AbstractBase")
            }
            Type::ValueBase => {
                let id = "IDL:omg.org/CORBA/ValueBase:1.0";
                TypeCode::value(id, "ValueBase", ValueModifier::None, None, &[])
            }
            Type::Named(id) => self.definition(*id)?,
            other => json::of_primitive(other).unwrap_or_default(),
        })
    }

    /// The TypeCode of the definition with this scoped name or repository id.
    pub(crate) fn named(&self, name: &str) -> Option<Result<TypeCode, Failure>> {
        let by_id = || self.model.iter().find(|d| d.repository_id == name);
        let definition = self.model.find(name).or_else(by_id)?;
        is_type(&definition.kind).then(|| self.definition(definition.id))
    }

    /// The scoped name of a TypeCode, if this model defines exactly this type.
    pub(crate) fn name_of(&self, type_code: &TypeCode) -> Option<&'m str> {
        let id = type_code.id();
        if id.is_empty() {
            return None;
        }
        let definition = self.model.iter().find(|d| d.repository_id == id)?;
        let own = self.definition(definition.id).ok()?;
        (own == *type_code).then_some(definition.scoped_name.as_str())
    }

    fn definition(&self, id: DefId) -> Result<TypeCode, Failure> {
        if let Some(done) = self.done.borrow().get(&id) {
            return Ok(done.clone());
        }
        let definition = self.model.get(id);
        if self.open.borrow().contains(&id) {
            return Ok(TypeCode::recursive(&definition.repository_id));
        }
        self.open.borrow_mut().push(id);
        let built = self.build(definition);
        self.open.borrow_mut().pop();
        let built = built?;
        // A part of a recursive type makes sense only inside of it.
        if built.is_complete() {
            self.done.borrow_mut().insert(id, built.clone());
        }
        Ok(built)
    }

    fn build(&self, definition: &Definition) -> Result<TypeCode, Failure> {
        let (id, name) = (definition.repository_id.as_str(), definition.name.as_str());
        let scoped = &definition.scoped_name;
        Ok(match &definition.kind {
            DefinitionKind::Struct(x) if x.forward_only => return Err(undefined(scoped)),
            DefinitionKind::Union(x) if x.forward_only => return Err(undefined(scoped)),
            DefinitionKind::Struct(x) => {
                let mut members = Vec::new();
                let bases = self.model.all_bases(definition.id).into_iter().rev();
                for base in bases {
                    if let DefinitionKind::Struct(base) = &self.model.get(base).kind {
                        self.members(&base.members, &mut members)?;
                    }
                }
                self.members(&x.members, &mut members)?;
                TypeCode::structure(id, name, &members)
            }
            DefinitionKind::Exception(x) => {
                let mut members = Vec::new();
                self.members(&x.members, &mut members)?;
                TypeCode::exception(id, name, &members)
            }
            DefinitionKind::Union(x) => {
                let discriminator = self.of(&x.discriminator)?;
                TypeCode::union(id, name, discriminator, &self.cases(&x.cases)?)
            }
            DefinitionKind::Enum(x) => {
                let names: Vec<&str> = x.enumerators.iter().map(|e| e.name.as_str()).collect();
                TypeCode::enumeration(id, name, &names)
            }
            DefinitionKind::Typedef(x) => TypeCode::alias(id, name, self.of(&x.ty)?),
            DefinitionKind::Interface(x) => interface(x, id, name, scoped)?,
            DefinitionKind::ValueBox(x) => TypeCode::value_box(id, name, self.of(&x.ty)?),
            DefinitionKind::ValueType(x) if x.forward_only => return Err(undefined(scoped)),
            DefinitionKind::ValueType(x) => self.value(x, id, name)?,
            DefinitionKind::Component(_) => TypeCode::component(id, name),
            DefinitionKind::Home(_) => TypeCode::home(id, name),
            other => return Err(unsupported(&format!("the {} `{scoped}`", other.word()))),
        })
    }

    fn members<'x>(
        &self,
        members: &'x [Member],
        into: &mut Vec<(&'x str, TypeCode)>,
    ) -> Result<(), Failure> {
        for member in members {
            into.push((&member.name, self.of(&member.ty)?));
        }
        Ok(())
    }

    fn value(&self, x: &ValueType, id: &str, name: &str) -> Result<TypeCode, Failure> {
        let modifier = match x.kind {
            ValueKind::Custom => ValueModifier::Custom,
            ValueKind::Abstract => ValueModifier::Abstract,
            ValueKind::Regular if x.truncatable => ValueModifier::Truncatable,
            ValueKind::Regular => ValueModifier::None,
        };
        let is_concrete = |base: &&DefId| {
            matches!(&self.model.get(**base).kind,
                DefinitionKind::ValueType(base) if base.kind != ValueKind::Abstract)
        };
        let base = x.bases.iter().find(is_concrete).map(|base| self.definition(*base));
        let member = |state: &'_ StateMember| {
            let visibility = if state.public { Visibility::Public } else { Visibility::Private };
            Ok((state.member.name.clone(), self.of(&state.member.ty)?, visibility))
        };
        let members = x.state.iter().map(member).collect::<Result<Vec<_>, Failure>>()?;
        let members: Vec<_> =
            members.iter().map(|(name, of, shown)| (name.as_str(), of.clone(), *shown)).collect();
        let make = if x.is_event { TypeCode::event } else { TypeCode::value };
        Ok(make(id, name, modifier, base.transpose()?, &members))
    }

    /// All valuetypes of the model that have a TypeCode.
    pub(crate) fn values(&self) -> Vec<TypeCode> {
        let is_value = |definition: &&Definition| {
            matches!(definition.kind, DefinitionKind::ValueType(_) | DefinitionKind::ValueBox(_))
        };
        let values = self.model.iter().filter(is_value);
        values.filter_map(|definition| self.definition(definition.id).ok()).collect()
    }

    fn cases<'x>(&self, cases: &'x [UnionCase]) -> Result<Vec<Case<'x>>, Failure> {
        let mut all = Vec::new();
        for case in cases {
            let type_code = self.of(&case.member.ty)?;
            for label in &case.labels {
                all.push((label_number(label), case.member.name.as_str(), type_code.clone()));
            }
        }
        Ok(all)
    }
}

fn interface(
    interface: &Interface,
    id: &str,
    name: &str,
    scoped: &str,
) -> Result<TypeCode, Failure> {
    match interface.kind {
        InterfaceKind::Unconstrained => Ok(TypeCode::interface(id, name)),
        InterfaceKind::Abstract => Ok(TypeCode::abstract_interface(id, name)),
        InterfaceKind::Local => {
            Err(Failure::usage(format!("`{scoped}` is local: its objects never leave a process")))
        }
    }
}

/// Whether a definition is a type that a value can have.
pub(super) fn is_type(kind: &DefinitionKind) -> bool {
    matches!(
        kind,
        DefinitionKind::Struct(_)
            | DefinitionKind::Union(_)
            | DefinitionKind::Enum(_)
            | DefinitionKind::Typedef(_)
            | DefinitionKind::Interface(_)
            | DefinitionKind::Exception(_)
            | DefinitionKind::Component(_)
            | DefinitionKind::Home(_)
            | DefinitionKind::ValueType(_)
            | DefinitionKind::ValueBox(_)
    )
}

/// A label as the number that TypeCodes carry; `None` for `default`.
fn label_number(label: &UnionLabel) -> Option<i128> {
    match label {
        UnionLabel::Value(ConstValue::Boolean(value)) => Some(i128::from(*value)),
        UnionLabel::Value(ConstValue::Integer(value)) => Some(*value),
        UnionLabel::Value(ConstValue::Char(value)) => Some(i128::from(u32::from(*value))),
        UnionLabel::Value(ConstValue::WChar(value)) => Some(i128::from(*value)),
        UnionLabel::Value(ConstValue::Enumerator(_, index)) => Some(i128::from(*index)),
        UnionLabel::Value(_) | UnionLabel::Default => None,
    }
}

fn unsupported(what: &str) -> Failure {
    Failure::new(format!("{what} cannot be sent by `corbie call` yet"))
}

fn undefined(name: &str) -> Failure {
    Failure::new(format!("`{name}` is declared in the IDL but never defined: include its file"))
}
