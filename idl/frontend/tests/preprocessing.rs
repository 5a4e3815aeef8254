//! The preprocessor: files, conditionals, macros, line numbers.

mod support;

use corbie_frontend::{MemoryLoader, Options, compile};
use expect_test::expect;
use support::{check, check_files};

#[test]
fn conditionals() {
    check(
        "#define A 2\n#if A == 2 && !defined(B) && defined A\nconst long C1 = 1;\n#elif 1\n#error no\n#else\n#error \
         no\n#endif\n#ifdef B\n'unclosed \" don't\n#if 1\n#else\n#endif\n#elif A > 1\nconst long C2 = 2;\n#endif\n#ifndef \
         A\n/* #else\n#endif */ x\n#else\nconst long C3 = 3;\n#endif\n#if 0\n#elif 0\n#elif (1 ? 0x10 : 0) >> 4 == \
         1 || 1/0\nconst long C4 = 4;\n#endif\n#if UNKNOWN + 'a' - 97\n#error no\n#endif\n#if (-1 < 0) && (~0 == -1) && \
         (7 % 4 == 3) && 10ul\nconst long C5 = 5;\n#endif\n#\n#ident \"x\"\n",
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
        "#define ONE 1\n#define ADD(a, b) ((a) + (b))\n#define STR(x) #x\n#define XSTR(x) STR(x)\n#define GLUE(a, b) \
         a##b\n#define SELF SELF2 SELF\n#define CALL(f, ...) f(__VA_ARGS__)\n#define EMPTY()\n#define F(x) \
         G(x)\n#define G(x) x + F\nconst long GLUE(va, lue) = ADD(ONE, ADD(2, 3));\nconst string S1 = STR(a \"b\" c);\nconst \
         string S2 = XSTR(ONE);\nconst long L = CALL(ADD, 1, 2) EMPTY();\n#define LIST long a; \\\n  long b;\nstruct S { \
         LIST };\n#undef ONE\nconst long ONE = 7;\n#define ADD2 ADD\nconst long M = ADD2 (1,\n  2);\nconst long ADD = \
         3;\n#define F(x) G(x)\n",
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
        "const long A = __LINE__;\nconst string B = __FILE__;\n#line 100\nconst long C = __LINE__;\n#line 200 \
         \"other.idl\"\nconst long D = __LINE__; const string E = __FILE__; $\n",
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
        "const lo\\\nng A = 1\\\n2; // comment \\\ncontinues\n#define X \\\r\n  5\r\nconst long B = X;\r\nconst string C = \
         \"ab\\\ncd\";\n",
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
                "#include \"a.idl\"\n#include <a.idl>\n#define NAME <b.idl>\n#include NAME\n#include \
             \"/abs.idl\" // comment\nstruct M { A1 x; A2 y; B z; Abs u; };\n",
            ),
            ("sub/a.idl", "struct A1 {};\n"),
            ("include/a.idl", "#pragma once\nstruct A2 {};\n#include <a.idl>\n"),
            (
                "include/b.idl",
                "#ifndef B_IDL\n#define B_IDL\n#include \"b.idl\"\nstruct B {};\n#endif\n",
            ),
            ("/abs.idl", "struct Abs {};\n"),
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
            ("main.idl", "\n#include \"a.idl\"\n"),
            ("a.idl", "#include <b.idl>\n"),
            ("include/b.idl", "typedef Missing X;\n"),
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
            "const long X = A + B;\nconst long Y = F(4);\n#ifdef GONE\n#error\n#endif\n#ifndef __CORBIE_IDL__\n#error\n#endif\n",
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
        "# 1 \"test.idl\"\n# 1 \"inc.idl\" 1\n#pragma prefix \"inc\"\nstruct Inc {};\n# 2 \"test.idl\" 2\nstruct Main { \
         Inc i; };\n",
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
        "#pragma hh #include \"x.h\" don't\n#pragma\n#pragma ami on\nstruct S {};\n",
        &expect![[r#"
            struct S [IDL:S:1.0]
        "#]],
    );
}

#[test]
fn a_missing_main_file() {
    check_files(
        &[("main.idl", "#include <nope/nope.idl>\n")],
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
