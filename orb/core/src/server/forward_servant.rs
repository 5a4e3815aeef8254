//! A servant that sends its callers on to another object (CORBA 3.3 P2 §9.4.3.2).
//!
//! Activated in a POA like any other; for objects that have moved.

use crate::Object;
use crate::server::{Servant, ServerRequest};
use corbie_types::SystemException;

/// Answers every request with `LOCATION_FORWARD` to one object (CORBA 3.3 P2 §9.4.3.2): clients
/// call that object from then on, without their code taking notice. For objects that have moved.
#[derive(Debug)]
pub struct ForwardServant {
    target: Object,
}

impl ForwardServant {
    /// A servant that sends callers on to `target`.
    pub fn new(target: Object) -> Self {
        ForwardServant { target }
    }
}

impl Servant for ForwardServant {
    fn _interfaces(&self) -> &'static [&'static str] {
        &[]
    }

    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException> {
        request.forward(&self.target)
    }

    /// Questions about the type are sent on as well.
    fn _forwards(&self) -> bool {
        true
    }
}
