//! Types as short text: `long`, `string<8>`, `fixed<5,2>`, `sequence<octet,4>`, `Stock::Quote`.
//!
//! The form of types without definitions, in `any` values and where a TypeCode is an argument.

use corbie::types::{TcKind, TypeCode};
use corbie_frontend::Type;

use super::surroundings::Surroundings;

/// The type that these words are, of the kinds that need nothing else.
fn basic(words: &str) -> Option<TypeCode> {
    let kinds = (0..).map_while(TcKind::from_number);
    kinds.filter_map(TypeCode::basic).find(|known| known.to_string() == words)
}

/// The TypeCode of a primitive type.
pub(crate) fn of_primitive(ty: &Type) -> Option<TypeCode> {
    TypeCode::basic(TcKind::from_number(ty.primitive()?.kind)?)
}

/// The type that has this name in IDL 4.2 besides its words; `int8` has no TypeCode of its own.
fn sized_integer(name: &str) -> Option<TypeCode> {
    let mut types = Type::PRIMITIVES.iter();
    let (ty, _) = types.find(|(_, row)| row.sized_name == Some(name))?;
    if *ty == Type::Int8 { None } else { of_primitive(ty) }
}

/// The text of a type; `None` if it needs more than text.
pub(super) fn write(type_code: &TypeCode) -> Option<String> {
    let bounded = |word: &str| match type_code.length() {
        None | Some(0) => word.to_owned(),
        Some(bound) => format!("{word}<{bound}>"),
    };
    match type_code.kind() {
        TcKind::String => Some(bounded("string")),
        TcKind::WString => Some(bounded("wstring")),
        TcKind::Fixed => {
            let (digits, scale) = type_code.fixed_digits_and_scale()?;
            Some(format!("fixed<{digits},{scale}>"))
        }
        TcKind::ObjRef if *type_code == TypeCode::object() => Some("Object".to_owned()),
        kind if kind.is_basic() => Some(type_code.to_string()),
        _ => None,
    }
}

/// Reads the text of a type.
pub(super) fn read(text: &str, surroundings: &dyn Surroundings) -> Result<TypeCode, String> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(known) = basic(&words).or_else(|| sized_integer(&words)) {
        return Ok(known);
    }
    let Some((template, rest)) = words.split_once('<') else {
        return match words.as_str() {
            "string" => Ok(TypeCode::string(0)),
            "wstring" => Ok(TypeCode::wstring(0)),
            "Object" => Ok(TypeCode::object()),
            name => surroundings.type_named(name),
        };
    };
    let inside = rest
        .strip_suffix('>')
        .ok_or_else(|| format!("`{text}` does not end with the `>` of its `<`"))?
        .trim();
    let number = |digits: &str| -> Result<u32, String> {
        digits.trim().parse().map_err(|_| format!("`{digits}` in `{text}` is not a bound"))
    };
    match template.trim() {
        "string" => Ok(TypeCode::string(number(inside)?)),
        "wstring" => Ok(TypeCode::wstring(number(inside)?)),
        "fixed" => fixed(inside).ok_or_else(|| format!("`{text}` is not fixed<DIGITS,SCALE>")),
        "sequence" => match split_bound(inside) {
            Some((element, bound)) => {
                Ok(TypeCode::sequence(read(element, surroundings)?, number(bound)?))
            }
            None => Ok(TypeCode::sequence(read(inside, surroundings)?, 0)),
        },
        other => Err(format!("`{other}<…>` is not a type")),
    }
}

fn fixed(inside: &str) -> Option<TypeCode> {
    let (digits, scale) = inside.split_once(',')?;
    let (digits, scale) = (digits.trim().parse().ok()?, scale.trim().parse().ok()?);
    (1..=31).contains(&digits).then(|| TypeCode::fixed(digits, scale))
}

/// Splits `element, bound` at the comma that is not inside of other brackets.
fn split_bound(inside: &str) -> Option<(&str, &str)> {
    let (element, bound) = inside.rsplit_once(',')?;
    let digits = bound.trim();
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some((element, bound))
}
