//! The IDL front end: IDL text in, checked [`Model`] and [`Diagnostic`]s out.
//!
//! Called by the generator (`idl/codegen`, `idl/build`) and by the `corbie` command.
//! It performs no I/O: files come through a [`SourceLoader`]. It never stops at the first error,
//! and no input makes it panic, recurse or allocate without limit (see [`Limits`]).
//! Sources of the rules: IDL 4.2 (CORBA profile) and CORBA 3.3 part 1, chapter 7.

#![forbid(unsafe_code)]

// layers: options source spelling < diagnostic model token < constant keywords standard
//    syntax < preprocessor < joining parser < checker < compile
mod checker;
mod compile;
mod constant;
pub mod diagnostic;
mod joining;
mod keywords;
pub mod model;
pub mod options;
mod parser;
mod preprocessor;
pub mod source;
mod spelling;
mod standard;
mod syntax;
mod token;

pub use compile::{Compilation, compile, compile_all};
pub use diagnostic::{Code, Diagnostic, Note, Severity};
pub use model::{DefId, Definition, DefinitionKind, Model, Type};
pub use options::{ImpliedIdl, Limits, Options};
pub use source::{
    FileId, LoadError, LoadedSource, MemoryLoader, Position, SourceFile, SourceLoader, SourceMap,
    Span, include_candidates,
};
