//! Generated code does what it says: a program that uses it runs, and programs that misuse it do
//! not compile, for the reason expected.
//!
//! The programs are in `tests/programs`; the code is generated from `idl/codegen/tests/idl`.

#[path = "support/generated_crate.rs"]
mod generated_crate;

use corbie_build::Builder;
use generated_crate::{GeneratedCrate, workspace};

fn crate_of(name: &str, stems: &[&str]) -> GeneratedCrate {
    let mut generated = GeneratedCrate::new(name);
    for stem in stems {
        let file = workspace().join("idl/codegen/tests/idl").join(format!("{stem}.idl"));
        let output = Builder::new().generate(&file);
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        generated.module(&format!("own_{stem}"), &output.source);
    }
    generated
}

#[test]
fn generated_code_works() {
    let stems = ["stock", "types", "unions", "interfaces", "constants", "calls", "values"];
    let generated = crate_of("behaviour", &stems);
    generated.example("behaviour", include_str!("programs/behaviour.rs"));
    generated.example("calls", include_str!("programs/calls.rs"));
    for program in ["behaviour", "calls"] {
        let output = generated.cargo(&["run", "--example", program]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "all well");
        assert!(said.is_empty(), "{said}");
    }
}

/// `program` must not compile, and the compiler must say `expected`.
#[track_caller]
fn check_misuse(generated: &GeneratedCrate, program: &str, expected: &str) {
    let prologue = "use misuse::own_stock::stock;\nfn main() {}\n";
    generated.example("misuse", &format!("{prologue}{program}"));
    let output = generated.cargo(&["check", "--example", "misuse"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it compiles: {program}");
    assert!(said.contains(expected), "expected {expected:?}, got:\n{said}");
}

#[test]
fn misuse_does_not_compile() {
    let generated = crate_of("misuse", &["stock"]);
    let wrong_signature = "struct S;
        impl stock::QuoterServant for S {
            fn quotes_served(&self) -> Result<u64, corbie::SystemException> { Ok(0) }
            fn get_quote(&self, name: String) -> Result<i32, stock::quoter::GetQuoteError> { Ok(0) }
        }";
    check_misuse(&generated, wrong_signature, "incompatible type for trait");
    let missing_operation = "struct S;
        impl stock::QuoterServant for S {
            fn quotes_served(&self) -> Result<u64, corbie::SystemException> { Ok(0) }
        }";
    check_misuse(&generated, missing_operation, "missing: `get_quote`");
    let not_shareable = "struct S(std::rc::Rc<i32>);
        impl stock::QuoterServant for S {
            fn quotes_served(&self) -> Result<u64, corbie::SystemException> { Ok(0) }
            fn get_quote(&self, _: &str) -> Result<i32, stock::quoter::GetQuoteError> { Ok(0) }
        }";
    check_misuse(&generated, not_shareable, "cannot be sent between threads safely");
    let wrong_argument = "fn f(quoter: stock::Quoter) { let _ = quoter.get_quote(5); }";
    check_misuse(&generated, wrong_argument, "mismatched types");
}
