//! Operations, attributes, parameters, raised exceptions, contexts.
//!
//! IDL 4.2 §7.4.3.4.3.3 (operations), §7.4.3.4.3.4 (attributes), §7.4.6.4.4 (oneway), §7.4.6.4.5
//! (context), §7.4.6.4.7 (local types).

use std::rc::Rc;

use super::scope::{Scope, ScopeId, Target};
use super::{Checker, Head, Progress};
use crate::diagnostic::{Code, Report};
use crate::model::{
    Attribute, DefId, DefinitionKind, Direction, Factory, InterfaceKind, Operation, Parameter, Type,
};
use crate::source::Span;
use crate::syntax::{
    AttributeSyntax, Name, OperationSyntax, ParameterSyntax, ScopedName, TypeKind, TypeUse,
};

impl Checker<'_> {
    pub(super) fn operation(&mut self, syntax: &OperationSyntax, head: Head<'_>, scope: ScopeId) {
        self.check_named(&syntax.result);
        syntax.parameters.iter().for_each(|parameter| self.check_named(&parameter.ty));
        let result = self.type_of(&syntax.result, scope);
        let parameters = self.parameters(&syntax.parameters, scope);
        let raises = self.raised(&syntax.raises, scope);
        if syntax.oneway {
            self.check_oneway(syntax);
        }
        let types = parameters.as_ref().map(|all| all.iter().map(|p| (&p.ty, p.span)));
        for (ty, span) in
            types.into_iter().flatten().chain(result.iter().map(|t| (t, syntax.result.span)))
        {
            self.require_complete_inside(ty, span);
            self.check_local(ty, span, scope);
        }
        for (text, span) in &syntax.contexts {
            self.check_context(text, *span);
        }
        self.check_inherited(scope, &syntax.name);
        let (Some(result), Some(parameters)) = (result, parameters) else {
            self.poison(scope, &syntax.name);
            return;
        };
        let contexts = syntax.contexts.iter().map(|(text, _)| text.to_string()).collect();
        let operation = Operation { oneway: syntax.oneway, result, parameters, raises, contexts };
        let kind = DefinitionKind::Operation(operation);
        self.define(&syntax.name, kind, head, scope, Progress::Complete);
    }

    /// IDL 4.2 §7.4.3.4.3.3: sequences have a name where operations take them.
    pub(super) fn check_named(&mut self, ty: &TypeUse) {
        if !matches!(ty.kind, TypeKind::Sequence { .. }) {
            return;
        }
        let message = "an operation cannot take or return a sequence without a name";
        let hint = "give it a name: `typedef … Name;`, and use that";
        self.report(Code::AnonymousType, ty.span, message, hint);
    }

    /// The parameters, unless one of them is faulty.
    pub(super) fn parameters(
        &mut self,
        all: &[ParameterSyntax],
        scope: ScopeId,
    ) -> Option<Vec<Parameter>> {
        let owner = self.owner(scope);
        // An operation is a scope of its own: its parameters may be named like anything outside.
        let inner = self.add_scope(Scope::new(owner, Some(scope), "".into(), false));
        let mut found = Some(Vec::new());
        for syntax in all {
            let ty = self.type_of(&syntax.ty, inner);
            let annotations = self.annotations(&syntax.annotations, scope);
            self.declare(inner, &syntax.name, Target::Member);
            let parameter = ty.map(|ty| Parameter {
                direction: syntax.direction,
                ty,
                name: syntax.name.text.to_string(),
                annotations,
                span: syntax.name.span,
            });
            found = match (found, parameter) {
                (Some(mut found), Some(parameter)) => {
                    found.push(parameter);
                    Some(found)
                }
                _ => None,
            };
        }
        // The names of parameters are of no further use, and operations are many.
        let used = std::mem::take(&mut self.scopes[inner.0].used);
        if self.scopes.len() == inner.0 + 1 {
            self.scopes.pop();
        }
        drop(used);
        found
    }

    /// The exceptions of a `raises` clause, each once.
    pub(super) fn raised(&mut self, names: &[ScopedName], scope: ScopeId) -> Vec<DefId> {
        let mut all = Vec::new();
        for name in names {
            let wanted = |kind: &DefinitionKind| {
                matches!(kind, DefinitionKind::Exception(_) | DefinitionKind::Native(_))
            };
            let Some(id) = self.resolve_kind(scope, name, "an exception", wanted) else { continue };
            if !all.contains(&id) {
                all.push(id);
            }
        }
        all
    }

    /// IDL 4.2 §7.4.6.4.4: nothing can come back from a oneway operation.
    fn check_oneway(&mut self, syntax: &OperationSyntax) {
        let mut problems: Vec<(Span, &str)> = Vec::new();
        if !matches!(syntax.result.kind, TypeKind::Basic(Type::Void)) {
            problems.push((syntax.result.span, "a oneway operation cannot have a result"));
        }
        for parameter in syntax.parameters.iter().filter(|p| p.direction != Direction::In) {
            problems.push((parameter.span, "a oneway operation has only `in` parameters"));
        }
        if let Some(raised) = syntax.raises.first() {
            problems.push((raised.span, "a oneway operation cannot raise exceptions"));
        }
        for (span, message) in problems {
            self.report(
                Code::OnewayRules,
                span,
                message,
                "nothing comes back: remove it, or `oneway`",
            );
        }
    }

    /// Values of local interfaces never leave the process.
    fn check_local(&mut self, ty: &Type, span: Span, scope: ScopeId) {
        let Some(owner) = self.owner(scope) else { return };
        let remote = match &self.model.get(owner).kind {
            DefinitionKind::Interface(x) => x.kind == InterfaceKind::Unconstrained,
            _ => false,
        };
        if !remote || !self.has_local_interface(ty) {
            return;
        }
        let message = format!("a local type cannot be used by {}", self.describe(owner));
        let hint = "make the interface local, or pass something that can be sent";
        self.report(Code::LocalType, span, message, hint);
    }

    /// Whether a type is a local interface, or an alias, sequence or array of one.
    fn has_local_interface(&self, ty: &Type) -> bool {
        let mut at = ty.innermost();
        for _ in 0..=self.model.len() {
            let Some(id) = at.named() else { return false };
            match &self.model.get(id).kind {
                DefinitionKind::Interface(x) => return x.kind == InterfaceKind::Local,
                DefinitionKind::Typedef(x) => at = x.ty.innermost(),
                _ => return false,
            }
        }
        false
    }

    /// IDL 4.2 §7.4.6.4.5: letters, digits, `.`, `_`; a `*` may end it.
    fn check_context(&mut self, text: &Rc<str>, span: Span) {
        let name = text.strip_suffix('*').unwrap_or(text);
        let valid = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
        if !valid {
            let message = format!("`{}` is not the name of a context", text.escape_debug());
            let hint =
                "context names are letters, digits, `.` and `_`, perhaps with `*` at the end";
            self.report(Code::BadContext, span, message, hint);
        }
    }

    pub(super) fn attribute(&mut self, syntax: &AttributeSyntax, head: Head<'_>, scope: ScopeId) {
        self.check_named(&syntax.ty);
        let ty = self.type_of(&syntax.ty, scope);
        let get_raises = self.raised(&syntax.get_raises, scope);
        let set_raises = self.raised(&syntax.set_raises, scope);
        if let Some(ty) = &ty {
            self.require_complete_inside(ty, syntax.ty.span);
            self.check_local(ty, syntax.ty.span, scope);
        }
        for name in &syntax.names {
            self.check_inherited(scope, name);
            let Some(ty) = ty.clone() else {
                self.poison(scope, name);
                continue;
            };
            let attribute = Attribute {
                readonly: syntax.readonly,
                ty,
                get_raises: get_raises.clone(),
                set_raises: set_raises.clone(),
            };
            let kind = DefinitionKind::Attribute(attribute);
            self.define(name, kind, head, scope, Progress::Complete);
        }
    }

    /// A `factory` of a valuetype.
    pub(super) fn factory(
        &mut self,
        name: &Name,
        parameters: &[ParameterSyntax],
        raises: &[ScopedName],
        head: Head<'_>,
        scope: ScopeId,
    ) {
        self.check_factory_parameters(parameters);
        let owner = self.owner(scope).map(|id| &self.model.get(id).kind);
        if let Some(DefinitionKind::ValueType(x)) = owner
            && x.kind == crate::model::ValueKind::Abstract
        {
            let message = "an abstract valuetype has no factories";
            self.report(Code::ValueRules, name.span, message, "remove it, or `abstract`");
        }
        let parameters = self.parameters(parameters, scope);
        let raises = self.raised(raises, scope);
        match parameters {
            Some(parameters) => {
                let kind = DefinitionKind::Factory(Factory { parameters, raises });
                self.define(name, kind, head, scope, Progress::Complete);
            }
            None => self.poison(scope, name),
        }
    }

    pub(super) fn check_factory_parameters(&mut self, parameters: &[ParameterSyntax]) {
        for parameter in parameters.iter().filter(|p| p.direction != Direction::In) {
            let report = Report::new(
                Code::FactoryParameter,
                parameter.span,
                "factories and finders have only `in` parameters",
            );
            self.diagnostics.report(report.hint("write `in`"));
        }
    }
}
