//! Names: scopes, inheritance, clashes, introduction, as the specification's examples have it.
//! IDL 4.2 §7.5.

mod support;

use expect_test::expect;
use support::{check, check_errors};

/// IDL 4.2 §7.5.3, its long example.
#[test]
fn introduced_names() {
    check_errors(
        r#"module M {
  typedef long ArgType;
  const ArgType I = 10;
  typedef short Y;
  interface A {
    struct S {
      struct T {
        ArgType x[I];
        long y;
      } m;
    };
    typedef string ArgType;
    enum I { I1, I2 };
    typedef short Y;
  };
  interface B : A {
    typedef long ArgType;
    struct S {
      ArgType x;
      A::ArgType y;
    };
  };
};
"#,
        &expect![[r#"
            test.idl:12:20: error[E0305]: `ArgType` already stands for something else here
            test.idl:13:10: error[E0305]: `I` already stands for something else here
        "#]],
    );
}

#[test]
fn only_the_first_part_of_a_name_is_introduced() {
    check_errors(
        r#"module M { typedef long T; };
interface I { void f(in M::T t); typedef short T; };
interface J { void f(in ::M::T t); typedef short M; };
interface K { void f(in M::T t); typedef short M; };
"#,
        &expect![[r#"
            test.idl:4:48: error[E0305]: `M` already stands for something else here
        "#]],
    );
}

#[test]
fn modules_may_define_what_they_used() {
    check_errors(
        r#"typedef long T;
module M { typedef T U; typedef short T; typedef T V; };
"#,
        &expect![[r#""#]],
    );
}

#[test]
fn inherited_names() {
    check(
        r#"interface A { typedef long T; const long N = 2; enum E { e1 }; };
interface B : A { void f(in T x, in E y); const long M = N; };
interface C : B { typedef string T; void g(in T x, in A::T y, in B::T z); };
struct S { C::E x; };
const C::E K = C::e1;
"#,
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
        r#"interface A { typedef long T; void f(); };
interface B : A {}; interface C : A {};
interface D : B, C { T g(); };
"#,
        &expect![[r#""#]],
    );
}

#[test]
fn a_nearer_base_hides_a_farther_one() {
    check(
        r#"interface A { typedef long T; };
interface B : A { typedef string T; };
interface C : B, A { T g(); };
"#,
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
        r#"interface A { typedef long T; }; interface B { typedef short T; };
interface C : A, B { void f(in A::T t); };
interface D : A, B { void f(in T x); };
interface E : A, B { typedef string T; void f(in T x); };
"#,
        &expect![[r#"
            test.idl:3:32: error[E0307]: `T` is inherited with several meanings
        "#]],
    );
}

#[test]
fn operations_cannot_be_redefined() {
    check_errors(
        r#"interface A { void f(); attribute long x; };
interface B : A { attribute long f; };
interface C : A { void A2(); void x(); };
interface D { void F(); };
interface E : A, D {};
valuetype V { public long f; };
valuetype W : V { void f(); };
struct S { long a; }; struct T : S { long A; };
"#,
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
        r#"module m {}; module M {};
struct Foo { long a; string A; };
typedef FOO Bar;
enum E { one, ONE };
enum F { foo };
interface I { void f(in long x, in long X); };
"#,
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
        r#"module M { enum A { x, y }; enum B { y, z }; const A K = x; };
const M::A L = M::x;
const M::A N = M::A::x;
"#,
        &expect![[r#"
            test.idl:1:38: error[E0302]: `y` is already defined in this scope
            test.idl:3:19: error[E0309]: enum `M::A` contains no names
        "#]],
    );
}

#[test]
fn names_of_scopes() {
    check_errors(
        r#"module M { module M {}; };
interface I { typedef long I; };
struct S { long S; };
exception E { long e; };
union U switch (long) { case 1: long U; };
"#,
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
        r#"typedef long T;
interface I {
  void f(in long f, in T a, in T b);
  void g(in T T);
  void h(in long a, in long a);
  attribute long t;
};
"#,
        &expect![[r#"
            test.idl:4:15: error[E0305]: `T` already stands for something else here
            test.idl:5:29: error[E0302]: `a` is already defined in this scope
            test.idl:6:18: error[E0305]: `t` already stands for something else here: it is `T`, as IDL ignores case
        "#]],
    );
}

#[test]
fn broken_definitions_do_not_cascade() {
    check_errors(
        r#"struct A { long; };
interface B : { void f(); };
typedef Missing C;
const long D = "x";
struct E { A x; B y; C z; long w[D]; };
interface F : B { C g(in A x, in C y); };
"#,
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
        r#"interface P : CORBA::Policy { CORBA::StringSeq f(in CORBA::ServiceDetail s) raises
    (CORBA::PolicyError); };
module CORBA { typedef sequence<OctetSeq> More; };
typedef CORBA::Unknown X;
"#,
        &expect![[r#"
            interface P : CORBA::Policy [IDL:P:1.0]
              operation f(in s: CORBA::ServiceDetail) -> CORBA::StringSeq
                    raises CORBA::PolicyError [IDL:P/f:1.0]
            module CORBA [IDL:omg.org/CORBA:1.0]
              typedef More = sequence<CORBA::OctetSeq> [IDL:CORBA/More:1.0]
            ----
            error[E0301]: `Unknown` is not defined in `CORBA`
              --> test.idl:4:16
               |
             4 | typedef CORBA::Unknown X;
               |                ^^^^^^^
               = hint: define it before its first use, or #include the file that does
        "#]],
    );
}
