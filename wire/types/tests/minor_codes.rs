//! Corbie's minor codes: each says what to try, and stands in the book. That each is raised by a
//! test is a rule of `cargo xtask tidy`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use corbie_types::minor::{self, MinorCode};

const PAGE: &str = "docs/src/minor-codes.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn ours() -> impl Iterator<Item = &'static MinorCode> {
    minor::all().filter(|code| code.minor.vendor() == minor::VMCID)
}

/// The page as the table says.
fn page() -> String {
    let mut page = String::from(
        "# Minor codes\n\n\
         The number in a system exception that says which rule was broken. These are Corbie's own; \
         the OMG's are in CORBA 3.3 P1 §A.5.\n\n\
         | code | name | meaning | what to try |\n|---|---|---|---|\n",
    );
    for MinorCode { minor, name, meaning, remedy, .. } in ours() {
        let remedy = remedy.unwrap_or_default();
        writeln!(page, "| `{minor}` | `{name}` | {meaning} | {remedy} |").expect("a string");
    }
    page
}

#[test]
fn each_code_says_what_to_try() {
    for code in ours() {
        assert!(code.remedy.is_some(), "{} does not say what to try", code.name);
    }
}

/// Writes the page with `CORBIE_WRITE_PAGES=1`, as the table says.
#[test]
fn the_book_has_the_table() {
    let path = root().join(PAGE);
    if std::env::var_os("CORBIE_WRITE_PAGES").is_some() {
        fs::write(&path, page()).expect("written");
    }
    let written = fs::read_to_string(&path).expect("the page");
    assert_eq!(written, page(), "run this test with CORBIE_WRITE_PAGES=1");
}
