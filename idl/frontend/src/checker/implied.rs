//! Implied IDL: definitions added for each interface once all of the text is checked.
//!
//! First every interface gets its implied types, so that any may refer to any; then they are
//! filled, by `ami` and `amh`. Everything is built from checked definitions; names are never looked
//! up. CORBA Messaging §22.7-22.10, paper AMH §2.

mod amh;
mod ami;

use std::collections::HashSet;

use super::repository::Identity;
use super::scope::{Entry, ScopeId, Target, key};
use super::{Checker, Progress};
use crate::diagnostic::{Code, Report};
use crate::model::{
    Access, DefId, Definition, DefinitionKind, Direction, Implied, ImpliedKind, Interface,
    InterfaceKind, Operation, Parameter, Type,
};

/// An operation, or reading or writing an attribute.
#[derive(Clone)]
struct Request {
    origin: DefId,
    access: Access,
    /// `get_quote`, `get_price`, `set_price`: the stem of implied names.
    name: String,
    operation: Operation,
}

impl Request {
    /// Parameters that travel so, as `in` parameters (or `out` ones) of an implied operation.
    fn passed(&self, travels: [Direction; 2], direction: Direction) -> Vec<Parameter> {
        let chosen = self.operation.parameters.iter().filter(|p| travels.contains(&p.direction));
        chosen.map(|p| Parameter { direction, ..p.clone() }).collect()
    }

    /// What the client sends.
    fn sent(&self) -> Vec<Parameter> {
        self.passed([Direction::In, Direction::InOut], Direction::In)
    }

    /// What comes back: the result under the name given, then `inout` and `out` parameters in
    /// order.
    fn results(&self, result: &str, direction: Direction) -> Vec<Parameter> {
        let mut results = Vec::new();
        if self.operation.result != Type::Void {
            results.push(parameter(direction, &self.operation.result, result));
        }
        results.extend(self.passed([Direction::Out, Direction::InOut], direction));
        results
    }
}

fn parameter(direction: Direction, ty: &Type, name: &str) -> Parameter {
    let (annotations, span) = (Vec::new(), crate::Span::default());
    Parameter { direction, ty: ty.clone(), name: name.to_owned(), annotations, span }
}

fn operation(parameters: Vec<Parameter>) -> Operation {
    let (raises, contexts) = (Vec::new(), Vec::new());
    Operation { oneway: false, result: Type::Void, parameters, raises, contexts }
}

/// The name with `insert` put between the parts as often as it takes to be free; then it is taken.
fn free(front: &str, insert: &str, back: &str, taken: &mut HashSet<String>) -> String {
    let mut name = format!("{front}{back}");
    let mut between = String::new();
    while !taken.insert(key(&name)) {
        between.push_str(insert);
        name = format!("{front}{between}{back}");
    }
    name
}

impl Checker<'_> {
    /// Adds what the options ask for. A faulty text implies nothing: no code is made of it.
    pub(super) fn imply(&mut self) {
        if !self.options.implied.any() || self.diagnostics.has_errors() {
            return;
        }
        let all = self.model.iter();
        let mut interfaces: Vec<DefId> = all.filter(|d| implies(d)).map(|d| d.id).collect();
        // Bases first: one that was declared before them may come after what derives from it.
        interfaces.sort_by_cached_key(|&id| self.model.all_bases(id).len());
        self.imply_ami(&interfaces);
        self.imply_amh(&interfaces);
    }

    /// Adds a type beside the interface that implies it; its name gets more of the leading part
    /// (`AMI_`) if it is taken.
    fn add_beside(
        &mut self,
        interface: DefId,
        (front, back): (&str, &str),
        role: ImpliedKind,
        kind: DefinitionKind,
    ) -> DefId {
        let origin = self.model.get(interface);
        let (parent, span) = (origin.parent, origin.span);
        let scope = parent.and_then(|p| self.scope_of.get(&p).copied()).unwrap_or(ScopeId::ROOT);
        let entries = &self.scopes[scope.0].entries;
        let mut name = format!("{front}{}{back}", origin.name);
        while entries.contains_key(&key(&name)) {
            name.insert_str(0, front);
        }
        let docs = format!("Implied by {} `{}`.", origin.kind.word(), origin.scoped_name);
        let entry_name = std::rc::Rc::<str>::from(name.as_str());
        // After what the interface implied before, so that the order is that of creation.
        let after = self.last_implied(interface);
        let made = self.implied_definition(interface, parent, name, docs, role, kind);
        let id = self.model.add_behind(after, |id| Definition { id, ..made });
        let entry = Entry {
            name: entry_name.clone(),
            span,
            target: Target::Definition(id),
            again: Vec::new(),
        };
        let key = self.key(&entry_name);
        self.scopes[scope.0].entries.insert(key, entry);
        id
    }

    /// Adds an operation to an implied type, or to the `sends` of an interface.
    fn add_implied_operation(
        &mut self,
        owner: DefId,
        request: &Request,
        name: String,
        role: fn(Access) -> ImpliedKind,
        operation: Operation,
    ) {
        let docs = self.model.get(request.origin).docs.clone();
        let role = role(request.access);
        let kind = DefinitionKind::Operation(operation);
        let made = self.implied_definition(request.origin, Some(owner), name, docs, role, kind);
        let id = self.model.add(|id| Definition { id, ..made });
        let is_send = matches!(role, ImpliedKind::AmiSendc(_) | ImpliedKind::AmiSendp(_));
        match &mut self.model.get_mut(owner).kind {
            DefinitionKind::Interface(x) if is_send => x.sends.push(id),
            kind => kind.add_child(id),
        }
        self.model.remember_implied(id);
    }

    fn implied_definition(
        &mut self,
        origin: DefId,
        parent: Option<DefId>,
        name: String,
        docs: String,
        kind: ImpliedKind,
        definition: DefinitionKind,
    ) -> Definition {
        let scoped_name = match parent {
            Some(parent) => format!("{}::{name}", self.model.get(parent).scoped_name),
            None => name.clone(),
        };
        // As if it stood in the text beside its origin: under the same prefix.
        let identity = Identity::new(self.identities[origin.index()].prefix().clone());
        let repository_id = identity.repository_id(&scoped_name);
        self.identities.push(identity);
        self.progress.push(Progress::Complete);
        let from = self.model.get(origin);
        Definition {
            id: origin,
            name,
            scoped_name,
            parent,
            repository_id,
            docs,
            annotations: Vec::new(),
            span: from.span,
            position: from.position.clone(),
            in_main_file: from.in_main_file,
            implied: Some(Implied { kind, origin }),
            kind: definition,
        }
    }

    /// The interface itself, or the type that it has implied last.
    fn last_implied(&self, interface: DefId) -> DefId {
        use ImpliedKind::{
            AmhExceptionHolder, AmhResponseHandler, AmhServant, AmiHandler, AmiPoller,
        };
        [AmhExceptionHolder, AmhResponseHandler, AmhServant, AmiPoller, AmiHandler]
            .iter()
            .find_map(|&kind| self.model.implied(interface, kind))
            .unwrap_or(interface)
    }

    /// Own operations of an interface, attributes as one or two requests, in order.
    fn requests(&self, interface: DefId) -> Vec<Request> {
        let mut requests = Vec::new();
        for &origin in self.model.get(interface).children() {
            let definition = self.model.get(origin);
            let name = &definition.name;
            let mut add = |access, name: String, operation| {
                requests.push(Request { origin, access, name, operation });
            };
            match &definition.kind {
                DefinitionKind::Operation(x) => add(Access::Call, name.clone(), x.clone()),
                DefinitionKind::Attribute(x) => {
                    let (result, raises) = (x.ty.clone(), x.get_raises.clone());
                    let get = Operation { result, raises, ..operation(Vec::new()) };
                    add(Access::Get, format!("get_{name}"), get);
                    if !x.readonly {
                        let value = parameter(Direction::In, &x.ty, &format!("attr_{name}"));
                        let raises = x.set_raises.clone();
                        let set = Operation { raises, ..operation(vec![value]) };
                        add(Access::Set, format!("set_{name}"), set);
                    }
                }
                _ => {}
            }
        }
        requests
    }

    /// Names of the operations and attributes of an interface and its bases, as keys.
    fn names_of_operations(&self, interface: DefId) -> HashSet<String> {
        let all = self.model.all_operations(interface);
        all.iter().map(|&id| key(&self.model.get(id).name)).collect()
    }

    /// What the bases of an interface have implied in this role.
    fn implied_bases(&self, interface: DefId, role: ImpliedKind) -> Vec<DefId> {
        let bases = self.model.direct_bases(interface);
        bases.iter().filter_map(|&base| self.model.implied(base, role)).collect()
    }

    /// A type of module Messaging, which is read if the text lacks it.
    fn messaging(&mut self, name: &str) -> Option<DefId> {
        let scoped = format!("Messaging::{name}");
        if self.model.find(&scoped).is_none() && !self.standard.contains("Messaging") {
            self.standard.insert("Messaging".into());
            if let Some(text) = crate::standard::file(crate::standard::MESSAGING) {
                self.read_standard(crate::standard::MESSAGING, text.to_owned());
            }
        }
        let found = self.model.find(&scoped)?;
        if found.is_messaging() {
            return Some(found.id);
        }
        let message = format!("`{scoped}` is not what CORBA means by that name");
        let report = Report::new(Code::ImpliedClash, found.span, message);
        let hint = "asynchronous calls need the Messaging module of CORBA: rename yours";
        self.diagnostics.report(report.hint(hint));
        None
    }

    /// Names for the operations of an implied type, one for each request: those of the requests,
    /// unless an inherited one, or an operation beside an attribute, has the name. The
    /// specification says nothing about these; what is inserted is as for its other clashes.
    fn implied_names(&self, implied: DefId, requests: &[Request], word: &str) -> Vec<String> {
        let inherited: HashSet<String> = self
            .model
            .all_operations(implied)
            .iter()
            .map(|&id| key(&self.model.get(id).name))
            .collect();
        let calls = requests.iter().filter(|request| request.access == Access::Call);
        let mut taken: HashSet<String> =
            calls.map(|request| key(&request.name)).chain(inherited.iter().cloned()).collect();
        let name = |request: &Request| match request.access {
            Access::Call if !inherited.contains(&key(&request.name)) => request.name.clone(),
            Access::Call => free(&request.name, &format!("_{word}"), "", &mut taken),
            Access::Get | Access::Set => {
                let (verb, attribute) = request.name.split_at("get_".len());
                free(verb, &format!("{word}_"), attribute, &mut taken)
            }
        };
        requests.iter().map(name).collect()
    }
}

/// Interfaces that clients of other processes can call.
fn implies(definition: &Definition) -> bool {
    match &definition.kind {
        DefinitionKind::Interface(x) => {
            x.kind != InterfaceKind::Local && !x.forward_only && !definition.is_messaging()
        }
        _ => false,
    }
}

fn interface(kind: InterfaceKind) -> DefinitionKind {
    DefinitionKind::Interface(Interface { forward_only: false, ..Interface::declared(kind) })
}
