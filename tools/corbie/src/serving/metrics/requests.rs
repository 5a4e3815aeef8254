//! Requests by operation and outcome, and how long they took: an interceptor of the ORB, which
//! sees each request when it was received and when it was answered.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use corbie::interceptor::{AnsweredRequest, Outcome, RequestState, ServerInterceptor};
use corbie::{ServerRequest, SystemException};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Names of operations come from peers: the others are one.
const OPERATIONS_MAX: usize = 200;
/// Longer names are not kept.
const OPERATION_OCTETS_MAX: usize = 64;
const OTHERS: &str = "(other)";

/// From 20 µs to 20 s.
const BUCKETS: [f64; 13] =
    [20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 20e-3, 0.1, 0.5, 2.0, 20.0];

type Labels = Vec<(&'static str, String)>;

pub(super) struct Requests {
    requests: Family<Labels, Counter>,
    seconds: Family<Labels, Histogram, fn() -> Histogram>,
    in_service: Gauge,
    /// Lock "operations": those that have a name of their own.
    operations: Mutex<BTreeSet<String>>,
}

impl Requests {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let seconds: Family<Labels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKETS));
        let (requests, in_service) = (Family::<Labels, Counter>::default(), Gauge::default());
        registry.register("corbie_requests", "Requests that were answered", requests.clone());
        registry.register(
            "corbie_request_seconds",
            "Time from when a request was received to its answer",
            seconds.clone(),
        );
        registry.register(
            "corbie_requests_in_service",
            "Requests that were received and are not answered",
            in_service.clone(),
        );
        Self { requests, seconds, in_service, operations: Mutex::default() }
    }

    /// The name by which an operation is counted.
    fn name(&self, operation: &str, outcome: &Outcome<'_>) -> String {
        // A servant has done it: so there is such an operation.
        let is_done = matches!(outcome, Outcome::Results | Outcome::UserException(_));
        let mut known = self.operations.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(operation) {
            let has_name = is_done && operation.len() <= OPERATION_OCTETS_MAX;
            if !has_name || known.len() >= OPERATIONS_MAX {
                return OTHERS.to_owned();
            }
            known.insert(operation.to_owned());
        }
        operation.to_owned()
    }
}

impl ServerInterceptor for Requests {
    fn receive_request(&self, _: &ServerRequest<'_>) -> Result<RequestState, SystemException> {
        self.in_service.inc();
        Ok(Some(Box::new(Instant::now())))
    }

    fn request_done(&self, request: &AnsweredRequest<'_>, state: RequestState) {
        self.in_service.dec();
        let outcome = match request.outcome {
            Outcome::Results => "results",
            Outcome::UserException(_) => "user_exception",
            Outcome::SystemException(_) => "system_exception",
            Outcome::Forward => "forward",
            _ => "no_reply",
        };
        let name = self.name(request.operation, &request.outcome);
        let began = state.and_then(|state| state.downcast::<Instant>().ok());
        if let Some(began) = began {
            let labels = vec![("operation", name.clone())];
            self.seconds.get_or_create(&labels).observe(began.elapsed().as_secs_f64());
        }
        let labels = vec![("operation", name), ("outcome", outcome.to_owned())];
        self.requests.get_or_create(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie::minor;

    #[test]
    fn only_operations_that_were_done_have_names_of_their_own() {
        let requests = Requests::register(&mut Registry::default());
        let late = minor::TIMEOUT_CALL.no("too late");
        let failed = Outcome::SystemException(&late);
        assert_eq!(requests.name("push", &failed), OTHERS);
        assert_eq!(requests.name("push", &Outcome::Results), "push");
        assert_eq!(requests.name("push", &failed), "push");
        let long = "x".repeat(OPERATION_OCTETS_MAX + 1);
        assert_eq!(requests.name(&long, &Outcome::Results), OTHERS);
        for number in 0..2 * OPERATIONS_MAX {
            requests.name(&number.to_string(), &Outcome::UserException("IDL:X:1.0"));
        }
        assert_eq!(requests.operations.lock().expect("no panic").len(), OPERATIONS_MAX);
    }
}
