//! Each construct of IDL becomes what the model says it is.
//! Inputs are accepted; the expectation is the model as text.

mod support;

use corbie_frontend::DefinitionKind;
use corbie_frontend::model::ConstValue;
use expect_test::expect;
use support::check;

#[test]
fn basic_types() {
    check(
        r#"struct S {
  short a; unsigned short b; long c; unsigned long d; long long e; unsigned long long f;
  float g; double h; long double i; char j; wchar k; boolean l; octet m; any n; Object o;
  ValueBase p; string q; string<10> r; wstring ss; wstring<2+1> t; fixed<10,2> u; int8 v;
      uint8 w;
  int16 x; uint16 y; int32 z; uint32 aa; int64 bb; uint64 cc; TypeCode dd; CORBA::TypeCode ee;
  CORBA::Object ff; CORBA::ValueBase gg; CORBA::AbstractBase hh;
};
"#,
        &expect![[r#"
            struct S [IDL:S:1.0]
              a: Short
              b: UShort
              c: Long
              d: ULong
              e: LongLong
              f: ULongLong
              g: Float
              h: Double
              i: LongDouble
              j: Char
              k: WChar
              l: Boolean
              m: Octet
              n: Any
              o: Object
              p: ValueBase
              q: string
              r: string<10>
              ss: wstring
              t: wstring<3>
              u: fixed<10, 2>
              v: Int8
              w: UInt8
              x: Short
              y: UShort
              z: Long
              aa: ULong
              bb: LongLong
              cc: ULongLong
              dd: TypeCode
              ee: TypeCode
              ff: Object
              gg: ValueBase
              hh: AbstractBase
        "#]],
    );
}

#[test]
fn templates_and_arrays() {
    check(
        r#"const long N = 3;
typedef sequence<long> A;
typedef sequence<sequence<string<4>, N>> B;
typedef long C[2][N], D, E[N*2];
struct F { C x[4]; sequence<A, (1 << 2)> y; };
"#,
        &expect![[r#"
            constant N: Long = 3 [IDL:N:1.0]
            typedef A = sequence<Long> [IDL:A:1.0]
            typedef B = sequence<sequence<string<4>, 3>> [IDL:B:1.0]
            typedef C = Long[2][3] [IDL:C:1.0]
            typedef D = Long [IDL:D:1.0]
            typedef E = Long[6] [IDL:E:1.0]
            struct F [IDL:F:1.0]
              x: C[4]
              y: sequence<A, 4>
        "#]],
    );
}

#[test]
fn older_idl_defines_int_types_itself() {
    check(
        r#"typedef char int8;
struct S { int8 a; int16 b; };
"#,
        &expect![[r#"
        typedef int8 = Char [IDL:int8:1.0]
        struct S [IDL:S:1.0]
          a: int8
          b: Short
        ----
        warning[W0207]: `int8` is a keyword in newer versions of IDL
          --> test.idl:1:14
           |
         1 | typedef char int8;
           |              ^^^^
           = hint: write `_int8` to be understood everywhere
    "#]],
    );
}

#[test]
fn interfaces() {
    check(
        r#"interface F;
exception E1 { string why; }; exception E2 {};
abstract interface Abs { void abs_op(); };
interface I : Abs {
  typedef long T;
  attribute T a getraises (E1) setraises (E1, E2);
  readonly attribute string b raises (E2);
  attribute short c, d;
  T op(in string s, inout F l, out any a) raises (E1, E2) context ("user.*", "sys_1");
  oneway void g(in I other);
  string<3> h();
  exception Inner { T x; };
  const T K = 3;
};
local interface Loc : I { native Cookie; Cookie bake(in Loc l); };
interface F { void g(); };
"#,
        &expect![[r#"
            interface F [IDL:F:1.0]
              operation g() -> Void [IDL:F/g:1.0]
            exception E1 [IDL:E1:1.0]
              why: string
            exception E2 [IDL:E2:1.0]
            interface Abs abstract [IDL:Abs:1.0]
              operation abs_op() -> Void [IDL:Abs/abs_op:1.0]
            interface I : Abs [IDL:I:1.0]
              typedef T = Long [IDL:I/T:1.0]
              attribute a: I::T getraises E1 setraises E1, E2 [IDL:I/a:1.0]
              attribute b readonly: string getraises E2 [IDL:I/b:1.0]
              attribute c: Short [IDL:I/c:1.0]
              attribute d: Short [IDL:I/d:1.0]
              operation op(in s: string, inout l: F, out a: Any) -> I::T
                    raises E1, E2 context ["user.*", "sys_1"] [IDL:I/op:1.0]
              operation g oneway(in other: I) -> Void [IDL:I/g:1.0]
              operation h() -> string<3> [IDL:I/h:1.0]
              exception Inner [IDL:I/Inner:1.0]
                x: I::T
              constant K: I::T = 3 [IDL:I/K:1.0]
            interface Loc local : I [IDL:Loc:1.0]
              native type Cookie [IDL:Loc/Cookie:1.0]
              operation bake(in l: Loc) -> Loc::Cookie [IDL:Loc/bake:1.0]
        "#]],
    );
}

#[test]
fn structs() {
    check(
        r#"struct Empty {};
struct Base { long a, b[2]; };
struct Derived : Base { struct Inner { long x; } in1; enum Kind { k1, k2 } a_kind; };
struct Node;
typedef sequence<Node> Nodes;
struct Node { Nodes children; sequence<Node> more; Derived::Inner i; };
typedef struct Tagged { long t; } Alias;
"#,
        &expect![[r#"
            struct Empty [IDL:Empty:1.0]
            struct Base [IDL:Base:1.0]
              a: Long
              b: Long[2]
            struct Derived : Base [IDL:Derived:1.0]
              in1: Derived::Inner
              a_kind: Derived::Kind
              struct Inner [IDL:Derived/Inner:1.0]
                x: Long
              enum Kind [IDL:Derived/Kind:1.0]
                k1
                k2
            struct Node [IDL:Node:1.0]
              children: Nodes
              more: sequence<Node>
              i: Derived::Inner
            typedef Nodes = sequence<Node> [IDL:Nodes:1.0]
            struct Tagged [IDL:Tagged:1.0]
              t: Long
            typedef Alias = Tagged [IDL:Alias:1.0]
        "#]],
    );
}

#[test]
fn unions() {
    check(
        r#"enum Color { red, green, blue };
union A switch (Color) { case red: case green: long x; default: string y; };
union B switch (boolean) { case TRUE: long x; };
union C switch (char) { case 'a': octet x; case '\n': char y; case '\x7f': any z; };
union D switch (long long) { case -1: A x; case 0: sequence<D> y; default: double e[2]; };
union E switch (octet) { case 0: wchar w; };
union F switch (wchar) { case L'x': short s; };
union G switch (enum Inner { l1, l2 }) { case l1: long a; case l2: long b; };
typedef unsigned short Disc;
union H switch (Disc) { case 0: case 1: long a; };
union I switch (int8) { case -128: long a; };
module M { enum Far { near, away }; };
union J switch (M::Far) { case M::near: long a; case away: long b; };
"#,
        &expect![[r#"
            enum Color [IDL:Color:1.0]
              red
              green
              blue
            union A switch Color unused Color.blue [IDL:A:1.0]
              Color.red | Color.green => x: Long
              default => y: string
            union B switch Boolean unused false [IDL:B:1.0]
              true => x: Long
            union C switch Char unused '\0' [IDL:C:1.0]
              'a' => x: Octet
              '\n' => y: Char
              '\u{7f}' => z: Any
            union D switch LongLong unused 1 [IDL:D:1.0]
              -1 => x: A
              0 => y: sequence<D>
              default => e: Double[2]
            union E switch Octet unused 1 [IDL:E:1.0]
              0 => w: WChar
            union F switch WChar unused L U+0000 [IDL:F:1.0]
              L U+0078 => s: Short
            union G switch G::Inner [IDL:G:1.0]
              G::Inner.l1 => a: Long
              G::Inner.l2 => b: Long
              enum Inner [IDL:G/Inner:1.0]
                l1
                l2
            typedef Disc = UShort [IDL:Disc:1.0]
            union H switch Disc unused 2 [IDL:H:1.0]
              0 | 1 => a: Long
            union I switch Int8 unused 0 [IDL:I:1.0]
              -128 => a: Long
            module M [IDL:M:1.0]
              enum Far [IDL:M/Far:1.0]
                near
                away
            union J switch M::Far [IDL:J:1.0]
              M::Far.near => a: Long
              M::Far.away => b: Long
        "#]],
    );
}

#[test]
fn union_labels_leave_the_smallest_value_unused() {
    let unused = |labels: std::ops::RangeInclusive<i32>| {
        let labels: String = labels.map(|n| format!("case {n}: ")).collect();
        let text = format!("union U switch (octet) {{ {labels} long l; }};");
        let compilation = support::compile_text(&text);
        assert_eq!(compilation.render_diagnostics(), "");
        match &compilation.model.find("U").expect("U is defined").kind {
            DefinitionKind::Union(x) => x.unused_label.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(unused(0..=254), Some(ConstValue::Integer(255)));
    assert_eq!(unused(1..=255), Some(ConstValue::Integer(0)));
    assert_eq!(unused(0..=255), None);
}

#[test]
fn forward_unions_and_exceptions() {
    check(
        r#"union U;
typedef sequence<U> Us;
union U switch (long) { case 1: Us x; default: long l; };
exception Bad { U x; struct Where { long line; } place; };
"#,
        &expect![[r#"
            union U switch Long unused 0 [IDL:U:1.0]
              1 => x: Us
              default => l: Long
            typedef Us = sequence<U> [IDL:Us:1.0]
            exception Bad [IDL:Bad:1.0]
              x: U
              place: Bad::Where
              struct Where [IDL:Bad/Where:1.0]
                line: Long
        "#]],
    );
}

#[test]
fn valuetypes() {
    check(
        r#"exception E {}; interface I { void f(); };
valuetype Box sequence<octet>;
valuetype Box2 struct Boxed { long l; };
abstract valuetype AV { void op(); };
valuetype V : AV supports I {
  private long x, y[2];
  /// Text.
  @key public string s;
  factory create(in long x, in string s) raises (E);
 
         /// attribute long att;
};
"#,
        &expect![[r#"
            exception E [IDL:E:1.0]
            interface I [IDL:I:1.0]
              operation f() -> Void [IDL:I/f:1.0]
            value box Box boxes sequence<Octet> [IDL:Box:1.0]
            struct Boxed [IDL:Boxed:1.0]
              l: Long
            value box Box2 boxes Boxed [IDL:Box2:1.0]
            valuetype AV abstract [IDL:AV:1.0]
              operation op() -> Void [IDL:AV/op:1.0]
            valuetype V : AV supports I [IDL:V:1.0]
              private x: Long
              private y: Long[2]
              public @key s: string // "Text."
              factory create(in x: Long, in s: string) raises E [IDL:V/create:1.0]
        "#]],
    );
    check(
        r#"valuetype V {}; exception E {};
valuetype W : truncatable V { public W next; factory make() raises (E); };
custom valuetype X { public any a; };
valuetype Fwd;
valuetype Fwd { public sequence<Fwd> f; };
eventtype Ev { public long l; };
abstract eventtype AEv {};
"#,
        &expect![[r#"
            valuetype V [IDL:V:1.0]
            exception E [IDL:E:1.0]
            valuetype W truncatable : V [IDL:W:1.0]
              public next: W
              factory make() raises E [IDL:W/make:1.0]
            valuetype X custom [IDL:X:1.0]
              public a: Any
            valuetype Fwd [IDL:Fwd:1.0]
              public f: sequence<Fwd>
            eventtype Ev [IDL:Ev:1.0]
              public l: Long
            eventtype AEv abstract [IDL:AEv:1.0]
        "#]],
    );
}

#[test]
fn components() {
    check(
        r#"eventtype Tick { public long n; };
interface Face { void f(); };
valuetype Key { public long k; };
component Base;
component Base { attribute long a; };
component Comp : Base supports Face {
  provides Face p; uses multiple Face u; uses Face v; provides Object o;
  emits Tick e; publishes Tick pu; consumes Tick c;
};
home CompHome supports Face manages Comp primarykey Key {
  factory make(in long l); finder find(in Key k); void op();
};
porttype Pt { provides Face f; uses Face g; attribute long x; };
connector Conn { mirrorport Pt m; port Pt n; };
connector Conn2 : Conn { };
"#,
        &expect![[r#"
            eventtype Tick [IDL:Tick:1.0]
              public n: Long
            interface Face [IDL:Face:1.0]
              operation f() -> Void [IDL:Face/f:1.0]
            valuetype Key [IDL:Key:1.0]
              public k: Long
            component Base [IDL:Base:1.0]
              attribute a: Long [IDL:Base/a:1.0]
            component Comp : Base supports Face [IDL:Comp:1.0]
              provides p: Face
              uses multiple u: Face
              uses v: Face
              provides o: Object
              emits e: Tick
              publishes pu: Tick
              consumes c: Tick
            home CompHome supports Face manages Comp primarykey Key [IDL:CompHome:1.0]
              home factory make(in l: Long) [IDL:CompHome/make:1.0]
              home factory find finder(in k: Key) [IDL:CompHome/find:1.0]
              operation op() -> Void [IDL:CompHome/op:1.0]
            porttype Pt [IDL:Pt:1.0]
              provides f: Face
              uses g: Face
              attribute x: Long [IDL:Pt/x:1.0]
            connector Conn [IDL:Conn:1.0]
              mirrorport m: Pt
              port n: Pt
            connector Conn2 : Conn [IDL:Conn2:1.0]
        "#]],
    );
}

#[test]
fn modules_are_reopened() {
    check(
        r#"module M { interface I; module N { typedef I J; }; };
/// More of M.
module M { interface I { ::M::N::J self(in M::N::J j); }; };
"#,
        &expect![[r#"
            // "More of M."
            module M [IDL:M:1.0]
              interface I [IDL:M/I:1.0]
                operation self(in j: M::N::J) -> M::N::J [IDL:M/I/self:1.0]
              module N [IDL:M/N:1.0]
                typedef J = M::I [IDL:M/N/J:1.0]
        "#]],
    );
}

#[test]
fn annotations_are_kept() {
    check(
        r#"@annotation my { long value default 1; };
enum Ext { FINAL, MUTABLE };
const long N = 4;
@extensibility(FINAL) @my(value = 2 * N) struct S {
  @key long id; @default("x") string t; @optional @::range(min=1, max=N) long r;
      @weird(UNKNOWN) @f(1.5) long z;
};
@service("x") interface I { @async void f(@in_only in long l); };
enum E { @value(1) one, @default_literal two };
union U switch (long) { @a case 1: @b long l; };
"#,
        &expect![[r#"
            enum Ext [IDL:Ext:1.0]
              FINAL
              MUTABLE
            constant N: Long = 4 [IDL:N:1.0]
            @extensibility(Ext.FINAL) @my(value=8) struct S [IDL:S:1.0]
              @key id: Long
              @default("x") t: string
              @optional @::range(min=1, max=4) r: Long
              @weird("UNKNOWN") @f(1.5) z: Long
            @service("x") interface I [IDL:I:1.0]
              @async operation f(@in_only in l: Long) -> Void [IDL:I/f:1.0]
            enum E [IDL:E:1.0]
              @value(1) one
              @default_literal two
            union U switch Long unused 0 [IDL:U:1.0]
              1 => @a @b l: Long
        "#]],
    );
}

#[test]
fn documentation_comments() {
    check(
        r#"// License: free.

// Doc of M,
// two lines.
module M {
  /* Doc of S:
   *   indented.
   */
  struct S {
    long a; // not of b
    /// doc of b
    long b, c;
  };

  // of nothing

  typedef S T;
  //////////////////
  // Framed.
  //////////////////
  enum E { /** first */ one, two // not three
    , three };
  /** Doc of I. */
  interface I {
    // Doc of op.
    void op();
    // Doc of attributes.
    attribute long x, y;
  };
#define X
};
"#,
        &expect![[r#"
            // "Doc of M,\ntwo lines."
            module M [IDL:M:1.0]
              // "Doc of S:\n  indented."
              struct S [IDL:M/S:1.0]
                a: Long
                b: Long // "doc of b"
                c: Long // "doc of b"
              typedef T = M::S [IDL:M/T:1.0]
              // "Framed."
              enum E [IDL:M/E:1.0]
                one // "first"
                two
                three
              // "Doc of I."
              interface I [IDL:M/I:1.0]
                // "Doc of op."
                operation op() -> Void [IDL:M/I/op:1.0]
                // "Doc of attributes."
                attribute x: Long [IDL:M/I/x:1.0]
                // "Doc of attributes."
                attribute y: Long [IDL:M/I/y:1.0]
        "#]],
    );
}

#[test]
fn escaped_identifiers_and_keywords_as_names() {
    check(
        r#"interface _interface {
  attribute long _attribute;
  void _raises(in long _in, out long _out);
};
struct struct_ { ::_interface i; long _long; };
struct port { long uses, home; };
interface I { port component(); };
"#,
        &expect![[r#"
            interface interface [IDL:interface:1.0]
              attribute attribute: Long [IDL:interface/attribute:1.0]
              operation raises(in in: Long, out out: Long) -> Void [IDL:interface/raises:1.0]
            struct struct_ [IDL:struct_:1.0]
              i: interface
              long: Long
            struct port [IDL:port:1.0]
              uses: Long
              home: Long
            interface I [IDL:I:1.0]
              operation component() -> port [IDL:I/component:1.0]
            ----
            warning[W0207]: `port` is a keyword in newer versions of IDL
              --> test.idl:6:8
               |
             6 | struct port { long uses, home; };
               |        ^^^^
               = hint: write `_port` to be understood everywhere

            warning[W0207]: `uses` is a keyword in newer versions of IDL
              --> test.idl:6:20
               |
             6 | struct port { long uses, home; };
               |                    ^^^^
               = hint: write `_uses` to be understood everywhere

            warning[W0207]: `home` is a keyword in newer versions of IDL
              --> test.idl:6:26
               |
             6 | struct port { long uses, home; };
               |                          ^^^^
               = hint: write `_home` to be understood everywhere

            warning[W0207]: `component` is a keyword in newer versions of IDL
              --> test.idl:7:20
               |
             7 | interface I { port component(); };
               |                    ^^^^^^^^^
               = hint: write `_component` to be understood everywhere
        "#]],
    );
}

#[test]
fn natives_and_imports() {
    check(
        r#"native Cookie;
import ::Cookie;
local interface L { Cookie get() raises (Cookie); };
"#,
        &expect![[r#"
            native type Cookie [IDL:Cookie:1.0]
            interface L local [IDL:L:1.0]
              operation get() -> Cookie raises Cookie [IDL:L/get:1.0]
        "#]],
    );
}
