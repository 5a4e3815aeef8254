//! The operations that every object answers without its servant: those of `CORBA::Object`
//! (CORBA 3.3 P1 §8.3; wire names: CORBA 3.3 P2 §9.4.2.2).
//!
//! `dispatch` comes here for operation names that begin with an underscore but are no attributes.

use corbie_cdr::Marshal;
use corbie_core::Object;
use corbie_core::server::{Servant, ServerRequest};
use corbie_types::{SystemException, minor};

/// Every object is one of these, whatever its own interfaces are.
const OBJECT_ID: &str = "IDL:omg.org/CORBA/Object:1.0";

/// Answers `request` on behalf of `servant`.
///
/// # Errors
/// `INTF_REPOS` for `_interface` as long as no Interface Repository is attached, `NO_IMPLEMENT` for
/// `_component`, `BAD_OPERATION` for other names; `MARSHAL` for arguments that cannot be read; all
/// `COMPLETED_NO`.
pub(crate) fn answer(
    servant: &dyn Servant,
    request: &mut ServerRequest<'_>,
) -> Result<(), SystemException> {
    match request.operation() {
        "_is_a" => {
            let id = request.arguments().read_string()?.into_owned();
            let is_a = id == OBJECT_ID || servant._is_a(&id);
            request.reply(&|e| bool::encode(&is_a, e))
        }
        // omniORB 3 and the first CORBA versions spelt it `_not_existent`.
        "_non_existent" | "_not_existent" => {
            let gone = servant._non_existent();
            request.reply(&|e| bool::encode(&gone, e))
        }
        "_repository_id" => {
            let id = servant._repository_id().to_owned();
            request.reply(&|e| String::encode(&id, e))
        }
        "_interface" => match servant._interface() {
            Some(definition) => {
                let definition = Some(definition.clone());
                request.reply(&|e| Object::encode(&definition, e))
            }
            // CORBA 3.3 P1 §8.3.2 lets an ORB without a repository say so.
            None => Err(minor::INTF_REPOS_NOT_AVAILABLE
                .no("this ORB has no Interface Repository; _repository_id names the type")),
        },
        // An object outside all domains has an empty list of managers.
        "_domain_managers" => request.reply(&|e| e.write_length(0)),
        // CORBA 3.3 P1 §8.3.10: an object that is no component answers nil.
        "_component" => request.reply(&|e| Object::encode(&None, e)),
        _ => Err(request.unknown_operation()),
    }
}
