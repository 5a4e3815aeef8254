//! Several files compiled into one model: each definition once, each file as if compiled alone.

mod support;

use corbie_frontend::{Compilation, MemoryLoader, Options, compile_all};

/// Compiles the files whose names do not begin with `inc`, in order.
fn join(files: &[(&str, &str)]) -> Compilation {
    let mut loader = MemoryLoader::new().include_path("inc");
    for (name, text) in files {
        loader = loader.file(*name, *text);
    }
    let mains: Vec<&str> =
        files.iter().map(|(name, _)| *name).filter(|name| !name.starts_with("inc")).collect();
    compile_all(&mains, &loader, &Options::new())
}

#[track_caller]
fn names(compilation: &Compilation) -> Vec<String> {
    assert!(compilation.diagnostics.is_empty(), "{}", compilation.render_diagnostics());
    compilation.model.iter().map(|definition| definition.scoped_name.clone()).collect()
}

#[track_caller]
fn errors(compilation: &Compilation) -> Vec<String> {
    compilation
        .diagnostics
        .iter()
        .map(|d| format!("{} {}: {}", d.code, d.position, d.message))
        .collect()
}

const COMMON: &str = "#ifndef COMMON\n#define COMMON\n#pragma prefix \"x.org\"\n\
                      module M { struct S { long a; }; };\n#endif\n";

#[test]
fn what_two_files_include_is_there_once() {
    let joined = join(&[
        ("a.idl", "#include \"common.idl\"\nmodule M { interface A { S get(); }; };"),
        ("b.idl", "#include <common.idl>\nmodule M { interface B { S get(); }; };"),
        ("inc/common.idl", COMMON),
        ("common.idl", COMMON),
    ]);
    // `common.idl` is compiled itself, last; `<common.idl>` is another file of the same text.
    assert_eq!(errors(&joined).len(), 1, "{:?}", errors(&joined));
    let joined = join(&[
        ("a.idl", "#include <common.idl>\nmodule M { interface A { S get(); }; };"),
        ("b.idl", "#include <../inc/./common.idl>\nmodule M { interface B { S get(); }; };"),
        ("inc/../inc/./common.idl", COMMON),
        ("inc/common.idl", COMMON),
    ]);
    assert_eq!(names(&joined), ["M", "M::S", "M::A", "M::A::get", "M::B", "M::B::get"]);
    let model = &joined.model;
    assert_eq!(model.find("M::S").unwrap().repository_id, "IDL:x.org/M/S:1.0");
    assert_eq!(model.find("M::B").unwrap().repository_id, "IDL:M/B:1.0");
    assert!(model.find("M::A").unwrap().in_main_file && model.find("M::B").unwrap().in_main_file);
    assert!(!model.find("M::S").unwrap().in_main_file);
}

#[test]
fn a_file_without_guards_is_there_once_too() {
    let common = "module M { typedef long T; };";
    let joined = join(&[
        ("a.idl", "#include <common.idl>\ntypedef M::T A;"),
        ("b.idl", "#include <common.idl>\ntypedef M::T B;"),
        ("inc/common.idl", common),
    ]);
    assert_eq!(names(&joined), ["M", "M::T", "A", "B"]);
}

#[test]
fn a_file_may_be_compiled_and_included_in_either_order() {
    let (a, b) = ("struct S { long x; };\n", "#include \"a.idl\"\ntypedef S T;\n");
    for files in [[("a.idl", a), ("b.idl", b)], [("b.idl", b), ("a.idl", a)]] {
        let joined = join(&files);
        assert_eq!(names(&joined), ["S", "T"]);
        assert!(joined.model.find("S").unwrap().in_main_file);
    }
}

#[test]
fn macros_of_one_file_do_not_reach_the_next() {
    let joined = join(&[
        ("a.idl", "#define LONG short\ntypedef LONG A;"),
        ("b.idl", "#ifdef LONG\n#error leaked\n#endif\ntypedef long B;"),
    ]);
    assert_eq!(names(&joined), ["A", "B"]);
}

#[test]
fn a_file_does_not_see_what_it_does_not_include() {
    let joined = join(&[
        ("a.idl", "struct S { long x; };\nmodule M { typedef short Number; };"),
        ("b.idl", "typedef S T;\ntypedef M::Number N;"),
    ]);
    assert_eq!(
        errors(&joined),
        ["E0301 b.idl:1:9: `S` is not defined", "E0301 b.idl:2:9: `M` is not defined"]
    );
    // What a file means is what it means alone, whatever another file adds to the module.
    let joined = join(&[
        ("a.idl", "module M { typedef short Number; };"),
        ("b.idl", "typedef double Number; module M { struct S { Number n; }; };"),
    ]);
    assert_eq!(names(&joined), ["M", "M::Number", "Number", "M::S"]);
    let shown = support::show(&joined);
    assert!(shown.contains("n: Number"), "{shown}");
}

#[test]
fn forward_declarations_meet_their_definition() {
    let joined = join(&[
        ("a.idl", "interface X { void f(); };"),
        ("b.idl", "interface X; interface Y { X get(); };"),
    ]);
    assert_eq!(names(&joined), ["X", "X::f", "Y", "Y::get"]);
}

#[test]
fn text_included_inside_a_module_is_defined_in_each() {
    let joined = join(&[
        ("a.idl", "module A {\n#include <body.idl>\n};"),
        ("b.idl", "module B {\n#include <body.idl>\n};"),
        ("inc/body.idl", "typedef long T;"),
    ]);
    assert_eq!(names(&joined), ["A", "A::T", "B", "B::T"]);
}

#[test]
fn two_meanings_of_one_name_are_refused_with_both_places() {
    let joined = join(&[("a.idl", "struct S { long x; };"), ("b.idl", "struct S { short x; };")]);
    assert_eq!(errors(&joined), ["E0302 b.idl:1:8: `S` is already defined in this scope"]);
    assert_eq!(joined.diagnostics[0].notes[0].position.to_string(), "a.idl:1:8");
    // The same file with other macros.
    let joined = join(&[
        ("a.idl", "#include <c.idl>"),
        ("b.idl", "#define WIDE\n#include <c.idl>"),
        ("inc/c.idl", "struct S {\n#ifdef WIDE\nlong x;\n#else\nshort x;\n#endif\n};"),
    ]);
    assert_eq!(errors(&joined), ["E0302 inc/c.idl:1:8: `S` is already defined in this scope"]);
    assert!(joined.diagnostics[0].hint.contains("same macros"), "{:?}", joined.diagnostics);
}

#[test]
fn dozens_of_files_share_what_they_include() {
    let bodies: Vec<(String, String)> = (0..40)
        .map(|n| {
            let before = (n.max(3) - 3..n).map(|m| format!("#include \"f{m}.idl\"\n"));
            let text =
                format!("{}module F {{ interface I{n} {{}}; }};", before.collect::<String>());
            (format!("f{n}.idl"), format!("#pragma once\n{text}"))
        })
        .collect();
    let files: Vec<(&str, &str)> = bodies.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let joined = join(&files);
    assert_eq!(names(&joined).len(), 41);
}
