//! Habits of the IDL of real projects, each with what the front end says or makes of it.

mod support;

use corbie_frontend::{MemoryLoader, Options, compile};
use support::{compile_text, show};

/// One line for each diagnostic, with its hint.
fn told(text: &str, options: &Options) -> Vec<String> {
    let compilation = compile("a.idl", &MemoryLoader::new().file("a.idl", text), options);
    compilation
        .diagnostics
        .iter()
        .map(|d| format!("{}: {} | {}", d.code, d.message, d.hint))
        .collect()
}

#[track_caller]
fn accepted(text: &str) -> String {
    let compilation = compile_text(text);
    assert!(compilation.diagnostics.is_empty(), "{}", compilation.render_diagnostics());
    show(&compilation)
}

#[track_caller]
fn refused(text: &str, code: &str, part: &str) {
    let told = told(text, &Options::new());
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with(code) && told[0].contains(part), "{told:?}");
}

#[test]
fn names_that_differ_by_case_only_are_allowed_when_asked_for() {
    let text = "module M { struct Point { long x; }; interface point { void X(in Point p); void x(); }; };";
    let told_of = told(text, &Options::new());
    assert!(told_of.iter().all(|line| line.contains("--allow-case-clash")), "{told_of:?}");
    assert!(!told_of.is_empty());
    let mut options = Options::new();
    options.allow_case_clash = true;
    assert_eq!(told(text, &options), Vec::<String>::new());
    // A name is then found as it is written only.
    let told_of = told("typedef long Number; typedef NUMBER Other;", &options);
    assert!(told_of[0].starts_with("E0301: `NUMBER` is not defined"), "{told_of:?}");
}

#[test]
fn typeid_and_typeprefix_take_names_from_the_root() {
    let shown = accepted(
        "module gleep { interface floop {}; interface other {}; };\n\
         typeprefix ::gleep \"y\"; typeid ::gleep::floop \"IDL:x/floop:2.0\";",
    );
    assert!(
        shown.contains("IDL:x/floop:2.0") && shown.contains("IDL:y/gleep/other:1.0"),
        "{shown}"
    );
}

#[test]
fn import_is_honoured_or_refused() {
    accepted("module A { struct S { long x; }; }; import ::A; import A::S; typedef A::S T;");
    refused("import ::Missing;", "E0301", "`Missing`");
    refused("import \"a.idl\";", "E0205", "#include");
}

#[test]
fn a_typedef_like_a_sized_integer_leaves_the_integer_alone() {
    let shown = accepted("typedef int8 _Int8; struct S { int8 a; Int8 b; };");
    assert!(shown.contains("a: Int8") && shown.contains("b: Int8"), "{shown}");
    // Older IDL defines the very word.
    let shown = show(&compile_text("typedef long int32; struct S { int32 a; };"));
    assert!(shown.contains("a: int32"), "{shown}");
}

#[test]
fn operations_take_no_types_without_names() {
    refused("interface I { sequence<long> f(); };", "E0421", "return a sequence");
    refused("interface I { void f(in sequence<long> x); };", "E0421", "typedef");
    refused("interface I { attribute sequence<long> x; };", "E0421", "sequence");
    accepted("typedef sequence<long> L; interface I { L f(in string<5> x); };");
}

#[test]
fn annotations_are_checked_and_stand_before_bounds() {
    refused("@bit_bound(65) enum E { A, B };", "E0422", "1 to 64");
    refused("@bit_bound(0) enum E { A, B };", "E0422", "1 to 64");
    refused("@bit_bound enum E { A, B };", "E0422", "1 to 64");
    accepted("@bit_bound(8) enum E { A, B };");
    let shown = accepted("struct S { long a @mine [3] @yours [4]; long b[@mine 5]; };");
    assert!(shown.contains("a: Int32[3][4]") || shown.contains("[3][4]"), "{shown}");
    assert!(shown.contains("[5]"), "{shown}");
}

#[test]
fn a_missing_file_is_reported_once_with_what_it_may_define() {
    let text = "#include \"gone.idl\"\nstruct S { Gone a; Lost b; };\n";
    let told_of = told(text, &Options::new());
    assert_eq!(told_of.len(), 1, "{told_of:?}");
    assert_eq!(told_of[0].matches("gone.idl").count(), 2, "{told_of:?}");
    let compilation = compile_text("#include \"gone.idl\"\nstruct S { Gone a; };\n");
    assert_eq!(compilation.diagnostics[0].notes[0].position.line, 2);
}

#[test]
fn a_path_that_was_tried_is_listed_once() {
    let loader = MemoryLoader::new().file("d/a.idl", "#include \"gone.idl\"\n").include_path("d/");
    let compilation = compile("d/a.idl", &loader, &Options::new());
    assert_eq!(compilation.diagnostics[0].hint.matches("d/gone.idl").count(), 1);
}

#[test]
fn articles_agree_with_their_words() {
    refused("exception X {}; struct S { X a; };", "E0309", "but an exception");
    refused("enum E { A }; interface I { void f() raises (E); };", "E0309", "but an enum");
    refused(
        "union U switch (long) { case 1: long a; }; interface I : U {};",
        "E0309",
        "but a union",
    );
}

#[test]
fn a_form_for_older_compilers_is_offered() {
    let text = "#ifdef _PRE_3_0_COMPILER_\ntypedef long T;\n#else\ntypedef nonsense T;\n#endif\n";
    let told_of = told(text, &Options::new());
    assert!(told_of[0].contains("-D_PRE_3_0_COMPILER_"), "{told_of:?}");
    assert_eq!(told(text, &Options::new().define("_PRE_3_0_COMPILER_")), Vec::<String>::new());
}
