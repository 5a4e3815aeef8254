//! Asynchronous invocation (AMI), which the paper wished for (§5: "deferred asynchronous semantics
//! to CORBA's Static Invocation Interface"): generated stubs whose answers are futures.

use super::{Link, Mechanism, drive};
use crate::messages::{Done, Reply, Request};
use corbie::{Object, SystemException, minor};
use std::sync::Arc;
use std::sync::mpsc::channel;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asynchronous;

impl Mechanism for Asynchronous {
    fn link(&self, target: &Object) -> Arc<dyn Link> {
        Arc::new(AsynchronousLink(target.clone()))
    }
}

struct AsynchronousLink(Object);

impl Link for AsynchronousLink {
    fn call(&self, request: &Request) -> Result<Reply, SystemException> {
        let (sender, receiver) = channel();
        let done = move |outcome| {
            // The receiver waits below.
            let _ = sender.send(outcome);
        };
        self.start(request, Box::new(done));
        receiver.recv().unwrap_or_else(|_| {
            let maybe = corbie::CompletionStatus::Maybe;
            Err(SystemException::no_response(minor::NO_RESPONSE_UNANSWERED, maybe)
                .with_detail("the answer was forgotten"))
        })
    }

    fn start(&self, request: &Request, done: Done) {
        drive(request.invoke_later(&self.0), done);
    }
}
