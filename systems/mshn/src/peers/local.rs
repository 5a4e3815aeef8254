//! Components of this process that call each other's functions: the paper's "non-CORBA" case
//! (paper MSHN §4.2). Used by `peers.rs`.

use super::{Address, forgotten, lock, not_there};
use crate::messages::{Component, Done, Reply, Request, Role};
use corbie::SystemException;
use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, Weak};

/// By kind and name.
#[derive(Default)]
pub(super) struct Here(Mutex<BTreeMap<(Role, String), Weak<dyn Component>>>);

impl Here {
    pub(super) fn register(&self, role: Role, name: &str, component: &Arc<dyn Component>) {
        lock(&self.0).insert((role, name.to_owned()), Arc::downgrade(component));
    }

    pub(super) fn names(&self, role: Role) -> Vec<String> {
        let here = lock(&self.0);
        let of_role = here.keys().filter(|(found, _)| *found == role);
        of_role.map(|(_, name)| name.clone()).collect()
    }

    pub(super) fn start(&self, to: &Address, request: Request, done: Done) {
        let found = {
            let here = lock(&self.0);
            let is_asked = |(role, name): &&(Role, String)| {
                *role == to.role && to.name.as_ref().is_none_or(|wanted| wanted == name)
            };
            here.keys().find(is_asked).and_then(|key| here.get(key)?.upgrade())
        };
        match found {
            Some(component) => component.serve(request, done),
            None => done(Err(not_there(&format!("there is no {} here", to.role)))),
        }
    }

    pub(super) fn call(&self, to: &Address, request: &Request) -> Result<Reply, SystemException> {
        let (sender, receiver) = channel();
        let done = move |outcome| {
            // The receiver waits below.
            let _ = sender.send(outcome);
        };
        self.start(to, request.clone(), Box::new(done));
        receiver.recv().unwrap_or_else(|_| Err(forgotten()))
    }
}
