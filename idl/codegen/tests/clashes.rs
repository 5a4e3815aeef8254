//! Of names of the IDL that become one name in Rust the later one gives way, with a warning that has
//! both names and both places. `Options::renames` chooses other names.

use corbie_codegen::{Options, generate};
use corbie_frontend::MemoryLoader;

/// The messages of generating `idl`; empty when all is well.
fn messages(idl: &str, options: &Options) -> Vec<String> {
    let loader = MemoryLoader::new().file("a.idl", idl);
    let compilation = corbie_frontend::compile("a.idl", &loader, &corbie_frontend::Options::new());
    assert!(!compilation.has_errors(), "{}", compilation.render_diagnostics());
    let generated = generate(&compilation.model, options);
    assert_eq!(generated.has_errors(), generated.source.is_empty());
    generated.diagnostics.iter().map(|d| d.render(&compilation.model.sources)).collect()
}

/// The later name gives way: it becomes `given`.
#[track_caller]
fn check_clash(idl: &str, first: &str, second: &str, given: &str) {
    let messages = messages(idl, &Options::new());
    assert_eq!(messages.len(), 1, "{messages:?}");
    for name in [first, second, given] {
        assert!(messages[0].contains(&format!("`{name}`")), "{name}: {}", messages[0]);
    }
    assert!(messages[0].contains("rename"), "no hint: {}", messages[0]);
}

#[test]
fn types() {
    let idl = "module M { struct FooBar { long x; }; struct Foo_Bar { long x; }; };";
    check_clash(idl, "M::FooBar", "M::Foo_Bar", "FooBar_");
}

#[test]
fn members() {
    check_clash("struct S { long fooBar; long foo_bar; };", "S::fooBar", "S::foo_bar", "foo_bar_");
}

#[test]
fn enumerators() {
    check_clash("enum E { tkLong, tk_long };", "E::tkLong", "E::tk_long", "TkLong_");
}

#[test]
fn operations() {
    let idl = "interface I { void getIt(); long get_it(); };";
    check_clash(idl, "I::getIt", "I::get_it", "get_it_");
}

#[test]
fn parameters() {
    let idl = "interface I { void f(in long aB, in long a_b); };";
    check_clash(idl, "I::f::aB", "I::f::a_b", "a_b_");
}

#[test]
fn union_cases() {
    let idl = "union U switch (long) { case 1: long aB; case 2: long a_b; };";
    check_clash(idl, "U::aB", "U::a_b", "AB_");
}

#[test]
fn modules_and_modules_of_interfaces() {
    let idl = "interface FooBar { void f(); }; module foo_bar { struct S { long x; }; };";
    check_clash(idl, "FooBar", "foo_bar", "foo_bar_");
}

#[test]
fn the_c_idiom_of_a_tag_and_a_typedef() {
    check_clash("typedef struct test_ { long x; } test;", "test_", "test", "Test_");
}

#[test]
fn members_of_a_base() {
    let idl = "struct A { long aB; }; struct B : A { long a_b; };";
    check_clash(idl, "A", "B::a_b", "a_b_");
}

#[test]
fn a_constant_and_an_empty_exception() {
    check_clash("module M { exception X {}; const long x_ = 1; };", "M::X", "M::x_", "X_");
}

#[test]
fn a_rename_resolves_it() {
    let mut options = Options::new();
    options.renames = vec![("M::Foo_Bar".to_owned(), "OtherFooBar".to_owned())];
    let idl = "module M { struct FooBar { long x; }; struct Foo_Bar { long x; }; };";
    assert_eq!(messages(idl, &options), Vec::<String>::new());
}

#[test]
fn names_in_different_scopes_do_not_clash() {
    let idl = "module A { struct X { long a; }; }; module B { struct X { long a; }; };
               interface I { struct X { long a; }; void f(in long a); void g(in long a); };";
    assert_eq!(messages(idl, &Options::new()), Vec::<String>::new());
}
