//! [`Call`]: an operation, or reading or writing an attribute, as a Rust method.
//!
//! Used by stubs, servants, skeletons, local interfaces and valuetypes, so that all agree on names,
//! parameters, results and errors. Results are a tuple: return value, `inout` and then `out`
//! parameters; on the wire the parameters are in the order of the IDL (CORBA 3.3 P2 §9.4.2.2).

use corbie_frontend::model::{Attribute, Direction, Operation};
use corbie_frontend::{DefId, Definition, DefinitionKind, Type};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};

use crate::context::Scope;
use crate::docs::{docs, docs_with};
use crate::locals::local;
use crate::names::Implied;
use crate::rust_name::{Case, ident};

/// A parameter of a [`Call`].
pub(crate) struct Passed {
    /// Its Rust name.
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) direction: Direction,
}

/// One Rust method that makes or serves a request.
pub(crate) struct Call<'m> {
    /// The operation or attribute.
    pub(crate) definition: &'m Definition,
    /// Name of the method.
    pub(crate) method: Ident,
    /// Name of the method of the servant: another one where a reference has two of the same name.
    pub(crate) on_servant: Ident,
    /// Name on the wire.
    pub(crate) wire_name: String,
    pub(crate) oneway: bool,
    /// `Type::Void` for none.
    pub(crate) result: Type,
    pub(crate) parameters: Vec<Passed>,
    /// User exceptions.
    pub(crate) raises: Vec<DefId>,
    /// Which error enum the method has; `None`: it has `SystemException`.
    pub(crate) error: Option<Implied>,
    /// Names of the `context (…)` clause.
    pub(crate) contexts: Vec<String>,
}

/// What a call gives back, in the order of the wire.
pub(crate) struct Output {
    /// A local variable for it.
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    direction: Option<Direction>,
}

impl Call<'_> {
    /// Parameters that the client sends, in order.
    pub(crate) fn sent(&self) -> impl Iterator<Item = &Passed> {
        self.parameters.iter().filter(|p| p.direction != Direction::Out)
    }

    /// Names of the parameters that the method has.
    pub(crate) fn sent_names(&self) -> Vec<Ident> {
        let context = (!self.contexts.is_empty()).then(|| self.context_name());
        self.sent().map(|p| p.name.clone()).chain(context).collect()
    }

    /// The parameter for the context, where the operation has one.
    pub(crate) fn context_name(&self) -> Ident {
        let names: Vec<Ident> = self.parameters.iter().map(|p| p.name.clone()).collect();
        local("context", &names)
    }

    /// Results as they are on the wire.
    pub(crate) fn outputs(&self) -> Vec<Output> {
        let names: Vec<Ident> = self.parameters.iter().map(|p| p.name.clone()).collect();
        let result = (self.result != Type::Void).then(|| Output {
            name: local("result", &names),
            ty: self.result.clone(),
            direction: None,
        });
        let parameters = self.parameters.iter().filter(|p| p.direction != Direction::In);
        let parameters = parameters.map(|p| Output {
            name: p.name.clone(),
            ty: p.ty.clone(),
            direction: Some(p.direction),
        });
        result.into_iter().chain(parameters).collect()
    }

    /// Results as the method returns them: return value, `inout`, `out`.
    pub(crate) fn returned(&self) -> Vec<Output> {
        let mut outputs = self.outputs();
        outputs.sort_by_key(|output| match output.direction {
            None => 0,
            Some(Direction::In | Direction::InOut) => 1,
            Some(Direction::Out) => 2,
        });
        outputs
    }
}

/// The results of a call: as they are on the wire, and as its method returns them.
pub(crate) struct CallResults {
    /// What the library takes for the types: `(i32, String)`.
    pub(crate) marker: TokenStream,
    /// A pattern, or value, of the results in the order of the wire.
    wire: TokenStream,
    /// The same as the method returns it.
    method: TokenStream,
    /// Whether the two are one.
    same: bool,
}

impl CallResults {
    /// Turns what the library returns into what the method returns.
    pub(crate) fn returned(&self) -> Option<TokenStream> {
        let (wire, method) = (&self.wire, &self.method);
        (!self.same).then(|| quote!(.map(|#wire| #method)))
    }

    /// Turns what a servant returns into what the library takes.
    pub(crate) fn sent(&self) -> Option<TokenStream> {
        let (wire, method) = (&self.wire, &self.method);
        (!self.same).then(|| quote!(.map(|#method| #wire)))
    }
}

impl Call<'_> {
    /// The results, with their markers.
    pub(crate) fn results(&self, scope: &Scope<'_, '_>) -> CallResults {
        /// The largest tuple that `corbie_core::stubs` has.
        const MOST: usize = 8;
        let (outputs, orb) = (self.outputs(), scope.orb());
        let mut parts = outputs.chunks(MOST).rev().map(|part| {
            let markers: Vec<TokenStream> = part.iter().map(|o| scope.marker(&o.ty)).collect();
            let names: Vec<TokenStream> = part.iter().map(|o| o.name.to_token_stream()).collect();
            let marker = match markers.as_slice() {
                [only] => quote!((#only,)),
                all => quote!((#(#all),*)),
            };
            (marker, tuple(&names))
        });
        let (mut marker, mut wire) = parts.next().unwrap_or_else(|| (quote!(()), quote!(())));
        for (before, names) in parts {
            marker = quote!(#orb::Both<#before, #marker>);
            wire = quote!((#names, #wire));
        }
        let returned = self.returned();
        let names: Vec<TokenStream> = returned.iter().map(|o| o.name.to_token_stream()).collect();
        let in_order = outputs.iter().zip(&returned).all(|(a, b)| a.name == b.name);
        let same = in_order && outputs.len() <= MOST;
        CallResults { marker, wire, method: tuple(&names), same }
    }

    /// The IDL comment, and what the results are where types alone do not say it.
    pub(crate) fn docs(&self) -> TokenStream {
        let comment = &self.definition.docs;
        let names: Vec<String> = self.returned().iter().map(|o| format!("{}", o.name)).collect();
        match names.as_slice() {
            [] => docs(comment),
            [_] if self.result != Type::Void => docs(comment),
            [only] => docs_with(comment, &format!("Returns `{only}`.")),
            names => docs_with(comment, &format!("Returns `({})`.", names.join(", "))),
        }
    }
}

/// `()`, the only one, or a tuple.
pub(crate) fn tuple(parts: &[TokenStream]) -> TokenStream {
    match parts {
        [only] => quote!(#only),
        parts => quote!((#(#parts),*)),
    }
}

impl<'m> Scope<'_, 'm> {
    /// The methods for an operation or attribute; none for other definitions.
    pub(crate) fn calls(&self, definition: &'m Definition) -> Vec<Call<'m>> {
        match &definition.kind {
            DefinitionKind::Operation(x) => vec![self.call_of_operation(definition, x)],
            DefinitionKind::Attribute(x) => self.calls_of_attribute(definition, x),
            _ => Vec::new(),
        }
    }

    fn call_of_operation(&self, definition: &'m Definition, x: &Operation) -> Call<'m> {
        let parameters = x.parameters.iter().map(|p| Passed {
            name: self.member(definition, &p.name, Case::Snake),
            ty: p.ty.clone(),
            direction: p.direction,
        });
        let raises = self.exceptions(&x.raises);
        Call {
            definition,
            method: ident(self.cx.names.name(definition.id)),
            on_servant: ident(self.cx.names.name(definition.id)),
            wire_name: definition.name.clone(),
            oneway: x.oneway,
            result: x.result.clone(),
            parameters: parameters.collect(),
            error: (!raises.is_empty()).then_some(Implied::Error),
            raises,
            contexts: x.contexts.clone(),
        }
    }

    fn calls_of_attribute(&self, definition: &'m Definition, x: &Attribute) -> Vec<Call<'m>> {
        let raises = self.exceptions(&x.get_raises);
        let get = Call {
            definition,
            method: ident(self.cx.names.name(definition.id)),
            on_servant: ident(self.cx.names.name(definition.id)),
            wire_name: format!("_get_{}", definition.name),
            oneway: false,
            result: x.ty.clone(),
            parameters: Vec::new(),
            error: (!raises.is_empty()).then_some(Implied::Error),
            raises,
            contexts: Vec::new(),
        };
        if x.readonly {
            return vec![get];
        }
        let raises = self.exceptions(&x.set_raises);
        let value =
            Passed { name: format_ident!("value"), ty: x.ty.clone(), direction: Direction::In };
        let set = Call {
            definition,
            method: ident(self.cx.names.setter(definition.id)),
            on_servant: ident(self.cx.names.setter(definition.id)),
            wire_name: format!("_set_{}", definition.name),
            oneway: false,
            result: Type::Void,
            parameters: vec![value],
            error: (!raises.is_empty()).then_some(Implied::SetError),
            raises,
            contexts: Vec::new(),
        };
        vec![get, set]
    }

    /// The raised definitions that are exceptions: a native one cannot be put into an error enum.
    fn exceptions(&self, raises: &[DefId]) -> Vec<DefId> {
        let is_exception =
            |id: &DefId| matches!(self.model().get(*id).kind, DefinitionKind::Exception(_));
        raises.iter().copied().filter(is_exception).collect()
    }

    /// The path of the method's error type.
    pub(crate) fn error_type(&self, call: &Call<'_>) -> TokenStream {
        match call.error {
            Some(which) => self.implied(call.definition.id, which),
            None => {
                let orb = self.orb();
                quote!(#orb::SystemException)
            }
        }
    }

    /// `, stock_name: &str`
    pub(crate) fn parameter_list(&self, call: &Call<'_>) -> TokenStream {
        let names = call.sent().map(|p| &p.name);
        let types = call.sent().map(|p| self.parameter(&p.ty));
        let context = (!call.contexts.is_empty()).then(|| {
            let (name, string) = (call.context_name(), self.std("String"));
            quote!(, #name: &[(#string, #string)])
        });
        quote!(#(, #names: #types)* #context)
    }

    /// `Result<i32, GetQuoteError>`
    pub(crate) fn result_of(&self, call: &Call<'_>) -> TokenStream {
        let types: Vec<TokenStream> = call.returned().iter().map(|o| self.value(&o.ty)).collect();
        self.result(&tuple(&types), &self.error_type(call))
    }

    /// `fn get_quote(&self, stock_name: &str) -> Result<i32, GetQuoteError>`
    pub(crate) fn signature(&self, call: &Call<'_>) -> TokenStream {
        self.signature_named(call, &call.method)
    }

    /// As [`Scope::signature`], with another name for the method.
    pub(crate) fn signature_named(&self, call: &Call<'_>, method: &Ident) -> TokenStream {
        let (parameters, result) = (self.parameter_list(call), self.result_of(call));
        quote!(fn #method(&self #parameters) -> #result)
    }
}
