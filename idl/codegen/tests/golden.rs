//! The code generated for `tests/idl/*.idl` is what stands in `tests/golden/*.rs`.
//!
//! `CORBIE_UPDATE=1 cargo test -p corbie-codegen --test golden` writes the files anew;
//! `cargo xtask codegen --check` runs this test. That the files compile is tested in `idl/build`.

use std::fs;
use std::path::{Path, PathBuf};

use corbie_codegen::{Generated, OperationDemux, Options, generate};
use corbie_frontend::{Compilation, MemoryLoader};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A loader with all of `tests/idl`.
fn loader() -> MemoryLoader {
    let mut loader = MemoryLoader::new();
    for entry in fs::read_dir(folder("idl")).expect("tests/idl") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        loader = loader.file(name, fs::read(&path).expect("readable"));
    }
    loader
}

fn compile(file: &str) -> Compilation {
    let compilation = corbie_frontend::compile(file, &loader(), &corbie_frontend::Options::new());
    assert!(!compilation.has_errors(), "{}", compilation.render_diagnostics());
    compilation
}

fn generate_file(file: &str, options: &Options) -> Generated {
    let compilation = compile(file);
    let generated = generate(&compilation.model, options);
    let sources = &compilation.model.sources;
    let rendered: String = generated.diagnostics.iter().map(|d| d.render(sources)).collect();
    assert!(!generated.has_errors(), "{rendered}");
    generated
}

fn check(file: &str, golden: &str, options: &Options) {
    let source = generate_file(file, options).source;
    let path = folder("golden").join(golden);
    if std::env::var_os("CORBIE_UPDATE").is_some() {
        fs::write(&path, &source).expect("writable");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if let Some((at, (new, old))) = first_difference(&source, &expected) {
        panic!(
            "{golden} is out of date at line {at}:\n  is   {old}\n  made {new}\n\
             run `CORBIE_UPDATE=1 cargo test -p corbie-codegen --test golden` and look at the diff"
        );
    }
}

fn first_difference<'a>(new: &'a str, old: &'a str) -> Option<(usize, (&'a str, &'a str))> {
    let lines = new.lines().count().max(old.lines().count());
    let line = |text: &'a str, at: usize| text.lines().nth(at).unwrap_or("(nothing)");
    (0..lines).map(|at| (at + 1, (line(new, at), line(old, at)))).find(|(_, (new, old))| new != old)
}

macro_rules! golden {
    ($($name:ident)+) => {$(
        #[test]
        fn $name() {
            check(
                concat!(stringify!($name), ".idl"),
                concat!(stringify!($name), ".rs"),
                &Options::new(),
            );
        }
    )+};
}

golden! { stock types unions interfaces names constants values }

#[test]
fn every_file_has_a_test() {
    let known = ["stock", "types", "unions", "interfaces", "names", "constants", "values"];
    for entry in fs::read_dir(folder("idl")).expect("tests/idl") {
        let stem = entry.expect("an entry").path();
        let stem = stem.file_stem().expect("a stem").to_string_lossy().into_owned();
        assert!(known.contains(&stem.as_str()), "{stem}.idl has no golden test");
    }
}

#[test]
fn options_change_what_they_say() {
    let mut options = Options::new();
    options.operation_demux = OperationDemux::BinarySearch;
    options.extra_derives = vec!["PartialOrd".to_owned()];
    options.renames = vec![
        ("Stock::Quoter::get_quote".to_owned(), "price".to_owned()),
        ("Stock::Invalid_Stock_Symbol::symbol".to_owned(), "which".to_owned()),
    ];
    check("stock.idl", "stock_options.rs", &options);
    options = Options::new();
    options.operation_demux = OperationDemux::LinearSearch;
    let source = generate_file("stock.idl", &options).source;
    assert!(source.contains("orb::LinearSearch"), "{source}");
}

#[test]
fn extern_modules_are_referred_to_and_not_generated() {
    let mut options = Options::new();
    options.extern_modules = vec![("Interfaces".to_owned(), "crate::elsewhere::ifs".to_owned())];
    let source = generate_file("interfaces.idl", &options).source;
    assert!(source.contains("crate::elsewhere::ifs::Left"), "{source}");
    assert!(!source.contains("pub mod interfaces"), "{source}");
}

#[test]
fn two_runs_are_equal() {
    for file in ["types.idl", "interfaces.idl", "names.idl", "values.idl"] {
        let first = generate_file(file, &Options::new()).source;
        for _ in 0..5 {
            assert!(first == generate_file(file, &Options::new()).source, "{file}");
        }
    }
}
