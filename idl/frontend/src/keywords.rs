//! The keywords of IDL, and which of them older IDL uses as names.
//!
//! Used by the parser and by the checker's clash rules. IDL 4.2 §7.2.4, table 7-6.

use crate::model::Type;

/// Keywords in every CORBA version since 2.3: never a name unless escaped.
const RESERVED: &[&str] = &[
    "FALSE",
    "Object",
    "TRUE",
    "ValueBase",
    "abstract",
    "any",
    "attribute",
    "boolean",
    "case",
    "char",
    "const",
    "context",
    "custom",
    "default",
    "double",
    "enum",
    "exception",
    "factory",
    "fixed",
    "float",
    "in",
    "inout",
    "interface",
    "local",
    "long",
    "module",
    "native",
    "octet",
    "oneway",
    "out",
    "private",
    "public",
    "raises",
    "readonly",
    "sequence",
    "short",
    "string",
    "struct",
    "supports",
    "switch",
    "truncatable",
    "typedef",
    "union",
    "unsigned",
    "valuetype",
    "void",
    "wchar",
    "wstring",
];

/// Those of them that came with CORBA 2.3: older IDL has names like them in other case (`Factory`).
const YOUNG: &[&str] = &[
    "abstract",
    "custom",
    "factory",
    "local",
    "private",
    "public",
    "supports",
    "truncatable",
    "ValueBase",
    "valuetype",
];

/// Keywords that came later (components, IDL 4): recognised where their construct can stand, and
/// still usable as names, because much published IDL does (`unsigned short port`).
const NEWER: &[&str] = &[
    "alias",
    "bitfield",
    "bitmask",
    "bitset",
    "component",
    "connector",
    "consumes",
    "emits",
    "eventtype",
    "finder",
    "getraises",
    "home",
    "import",
    "int16",
    "int32",
    "int64",
    "int8",
    "manages",
    "map",
    "mirrorport",
    "multiple",
    "port",
    "porttype",
    "primarykey",
    "provides",
    "publishes",
    "setraises",
    "typeid",
    "typename",
    "typeprefix",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uses",
];

/// How a word relates to the keywords.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not a keyword, nor like one.
    Free,
    /// A keyword in all versions.
    Reserved,
    /// A keyword in newer versions.
    Newer,
    /// Differs only in case from this keyword of all versions.
    Collides(&'static str),
    /// Differs only in case from this keyword, which came with CORBA 2.3.
    Resembles(&'static str),
}

pub(crate) fn standing(word: &str) -> Standing {
    let alike = |list: &'static [&'static str]| {
        list.iter().copied().find(|k| k.len() == word.len() && k.eq_ignore_ascii_case(word))
    };
    if NEWER.contains(&word) {
        return Standing::Newer;
    }
    match alike(RESERVED) {
        Some(keyword) if keyword == word => Standing::Reserved,
        Some(keyword) if YOUNG.contains(&keyword) => Standing::Resembles(keyword),
        Some(keyword) => Standing::Collides(keyword),
        None => Standing::Free,
    }
}

/// The integer types that IDL 4.2 §7.4.13 adds; their names may be redefined by older IDL.
pub(crate) fn sized_integer(word: &str) -> Option<Type> {
    let mut types = Type::PRIMITIVES.iter();
    types.find(|(_, row)| row.sized_name == Some(word)).map(|(ty, _)| ty.clone())
}
