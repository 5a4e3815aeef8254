//! Every IDL file that omniORB ships (its own and the OMG services) compiles without error, and means
//! what omniidl says that it means: names, repository ids, constants.

#[path = "support/files.rs"]
mod files;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use corbie_frontend::model::ConstValue;
use corbie_frontend::{DefinitionKind, Model, Options, compile};
use files::{idl_files, omniorb_folder, omniorb_loader};

#[test]
fn every_file_of_omniorb_compiles() {
    let folder = omniorb_folder();
    let loader = omniorb_loader(&folder);
    let files = idl_files(&folder);
    assert!(files.len() >= 60, "only {} files in {}", files.len(), folder.display());
    let mut faulty = String::new();
    let mut definitions = 0;
    for file in &files {
        let path = file.to_str().expect("the path is UTF-8");
        let compilation = compile(path, &loader, &Options::new());
        definitions += compilation.model.len();
        if compilation.has_errors() {
            faulty += &format!("== {path}\n{}", compilation.render_diagnostics());
        }
    }
    assert!(faulty.is_empty(), "{faulty}");
    assert!(definitions > 5_000, "only {definitions} definitions in all");
}

/// The lines that `support/corbie_ids.py` prints, from our model.
fn lines(model: &Model) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for definition in model.iter() {
        let forward = match &definition.kind {
            DefinitionKind::Interface(x) => x.forward_only,
            DefinitionKind::Module(_) | DefinitionKind::Factory(_) => continue,
            _ => false,
        };
        // omniidl has no way to ask for declarations that were never completed.
        if forward {
            continue;
        }
        let name = &definition.scoped_name;
        let place = if definition.in_main_file { "main" } else { "included" };
        lines.insert(format!("id {name} {} {place}", definition.repository_id));
        if let DefinitionKind::Constant(x) = &definition.kind {
            let value = match &x.value {
                ConstValue::Integer(value) => value.to_string(),
                ConstValue::Boolean(value) => u8::from(*value).to_string(),
                ConstValue::String(value) => value.clone(),
                ConstValue::Char(value) => value.to_string(),
                ConstValue::Fixed(value) => value.to_string(),
                _ => continue,
            };
            lines.insert(format!("const {name} {value}"));
        }
    }
    lines
}

/// What omniidl makes of a file; `None` when it refuses it.
fn omniidl(file: &Path, folder: &Path) -> Option<BTreeSet<String>> {
    let back_end = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support");
    let output = Command::new("omniidl")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(format!("-p{back_end}"))
        .arg("-bcorbie_ids")
        .arg(format!("-I{}", folder.display()))
        .arg(format!("-I{}", folder.join("COS").display()))
        .arg(file)
        .output()
        .expect("omniidl runs: install the Debian package omniidl");
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.lines().map(str::to_owned).collect())
}

#[test]
fn omniidl_understands_the_same() {
    let folder = omniorb_folder();
    let loader = omniorb_loader(&folder);
    let options = Options::new().define("__OMNIIDL__");
    let (mut compared, mut different) = (0, String::new());
    for file in idl_files(&folder) {
        let Some(theirs) = omniidl(&file, &folder) else { continue };
        let path = file.to_str().expect("the path is UTF-8");
        let ours = lines(&compile(path, &loader, &options).model);
        compared += theirs.len();
        for line in ours.symmetric_difference(&theirs) {
            let side = if ours.contains(line) { "only ours" } else { "only theirs" };
            different += &format!("{path}: {side}: {line}\n");
        }
    }
    assert!(different.is_empty(), "{different}");
    assert!(compared > 4_000, "only {compared} lines were compared");
}
