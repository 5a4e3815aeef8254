//! Values of valuetypes: sharing, cycles, chunks and truncation, read by TypeCode
//! (CORBA 3.3 P2 §9.3.4). Run over `corpus/values` as all targets.

use std::collections::HashMap;
use std::fmt::Write;

use corbie_cdr::{Decoder, Encoder, Error, ErrorKind};
use corbie_types::{Any, HeldValue, TypeCode, Value, ValueModifier, Visibility};

use super::Dialect;

/// A dialect, then two nodes, an any, and a node that may be a leaf, all of one message. What is
/// read is written again and has to read the same, sharing and cycles included.
pub fn values(data: &[u8]) {
    let Some((dialect, octets)) = Dialect::take(data) else { return };
    let Ok(read) = read(&mut dialect.decoder(octets)) else { return };
    let shape = shape(&read);
    let mut e = dialect.encoder();
    for (value, of) in read.iter().zip(types()) {
        match value.encode(&of, &mut e) {
            Ok(()) => {}
            Err(error) if is_refused(&error) => return,
            Err(error) => panic!("what was read cannot be written: {error}"),
        }
    }
    let octets = e.to_vec();
    let again = self::read(&mut dialect.decoder(&octets)).expect("own octets");
    assert_eq!(shape, self::shape(&again));
    break_cycles(&read);
    break_cycles(&again);
}

/// Chains that are too deep to be sent on, and text that does not fit.
fn is_refused(error: &Error) -> bool {
    let kinds = [ErrorKind::LimitExceeded, ErrorKind::BadParameter, ErrorKind::DataConversion];
    kinds.contains(&error.kind())
}

/// `valuetype Node { string label; sequence<Node> next; any note; };`
#[must_use]
pub(crate) fn node() -> TypeCode {
    let next = TypeCode::sequence(TypeCode::recursive("IDL:Node:1.0"), 0);
    let members = [
        ("label", TypeCode::string(0), Visibility::Public),
        ("next", next, Visibility::Public),
        ("note", TypeCode::ANY, Visibility::Public),
    ];
    TypeCode::value("IDL:Node:1.0", "Node", ValueModifier::None, None, &members)
}

/// `valuetype Leaf : truncatable Node { octet size; Text text; };`
#[must_use]
pub(crate) fn leaf() -> TypeCode {
    let text = TypeCode::value_box("IDL:Text:1.0", "Text", TypeCode::string(0));
    let members =
        [("size", TypeCode::OCTET, Visibility::Public), ("text", text, Visibility::Public)];
    TypeCode::value("IDL:Leaf:1.0", "Leaf", ValueModifier::Truncatable, Some(node()), &members)
}

fn types() -> [TypeCode; 4] {
    [node(), node(), TypeCode::ANY, leaf()]
}

fn read(d: &mut Decoder<'_>) -> Result<Vec<Value>, Error> {
    types().iter().map(|of| Value::decode(of, d)).collect()
}

/// The values and what each leads to, by numbers in the order in which they are met.
fn shape(values: &[Value]) -> String {
    let mut met = Met::default();
    let mut text = String::new();
    values.iter().for_each(|value| met.show(value, &mut text));
    let mut next = 0;
    while let Some(value) = met.order.get(next).cloned() {
        let _ = write!(text, "; {next}: {}", value.type_code());
        for member in value.as_dynamic().and_then(|value| value.members()).iter().flat_map(|m| &**m)
        {
            met.show(member, &mut text);
        }
        next += 1;
    }
    text
}

#[derive(Default)]
struct Met {
    order: Vec<HeldValue>,
    numbers: HashMap<HeldValue, usize>,
}

impl Met {
    fn show(&mut self, value: &Value, text: &mut String) {
        match value {
            Value::Valuetype(value) => {
                let number = *self.numbers.entry(value.clone()).or_insert_with(|| {
                    self.order.push(value.clone());
                    self.order.len() - 1
                });
                let _ = write!(text, " #{number}");
            }
            Value::List(values) | Value::Struct(values) => {
                text.push('[');
                values.iter().for_each(|value| self.show(value, text));
                text.push(']');
            }
            Value::Any(any) => {
                let _ = write!(text, " any {}", any.type_code());
                if let Ok(value) = any.to_value() {
                    self.show(&value, text);
                }
            }
            other => {
                let _ = write!(text, " {other:?}");
            }
        }
    }
}

fn break_cycles(values: &[Value]) {
    let mut met = Met::default();
    values.iter().for_each(|value| met.show(value, &mut String::new()));
    let mut next = 0;
    while let Some(value) = met.order.get(next).cloned().and_then(|value| value.as_dynamic()) {
        for member in value.members().iter().flat_map(|members| &**members) {
            met.show(member, &mut String::new());
        }
        value.set(Vec::new());
        next += 1;
    }
}

/// Encodes what `values` reads.
pub(crate) fn write<'v>(values: &'v [Value; 4], e: &mut Encoder<'v>) -> Result<(), Error> {
    values.iter().zip(types()).try_for_each(|(value, of)| value.encode(&of, e))
}

/// An any of a value.
pub(crate) fn any_of(of: TypeCode, value: &Value) -> Any {
    Any::from_dynamic(of, value).expect("a value of its type")
}
