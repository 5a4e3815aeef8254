//! The reply handler of the asynchronous part of the catalogue: keeps what it is told. Used by the
//! client's features and by the recorder of `host`.

use super::{lock, raised_by, raised_system};
use crate::idl::asynchrony::{
    AmiBaseHandlerServant, AmiCallsHandler, AmiCallsHandlerServant, AmiCallsHandlerSkeleton,
    Delivery, Item,
};
use crate::peer::servants::Side;
use crate::values::{Different, check_equal};
use corbie::messaging::{ExceptionHolder, Raised};
use corbie::{Any, EventLoop, Orb, ServerConcurrency, SystemException};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long a reply may take that has to come.
pub(super) const LONG: Duration = Duration::from_secs(20);

type Outcome = Result<(), SystemException>;
/// Called in the upcall, before the delivery is kept.
pub(super) type Meanwhile = Box<dyn Fn(&Delivery) + Send + Sync>;

struct Recording {
    deliveries: Arc<Deliveries>,
    meanwhile: Meanwhile,
}

#[derive(Default)]
struct Deliveries {
    queue: Mutex<VecDeque<Delivery>>,
    came: Condvar,
}

/// A handler, and what it was told.
pub(super) struct Recorded {
    orb: Orb,
    pub(super) handler: AmiCallsHandler,
    deliveries: Arc<Deliveries>,
}

impl Recorded {
    /// Activates a handler.
    pub(super) fn new(side: &Side) -> Result<Recorded, Different> {
        Self::with(side, Box::new(|_| ()))
    }

    /// Activates a handler that does something in each upcall.
    pub(super) fn with(side: &Side, meanwhile: Meanwhile) -> Result<Recorded, Different> {
        let deliveries: Arc<Deliveries> = Arc::default();
        let recording = Recording { deliveries: deliveries.clone(), meanwhile };
        let skeleton = AmiCallsHandlerSkeleton::new(recording);
        let handler = side.poa.activate(skeleton).map_err(|e| Different(e.to_string()))?;
        Ok(Recorded { orb: side.orb.clone(), handler, deliveries })
    }

    /// The next delivery, which has to be of that operation.
    pub(super) fn next(&self, operation: &str) -> Result<Delivery, Different> {
        let delivery = self.next_in(LONG).ok_or(Different(format!("no reply of {operation}")))?;
        check_equal("operation", &delivery.operation, operation)?;
        Ok(delivery)
    }

    /// The next delivery, if it comes in that time. Where no other thread runs the event
    /// loop, this one does.
    pub(super) fn next_in(&self, time: Duration) -> Option<Delivery> {
        let queue = &self.deliveries.queue;
        if is_driven_by_us(&self.orb) {
            self.orb.work_until(&|| !lock(queue).is_empty(), Some(time));
            return lock(queue).pop_front();
        }
        let waited =
            self.deliveries.came.wait_timeout_while(lock(queue), time, |queue| queue.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.pop_front()
    }
}

/// Whether only the threads of the program run the event loop.
pub(super) fn is_driven_by_us(orb: &Orb) -> bool {
    orb.settings().event_loop == EventLoop::Application
        || orb.settings().server_concurrency == ServerConcurrency::Reactive
}

impl Recording {
    fn keep(&self, operation: &str, delivery: Delivery) -> Outcome {
        let delivery = Delivery { operation: operation.to_owned(), ..delivery };
        (self.meanwhile)(&delivery);
        lock(&self.deliveries.queue).push_back(delivery);
        self.deliveries.came.notify_all();
        Ok(())
    }
    fn number(&self, operation: &str, number: i32) -> Outcome {
        let result = Item { number, ..Item::default() };
        self.keep(operation, Delivery { result, ..Delivery::default() })
    }
    fn text(&self, operation: &str, text: &str) -> Outcome {
        self.keep(operation, Delivery { text: text.to_owned(), ..Delivery::default() })
    }
    fn raised(&self, operation: &str, raised: String) -> Outcome {
        self.keep(operation, Delivery { raised, ..Delivery::default() })
    }
    fn failed(&self, operation: &str, holder: &ExceptionHolder) -> Outcome {
        let raised = match holder.raise_exception() {
            Ok(()) => "nothing at all".to_owned(),
            Err(Raised::System(exception)) => raised_system(&exception),
            Err(other) => format!("unexpected {other:?}"),
        };
        self.raised(operation, raised)
    }
}

impl AmiBaseHandlerServant for Recording {
    fn get_level(&self, ami_return_val: i32) -> Outcome {
        self.number("get_level", ami_return_val)
    }
    fn set_level(&self) -> Outcome {
        self.number("set_level", 0)
    }
    fn get_title(&self, ami_return_val: &str) -> Outcome {
        self.text("get_title", ami_return_val)
    }
    fn from_base(&self, ami_return_val: &str) -> Outcome {
        self.text("from_base", ami_return_val)
    }
    fn get_level_excep(&self, excep_holder: &ExceptionHolder) -> Outcome {
        self.failed("get_level", excep_holder)
    }
    fn set_level_excep(&self, excep_holder: &ExceptionHolder) -> Outcome {
        self.failed("set_level", excep_holder)
    }
    fn get_title_excep(&self, excep_holder: &ExceptionHolder) -> Outcome {
        self.failed("get_title", excep_holder)
    }
    fn from_base_excep(&self, excep_holder: &ExceptionHolder) -> Outcome {
        self.failed("from_base", excep_holder)
    }
}

macro_rules! system_exceptions {
    ($($method:ident of $operation:literal;)*) => {$(
        fn $method(&self, excep_holder: &ExceptionHolder) -> Outcome {
            self.failed($operation, excep_holder)
        }
    )*};
}

impl AmiCallsHandlerServant for Recording {
    fn work(&self, ami_return_val: &Item, some: &[i32], text: &str) -> Outcome {
        let (result, some, text) = (ami_return_val.clone(), some.to_vec(), text.to_owned());
        self.keep("work", Delivery { result, some, text, ..Delivery::default() })
    }
    fn work_excep(&self, excep_holder: &ExceptionHolder) -> Outcome {
        self.raised("work", raised_by(excep_holder))
    }
    fn echo(&self, ami_return_val: &Any) -> Outcome {
        let result = ami_return_val.extract::<Item>()?;
        self.keep("echo", Delivery { result, ..Delivery::default() })
    }
    fn pause(&self) -> Outcome {
        self.number("pause", 0)
    }
    fn delayed(&self, ami_return_val: i32) -> Outcome {
        self.number("delayed", ami_return_val)
    }
    fn told(&self, ami_return_val: i32, _in_order: bool) -> Outcome {
        self.number("told", ami_return_val)
    }
    fn forget(&self) -> Outcome {
        self.number("forget", 0)
    }
    fn hold(&self, ami_return_val: i32) -> Outcome {
        self.number("hold", ami_return_val)
    }
    fn held_at_most(&self, ami_return_val: u32) -> Outcome {
        self.number("held_at_most", ami_return_val as i32)
    }
    fn held(&self, ami_return_val: u32) -> Outcome {
        self.number("held", ami_return_val as i32)
    }
    fn release(&self) -> Outcome {
        self.number("release", 0)
    }
    fn entertain(&self, ami_return_val: i32) -> Outcome {
        self.number("entertain", ami_return_val)
    }
    system_exceptions! {
        echo_excep of "echo";
        pause_excep of "pause";
        delayed_excep of "delayed";
        told_excep of "told";
        forget_excep of "forget";
        hold_excep of "hold";
        held_at_most_excep of "held_at_most";
        held_excep of "held";
        release_excep of "release";
        entertain_excep of "entertain";
    }
}
