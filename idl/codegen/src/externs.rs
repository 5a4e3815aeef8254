//! [`Externs`]: definitions whose Rust code is elsewhere, and where.
//!
//! Made by `context` from [`Options::extern_modules`], [`Options::extern_files`] and what the ORB
//! itself has. Nothing is generated for these definitions; paths lead to the other code, which must
//! come from the same IDL with the same options.

use std::collections::{BTreeSet, HashMap};

use corbie_frontend::{
    Code, DefId, Definition, DefinitionKind, Diagnostic, FileId, Model, Position, Severity, Span,
};
use proc_macro2::TokenStream;
use quote::quote;

use crate::options::Options;
use crate::rust_name::ident;

/// Where the code of a definition is.
#[derive(Debug, Clone)]
pub(crate) struct Extern {
    /// A Rust path as the user wrote it.
    path: String,
    /// How many modules around the definition the path stands for.
    depth: usize,
}

/// All definitions whose code is elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Externs {
    places: HashMap<DefId, Extern>,
}

impl Externs {
    /// Finds them; an option that fits nothing is reported.
    pub(crate) fn new(model: &Model, options: &Options, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let mut externs = Externs::default();
        externs.add_ready_made(model);
        // Files that others name on their way come first, so that a file's own place counts.
        let mut files: Vec<(Vec<FileId>, &str)> = Vec::new();
        for (name, path) in &options.extern_files {
            let found = files_of_name(model, name);
            if found.is_empty() {
                diagnostics.push(not_read(name));
            }
            files.push((found, path));
        }
        for (found, path) in files.iter().rev() {
            let all = found.iter().flat_map(|&file| model.sources.with_includes(file));
            externs.add_files(model, &all.collect(), path);
        }
        for (found, path) in &files {
            externs.add_files(model, &found.iter().copied().collect(), path);
        }
        for (scope, path) in &options.extern_modules {
            externs.add_module(model, scope.trim_start_matches("::"), path);
        }
        externs.settle_modules(model);
        externs
    }

    /// Whether the definition's code is elsewhere.
    pub(crate) fn contains(&self, id: DefId) -> bool {
        self.places.contains_key(&id)
    }

    /// The Rust path that leads to the place of a definition, and how many of the modules around
    /// the definition it stands for.
    pub(crate) fn path(&self, id: DefId) -> Option<(TokenStream, usize)> {
        let place = self.places.get(&id)?;
        Some((tokens_of_path(&place.path), place.depth))
    }

    /// A module path that also says in which tree of modules it is: names of another tree clash
    /// with none of ours.
    pub(crate) fn tree_of(&self, id: DefId, module: &[String]) -> Vec<String> {
        let tree = self.places.get(&id).map(|place| format!("<{}>", place.path));
        tree.into_iter().chain(module.iter().cloned()).collect()
    }

    fn add_ready_made(&mut self, model: &Model) {
        for definition in model.iter().filter(|definition| is_ready_made(definition)) {
            let place = Extern { path: "::corbie::codegen".to_owned(), depth: 1 };
            self.places.insert(definition.id, place);
        }
    }

    fn add_files(&mut self, model: &Model, files: &BTreeSet<FileId>, path: &str) {
        for definition in model.iter().filter(|x| files.contains(&x.span.file)) {
            if !is_ready_made(definition) {
                self.places.insert(definition.id, Extern { path: path.to_owned(), depth: 0 });
            }
        }
    }

    /// The definitions of a scope: those included, or all where the files compiled have all.
    fn add_module(&mut self, model: &Model, scope: &str, path: &str) {
        let is_inside = |definition: &&Definition| {
            let rest = definition.scoped_name.strip_prefix(scope);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let is_module = |x: &Definition| matches!(x.kind, DefinitionKind::Module(_));
        let inside: Vec<&Definition> = model.iter().filter(is_inside).collect();
        let has_included = inside.iter().any(|x| !is_module(x) && !x.in_main_file);
        for definition in inside.iter().filter(|x| !has_included || !x.in_main_file) {
            let place = Extern { path: path.to_owned(), depth: scope.split("::").count() };
            self.places.insert(definition.id, place);
        }
    }

    /// A module is elsewhere when all is that it contains.
    fn settle_modules(&mut self, model: &Model) {
        for definition in model.iter().rev() {
            let DefinitionKind::Module(x) = &definition.kind else { continue };
            let first = x.children.first().and_then(|child| self.places.get(child)).cloned();
            match first.filter(|_| x.children.iter().all(|child| self.contains(*child))) {
                Some(place) => {
                    self.places.entry(definition.id).or_insert(place);
                }
                None => {
                    self.places.remove(&definition.id);
                }
            }
        }
    }
}

/// The files read under this name: the whole path, or its last parts.
fn files_of_name(model: &Model, name: &str) -> Vec<FileId> {
    let is_of_name = |path: &str| {
        let before = path.strip_suffix(name.trim_start_matches("./"));
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let files = model.sources.files().iter().enumerate();
    files.filter(|(_, file)| is_of_name(&file.name)).map(|(at, _)| FileId(at as u32)).collect()
}

fn not_read(name: &str) -> Diagnostic {
    Diagnostic {
        code: Code::UnknownExtern,
        severity: Severity::Error,
        message: format!("the options say where the code of `{name}` is, but no file includes it"),
        span: Span::default(),
        position: Position::default(),
        hint: "name the file as `#include` does".to_owned(),
        notes: Vec::new(),
    }
}

fn tokens_of_path(rust: &str) -> TokenStream {
    let mut path = TokenStream::new();
    let absolute = rust.starts_with("::");
    for (at, segment) in rust.trim_start_matches("::").split("::").enumerate() {
        let segment = match segment {
            // `crate` is a path word here, not a name to escape.
            "crate" => quote!(crate),
            segment => {
                let segment = ident(segment);
                quote!(#segment)
            }
        };
        let colons = (at > 0 || absolute).then(|| quote!(::));
        path.extend(quote!(#colons #segment));
    }
    path
}

/// Whether the ORB itself has the type: what asynchronous calls build on (CORBA Messaging §22.6).
fn is_ready_made(definition: &Definition) -> bool {
    const READY_MADE: &[&str] = &[
        "Messaging::UserExceptionBase",
        "Messaging::MarshaledException",
        "Messaging::ExceptionHolder",
        "Messaging::ReplyHandler",
        "Messaging::Poller",
        "CORBA::Pollable",
        "CORBA::DIIPollable",
        "CORBA::PollableSet",
    ];
    let name = &definition.scoped_name;
    definition.is_messaging()
        && READY_MADE.iter().any(|ready| {
            name.strip_prefix(ready).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        })
}
