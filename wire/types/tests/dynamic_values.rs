//! Values of valuetypes that are known by their TypeCodes only: in anys, shared, in cycles,
//! truncated, in chunks, and what a hostile peer may say of them.

use std::sync::Arc;

use corbie_cdr::{ByteOrder, Decoder, Encoder, ErrorKind, Limits, Marshal as _};
use corbie_types::{Any, DynamicValue, HeldValue, TypeCode, Value, ValueModifier, Visibility};

const NODE: &str = "IDL:Node:1.0";

/// `valuetype Node { public string label; public sequence<Node> next; public any note; };`
fn node() -> TypeCode {
    let next = TypeCode::sequence(TypeCode::recursive(NODE), 0);
    let members = [
        ("label", TypeCode::string(0), Visibility::Public),
        ("next", next, Visibility::Public),
        ("note", TypeCode::ANY, Visibility::Private),
    ];
    TypeCode::value(NODE, "Node", ValueModifier::None, None, &members)
}

/// `valuetype Leaf : truncatable Node { public octet size; };`
fn leaf() -> TypeCode {
    let members = [("size", TypeCode::OCTET, Visibility::Public)];
    TypeCode::value("IDL:Leaf:1.0", "Leaf", ValueModifier::Truncatable, Some(node()), &members)
}

fn members(label: &str, next: Vec<Value>, note: Any) -> Vec<Value> {
    vec![Value::String(label.to_owned()), Value::List(next), Value::Any(Box::new(note))]
}

fn held(value: &Arc<DynamicValue>) -> Value {
    Value::Valuetype(HeldValue::from(Arc::clone(value)))
}

fn any_of(value: &Arc<DynamicValue>) -> Any {
    Any::from_dynamic(value.type_code().clone(), &held(value)).expect("it fits")
}

fn written(order: ByteOrder, anys: &[&Any]) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), order);
    anys.iter().for_each(|any| any.encode_copied(&mut e).expect("it can be sent"));
    e.to_vec()
}

/// The dynamic value of an any, and its members.
fn open(any: &Any) -> (HeldValue, Arc<Vec<Value>>) {
    let value = any.held_value().expect("a value");
    let members = value.as_dynamic().expect("by its TypeCode").members().expect("a state");
    (value, members)
}

fn next(members: &[Value]) -> Vec<HeldValue> {
    let Value::List(next) = &members[1] else { panic!("{members:?}") };
    let held = |value: &Value| match value {
        Value::Valuetype(held) => held.clone(),
        other => panic!("{other:?}"),
    };
    next.iter().map(held).collect()
}

#[test]
fn cycles_and_sharing_go_through_anys_of_one_message() {
    for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
        let (root, child) = (DynamicValue::empty(node()), DynamicValue::empty(node()));
        // The child leads back by its member, and by an any in it.
        child.set(members("child", vec![held(&root)], any_of(&root)));
        root.set(members("root", vec![held(&child), held(&child)], Any::default()));
        let (whole, part) = (any_of(&root), any_of(&child));
        let octets = written(order, &[&whole, &part]);
        let mut d = Decoder::new(&octets, order);
        assert_eq!(Any::decode(&mut d).expect_err("a cycle").kind(), ErrorKind::InvalidValue);
        let limits = Limits { value_cycles: true, ..Limits::DEFAULT };
        let mut d = Decoder::new(&octets, order);
        d.set_limits(&limits);
        let [whole, part] = [(); 2].map(|()| Any::decode(&mut d).expect("an any"));
        assert_eq!(d.remaining(), 0);
        let ((root_read, of_root), (child_read, of_child)) = (open(&whole), open(&part));
        assert_eq!(next(&of_root), [child_read.clone(), child_read], "shared");
        assert_eq!(next(&of_child), std::slice::from_ref(&root_read), "the cycle is closed");
        let Value::Any(note) = &of_child[2] else { panic!("{of_child:?}") };
        assert_eq!(note.held_value(), Some(root_read), "also through the any");
        // Written again it is the same; what was read is not tied to the message.
        drop(octets);
        assert_eq!(
            written(order, &[&whole, &part]),
            written(order, &[&any_of(&root), &any_of(&child)])
        );
        // Broken, so that all of it is dropped.
        child.set(Vec::new());
    }
}

#[test]
fn derived_values_are_cut_down_to_what_the_type_code_says() {
    let value = DynamicValue::empty(leaf());
    let inner = DynamicValue::new(node(), members("inner", vec![], Any::default()));
    let mut all = members("leaf", vec![held(&inner)], any_of(&inner));
    all.push(Value::Octet(9));
    value.set(all);
    let leaf_value = held(&value);
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    leaf_value.encode(&node(), &mut e).expect("a leaf is a node");
    leaf_value.encode(&leaf(), &mut e).expect("again");
    let octets = e.to_vec();
    let read = |first: &TypeCode| {
        let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
        let [one, again] = [(); 2].map(|()| Value::decode(first, &mut d).expect("a value"));
        assert_eq!(one, again);
        assert_eq!(d.remaining(), 0);
        let Value::Valuetype(held) = one else { panic!("{one:?}") };
        held.as_dynamic().expect("dynamic")
    };
    let (as_node, as_leaf) = (read(&node()), read(&leaf()));
    assert_eq!(as_node.type_code().id(), NODE);
    assert_eq!(as_node.members().expect("a state").len(), 3);
    let members = as_leaf.members().expect("a state");
    assert_eq!(members[3], Value::Octet(9));
    // The any, which was in a chunk, holds what was read before.
    let Value::Any(note) = &members[2] else { panic!("{members:?}") };
    assert_eq!(note.held_value().as_ref(), next(&members).first());
    // A node is no leaf.
    let error = held(&inner).encode(&leaf(), &mut Encoder::native()).expect_err("another type");
    assert_eq!(error.kind(), ErrorKind::BadParameter);
}

#[test]
fn what_nothing_describes_is_refused() {
    let custom = TypeCode::value("IDL:C:1.0", "C", ValueModifier::Custom, None, &[]);
    let base =
        TypeCode::value("IDL:omg.org/CORBA/ValueBase:1.0", "", ValueModifier::None, None, &[]);
    let other = TypeCode::value("IDL:Other:1.0", "Other", ValueModifier::None, None, &[]);
    let value = held(&DynamicValue::new(custom.clone(), vec![]));
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    value.encode(&custom, &mut e).expect("written");
    for of in [&custom, &base, &other, &TypeCode::abstract_interface("IDL:A:1.0", "A")] {
        let octets = match of == &custom || of == &base || of == &other {
            true => e.to_vec(),
            false => [&[0, 0, 0, 0], &*e.to_vec()].concat(),
        };
        let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
        let error = Value::decode(of, &mut d).expect_err("nothing describes it");
        assert_eq!(error.kind(), ErrorKind::NoValueFactory, "{of}: {error}");
    }
}

#[test]
fn types_and_values_without_end_are_refused() {
    // A type that is its own base.
    let endless = TypeCode::value(
        "IDL:E:1.0",
        "E",
        ValueModifier::Truncatable,
        Some(TypeCode::recursive("IDL:E:1.0")),
        &[("x", TypeCode::OCTET, Visibility::Public)],
    );
    let value = held(&DynamicValue::new(endless.clone(), vec![]));
    let error = value.encode(&endless, &mut Encoder::native()).expect_err("no last base");
    assert_eq!(error.kind(), ErrorKind::BadTypeCode);
    let mut d = Decoder::new(&[0x7f, 0xff, 0xff, 0, 1], ByteOrder::BigEndian);
    let error = Value::decode(&endless, &mut d).expect_err("no last base");
    assert_eq!(error.kind(), ErrorKind::BadTypeCode);
    // Values that nest too deeply, and too many of them.
    let mut deep = DynamicValue::new(node(), members("", vec![], Any::default()));
    for _ in 0..100 {
        deep = DynamicValue::new(node(), members("", vec![held(&deep)], Any::default()));
    }
    let limits = Limits { nesting_depth: 50, ..Limits::DEFAULT };
    let octets = written(ByteOrder::BigEndian, &[&any_of(&deep)]);
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    d.set_limits(&limits);
    assert_eq!(Any::decode(&mut d).expect_err("deep").kind(), ErrorKind::LimitExceeded);
    let limits = Limits { dynamic_values: 900, nesting_depth: 10_000, ..Limits::DEFAULT };
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    d.set_limits(&limits);
    assert_eq!(Any::decode(&mut d).expect_err("many").kind(), ErrorKind::LimitExceeded);
    // A box cannot be in itself.
    let box_of = TypeCode::value_box("IDL:B:1.0", "B", TypeCode::ANY);
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    e.write_ulong(0x7fff_ff00);
    box_of.write(&mut e).expect("a TypeCode");
    e.write_ulong(0xffff_ffff);
    let here = i32::try_from(e.position()).expect("short");
    e.write_long(-here);
    let octets = e.to_vec();
    let error = Value::decode(&box_of, &mut Decoder::new(&octets, ByteOrder::BigEndian));
    assert_eq!(error.expect_err("a cycle").kind(), ErrorKind::InvalidValue);
}

/// Each value points at the one before, so that nothing nests in the message.
#[test]
fn a_chain_as_long_as_a_message_is_dropped_and_not_sent_on() {
    const LENGTH: usize = 20_000;
    let of = TypeCode::sequence(node(), 0);
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    let mut last: Option<Arc<DynamicValue>> = None;
    e.write_length(LENGTH).expect("short");
    for _ in 0..LENGTH {
        let next = last.iter().map(held).collect();
        let value = DynamicValue::new(node(), members("", next, Any::default()));
        held(&value).encode_into(&node(), &mut e);
        last = Some(value);
    }
    drop(last);
    let octets = e.to_vec();
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    let Ok(Value::List(mut values)) = Value::decode(&of, &mut d) else { panic!("a list") };
    let last = values.pop().expect("values");
    values.reverse();
    drop(values);
    let error = last.encode(&node(), &mut Encoder::native()).expect_err("too deep");
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    drop(last);
}

/// Writes a value that does not live as long as the encoder.
trait EncodeInto {
    fn encode_into(&self, of: &TypeCode, e: &mut Encoder<'_>);
}

impl EncodeInto for Value {
    fn encode_into(&self, of: &TypeCode, e: &mut Encoder<'_>) {
        e.copied(|e| self.encode(of, e)).expect("it can be sent");
    }
}
