//! What a call knows beside its JSON: the types of the IDL file, and references through the ORB.
//!
//! Asked by the conversion of values (`crate::json`).

use corbie::types::{Ior, TypeCode};
use corbie_frontend::Definition;

use super::TypeCodes;
use crate::json::{Surroundings, Values};
use crate::near_names;
use crate::session::Session;

/// The names of one model, and the ORB.
pub(super) struct Known<'a, 'm> {
    pub(super) session: &'a Session,
    pub(super) type_codes: &'a TypeCodes<'m>,
    pub(super) values: Values,
}

impl Surroundings for Known<'_, '_> {
    fn values(&self) -> &Values {
        &self.values
    }

    fn type_named(&self, name: &str) -> Result<TypeCode, String> {
        match self.type_codes.named(name) {
            Some(found) => found.map_err(|failure| failure.to_string()),
            None => {
                let all = self.type_codes.model().iter();
                let types = all.filter(|d| super::type_codes::is_type(&d.kind));
                let names = types.map(|d: &Definition| d.scoped_name.as_str());
                let near = near_names::suggestion(name, names);
                Err(format!("the IDL file has no type `{name}`{near}"))
            }
        }
    }

    fn name_of(&self, type_code: &TypeCode) -> Option<String> {
        self.type_codes.name_of(type_code).map(str::to_owned)
    }

    fn reference(&self, url: &str) -> Result<Ior, String> {
        let object = self.session.orb().string_to_object(url);
        object.map(|object| object.ior().clone()).map_err(|exception| exception.to_string())
    }
}
