//! How much code an operation takes: what is the same for all is in `corbie_core::stubs`, and what a
//! base has is not generated again for the interfaces derived from it.

use corbie_codegen::{Options, generate};
use corbie_frontend::MemoryLoader;

/// Lines of the code generated for `idl`.
fn lines(idl: &str) -> usize {
    let loader = MemoryLoader::new().file("a.idl", idl);
    let compilation = corbie_frontend::compile("a.idl", &loader, &corbie_frontend::Options::new());
    assert!(!compilation.has_errors(), "{}", compilation.render_diagnostics());
    generate(&compilation.model, &Options::new()).source.lines().count()
}

/// A module with interfaces that derive from each other in a line, each with so many operations.
fn chain(interfaces: usize, operations: usize) -> String {
    let mut idl = String::from("module Mesh { exception Failed { string why; };\n");
    for interface in 0..interfaces {
        let base = interface.checked_sub(1).map(|base| format!(" : I{base}")).unwrap_or_default();
        idl += &format!("interface I{interface}{base} {{\n");
        for operation in 0..operations {
            idl += &format!(
                "  long compute_{interface}_{operation}(in string name, in double value)\n\
                 \x20   raises (Failed);\n"
            );
        }
        idl += "};\n";
    }
    idl + "};\n"
}

/// Lines that one more operation in each interface takes, for each operation.
fn lines_of_an_operation(interfaces: usize) -> usize {
    (lines(&chain(interfaces, 20)) - lines(&chain(interfaces, 10))) / (10 * interfaces)
}

#[test]
fn an_operation_takes_less_than_forty_five_lines() {
    // Stub, future, servant and skeleton; it was 149 lines, of which 40 were the error type.
    assert!(lines_of_an_operation(1) < 45, "{}", lines_of_an_operation(1));
}

#[test]
fn inherited_operations_are_not_generated_again() {
    // In a chain of twelve it was 435 lines; now it is a place in a table.
    let (alone, deep) = (lines_of_an_operation(1), lines_of_an_operation(12));
    assert!(deep < alone + 6, "{alone} lines alone, {deep} at the end of a chain of twelve");
}

#[test]
fn an_interface_without_operations_takes_less_than_eighty_lines() {
    let one = lines(&chain(30, 0)) - lines(&chain(10, 0));
    assert!(one / 20 < 80, "{}", one / 20);
}
