//! TypeCodes on the wire (CORBA 3.3 P2 §9.3.5.1): kind, parameters, and indirections, which are
//! distances in octets from the indirection to a TypeCode written before.
//!
//! What a peer can make us hold is bounded: nesting by the decoder's limit, and the tree with
//! repeated parts counted by [`Limits::type_code_nodes`](corbie_cdr::Limits), since indirections
//! could otherwise describe more nodes than there are atoms.

use std::collections::HashMap;
use std::sync::Arc;

use corbie_cdr::{Decoder, Encoder, Error, ErrorKind, Marshal};

use super::label::{read_label, write_label};
use super::shape::{Body, Case, Field, Named, Shape};
use super::{Repr, TcKind, TypeCode, ValueModifier, Visibility};
use super::{memo, octets};

const INDIRECTION: u32 = 0xffff_ffff;

impl Marshal for TypeCode {
    type Value = Self;
    const MIN_OCTETS: usize = 4;

    fn encode(value: &Self, e: &mut Encoder<'_>) -> Result<(), Error> {
        value.write(e)
    }

    fn decode(d: &mut Decoder<'_>) -> Result<Self, Error> {
        d.align(4)?;
        if let Some(type_code) = octets::read(d) {
            return Ok(type_code);
        }
        let mut ahead = d.look_ahead()?;
        let number = ahead.read_ulong()?;
        match TcKind::from_number(number) {
            Some(kind) if kind.is_basic() => {
                d.skip_to(&ahead);
                Ok(TypeCode(Repr::Basic(kind)))
            }
            // What has an encapsulation is known by its octets.
            Some(kind)
                if !matches!(kind, TcKind::String | TcKind::WString | TcKind::Fixed)
                    && let Ok(length) = ahead.read_ulong() =>
            {
                let octets = (length as usize).saturating_add(8);
                match memo::read(octets, d) {
                    Some(type_code) => Ok(type_code),
                    None => read_and_remember(octets, d),
                }
            }
            _ => Reader::default().read(d),
        }
    }
}

impl TypeCode {
    /// Writes it, like [`Marshal::encode`], without borrowing from it.
    ///
    /// # Errors
    /// `BadTypeCode` when it is incomplete.
    pub fn write(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        match &self.0 {
            Repr::Basic(kind) => {
                e.write_ulong(*kind as u32);
                Ok(())
            }
            _ if memo::write(self, e) => Ok(()),
            _ => self.write_and_remember(e),
        }
    }

    #[cold]
    fn write_and_remember(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        // By itself, to be remembered: what stands in an outermost TypeCode does not depend on
        // what is before it.
        let mut own = Encoder::new(Vec::new(), e.order());
        own.set_version(e.version());
        own.set_code_sets(e.code_sets());
        Writer::default().write(self, &mut own)?;
        e.align(4);
        e.write_octets(own.own_octets());
        memo::was_written(self, own.own_octets(), e);
        Ok(())
    }
}

#[cold]
fn read_and_remember(octets: usize, d: &mut Decoder<'_>) -> Result<TypeCode, Error> {
    let whole = d.rest();
    let type_code = Reader::default().read(d)?;
    if let Some(whole) = whole.get(..octets) {
        memo::was_read(&type_code, whole, d);
    }
    Ok(type_code)
}

/// Whether others take an indirection to it: some do only to these, though the specification allows
/// it to all (an enum that came again was MARSHAL at such a peer).
fn is_repeatable(kind: TcKind) -> bool {
    matches!(kind, TcKind::Struct | TcKind::Union | TcKind::Value | TcKind::Event | TcKind::Alias)
}

/// Where TypeCodes stand in the outermost TypeCode.
#[derive(Default)]
struct Writer {
    /// Definitions being written, outermost first.
    open: Vec<(*const Shape, usize)>,
    /// Definitions written, to be repeated by indirection.
    done: HashMap<*const Shape, usize>,
}

impl Writer {
    fn write(&mut self, type_code: &TypeCode, e: &mut Encoder<'_>) -> Result<(), Error> {
        let Some(type_code) = type_code.resolved() else {
            let found = format!("the placeholder {type_code}");
            let needed = "an enclosing definition with this repository id";
            return Err(e.error(ErrorKind::BadTypeCode, "TypeCode", found, needed));
        };
        let shape = match &type_code.0 {
            Repr::Basic(kind) => {
                e.write_ulong(*kind as u32);
                return Ok(());
            }
            Repr::Shared(shape, _) => shape,
            Repr::Recursive(..) => return Ok(()), // never: it was resolved
        };
        let identity = Arc::as_ptr(shape);
        // Types contain themselves through definitions only, never through a bare sequence or
        // typedef: others would not know what to make of that.
        let is_definition = shape.key().is_some() && shape.kind != TcKind::Alias;
        let open = self.open.iter().rev().find(|(open, _)| is_definition && *open == identity);
        if let Some(target) = open.map(|(_, at)| *at).or(self.done.get(&identity).copied()) {
            return write_indirection(target, e);
        }
        e.align(4);
        let at = e.len();
        e.write_ulong(shape.kind as u32);
        match &shape.body {
            Body::Bounded { bound } => e.write_ulong(*bound),
            Body::Fixed { digits, scale } => {
                e.write_ushort(*digits);
                e.write_short(*scale);
            }
            body => {
                self.open.push((identity, at));
                let result = e.encapsulation(|e| self.write_body(&type_code, body, e));
                self.open.pop();
                result?;
                // With placeholders it may mean something else elsewhere.
                if shape.free.is_empty() && is_repeatable(shape.kind) {
                    self.done.insert(identity, at);
                }
            }
        }
        Ok(())
    }

    fn write_body(&mut self, of: &TypeCode, body: &Body, e: &mut Encoder<'_>) -> Result<(), Error> {
        if let Some(name) = body.name() {
            e.write_str(&name.id)?;
            e.write_str(&name.name)?;
        }
        match body {
            Body::Bounded { .. } | Body::Fixed { .. } | Body::Named { .. } => Ok(()),
            Body::Repeated { element, length } => {
                self.write(&of.part(element), e)?;
                e.write_ulong(*length);
                Ok(())
            }
            Body::Wrapped { content, .. } => self.write(&of.part(content), e),
            Body::Enum { enumerators, .. } => {
                e.write_length(enumerators.len())?;
                enumerators.iter().try_for_each(|name| e.write_str(name))
            }
            Body::Members { members, .. } => {
                e.write_length(members.len())?;
                members.iter().try_for_each(|(name, part)| {
                    e.write_str(name)?;
                    self.write(&of.part(part), e)
                })
            }
            Body::Union { discriminator, cases, .. } => {
                self.write_union(of, &of.part(discriminator), cases, e)
            }
            Body::Value { modifier, base, members, .. } => {
                e.write_short(*modifier as i16);
                self.write(&of.part(base), e)?;
                e.write_length(members.len())?;
                members.iter().try_for_each(|field| {
                    e.write_str(&field.name)?;
                    self.write(&of.part(&field.type_code), e)?;
                    e.write_short(field.visibility as i16);
                    Ok(())
                })
            }
        }
    }

    fn write_union(
        &mut self,
        of: &TypeCode,
        discriminator: &TypeCode,
        cases: &[Case],
        e: &mut Encoder<'_>,
    ) -> Result<(), Error> {
        self.write(discriminator, e)?;
        let default = cases.iter().position(|case| case.label.is_none());
        e.write_long(default.and_then(|index| i32::try_from(index).ok()).unwrap_or(-1));
        e.write_length(cases.len())?;
        cases.iter().try_for_each(|case| {
            // The label of `default` has no meaning; 0 is there for the syntax.
            write_label(discriminator, case.label.unwrap_or(0), e)?;
            e.write_str(&case.name)?;
            self.write(&of.part(&case.type_code), e)
        })
    }
}

fn write_indirection(target: usize, e: &mut Encoder<'_>) -> Result<(), Error> {
    e.write_ulong(INDIRECTION);
    let distance = i64::try_from(target).unwrap_or(0) - i64::try_from(e.len()).unwrap_or(0);
    match i32::try_from(distance) {
        Ok(distance) => {
            e.write_long(distance);
            Ok(())
        }
        Err(_) => {
            let found = format!("a distance of {distance} octets");
            let needed = "at most 2 GiB between the two places of a repeated type";
            Err(e.error(ErrorKind::BadTypeCode, "TypeCode", found, needed))
        }
    }
}

enum Place {
    /// Its parameters are being read; placeholders call it by this key.
    Open(Arc<str>),
    Done(TypeCode),
}

/// TypeCodes by the octet where they start, in the outermost TypeCode.
#[derive(Default)]
struct Reader {
    places: HashMap<usize, Place>,
}

impl Reader {
    fn read(&mut self, d: &mut Decoder<'_>) -> Result<TypeCode, Error> {
        d.align(4)?;
        let at = d.offset();
        let number = d.read_ulong()?;
        if number == INDIRECTION {
            return self.read_indirection(d);
        }
        let Some(kind) = TcKind::from_number(number) else {
            let found = format!("the kind {number}");
            return Err(d.error(ErrorKind::BadTypeCode, "TypeCode", found, "0 to 36"));
        };
        let type_code = match kind {
            TcKind::String | TcKind::WString => match (kind, d.read_ulong()?) {
                (TcKind::String, bound) => TypeCode::string(bound),
                (_, bound) => TypeCode::wstring(bound),
            },
            TcKind::Fixed => {
                let (digits, scale) = (d.read_ushort()?, d.read_short()?);
                TypeCode::fixed(digits, scale)
            }
            kind if kind.is_basic() => return Ok(TypeCode(Repr::Basic(kind))),
            kind => {
                let mut inner = d.encapsulation()?;
                match self.read_body(kind, at, &mut inner)? {
                    Body::Repeated { element, length } if kind == TcKind::Sequence => {
                        TypeCode::sequence(element, length)
                    }
                    body => TypeCode::shared(kind, body),
                }
            }
        };
        if type_code.weight() > d.limits().type_code_nodes {
            let limit = d.limits().type_code_nodes;
            let found = format!("more than {limit} nodes, repeated ones counted each time");
            let needed = format!("at most {limit} (limit type_code_nodes)");
            return Err(d.error(ErrorKind::LimitExceeded, "TypeCode", found, needed));
        }
        self.places.insert(at, Place::Done(type_code.clone()));
        Ok(type_code)
    }

    fn read_indirection(&self, d: &mut Decoder<'_>) -> Result<TypeCode, Error> {
        let from = d.offset();
        let distance = d.read_long()?;
        let target = usize::try_from(distance.unsigned_abs()).unwrap_or(usize::MAX);
        let target = if distance < 0 { from.checked_sub(target) } else { None };
        match target.and_then(|target| self.places.get(&target)) {
            Some(Place::Done(type_code)) => Ok(type_code.clone()),
            Some(Place::Open(key)) => Ok(TypeCode::recursive_key(key.clone())),
            None => {
                let found = format!("an indirection of {distance} octets");
                let needed = "the distance back to a TypeCode inside the same outermost TypeCode";
                Err(d.error(ErrorKind::BadTypeCode, "TypeCode", found, needed))
            }
        }
    }

    /// Reads id and name; from here on placeholders can mean it.
    fn read_name(&mut self, at: usize, d: &mut Decoder<'_>) -> Result<Named, Error> {
        let id = d.read_str()?;
        let key: Arc<str> = if id.is_empty() { format!("@{at}").into() } else { id.into() };
        self.places.insert(at, Place::Open(key.clone()));
        Ok(Named { id: id.into(), name: d.read_str()?.into(), key })
    }

    fn read_body(&mut self, kind: TcKind, at: usize, d: &mut Decoder<'_>) -> Result<Body, Error> {
        if matches!(kind, TcKind::Sequence | TcKind::Array) {
            let element = self.read(d)?;
            return Ok(Body::Repeated { element, length: d.read_ulong()? });
        }
        let name = self.read_name(at, d)?;
        Ok(match kind {
            TcKind::Alias | TcKind::ValueBox => Body::Wrapped { name, content: self.read(d)? },
            TcKind::Enum => {
                let length = d.read_length(4)?;
                let enumerators = (0..length).map(|_| d.read_str().map(Box::from));
                Body::Enum { name, enumerators: enumerators.collect::<Result<_, _>>()? }
            }
            TcKind::Struct | TcKind::Except => {
                let length = d.read_length(8)?;
                let members = (0..length).map(|_| Ok((d.read_str()?.into(), self.read(d)?)));
                Body::Members { name, members: members.collect::<Result<_, Error>>()? }
            }
            TcKind::Union => self.read_union(name, d)?,
            TcKind::Value | TcKind::Event => self.read_value(name, d)?,
            _ => Body::Named { name },
        })
    }

    fn read_union(&mut self, name: Named, d: &mut Decoder<'_>) -> Result<Body, Error> {
        let discriminator = self.read(d)?;
        let default = d.read_long()?;
        let length = d.read_length(9)?;
        let case = |index: usize| {
            let is_default = i32::try_from(index) == Ok(default);
            let (label, name) = match is_default {
                true => (None, read_default_case(&discriminator, d)?),
                false => (Some(read_label(&discriminator, d)?), d.read_str()?),
            };
            Ok(Case { label, name: name.into(), type_code: self.read(d)? })
        };
        let cases = (0..length).map(case).collect::<Result<_, Error>>()?;
        Ok(Body::Union { name, discriminator, cases })
    }

    fn read_value(&mut self, name: Named, d: &mut Decoder<'_>) -> Result<Body, Error> {
        let modifier = match d.read_short()? {
            0 => ValueModifier::None,
            1 => ValueModifier::Custom,
            2 => ValueModifier::Abstract,
            3 => ValueModifier::Truncatable,
            other => {
                let found = format!("the value modifier {other}");
                return Err(d.error(ErrorKind::BadTypeCode, "TypeCode", found, "0 to 3"));
            }
        };
        let base = self.read(d)?;
        let length = d.read_length(10)?;
        let field = |_| {
            let name = d.read_str()?.into();
            let type_code = self.read(d)?;
            let visibility = match d.read_short()? {
                0 => Visibility::Private,
                _ => Visibility::Public,
            };
            Ok(Field { name, type_code, visibility })
        };
        let members = (0..length).map(field).collect::<Result<_, Error>>()?;
        Ok(Body::Value { name, modifier, base, members })
    }
}

/// Reads the label of `default`, which has no meaning, and the name behind it. CORBA 3.3 P2
/// §9.3.5.1 has a value of the discriminator's type there; JacORB writes an octet, which makes a
/// difference when the discriminator has eight.
fn read_default_case<'d>(discriminator: &TypeCode, d: &mut Decoder<'d>) -> Result<&'d str, Error> {
    let mut ahead = d.clone();
    let by_the_book = read_label(discriminator, &mut ahead).and_then(|_| ahead.read_str());
    if by_the_book.is_ok() || discriminator.alignment().first != 8 {
        *d = ahead;
        return by_the_book;
    }
    d.read_octet()?;
    d.read_str()
}
