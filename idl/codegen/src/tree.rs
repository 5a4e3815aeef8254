//! Puts the generated items into Rust modules and formats the whole.
//!
//! The last step of `generate`. Modules are in the order in which the IDL first opens them, items
//! in the order of their definitions, so that the output depends on the input only.

use std::collections::HashMap;

use corbie_frontend::model::{Implied, ImpliedKind};
use corbie_frontend::{Code, DefId, Definition, DefinitionKind, Diagnostic, Severity};
use proc_macro2::TokenStream;
use quote::quote;

use crate::context::Context;
use crate::docs::docs_with;
use crate::layout::lay_out;
use crate::names::ModulePath;
use crate::rust_name::ident;

/// Lints that the mapping cannot satisfy for every IDL: a user's crate may not use all that is
/// generated, and the IDL decides about names, numbers of parameters and sizes.
const ALLOWED: &[&str] = &[
    "dead_code",
    "missing_docs",
    "unreachable_pub",
    "clippy::approx_constant",
    "clippy::enum_variant_names",
    "clippy::excessive_precision",
    "clippy::large_enum_variant",
    "clippy::manual_range_patterns",
    "clippy::match_single_binding",
    "clippy::module_inception",
    "clippy::redundant_pattern_matching",
    "clippy::result_large_err",
    "clippy::should_implement_trait",
    "clippy::too_many_arguments",
    "clippy::type_complexity",
    "clippy::wrong_self_convention",
];

/// A Rust module of the output.
#[derive(Debug, Default)]
struct Node {
    docs: TokenStream,
    items: Vec<TokenStream>,
    /// Names of the modules inside, in order.
    children: Vec<String>,
}

/// All modules of the output.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: HashMap<ModulePath, Node>,
}

impl Tree {
    /// Generates everything; what cannot be generated is reported.
    pub(crate) fn new(cx: &Context<'_>, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let mut tree = Tree::default();
        for definition in cx.model.iter().filter(|definition| !cx.is_extern(definition.id)) {
            tree.add(cx, definition, diagnostics);
        }
        tree
    }

    fn add(
        &mut self,
        cx: &Context<'_>,
        definition: &Definition,
        diagnostics: &mut Vec<Diagnostic>,
    ) {
        let id = definition.id;
        let scope = cx.scope_of(id);
        if is_amh(definition) {
            self.add_amh(cx, definition);
            return;
        }
        let items = match &definition.kind {
            DefinitionKind::Module(x) => {
                if !x.children.is_empty() && x.children.iter().all(|&child| cx.is_extern(child)) {
                    return;
                }
                let closing = format!("IDL module `{}`.", definition.scoped_name);
                self.node(&cx.names.inner_module(id)).docs = docs_with(&definition.docs, &closing);
                return;
            }
            DefinitionKind::Interface(_) => scope.emit_interface(definition),
            DefinitionKind::Component(_) | DefinitionKind::Home(_) => {
                diagnostics.push(not_generated(definition, NOT_GENERATED_PORTS));
                scope.emit_interface(definition)
            }
            DefinitionKind::Struct(x) => scope.emit_struct(definition, x),
            DefinitionKind::Union(x) => scope.emit_union(definition, x),
            DefinitionKind::Enum(x) => scope.emit_enum(definition, x),
            DefinitionKind::Typedef(x) => scope.emit_typedef(definition, x),
            DefinitionKind::Constant(x) => scope.emit_constant(definition, x),
            DefinitionKind::Exception(x) => scope.emit_exception(definition, x),
            DefinitionKind::ValueType(_) if is_poller(definition) => {
                // Its operations have the error types of the interface.
                let poller = scope.emit_poller(definition);
                self.node(cx.names.module(id)).items.push(poller);
                return;
            }
            DefinitionKind::ValueType(x) => scope.emit_value(definition, x),
            DefinitionKind::ValueBox(x) => scope.emit_value_box(definition, x),
            DefinitionKind::Native(_) => scope.emit_native(definition),
            DefinitionKind::PortType(_) | DefinitionKind::Connector(_) => {
                diagnostics.push(not_generated(definition, NOT_GENERATED));
                return;
            }
            // Parts of interfaces, valuetypes and homes.
            DefinitionKind::Operation(_)
            | DefinitionKind::Attribute(_)
            | DefinitionKind::Factory(_)
            | DefinitionKind::HomeFactory(_) => return,
        };
        self.node(cx.names.module(id)).items.push(items);
        self.add_inner(cx, definition);
    }

    /// Servant, response handler or exception holder of AMH, and the types of its responses.
    fn add_amh(&mut self, cx: &Context<'_>, definition: &Definition) {
        let items = cx.scope_of(definition.id).emit_amh(definition);
        if items.is_empty() {
            return;
        }
        self.node(cx.names.module(definition.id)).items.push(items);
        let Some(Implied { kind: ImpliedKind::AmhServant, origin }) = definition.implied else {
            return;
        };
        let inner = cx.names.inner_module(definition.id);
        let responses = cx.scope(&inner).emit_responses(origin);
        if !responses.is_empty() {
            let name = &cx.model.get(origin).scoped_name;
            let closing = format!("What an asynchronous servant of `{name}` answers with.");
            let node = self.node(&inner);
            node.docs = docs_with("", &closing);
            node.items.push(responses);
        }
    }

    /// The error enums of an interface's operations; its nested types come by themselves.
    fn add_inner(&mut self, cx: &Context<'_>, definition: &Definition) {
        let inner = cx.names.inner_module(definition.id);
        let enums = cx.scope(&inner).emit_error_enums(definition.children());
        let has_nested = definition.children().iter().any(|&child| has_item(cx, child));
        if enums.is_empty() && !has_nested {
            return;
        }
        let closing = format!("What belongs to `{}`.", definition.scoped_name);
        let node = self.node(&inner);
        node.docs = docs_with("", &closing);
        node.items.push(enums);
    }

    /// The node of a module, and of the modules around it.
    fn node(&mut self, path: &[String]) -> &mut Node {
        if let Some((last, around)) = path.split_last() {
            let parent = self.node(around);
            if !parent.children.contains(last) {
                parent.children.push(last.clone());
            }
        }
        self.nodes.entry(path.to_vec()).or_default()
    }

    /// The whole output as text.
    pub(crate) fn format(&self, cx: &Context<'_>) -> String {
        let root = Vec::new();
        let allow = allow();
        let mut tokens = TokenStream::new();
        if let Some(node) = self.nodes.get(&root) {
            // The place of inclusion is the user's: lints are allowed item by item.
            for items in &node.items {
                tokens.extend(with_attribute(items, &allow));
            }
            for child in &node.children {
                let child = self.module(cx, std::slice::from_ref(child));
                tokens.extend(quote!(#allow #child));
            }
        }
        let text = match syn::parse2::<syn::File>(tokens.clone()) {
            Ok(file) => prettyplease::unparse(&file),
            // Not laid out, but the compiler will say at least where it is wrong.
            Err(_) => tokens.to_string(),
        };
        format!("// Generated by corbie from IDL; do not edit.\n\n{}", lay_out(&text))
    }

    fn module(&self, cx: &Context<'_>, path: &[String]) -> TokenStream {
        let (Some(node), Some(name)) = (self.nodes.get(path), path.last()) else {
            return TokenStream::new();
        };
        let name = ident(name);
        let docs = &node.docs;
        let items = &node.items;
        let children = node.children.iter().map(|child| {
            let mut inner = path.to_vec();
            inner.push(child.clone());
            self.module(cx, &inner)
        });
        let items = quote!(#(#items)*);
        let import = cx.scope(path).orb_alias().filter(|alias| mentions(&items, alias));
        let import = import.map(|alias| {
            if alias == "codegen" {
                return quote!(
                    use ::corbie::codegen;
                );
            }
            let alias = ident(&alias);
            quote!(use ::corbie::codegen as #alias;)
        });
        quote! {
            #docs
            pub mod #name {
                #import
                #items
                #(#children)*
            }
        }
    }
}

const NOT_GENERATED: &str = "no code is generated for it";
const NOT_GENERATED_PORTS: &str =
    "only its attributes, its operations and the interfaces it supports are generated";

fn not_generated(definition: &Definition, what: &str) -> Diagnostic {
    Diagnostic {
        code: Code::NotGenerated,
        severity: Severity::Warning,
        message: format!("{} `{}`: {what}", definition.kind.word(), definition.scoped_name),
        span: definition.span,
        position: definition.position.clone(),
        hint: "write the equivalent IDL (CORBA 3.3 P3 §6) where the rest is needed".to_owned(),
        notes: Vec::new(),
    }
}

/// Whether a definition is of the implied IDL of AMH, which is mapped in its own way.
fn is_amh(definition: &Definition) -> bool {
    use ImpliedKind::{
        AmhExcep, AmhExceptionHolder, AmhOperation, AmhRaise, AmhReply, AmhResponseHandler,
        AmhServant,
    };
    definition.implied.is_some_and(|implied| {
        matches!(
            implied.kind,
            AmhServant
                | AmhResponseHandler
                | AmhExceptionHolder
                | AmhOperation(_)
                | AmhReply(_)
                | AmhExcep(_)
                | AmhRaise(_)
        )
    })
}

fn is_poller(definition: &Definition) -> bool {
    definition.implied.is_some_and(|implied| implied.kind == ImpliedKind::AmiPoller)
}

/// Whether a definition makes an item in the module of the one around it.
fn has_item(cx: &Context<'_>, id: DefId) -> bool {
    !matches!(
        cx.model.get(id).kind,
        DefinitionKind::Operation(_)
            | DefinitionKind::Attribute(_)
            | DefinitionKind::Factory(_)
            | DefinitionKind::HomeFactory(_)
    )
}

fn allow() -> TokenStream {
    let lints = ALLOWED.iter().filter_map(|lint| lint.parse::<TokenStream>().ok());
    quote!(#[allow(#(#lints),*)])
}

/// The attribute before each of the items that can have one.
fn with_attribute(items: &TokenStream, attribute: &TokenStream) -> TokenStream {
    let Ok(file) = syn::parse2::<syn::File>(items.clone()) else {
        return items.clone();
    };
    let items = file.items.iter().map(|item| match item {
        // What a macro of the library makes needs no lint allowed.
        syn::Item::Macro(item) => quote!(#item),
        item => quote!(#attribute #item),
    });
    quote!(#(#items)*)
}

/// Whether the tokens name `word` anywhere.
fn mentions(tokens: &TokenStream, word: &str) -> bool {
    use proc_macro2::TokenTree;
    tokens.clone().into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => mentions(&group.stream(), word),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
