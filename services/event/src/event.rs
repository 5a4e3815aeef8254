//! An event: an operation and the octets of its arguments, as they came.
//!
//! Proxies make events of requests and replies and make requests and replies of them; nothing is
//! decoded on the way unless sender and receiver disagree in byte order, alignment or code sets.
//! An untyped event is the operation `push` with one `any`, a typed event any other operation.

mod converted;
pub(crate) mod properties;

use crate::interfaces::Signature;
use converted::{Converted, Layout};
use corbie::Operation;
use corbie::cdr::{Direction, Error, ErrorKind, Limits};
use corbie::{
    Any, ByteOrder, CodeSet, CodeSets, Decoder, Encoder, Marshal as _, SystemException, TypeCode,
    Version,
};
use std::sync::{Arc, OnceLock};

/// The operation of an untyped event.
pub(crate) const PUSH: Operation = Operation::twoway("push");

/// How text is written in events of ours.
pub(crate) const CODE_SETS: CodeSets =
    CodeSets { char_data: CodeSet::UTF_8, wchar_data: CodeSet::UTF_16 };

/// How the arguments of an event are to be read, where they have to be.
#[derive(Clone, Debug)]
pub enum Shape {
    /// One `any`.
    Any,
    /// The parameters of an operation of an interface, one after the other.
    Typed(Arc<Signature>),
}

/// An event. Channels share it among consumers.
#[derive(Debug)]
pub struct Event {
    operation: Operation,
    shape: Shape,
    /// Behind as many zeros as `lead` says, so that they are aligned as they were.
    octets: Box<[u8]>,
    /// Where the octets began in their message, modulo 8.
    lead: usize,
    order: ByteOrder,
    version: Version,
    code_sets: CodeSets,
    /// Within which they are read, unless those are the defaults.
    limits: Option<Arc<Limits>>,
    /// In the forms that receivers needed.
    converted: Converted,
    /// As one `any`, once a consumer needs it; none, when its arguments cannot be read.
    untyped: OnceLock<Option<Arc<Event>>>,
}

impl Event {
    /// An event of what `d` has not read yet.
    #[must_use]
    pub fn read(operation: Operation, shape: Shape, d: &Decoder<'_>) -> Self {
        Self {
            operation,
            shape,
            octets: match d.position() % 8 {
                0 => d.rest().into(),
                lead => [&[0; 8][..lead], d.rest()].concat().into(),
            },
            lead: d.position() % 8,
            order: d.order(),
            version: d.version(),
            code_sets: d.code_sets(),
            limits: (*d.limits() != Limits::DEFAULT).then(|| Arc::new(d.limits().clone())),
            converted: Converted::default(),
            untyped: OnceLock::new(),
        }
    }

    /// A typed event of what `d` has not read yet: a call that `signature` tells, or the results of
    /// a pull.
    #[must_use]
    pub fn read_typed(signature: &Arc<Signature>, d: &Decoder<'_>) -> Self {
        let operation = signature.operation().clone();
        Self::read(operation, Shape::Typed(Arc::clone(signature)), d)
    }

    /// An untyped event.
    ///
    /// # Errors
    /// `MARSHAL` and others when the value cannot be written.
    pub fn of_any(any: &Any) -> Result<Self, SystemException> {
        Self::written(PUSH, Shape::Any, |e| Any::encode(any, e))
    }

    /// An event of what `write` writes.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn written<'a>(
        operation: Operation,
        shape: Shape,
        write: impl FnOnce(&mut Encoder<'a>) -> Result<(), Error>,
    ) -> Result<Self, SystemException> {
        let mut e = Encoder::native();
        let code_sets = CODE_SETS;
        e.set_version(Version::V1_2);
        e.set_code_sets(code_sets);
        write(&mut e)?;
        let octets = e.to_vec().into_boxed_slice();
        let (order, version) = (ByteOrder::NATIVE, Version::V1_2);
        Ok(Self {
            operation,
            shape,
            octets,
            lead: 0,
            order,
            version,
            code_sets,
            limits: None,
            converted: Converted::default(),
            untyped: OnceLock::new(),
        })
    }

    /// The operation that the event is a call of.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// How its arguments are to be read.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many octets its arguments have.
    #[must_use]
    pub fn len(&self) -> usize {
        self.octets().len()
    }

    /// Octets of memory that an event takes beside those of its arguments, with its place in a
    /// queue and what is kept of its push while the supplier waits.
    pub const BESIDE: usize = 320;

    /// What it counts as where memory is bounded.
    #[must_use]
    pub fn weight(&self) -> usize {
        // What came from another kind of machine is kept in the form of this one as well.
        let forms = if self.is_as_written() { 1 } else { 2 };
        self.octets.len().saturating_mul(forms).saturating_add(Self::BESIDE)
    }

    /// The same with `value` in the place of the `long` behind which so many octets are left; none
    /// when there is no such place.
    #[must_use]
    pub fn with_long(&self, value: i32, behind: usize) -> Option<Self> {
        let mut octets = self.octets.clone();
        let end = octets.len().checked_sub(behind)?;
        let place = octets.get_mut(end.checked_sub(size_of::<i32>())?.max(self.lead)..end)?;
        let written = match self.order {
            ByteOrder::BigEndian => value.to_be_bytes(),
            ByteOrder::LittleEndian => value.to_le_bytes(),
        };
        (place.len() == written.len()).then(|| place.copy_from_slice(&written))?;
        Some(Self {
            operation: self.operation.clone(),
            shape: self.shape.clone(),
            octets,
            lead: self.lead,
            order: self.order,
            version: self.version,
            code_sets: self.code_sets,
            limits: self.limits.clone(),
            converted: Converted::default(),
            untyped: OnceLock::new(),
        })
    }

    /// Whether it has no arguments.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.octets().is_empty()
    }

    /// Its octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.octets.get(self.lead..).unwrap_or_default()
    }

    /// Whether its octets are what [`Event::written`] would write.
    pub(crate) fn is_as_written(&self) -> bool {
        self.lead == 0
            && self.order == ByteOrder::NATIVE
            && self.version.of_values() == Version::V1_2.of_values()
            && self.code_sets == CODE_SETS
    }

    /// The value of an untyped event.
    ///
    /// # Errors
    /// `MARSHAL` when it cannot be read.
    pub(crate) fn any(&self) -> Result<Any, SystemException> {
        Ok(Any::decode(&mut self.decoder())?)
    }

    /// A typed event as an untyped one: its operation and arguments as a list of properties. None
    /// when its arguments cannot be read; an untyped event has no other form.
    #[must_use]
    pub fn untyped(&self) -> Option<&Arc<Event>> {
        let Shape::Typed(signature) = &self.shape else { return None };
        let untyped = self.untyped.get_or_init(|| {
            let listed = properties::of(signature, &mut self.decoder());
            let event = listed.and_then(|any| Event::of_any(&any));
            event
                .map(Arc::new)
                .inspect_err(|exception| {
                    let operation = self.operation.name();
                    tracing::info!(%exception, operation, "a typed event cannot be read");
                })
                .ok()
        });
        untyped.as_ref()
    }

    /// A decoder that stands at its first argument.
    #[must_use]
    pub fn decoder(&self) -> Decoder<'_> {
        let mut d = Decoder::with_position(&self.octets, self.lead, self.order);
        d.set_version(self.version);
        d.set_code_sets(self.code_sets);
        if let Some(limits) = &self.limits {
            d.set_limits(limits);
        }
        d
    }

    /// Writes its arguments: as they came, where the receiver reads the same octets in the same
    /// way, else converted, which is done once for all receivers of a kind.
    ///
    /// # Errors
    /// Those of reading them, when they have to be converted.
    pub fn write(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        let form = Layout::of(e);
        if form == self.form() || self.is_empty() {
            e.write_octets(self.octets());
            return Ok(());
        }
        let octets = self.converted.in_form(form, || self.convert(form))?;
        e.write_octets(&octets);
        Ok(())
    }

    /// The form in which its octets came.
    fn form(&self) -> Layout {
        Layout {
            order: self.order,
            lead: self.lead,
            version: self.version.of_values(),
            code_sets: self.code_sets,
        }
    }

    /// Writes it as one `any`, whichever kind of event it is.
    ///
    /// # Errors
    /// Those of reading it, when it has to be converted.
    pub(crate) fn write_untyped(&self, e: &mut Encoder<'_>) -> Result<(), Error> {
        match (&self.shape, self.untyped()) {
            (Shape::Any, _) => self.write(e),
            (Shape::Typed(_), Some(untyped)) => untyped.write(e),
            (Shape::Typed(_), None) => Err(Error::new(
                ErrorKind::InvalidValue,
                Direction::Reading,
                0,
                "the arguments of a typed event",
                "octets that are no such values",
                "a supplier that was built from the same IDL",
            )),
        }
    }

    #[cold]
    fn convert(&self, form: Layout) -> Result<Vec<u8>, Error> {
        let mut d = self.decoder();
        let values = match &self.shape {
            Shape::Any => vec![Any::decode(&mut d)?],
            Shape::Typed(signature) => {
                let read = |of: &TypeCode| Any::decode_value(of.clone(), &mut d);
                signature.types().iter().map(read).collect::<Result<Vec<Any>, Error>>()?
            }
        };
        let mut e = form.encoder();
        for value in &values {
            match &self.shape {
                Shape::Any => Any::encode(value, &mut e)?,
                Shape::Typed(_) => value.encode_value(&mut e)?,
            }
        }
        Ok(e.to_vec().split_off(form.lead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written_for(event: &Event, order: ByteOrder) -> (Vec<u8>, bool) {
        let mut e = Encoder::new(Vec::new(), order);
        e.set_version(Version::V1_2);
        e.set_code_sets(CODE_SETS);
        let is_written = event.write(&mut e).is_ok();
        (e.to_vec(), is_written)
    }

    #[test]
    fn a_value_is_converted_once_for_all_receivers_of_a_kind() {
        let value = Any::from_value::<f64>(&2.5).expect("an any");
        let event = Event::of_any(&value).expect("an event");
        let other = if ByteOrder::NATIVE == ByteOrder::BigEndian {
            ByteOrder::LittleEndian
        } else {
            ByteOrder::BigEndian
        };
        let mut e = Encoder::new(Vec::new(), other);
        e.set_code_sets(CODE_SETS);
        let form = Layout::of(&e);
        let (first, _) = written_for(&event, other);
        let again = event.converted.in_form(form, || panic!("it was converted before"));
        assert_eq!(&*again.expect("octets"), &*first);
        assert_eq!(written_for(&event, other).0, first);
        assert_ne!(written_for(&event, ByteOrder::NATIVE).0, first);
        let mut d = Decoder::new(&first, other);
        assert_eq!(Any::decode(&mut d).expect("an any"), value);
    }

    #[test]
    fn what_cannot_be_read_is_read_once() {
        // A TypeCode of a kind that there is not.
        let octets = 4711_u32.to_be_bytes();
        let d = Decoder::new(&octets, ByteOrder::BigEndian);
        let event = Event::read(PUSH, Shape::Any, &d);
        let receiver = ByteOrder::LittleEndian;
        assert!(!written_for(&event, receiver).1);
        let mut e = Encoder::new(Vec::new(), receiver);
        e.set_code_sets(CODE_SETS);
        let again = event.converted.in_form(Layout::of(&e), || panic!("it was tried before"));
        assert!(again.is_err());
    }

    #[test]
    fn a_value_is_converted_within_the_limits_of_its_request() {
        let texts = corbie::Value::List(vec![corbie::Value::String("text".to_owned()); 100]);
        let any = Any::from_dynamic(TypeCode::sequence(TypeCode::string(0), 0), &texts);
        let event = Event::of_any(&any.expect("an any")).expect("an event");
        let few = Limits { dynamic_values: 50, ..Limits::DEFAULT };
        let mut d = event.decoder();
        d.set_limits(&few);
        let event = Event::read(PUSH, Shape::Any, &d);
        assert!(
            !written_for(&event, ByteOrder::BigEndian).1,
            "it has more values than are allowed"
        );
    }

    #[test]
    fn octets_that_began_anywhere_are_read_as_they_were_aligned() {
        let value = Any::from_value::<f64>(&2.5).expect("an any");
        for lead in 0..8 {
            let mut e = Encoder::native();
            (0..lead).for_each(|_| e.write_octet(0));
            Any::encode(&value, &mut e).expect("written");
            let message = e.to_vec();
            let d = Decoder::with_position(&message, lead, ByteOrder::NATIVE);
            let event = Event::read(PUSH, Shape::Any, &d);
            assert_eq!(Any::decode(&mut event.decoder()).expect("an any"), value, "{lead}");
            assert_eq!(event.octets(), &message[lead..]);
            for receiver in 0..8 {
                let mut e = Encoder::native();
                (0..receiver).for_each(|_| e.write_octet(0));
                event.write(&mut e).expect("written");
                let written = e.to_vec();
                let mut d = Decoder::with_position(&written, receiver, ByteOrder::NATIVE);
                assert_eq!(Any::decode(&mut d).expect("an any"), value, "{lead} to {receiver}");
            }
        }
    }
}
