//! Repository ids: prefixes by file and scope, versions, pragmas, typeid and typeprefix.
//! CORBA 3.3 P1 §14.7.

mod support;

use corbie_frontend::Options;
use expect_test::expect;
use support::{check, check_files};

/// CORBA 3.3 P1 §14.7.5.2 and §14.7.5.4: the names after a prefix are relative to the scope of the
/// pragma. omniidl and JacORB give the same ids.
#[test]
fn prefixes_hold_to_the_end_of_their_scope() {
    check(
        r#"#pragma prefix "P1"
module M1 {
  typedef long T1;
#pragma prefix "P2"
  module M4 {
    typedef long T4;
  };
  typedef long T2;
};
typedef long T3;
#pragma prefix ""
typedef long T5;
"#,
        &expect![[r#"
            module M1 [IDL:P1/M1:1.0]
              typedef T1 = Long [IDL:P1/M1/T1:1.0]
              module M4 [IDL:P2/M4:1.0]
                typedef T4 = Long [IDL:P2/M4/T4:1.0]
              typedef T2 = Long [IDL:P2/T2:1.0]
            typedef T3 = Long [IDL:P1/T3:1.0]
            typedef T5 = Long [IDL:T5:1.0]
        "#]],
    );
}

#[test]
fn prefixes_of_inner_scopes_leave_out_the_outer_names() {
    let text = r#"#pragma prefix "P1"
module M1 {
  module M2 {
#pragma prefix "P2"
    interface I {
      exception E {};
    };
#pragma prefix ""
    struct S {};
  };
  typedef long T;
};
"#;
    check(
        text,
        &expect![[r#"
        module M1 [IDL:P1/M1:1.0]
          module M2 [IDL:P1/M1/M2:1.0]
            interface I [IDL:P2/I:1.0]
              exception E [IDL:P2/I/E:1.0]
            struct S [IDL:M1/M2/S:1.0]
          typedef T = Long [IDL:P1/M1/T:1.0]
    "#]],
    );
    // `typeprefix` is put before the whole name.
    check(
        &format!("{text}typeprefix M1::M2 \"P3\";"),
        &expect![[r#"
        module M1 [IDL:P1/M1:1.0]
          module M2 [IDL:P3/M1/M2:1.0]
            interface I [IDL:P3/M1/M2/I:1.0]
              exception E [IDL:P3/M1/M2/I/E:1.0]
            struct S [IDL:P3/M1/M2/S:1.0]
          typedef T = Long [IDL:P1/M1/T:1.0]
    "#]],
    );
}

#[test]
fn included_files_have_their_own_prefix() {
    check_files(
        &[
            (
                "main.idl",
                r#"#pragma prefix "main.org"
#include "b.idl"
struct A { B x; };
#include <c.idl>
interface I : C {};
"#,
            ),
            (
                "b.idl",
                r#"struct B {};
#pragma prefix "b.org"
struct B2 {};
"#,
            ),
            (
                "include/c.idl",
                r#"#pragma prefix "c.org"
#include "d.idl"
interface C : D {};
"#,
            ),
            (
                "include/d.idl",
                r#"interface D {};
"#,
            ),
        ],
        &Options::new(),
        &expect![[r#"
            struct A [IDL:main.org/A:1.0]
              x: B
            interface I : C [IDL:main.org/I:1.0]
        "#]],
    );
    let files = [
        (
            "main.idl",
            r#"#pragma prefix "main.org"
#include "b.idl"
"#,
        ),
        (
            "b.idl",
            r#"struct B {};
#pragma prefix "b.org"
struct B2 {};
"#,
        ),
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
        r#"module M {
  interface I { void f(); attribute long a; };
#pragma version I 2.3
  struct S {};
#pragma ID S "LOCAL:s:1"
#pragma ID I::f "IDL:f:9.9"
#pragma version M 1.1
  exception E {};
};
#pragma ID ::M::E "DCE:700dc518-0110-11ce-ac8f-0800090b5d3e:1"
#pragma version M::I 2.3
"#,
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
        r#"module M {
  interface I {};
  typeid I "IDL:special:1.0";
  typeprefix M "omg.org";
  interface J { struct S {}; };
};
module M { interface K {}; };
interface L {};
typeprefix L "l.org";
"#,
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
        r#"#pragma prefix "a"
module M { struct A {}; };
#pragma prefix "b"
module M { struct B {}; };
"#,
        &expect![[r#"
            module M [IDL:a/M:1.0]
              struct A [IDL:a/M/A:1.0]
              struct B [IDL:b/M/B:1.0]
        "#]],
    );
}
