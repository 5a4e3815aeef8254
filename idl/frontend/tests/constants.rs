//! Constant expressions: exact values, rounding, ranges.
//! Values are compared with what exact arithmetic and one rounding give.

mod support;

use corbie_frontend::DefinitionKind;
use corbie_frontend::model::ConstValue;
use expect_test::expect;
use support::{check, check_errors, compile_text};

#[test]
fn integers() {
    check(
        r#"const long A = 1 + 2 * 3 - (4 << 2) / 3 % 5;
const unsigned long B = ~0;
const long C = ~0;
const octet D = 0xff & 0x0f | 1 ^ 3;
const long long E = -9223372036854775808;
const unsigned long long F = 18446744073709551615;
const short G = 017 - 0X1f;
const long H = -(-7 / 2) + -7 % 3;
const int8 I = -128;
const uint8 J = 255;
const long K = A << 1 >> 1;
const unsigned short L = ~B & 0xffff;
const long M = - - + 3;
const long N = 1 | 2 ^ 3 & 6;
"#,
        &expect![[r#"
            constant A: Long = 7 [IDL:A:1.0]
            constant B: ULong = 4294967295 [IDL:B:1.0]
            constant C: Long = -1 [IDL:C:1.0]
            constant D: Octet = 15 [IDL:D:1.0]
            constant E: LongLong = -9223372036854775808 [IDL:E:1.0]
            constant F: ULongLong = 18446744073709551615 [IDL:F:1.0]
            constant G: Short = -16 [IDL:G:1.0]
            constant H: Long = 2 [IDL:H:1.0]
            constant I: Int8 = -128 [IDL:I:1.0]
            constant J: UInt8 = 255 [IDL:J:1.0]
            constant K: Long = 7 [IDL:K:1.0]
            constant L: UShort = 0 [IDL:L:1.0]
            constant M: Long = 3 [IDL:M:1.0]
            constant N: Long = 1 [IDL:N:1.0]
        "#]],
    );
}

#[test]
fn floating_point() {
    check(
        r#"const double A = 1.5e3 / 7 + .25;
const float B = 0.1;
const double C = 0.1 + 0.2;
const double D = 1;
const float E = 3.40282347e38;
const double F = 4.9e-324;
const double G = 1e-400;
const double H = -2.5E+2;
const long double I = 0.1;
const long double J = 1.0;
const long double K = -1.189731495357231765e4932;
const float L = B * 10;
const double M = 2 * 3.5 - 1;
"#,
        &expect![[r#"
            constant A: Double = 214.53571428571428 [IDL:A:1.0]
            constant B: Float = 0.10000000149011612 [IDL:B:1.0]
            constant C: Double = 0.3 [IDL:C:1.0]
            constant D: Double = 1.0 [IDL:D:1.0]
            constant E: Float = 3.4028234663852886e38 [IDL:E:1.0]
            constant F: Double = 5e-324 [IDL:F:1.0]
            constant G: Double = 0.0 [IDL:G:1.0]
            constant H: Double = -250.0 [IDL:H:1.0]
            constant I: LongDouble = binary128:3ffb999999999999999999999999999a [IDL:I:1.0]
            constant J: LongDouble = binary128:3fff0000000000000000000000000000 [IDL:J:1.0]
            constant K: LongDouble = binary128:fffefffffffffffffffd57322e3f8675 [IDL:K:1.0]
            constant L: Float = 1.0 [IDL:L:1.0]
            constant M: Double = 6.0 [IDL:M:1.0]
        "#]],
    );
}

/// The standard library rounds the same literals the same way.
#[test]
fn literals_are_rounded_correctly() {
    let literals = [
        "0.1",
        "1e23",
        "9007199254740993.0",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "5e-324",
        "2.4703282292062328e-324",
        "123456789.123456789e-30",
        "0.3",
        "6.02214076e23",
        "1.5e-310",
    ];
    for literal in literals {
        let text = format!("const double D = {literal}; const float F = {literal};");
        let compilation = compile_text(&format!("const double D = {literal};"));
        let DefinitionKind::Constant(x) = &compilation.model.find("D").unwrap().kind else {
            panic!()
        };
        assert_eq!(x.value, ConstValue::Float(literal.parse().unwrap()), "{literal}");
        let single: f32 = literal.parse().unwrap();
        if single.is_finite() {
            let compilation = compile_text(&text);
            let found = compilation.model.find("F").unwrap();
            let DefinitionKind::Constant(x) = &found.kind else { panic!() };
            assert_eq!(x.value, ConstValue::Float(single.into()), "{literal}");
        }
    }
}

#[test]
fn fixed_point() {
    check(
        r#"const fixed A = 12.50d * 3.000d;
const fixed B = 1d / 3d;
const fixed C = 0123.450d;
const fixed D = 3000.00d;
const fixed E = -0.05d;
const fixed F = 9999999999999999999999999999999d;
const fixed G = 2 * 1.5d + 1;
typedef fixed<5,2> T;
const T H = 1.5d;
const T I = A;
const T J = 123.456d;
const fixed K = 0d;
const fixed L = 0.1d - 0.10d;
"#,
        &expect![[r#"
            constant A: fixed<3, 1> = 37.5d<3, 1> [IDL:A:1.0]
            constant B: fixed<31, 31> = 0.3333333333333333333333333333333d<31, 31> [IDL:B:1.0]
            constant C: fixed<5, 2> = 123.45d<5, 2> [IDL:C:1.0]
            constant D: fixed<4, 0> = 3000d<4, 0> [IDL:D:1.0]
            constant E: fixed<2, 2> = -0.05d<2, 2> [IDL:E:1.0]
            constant F: fixed<31, 0> = 9999999999999999999999999999999d<31, 0> [IDL:F:1.0]
            constant G: fixed<1, 0> = 4d<1, 0> [IDL:G:1.0]
            typedef T = fixed<5, 2> [IDL:T:1.0]
            constant H: T = 1.50d<5, 2> [IDL:H:1.0]
            constant I: T = 37.50d<5, 2> [IDL:I:1.0]
            constant J: T = 123.45d<5, 2> [IDL:J:1.0]
            constant K: fixed<1, 0> = 0d<1, 0> [IDL:K:1.0]
            constant L: fixed<1, 0> = 0d<1, 0> [IDL:L:1.0]
        "#]],
    );
}

#[test]
fn texts() {
    check(
        r#"const string A = "a" "b\n\x41\101\"";
const wstring B = L"w\u00e9" L"x";
const char C = '\'';
const wchar D = L'\u20ac';
const char E = '\377';
const string F = "é\xe9";
const string<3> G = "abc";
const string H = A;
const string I = "";
const char J = '\0';
const string K = "\x1" "2";
"#,
        &expect![[r#"
            constant A: string = "ab\nAA\"" [IDL:A:1.0]
            constant B: wstring = L"wéx" [IDL:B:1.0]
            constant C: Char = '\'' [IDL:C:1.0]
            constant D: WChar = L U+20AC [IDL:D:1.0]
            constant E: Char = 'ÿ' [IDL:E:1.0]
            constant F: string = "éé" [IDL:F:1.0]
            constant G: string<3> = "abc" [IDL:G:1.0]
            constant H: string = "ab\nAA\"" [IDL:H:1.0]
            constant I: string = "" [IDL:I:1.0]
            constant J: Char = '\0' [IDL:J:1.0]
            constant K: string = "\u{1}2" [IDL:K:1.0]
        "#]],
    );
}

#[test]
fn booleans_and_enumerators() {
    check(
        r#"const boolean A = TRUE;
const boolean B = A;
enum Color { red, green };
const Color C = green;
typedef Color Colour;
const Colour D = C;
typedef Colour Array[2];
"#,
        &expect![[r#"
            constant A: Boolean = true [IDL:A:1.0]
            constant B: Boolean = true [IDL:B:1.0]
            enum Color [IDL:Color:1.0]
              red
              green
            constant C: Color = Color.green [IDL:C:1.0]
            typedef Colour = Color [IDL:Colour:1.0]
            constant D: Colour = Color.green [IDL:D:1.0]
            typedef Array = Colour[2] [IDL:Array:1.0]
        "#]],
    );
}

#[test]
fn ranges() {
    check_errors(
        r#"const octet A = 256;
const octet B = -1;
const short C = 32768;
const short D = -32769;
const long E = 0x80000000;
const long long F = 9223372036854775808;
const unsigned long long G = -1;
const int8 H = 128;
const uint8 I = ~256;
const long J = 1 << 31;
const float K = 3.5e38;
const double L = 1e309;
const long long M = 18446744073709551615 * 18446744073709551615 * 4;
const boolean N = 1;
const long O = TRUE;
const long P = 'x';
const long Q = 1.5;
const double R = 'x';
const fixed S = 1.5;
"#,
        &expect![[r#"
            test.idl:1:17: error[E0502]: 256 is out of range
            test.idl:2:17: error[E0502]: -1 is out of range
            test.idl:3:17: error[E0502]: 32768 is out of range
            test.idl:4:17: error[E0502]: -32769 is out of range
            test.idl:5:16: error[E0502]: 2147483648 is out of range
            test.idl:6:21: error[E0502]: 9223372036854775808 is out of range
            test.idl:7:30: error[E0502]: -1 is out of range
            test.idl:8:16: error[E0502]: 128 is out of range
            test.idl:9:17: error[E0502]: -257 is out of range
            test.idl:10:16: error[E0502]: 2147483648 is out of range
            test.idl:11:17: error[E0502]: this value is out of range
            test.idl:12:18: error[E0502]: this value is out of range
            test.idl:13:42: error[E0502]: the value of this operation is out of range
            test.idl:14:19: error[E0501]: expected TRUE or FALSE, found an integer
            test.idl:15:16: error[E0501]: expected an integer, found a boolean
            test.idl:16:16: error[E0501]: expected an integer, found a character
            test.idl:17:16: error[E0501]: expected an integer, found a floating point number
            test.idl:18:18: error[E0501]: expected a floating point number, found a character
            test.idl:19:17: error[E0501]: expected fixed, found a floating point number
        "#]],
    );
}
