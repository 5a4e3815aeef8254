//! Implied IDL as text: what `corbie idl check --implied` shows.
//!
//! Modules and interfaces are opened again for what is added to them. All names are absolute, so
//! that the text can be read without the rest. It is to be read, not compiled: what it adds to an
//! interface cannot be added in IDL.

use std::fmt::Write;

use super::{
    DefId, Definition, DefinitionKind, Direction, Interface, InterfaceKind, Model, Operation,
    Parameter, Type, ValueKind,
};

impl Model {
    /// All that the definitions of the main file imply, as IDL; empty without
    /// [`crate::ImpliedIdl`].
    #[must_use]
    pub fn implied_idl(&self) -> String {
        let mut out = String::new();
        self.write_implied(&mut out, self.top_level(), 0);
        out
    }

    fn write_implied(&self, out: &mut String, definitions: &[DefId], depth: usize) {
        let pad = "  ".repeat(depth);
        for definition in definitions.iter().map(|&id| self.get(id)) {
            match &definition.kind {
                _ if !definition.in_main_file => {}
                DefinitionKind::Module(x) => {
                    let mut inside = String::new();
                    self.write_implied(&mut inside, &x.children, depth + 1);
                    if !inside.is_empty() {
                        let name = &definition.name;
                        let _ = write!(out, "{pad}module {name} {{\n{inside}{pad}}};\n");
                    }
                }
                DefinitionKind::Interface(x) if !definition.is_implied() => {
                    self.write_body(out, &format!("interface {}", definition.name), &x.sends, &pad);
                }
                _ if definition.is_implied() => self.write_type(out, definition, &pad),
                _ => {}
            }
        }
    }

    fn write_type(&self, out: &mut String, definition: &Definition, pad: &str) {
        let (head, bases) = match &definition.kind {
            DefinitionKind::Interface(x) => (interface_head(x), &x.bases),
            DefinitionKind::ValueType(x) if x.kind == ValueKind::Abstract => {
                ("abstract valuetype", &x.bases)
            }
            DefinitionKind::ValueType(x) => ("valuetype", &x.bases),
            _ => return,
        };
        let bases: Vec<String> = bases.iter().map(|&base| self.absolute(base)).collect();
        let colon = if bases.is_empty() { "" } else { " : " };
        let head = format!("{head} {}{colon}{}", definition.name, bases.join(", "));
        match definition.children() {
            [] => drop(writeln!(out, "{pad}{head} {{}};")),
            contents => self.write_body(out, &head, contents, pad),
        }
    }

    fn write_body(&self, out: &mut String, head: &str, contents: &[DefId], pad: &str) {
        if contents.is_empty() {
            return;
        }
        let _ = writeln!(out, "{pad}{head} {{");
        for operation in contents.iter().map(|&id| self.get(id)) {
            if let DefinitionKind::Operation(x) = &operation.kind {
                let _ = writeln!(out, "{pad}  {};", self.operation_text(&operation.name, x));
            }
        }
        let _ = writeln!(out, "{pad}}};");
    }

    fn operation_text(&self, name: &str, x: &Operation) -> String {
        let oneway = if x.oneway { "oneway " } else { "" };
        let parameters: Vec<String> = x.parameters.iter().map(|p| self.parameter_text(p)).collect();
        let mut text =
            format!("{oneway}{} {name}({})", self.type_text(&x.result), parameters.join(", "));
        if !x.raises.is_empty() {
            let raises: Vec<String> = x.raises.iter().map(|&id| self.absolute(id)).collect();
            let _ = write!(text, " raises ({})", raises.join(", "));
        }
        if !x.contexts.is_empty() {
            let names: Vec<String> = x.contexts.iter().map(|name| format!("{name:?}")).collect();
            let _ = write!(text, " context ({})", names.join(", "));
        }
        text
    }

    fn parameter_text(&self, parameter: &Parameter) -> String {
        let direction = match parameter.direction {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        };
        format!("{direction} {} {}", self.type_text(&parameter.ty), parameter.name)
    }

    fn absolute(&self, id: DefId) -> String {
        format!("::{}", self.get(id).scoped_name)
    }

    /// A type as IDL writes it, names absolute. Arrays, which only typedefs can have, are written
    /// as their elements.
    fn type_text(&self, ty: &Type) -> String {
        let bounded = |word: &str, bound: &Option<u32>| match bound {
            Some(bound) => format!("{word}<{bound}>"),
            None => word.to_owned(),
        };
        match ty {
            Type::String { bound } => bounded("string", bound),
            Type::WString { bound } => bounded("wstring", bound),
            Type::Sequence { element, bound: None } => {
                format!("sequence<{}>", self.type_text(element))
            }
            Type::Sequence { element, bound: Some(bound) } => {
                format!("sequence<{}, {bound}>", self.type_text(element))
            }
            Type::Array { element, .. } => self.type_text(element),
            Type::Fixed { digits, scale } => format!("fixed<{digits}, {scale}>"),
            Type::Named(id) => self.absolute(*id),
            simple => word(simple).to_owned(),
        }
    }
}

fn interface_head(x: &Interface) -> &'static str {
    match x.kind {
        InterfaceKind::Unconstrained => "interface",
        InterfaceKind::Abstract => "abstract interface",
        InterfaceKind::Local => "local interface",
    }
}

/// The words of a type that has no parts.
fn word(ty: &Type) -> &'static str {
    match ty {
        Type::Any => "any",
        Type::Object => "Object",
        Type::ValueBase => "ValueBase",
        Type::AbstractBase => "::CORBA::AbstractBase",
        Type::TypeCode => "::CORBA::TypeCode",
        _ => ty.primitive().map_or("void", |primitive| primitive.idl),
    }
}
