//! Values of constructed types: structs, sequences, arrays, unions, exceptions, made of the basic
//! ones. Used by both sides of the catalogue.

use super::primitives::*;
use crate::idl::interop::*;
use corbie::types::Any;
use corbie::{Fixed, LongDouble, WChar};

pub(crate) fn number(n: i64) -> i32 {
    long(n)
}
pub(crate) fn amount(n: i64) -> i32 {
    long(n + 1)
}
pub(crate) fn colour(n: i64) -> Colour {
    [Colour::Red, Colour::Green, Colour::Blue, Colour::InfraRed][n as usize % 4]
}
pub(crate) fn point(n: i64) -> Point {
    Point { x: long(n), y: long(n + 1) }
}
pub(crate) fn mixed(n: i64) -> Mixed {
    Mixed {
        o: octet(n),
        d: double(n),
        b: boolean(n),
        ll: longlong(n),
        c: char(n),
        s: short(n),
        f: float(n),
        us: ushort(n),
        ul: ulong(n),
        last: octet(n + 1),
    }
}
pub(crate) fn person(n: i64) -> Person {
    Person {
        name: string(n),
        favourite: colour(n),
        place: point(n),
        aliases: text_seq(n),
        code: short_text(n),
        member: boolean(n),
    }
}
pub(crate) fn company(n: i64) -> Company {
    Company {
        head: person(n),
        numbers: mixed(n),
        staff: person_seq(n),
        chart: matrix(n),
        grid: rows(|i, j| long(n + 3 * i + j)),
        capital: amount(n),
    }
}
pub(crate) fn tree(n: i64) -> Tree {
    tree_of_depth(n, 2)
}
fn tree_of_depth(n: i64, depth: u32) -> Tree {
    let count = if depth == 0 { 0 } else { n % 3 };
    Tree {
        label: string(n),
        children: (0..count).map(|i| tree_of_depth(n + i + 1, depth - 1)).collect(),
    }
}
pub(crate) fn link(n: i64) -> Link {
    let next = if n % 5 == 0 { Vec::new() } else { vec![link(n - 1)] };
    Link { value: long(n), next }
}

// ------------------------------------------------------------------ sequences and arrays

fn some<T>(n: i64, count: i64, element: fn(i64) -> T) -> Vec<T> {
    (0..count).map(|i| element(n + i)).collect()
}

macro_rules! sequences {
    ($($name:ident: $element:ident -> $type:ty;)*) => {$(
        pub(crate) fn $name(n: i64) -> Vec<$type> {
            some(n, n % 5, $element)
        }
    )*};
}
sequences! {
    boolean_seq: boolean -> bool;
    char_seq: char -> char;
    wchar_seq: wchar -> WChar;
    octet_seq: octet -> u8;
    short_seq: short -> i16;
    ushort_seq: ushort -> u16;
    long_seq: long -> i32;
    ulong_seq: ulong -> u32;
    longlong_seq: longlong -> i64;
    ulonglong_seq: ulonglong -> u64;
    float_seq: float -> f32;
    double_seq: double -> f64;
    text_seq: string -> String;
    wide_text_seq: wstring -> String;
    colour_seq: colour -> Colour;
    point_seq: point -> Point;
    mixed_seq: mixed -> Mixed;
    person_seq: person -> Person;
    octet_seq_seq: octet_seq -> Vec<u8>;
    long_seq_seq: long_seq -> Vec<i32>;
    matrix_seq: matrix -> Matrix;
    sparse_union_seq: sparse_union -> SparseUnion;
    longdouble_seq: longdouble -> LongDouble;
    price_seq: price -> Fixed<5, 2>;
}
pub(crate) fn number_seq6(n: i64) -> Vec<i32> {
    some(n, n % 5 + 2, long)
}
pub(crate) fn short_text_seq7(n: i64) -> Vec<String> {
    some(n, n % 5 + 3, short_text)
}

fn row_of<T, const N: usize>(element: impl Fn(i64) -> T) -> [T; N] {
    std::array::from_fn(|i| element(i as i64))
}
fn rows<T, const N: usize, const M: usize>(element: impl Fn(i64, i64) -> T) -> [[T; N]; M] {
    row_of(|i| row_of(|j| element(i, j)))
}
pub(crate) fn row(n: i64) -> Row {
    row_of(|i| long(n + i))
}
pub(crate) fn matrix(n: i64) -> Matrix {
    rows(|i, j| short(n + 3 * i + j))
}
pub(crate) fn digest(n: i64) -> Digest {
    row_of(|i| octet(n + i))
}
pub(crate) fn text_array(n: i64) -> TextArray {
    row_of(|i| string(n + i))
}
pub(crate) fn point_array(n: i64) -> PointArray {
    row_of(|i| point(n + i))
}
pub(crate) fn cube(n: i64) -> Cube {
    row_of(|i| rows(|j, k| double(n + 4 * i + 2 * j + k)))
}
pub(crate) fn long_seq_array(n: i64) -> LongSeqArray {
    row_of(|i| long_seq(n + i))
}

// ------------------------------------------------------------------ unions

pub(crate) fn boolean_union(n: i64) -> BooleanUnion {
    if n % 2 == 1 { BooleanUnion::Number(long(n)) } else { BooleanUnion::Text(string(n)) }
}
pub(crate) fn char_union(n: i64) -> CharUnion {
    match n % 4 {
        0 => CharUnion::Number { discriminator: 'a', value: long(n) },
        1 => CharUnion::Number { discriminator: 'b', value: long(n) },
        2 => CharUnion::Text(string(n)),
        _ => CharUnion::Place { discriminator: '\0', value: point(n) },
    }
}
pub(crate) fn short_union(n: i64) -> ShortUnion {
    match n % 3 {
        0 => ShortUnion::Small(octet(n)),
        1 => ShortUnion::Large(double(n)),
        _ => ShortUnion::Text(string(n)),
    }
}
pub(crate) fn ushort_union(n: i64) -> UshortUnion {
    match n % 3 {
        0 => UshortUnion::Tint(colour(n)),
        1 => UshortUnion::Flag(boolean(n)),
        _ => UshortUnion::Text { discriminator: 0, value: string(n) },
    }
}
pub(crate) fn long_union(n: i64) -> LongUnion {
    match n % 3 {
        0 => LongUnion::Number(longlong(n)),
        1 => LongUnion::Numbers(long_seq(n)),
        _ => LongUnion::Letter { discriminator: 0, value: char(n) },
    }
}
pub(crate) fn ulong_union(n: i64) -> UlongUnion {
    match n % 3 {
        0 => UlongUnion::Chart(matrix(n)),
        1 => UlongUnion::Someone(person(n)),
        _ => UlongUnion::Small { discriminator: 1, value: octet(n) },
    }
}
pub(crate) fn longlong_union(n: i64) -> LonglongUnion {
    match n % 3 {
        0 => LonglongUnion::Number(short(n)),
        1 => LonglongUnion::Text(string(n)),
        _ => LonglongUnion::Large { discriminator: 0, value: double(n) },
    }
}
pub(crate) fn ulonglong_union(n: i64) -> UlonglongUnion {
    match n % 3 {
        0 => UlonglongUnion::Number(short(n)),
        1 => UlonglongUnion::Text(string(n)),
        _ => UlonglongUnion::Large { discriminator: 0, value: double(n) },
    }
}
pub(crate) fn colour_union(n: i64) -> ColourUnion {
    match n % 4 {
        0 => ColourUnion::Inner(short_union(n)),
        1 => ColourUnion::People { discriminator: Colour::Green, value: person_seq(n) },
        2 => ColourUnion::People { discriminator: Colour::Blue, value: person_seq(n) },
        _ => ColourUnion::Whatever {
            discriminator: Colour::InfraRed,
            value: Any::from_value::<String>(&string(n)).expect("a string fits an any"),
        },
    }
}
pub(crate) fn sparse_union(n: i64) -> SparseUnion {
    match n % 3 {
        0 => SparseUnion::Other(0),
        1 => SparseUnion::Number(long(n)),
        _ => SparseUnion::Text(string(n)),
    }
}
pub(crate) fn precise(n: i64) -> Precise {
    Precise { pad: octet(n), value: longdouble(n) }
}
pub(crate) fn wide_ulong_union(n: i64) -> WideUlongUnion {
    match n % 2 {
        0 => WideUlongUnion::Number(short(n)),
        _ => WideUlongUnion::Text { discriminator: 17 + n as u32, value: string(n) },
    }
}
pub(crate) fn wide_longlong_union(n: i64) -> WideLonglongUnion {
    match n % 3 {
        0 => WideLonglongUnion::Number(short(n)),
        1 => WideLonglongUnion::Large(double(n)),
        _ => WideLonglongUnion::Text { discriminator: 4_000_000_000 + n, value: string(n) },
    }
}
pub(crate) fn wide_ulonglong_union(n: i64) -> WideUlonglongUnion {
    match n % 2 {
        0 => WideUlonglongUnion::Number(short(n)),
        _ => WideUlonglongUnion::Text { discriminator: (1 << 63) + n as u64, value: string(n) },
    }
}

// ------------------------------------------------------------------ exceptions and constants

pub(crate) fn details(n: i64) -> Details {
    Details { reason: string(n), code: long(n), place: point(n) }
}
pub(crate) fn lists(n: i64) -> Lists {
    Lists { names: text_seq(n), numbers: long_seq(n), people: person_seq(n) }
}
/// What the constants of the IDL are in Rust.
pub(crate) fn constants() -> Constants {
    Constants {
        short_constant: SHORT_CONSTANT,
        large_constant: LARGE_CONSTANT,
        pi: PI,
        letter: LETTER,
        yes: YES,
        greeting: GREETING.to_owned(),
        preferred: PREFERRED,
        shifted: SHIFTED,
        octet_constant: OCTET_CONSTANT,
    }
}
