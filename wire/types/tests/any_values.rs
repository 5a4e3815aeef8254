//! Anys as arguments and results of dynamic calls: without their TypeCode, at every alignment, in
//! both orders, in the code sets and versions of any connection. What they write is what `Value`
//! and generated code write.

mod typed_values;

use corbie_cdr::{ByteOrder, CodeSets, Decoder, Encoder, ErrorKind, Marshal as _, Version};
use corbie_types::{Any, SystemExceptionKind, TcKind, TypeCode, Value};
use proptest::prelude::*;
use typed_values::{normal, typed_value};

/// What connections differ in.
#[derive(Clone, Copy, Debug)]
struct Connection {
    order: ByteOrder,
    version: Version,
    code_sets: CodeSets,
}

fn connection() -> impl Strategy<Value = Connection> {
    let order = prop_oneof![Just(ByteOrder::BigEndian), Just(ByteOrder::LittleEndian)];
    let version = prop_oneof![Just(Version::V1_1), Just(Version::V1_2)];
    // GIOP 1.1 has its wide characters in UTF-16; ISO 8859-1 has all that the generator makes.
    let code_sets = prop_oneof![Just(CodeSets::DEFAULT), Just(CodeSets::UNICODE)];
    (order, version, code_sets).prop_map(|(order, version, code_sets)| Connection {
        order,
        version,
        code_sets,
    })
}

impl Connection {
    fn written<'v>(
        self,
        lead: usize,
        write: impl FnOnce(&mut Encoder<'v>) -> Result<(), corbie_cdr::Error>,
    ) -> Vec<u8> {
        let mut e = Encoder::new(Vec::new(), self.order);
        e.set_version(self.version);
        e.set_code_sets(self.code_sets);
        (0..lead).for_each(|_| e.write_octet(0xff));
        write(&mut e).expect("it can be sent");
        e.to_vec()
    }

    fn decoder(self, octets: &[u8], lead: usize) -> Decoder<'_> {
        let mut d = Decoder::with_position(octets, lead, self.order);
        d.set_version(self.version);
        d.set_code_sets(self.code_sets);
        d
    }
}

/// Octets of `any` without its TypeCode.
fn octets_of(any: &Any, connection: Connection, lead: usize) -> Vec<u8> {
    connection.written(lead, |e| any.encode_value(e))
}

fn has_exception(type_code: &TypeCode) -> bool {
    let Some(plain) = type_code.unaliased() else { return false };
    plain.kind() == TcKind::Except
        || plain.content_type().is_some_and(|part| has_exception(&part))
        || plain.members().iter().any(|member| has_exception(&member.type_code))
        || plain.union_members().iter().any(|member| has_exception(&member.type_code))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn an_argument_is_written_as_its_value_is(
        (type_code, value) in typed_value(),
        here in connection(),
        there in connection(),
        (lead, other_lead) in (0usize..8, 0usize..8),
    ) {
        let any = Any::from_dynamic(type_code.clone(), &value).expect("it fits");
        prop_assert!(any.has_value());
        let by_value = here.written(lead, |e| value.encode(&type_code, e));
        prop_assert_eq!(&octets_of(&any, here, lead), &by_value);
        // Read on one connection and sent on over another.
        let mut d = here.decoder(&by_value, lead);
        let read = Any::decode_value(type_code.clone(), &mut d).expect("what we wrote");
        prop_assert_eq!(d.remaining(), 0);
        prop_assert_eq!(read.to_value().expect("walked over"), normal(value.clone(), &type_code));
        let by_value = there.written(other_lead, |e| value.encode(&type_code, e));
        prop_assert_eq!(&octets_of(&read, there, other_lead), &by_value);
        // Cut anywhere it is an error, not half a value.
        let octets = octets_of(&any, here, lead);
        for end in lead..octets.len() {
            if has_exception(&type_code) {
                break; // The repository id may be missing, as omniORB leaves it out.
            }
            let cut = Any::decode_value(type_code.clone(), &mut here.decoder(&octets[..end], lead));
            prop_assert!(cut.is_err());
        }
    }

    #[test]
    fn user_exceptions_are_their_members_behind_the_id(
        members in proptest::collection::vec(typed_value(), 0..4),
        here in connection(),
        lead in 0usize..8,
    ) {
        let types: Vec<_> = members.iter().map(|(t, _)| ("m", t.clone())).collect();
        let values: Vec<_> = members.iter().map(|(_, v)| v.clone()).collect();
        let exception = TypeCode::exception("IDL:X:1.0", "X", &types);
        let structure = TypeCode::structure("IDL:X:1.0", "X", &types);
        let value = Value::Struct(values);
        let any = Any::from_dynamic(exception.clone(), &value).expect("it fits");
        let alone = here.written(lead, |e| any.encode_exception(e));
        prop_assert_eq!(&alone, &here.written(lead, |e| value.encode(&structure, e)));
        let mut d = here.decoder(&alone, lead);
        let read = Any::decode_exception(exception, &mut d).expect("what we wrote");
        prop_assert_eq!(d.remaining(), 0);
        prop_assert_eq!(read, any);
    }

    #[test]
    fn arbitrary_octets_as_an_argument_never_panic(
        (type_code, _) in typed_value(),
        octets: Vec<u8>,
        here in connection(),
        there in connection(),
    ) {
        if let Ok(any) = Any::decode_value(type_code.clone(), &mut here.decoder(&octets, 0)) {
            let mut e = Encoder::new(Vec::new(), there.order);
            e.set_version(there.version);
            e.set_code_sets(there.code_sets);
            let _ = any.encode_value(&mut e);
        }
        let _ = Any::decode_exception(type_code, &mut here.decoder(&octets, 0));
    }
}

#[test]
fn an_any_without_a_value_is_not_sent() {
    let any = Any::without_value(TypeCode::LONG);
    assert!(!any.has_value());
    let mut e = Encoder::native();
    let error = any.encode_value(&mut e).expect_err("nothing to send");
    assert_eq!(error.kind(), ErrorKind::BadParameter);
    assert!(error.to_string().contains("an any of type long without a value"), "{error}");
    let mut e = Encoder::native();
    assert!(Any::encode(&any, &mut e).is_err());
    let error = any.extract::<i32>().expect_err("nothing to take out");
    assert_eq!(error.kind, SystemExceptionKind::Marshal);
    // Those that have no octets.
    for type_code in [TypeCode::VOID, TypeCode::NULL] {
        let any = Any::without_value(type_code);
        assert!(any.has_value());
        assert_eq!(any.encode_value(&mut Encoder::native()), Ok(()));
    }
}

#[test]
fn only_exceptions_are_read_as_exceptions() {
    let octets = [0; 8];
    let mut d = Decoder::new(&octets, ByteOrder::BigEndian);
    let error = Any::decode_exception(TypeCode::LONG, &mut d).expect_err("a long");
    assert_eq!(error.kind(), ErrorKind::BadTypeCode);
    let long = Any::from_value::<i32>(&1).expect("a long");
    let error = long.encode_exception(&mut Encoder::native()).expect_err("a long");
    assert_eq!(error.kind(), ErrorKind::BadTypeCode);
}

/// The type of the children of a tree is by itself no text, but its values contain some.
#[test]
fn parts_of_recursive_types_are_converted_too() {
    let children = typed_values::tree().members()[1].type_code.clone();
    let leaf = Value::Struct(vec![Value::String("é".into()), Value::List(vec![])]);
    let value = Value::List(vec![leaf]);
    let any = Any::from_dynamic(children.clone(), &value).expect("it fits");
    for code_sets in [CodeSets::DEFAULT, CodeSets::UNICODE] {
        let (order, version) = (ByteOrder::NATIVE, Version::V1_2);
        let here = Connection { order, version, code_sets };
        let by_value = here.written(0, |e| value.encode(&children, e));
        assert_eq!(octets_of(&any, here, 0), by_value);
    }
}
