//! A call whose types are known only now: from IDL model and JSON to a reply and back.
//!
//! `target` finds the operation in the model, `type_codes` turns the model's types into
//! TypeCodes, `invoke` sends and receives. Used by `corbie call`, and by `corbie events`
//! for typed ones (`description`).

mod description;
mod invoke;
mod known;
mod target;
mod type_codes;

pub(crate) use description::describe;
pub(crate) use invoke::{Outcome, call};
pub(crate) use target::Target;
pub(crate) use type_codes::TypeCodes;
