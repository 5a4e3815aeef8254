//! The generator: checked IDL model in, Rust source out.
//!
//! Called by `corbie_build` (a user's `build.rs`) and by `corbie idl compile`. It alone knows the
//! mapping of IDL to Rust (`docs/src/mapping.md`). Generated code names `::corbie::codegen` and
//! `std` only, and is the same octet for octet whenever model and options are.
//!
//! One file per construct: `structs`, `unions`, `enums`, …; `interface/` has references, servants
//! and skeletons; `types` says what an IDL type is in Rust, `names` what an IDL name is, `tree`
//! puts the pieces into modules.

#![forbid(unsafe_code)]

// layers: docs layout options perfect_hash rust_name < externs locals < names < context < enums
//    tree type_codes types < abilities constants marshalling < interface structs unions
//    < exceptions typedefs values
mod abilities;
mod constants;
mod context;
mod docs;
mod enums;
mod exceptions;
mod externs;
mod interface;
mod layout;
mod locals;
mod marshalling;
mod names;
mod options;
pub mod perfect_hash;
mod rust_name;
mod structs;
mod tree;
mod type_codes;
mod typedefs;
mod types;
mod unions;
mod values;

pub use options::{OperationDemux, Options};

use corbie_frontend::{Diagnostic, Model, Severity};

/// What [`generate`] made of a model.
#[derive(Debug, Clone)]
pub struct Generated {
    /// Formatted Rust source, to be included at any place where items may stand.
    pub source: String,
    /// What could not be generated, or not as it stands. With errors, `source` is empty.
    pub diagnostics: Vec<Diagnostic>,
}

impl Generated {
    /// Whether there is no source because of an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
}

/// Generates the Rust code of everything that `model` defines, what was included too.
///
/// The model must come from a compilation without errors. `source` depends on nothing but the
/// arguments.
#[must_use]
pub fn generate(model: &Model, options: &Options) -> Generated {
    let (context, mut diagnostics) = context::Context::new(model, options);
    let tree = tree::Tree::new(&context, &mut diagnostics);
    if diagnostics.iter().any(|d| d.severity == Severity::Error) {
        return Generated { source: String::new(), diagnostics };
    }
    Generated { source: tree.format(&context), diagnostics }
}
