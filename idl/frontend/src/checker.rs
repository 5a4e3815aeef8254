//! The checker: syntax tree in, model out; names resolved, constants evaluated, rules enforced.
//!
//! [`check`] is called once by [`crate::compile`] and walks the text in order, because IDL names
//! are visible only after their declaration. Whatever is faulty is reported and left out of the
//! model. IDL 4.2 §7.4 (constructs), §7.5 (names and scoping); CORBA 3.3 P1 §14.7 (repository ids).

mod annotations;
mod components;
mod constants;
mod constructed;
mod declarations;
mod implied;
mod inheritance;
mod interfaces;
mod names;
mod operations;
mod repository;
mod scope;
mod types;
mod unions;
mod values;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::diagnostic::{Code, Diagnostics, Report};
use crate::model::{DefId, Model};
use crate::options::Options;
use crate::source::{FileId, SourceMap, Span};
use crate::syntax::{AnnotationUse, DefinitionSyntax, Item, Name};
use crate::token::Event;
use repository::{Identity, Prefix};
use scope::{Scope, ScopeId};

/// How far a definition has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Only a forward declaration so far.
    Declared,
    /// Inside its own definition.
    Open,
    Complete,
}

struct Checker<'a> {
    model: Model,
    options: &'a Options,
    sources: &'a mut SourceMap,
    diagnostics: &'a mut Diagnostics,
    scopes: Vec<Scope>,
    /// The scope that a definition opens.
    scope_of: HashMap<DefId, ScopeId>,
    /// By index of definition.
    progress: Vec<Progress>,
    /// By index of definition.
    identities: Vec<Identity>,
    /// The `#pragma prefix` in force.
    prefix: Prefix,
    /// Prefixes of the files that include the current one.
    outer_prefixes: Vec<Prefix>,
    /// Names already reported as not defined: text and index of the report.
    missing: HashMap<String, Option<usize>>,
    /// Names of module CORBA that were looked for in the standard.
    standard: HashSet<Rc<str>>,
    /// Steps that constant evaluation may still take.
    constant_work: u64,
    /// Files that the text does not include: texts before it do.
    hidden: HashSet<FileId>,
}

/// What a definition brings along from its declaration.
#[derive(Clone, Copy)]
struct Head<'a> {
    docs: &'a str,
    annotations: &'a [AnnotationUse],
}

/// The text of one file compiled.
pub(crate) struct Text {
    pub(crate) items: Vec<Item>,
    /// The file and all that it includes.
    pub(crate) files: HashSet<FileId>,
}

/// Checks whole texts, one after the other. The sources stay outside the model until the caller
/// puts them in.
pub(crate) fn check(
    texts: &[Text],
    options: &Options,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> Model {
    let mut checker = Checker {
        model: Model::default(),
        options,
        sources,
        diagnostics,
        scopes: vec![Scope::root()],
        scope_of: HashMap::new(),
        progress: Vec::new(),
        identities: Vec::new(),
        prefix: Prefix::default(),
        outer_prefixes: Vec::new(),
        missing: HashMap::new(),
        standard: HashSet::new(),
        constant_work: constants::WORK,
        hidden: HashSet::new(),
    };
    for text in texts {
        checker.text(text, texts);
    }
    checker.check_completeness();
    checker.imply();
    checker.check_repository_ids();
    checker.model
}

impl Checker<'_> {
    fn report(&mut self, code: Code, span: Span, message: impl Into<String>, hint: &str) {
        self.diagnostics.report(Report::new(code, span, message).hint(hint));
    }

    /// The form in which names are compared: IDL 4.2 §7.2.3, unless the options say otherwise.
    fn key(&self, name: &str) -> String {
        if self.options.allow_case_clash { name.to_owned() } else { scope::key(name) }
    }

    /// Remembers the name of a faulty definition.
    fn poison(&mut self, scope: ScopeId, name: &Name) {
        let key = self.key(&name.text);
        self.scopes[scope.0].poison(key, name);
    }

    /// One of the files compiled: it sees what it includes, and no more.
    fn text(&mut self, text: &Text, all: &[Text]) {
        let others = all.iter().flat_map(|other| &other.files);
        self.hidden = others.filter(|file| !text.files.contains(file)).copied().collect();
        self.prefix = Prefix::default();
        self.outer_prefixes.clear();
        self.missing.clear();
        self.items(&text.items, ScopeId::ROOT);
    }

    /// The contents of a module, interface, … in order.
    fn items(&mut self, items: &[Item], scope: ScopeId) {
        for item in items {
            match item {
                Item::Definition(definition) => {
                    let head =
                        Head { docs: &definition.docs, annotations: &definition.annotations };
                    self.definition(&definition.kind, head, scope);
                }
                Item::Event(event) => self.event(event, scope),
                Item::Broken(name) => self.poison(scope, name),
            }
        }
    }

    fn event(&mut self, event: &Event, scope: ScopeId) {
        match event {
            // CORBA 3.3 P1 §14.7.5.2: an included file begins without prefix, and its prefix ends
            // with it.
            Event::EnterFile => {
                let outer = std::mem::take(&mut self.prefix);
                self.outer_prefixes.push(outer);
            }
            Event::LeaveFile => {
                if let Some(outer) = self.outer_prefixes.pop() {
                    self.prefix = outer;
                }
            }
            Event::Prefix { prefix, span } => self.pragma_prefix(prefix, *span, scope),
            Event::Id { name, id, span } => self.pragma_id(name, id, *span, scope),
            Event::Version { name, version, span } => {
                self.pragma_version(name, version, *span, scope)
            }
        }
    }

    /// One definition at module, interface or value level.
    fn definition(&mut self, kind: &DefinitionSyntax, head: Head<'_>, scope: ScopeId) {
        match kind {
            DefinitionSyntax::Module { name, items } => self.module(name, items, head, scope),
            DefinitionSyntax::Interface { name, kind, bases, body } => {
                self.interface(name, *kind, bases, body.as_deref(), head, scope);
            }
            DefinitionSyntax::Operation(operation) => self.operation(operation, head, scope),
            DefinitionSyntax::Attribute(attribute) => self.attribute(attribute, head, scope),
            DefinitionSyntax::Struct { .. }
            | DefinitionSyntax::Union { .. }
            | DefinitionSyntax::Enum { .. } => {
                self.constructed(kind, head, scope);
            }
            DefinitionSyntax::Exception { name, members } => {
                self.exception(name, members, head, scope)
            }
            DefinitionSyntax::Typedef { ty, declarators } => {
                self.typedef(ty, declarators, head, scope);
            }
            DefinitionSyntax::Constant { ty, name, value } => {
                self.constant(ty, name, value, head, scope);
            }
            DefinitionSyntax::Value(value) => self.value(value, head, scope),
            DefinitionSyntax::State { public, member } => self.state(*public, member, head, scope),
            DefinitionSyntax::ValueBox { name, ty } => self.value_box(name, ty, head, scope),
            DefinitionSyntax::Factory { name, parameters, raises } => {
                self.factory(name, parameters, raises, head, scope);
            }
            DefinitionSyntax::Native { name } => self.native(name, head, scope),
            DefinitionSyntax::TypeId { name, id } => self.type_id(name, id, scope),
            DefinitionSyntax::TypePrefix { name, prefix } => self.type_prefix(name, prefix, scope),
            DefinitionSyntax::Import(name) => {
                // What is imported must have been included; then it is visible already.
                self.resolve(scope, name);
            }
            DefinitionSyntax::Component(component) => self.component(component, head, scope),
            DefinitionSyntax::Home(home) => self.home(home, head, scope),
            DefinitionSyntax::HomeFactory(factory) => self.home_factory(factory, head, scope),
            DefinitionSyntax::Port { kind, ty, names } => self.port(*kind, ty, names, scope),
            DefinitionSyntax::PortType { name, body } => {
                self.port_type(name, body.as_deref(), head, scope);
            }
            DefinitionSyntax::Connector { name, base, items } => {
                self.connector(name, base.as_ref(), items, head, scope);
            }
        }
    }

    /// Runs the contents of a scope with the prefix restored afterwards.
    fn inside(&mut self, items: &[Item], scope: ScopeId) {
        let outer = self.prefix.clone();
        if let Some(own) = self.scopes[scope.0].type_prefix.clone() {
            self.prefix = own;
        }
        self.items(items, scope);
        self.prefix = outer;
    }

    fn progress(&self, id: DefId) -> Progress {
        self.progress.get(id.index()).copied().unwrap_or(Progress::Complete)
    }

    fn complete(&mut self, id: DefId) {
        if let Some(progress) = self.progress.get_mut(id.index()) {
            *progress = Progress::Complete;
        }
    }

    /// The definition that a scope belongs to.
    fn owner(&self, scope: ScopeId) -> Option<DefId> {
        self.scopes[scope.0].owner
    }

    fn describe(&self, id: DefId) -> String {
        let definition = self.model.get(id);
        format!("{} `{}`", definition.kind.word(), definition.scoped_name)
    }

    fn native(&mut self, name: &Name, head: Head<'_>, scope: ScopeId) {
        let kind = crate::model::DefinitionKind::Native(crate::model::Native);
        self.define(name, kind, head, scope, Progress::Complete);
    }
}
