//! Whether a TypeCode is one that IDL could have written (CORBA 3.3 P1 §14.8.4: what
//! `ORB::create_struct_tc` and its like refuse), and its compact form.
//!
//! Constructors take what they are given, as generated code gives what the compiler has checked;
//! programs that make TypeCodes of other sources ask here.

use std::collections::HashSet;

use super::label::label_range;
use super::shape::{Body, Case, Field, Named};
use super::{Repr, TcKind, TypeCode};
use crate::{CompletionStatus, Minor, RepositoryId, SystemException, minor};

impl TypeCode {
    /// Checks the names, ids, member types and labels of it and of all its parts.
    ///
    /// # Errors
    /// All `COMPLETED_NO`. `BAD_PARAM`: minor 15 for a name that is no identifier, 16 for a
    /// malformed repository id, 17 for a member name that is no identifier or used twice, 18 for a
    /// label used twice, 19 for a label that is no value of the discriminator's type, 20 for a
    /// discriminator of another type, 13 for a placeholder without definition. `BAD_TYPECODE`:
    /// minor 2 for a part of a type that nothing can have.
    ///
    /// ```
    /// use corbie_types::{TypeCode, minor};
    /// let members = [("x", TypeCode::LONG), ("X", TypeCode::LONG)];
    /// let error = TypeCode::structure("IDL:P:1.0", "P", &members).check().unwrap_err();
    /// assert_eq!(error.minor, minor::BAD_PARAM_TYPECODE_MEMBER_NAME);
    /// ```
    pub fn check(&self) -> Result<(), SystemException> {
        if !self.is_complete() {
            let minor = minor::BAD_PARAM_INCOMPLETE_TYPECODE;
            return Err(refused(minor, format!("{self} refers to a type that it is no part of")));
        }
        self.check_parts()
    }

    fn check_parts(&self) -> Result<(), SystemException> {
        let Some(body) = self.body() else { return Ok(()) };
        if let Some(name) = body.name() {
            check_named(name)?;
        }
        match body {
            Body::Bounded { .. } | Body::Fixed { .. } | Body::Named { .. } => Ok(()),
            Body::Repeated { element: part, .. } | Body::Wrapped { content: part, .. } => {
                self.check_part(part)
            }
            Body::Enum { enumerators, .. } => check_names(enumerators.iter().map(|name| &**name)),
            Body::Members { members, .. } => {
                check_names(members.iter().map(|(name, _)| &**name))?;
                members.iter().try_for_each(|(_, part)| self.check_part(part))
            }
            Body::Union { discriminator, cases, .. } => self.check_union(discriminator, cases),
            Body::Value { base, members, .. } => {
                check_names(members.iter().map(|field| &*field.name))?;
                base.check_parts()?;
                members.iter().try_for_each(|Field { type_code, .. }| self.check_part(type_code))
            }
        }
    }

    /// A member, element or content.
    fn check_part(&self, part: &Self) -> Result<(), SystemException> {
        if matches!(part.0, Repr::Recursive(..)) {
            return Ok(());
        }
        if matches!(part.kind(), TcKind::Null | TcKind::Void | TcKind::Except) {
            let (minor, completed) = (minor::BAD_TYPECODE_MEMBER, CompletionStatus::No);
            return Err(minor.raise(
                completed,
                format!("a part of {self} has the type {part}, which has no values"),
            ));
        }
        part.check_parts()
    }

    fn check_union(&self, discriminator: &Self, cases: &[Case]) -> Result<(), SystemException> {
        let Some(range) = label_range(discriminator) else {
            let minor = minor::BAD_PARAM_TYPECODE_DISCRIMINATOR;
            let text = format!("{self} has the discriminator type {discriminator}");
            return Err(refused(minor, text));
        };
        let mut labels = HashSet::new();
        let mut names = HashSet::new();
        let mut before = "";
        for case in cases {
            if !labels.insert(case.label) {
                let text = format!("{self} has the label {} twice", shown(case.label));
                return Err(refused(minor::BAD_PARAM_TYPECODE_DUPLICATE_LABEL, text));
            }
            if let Some(label) = case.label.filter(|label| !range.contains(label)) {
                let text = format!("the label {label} is no value of {discriminator} in {self}");
                return Err(refused(minor::BAD_PARAM_TYPECODE_LABEL_TYPE, text));
            }
            // A member with several labels stands there several times, one after the other.
            if *case.name != *before || before.is_empty() {
                check_name(&case.name, &mut names)?;
            }
            before = &case.name;
            self.check_part(&case.type_code)?;
        }
        Ok(())
    }

    /// It without the names of types and members, which do not count for `equivalent`: `CORBA`'s
    /// `get_compact_typecode`. Repository ids stay.
    #[must_use]
    pub fn compact(&self) -> Self {
        let Repr::Shared(shape, scope) = &self.0 else { return self.clone() };
        let unnamed = |name: &Named| Named { name: "".into(), ..name.clone() };
        let body = match &shape.body {
            Body::Bounded { .. } | Body::Fixed { .. } => return self.clone(),
            Body::Repeated { element, length } => {
                Body::Repeated { element: element.compact(), length: *length }
            }
            Body::Named { name } => Body::Named { name: unnamed(name) },
            Body::Wrapped { name, content } => {
                Body::Wrapped { name: unnamed(name), content: content.compact() }
            }
            Body::Enum { name, enumerators } => {
                let enumerators = enumerators.iter().map(|_| "".into()).collect();
                Body::Enum { name: unnamed(name), enumerators }
            }
            Body::Members { name, members } => {
                let members = members.iter().map(|(_, part)| ("".into(), part.compact()));
                Body::Members { name: unnamed(name), members: members.collect() }
            }
            Body::Union { name, discriminator, cases } => {
                let case = |case: &Case| {
                    let type_code = case.type_code.compact();
                    Case { label: case.label, name: "".into(), type_code }
                };
                let (name, discriminator) = (unnamed(name), discriminator.compact());
                Body::Union { name, discriminator, cases: cases.iter().map(case).collect() }
            }
            Body::Value { name, modifier, base, members } => {
                let field = |field: &Field| {
                    let type_code = field.type_code.compact();
                    Field { name: "".into(), type_code, visibility: field.visibility }
                };
                let members = members.iter().map(field).collect();
                let (name, base) = (unnamed(name), base.compact());
                Body::Value { name, modifier: *modifier, base, members }
            }
        };
        let Self(compact) = Self::shared(shape.kind, body);
        match compact {
            Repr::Shared(shape, _) => Self(Repr::Shared(shape, scope.clone())),
            other => Self(other),
        }
    }
}

fn shown(label: Option<i128>) -> String {
    label.map_or_else(|| "default".to_owned(), |label| label.to_string())
}

fn check_named(name: &Named) -> Result<(), SystemException> {
    if !name.name.is_empty() && !is_identifier(&name.name) {
        let text = format!("{:?} is no IDL identifier", name.name);
        return Err(refused(minor::BAD_PARAM_TYPECODE_NAME, text));
    }
    match RepositoryId::parse(&name.id) {
        Err(error) if !name.id.is_empty() => {
            let text = format!("{:?} is no repository id: {error}", name.id);
            Err(refused(minor::BAD_PARAM_TYPECODE_ID, text))
        }
        _ => Ok(()),
    }
}

fn check_names<'n>(mut names: impl Iterator<Item = &'n str>) -> Result<(), SystemException> {
    let mut seen = HashSet::new();
    names.try_for_each(|name| check_name(name, &mut seen))
}

/// Names that differ in case only are the same (CORBA 3.3 P1 §7.2.3).
fn check_name(name: &str, seen: &mut HashSet<String>) -> Result<(), SystemException> {
    if name.is_empty() || (is_identifier(name) && seen.insert(name.to_ascii_lowercase())) {
        return Ok(());
    }
    let why = if is_identifier(name) { "is used twice" } else { "is no IDL identifier" };
    Err(refused(minor::BAD_PARAM_TYPECODE_MEMBER_NAME, format!("{name:?} {why}")))
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cold]
fn refused(minor: Minor, text: String) -> SystemException {
    minor.no(text)
}
