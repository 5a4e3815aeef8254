//! Each construct of IDL becomes what the model says it is.

mod support;

use expect_test::expect;
use support::check;

#[test]
fn basic_types() {
    check(
        "struct S {\n  short a; unsigned short b; long c; unsigned long d; long long e; unsigned long long \
         f;\n  float g; double h; long double i; char j; wchar k; boolean l; octet m; any n; Object o;\n  \
         ValueBase p; string q; string<10> r; wstring ss; wstring<2+1> t; fixed<10,2> u; int8 v; uint8 w;\n  \
         int16 x; uint16 y; int32 z; uint32 aa; int64 bb; uint64 cc; TypeCode dd; CORBA::TypeCode ee;\n  \
         CORBA::Object ff; CORBA::ValueBase gg; CORBA::AbstractBase hh;\n};\n",
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
        "const long N = 3;\ntypedef sequence<long> A;\ntypedef sequence<sequence<string<4>, N>> \
         B;\ntypedef long C[2][N], D, E[N*2];\nstruct F { C x[4]; sequence<A, (1 << 2)> \
         y; };\n",
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
        "typedef char int8;\nstruct S { int8 a; int16 b; };\n",
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
        "interface F;\nexception E1 { string why; }; exception E2 {};\nabstract interface Abs { void abs_op(); \
         };\ninterface I : Abs {\n  typedef long T;\n  attribute T a getraises (E1) setraises (E1, E2);\n  \
         readonly attribute string b raises (E2);\n  attribute short c, d;\n  T op(in string s, inout F l, out \
         any a) raises (E1, E2) context (\"user.*\", \"sys_1\");\n  oneway void g(in I other);\n  sequence<long> \
         h();\n  exception Inner { T x; };\n  const T K = 3;\n};\nlocal interface Loc : I { native Cookie; Cookie \
         bake(in Loc l); };\ninterface F { void g(); };\n",
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
              operation op(in s: string, inout l: F, out a: Any) -> I::T raises E1, E2 context ["user.*", "sys_1"] [IDL:I/op:1.0]
              operation g oneway(in other: I) -> Void [IDL:I/g:1.0]
              operation h() -> sequence<Long> [IDL:I/h:1.0]
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
        "struct Empty {};\nstruct Base { long a, b[2]; };\nstruct Derived : Base { struct Inner { long x; } \
         in1; enum Kind { k1, k2 } a_kind; };\nstruct Node;\ntypedef sequence<Node> Nodes;\nstruct Node { Nodes \
         children; sequence<Node> more; Derived::Inner i; };\ntypedef struct Tagged { long t; } Alias;\n",
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
        "enum Color { red, green, blue };\nunion A switch (Color) { case red: case green: long x; \
         default: string y; };\nunion B switch (boolean) { case TRUE: long x; };\nunion C switch (char) { case \
         'a': octet x; case '\\n': char y; case '\\x7f': any z; };\nunion D switch (long long) { case -1: A x; case \
         0: sequence<D> y; default: double e[2]; };\nunion E switch (octet) { case 0: wchar w; };\nunion F switch \
         (wchar) { case L'x': short s; };\nunion G switch (enum Inner { l1, l2 }) { case l1: long a; case l2: long \
         b; };\ntypedef unsigned short Disc;\nunion H switch (Disc) { case 0: case 1: long a; };\nunion I switch \
         (int8) { case -128: long a; };\nmodule M { enum Far { near, away }; };\nunion J switch (M::Far) { case \
         M::near: long a; case away: long b; };\n",
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
    let labels: String = (0..=255).map(|n| format!("case {n}: ")).collect();
    check(
        &format!("union U switch (octet) {{ {labels} long l; }};"),
        &expect![[r#"
        union U switch Octet [IDL:U:1.0]
          0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23 | 24 | 25 | 26 | 27 | 28 | 29 | 30 | 31 | 32 | 33 | 34 | 35 | 36 | 37 | 38 | 39 | 40 | 41 | 42 | 43 | 44 | 45 | 46 | 47 | 48 | 49 | 50 | 51 | 52 | 53 | 54 | 55 | 56 | 57 | 58 | 59 | 60 | 61 | 62 | 63 | 64 | 65 | 66 | 67 | 68 | 69 | 70 | 71 | 72 | 73 | 74 | 75 | 76 | 77 | 78 | 79 | 80 | 81 | 82 | 83 | 84 | 85 | 86 | 87 | 88 | 89 | 90 | 91 | 92 | 93 | 94 | 95 | 96 | 97 | 98 | 99 | 100 | 101 | 102 | 103 | 104 | 105 | 106 | 107 | 108 | 109 | 110 | 111 | 112 | 113 | 114 | 115 | 116 | 117 | 118 | 119 | 120 | 121 | 122 | 123 | 124 | 125 | 126 | 127 | 128 | 129 | 130 | 131 | 132 | 133 | 134 | 135 | 136 | 137 | 138 | 139 | 140 | 141 | 142 | 143 | 144 | 145 | 146 | 147 | 148 | 149 | 150 | 151 | 152 | 153 | 154 | 155 | 156 | 157 | 158 | 159 | 160 | 161 | 162 | 163 | 164 | 165 | 166 | 167 | 168 | 169 | 170 | 171 | 172 | 173 | 174 | 175 | 176 | 177 | 178 | 179 | 180 | 181 | 182 | 183 | 184 | 185 | 186 | 187 | 188 | 189 | 190 | 191 | 192 | 193 | 194 | 195 | 196 | 197 | 198 | 199 | 200 | 201 | 202 | 203 | 204 | 205 | 206 | 207 | 208 | 209 | 210 | 211 | 212 | 213 | 214 | 215 | 216 | 217 | 218 | 219 | 220 | 221 | 222 | 223 | 224 | 225 | 226 | 227 | 228 | 229 | 230 | 231 | 232 | 233 | 234 | 235 | 236 | 237 | 238 | 239 | 240 | 241 | 242 | 243 | 244 | 245 | 246 | 247 | 248 | 249 | 250 | 251 | 252 | 253 | 254 | 255 => l: Long
    "#]],
    );
}

#[test]
fn forward_unions_and_exceptions() {
    check(
        "union U;\ntypedef sequence<U> Us;\nunion U switch (long) { case 1: Us x; default: long l; \
         };\nexception Bad { U x; struct Where { long line; } place; };\n",
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
        "exception E {}; interface I { void f(); };\nvaluetype Box sequence<octet>;\nvaluetype Box2 struct Boxed { long l; \
         };\nabstract valuetype AV { void op(); };\nvaluetype V : AV supports I {\n  private long x, y[2];\n  \
         /// Text.\n  @key public string s;\n  factory create(in long x, in string s) raises (E);\n  attribute \
         long att;\n};\n",
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
              attribute att: Long [IDL:V/att:1.0]
        "#]],
    );
    check(
        "valuetype V {}; exception E {};\nvaluetype W : truncatable V { public W next; factory make() raises (E); \
         };\ncustom valuetype X { public any a; };\nvaluetype Fwd;\nvaluetype Fwd { public sequence<Fwd> f; \
         };\neventtype Ev { public long l; };\nabstract eventtype AEv {};\n",
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
        "eventtype Tick { public long n; };\ninterface Face { void f(); };\nvaluetype Key { public long k; \
         };\ncomponent Base;\ncomponent Base { attribute long a; };\ncomponent Comp : Base supports Face {\n  \
         provides Face p; uses multiple Face u; uses Face v; provides Object o;\n  emits Tick e; publishes Tick pu; \
         consumes Tick c;\n};\nhome CompHome supports Face manages Comp primarykey Key {\n  factory make(in long \
         l); finder find(in Key k); void op();\n};\nporttype Pt { provides Face f; uses Face g; attribute long x; \
         };\nconnector Conn { mirrorport Pt m; port Pt n; };\nconnector Conn2 : Conn { };\n",
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
        "module M { interface I; module N { typedef I J; }; };\n/// More of M.\nmodule M { interface I { \
         ::M::N::J self(in M::N::J j); }; };\n",
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
        "@annotation my { long value default 1; };\nenum Ext { FINAL, MUTABLE };\nconst long \
         N = 4;\n@extensibility(FINAL) @my(value = 2 * N) struct S {\n  @key long id; @default(\"x\") string t; \
         @optional @::range(min=1, max=N) long r; @weird(UNKNOWN) @f(1.5) long z;\n};\n@service(\"x\") interface I { \
         @async void f(@in_only in long l); };\nenum E { @value(1) one, @default_literal two };\nunion U switch \
         (long) { @a case 1: @b long l; };\n",
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
        "// License: free.\n\n// Doc of M,\n// two lines.\nmodule M {\n  /* Doc of S:\n   *   indented.\n   */\n  \
         struct S {\n    long a; // not of b\n    /// doc of b\n    long b, c;\n  };\n\n  // of nothing\n\n  typedef \
         S T;\n  //////////////////\n  // Framed.\n  //////////////////\n  enum E { /** first */ one, two // not \
         three\n    , three };\n  /** Doc of I. */\n  interface I {\n    // Doc of op.\n    void op();\n    // Doc of \
         attributes.\n    attribute long x, y;\n  };\n#define X\n};\n",
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
        "interface _interface { attribute long _attribute; void _raises(in long _in, out long _out); \
         };\nstruct struct_ { ::_interface i; long _long; };\nstruct port { long uses, home; };\ninterface I { port \
         component(); };\n",
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
              --> test.idl:3:8
               |
             3 | struct port { long uses, home; };
               |        ^^^^
               = hint: write `_port` to be understood everywhere

            warning[W0207]: `uses` is a keyword in newer versions of IDL
              --> test.idl:3:20
               |
             3 | struct port { long uses, home; };
               |                    ^^^^
               = hint: write `_uses` to be understood everywhere

            warning[W0207]: `home` is a keyword in newer versions of IDL
              --> test.idl:3:26
               |
             3 | struct port { long uses, home; };
               |                          ^^^^
               = hint: write `_home` to be understood everywhere

            warning[W0207]: `component` is a keyword in newer versions of IDL
              --> test.idl:4:20
               |
             4 | interface I { port component(); };
               |                    ^^^^^^^^^
               = hint: write `_component` to be understood everywhere
        "#]],
    );
}

#[test]
fn natives_and_imports() {
    check(
        "import ::CosNaming;\nimport \"x\";\nnative Cookie;\nlocal interface L { Cookie get() raises (Cookie); \
         };\n",
        &expect![[r#"
            native type Cookie [IDL:Cookie:1.0]
            interface L local [IDL:L:1.0]
              operation get() -> Cookie raises Cookie [IDL:L/get:1.0]
        "#]],
    );
}
