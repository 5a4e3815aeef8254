//! The preprocessor: files, conditionals, macros, line numbers.
//! Most inputs hold IDL whose meaning shows what the preprocessor made of it.

mod support;

use corbie_frontend::{MemoryLoader, Options, compile};
use expect_test::expect;
use support::{check, check_files};

#[test]
fn conditionals() {
    check(
        r#"#define A 2
#if A == 2 && !defined(B) && defined A
const long C1 = 1;
#elif 1
#error no
#else
#error no
#endif
#ifdef B
'unclosed " don't
#if 1
#else
#endif
#elif A > 1
const long C2 = 2;
#endif
#ifndef A
/* #else
#endif */ x
#else
const long C3 = 3;
#endif
#if 0
#elif 0
#elif (1 ? 0x10 : 0) >> 4 == 1 || 1/0
const long C4 = 4;
#endif
#if UNKNOWN + 'a' - 97
#error no
#endif
#if (-1 < 0) && (~0 == -1) && (7 % 4 == 3) && 10ul
const long C5 = 5;
#endif
#
#ident "x"
"#,
        &expect![[r#"
            constant C1: Long = 1 [IDL:C1:1.0]
            constant C2: Long = 2 [IDL:C2:1.0]
            constant C3: Long = 3 [IDL:C3:1.0]
            constant C4: Long = 4 [IDL:C4:1.0]
            constant C5: Long = 5 [IDL:C5:1.0]
        "#]],
    );
}

#[test]
fn macros() {
    check(
        r#"#define ONE 1
#define ADD(a, b) ((a) + (b))
#define STR(x) #x
#define XSTR(x) STR(x)
#define GLUE(a, b) a##b
#define SELF SELF2 SELF
#define CALL(f, ...) f(__VA_ARGS__)
#define EMPTY()
#define F(x) G(x)
#define G(x) x + F
const long GLUE(va, lue) = ADD(ONE, ADD(2, 3));
const string S1 = STR(a "b" c);
const string S2 = XSTR(ONE);
const long L = CALL(ADD, 1, 2) EMPTY();
#define LIST long a; \
  long b;
struct S { LIST };
#undef ONE
const long ONE = 7;
#define ADD2 ADD
const long M = ADD2 (1,
  2);
const long ADD = 3;
#define F(x) G(x)
"#,
        &expect![[r#"
            constant value: Long = 6 [IDL:value:1.0]
            constant S1: string = "a \"b\" c" [IDL:S1:1.0]
            constant S2: string = "1" [IDL:S2:1.0]
            constant L: Long = 3 [IDL:L:1.0]
            struct S [IDL:S:1.0]
              a: Long
              b: Long
            constant ONE: Long = 7 [IDL:ONE:1.0]
            constant M: Long = 3 [IDL:M:1.0]
            constant ADD: Long = 3 [IDL:ADD:1.0]
        "#]],
    );
}

#[test]
fn lines_and_files() {
    check(
        r#"const long A = __LINE__;
const string B = __FILE__;
#line 100
const long C = __LINE__;
#line 200 "other.idl"
const long D = __LINE__; const string E = __FILE__; $
"#,
        &expect![[r#"
            constant A: Long = 1 [IDL:A:1.0]
            constant B: string = "test.idl" [IDL:B:1.0]
            constant C: Long = 100 [IDL:C:1.0]
            ----
            error[E0103]: `$` has no meaning in IDL
              --> other.idl:200:53
                 |
             200 | const long D = __LINE__; const string E = __FILE__; $
                 |                                                     ^
               = hint: remove it
        "#]],
    );
}

#[test]
fn lines_are_joined() {
    check(
        concat!(
            "const lo\\\nng A = 1\\\n2; // comment \\\ncontinues\n",
            "#define X \\\r\n  5\r\nconst long B = X;\r\n",
            "const string C = \"ab\\\ncd\";\n",
        ),
        &expect![[r#"
            constant A: Long = 12 [IDL:A:1.0]
            constant B: Long = 5 [IDL:B:1.0]
            constant C: string = "abcd" [IDL:C:1.0]
        "#]],
    );
}

#[test]
fn include_search() {
    check_files(
        &[
            (
                "sub/main.idl",
                r#"#include "a.idl"
#include <a.idl>
#define NAME <b.idl>
#include NAME
#include "/abs.idl" // comment
struct M { A1 x; A2 y; B z; Abs u; };
"#,
            ),
            (
                "sub/a.idl",
                r#"struct A1 {};
"#,
            ),
            (
                "include/a.idl",
                r#"#pragma once
struct A2 {};
#include <a.idl>
"#,
            ),
            (
                "include/b.idl",
                r#"#ifndef B_IDL
#define B_IDL
#include "b.idl"
struct B {};
#endif
"#,
            ),
            (
                "/abs.idl",
                r#"struct Abs {};
"#,
            ),
        ],
        &Options::new(),
        &expect![[r#"
            struct M [IDL:M:1.0]
              x: A1
              y: A2
              z: B
              u: Abs
        "#]],
    );
}

#[test]
fn errors_in_included_files_say_where_they_came_from() {
    check_files(
        &[
            (
                "main.idl",
                r#"
#include "a.idl"
"#,
            ),
            (
                "a.idl",
                r#"#include <b.idl>
"#,
            ),
            (
                "include/b.idl",
                r#"typedef Missing X;
"#,
            ),
        ],
        &Options::new(),
        &expect![[r#"
            ----
            error[E0301]: `Missing` is not defined
              --> include/b.idl:1:9
               |
             1 | typedef Missing X;
               |         ^^^^^^^
               = note: included from a.idl:1:10
               = note: included from main.idl:2:10
               = hint: define it before its first use, or #include the file that does
        "#]],
    );
}

#[test]
fn defines_of_the_command_line() {
    let mut options =
        Options::new().define("A").define("B=2 + 3").define("F(x)=x*2").define("GONE");
    options.undefines.push("GONE".into());
    check_files(
        &[(
            "main.idl",
            r#"const long X = A + B;
const long Y = F(4);
#ifdef GONE
#error
#endif
#ifndef __CORBIE_IDL__
#error
#endif
"#,
        )],
        &options,
        &expect![[r#"
            constant X: Long = 6 [IDL:X:1.0]
            constant Y: Long = 8 [IDL:Y:1.0]
        "#]],
    );
}

#[test]
fn preprocessed_text_is_understood() {
    check(
        r#"# 1 "test.idl"
# 1 "inc.idl" 1
#pragma prefix "inc"
struct Inc {};
# 2 "test.idl" 2
struct Main { Inc i; };
"#,
        &expect![[r#"
            struct Main [IDL:Main:1.0]
              i: Inc
        "#]],
    );
}

#[test]
fn character_sets() {
    check(
        "const string A = \"\u{e9}\";\n",
        &expect![[r#"
        constant A: string = "é" [IDL:A:1.0]
    "#]],
    );
    let latin = MemoryLoader::new().file("test.idl", b"const string A = \"\xe9\"; // \xff\n");
    expect![[r#"
        constant A: string = "é" [IDL:A:1.0]
    "#]]
    .assert_eq(&support::show(&compile("test.idl", &latin, &Options::new())));
    check(
        "\u{feff}const long A = 1;\n",
        &expect![[r#"
        constant A: Long = 1 [IDL:A:1.0]
    "#]],
    );
}

#[test]
fn unknown_pragmas_are_ignored() {
    check(
        r#"#pragma hh #include "x.h" don't
#pragma
#pragma ami on
struct S {};
"#,
        &expect![[r#"
            struct S [IDL:S:1.0]
        "#]],
    );
}

#[test]
fn a_missing_main_file() {
    check_files(
        &[(
            "main.idl",
            r#"#include <nope/nope.idl>
"#,
        )],
        &Options::new(),
        &expect![[r#"
        ----
        error[E0001]: there is no file `nope/nope.idl`
          --> main.idl:1:10
           |
         1 | #include <nope/nope.idl>
           |          ^^^^^^^^^^^^^^^
           = hint: add the folder that has it with -I (tried `include/nope/nope.idl`)
    "#]],
    );
    let none = compile("gone.idl", &MemoryLoader::new(), &Options::new());
    expect![[r#"
        error[E0001]: there is no file `gone.idl`
          --> gone.idl:1:1
           = hint: check the path

    "#]]
    .assert_eq(&none.render_diagnostics());
}
