//! The code generated for every IDL file that omniORB ships, and for our own test files, compiles
//! without warnings against the real façade.
//!
//! One crate with a module for each IDL file, one run of `cargo check`.

#[path = "support/generated_crate.rs"]
mod generated_crate;

use std::path::{Path, PathBuf};

use corbie_build::{Builder, OperationDemux};
use generated_crate::{GeneratedCrate, workspace};

/// Where Debian's omniorb-idl puts its files.
const OMNIORB: &str = "/usr/share/idl/omniORB";

/// The IDL files in a folder, in alphabetical order.
fn idl_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|error| {
        panic!("{}: {error}; install Debian's omniorb-idl", folder.display())
    });
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "idl"));
    files.sort();
    files
}

/// A module name for an IDL file: its folder's and its own name in lower case.
fn module_name(folder: &str, file: &Path) -> String {
    let stem = file.file_stem().expect("a name").to_string_lossy().to_lowercase();
    format!("{folder}_{}", stem.replace('-', "_"))
}

fn add(generated: &mut GeneratedCrate, builder: &Builder, folder: &str, file: &Path) {
    let output = builder.generate(file);
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    generated.module(&module_name(folder, file), &output.source);
}

/// A builder with everything switched on.
fn everything() -> Builder {
    Builder::new()
        .ami_callback(true)
        .ami_poller(true)
        .amh(true)
        .async_servants(true)
        .futures(true)
        .descriptions(true)
}

#[test]
fn every_omniorb_file_compiles_without_warnings() {
    let mut generated = GeneratedCrate::new("omniorb-idl");
    let root = Path::new(OMNIORB);
    let builder = Builder::new().include_path(root).include_path(root.join("COS"));
    let files = [("omniorb", idl_files(root)), ("cos", idl_files(&root.join("COS")))];
    let count: usize = files.iter().map(|(_, files)| files.len()).sum();
    assert!(count >= 71, "only {count} files in {OMNIORB}");
    for (folder, files) in &files {
        for file in files {
            add(&mut generated, &builder, folder, file);
        }
    }
    generated.cargo_ok(&["check"]);
}

/// The files that no other includes: in them is what all the others define.
fn outermost(files: &[PathBuf]) -> Vec<&PathBuf> {
    let texts: Vec<String> = files
        .iter()
        .map(|file| std::fs::read(file).expect("readable"))
        .map(|octets| String::from_utf8_lossy(&octets).into_owned())
        .collect();
    let is_included = |file: &Path| {
        let name = file.file_name().expect("a name").to_string_lossy();
        texts.iter().flat_map(|text| text.lines()).any(|line| {
            let included = line.trim_start().strip_prefix("#include").map(str::trim);
            included.is_some_and(|included| {
                included.trim_matches(['<', '>', '"']).rsplit('/').next() == Some(&*name)
            })
        })
    };
    files.iter().filter(|file| !is_included(file)).collect()
}

#[test]
#[ignore = "takes minutes and gigabytes: before a release, and when stubs change"]
fn asynchronous_forms_of_every_omniorb_definition_compile_without_warnings() {
    let root = Path::new(OMNIORB);
    let builder = everything().include_path(root).include_path(root.join("COS"));
    let files = [idl_files(root), idl_files(&root.join("COS"))].concat();
    let files = outermost(&files);
    assert!(files.len() > 10, "only {} files of {OMNIORB} are not included", files.len());
    // A crate of all of them at once would need gigabytes.
    for (at, part) in files.chunks(8).enumerate() {
        let mut generated = GeneratedCrate::new(&format!("omniorb-all-{at}"));
        for file in part {
            add(&mut generated, &builder, "all", file);
        }
        generated.cargo_ok(&["check"]);
    }
}

/// The services with the deepest inheritance, and one without prefix, with everything switched on.
/// All files would be 120 MB of code.
#[test]
fn services_compile_with_every_asynchronous_form() {
    let mut generated = GeneratedCrate::new("omniorb-all");
    let root = Path::new(OMNIORB);
    let builder = everything().include_path(root).include_path(root.join("COS"));
    for file in ["echo.idl", "COS/CosNaming.idl", "COS/CosTypedEventChannelAdmin.idl"] {
        add(&mut generated, &builder, "all", &root.join(file));
    }
    generated.cargo_ok(&["check"]);
}

#[test]
fn our_own_files_compile_and_document_without_warnings() {
    let mut generated = GeneratedCrate::new("own-idl");
    for file in idl_files(&workspace().join("idl/codegen/tests/idl")) {
        add(&mut generated, &Builder::new(), "own", &file);
        add(&mut generated, &everything(), "all", &file);
    }
    // The same again, with one module referred to where the lines above have put it.
    let file = workspace().join("idl/codegen/tests/idl/interfaces.idl");
    let there = "crate::own_interfaces::interfaces";
    let builder = Builder::new().extern_module("Interfaces", there);
    add(&mut generated, &builder, "extern", &file);
    let there = "crate::all_interfaces::interfaces";
    add(&mut generated, &everything().extern_module("Interfaces", there), "extern_all", &file);
    // All of them in one tree, and what a file includes in a tree of its own.
    let files = idl_files(&workspace().join("idl/codegen/tests/idl"));
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    generated.module("joined", &everything().generate_all(&files).expect("compiles").source);
    let including = workspace().join("idl/codegen/tests/idl/includes.idl");
    let builder = everything().extern_idl("includes_more.idl", "crate::all_includes_more");
    add(&mut generated, &builder, "sharing", &including);
    for (folder, demux) in
        [("binary", OperationDemux::BinarySearch), ("linear", OperationDemux::LinearSearch)]
    {
        add(&mut generated, &Builder::new().operation_demux(demux), folder, &file);
    }
    generated.cargo_ok(&["check"]);
    generated.cargo_ok(&["clippy"]);
    generated.cargo_ok(&["doc", "--no-deps"]);
}
