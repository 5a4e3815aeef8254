//! The questions that generators ask of a model.
//! Bases, aliases, recursion, order, locality, files.

mod support;

use corbie_frontend::{DefId, Model, Type};
use support::compile_text;

fn model(text: &str) -> Model {
    let compilation = compile_text(text);
    assert_eq!(compilation.render_diagnostics(), "");
    compilation.model
}

fn id(model: &Model, name: &str) -> DefId {
    model.find(name).unwrap_or_else(|| panic!("no {name}")).id
}

fn names(model: &Model, ids: &[DefId]) -> Vec<String> {
    ids.iter().map(|id| model[*id].scoped_name.clone()).collect()
}

#[test]
fn bases_and_operations() {
    let model = model(
        r#"interface A { void fa(); attribute long x; typedef long T; };
interface B : A { void fb(); };
interface C : A { void fc(); };
interface D : B, C { void fd(); };
"#,
    );
    let d = id(&model, "D");
    assert_eq!(names(&model, &model.all_bases(d)), ["B", "A", "C"]);
    assert_eq!(
        names(&model, &model.all_operations(d)),
        ["D::fd", "B::fb", "A::fa", "A::x", "C::fc"]
    );
    assert!(model.is_a(d, id(&model, "A")));
    assert!(model.is_a(d, d));
    assert!(!model.is_a(id(&model, "A"), d));
}

#[test]
fn aliases() {
    let model = model("typedef sequence<long> A; typedef A B; typedef B C[2]; struct S { C m; };");
    let named = |name: &str| Type::Named(id(&model, name));
    assert_eq!(
        model.resolve_alias(&named("B")),
        &Type::Sequence { element: Box::new(Type::Long), bound: None }
    );
    assert_eq!(
        model.resolve_alias(&named("C")),
        &Type::Array { element: Box::new(named("B")), dims: vec![2] }
    );
    assert_eq!(model.resolve_alias(&named("S")), &named("S"));
    assert_eq!(model.resolve_alias(&Type::Any), &Type::Any);
}

#[test]
fn recursion() {
    let model = model(
        r#"struct N; typedef sequence<N> Ns; struct N { Ns children; };
struct Flat { long a; };
union U switch (long) { case 1: sequence<U> m; };
valuetype V { public V next; };
interface I { struct R { I m; }; };
struct Holds { N m; };
"#,
    );
    let recursive = |name: &str| model.is_recursive(id(&model, name));
    assert!(recursive("N") && recursive("U") && recursive("V") && recursive("Ns"));
    assert!(!recursive("Flat") && !recursive("I::R") && !recursive("Holds"));
    assert!(model.reaches(id(&model, "Holds"), id(&model, "N")));
}

#[test]
fn dependency_order_puts_parts_first() {
    let model = model(
        r#"union U; typedef sequence<U> Us;
struct A { Us m; };
struct L { long m; };
union U switch (long) { case 1: A x; case 2: L y; };
"#,
    );
    let order = model.dependency_order();
    assert_eq!(order.len(), model.len());
    let place = |name: &str| order.iter().position(|x| *x == id(&model, name)).unwrap();
    assert!(place("L") < place("U"));
    assert!(place("Us") < place("A"));
}

#[test]
fn local_types() {
    let model = model(
        r#"local interface L {}; interface R {}; native N;
typedef sequence<L> Ls; struct S { L m; }; struct T { R m; };
"#,
    );
    let local = |name: &str| model.is_local(&Type::Named(id(&model, name)));
    assert!(local("L") && local("N") && local("Ls") && local("S"));
    assert!(!local("R") && !local("T"));
}

#[test]
fn main_file_and_included_files() {
    let loader = corbie_frontend::MemoryLoader::new()
        .file(
            "dir/main.idl",
            r#"#include "inc.idl"
module M { struct Mine {}; };
"#,
        )
        .file(
            "dir/inc.idl",
            r#"module M { struct Theirs {}; };
module Other {};
"#,
        );
    let options = corbie_frontend::Options::new();
    let model = corbie_frontend::compile("dir/main.idl", &loader, &options).model;
    let main = |name: &str| model.find(name).unwrap().in_main_file;
    assert!(main("M") && main("M::Mine"));
    assert!(!main("M::Theirs") && !main("Other"));
    let position = &model.find("M::Theirs").unwrap().position;
    assert_eq!(position.to_string(), "dir/inc.idl:1:19");
    assert_eq!(model.find("::M::Mine").unwrap().position.to_string(), "dir/main.idl:2:19");
}

#[test]
fn models_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<corbie_frontend::Compilation>();
}

#[test]
fn the_file_that_was_preprocessed_is_the_main_file() {
    let text =
        "# 1 \"dir/a.idl\"\n# 1 \"b.idl\" 1\nstruct B {};\n# 2 \"dir/a.idl\" 2\nstruct A {};\n";
    let model = model(text);
    assert!(model.find("A").is_some_and(|d| d.in_main_file));
    assert!(model.find("B").is_some_and(|d| !d.in_main_file));
}

#[test]
fn compilation_is_deterministic() {
    let text = r#"
interface A { void f(); void g(); }; interface B { void f(); void g(); };
interface C : A, B {};
"#;
    let first = format!("{:?}", compile_text(text).diagnostics);
    for _ in 0..20 {
        assert_eq!(format!("{:?}", compile_text(text).diagnostics), first);
    }
}
