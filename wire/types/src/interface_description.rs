//! What an interface consists of: operations with their parameters, attributes, bases; as an
//! Interface Repository describes it (CORBA 3.3 P1 §14.5.24: `FullInterfaceDescription`).
//!
//! Made by generated code, from IDL files and from repositories; read by programs that serve or
//! call interfaces that were not known when it was built, such as typed event channels.

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

    /// With one more interface that it inherits from.
    #[must_use]
    pub fn with_base(mut self, id: &str) -> Self {
        self.bases.push(id.to_owned());
        self
    }

    /// With one more operation.
    #[must_use]
    pub fn with_operation(mut self, operation: OperationDescription) -> Self {
        self.operations.push(operation);
        self
    }

    /// With `void name(in …)`, declared by this interface.
    #[must_use]
    pub fn with_event(self, name: &str, parameters: &[(&str, TypeCode)]) -> Self {
        let mut operation = OperationDescription::new(name, &self.id);
        for (name, type_code) in parameters {
            operation = operation.with_parameter(ParameterMode::In, name, type_code.clone());
        }
        self.with_operation(operation)
    }

    /// With one more attribute.
    #[must_use]
    pub fn with_attribute(mut self, attribute: AttributeDescription) -> Self {
        self.attributes.push(attribute);
        self
    }
}

impl OperationDescription {
    /// `void name()`, declared by the interface with the repository id `defined_in`.
    #[must_use]
    pub fn new(name: &str, defined_in: &str) -> Self {
        OperationDescription {
            name: name.to_owned(),
            defined_in: defined_in.to_owned(),
            is_oneway: false,
            result: TypeCode::VOID,
            parameters: Vec::new(),
            exceptions: Vec::new(),
            contexts: Vec::new(),
        }
    }

    /// Declared `oneway`.
    #[must_use]
    pub fn as_oneway(mut self) -> Self {
        self.is_oneway = true;
        self
    }

    /// With a result of this type.
    #[must_use]
    pub fn with_result(mut self, type_code: TypeCode) -> Self {
        self.result = type_code;
        self
    }

    /// With one more parameter.
    #[must_use]
    pub fn with_parameter(mut self, mode: ParameterMode, name: &str, type_code: TypeCode) -> Self {
        self.parameters.push(ParameterDescription { name: name.to_owned(), mode, type_code });
        self
    }

    /// With one more exception that it raises.
    #[must_use]
    pub fn with_exception(mut self, id: &str) -> Self {
        self.exceptions.push(id.to_owned());
        self
    }

    /// With one more name in its `context` clause.
    #[must_use]
    pub fn with_context(mut self, name: &str) -> Self {
        self.contexts.push(name.to_owned());
        self
    }
}

impl AttributeDescription {
    /// `attribute` of that type, declared by the interface with the repository id `defined_in`.
    #[must_use]
    pub fn new(name: &str, defined_in: &str, type_code: TypeCode) -> Self {
        let (name, defined_in) = (name.to_owned(), defined_in.to_owned());
        AttributeDescription { name, defined_in, is_readonly: false, type_code }
    }

    /// Declared `readonly`.
    #[must_use]
    pub fn as_readonly(mut self) -> Self {
        self.is_readonly = true;
        self
    }
}
