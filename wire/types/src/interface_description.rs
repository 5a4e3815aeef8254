//! What an interface consists of: operations with their parameters, attributes, bases; as an
//! Interface Repository describes it (CORBA 3.3 P1 §14.5.24: `FullInterfaceDescription`).
//!
//! Made by generated code, from IDL files and from repositories; read by whoever serves or calls
//! interfaces that were not known when it was built, such as typed event channels.

use crate::TypeCode;

/// An interface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterfaceDescription {
    /// Its repository id.
    pub id: String,
    /// Its scoped name, as `::Stock::Ticker`.
    pub name: String,
    /// The repository ids of all interfaces that it inherits from, directly or not.
    pub bases: Vec<String>,
    /// Its operations, inherited ones too.
    pub operations: Vec<OperationDescription>,
    /// Its attributes, inherited ones too.
    pub attributes: Vec<AttributeDescription>,
}

/// An operation of an interface.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationDescription {
    /// Its name.
    pub name: String,
    /// The repository id of the interface that declares it.
    pub defined_in: String,
    /// Whether it is declared `oneway`.
    pub is_oneway: bool,
    /// The type of its result.
    pub result: TypeCode,
    /// Its parameters, in order.
    pub parameters: Vec<ParameterDescription>,
    /// The repository ids of the exceptions that it raises.
    pub exceptions: Vec<String>,
    /// The names of its `context` clause.
    pub contexts: Vec<String>,
}

/// A parameter of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterDescription {
    /// Its name.
    pub name: String,
    /// Which way it travels.
    pub mode: ParameterMode,
    /// Its type.
    pub type_code: TypeCode,
}

/// Which way a parameter travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterMode {
    /// To the object.
    In,
    /// From the object.
    Out,
    /// There and back.
    InOut,
}

impl ParameterMode {
    /// The word of IDL.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ParameterMode::In => "in",
            ParameterMode::Out => "out",
            ParameterMode::InOut => "inout",
        }
    }
}

/// An attribute of an interface.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeDescription {
    /// Its name.
    pub name: String,
    /// The repository id of the interface that declares it.
    pub defined_in: String,
    /// Whether it can only be read.
    pub is_readonly: bool,
    /// Its type.
    pub type_code: TypeCode,
}

impl InterfaceDescription {
    /// An interface without operations yet.
    ///
    /// ```
    /// use corbie_types::{InterfaceDescription, TypeCode};
    ///
    /// let ticker = InterfaceDescription::new("IDL:Stock/Ticker:1.0", "::Stock::Ticker")
    ///     .with_event("price", &[("symbol", TypeCode::string(0)), ("cents", TypeCode::LONG)]);
    /// assert_eq!(ticker.operations[0].parameters[1].name, "cents");
    /// ```
    #[must_use]
    pub fn new(id: &str, name: &str) -> Self {
        InterfaceDescription { id: id.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// With `void name(in …)`, declared by this interface.
    #[must_use]
    pub fn with_event(self, name: &str, parameters: &[(&str, TypeCode)]) -> Self {
        self.with_operation(name, TypeCode::VOID, ParameterMode::In, parameters)
    }

    /// With `result name(mode …)`, declared by this interface.
    #[must_use]
    pub fn with_operation(
        mut self,
        name: &str,
        result: TypeCode,
        mode: ParameterMode,
        parameters: &[(&str, TypeCode)],
    ) -> Self {
        let parameter = |(name, type_code): &(&str, TypeCode)| ParameterDescription {
            name: (*name).to_owned(),
            mode,
            type_code: type_code.clone(),
        };
        self.operations.push(OperationDescription {
            name: name.to_owned(),
            defined_in: self.id.clone(),
            is_oneway: false,
            result,
            parameters: parameters.iter().map(parameter).collect(),
            exceptions: Vec::new(),
            contexts: Vec::new(),
        });
        self
    }
}
