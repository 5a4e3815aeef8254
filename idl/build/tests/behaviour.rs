//! Generated code does what it says: a program that uses it runs, and programs that misuse it do
//! not compile, for the reason expected.
//!
//! The programs are in `tests/programs`; the code is generated from `idl/codegen/tests/idl`.

#[path = "support/generated_crate.rs"]
mod generated_crate;

use corbie_build::Builder;
use generated_crate::{GeneratedCrate, workspace};

/// A crate with the code of these files in modules `own_…`.
fn crate_of(name: &str, builder: &Builder, stems: &[&str]) -> GeneratedCrate {
    let mut generated = GeneratedCrate::new(name);
    for stem in stems {
        add(&mut generated, "own", builder, stem);
    }
    generated
}

fn add(generated: &mut GeneratedCrate, prefix: &str, builder: &Builder, stem: &str) {
    let file = workspace().join("idl/codegen/tests/idl").join(format!("{stem}.idl"));
    let output = builder.generate(&file);
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    generated.module(&format!("{prefix}_{stem}"), &output.source);
}

/// Runs a program, which must say that all is well and nothing else.
#[track_caller]
fn run(generated: &GeneratedCrate, program: &str) {
    let output = generated.cargo(&["run", "--example", program]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "all well");
    assert!(said.is_empty(), "{said}");
}

#[test]
fn generated_code_works() {
    let stems = ["stock", "types", "unions", "interfaces", "constants", "calls", "values"];
    let generated = crate_of("behaviour", &Builder::new(), &stems);
    generated.example("behaviour", include_str!("programs/behaviour.rs"));
    generated.example("calls", include_str!("programs/calls.rs"));
    generated.example("values", include_str!("programs/values.rs"));
    for program in ["behaviour", "calls", "values"] {
        run(&generated, program);
    }
}

#[test]
fn servants_may_answer_later() {
    let builder = Builder::new().amh(true).async_servants(true);
    let stems = ["stock", "interfaces", "calls", "values"];
    let mut generated = crate_of("asynchronous", &builder, &stems);
    let mixed = Builder::new().amh_operations("Stock::Quoter", &["get_quote"]);
    add(&mut generated, "mixed", &mixed, "stock");
    generated.example("asynchronous", include_str!("programs/asynchronous.rs"));
    let calls = include_str!("programs/calls.rs").replace("behaviour::", "asynchronous::");
    generated.example_part("calls", &calls);
    generated.example_part("responses", include_str!("programs/responses.rs"));
    run(&generated, "asynchronous");
}

#[test]
fn asynchronous_calls_work() {
    let builder = Builder::new().ami_callback(true).ami_poller(true);
    let stems = ["stock", "interfaces", "calls", "values"];
    let generated = crate_of("messaging", &builder, &stems);
    generated.example("messaging", include_str!("programs/messaging.rs"));
    let calls = include_str!("programs/calls.rs").replace("behaviour::", "messaging::");
    generated.example_part("calls", &calls);
    generated.example_part("callbacks", include_str!("programs/callbacks.rs"));
    generated.example_part("pollers", include_str!("programs/pollers.rs"));
    generated.example_part("futures", include_str!("programs/futures.rs"));
    generated.example_part("results", include_str!("programs/results.rs"));
    run(&generated, "messaging");
}

/// The code of a page of the book: what stands in blocks of Rust that are not marked `ignore`.
fn code_of(page: &str) -> String {
    let blocks = page.split("```rust\n").skip(1);
    blocks.filter_map(|block| block.split("```").next()).collect()
}

#[test]
fn the_book_calls_without_waiting() {
    let builder = Builder::new().ami_callback(true).ami_poller(true);
    let generated = crate_of("ami_book", &builder, &["stock"]);
    let page = workspace().join("docs/src/ami.md");
    let page = std::fs::read_to_string(&page).expect("the page");
    let program = include_str!("programs/ami_book.rs");
    generated.example("ami_book", &format!("{program}\n{}", code_of(&page)));
    run(&generated, "ami_book");
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
    let builder = Builder::new().amh(true).ami_callback(true).ami_poller(true);
    let generated = crate_of("misuse", &builder, &["stock", "interfaces"]);
    misuse_of_asynchronous_calls(&generated);
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
    let second_answer = "fn f(response: stock::amh_quoter::GetQuoteResponse) {
            let _ = response.get_quote(1);
            let _ = response.get_quote(2);
        }";
    check_misuse(&generated, second_answer, "use of moved value: `response`");
    let answer_and_exception = "fn f(response: stock::amh_quoter::GetQuoteResponse) {
            let invalid = stock::InvalidStockSymbol { symbol: String::new() };
            let _ = response.get_quote_excep(invalid);
            let _ = response.get_quote(2);
        }";
    check_misuse(&generated, answer_and_exception, "use of moved value: `response`");
    let another_exception = "fn f(response: stock::amh_quoter::QuotesServedResponse) {
            let invalid = stock::InvalidStockSymbol { symbol: String::new() };
            let _ = response.quotes_served_excep(invalid);
        }";
    check_misuse(&generated, another_exception, "is not satisfied");
    let wrong_argument = "fn f(quoter: stock::Quoter) { let _ = quoter.get_quote(5); }";
    check_misuse(&generated, wrong_argument, "mismatched types");
}

fn misuse_of_asynchronous_calls(generated: &GeneratedCrate) {
    let other_handler = "use misuse::own_interfaces::interfaces::AmiTopHandler;
        fn f(quoter: stock::Quoter, handler: AmiTopHandler) {
            let _ = quoter.sendc_get_quote(&handler, \"IBM\");
        }";
    check_misuse(generated, other_handler, "`From<&AmiTopHandler>` is not implemented");
    let other_result = "fn f(poller: stock::AmiQuoterPoller) -> String {
            poller.get_quote(None).expect(\"a quote\")
        }";
    check_misuse(generated, other_result, "mismatched types");
    let no_excep = "struct S;
        impl stock::AmiQuoterHandlerServant for S {
            fn get_quote(&self, _: i32) -> Result<(), corbie::SystemException> { Ok(()) }
        }";
    check_misuse(generated, no_excep, "missing: `get_quotes_served`");
}
