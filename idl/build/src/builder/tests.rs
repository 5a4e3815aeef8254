//! Tests of the build script API on files in a temporary folder: what is written, what cargo is told,
//! and what errors say.

use std::fs;
use std::path::{Path, PathBuf};

use super::Builder;
use crate::Error;

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("corbie-build-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("inc")).expect("a folder");
        Folder(folder)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).expect("writable");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn compile(builder: &Builder, files: &[&Path]) -> (Result<(), Error>, Vec<String>) {
    let mut told = Vec::new();
    let result = builder.compile_and_tell(files, &mut |line| told.push(line.to_owned()));
    (result, told)
}

#[test]
fn every_file_read_is_watched_and_the_code_is_written() {
    let folder = Folder::new("watched");
    let more = folder.write("inc/more.idl", "module More { typedef long Number; };");
    let main = folder.write(
        "main.idl",
        "#include <more.idl>\n#ifdef WIDE\ninterface Wide { More::Number n(); };\n#endif\n",
    );
    let out = folder.0.join("out/deep");
    let builder = Builder::new().include_path(folder.0.join("inc")).out_dir(&out).define("WIDE");
    let (result, told) = compile(&builder, &[&main]);
    result.expect("compiles");
    for file in [&main, &more] {
        let line = format!("rerun-if-changed={}", file.display());
        assert!(told.contains(&line), "{line}: {told:?}");
    }
    let source = fs::read_to_string(out.join("main.rs")).expect("the output");
    assert!(source.contains("pub mod more"), "{source}");
    assert!(source.contains("pub trait WideServant"), "{source}");

    // The same again leaves the file as it is, so that cargo compiles nothing.
    let before = fs::metadata(out.join("main.rs")).expect("there").modified().expect("a time");
    compile(&builder, &[&main]).0.expect("compiles");
    let after = fs::metadata(out.join("main.rs")).expect("there").modified().expect("a time");
    assert_eq!(before, after);

    let builder = Builder::new().include_path(folder.0.join("inc")).out_dir(&out);
    compile(&builder.define("WIDE").undefine("WIDE"), &[&main]).0.expect("compiles");
    let source = fs::read_to_string(out.join("main.rs")).expect("the output");
    assert!(!source.contains("WideServant"), "{source}");
}

#[test]
fn errors_are_shown_as_the_front_end_shows_them() {
    let folder = Folder::new("errors");
    let main = folder.write("bad.idl", "struct S { Missing x; };\nstruct T { Lost y; };\n");
    let builder = Builder::new().out_dir(&folder.0);
    let (result, told) = compile(&builder, &[&main]);
    let text = result.expect_err("has errors").to_string();
    for part in ["`Missing`", "`Lost`", "bad.idl:1:12", "bad.idl:2:12", "^^^^^^^"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(told, [format!("rerun-if-changed={}", main.display())]);
    assert!(!folder.0.join("bad.rs").exists());
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let folder = Folder::new("missing");
    let missing = folder.0.join("none.idl");
    let text = compile(&Builder::new().out_dir(&folder.0), &[&missing]).0;
    assert!(text.expect_err("missing").to_string().contains("none.idl"));
    let main = folder.write("main.idl", "#include \"gone.idl\"\n");
    let text = compile(&Builder::new().out_dir(&folder.0), &[&main]).0;
    let text = text.expect_err("missing").to_string();
    assert!(text.contains("gone.idl") && text.contains("main.idl:1"), "{text}");
}

#[test]
fn two_files_of_one_name_are_refused_unless_the_output_has_another() {
    let folder = Folder::new("same");
    let one = folder.write("a.idl", "const long A = 1;");
    let two = folder.write("inc/a.idl", "const long B = 1;");
    let builder = Builder::new().out_dir(&folder.0);
    let error = compile(&builder, &[&one, &two]).0.expect_err("two files of one name");
    assert!(matches!(error, Error::SameOutput(_, _)), "{error:?}");
    for file in [&one, &two] {
        assert!(error.to_string().contains(&file.display().to_string()), "{error}");
    }
    assert!(!folder.0.join("a.rs").exists());
    compile(&builder.output("both"), &[&one, &two]).0.expect("another name");
    let source = fs::read_to_string(folder.0.join("both.rs")).expect("the output");
    assert!(source.contains("const A") && source.contains("const B"), "{source}");
}

#[test]
fn several_files_make_one_tree() {
    let folder = Folder::new("tree");
    folder.write("common.idl", "module M { struct Shared { long x; }; };");
    let text = |name: &str| {
        format!("#include \"common.idl\"\nmodule M {{ interface {name} {{ Shared get(); }}; }};")
    };
    let a = folder.write("a.idl", &text("A"));
    let b = folder.write("b.idl", &text("B"));
    let (result, told) = compile(&Builder::new().out_dir(&folder.0), &[&a, &b]);
    result.expect("compiles");
    for name in ["a.idl", "b.idl", "common.idl"] {
        assert!(told.iter().any(|line| line.ends_with(name)), "{name}: {told:?}");
    }
    let source = fs::read_to_string(folder.0.join("a.rs")).expect("the output");
    for once in ["pub mod m {", "pub struct Shared {", "trait AServant", "trait BServant"] {
        assert_eq!(source.matches(once).count(), 1, "{once}: {source}");
    }
    let other = fs::read_to_string(folder.0.join("b.rs")).expect("a hint");
    assert!(other.starts_with("compile_error!") && other.contains("`a`"), "{other}");
}

#[test]
fn an_included_file_may_be_elsewhere() {
    let folder = Folder::new("elsewhere");
    folder.write("base.idl", "module M { typedef long Base; };");
    folder.write("common.idl", "#include \"base.idl\"\nmodule M { interface I { Base f(); }; };");
    let main = folder.write(
        "main.idl",
        "#include \"common.idl\"\nmodule M { interface J : I { Base g(in I an_i); }; };",
    );
    let builder = Builder::new().out_dir(&folder.0);
    compile(&builder.clone().extern_idl("common.idl", "my_common::idl"), &[&main])
        .0
        .expect("compiles");
    let source = fs::read_to_string(folder.0.join("main.rs")).expect("the output");
    assert!(!source.contains("trait IServant") && !source.contains("type Base"), "{source}");
    assert!(source.contains("trait JServant: my_common::idl::m::IServant"), "{source}");
    assert!(source.contains("my_common::idl::m::Base"), "{source}");
    // A file with a place of its own.
    let both = builder.clone().extern_idl("common.idl", "my_common").extern_idl("base.idl", "base");
    compile(&both, &[&main]).0.expect("compiles");
    let source = fs::read_to_string(folder.0.join("main.rs")).expect("the output");
    assert!(source.contains("my_common::m::I") && source.contains("<base::m::Base"), "{source}");
    let error = compile(&builder.extern_idl("comon.idl", "my_common"), &[&main]).0;
    let error = error.expect_err("no such file").to_string();
    assert!(error.contains("E0603") && error.contains("`comon.idl`"), "{error}");
}

#[test]
fn what_a_file_adds_to_an_extern_module_is_generated() {
    let folder = Folder::new("reopened");
    folder.write("lib.idl", "module Lib { struct Old { long x; }; interface I {}; };");
    let main = folder.write(
        "main.idl",
        "#include \"lib.idl\"\nmodule Lib { struct New { Old was; }; struct IServant { I it; }; };",
    );
    let builder = Builder::new().out_dir(&folder.0).extern_module("Lib", "crate::lib");
    compile(&builder, &[&main]).0.expect("compiles");
    let source = fs::read_to_string(folder.0.join("main.rs")).expect("the output");
    assert!(source.contains("pub struct New") && !source.contains("struct Old"), "{source}");
    assert!(source.contains("pub was: crate::lib::Old"), "{source}");
    assert!(source.contains("pub struct IServant {"), "{source}");
}

#[test]
fn clashes_are_warnings_that_say_which_name_gave_way() {
    let folder = Folder::new("clash");
    let main = folder.write("clash.idl", "struct S { long aB; long a_b; };");
    let builder = Builder::new().out_dir(&folder.0);
    let (result, told) = compile(&builder, &[&main]);
    result.expect("compiles");
    let warning = told.iter().find(|line| line.starts_with("warning=")).expect("a warning");
    for part in ["`S::aB`", "`S::a_b`", "`a_b_`"] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    let source = fs::read_to_string(folder.0.join("clash.rs")).expect("the output");
    assert!(source.contains("pub a_b: i32") && source.contains("pub a_b_: i32"), "{source}");
    compile(&builder.clone().rename("S::aB", "a_big"), &[&main]).0.expect("renamed");
    let source = fs::read_to_string(folder.0.join("clash.rs")).expect("the output");
    assert!(source.contains("pub a_big: i32"), "{source}");
    let result = compile(&builder.derive("1 2"), &[&main]).0;
    assert!(matches!(result, Err(Error::Option(_))), "{result:?}");
}

#[test]
fn warnings_reach_cargo_on_one_line_each() {
    let folder = Folder::new("warnings");
    let main = folder.write("c.idl", "component C { attribute long x; };\n");
    let (result, told) = compile(&Builder::new().out_dir(&folder.0), &[&main]);
    result.expect("compiles");
    let warnings: Vec<&String> = told.iter().filter(|line| line.starts_with("warning=")).collect();
    assert_eq!(warnings.len(), 1, "{told:?}");
    assert!(warnings[0].contains("c.idl:1:11"), "{warnings:?}");
    assert!(!warnings[0].contains('\n'));
}

#[test]
fn what_is_not_supported_is_said() {
    let folder = Folder::new("components");
    let text = "valuetype Node { public long x; }; valuetype Boxed string; component Part {};";
    let main = folder.write("components.idl", text);
    let (result, told) = compile(&Builder::new().out_dir(&folder.0), &[&main]);
    result.expect("compiles");
    let warned = |name: &str| told.iter().filter(|line| line.contains(name)).count();
    assert_eq!((warned("`Part`"), warned("`Node`"), warned("`Boxed`")), (1, 0, 0), "{told:?}");
}

#[test]
fn names_that_differ_by_case_only_get_names_of_their_own() {
    let folder = Folder::new("case");
    let text = "module M { interface Point { void f(); }; module point { typedef long T; }; };";
    let main = folder.write("case.idl", text);
    let builder = Builder::new().out_dir(&folder.0);
    let error = compile(&builder, &[&main]).0.expect_err("differ by case only").to_string();
    assert!(error.contains("E0303") && error.contains("allow_case_clash"), "{error}");
    compile(&builder.allow_case_clash(true), &[&main]).0.expect("allowed");
    let source = fs::read_to_string(folder.0.join("case.rs")).expect("the output");
    assert!(
        source.contains("pub mod point_ {") && source.contains("pub struct Point("),
        "{source}"
    );
}
