//! Dynamic invocation (DII): requests made of parts at run time, with the interface known to the
//! program and not to the ORB (paper MSHN §3.3.3); deferred where no caller waits.

use super::{Link, Mechanism, drive};
use crate::messages::{Done, Reply, Request, system};
use corbie::{Object, SystemException};
use std::sync::Arc;

/// See the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dynamic;

impl Mechanism for Dynamic {
    fn link(&self, target: &Object) -> Arc<dyn Link> {
        Arc::new(DynamicLink(target.clone()))
    }
}

struct DynamicLink(Object);

impl Link for DynamicLink {
    fn call(&self, request: &Request) -> Result<Reply, SystemException> {
        let (mut call, is_answered) = request.dynamic(&self.0)?;
        if is_answered {
            call.invoke().map_err(system)?;
        } else {
            call.send_oneway()?;
        }
        request.dynamic_reply(&call)
    }

    fn start(&self, request: &Request, done: Done) {
        let (mut call, is_answered) = match request.dynamic(&self.0) {
            Ok(made) => made,
            Err(exception) => return done(Err(exception)),
        };
        let sent = if is_answered { call.send_deferred() } else { call.send_oneway() };
        if let Err(exception) = sent {
            return done(Err(exception));
        }
        if !is_answered {
            return done(request.dynamic_reply(&call));
        }
        let request = request.clone();
        let answer = async move {
            call.response().await.map_err(system)?;
            request.dynamic_reply(&call)
        };
        drive(Box::pin(answer), done);
    }
}
