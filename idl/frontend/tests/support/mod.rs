//! Support of the data-driven tests: compile a text in memory, show model and diagnostics as text.
//! One definition a line: annotations, word, name, what it is, repository id; members below it.

#![allow(dead_code, unreachable_pub)] // each test file uses a part

use std::fmt::Write;

use corbie_frontend::model::{
    Annotation, ConstValue, Direction, InterfaceKind, Member, Parameter, PortKind, UnionLabel,
    ValueKind,
};
use corbie_frontend::{
    Compilation, DefId, DefinitionKind, MemoryLoader, Model, Options, Type, compile,
};
use expect_test::Expect;

/// Compiles one text as `test.idl`.
pub fn compile_text(text: &str) -> Compilation {
    compile("test.idl", &MemoryLoader::new().file("test.idl", text), &Options::new())
}

/// Model (definitions of the main file) and rendered diagnostics must be as expected.
pub fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&show(&compile_text(text)));
}

/// The same with several files; the first is compiled, folder `include` is on the include path.
pub fn check_files(files: &[(&str, &str)], options: &Options, expected: &Expect) {
    let mut loader = MemoryLoader::new().include_path("include");
    for (name, text) in files {
        loader = loader.file(*name, *text);
    }
    expected.assert_eq(&show(&compile(files[0].0, &loader, options)));
}

/// Only the diagnostics, one line each.
pub fn check_errors(text: &str, expected: &Expect) {
    let lines: Vec<String> =
        compile_text(text).diagnostics.iter().map(|d| format!("{d}\n")).collect();
    expected.assert_eq(&lines.concat());
}

pub fn show(compilation: &Compilation) -> String {
    let mut out = String::new();
    let model = &compilation.model;
    for id in model.top_level() {
        show_definition(&mut out, model, *id, 0);
    }
    if !compilation.diagnostics.is_empty() {
        out.push_str("----\n");
        out.push_str(compilation.render_diagnostics().trim_end());
        out.push('\n');
    }
    out
}

pub fn show_type(model: &Model, ty: &Type) -> String {
    let bounded = |name: &str, bound: &Option<u32>| match bound {
        Some(bound) => format!("{name}<{bound}>"),
        None => name.to_owned(),
    };
    match ty {
        Type::String { bound } => bounded("string", bound),
        Type::WString { bound } => bounded("wstring", bound),
        Type::Sequence { element, bound: None } => {
            format!("sequence<{}>", show_type(model, element))
        }
        Type::Sequence { element, bound: Some(bound) } => {
            format!("sequence<{}, {bound}>", show_type(model, element))
        }
        Type::Array { element, dims } => {
            let dims: String = dims.iter().map(|d| format!("[{d}]")).collect();
            show_type(model, element) + &dims
        }
        Type::Fixed { digits, scale } => format!("fixed<{digits}, {scale}>"),
        Type::Named(id) => model[*id].scoped_name.clone(),
        other => format!("{other:?}"),
    }
}

pub fn show_value(model: &Model, value: &ConstValue) -> String {
    match value {
        ConstValue::Boolean(value) => value.to_string(),
        ConstValue::Integer(value) => value.to_string(),
        ConstValue::Float(value) => format!("{value:?}"),
        ConstValue::LongDouble(bits) => format!("binary128:{bits:032x}"),
        ConstValue::Char(value) => format!("{value:?}"),
        ConstValue::WChar(value) => format!("L U+{value:04X}"),
        ConstValue::String(value) => format!("{value:?}"),
        ConstValue::WString(value) => format!("L{value:?}"),
        ConstValue::Fixed(value) => format!("{value}d<{}, {}>", value.digits, value.scale),
        ConstValue::Enumerator(id, index) => {
            let DefinitionKind::Enum(x) = &model[*id].kind else { panic!("no enum") };
            format!("{}.{}", model[*id].scoped_name, x.enumerators[*index as usize].name)
        }
    }
}

fn names(model: &Model, word: &str, ids: &[DefId]) -> String {
    if ids.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = ids.iter().map(|id| &*model[*id].scoped_name).collect();
    format!("{word}{}", names.join(", "))
}

fn show_annotations(model: &Model, annotations: &[Annotation]) -> String {
    let mut out = String::new();
    for annotation in annotations {
        let arguments: Vec<String> = annotation
            .arguments
            .iter()
            .map(|a| {
                let name = a.name.as_ref().map(|n| format!("{n}=")).unwrap_or_default();
                name + &show_value(model, &a.value)
            })
            .collect();
        let _ = match arguments.is_empty() {
            true => write!(out, "@{} ", annotation.name),
            false => write!(out, "@{}({}) ", annotation.name, arguments.join(", ")),
        };
    }
    out
}

fn show_member(model: &Model, member: &Member) -> String {
    let docs =
        if member.docs.is_empty() { String::new() } else { format!(" // {:?}", member.docs) };
    let annotations = show_annotations(model, &member.annotations);
    format!("{annotations}{}: {}{docs}", member.name, show_type(model, &member.ty))
}

fn show_parameters(model: &Model, parameters: &[Parameter]) -> String {
    let one = |p: &Parameter| {
        let direction = match p.direction {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        };
        let annotations = show_annotations(model, &p.annotations);
        format!("{annotations}{direction} {}: {}", p.name, show_type(model, &p.ty))
    };
    parameters.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn show_definition(out: &mut String, model: &Model, id: DefId, depth: usize) {
    let definition = &model[id];
    if !definition.in_main_file {
        return;
    }
    let pad = "  ".repeat(depth);
    if !definition.docs.is_empty() {
        let _ = writeln!(out, "{pad}// {:?}", definition.docs);
    }
    let annotations = show_annotations(model, &definition.annotations);
    let detail = show_detail(model, &definition.kind);
    let word = definition.kind.word();
    let _ = writeln!(
        out,
        "{pad}{annotations}{word} {}{detail} [{}]",
        definition.name, definition.repository_id
    );
    for line in show_contents(model, &definition.kind) {
        let _ = writeln!(out, "{pad}  {line}");
    }
    for child in definition.children() {
        show_definition(out, model, *child, depth + 1);
    }
}

/// What goes on the definition's own line.
fn show_detail(model: &Model, kind: &DefinitionKind) -> String {
    let forward = |forward: bool| if forward { " (forward only)" } else { "" };
    match kind {
        DefinitionKind::Interface(x) => {
            let kind = match x.kind {
                InterfaceKind::Unconstrained => "",
                InterfaceKind::Abstract => " abstract",
                InterfaceKind::Local => " local",
            };
            format!("{kind}{}{}", names(model, " : ", &x.bases), forward(x.forward_only))
        }
        DefinitionKind::Operation(x) => {
            let oneway = if x.oneway { " oneway" } else { "" };
            let result = show_type(model, &x.result);
            let contexts = match x.contexts.len() {
                0 => String::new(),
                _ => format!(" context {:?}", x.contexts),
            };
            let raises = names(model, " raises ", &x.raises);
            let parameters = show_parameters(model, &x.parameters);
            let clauses = format!("{raises}{contexts}");
            let break_line = if clauses.len() > 25 { "\n       " } else { "" };
            format!("{oneway}({parameters}) -> {result}{break_line}{clauses}")
        }
        DefinitionKind::Attribute(x) => {
            let readonly = if x.readonly { " readonly" } else { "" };
            let get = names(model, " getraises ", &x.get_raises);
            let set = names(model, " setraises ", &x.set_raises);
            format!("{readonly}: {}{get}{set}", show_type(model, &x.ty))
        }
        DefinitionKind::Struct(x) => {
            format!("{}{}", names(model, " : ", x.base.as_slice()), forward(x.forward_only))
        }
        DefinitionKind::Union(x) => {
            let unused =
                x.unused_label.as_ref().map(|v| format!(" unused {}", show_value(model, v)));
            let unused = unused.unwrap_or_default();
            let discriminator = show_type(model, &x.discriminator);
            format!(" switch {discriminator}{unused}{}", forward(x.forward_only))
        }
        DefinitionKind::Typedef(x) => format!(" = {}", show_type(model, &x.ty)),
        DefinitionKind::Constant(x) => {
            format!(": {} = {}", show_type(model, &x.ty), show_value(model, &x.value))
        }
        DefinitionKind::ValueType(x) => {
            let kind = match x.kind {
                ValueKind::Regular => "",
                ValueKind::Abstract => " abstract",
                ValueKind::Custom => " custom",
            };
            let truncatable = if x.truncatable { " truncatable" } else { "" };
            let bases = names(model, " : ", &x.bases);
            let supports = names(model, " supports ", &x.supports);
            format!("{kind}{truncatable}{bases}{supports}{}", forward(x.forward_only))
        }
        DefinitionKind::ValueBox(x) => format!(" boxes {}", show_type(model, &x.ty)),
        DefinitionKind::Factory(x) => {
            let raises = names(model, " raises ", &x.raises);
            format!("({}){raises}", show_parameters(model, &x.parameters))
        }
        DefinitionKind::Component(x) => {
            let base = names(model, " : ", x.base.as_slice());
            format!("{base}{}{}", names(model, " supports ", &x.supports), forward(x.forward_only))
        }
        DefinitionKind::Home(x) => {
            let base = names(model, " : ", x.base.as_slice());
            let key = names(model, " primarykey ", x.primary_key.as_slice());
            format!(
                "{base}{} manages {}{key}",
                names(model, " supports ", &x.supports),
                model[x.manages].name
            )
        }
        DefinitionKind::HomeFactory(x) => {
            let finder = if x.finder { " finder" } else { "" };
            let raises = names(model, " raises ", &x.raises);
            format!("{finder}({}){raises}", show_parameters(model, &x.parameters))
        }
        DefinitionKind::Connector(x) => names(model, " : ", x.base.as_slice()),
        _ => String::new(),
    }
}

/// What goes on lines below it, apart from nested definitions.
fn show_contents(model: &Model, kind: &DefinitionKind) -> Vec<String> {
    let member = |m: &Member| show_member(model, m);
    match kind {
        DefinitionKind::Struct(x) => x.members.iter().map(member).collect(),
        DefinitionKind::Exception(x) => x.members.iter().map(member).collect(),
        DefinitionKind::Union(x) => x
            .cases
            .iter()
            .map(|case| {
                let label = |label: &UnionLabel| match label {
                    UnionLabel::Value(value) => show_value(model, value),
                    UnionLabel::Default => "default".to_owned(),
                };
                let labels: Vec<String> = case.labels.iter().map(label).collect();
                format!("{} => {}", labels.join(" | "), show_member(model, &case.member))
            })
            .collect(),
        DefinitionKind::Enum(x) => {
            let one = |e: &corbie_frontend::model::Enumerator| {
                let docs =
                    if e.docs.is_empty() { String::new() } else { format!(" // {:?}", e.docs) };
                format!("{}{}{docs}", show_annotations(model, &e.annotations), e.name)
            };
            x.enumerators.iter().map(one).collect()
        }
        DefinitionKind::ValueType(x) => x
            .state
            .iter()
            .map(|s| {
                format!("{} {}", if s.public { "public" } else { "private" }, member(&s.member))
            })
            .collect(),
        DefinitionKind::Component(x) => ports(model, &x.ports),
        DefinitionKind::PortType(x) => ports(model, &x.ports),
        DefinitionKind::Connector(x) => ports(model, &x.ports),
        _ => Vec::new(),
    }
}

fn ports(model: &Model, ports: &[corbie_frontend::model::Port]) -> Vec<String> {
    let word = |kind: PortKind| match kind {
        PortKind::Uses { multiple: true } => "uses multiple".to_owned(),
        PortKind::Uses { multiple: false } => "uses".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    };
    ports
        .iter()
        .map(|p| format!("{} {}: {}", word(p.kind), p.name, show_type(model, &p.ty)))
        .collect()
}
