//! Static invocation (SII): generated stubs; the thread that calls waits.
//!
//! Where nobody is to wait, a few threads make the calls, so many at a time.

use super::{Link, Mechanism};
use crate::messages::{Done, Reply, Request};
use corbie::{Object, SystemException};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Calls that are under way at a time for callers that do not wait.
const CALLS_AT_A_TIME: usize = 16;

type Call = (Object, Request, Done);

/// See the module.
#[derive(Default)]
pub struct Static {
    calls: Arc<Calls>,
}

/// The threads for callers that do not wait.
#[derive(Default)]
struct Calls {
    /// Made by the first such call. The threads end when it is dropped.
    sender: OnceLock<Sender<Call>>,
}

impl Static {
    /// Without threads yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Calls {
    fn threads(&self) -> &Sender<Call> {
        self.sender.get_or_init(|| {
            let (sender, receiver) = channel();
            let receiver = Arc::new(Mutex::new(receiver));
            for _ in 0..CALLS_AT_A_TIME {
                let receiver = Arc::clone(&receiver);
                std::thread::spawn(move || work(&receiver));
            }
            sender
        })
    }
}

fn work(calls: &Mutex<Receiver<Call>>) {
    loop {
        // The lock is held while waiting for a call: it is what the threads take turns in.
        let next = calls.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((target, request, done)) = next else { return };
        done(request.invoke(&target));
    }
}

impl Mechanism for Static {
    fn link(&self, target: &Object) -> Arc<dyn Link> {
        Arc::new(To { target: target.clone(), calls: Arc::clone(&self.calls) })
    }
}

struct To {
    target: Object,
    calls: Arc<Calls>,
}

impl Link for To {
    fn call(&self, request: &Request) -> Result<Reply, SystemException> {
        request.invoke(&self.target)
    }

    fn start(&self, request: &Request, done: Done) {
        let call = (self.target.clone(), request.clone(), done);
        if let Err(unsent) = self.calls.threads().send(call) {
            let (target, request, done) = unsent.0;
            done(request.invoke(&target));
        }
    }
}
