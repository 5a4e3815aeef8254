//! Names: scopes, inheritance, clashes, introduction, as the specification's examples have it.

mod support;

use expect_test::expect;
use support::{check, check_errors};

/// IDL 4.2 §7.5.3, its long example.
#[test]
fn introduced_names() {
    check_errors(
        "module M {\n  typedef long ArgType;\n  const ArgType I = 10;\n  typedef short Y;\n  interface A {\n    \
         struct S {\n      struct T {\n        ArgType x[I];\n        long y;\n      } m;\n    };\n    typedef string \
         ArgType;\n    enum I { I1, I2 };\n    typedef short Y;\n  };\n  interface B : A {\n    typedef long \
         ArgType;\n    struct S {\n      ArgType x;\n      A::ArgType y;\n    };\n  };\n};\n",
        &expect![[r#"
            test.idl:12:20: error[E0305]: `ArgType` is defined here after it was used for something else
            test.idl:13:10: error[E0305]: `I` is defined here after it was used for something else
        "#]],
    );
}

#[test]
fn only_the_first_part_of_a_name_is_introduced() {
    check_errors(
        "module M { typedef long T; };\ninterface I { void f(in M::T t); typedef short T; };\ninterface J { void \
         f(in ::M::T t); typedef short M; };\ninterface K { void f(in M::T t); typedef short M; };\n",
        &expect![[r#"
            test.idl:4:48: error[E0305]: `M` is defined here after it was used for something else
        "#]],
    );
}

#[test]
fn modules_may_define_what_they_used() {
    check_errors(
        "typedef long T;\nmodule M { typedef T U; typedef short T; typedef T V; };\n",
        &expect![[r#""#]],
    );
}

#[test]
fn inherited_names() {
    check(
        "interface A { typedef long T; const long N = 2; enum E { e1 }; };\ninterface B : A { void f(in T x, in E \
         y); const long M = N; };\ninterface C : B { typedef string T; void g(in T x, in A::T y, in B::T z); };\nstruct \
         S { C::E x; };\nconst C::E K = C::e1;\n",
        &expect![[r#"
            interface A [IDL:A:1.0]
              typedef T = Long [IDL:A/T:1.0]
              constant N: Long = 2 [IDL:A/N:1.0]
              enum E [IDL:A/E:1.0]
                e1
            interface B : A [IDL:B:1.0]
              operation f(in x: A::T, in y: A::E) -> Void [IDL:B/f:1.0]
              constant M: Long = 2 [IDL:B/M:1.0]
            interface C : B [IDL:C:1.0]
              typedef T = string [IDL:C/T:1.0]
              operation g(in x: C::T, in y: A::T, in z: A::T) -> Void [IDL:C/g:1.0]
            struct S [IDL:S:1.0]
              x: A::E
            constant K: A::E = A::E.e1 [IDL:K:1.0]
        "#]],
    );
}

#[test]
fn diamonds_are_not_ambiguous() {
    check_errors(
        "interface A { typedef long T; void f(); };\ninterface B : A {}; interface C : A {};\ninterface D : B, C { \
         T g(); };\n",
        &expect![[r#""#]],
    );
}

#[test]
fn a_nearer_base_hides_a_farther_one() {
    check(
        "interface A { typedef long T; };\ninterface B : A { typedef string T; };\ninterface C : B, A { T g(); };\n",
        &expect![[r#"
            interface A [IDL:A:1.0]
              typedef T = Long [IDL:A/T:1.0]
            interface B : A [IDL:B:1.0]
              typedef T = string [IDL:B/T:1.0]
            interface C : B, A [IDL:C:1.0]
              operation g() -> B::T [IDL:C/g:1.0]
        "#]],
    );
}

#[test]
fn ambiguous_only_when_used() {
    check_errors(
        "interface A { typedef long T; }; interface B { typedef short T; };\ninterface C : A, B { void f(in A::T \
         t); };\ninterface D : A, B { void f(in T x); };\ninterface E : A, B { typedef string T; void f(in T x); };\n",
        &expect![[r#"
            test.idl:3:32: error[E0307]: `T` is inherited with several meanings
        "#]],
    );
}

#[test]
fn operations_cannot_be_redefined() {
    check_errors(
        "interface A { void f(); attribute long x; };\ninterface B : A { attribute long f; };\ninterface C : A { \
         void A2(); void x(); };\ninterface D { void F(); };\ninterface E : A, D {};\nvaluetype V { public long f; \
         };\nvaluetype W : V { void f(); };\nstruct S { long a; }; struct T : S { long A; };\n",
        &expect![[r#"
            test.idl:2:34: error[E0308]: `f` is already inherited
            test.idl:3:35: error[E0308]: `x` is already inherited
            test.idl:5:11: error[E0308]: `E` inherits `F` from two bases
            test.idl:7:24: error[E0308]: `f` is already inherited
            test.idl:8:43: error[E0308]: `A` is already inherited
        "#]],
    );
}

#[test]
fn case_matters_only_for_clashes() {
    check_errors(
        "module m {}; module M {};\nstruct Foo { long a; string A; };\ntypedef FOO Bar;\nenum E { one, ONE };\nenum \
         F { foo };\ninterface I { void f(in long x, in long X); };\n",
        &expect![[r#"
            test.idl:1:21: error[E0303]: `M` differs from `m` only in case
            test.idl:2:29: error[E0303]: `A` differs from `a` only in case
            test.idl:3:9: error[E0304]: `FOO` is defined as `Foo`
            test.idl:4:15: error[E0303]: `ONE` differs from `one` only in case
            test.idl:5:10: error[E0303]: `foo` differs from `Foo` only in case
            test.idl:6:41: error[E0303]: `X` differs from `x` only in case
        "#]],
    );
}

#[test]
fn enumerators_belong_to_the_scope_around() {
    check_errors(
        "module M { enum A { x, y }; enum B { y, z }; const A K = x; };\nconst M::A L = M::x;\nconst M::A N = \
         M::A::x;\n",
        &expect![[r#"
            test.idl:1:38: error[E0302]: `y` is already defined in this scope
            test.idl:3:19: error[E0309]: enum `M::A` contains no names
        "#]],
    );
}

#[test]
fn names_of_scopes() {
    check_errors(
        "module M { module M {}; };\ninterface I { typedef long I; };\nstruct S { long S; };\nexception E { long e; \
         };\nunion U switch (long) { case 1: long U; };\n",
        &expect![[r#"
            test.idl:1:19: error[E0306]: `M` is the name of the scope that it is in
            test.idl:2:28: error[E0306]: `I` is the name of the scope that it is in
            test.idl:3:17: error[E0306]: `S` is the name of the scope that it is in
            test.idl:4:20: warning[W0314]: `e` differs from `E`, its scope, only in case
            test.idl:5:38: error[E0306]: `U` is the name of the scope that it is in
        "#]],
    );
}

#[test]
fn parameters_are_a_scope_of_their_own() {
    check_errors(
        "typedef long T;\ninterface I {\n  void f(in long f, in T a, in T b);\n  void g(in T T);\n  void h(in long \
         a, in long a);\n  attribute long t;\n};\n",
        &expect![[r#"
            test.idl:4:15: error[E0305]: `T` is defined here after it was used for something else
            test.idl:5:29: error[E0302]: `a` is already defined in this scope
            test.idl:6:18: error[E0305]: `t` is defined here after it was used for something else
        "#]],
    );
}

#[test]
fn broken_definitions_do_not_cascade() {
    check_errors(
        "struct A { long; };\ninterface B : { void f(); };\ntypedef Missing C;\nconst long D = \"x\";\nstruct E { A \
         x; B y; C z; long w[D]; };\ninterface F : B { C g(in A x, in C y); };\n",
        &expect![[r#"
            test.idl:1:16: error[E0201]: expected a name, found `;`
            test.idl:2:15: error[E0201]: expected a base interface, found `{`
            test.idl:3:9: error[E0301]: `Missing` is not defined
            test.idl:4:16: error[E0501]: expected an integer, found a string
        "#]],
    );
}

#[test]
fn standard_corba_names_are_known() {
    check(
        "interface P : CORBA::Policy { CORBA::StringSeq f(in CORBA::ServiceInformation s) raises \
         (CORBA::PolicyError); };\nmodule CORBA { typedef sequence<OctetSeq> More; };\ntypedef CORBA::Unknown X;\n",
        &expect![[r#"
            interface P : CORBA::Policy [IDL:P:1.0]
              operation f(in s: CORBA::ServiceInformation) -> CORBA::StringSeq raises CORBA::PolicyError [IDL:P/f:1.0]
            module CORBA [IDL:omg.org/CORBA:1.0]
              typedef More = sequence<CORBA::OctetSeq> [IDL:CORBA/More:1.0]
            ----
            error[E0301]: `Unknown` is not defined in `CORBA`
              --> test.idl:3:16
               |
             3 | typedef CORBA::Unknown X;
               |                ^^^^^^^
               = hint: define it before its first use, or #include the file that does
        "#]],
    );
}
