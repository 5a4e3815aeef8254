//! Repository ids: prefixes by file and scope, versions, pragmas, typeid and typeprefix.

mod support;

use corbie_frontend::Options;
use expect_test::expect;
use support::{check, check_files};

/// CORBA 3.3 P1 §14.7.5.2, its example.
#[test]
fn prefixes_hold_to_the_end_of_their_scope() {
    check(
        "#pragma prefix \"P1\"\nmodule M1 {\n  typedef long T1;\n#pragma prefix \"P2\"\n  module M4 {\n    typedef \
         long T4;\n  };\n  typedef long T2;\n};\ntypedef long T3;\n#pragma prefix \"\"\ntypedef long T5;\n",
        &expect![[r#"
            module M1 [IDL:P1/M1:1.0]
              typedef T1 = Long [IDL:P1/M1/T1:1.0]
              module M4 [IDL:P2/M1/M4:1.0]
                typedef T4 = Long [IDL:P2/M1/M4/T4:1.0]
              typedef T2 = Long [IDL:P2/M1/T2:1.0]
            typedef T3 = Long [IDL:P1/T3:1.0]
            typedef T5 = Long [IDL:T5:1.0]
        "#]],
    );
}

#[test]
fn included_files_have_their_own_prefix() {
    check_files(
        &[
            (
                "main.idl",
                "#pragma prefix \"main.org\"\n#include \"b.idl\"\nstruct A { B x; };\n#include \
             <c.idl>\ninterface I : C {};\n",
            ),
            ("b.idl", "struct B {};\n#pragma prefix \"b.org\"\nstruct B2 {};\n"),
            (
                "include/c.idl",
                "#pragma prefix \"c.org\"\n#include \"d.idl\"\ninterface C : D {};\n",
            ),
            ("include/d.idl", "interface D {};\n"),
        ],
        &Options::new(),
        &expect![[r#"
            struct A [IDL:main.org/A:1.0]
              x: B
            interface I : C [IDL:main.org/I:1.0]
        "#]],
    );
    let files = [
        ("main.idl", "#pragma prefix \"main.org\"\n#include \"b.idl\"\n"),
        ("b.idl", "struct B {};\n#pragma prefix \"b.org\"\nstruct B2 {};\n"),
    ];
    let mut loader = corbie_frontend::MemoryLoader::new();
    for (name, text) in files {
        loader = loader.file(name, text);
    }
    let model = corbie_frontend::compile("main.idl", &loader, &Options::new()).model;
    assert_eq!(model.find("B").unwrap().repository_id, "IDL:B:1.0");
    assert_eq!(model.find("B2").unwrap().repository_id, "IDL:b.org/B2:1.0");
}

#[test]
fn ids_and_versions() {
    check(
        "module M {\n  interface I { void f(); attribute long a; };\n#pragma version I 2.3\n  struct S {};\n#pragma \
         ID S \"LOCAL:s:1\"\n#pragma ID I::f \"IDL:f:9.9\"\n#pragma version M 1.1\n  exception E {};\n};\n#pragma ID \
         ::M::E \"DCE:700dc518-0110-11ce-ac8f-0800090b5d3e:1\"\n#pragma version M::I 2.3\n",
        &expect![[r#"
            module M [IDL:M:1.1]
              interface I [IDL:M/I:2.3]
                operation f() -> Void [IDL:f:9.9]
                attribute a: Long [IDL:M/I/a:1.0]
              struct S [LOCAL:s:1]
              exception E [DCE:700dc518-0110-11ce-ac8f-0800090b5d3e:1]
        "#]],
    );
}

#[test]
fn type_ids_and_prefixes() {
    check(
        "module M {\n  interface I {};\n  typeid I \"IDL:special:1.0\";\n  typeprefix M \"omg.org\";\n  interface J { \
         struct S {}; };\n};\nmodule M { interface K {}; };\ninterface L {};\ntypeprefix L \"l.org\";\n",
        &expect![[r#"
            module M [IDL:omg.org/M:1.0]
              interface I [IDL:special:1.0]
              interface J [IDL:omg.org/M/J:1.0]
                struct S [IDL:omg.org/M/J/S:1.0]
              interface K [IDL:omg.org/M/K:1.0]
            interface L [IDL:l.org/L:1.0]
        "#]],
    );
}

#[test]
fn reopened_modules_use_the_prefix_in_force() {
    check(
        "#pragma prefix \"a\"\nmodule M { struct A {}; };\n#pragma prefix \"b\"\nmodule M { struct B {}; };\n",
        &expect![[r#"
            module M [IDL:a/M:1.0]
              struct A [IDL:a/M/A:1.0]
              struct B [IDL:b/M/B:1.0]
        "#]],
    );
}
