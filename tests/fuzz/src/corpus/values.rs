//! Seeds of the target `values`: null, a cycle, sharing through an any, a truncatable value.

use std::sync::Arc;

use corbie_types::{Any, DynamicValue, HeldValue, Value};

use super::{Input, in_all_dialects};
use crate::targets::values::{any_of, leaf, node, write};

fn held(value: &Arc<DynamicValue>) -> Value {
    Value::Valuetype(HeldValue::from(Arc::clone(value)))
}

fn members(label: &str, next: Vec<Value>, note: Any) -> Vec<Value> {
    vec![Value::String(label.to_owned()), Value::List(next), Value::Any(Box::new(note))]
}

pub(super) fn values() -> Vec<Input> {
    let (root, child) = (DynamicValue::empty(node()), DynamicValue::empty(node()));
    child.set(members("child", vec![held(&root)], any_of(node(), &held(&root))));
    root.set(members("root", vec![held(&child), Value::Void, held(&child)], Any::default()));
    let text = leaf().state_members().and_then(|mut members| members.pop());
    let text = DynamicValue::new(
        text.map(|text| text.type_code).unwrap_or_default(),
        vec![Value::String("boxed".to_owned())],
    );
    let mut all = members("leaf", vec![held(&root)], any_of(leaf(), &Value::Void));
    all.extend([Value::Octet(7), held(&text)]);
    let one = DynamicValue::new(leaf(), all);
    let nothing = || Value::Any(Box::default());
    let inputs = [
        ("null", [Value::Void, Value::Void, nothing(), Value::Void]),
        ("cycle", [held(&root), held(&child), nothing(), Value::Void]),
        (
            "shared",
            [
                held(&one),
                held(&root),
                Value::Any(Box::new(any_of(leaf(), &held(&one)))),
                held(&one),
            ],
        ),
    ];
    let written = inputs
        .iter()
        .flat_map(|(name, values)| in_all_dialects(name, |e| e.copied(|e| write(values, e))));
    let written = written.collect();
    root.set(Vec::new());
    written
}
