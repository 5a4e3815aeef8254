//! Asynchronous method handling: the servant, response handler and exception holder of AMH.
//!
//! Rules of paper AMH §2; what it leaves open: attributes are `get_x` and `set_x`, as in AMI; a
//! oneway operation has no response; the exception holder has no bases (a valuetype cannot inherit
//! from several others with state), nor needs them. Names are freed as for AMI.

use std::collections::HashSet;

use super::super::Checker;
use super::super::scope::key;
use super::{Request, free, implies, interface, operation, parameter};
use crate::diagnostic::{Code, Report};
use crate::model::{
    DefId, Definition, DefinitionKind, Direction, ImpliedKind, InterfaceKind, Operation, Type,
    ValueKind, ValueType,
};

impl Checker<'_> {
    pub(super) fn imply_amh(&mut self, interfaces: &[DefId]) {
        self.check_amh_operations();
        let all = interfaces.iter().copied();
        let chosen: Vec<DefId> = all.filter(|&id| self.has_amh(id)).collect();
        for &id in &chosen {
            let local = || interface(InterfaceKind::Local);
            let value = DefinitionKind::ValueType(ValueType::defined(ValueKind::Regular));
            let holder = ("AMH_", "ExceptionHolder");
            self.add_beside(id, ("AMH_", ""), ImpliedKind::AmhServant, local());
            let handler = ("AMH_", "ResponseHandler");
            self.add_beside(id, handler, ImpliedKind::AmhResponseHandler, local());
            self.add_beside(id, holder, ImpliedKind::AmhExceptionHolder, value);
        }
        for &id in &chosen {
            let requests = self.requests(id);
            self.fill_amh_servant(id, &requests);
            self.fill_response_handler(id, &requests);
            self.fill_exception_holder(id, &requests);
        }
    }

    /// The interfaces and operations named in the options must be there.
    fn check_amh_operations(&mut self) {
        for (interface, operations) in &self.options.implied.amh_operations {
            let found = self.model.find(interface).filter(|d| implies(d));
            let (message, span) = match found {
                None => (format!("there is no interface `{interface}` that is not local"), None),
                Some(found) => {
                    let has = |name: &String| {
                        let own = found.children().iter().map(|&id| self.model.get(id));
                        own.into_iter().any(|d| d.name == *name && is_operation(d))
                    };
                    let Some(missing) = operations.iter().find(|name| !has(name)) else { continue };
                    let message = format!("`{interface}` itself declares no operation `{missing}`");
                    (message, Some(found.span))
                }
            };
            let report = Report::new(Code::UnknownOperation, span.unwrap_or_default(), message);
            let hint = "the options name it as one to be answered asynchronously (AMH)";
            self.diagnostics.report(report.hint(hint));
        }
    }

    fn has_amh(&self, id: DefId) -> bool {
        self.options.implied.amh || self.amh_choices(id).next().is_some()
    }

    /// Lists of operations that the options name for the interface.
    fn amh_choices(&self, id: DefId) -> impl Iterator<Item = &[String]> {
        let name = &self.model.get(id).scoped_name;
        let all = self.options.implied.amh_operations.iter();
        let chosen = all.filter(move |(x, _)| x.strip_prefix("::").unwrap_or(x) == name);
        chosen.map(|(_, operations)| operations.as_slice())
    }

    /// Whether the request is answered through a response handler.
    fn is_deferred(&self, id: DefId, request: &Request) -> bool {
        let name = &self.model.get(request.origin).name;
        let mut choices = self.amh_choices(id).peekable();
        let all = choices.peek().is_none();
        !request.operation.oneway && (all || choices.any(|chosen| chosen.contains(name)))
    }

    fn fill_amh_servant(&mut self, id: DefId, requests: &[Request]) {
        let Some(servant) = self.model.implied(id, ImpliedKind::AmhServant) else { return };
        let Some(handler) = self.model.implied(id, ImpliedKind::AmhResponseHandler) else { return };
        // A base without an asynchronous form is served as it is.
        let bases = self.model.direct_bases(id).iter();
        let bases = bases.map(|&x| self.model.implied(x, ImpliedKind::AmhServant).unwrap_or(x));
        let bases: Vec<DefId> = bases.collect();
        if let DefinitionKind::Interface(x) = &mut self.model.get_mut(servant).kind {
            x.bases = bases;
        }
        let names = self.implied_names(servant, requests, "amh");
        for (request, name) in requests.iter().zip(names) {
            let role = ImpliedKind::AmhOperation;
            let implied = if self.is_deferred(id, request) {
                let mut parameters =
                    vec![parameter(Direction::In, &Type::Named(handler), "handler")];
                parameters.extend(request.sent());
                let contexts = request.operation.contexts.clone();
                Operation { contexts, ..operation(parameters) }
            } else {
                request.operation.clone()
            };
            self.add_implied_operation(servant, request, name, role, implied);
        }
    }

    fn fill_response_handler(&mut self, id: DefId, requests: &[Request]) {
        let Some(handler) = self.model.implied(id, ImpliedKind::AmhResponseHandler) else { return };
        let Some(holder) = self.model.implied(id, ImpliedKind::AmhExceptionHolder) else { return };
        let bases = self.implied_bases(id, ImpliedKind::AmhResponseHandler);
        if let DefinitionKind::Interface(x) = &mut self.model.get_mut(handler).kind {
            x.bases = bases;
        }
        let all = requests.iter().cloned();
        let deferred: Vec<Request> = all.filter(|request| self.is_deferred(id, request)).collect();
        let names = self.implied_names(handler, &deferred, "amh");
        let mut taken = self.names_of_operations(id);
        taken.extend(names.iter().map(|name| key(name)));
        for (request, name) in deferred.iter().zip(&names) {
            let reply = operation(request.results("return_value", Direction::In));
            let role = ImpliedKind::AmhReply;
            self.add_implied_operation(handler, request, name.clone(), role, reply);
        }
        for (request, name) in deferred.iter().zip(&names) {
            let holder = parameter(Direction::In, &Type::Named(holder), "holder");
            let name = free(name, "_amh", "_excep", &mut taken);
            let excep = operation(vec![holder]);
            self.add_implied_operation(handler, request, name, ImpliedKind::AmhExcep, excep);
        }
    }

    fn fill_exception_holder(&mut self, id: DefId, requests: &[Request]) {
        let Some(holder) = self.model.implied(id, ImpliedKind::AmhExceptionHolder) else { return };
        let mut taken = HashSet::new();
        for request in requests {
            if !self.is_deferred(id, request) {
                continue;
            }
            let raises = request.operation.raises.clone();
            let raise = Operation { raises, ..operation(Vec::new()) };
            let name = free("raise_", "amh_", &request.name, &mut taken);
            self.add_implied_operation(holder, request, name, ImpliedKind::AmhRaise, raise);
        }
    }
}

fn is_operation(definition: &Definition) -> bool {
    matches!(definition.kind, DefinitionKind::Operation(_) | DefinitionKind::Attribute(_))
}
