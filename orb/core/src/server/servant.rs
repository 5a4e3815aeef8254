//! What a servant is to the ORB (CORBA 3.3 P1 §15.2.1).
//!
//! Implemented by generated skeletons, called by the object adapter.

use crate::handles::View;
use crate::server::ServerRequest;
use crate::{Interface, Object};
use corbie_types::SystemException;

/// An implementation of an object. Generated skeletons implement it around the application's type.
pub trait Servant: Send + Sync + 'static {
    /// The repository ids of all interfaces that it serves, the most derived first;
    /// `CORBA::Object` is not listed.
    fn _interfaces(&self) -> &'static [&'static str];

    /// Answers one request by `request.reply` or `request.reply_exception`.
    ///
    /// # Errors
    /// The system exception that the client gets.
    fn _dispatch(&self, request: &mut ServerRequest<'_>) -> Result<(), SystemException>;

    /// The repository id of the most derived interface.
    fn _repository_id(&self) -> &str {
        self._interfaces().first().copied().unwrap_or_default()
    }

    /// Shows itself as the traits that it implements (`view.offer::<dyn QuoterServant>(…)`), so
    /// that calls of its own process need no message (paper POA §3.1). A servant that offers
    /// nothing gets messages only.
    fn _view<'a>(&'a self, view: &mut View<'a>) {
        let _ = view;
    }

    /// Whether it serves the interface with this repository id.
    fn _is_a(&self, repository_id: &str) -> bool {
        self._interfaces().contains(&repository_id)
    }

    /// Whether the object it stands for is gone. A servant that exists says no.
    fn _non_existent(&self) -> bool {
        false
    }

    /// The `CORBA::InterfaceDef` of the most derived interface, in an Interface Repository
    /// (`_interface`); `None` where the object knows of none.
    fn _interface(&self) -> Option<&Object> {
        None
    }

    /// Whether what one client sends without waiting has to be served in its order, as oneways are:
    /// nothing of the same connection overtakes a request to this servant. By default so for the
    /// interfaces of the Event Service, whose consumers and channels get events by calls that
    /// overlap. A POA has it for all its objects by the policy `RequestOrder`.
    fn _keeps_order(&self) -> bool {
        const IN_ORDER: [&str; 3] =
            ["IDL:omg.org/CosEvent", "IDL:omg.org/CosTypedEvent", "IDL:RtecEvent"];
        self._interfaces().iter().any(|id| IN_ORDER.iter().any(|part| id.starts_with(part)))
    }

    /// Whether even the operations of `CORBA::Object` (`_is_a` and so on) go to
    /// [`Servant::_dispatch`], since the object is elsewhere.
    fn _forwards(&self) -> bool {
        false
    }
}

/// A servant whose references have a known type.
pub trait TypedServant: Servant {
    /// The typed reference.
    type Reference: Interface;
}
