//! The code generated for `tests/idl/*.idl` is what stands in `tests/golden/*.rs.golden`.
//!
//! `CORBIE_UPDATE=1 cargo test -p corbie-codegen --test golden` writes the files anew;
//! `cargo xtask codegen --check` runs this test. That the files compile is tested in `idl/build`.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use corbie_codegen::{Generated, OperationDemux, Options, generate};
use corbie_frontend::{Compilation, ImpliedIdl, MemoryLoader};

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

fn compile(file: &str, implied: &ImpliedIdl) -> Compilation {
    let mut options = corbie_frontend::Options::new();
    options.implied = implied.clone();
    let compilation = corbie_frontend::compile(file, &loader(), &options);
    assert!(!compilation.has_errors(), "{}", compilation.render_diagnostics());
    compilation
}

fn generate_file(file: &str, options: &Options) -> Generated {
    generate_implied(file, &ImpliedIdl::default(), options)
}

fn generate_implied(file: &str, implied: &ImpliedIdl, options: &Options) -> Generated {
    let compilation = compile(file, implied);
    let generated = generate(&compilation.model, options);
    let sources = &compilation.model.sources;
    let rendered: String = generated.diagnostics.iter().map(|d| d.render(sources)).collect();
    assert!(!generated.has_errors(), "{rendered}");
    generated
}

fn check(file: &str, golden: &str, options: &Options) {
    check_source(&generate_file(file, options).source, golden);
}

fn check_source(source: &str, golden: &str) {
    let path = folder("golden").join(golden);
    if std::env::var_os("CORBIE_UPDATE").is_some() {
        fs::write(&path, source).expect("writable");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if let Some((at, (new, old))) = first_difference(source, &expected) {
        panic!(
            "{golden} is out of date at line {at}:\n  is   {old}\n  made {new}\n\
             run `CORBIE_UPDATE=1 cargo test -p corbie-codegen --test golden` and look at the diff"
        );
    }
}

fn first_difference<'a>(new: &'a str, old: &'a str) -> Option<(usize, (&'a str, &'a str))> {
    let lines = |text: &'a str| text.lines().map(Some).chain(std::iter::repeat(None));
    let pairs = lines(new).zip(lines(old)).take_while(|pair| *pair != (None, None));
    let shown = |line: Option<&'a str>| line.unwrap_or("(nothing)");
    let pairs = pairs.map(|(new, old)| (shown(new), shown(old)));
    (1..).zip(pairs).find(|(_, (new, old))| new != old)
}

macro_rules! golden {
    ($($name:ident)+) => {$(
        #[test]
        fn $name() {
            check(
                concat!(stringify!($name), ".idl"),
                concat!(stringify!($name), ".rs.golden"),
                &Options::new(),
            );
        }
    )+};
}

golden! { calls collocation stock types unions interfaces names constants values includes components includes_more }

#[test]
fn every_file_has_a_test() {
    let source = include_str!("golden.rs");
    let (_, list) = source.split_once("golden! {").expect("the list");
    let known: Vec<&str> = list.split('}').next().expect("its end").split_whitespace().collect();
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
    check("stock.idl", "stock_options.rs.golden", &options);
    options = Options::new();
    options.operation_demux = OperationDemux::LinearSearch;
    let source = generate_file("stock.idl", &options).source;
    assert!(source.contains("orb::LinearSearch"), "{source}");
}

/// Callbacks and pollers as asked for.
fn ami(callback: bool, poller: bool) -> ImpliedIdl {
    let mut implied = ImpliedIdl::default();
    (implied.ami_callback, implied.ami_poller) = (callback, poller);
    implied
}

fn amh() -> ImpliedIdl {
    let mut implied = ImpliedIdl::default();
    implied.amh = true;
    implied
}

#[test]
fn asynchronous_calls() {
    for (file, golden) in
        [("stock.idl", "stock_ami.rs.golden"), ("interfaces.idl", "interfaces_ami.rs.golden")]
    {
        check_source(&generate_implied(file, &ami(true, true), &Options::new()).source, golden);
    }
}

#[test]
fn what_is_switched_off_generates_nothing() {
    let mut options = Options::new();
    options.futures = false;
    let made = |callback, poller, options: &Options| {
        generate_implied("interfaces.idl", &ami(callback, poller), options).source
    };
    let words = ["sendc_", "Handler", "ReplyStub", "sendp_", "Poller", "ReplyFuture"];
    let has = |source: &str| words.map(|word| source.contains(word));
    assert_eq!(has(&made(false, false, &options)), [false; 6]);
    let (yes, no) = (true, false);
    assert_eq!(has(&made(true, false, &options)), [yes, yes, yes, no, no, no]);
    assert_eq!(has(&made(false, true, &options)), [no, no, no, yes, yes, no]);
    assert_eq!(has(&made(false, false, &Options::new())), [no, no, no, no, no, yes]);
}

fn without_futures() -> Options {
    let mut options = Options::new();
    options.futures = false;
    options
}

#[test]
fn asynchronous_servants() {
    for (file, golden) in
        [("stock.idl", "stock_amh.rs.golden"), ("interfaces.idl", "interfaces_amh.rs.golden")]
    {
        check_source(&generate_implied(file, &amh(), &without_futures()).source, golden);
    }
    let mut options = without_futures();
    options.async_servants = true;
    check("stock.idl", "stock_async.rs.golden", &options);
}

#[test]
fn references_describe_themselves() {
    let mut options = without_futures();
    options.descriptions = true;
    check("interfaces.idl", "interfaces_described.rs.golden", &options);
}

#[test]
fn one_operation_may_be_asynchronous() {
    let mut implied = ImpliedIdl::default();
    implied.amh_operations.push(("Stock::Quoter".to_owned(), vec!["get_quote".to_owned()]));
    let source = generate_implied("stock.idl", &implied, &without_futures()).source;
    check_source(&source, "stock_mixed.rs.golden");
    let attribute = "fn quotes_served(&self) -> Result<u64, orb::SystemException>;";
    assert_eq!(source.matches(attribute).count(), 2, "in both servants");
    assert!(!source.contains("QuotesServedResponse"), "{source}");
}

/// What is switched off leaves no trace, and what is switched on changes nothing of the rest.
#[test]
fn off_generates_nothing() {
    let mut options = Options::new();
    options.async_servants = true;
    options.descriptions = true;
    for file in ["stock.idl", "interfaces.idl", "calls.idl", "names.idl", "values.idl"] {
        let plain = generate_file(file, &Options::new()).source;
        let words = [
            "Amh",
            "amh_",
            "Async",
            "Ami",
            "ami_",
            "sendc_",
            "sendp_",
            "Response",
            "InterfaceDescription",
        ];
        let found: Vec<&&str> = words.iter().filter(|word| plain.contains(**word)).collect();
        assert!(found.is_empty(), "{file} has {found:?}");
        let all = generate_implied(file, &amh(), &options).source;
        let all: HashSet<&str> = all.lines().collect();
        let missing = plain.lines().find(|line| !all.contains(line));
        assert_eq!(missing, None, "{file}");
    }
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
fn what_is_left_out_is_said() {
    let generated = generate_file("components.idl", &Options::new());
    let messages: Vec<String> = generated.diagnostics.iter().map(ToString::to_string).collect();
    assert!(messages.iter().all(|message| message.contains("warning")), "{messages:?}");
    let host = messages.iter().find(|message| message.contains("`Components_Test::Host`"));
    assert!(host.is_some_and(|host| host.contains("components.idl:5:13")), "{messages:?}");
}

#[test]
fn options_that_are_no_rust_are_refused() {
    let check = |change: fn(&mut Options)| {
        let mut options = Options::new();
        change(&mut options);
        options.check()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(check(|_| ()), Ok(()));
    assert!(check(|o| o.extra_derives.push("serde::Serialize".to_owned())).is_ok());
    let error = check(|o| o.extra_derives.push("not a path".to_owned()));
    assert!(error.expect_err("refused").contains("not a path"));
    let mut options = Options::new();
    options.extern_modules.push(pair("A", "crate::::a"));
    assert!(options.check().expect_err("refused").contains("crate::::a"));
    options = Options::new();
    options.renames.push(pair("A", "b-c"));
    assert!(options.check().expect_err("refused").contains("b-c"));
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
