//! Values of the basic types and texts: tables of extremes, of which the n-th value is one.
//! Used by `constructed`, `anys` and the features that pass a basic type.

use corbie::{Fixed, LongDouble, WChar};

fn pick<T: Copy>(table: &[T], n: i64) -> T {
    table[n.unsigned_abs() as usize % table.len()]
}

pub(crate) fn boolean(n: i64) -> bool {
    n % 2 == 1
}
pub(crate) fn char(n: i64) -> char {
    pick(&['A', '~', ' ', '0', 'z'], n)
}
pub(crate) fn wchar(n: i64) -> WChar {
    WChar(pick(&[0x41, 0xe9, 0x20ac, 0x4e2d, 0xfffd], n))
}
pub(crate) fn octet(n: i64) -> u8 {
    pick(&[0, 255, 128, 127, 1], n)
}
pub(crate) fn short(n: i64) -> i16 {
    pick(&[0, i16::MIN, i16::MAX, -1, 0x1234], n)
}
pub(crate) fn ushort(n: i64) -> u16 {
    pick(&[0, u16::MAX, 0x8000, 0x7fff, 0x1234], n)
}
pub(crate) fn long(n: i64) -> i32 {
    pick(&[0, i32::MIN, i32::MAX, -1, 0x1234_5678], n)
}
pub(crate) fn ulong(n: i64) -> u32 {
    pick(&[0, u32::MAX, 0x8000_0000, 0x7fff_ffff, 0x1234_5678], n)
}
pub(crate) fn longlong(n: i64) -> i64 {
    pick(&[0, i64::MIN, i64::MAX, -1, 0x1234_5678_9abc_def0], n)
}
pub(crate) fn ulonglong(n: i64) -> u64 {
    pick(&[0, u64::MAX, 1 << 63, (1 << 63) - 1, 0x1234_5678_9abc_def0], n)
}
pub(crate) fn float(n: i64) -> f32 {
    f32::from_bits(pick(
        &[0, 0x8000_0000, 0x7f7f_ffff, 1, 0xff80_0000, 0x4049_0fdb, 0x7fc0_0000, 0x0080_0000],
        n,
    ))
}
pub(crate) fn double(n: i64) -> f64 {
    f64::from_bits(pick(
        &[
            0,
            0x8000_0000_0000_0000,
            0x7fef_ffff_ffff_ffff,
            1,
            0xfff0_0000_0000_0000,
            0x4009_21fb_5444_2d18,
            0x7ff8_0000_0000_0000,
            0x0010_0000_0000_0000,
        ],
        n,
    ))
}
pub(crate) fn float_nan(n: i64) -> f32 {
    f32::from_bits(pick(&[0x7fc0_0001, 0xffc0_0000, 0x7fff_ffff, 0x7fc1_2345, 0xffed_cba9], n))
}
pub(crate) fn double_nan(n: i64) -> f64 {
    f64::from_bits(pick(
        &[
            0x7ff8_0000_0000_0001,
            0xfff8_0000_0000_0000,
            0x7fff_ffff_ffff_ffff,
            0x7ff8_1234_5678_9abc,
            0xfffe_dcba_9876_5432,
        ],
        n,
    ))
}
/// Zero, -1.5, and pi, the largest and the smallest normal number of the 80-bit format.
pub(crate) fn longdouble(n: i64) -> LongDouble {
    LongDouble::from_bits(pick(
        &[
            0,
            0xbfff_8000_0000_0000_0000_0000_0000_0000,
            0x4000_921f_b544_42d1_846a_0000_0000_0000,
            0x7ffe_ffff_ffff_ffff_fffe_0000_0000_0000,
            0x0001_0000_0000_0000_0000_0000_0000_0000,
        ],
        n,
    ))
}

pub(crate) fn string(n: i64) -> String {
    let table = [
        "",
        "a",
        "Hello, world",
        "0123456789abcdefghijklmnopqrstuvwxyz",
        "line\nbreak\ttab \"quoted\" \\ ~",
    ];
    pick(&table, n).to_owned()
}
pub(crate) fn text(n: i64) -> String {
    string(n)
}
pub(crate) fn short_text(n: i64) -> String {
    pick(&["", "a", "12345678", "abc", "x y"], n).to_owned()
}
pub(crate) fn latin1(n: i64) -> String {
    pick(&["é", "Zürich", "¡ÿ¢£", "\u{a0}", "Ærøskøbing"], n).to_owned()
}
pub(crate) fn unicode(n: i64) -> String {
    pick(&["€", "日本語", "Ελλάδα", "Привет, мир", "naïve – “quoted”"], n).to_owned()
}
pub(crate) fn latin1_char(n: i64) -> char {
    pick(&['é', 'ÿ', '¡', 'Æ', 'ß'], n)
}
pub(crate) fn wstring(n: i64) -> String {
    pick(&["", "A", "äöü€", "日本語", "Привет"], n).to_owned()
}
pub(crate) fn wide_text(n: i64) -> String {
    wstring(n)
}
pub(crate) fn short_wide_text(n: i64) -> String {
    pick(&["", "A", "äöü€", "日本語", "12345678"], n).to_owned()
}
pub(crate) fn surrogates(n: i64) -> String {
    pick(&["😀", "a𝄞b", "𐍈", "😀😀", "\u{10ffff}"], n).to_owned()
}

fn fixed<const D: u16, const S: i16>(table: &[i128], n: i64) -> Fixed<D, S> {
    Fixed::from_digits(pick(table, n)).expect("the tables fit their types")
}
pub(crate) fn price(n: i64) -> Fixed<5, 2> {
    fixed(&[56_780, -99_999, 99_999, 12_345, -10_001], n)
}
pub(crate) fn huge(n: i64) -> Fixed<31, 0> {
    fixed(
        &[
            1_000_000_000_000_000_000_000_000_000_000,
            9_999_999_999_999_999_999_999_999_999_999,
            -1_234_567_890_123_456_789_012_345_678_901,
            5_555_555_555_555_555_555_555_555_555_555,
            -9_999_999_999_999_999_999_999_999_999_999,
        ],
        n,
    )
}
pub(crate) fn fraction(n: i64) -> Fixed<10, 10> {
    fixed(&[1_000_000_000, 9_999_999_999, -1_234_567_890, 5_000_000_000, -9_000_000_001], n)
}
pub(crate) fn tenth(n: i64) -> Fixed<4, 1> {
    fixed(&[1_000, -9_999, 9_999, 1_234, -5_123], n)
}
pub(crate) fn sparse_price(n: i64) -> Fixed<5, 2> {
    fixed(&[0, 1, -1, -120, 1000], n)
}
