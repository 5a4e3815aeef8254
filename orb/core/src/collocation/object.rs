//! The questions that every object answers (CORBA 3.3 P1 §8.3): asked of servants of this process
//! without a message.
//!
//! Called by applications, and where references are narrowed.

use crate::collocation;
use crate::server::Servant;
use crate::{Object, Operation};
use corbie_cdr::Marshal;
use corbie_types::{SystemException, SystemExceptionKind};

impl Object {
    /// Whether the object has the interface with this repository id. Asks the object unless its
    /// reference says yes.
    ///
    /// # Errors
    /// As [`Object::invoke`].
    pub fn is_a(&self, repository_id: &str) -> Result<bool, SystemException> {
        const IS_A: Operation = Operation::twoway("_is_a");
        if self.ior().type_id == repository_id {
            return Ok(true);
        }
        let is_a = |servant: &dyn Servant| {
            repository_id == "IDL:omg.org/CORBA/Object:1.0" || servant._is_a(repository_id)
        };
        if let Some(answer) = collocation::ask(self, &IS_A, is_a) {
            return answer;
        }
        let mut reply = self.invoke(&IS_A, &|e| e.write_string(repository_id))?;
        reply.results_only(|d| d.read_boolean())
    }

    /// Whether the object is known to be gone for good.
    ///
    /// # Errors
    /// As [`Object::invoke`]; `OBJECT_NOT_EXIST` is the answer `true`, not an error.
    pub fn non_existent(&self) -> Result<bool, SystemException> {
        const NON_EXISTENT: Operation = Operation::twoway("_non_existent");
        let answer = match collocation::ask(self, &NON_EXISTENT, |servant| servant._non_existent())
        {
            Some(answer) => answer,
            None => {
                let reply = self.invoke(&NON_EXISTENT, &|_| Ok(()));
                reply.and_then(|mut reply| reply.results_only(|d| d.read_boolean()))
            }
        };
        match answer {
            Ok(answer) => Ok(answer),
            Err(exception) if exception.kind == SystemExceptionKind::ObjectNotExist => Ok(true),
            Err(exception) => Err(exception),
        }
    }

    /// The repository id of the object's most derived interface, as the object itself says.
    ///
    /// # Errors
    /// As [`Object::invoke`].
    pub fn repository_id(&self) -> Result<String, SystemException> {
        const REPOSITORY_ID: Operation = Operation::twoway("_repository_id");
        let id = |servant: &dyn Servant| servant._repository_id().to_owned();
        if let Some(answer) = collocation::ask(self, &REPOSITORY_ID, id) {
            return answer;
        }
        let mut reply = self.invoke(&REPOSITORY_ID, &|_| Ok(()))?;
        reply.results_only(String::decode)
    }
}
