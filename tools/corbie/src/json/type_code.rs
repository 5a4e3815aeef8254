//! TypeCodes as JSON: text where that says it all, else an object with `kind`.
//!
//! Used for the argument and result type `TypeCode` and for the type of an `any`. Written types
//! are complete: to read one takes no IDL.

use corbie::types::{TcKind, TypeCode, UnionMember, ValueMember, ValueModifier, Visibility};
use serde_json::{Map, Value as Json, json};

use super::mismatch::Mismatch;
use super::surroundings::Surroundings;
use super::type_text;
use crate::near_names;

/// How deep types may nest in JSON: a type that never ends is cut here.
const DEPTH_MAX: usize = 64;

/// The kinds that have an id and a name and nothing else.
type Named = fn(&str, &str) -> TypeCode;
const NAMED: [(&str, TcKind, Named); 6] = [
    ("interface", TcKind::ObjRef, TypeCode::interface),
    ("abstract_interface", TcKind::AbstractInterface, TypeCode::abstract_interface),
    ("local_interface", TcKind::LocalInterface, TypeCode::local_interface),
    ("native", TcKind::Native, TypeCode::native),
    ("component", TcKind::Component, TypeCode::component),
    ("home", TcKind::Home, TypeCode::home),
];

/// The other kinds that an object can have.
const KINDS: [&str; 10] = [
    "sequence",
    "array",
    "alias",
    "value_box",
    "struct",
    "exception",
    "enum",
    "union",
    "value",
    "event",
];

const MODIFIERS: [(&str, ValueModifier); 4] = [
    ("none", ValueModifier::None),
    ("custom", ValueModifier::Custom),
    ("abstract", ValueModifier::Abstract),
    ("truncatable", ValueModifier::Truncatable),
];

/// A case of a union as `TypeCode::union` takes it: label, name and type of the member.
type JsonCase<'j> = (Option<i128>, &'j str, TypeCode);

/// A TypeCode as JSON.
pub(super) fn type_to_json(type_code: &TypeCode, surroundings: &dyn Surroundings) -> Json {
    Writer { surroundings, open: Vec::new() }.write(type_code)
}

struct Writer<'s> {
    surroundings: &'s dyn Surroundings,
    /// Definitions around what is written: met again they are recursive.
    open: Vec<TypeCode>,
}

impl Writer<'_> {
    fn write(&mut self, type_code: &TypeCode) -> Json {
        if let Some(text) = type_text::write(type_code) {
            return Json::String(text);
        }
        if self.open.len() >= DEPTH_MAX || self.is_open(type_code) {
            return json!({ "kind": "recursive", "id": type_code.id() });
        }
        if let Some(name) = self.surroundings.name_of(type_code) {
            return Json::String(name);
        }
        self.open.push(type_code.clone());
        let written = self.write_constructed(type_code);
        self.open.pop();
        written
    }

    fn is_open(&self, type_code: &TypeCode) -> bool {
        if matches!(type_code.kind(), TcKind::Sequence | TcKind::Array) {
            return false;
        }
        let id = type_code.id();
        self.open.iter().any(|open| {
            open.kind() == type_code.kind()
                && open.id() == id
                && (!id.is_empty() || open == type_code)
        })
    }

    fn write_constructed(&mut self, type_code: &TypeCode) -> Json {
        let (id, name) = (type_code.id(), type_code.name());
        let length = type_code.length().unwrap_or(0);
        let content = type_code.content_type().unwrap_or_default();
        match type_code.kind() {
            TcKind::Sequence => match (self.write(&content), length) {
                (Json::String(element), 0) => json!(format!("sequence<{element}>")),
                (Json::String(element), bound) => json!(format!("sequence<{element},{bound}>")),
                (element, bound) => {
                    json!({ "kind": "sequence", "element": element, "bound": bound })
                }
            },
            TcKind::Array => {
                json!({ "kind": "array", "element": self.write(&content), "length": length })
            }
            TcKind::Alias => {
                json!({ "kind": "alias", "id": id, "name": name, "type": self.write(&content) })
            }
            TcKind::ValueBox => {
                json!({ "kind": "value_box", "id": id, "name": name, "type": self.write(&content) })
            }
            TcKind::Struct => self.write_members("struct", type_code),
            TcKind::Except => self.write_members("exception", type_code),
            TcKind::Enum => {
                let enumerators = type_code.enumerators();
                json!({ "kind": "enum", "id": id, "name": name, "enumerators": enumerators })
            }
            TcKind::Union => self.write_union(type_code),
            TcKind::Value => self.write_value("value", type_code),
            TcKind::Event => self.write_value("event", type_code),
            kind => {
                let known = NAMED.iter().find(|(_, known, _)| *known == kind);
                let word = known.map_or(kind.name(), |(word, _, _)| word);
                json!({ "kind": word, "id": id, "name": name })
            }
        }
    }

    fn write_members(&mut self, kind: &str, type_code: &TypeCode) -> Json {
        let members: Vec<Json> = type_code
            .members()
            .iter()
            .map(|m| json!({ "name": m.name, "type": self.write(&m.type_code) }))
            .collect();
        json!({
            "kind": kind, "id": type_code.id(), "name": type_code.name(), "members": members,
        })
    }

    fn write_union(&mut self, type_code: &TypeCode) -> Json {
        let discriminator = self.write(&type_code.discriminator_type().unwrap_or_default());
        let cases: Vec<Json> = type_code
            .union_members()
            .iter()
            .map(|UnionMember { label, name, type_code }| {
                json!({ "label": label_to_json(*label), "name": name,
                        "type": self.write(type_code) })
            })
            .collect();
        json!({
            "kind": "union", "id": type_code.id(), "name": type_code.name(),
            "discriminator": discriminator, "cases": cases,
        })
    }

    fn write_value(&mut self, kind: &str, type_code: &TypeCode) -> Json {
        let modifier = type_code.value_modifier().unwrap_or_default();
        let modifier = MODIFIERS.iter().find(|(_, known)| *known == modifier);
        let members: Vec<Json> = type_code
            .value_members()
            .iter()
            .map(|ValueMember { name, type_code, visibility }| {
                json!({ "name": name, "type": self.write(type_code),
                        "public": *visibility == Visibility::Public })
            })
            .collect();
        let base = self.write(&type_code.concrete_base_type().unwrap_or_default());
        json!({
            "kind": kind, "id": type_code.id(), "name": type_code.name(),
            "modifier": modifier.map(|(word, _)| word), "base": base, "members": members,
        })
    }
}

/// A label is a number, as in the TypeCode; `null` for `default`.
fn label_to_json(label: Option<i128>) -> Json {
    match label {
        None => Json::Null,
        Some(label) => i64::try_from(label)
            .map(|label| json!(label))
            .or_else(|_| u64::try_from(label).map(|label| json!(label)))
            .unwrap_or(Json::Null),
    }
}

/// Reads a TypeCode from JSON.
pub(super) fn type_from_json(
    json: &Json,
    surroundings: &dyn Surroundings,
) -> Result<TypeCode, Mismatch> {
    Reader { surroundings }.read(json)
}

struct Reader<'s> {
    surroundings: &'s dyn Surroundings,
}

impl Reader<'_> {
    fn read(&self, json: &Json) -> Result<TypeCode, Mismatch> {
        let members = match json {
            Json::String(text) => {
                return type_text::read(text, self.surroundings).map_err(Mismatch::new);
            }
            Json::Object(members) => members,
            other => {
                return Err(Mismatch::expected("a type: text, or an object with `kind`", other));
            }
        };
        let (kind, id, name) = (text(members, "kind"), text(members, "id"), text(members, "name"));
        Ok(match kind {
            "sequence" => TypeCode::sequence(self.part(json, "element")?, length(json, "bound")?),
            "array" => TypeCode::array(self.part(json, "element")?, length(json, "length")?),
            "alias" => TypeCode::alias(id, name, self.part(json, "type")?),
            "value_box" => TypeCode::value_box(id, name, self.part(json, "type")?),
            "struct" => TypeCode::structure(id, name, &self.members(json)?),
            "exception" => TypeCode::exception(id, name, &self.members(json)?),
            "enum" => {
                let names = list(json, "enumerators")?.iter().filter_map(Json::as_str);
                TypeCode::enumeration(id, name, &names.collect::<Vec<_>>())
            }
            "union" => {
                let discriminator = self.part(json, "discriminator")?;
                TypeCode::union(id, name, discriminator, &self.cases(json)?)
            }
            "value" | "event" => self.value(json, kind, id, name)?,
            "recursive" => TypeCode::recursive(id),
            other => {
                let Some((_, _, make)) = NAMED.iter().find(|(word, _, _)| *word == other) else {
                    let known = KINDS.into_iter().chain(NAMED.map(|(word, _, _)| word));
                    let near = near_names::suggestion(other, known);
                    return Err(Mismatch::new(format!("there is no kind of type `{other}`{near}")));
                };
                make(id, name)
            }
        })
    }

    fn part(&self, json: &Json, key: &str) -> Result<TypeCode, Mismatch> {
        let part = json.get(key).ok_or_else(|| missing(key, json))?;
        self.read(part)
    }

    fn members<'j>(&self, json: &'j Json) -> Result<Vec<(&'j str, TypeCode)>, Mismatch> {
        let members = list(json, "members")?.iter();
        members.map(|m| Ok((name_in(m), self.part(m, "type")?))).collect()
    }

    fn cases<'j>(&self, json: &'j Json) -> Result<Vec<JsonCase<'j>>, Mismatch> {
        let case = |case: &'j Json| {
            let label = match case.get("label") {
                None | Some(Json::Null) => None,
                Some(label) => Some(super::number::integer(label, i128::MIN, i128::MAX)?),
            };
            Ok((label, name_in(case), self.part(case, "type")?))
        };
        list(json, "cases")?.iter().map(case).collect()
    }

    fn value(&self, json: &Json, kind: &str, id: &str, name: &str) -> Result<TypeCode, Mismatch> {
        let word = json.get("modifier").and_then(Json::as_str).unwrap_or("none");
        let modifier = MODIFIERS.iter().find(|(known, _)| *known == word);
        let modifier = modifier.map(|(_, modifier)| *modifier).unwrap_or_default();
        let base = match self.part(json, "base")? {
            none if none.kind() == TcKind::Null => None,
            base => Some(base),
        };
        let member = |member: &'_ Json| {
            let public = member.get("public").and_then(Json::as_bool).unwrap_or(false);
            let visibility = if public { Visibility::Public } else { Visibility::Private };
            Ok((name_in(member).to_owned(), self.part(member, "type")?, visibility))
        };
        let members: Vec<_> =
            list(json, "members")?.iter().map(member).collect::<Result<_, Mismatch>>()?;
        let members: Vec<_> =
            members.iter().map(|(name, part, v)| (name.as_str(), part.clone(), *v)).collect();
        Ok(match kind {
            "event" => TypeCode::event(id, name, modifier, base, &members),
            _ => TypeCode::value(id, name, modifier, base, &members),
        })
    }
}

fn text<'j>(members: &'j Map<String, Json>, key: &str) -> &'j str {
    members.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn name_in(json: &Json) -> &str {
    json.get("name").and_then(Json::as_str).unwrap_or_default()
}

fn list<'j>(json: &'j Json, key: &str) -> Result<&'j [Json], Mismatch> {
    let list = json.get(key).and_then(Json::as_array).ok_or_else(|| missing(key, json))?;
    Ok(list)
}

fn length(json: &Json, key: &str) -> Result<u32, Mismatch> {
    let length = json.get(key).ok_or_else(|| missing(key, json))?;
    super::number::integer(length, 0, u32::MAX.into())
}

fn missing(key: &str, json: &Json) -> Mismatch {
    Mismatch::expected(&format!("a type with `{key}`"), json)
}
