//! Compiles IDL for the tests of typed events: those are clients with generated code of their own.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::compile(&["../../services/event/tests/idl/Stock.idl"])
}
