//! Descriptions of interfaces as they travel: in what the factory is given, and in what an
//! Interface Repository answers (CORBA 3.3 P1 §14.5.24). Durable channels keep them as they are
//! given to the factory.

use crate::corba::interface_def::FullInterfaceDescription;
use crate::corba::{self, AttributeMode, OperationMode};
use crate::corbie_events::EventInterface;
use corbie::cdr::Error;
use corbie::types::{
    AttributeDescription, InterfaceDescription, OperationDescription, ParameterDescription,
    ParameterMode,
};
use corbie::{ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Marshal as _};

const UNICODE: CodeSets = CodeSets { char_data: CodeSet::UTF_8, wchar_data: CodeSet::UTF_16 };

/// `known` as a CDR encapsulation of the IDL struct `EventInterface`.
///
/// # Errors
/// Those of encoding.
pub(crate) fn to_octets(known: &InterfaceDescription) -> Result<Vec<u8>, Error> {
    let given = EventInterface::from(known);
    let mut e = Encoder::new(Vec::new(), ByteOrder::LittleEndian);
    e.set_code_sets(UNICODE);
    e.write_octet(ByteOrder::LittleEndian.flag());
    EventInterface::encode(&given, &mut e)?;
    Ok(e.to_vec())
}

/// What [`to_octets`] has written.
///
/// # Errors
/// Those of decoding.
pub(crate) fn of_octets(octets: &[u8]) -> Result<InterfaceDescription, Error> {
    let order = ByteOrder::from_flag(octets.first().copied().unwrap_or_default());
    let mut d = Decoder::new(octets, order);
    d.set_code_sets(UNICODE);
    d.read_octet()?;
    EventInterface::decode(&mut d).map(Into::into)
}

/// No caller asks for versions here; it is what repositories say of most things.
const VERSION: &str = "1.0";

impl From<EventInterface> for InterfaceDescription {
    fn from(given: EventInterface) -> Self {
        read(given.name, given.description)
    }
}

/// `full`, of the interface with the scoped name `name`.
pub(super) fn read(name: String, full: FullInterfaceDescription) -> InterfaceDescription {
    InterfaceDescription {
        id: full.id,
        name,
        bases: full.base_interfaces,
        operations: full.operations.into_iter().map(operation).collect(),
        attributes: full.attributes.into_iter().map(attribute).collect(),
    }
}

fn operation(given: corba::OperationDescription) -> OperationDescription {
    let parameter = |given: corba::ParameterDescription| ParameterDescription {
        name: given.name,
        mode: match given.mode {
            corba::ParameterMode::ParamIn => ParameterMode::In,
            corba::ParameterMode::ParamOut => ParameterMode::Out,
            corba::ParameterMode::ParamInout => ParameterMode::InOut,
        },
        type_code: given.r#type,
    };
    OperationDescription {
        name: given.name,
        defined_in: given.defined_in,
        is_oneway: given.mode == OperationMode::OpOneway,
        result: given.result,
        parameters: given.parameters.into_iter().map(parameter).collect(),
        exceptions: given.exceptions.into_iter().map(|exception| exception.id).collect(),
        contexts: given.contexts,
    }
}

fn attribute(given: corba::AttributeDescription) -> AttributeDescription {
    AttributeDescription {
        name: given.name,
        defined_in: given.defined_in,
        is_readonly: given.mode == AttributeMode::AttrReadonly,
        type_code: given.r#type,
    }
}

impl From<&InterfaceDescription> for EventInterface {
    /// As the factory takes it. What events do not need is left empty.
    fn from(known: &InterfaceDescription) -> Self {
        let name = known.name.rsplit("::").next().unwrap_or_default();
        let description = FullInterfaceDescription {
            name: name.to_owned(),
            id: known.id.clone(),
            defined_in: String::new(),
            version: VERSION.to_owned(),
            operations: known.operations.iter().map(write_operation).collect(),
            attributes: known.attributes.iter().map(write_attribute).collect(),
            base_interfaces: known.bases.clone(),
            r#type: corbie::TypeCode::interface(&known.id, name),
        };
        EventInterface { name: known.name.clone(), description }
    }
}

fn write_operation(known: &OperationDescription) -> corba::OperationDescription {
    let parameter = |known: &ParameterDescription| corba::ParameterDescription {
        name: known.name.clone(),
        r#type: known.type_code.clone(),
        type_def: None,
        mode: match known.mode {
            ParameterMode::In => corba::ParameterMode::ParamIn,
            ParameterMode::Out => corba::ParameterMode::ParamOut,
            ParameterMode::InOut => corba::ParameterMode::ParamInout,
        },
    };
    let exception = |id: &String| corba::ExceptionDescription {
        name: String::new(),
        id: id.clone(),
        defined_in: String::new(),
        version: VERSION.to_owned(),
        r#type: corbie::TypeCode::exception(id, "", &[]),
    };
    corba::OperationDescription {
        name: known.name.clone(),
        id: String::new(),
        defined_in: known.defined_in.clone(),
        version: VERSION.to_owned(),
        result: known.result.clone(),
        mode: if known.is_oneway { OperationMode::OpOneway } else { OperationMode::OpNormal },
        contexts: known.contexts.clone(),
        parameters: known.parameters.iter().map(parameter).collect(),
        exceptions: known.exceptions.iter().map(exception).collect(),
    }
}

fn write_attribute(known: &AttributeDescription) -> corba::AttributeDescription {
    corba::AttributeDescription {
        name: known.name.clone(),
        id: String::new(),
        defined_in: known.defined_in.clone(),
        version: VERSION.to_owned(),
        r#type: known.type_code.clone(),
        mode: match known.is_readonly {
            true => AttributeMode::AttrReadonly,
            false => AttributeMode::AttrNormal,
        },
    }
}
