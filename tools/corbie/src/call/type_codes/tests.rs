//! TypeCodes of whole IDL files: complete, named again, and unchanged by a way through the wire.
//!
//! The file of the end-to-end tests always, and every file that omniORB ships where it is there.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use corbie::Marshal;
use corbie::cdr::{ByteOrder, Decoder, Encoder};
use corbie_build::FileLoader;
use corbie_frontend::{Compilation, Options, compile};

use super::*;

const SHIPPED: &str = "/usr/share/idl/omniORB";

fn compiled(file: &Path) -> Compilation {
    let loader = FileLoader::new(&[PathBuf::from(SHIPPED), PathBuf::from(SHIPPED).join("COS")]);
    let compilation = compile(&file.to_string_lossy(), &loader, &Options::new());
    assert!(!compilation.has_errors(), "{}", compilation.render_diagnostics());
    compilation
}

fn through_the_wire(type_code: &TypeCode) -> TypeCode {
    let mut e = Encoder::native();
    TypeCode::encode(type_code, &mut e).expect("a TypeCode can be sent");
    let octets = e.to_vec();
    TypeCode::decode(&mut Decoder::new(&octets, ByteOrder::NATIVE)).expect("and received")
}

/// Checks every type of the file; how many there were.
fn check_types(file: &Path) -> usize {
    let compilation = compiled(file);
    let type_codes = TypeCodes::new(&compilation.model);
    let types = compilation.model.iter().filter(|d| is_type(&d.kind));
    let mut checked = 0;
    for definition in types {
        let name = &definition.scoped_name;
        let Some(Ok(type_code)) = type_codes.named(name) else {
            continue; // natives, local interfaces, and what contains them
        };
        checked += 1;
        assert!(type_code.is_complete(), "{name}");
        assert_eq!(type_code.id(), definition.repository_id, "{name}");
        assert_eq!(type_codes.name_of(&type_code), Some(name.as_str()));
        assert_eq!(through_the_wire(&type_code), type_code, "{name}");
    }
    checked
}

#[test]
fn every_type_of_the_test_file() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/idl/every_type.idl");
    assert_eq!(check_types(&file), 21);
}

#[test]
fn every_type_that_omniorb_ships() {
    let folder = Path::new(SHIPPED).join("COS");
    let Ok(files) = std::fs::read_dir(&folder) else {
        // Past the capture of test output, so that a run says what it did not try.
        let _ = writeln!(std::io::stderr(), "missing peer: {SHIPPED} (package omniorb-idl)");
        return;
    };
    let files = files.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let checked: usize =
        files.filter(|f| f.extension().is_some_and(|e| e == "idl")).map(|f| check_types(&f)).sum();
    assert!(checked > 500, "only {checked} types in {}", folder.display());
}

#[test]
fn inherited_members_come_first() {
    let compilation = compile(
        "s.idl",
        &corbie_frontend::MemoryLoader::new()
            .file("s.idl", "struct A { long a; }; struct B : A { long b; };"),
        &Options::new(),
    );
    let type_code = TypeCodes::new(&compilation.model).named("B").unwrap().unwrap();
    let names: Vec<String> = type_code.members().into_iter().map(|m| m.name).collect();
    assert_eq!(names, ["a", "b"]);
}
