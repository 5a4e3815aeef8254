//! Asynchronous calls: reply handlers, pollers, and the operations that send.
//!
//! CORBA Messaging §22.7 (operations that send), §22.8 (handlers), §22.10 (pollers). Oneway
//! operations have no replies and imply nothing. `CORBA::WrongTransaction` is left out: there are
//! no transactions.

use std::collections::HashSet;

use super::super::Checker;
use super::super::scope::key;
use super::{Request, free, interface, operation, parameter};
use crate::model::{
    DefId, DefinitionKind, Direction, ImpliedKind, InterfaceKind, Operation, Type, ValueKind,
    ValueType,
};

impl Checker<'_> {
    pub(super) fn imply_ami(&mut self, interfaces: &[DefId]) {
        let (callback, poller) =
            (self.options.implied.ami_callback, self.options.implied.ami_poller);
        for &id in interfaces {
            if callback {
                let kind = interface(InterfaceKind::Unconstrained);
                self.add_beside(id, ("AMI_", "Handler"), ImpliedKind::AmiHandler, kind);
            }
            if poller {
                let kind = DefinitionKind::ValueType(ValueType::defined(ValueKind::Abstract));
                self.add_beside(id, ("AMI_", "Poller"), ImpliedKind::AmiPoller, kind);
            }
        }
        for &id in interfaces {
            let requests: Vec<Request> =
                self.requests(id).into_iter().filter(|r| !r.operation.oneway).collect();
            if callback {
                self.fill_handler(id, &requests);
            }
            if poller {
                self.fill_poller(id, &requests);
            }
            self.add_sends(id, &requests);
        }
    }

    fn fill_handler(&mut self, id: DefId, requests: &[Request]) {
        let Some(handler) = self.model.implied(id, ImpliedKind::AmiHandler) else { return };
        let Some(root) = self.messaging("ReplyHandler") else { return };
        let Some(holder) = self.messaging("ExceptionHolder") else { return };
        let mut bases = self.implied_bases(id, ImpliedKind::AmiHandler);
        if bases.is_empty() {
            bases.push(root);
        }
        if let DefinitionKind::Interface(x) = &mut self.model.get_mut(handler).kind {
            x.bases = bases;
        }
        let names = self.implied_names(handler, requests, "ami");
        let mut taken = self.names_of_operations(id);
        taken.extend(names.iter().map(|name| key(name)));
        for (request, name) in requests.iter().zip(&names) {
            let reply = operation(request.results("ami_return_val", Direction::In));
            let role = ImpliedKind::AmiReply;
            self.add_implied_operation(handler, request, name.clone(), role, reply);
        }
        for (request, name) in requests.iter().zip(&names) {
            let excep =
                operation(vec![parameter(Direction::In, &Type::Named(holder), "excep_holder")]);
            let name = free(name, "_ami", "_excep", &mut taken);
            self.add_implied_operation(handler, request, name, ImpliedKind::AmiExcep, excep);
        }
    }

    fn fill_poller(&mut self, id: DefId, requests: &[Request]) {
        let Some(poller) = self.model.implied(id, ImpliedKind::AmiPoller) else { return };
        let Some(root) = self.messaging("Poller") else { return };
        let mut bases = self.implied_bases(id, ImpliedKind::AmiPoller);
        if bases.is_empty() {
            bases.push(root);
        }
        if let DefinitionKind::ValueType(x) = &mut self.model.get_mut(poller).kind {
            x.bases = bases;
        }
        let names = self.implied_names(poller, requests, "ami");
        for (request, name) in requests.iter().zip(names) {
            let mut parameters = vec![parameter(Direction::In, &Type::ULong, "ami_timeout")];
            parameters.extend(request.results("ami_return_val", Direction::Out));
            let raises = request.operation.raises.clone();
            let poll = Operation { raises, ..operation(parameters) };
            self.add_implied_operation(poller, request, name, ImpliedKind::AmiPoll, poll);
        }
    }

    /// `sendc_` and `sendp_` operations of the interface itself.
    fn add_sends(&mut self, id: DefId, requests: &[Request]) {
        let mut taken: HashSet<String> = self.names_of_operations(id);
        let handler = self.model.implied(id, ImpliedKind::AmiHandler);
        let poller = self.model.implied(id, ImpliedKind::AmiPoller);
        for request in requests {
            let contexts = || request.operation.contexts.clone();
            if let Some(handler) = handler {
                let mut parameters =
                    vec![parameter(Direction::In, &Type::Named(handler), "ami_handler")];
                parameters.extend(request.sent());
                let sendc = Operation { contexts: contexts(), ..operation(parameters) };
                let name = free("sendc_", "ami_", &request.name, &mut taken);
                self.add_implied_operation(id, request, name, ImpliedKind::AmiSendc, sendc);
            }
            if let Some(poller) = poller {
                let result = Type::Named(poller);
                let sendp = Operation { result, contexts: contexts(), ..operation(request.sent()) };
                let name = free("sendp_", "ami_", &request.name, &mut taken);
                self.add_implied_operation(id, request, name, ImpliedKind::AmiSendp, sendp);
            }
        }
    }
}
