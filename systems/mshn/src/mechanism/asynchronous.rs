//! Asynchronous invocation (AMI), which the paper wished for (§5: "deferred asynchronous semantics
//! to CORBA's Static Invocation Interface"): generated stubs whose answers are futures.

use super::{Mechanism, drive};
use crate::messages::{Done, Reply, Request};
use corbie::{Object, SystemException};
use std::sync::mpsc::channel;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asynchronous;

impl Mechanism for Asynchronous {
    fn call(&self, target: &Object, request: &Request) -> Result<Reply, SystemException> {
        let (sender, receiver) = channel();
        let done = move |outcome| {
            // The receiver waits below.
            let _ = sender.send(outcome);
        };
        self.start(target, request, Box::new(done));
        receiver.recv().unwrap_or_else(|_| {
            let maybe = corbie::CompletionStatus::Maybe;
            Err(SystemException::no_response(0, maybe).with_detail("the answer was forgotten"))
        })
    }

    fn start(&self, target: &Object, request: &Request, done: Done) {
        drive(request.invoke_later(target), done);
    }
}
