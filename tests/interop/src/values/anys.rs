//! Values of `any` and TypeCode, and their comparison. The number of a kind says what the any
//! holds; the operations of `Interop::Anys` pass it along.

use super::*;
use crate::idl::interop::*;
use corbie::Orb;
use corbie::idl::Wstring;
use corbie::types::{Any, TypeCode, Typed};

/// How many kinds there are.
pub(crate) const ANY_KINDS: i32 = 41;

/// Makes the reference of kind 35.
pub(crate) type MakeNamed<'a> = &'a dyn Fn(&str) -> Result<Named, Different>;

fn holding<M: Typed>(value: &M::Value) -> Result<Any, Different> {
    Ok(Any::from_value::<M>(value)?)
}

/// The n-th any of a kind; `who` names the side that the reference of kind 35 points to.
pub(crate) fn any_value(
    kind: i32,
    n: i64,
    who: &str,
    make: Option<MakeNamed<'_>>,
) -> Result<Any, Different> {
    match kind {
        0 => Ok(Any::default()),
        33 => holding::<Any>(&holding::<Any>(&holding::<String>(&string(n))?)?),
        34 => holding::<TypeCode>(&type_code(n as i32)),
        35 => {
            let make = make.ok_or("no maker of references")?;
            holding::<Named>(&Some(make(&format!("{who}-{n}"))?))
        }
        _ => match ROWS.iter().find(|row| row.kind == kind) {
            Some(row) => (row.make)(n),
            None => Err(Different(format!("no any of kind {kind}"))),
        },
    }
}

/// Fails unless `got` is what [`any_value`] makes.
pub(crate) fn check_any(
    what: &str,
    got: &Any,
    kind: i32,
    n: i64,
    who: &str,
    orb: &Orb,
) -> Result<(), Different> {
    check_type_code(what, got.type_code(), kind)?;
    match kind {
        0 => Ok(()),
        33 => {
            let innermost = got.extract::<Any>()?.extract::<Any>()?.extract::<String>()?;
            check_equal(what, &innermost, &string(n))
        }
        34 => check_type_code(what, &got.extract::<TypeCode>()?, n as i32),
        35 => {
            // references inside an any belong to an ORB once they are taken out
            let named = got.extract_in::<Named>(Some(&**orb))?.ok_or("a nil reference")?;
            check_equal(what, &named.name()?, &format!("{who}-{n}"))
        }
        _ => match ROWS.iter().find(|row| row.kind == kind) {
            Some(row) => (row.check)(what, got, n),
            None => Err(Different(format!("no any of kind {kind}"))),
        },
    }
}

struct Row {
    kind: i32,
    make: fn(i64) -> Result<Any, Different>,
    check: fn(&str, &Any, i64) -> Result<(), Different>,
    type_code: fn() -> TypeCode,
}

macro_rules! rows {
    ($($kind:literal $marker:ty = $value:ident;)*) => {
        const ROWS: &[Row] = &[$(Row {
            kind: $kind,
            make: |n| holding::<$marker>(&$value(n)),
            check: |what, got, n| check::<$marker>(what, &got.extract::<$marker>()?, &$value(n)),
            type_code: <$marker as Typed>::type_code,
        }),*];
    };
}
rows! {
    1 bool = boolean;
    2 char = char;
    3 corbie::WChar = wchar;
    4 u8 = octet;
    5 i16 = short;
    6 u16 = ushort;
    7 i32 = long;
    8 u32 = ulong;
    9 i64 = longlong;
    10 u64 = ulonglong;
    11 f32 = float;
    12 f64 = double;
    13 String = string;
    14 ShortTextIdl = short_text;
    15 Wstring = wstring;
    16 PriceIdl = price;
    17 Colour = colour;
    18 Point = point;
    19 Mixed = mixed;
    20 Person = person;
    21 Tree = tree;
    22 Link = link;
    23 CharUnion = char_union;
    24 SparseUnion = sparse_union;
    25 LongSeqIdl = long_seq;
    26 TextSeqIdl = text_seq;
    27 PersonSeqIdl = person_seq;
    28 MatrixIdl = matrix;
    29 TextArrayIdl = text_array;
    30 NumberIdl = number;
    31 AmountIdl = amount;
    32 Details = details;
    36 OctetSeqIdl = octet_seq;
    37 Company = company;
    38 NumberSeq6Idl = number_seq6;
    39 ColourUnion = colour_union;
    40 LongSeqArrayIdl = long_seq_array;
}

/// The TypeCode of a kind.
pub(crate) fn type_code(kind: i32) -> TypeCode {
    match kind % ANY_KINDS {
        0 => TypeCode::NULL,
        33 => TypeCode::ANY,
        34 => TypeCode::TYPE_CODE,
        35 => Named::type_code(),
        kind => match ROWS.iter().find(|row| row.kind == kind) {
            Some(row) => (row.type_code)(),
            None => TypeCode::VOID,
        },
    }
}

/// Fails unless `got` is equivalent to the TypeCode of a kind, and is of the same kind and name.
pub(crate) fn check_type_code(what: &str, got: &TypeCode, kind: i32) -> Result<(), Different> {
    let wanted = type_code(kind);
    if got.kind() != wanted.kind() || got.id() != wanted.id() || !got.equivalent(&wanted) {
        return Err(Different(format!("{what}: got TypeCode {got}, expected {wanted}")));
    }
    Ok(())
}

fn kind_of_element(n: i64) -> i32 {
    13 + 2 * (n % 5) as i32
}

/// Strings, wide strings and structs.
pub(crate) fn any_seq(n: i64) -> Result<Vec<Any>, Different> {
    (0..n % 5).map(|i| any_value(kind_of_element(n + i), n + i, "", None)).collect()
}

/// Fails unless `got` is what [`any_seq`] makes.
pub(crate) fn check_any_seq(what: &str, got: &[Any], n: i64, orb: &Orb) -> Result<(), Different> {
    check_equal(&format!("{what}: length"), &(got.len() as i64), &(n % 5))?;
    for (i, element) in (n..).zip(got) {
        check_any(what, element, kind_of_element(i), i, "", orb)?;
    }
    Ok(())
}
