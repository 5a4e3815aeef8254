//! Which of a channel's events a consumer gets, and in which form (Event Service 1.2 §2.9.3: what
//! is no operation of a typed consumer's interface is not passed on to it).
//!
//! Asked by `Channel::publish` for every event and consumer. An event is translated once, when the
//! first consumer needs it.

use crate::event::{Event, Shape};
use crate::interfaces::EventInterface;
use std::sync::Arc;

/// Which events a consumer gets.
#[derive(Clone, Debug, Default)]
pub(crate) enum Selection {
    /// All of them, as one `any` each.
    #[default]
    Untyped,
    /// Calls of this interface.
    Typed(Arc<EventInterface>),
}

/// What an event is for a consumer.
pub(super) enum Form<'e> {
    /// It gets this.
    Given(&'e Arc<Event>),
    NotForIt,
    /// It cannot be put in the form that the consumer takes.
    Unreadable,
}

impl Selection {
    /// The repository id of the interface whose calls are selected, else nothing.
    pub(crate) fn interface(&self) -> &str {
        match self {
            Selection::Untyped => "",
            Selection::Typed(interface) => interface.id(),
        }
    }

    pub(super) fn form_of<'e>(&self, event: &'e Arc<Event>) -> Form<'e> {
        match (self, event.shape()) {
            (Selection::Untyped, Shape::Any) => Form::Given(event),
            (Selection::Untyped, Shape::Typed(_)) => {
                event.untyped().map_or(Form::Unreadable, Form::Given)
            }
            (Selection::Typed(interface), Shape::Typed(signature)) => {
                if interface.takes(signature) { Form::Given(event) } else { Form::NotForIt }
            }
            (Selection::Typed(_), Shape::Any) => Form::NotForIt,
        }
    }
}
