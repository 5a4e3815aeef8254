//! What every emitter needs: the model, its Rust names, and how paths are written from a module.
//!
//! [`Context`] is made once for a run; [`Scope`] is the view from one Rust module: every path that
//! an emitter writes comes from it, so that nothing in the IDL can shadow what generated code
//! means.

use corbie_frontend::model::{Interface, InterfaceKind};
use corbie_frontend::{DefId, Definition, DefinitionKind, Diagnostic, Model};
use proc_macro2::TokenStream;
use quote::quote;

use crate::externs::Externs;
use crate::names::{Implied, ModulePath, Names};
use crate::options::Options;
use crate::rust_name::{Case, ident};

/// Everything known about one run.
pub(crate) struct Context<'m> {
    pub(crate) model: &'m Model,
    pub(crate) options: &'m Options,
    pub(crate) names: Names,
    externs: Externs,
}

impl<'m> Context<'m> {
    /// Names everything; names that had to give way come back as diagnostics.
    pub(crate) fn new(model: &'m Model, options: &'m Options) -> (Self, Vec<Diagnostic>) {
        let mut diagnostics = Vec::new();
        let externs = Externs::new(model, options, &mut diagnostics);
        let names = Names::new(model, options, &externs, &mut diagnostics);
        (Context { model, options, names, externs }, diagnostics)
    }

    /// Whether the definition's code is elsewhere.
    pub(crate) fn is_extern(&self, id: DefId) -> bool {
        self.externs.contains(id)
    }

    /// Whether a definition is `Messaging::ExceptionHolder`, which is passed like a struct.
    pub(crate) fn is_exception_holder(&self, id: DefId) -> bool {
        let definition = self.model.get(id);
        definition.is_messaging() && definition.scoped_name == "Messaging::ExceptionHolder"
    }

    /// The view from a Rust module.
    pub(crate) fn scope<'c>(&'c self, module: &[String]) -> Scope<'c, 'm> {
        Scope { cx: self, module: module.to_vec() }
    }

    /// The view from the module that has the definition's item.
    pub(crate) fn scope_of<'c>(&'c self, id: DefId) -> Scope<'c, 'm> {
        self.scope(self.names.module(id))
    }

    /// What calls and skeletons are made for: interfaces, and components and homes as far as they
    /// are interfaces (their attributes and what they support, CORBA 3.3 P3 §6.3).
    pub(crate) fn interface(&self, id: DefId) -> Option<Interface> {
        let as_interface =
            |base: Option<DefId>, supports: &[DefId], contents: &[DefId]| Interface {
                kind: InterfaceKind::Unconstrained,
                bases: base.into_iter().chain(supports.iter().copied()).collect(),
                contents: contents.to_vec(),
                sends: Vec::new(),
                forward_only: false,
            };
        match &self.model.get(id).kind {
            DefinitionKind::Interface(x) => Some(x.clone()),
            DefinitionKind::Component(x) => Some(as_interface(x.base, &x.supports, &x.contents)),
            DefinitionKind::Home(x) => Some(as_interface(x.base, &x.supports, &x.contents)),
            _ => None,
        }
    }

    /// All bases of an interface, each once, a base before its own bases.
    pub(crate) fn all_bases(&self, id: DefId) -> Vec<DefId> {
        let mut found: Vec<DefId> = Vec::new();
        let mut waiting = self.interface(id).map(|x| x.bases).unwrap_or_default();
        waiting.reverse();
        while let Some(base) = waiting.pop() {
            if base != id && !found.contains(&base) {
                found.push(base);
                let bases = self.interface(base).map(|x| x.bases).unwrap_or_default();
                waiting.extend(bases.into_iter().rev());
            }
        }
        found
    }

    /// Operations and attributes declared in an interface itself.
    pub(crate) fn own_operations(&self, contents: &[DefId]) -> Vec<&'m Definition> {
        let is_operation = |definition: &&Definition| {
            matches!(definition.kind, DefinitionKind::Operation(_) | DefinitionKind::Attribute(_))
        };
        contents.iter().map(|&id| self.model.get(id)).filter(is_operation).collect()
    }
}

/// The view from one Rust module.
#[derive(Clone)]
pub(crate) struct Scope<'c, 'm> {
    pub(crate) cx: &'c Context<'m>,
    module: ModulePath,
}

impl<'m> Scope<'_, 'm> {
    pub(crate) fn model(&self) -> &'m Model {
        self.cx.model
    }

    /// How this module names `corbie::codegen`.
    pub(crate) fn orb(&self) -> TokenStream {
        match self.orb_alias() {
            Some(alias) => {
                let alias = ident(&alias);
                quote!(#alias)
            }
            None => quote!(::corbie::codegen),
        }
    }

    /// The name under which a module imports `corbie::codegen`. None at the place of inclusion: its
    /// names are the user's.
    pub(crate) fn orb_alias(&self) -> Option<String> {
        if self.module.is_empty() {
            return None;
        }
        let mut alias = "orb".to_owned();
        while self.cx.names.has_type(&self.module, &alias) {
            alias.push('_');
        }
        Some(alias)
    }

    /// An item of the prelude (`Option`, `Ok`), with its full path where the IDL shadows it.
    pub(crate) fn std(&self, name: &str) -> TokenStream {
        let item = ident(name);
        if !self.cx.names.has_type(&self.module, name) {
            return quote!(#item);
        }
        match name {
            "Option" | "Some" | "None" => quote!(::std::option::Option::#item),
            "Result" | "Ok" | "Err" => quote!(::std::result::Result::#item),
            "Vec" => quote!(::std::vec::Vec),
            "String" => quote!(::std::string::String),
            "Box" => quote!(::std::boxed::Box),
            "From" => quote!(::std::convert::From),
            "Default" => quote!(::std::default::Default),
            "Send" | "Sync" => quote!(::std::marker::#item),
            _ => quote!(#item),
        }
    }

    /// Whether the module has a type of this name.
    pub(crate) fn has_type(&self, name: &str) -> bool {
        self.cx.names.has_type(&self.module, name)
    }

    /// `Option<inner>`
    pub(crate) fn option(&self, inner: &TokenStream) -> TokenStream {
        let option = match self.cx.names.has_type(&self.module, "Option") {
            true => quote!(::std::option::Option),
            false => quote!(Option),
        };
        quote!(#option<#inner>)
    }

    /// `Result<value, error>`
    pub(crate) fn result(&self, value: &TokenStream, error: &TokenStream) -> TokenStream {
        let result = match self.cx.names.has_type(&self.module, "Result") {
            true => quote!(::std::result::Result),
            false => quote!(Result),
        };
        quote!(#result<#value, #error>)
    }

    /// The path to a definition's own item.
    pub(crate) fn path(&self, id: DefId) -> TokenStream {
        self.path_to(id, self.cx.names.module(id), self.cx.names.name(id))
    }

    /// The path to an item that the mapping adds.
    pub(crate) fn implied(&self, id: DefId, which: Implied) -> TokenStream {
        self.path_to(id, self.cx.names.module(id), self.cx.names.implied(id, which))
    }

    fn path_to(&self, id: DefId, module: &[String], name: &str) -> TokenStream {
        let name = ident(name);
        if let Some((path, depth)) = self.cx.externs.path(id) {
            let rest = module[depth.min(module.len())..].iter().map(|segment| ident(segment));
            return quote!(#path #(::#rest)* ::#name);
        }
        let shared = self.module.iter().zip(module).take_while(|(a, b)| a == b).count();
        let up = self.module[shared..].iter().map(|_| quote!(super::));
        let down = module[shared..].iter().map(|segment| ident(segment));
        quote!(#(#up)* #(#down::)* #name)
    }

    /// The Rust name of a member, case or parameter, escaped.
    pub(crate) fn member(&self, owner: &Definition, idl: &str, case: Case) -> proc_macro2::Ident {
        ident(&self.cx.names.member(owner, idl, case))
    }
}
