//! Every type of the catalogue through the dynamic interfaces, over IIOP: a dynamic client calls
//! the static servants, static clients call a dynamic servant, and a dynamic client a dynamic
//! servant; in GIOP 1.0, where there is no wide text, and 1.2.

use super::rows;
use super::servants::Side;
use crate::idl::interop::*;
use crate::values::{self, *};
use corbie::dynamic::Exception;
use corbie::idl::Wstring;
use corbie::{
    ARG_IN, ARG_INOUT, ARG_OUT, Any, CompletionStatus, DynamicImplementation, DynamicObject,
    DynamicServant, DynamicServerRequest, Interface, LongDouble, Minor, NamedValue, NvList, Object,
    Orb, Poa, SystemException, TypeCode, Typed, TypedServant, WChar,
};
use std::fmt::Debug;

/// An operation `T pass_t(in T a, inout T b, out T c)`.
struct Row {
    operation: &'static str,
    type_code: TypeCode,
    make: fn(i64) -> Any,
    check: fn(&str, &Any, i64),
}

fn same<M: Typed>(what: &str, got: &Any, wanted: &M::Value)
where
    M::Value: Debug,
{
    assert!(got.type_code().equivalent(&M::type_code()), "{what}");
    let got = got.extract::<M>().unwrap_or_else(|error| panic!("{what}: {error}"));
    check::<M>(what, &got, wanted).unwrap_or_else(|different| panic!("{different}"));
}

macro_rules! table {
    ($($kind:ident $op:ident $name:ident $marker:ty, $argument:ty;)*) => {
        vec![$(Row {
            operation: stringify!($op),
            type_code: <$marker as Typed>::type_code(),
            make: |n| Any::from_value::<$marker>(&values::$name(n)).expect("it can be sent"),
            check: |what, got, n| same::<$marker>(what, got, &values::$name(n)),
        }),*]
    };
}

/// The rows of an interface that has operations of the shape.
fn rows_of(id: &str) -> Vec<Row> {
    match id {
        Primitives::REPOSITORY_ID => rows::primitives! { table!() },
        Texts::REPOSITORY_ID => rows::texts! { table!() },
        Structs::REPOSITORY_ID => rows::structs! { table!() },
        Unions::REPOSITORY_ID => rows::unions! { table!() },
        Sequences::REPOSITORY_ID => rows::sequences! { table!() },
        Arrays::REPOSITORY_ID => rows::arrays! { table!() },
        Fixeds::REPOSITORY_ID => rows::fixeds! { table!() },
        Extensions::REPOSITORY_ID => rows::extensions! { table!() },
        _ => panic!("{id} has no rows"),
    }
}

const INTERFACES: [&str; 8] = [
    Primitives::REPOSITORY_ID,
    Texts::REPOSITORY_ID,
    Structs::REPOSITORY_ID,
    Unions::REPOSITORY_ID,
    Sequences::REPOSITORY_ID,
    Arrays::REPOSITORY_ID,
    Fixeds::REPOSITORY_ID,
    Extensions::REPOSITORY_ID,
];

/// Whether the values of an operation can travel between two of us. GIOP 1.0 has neither wide text
/// nor code sets but ISO 8859-1; from 1.1 on we agree upon UTF-8, where a `char` is one octet.
fn travels(operation: &str, version: &str) -> bool {
    if version != "1.0" {
        return operation != "pass_latin1_char";
    }
    let needs_more = ["wchar", "wide_text", "wstring", "surrogates", "unicode"];
    !needs_more.iter().any(|what| operation.contains(what))
}

fn orb(version: &str) -> Orb {
    let arguments = ["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBGIOPVersion", version];
    Orb::init(arguments).expect("an ORB")
}

/// The same object as another ORB gets it.
fn across(client: &Orb, object: &Object) -> Object {
    client.string_to_object(&object.to_string()).expect("a reference")
}

fn activate<S: TypedServant>(poa: &Poa, servant: S) -> Object {
    poa.activate(servant).expect("a reference").into_object()
}

/// The static servant of an interface.
fn static_servant(side: &Side, id: &str) -> Object {
    let (side, poa) = (side.clone(), &side.poa);
    match id {
        Primitives::REPOSITORY_ID => activate(poa, PrimitivesSkeleton::new(side)),
        Texts::REPOSITORY_ID => activate(poa, TextsSkeleton::new(side)),
        Structs::REPOSITORY_ID => activate(poa, StructsSkeleton::new(side)),
        Unions::REPOSITORY_ID => activate(poa, UnionsSkeleton::new(side)),
        Sequences::REPOSITORY_ID => activate(poa, SequencesSkeleton::new(side)),
        Arrays::REPOSITORY_ID => activate(poa, ArraysSkeleton::new(side)),
        Fixeds::REPOSITORY_ID => activate(poa, FixedsSkeleton::new(side)),
        Extensions::REPOSITORY_ID => activate(poa, ExtensionsSkeleton::new(side)),
        _ => panic!("{id} has no servant here"),
    }
}

/// Answers the operations of one interface as the catalogue says, by its table.
struct DynamicSide {
    id: &'static str,
    rows: Vec<Row>,
}

impl DynamicSide {
    fn new(id: &'static str) -> DynamicServant<Self> {
        DynamicServant::new(DynamicSide { id, rows: rows_of(id) })
    }
}

impl DynamicImplementation for DynamicSide {
    fn primary_interface(&self) -> &str {
        self.id
    }

    fn invoke(&self, request: &mut DynamicServerRequest<'_, '_>) -> Result<(), SystemException> {
        let operation = request.operation();
        let row = self.rows.iter().find(|row| row.operation == operation);
        let row = row.ok_or_else(|| request.unknown_operation())?;
        let mut list = NvList::new();
        list.add_item("a", row.type_code.clone(), ARG_IN);
        list.add_item("b", row.type_code.clone(), ARG_INOUT);
        list.add_item("c", row.type_code.clone(), ARG_OUT);
        let list = request.arguments(list)?;
        (row.check)(&format!("{operation} in"), list[0].value(), 1);
        (row.check)(&format!("{operation} inout"), list[1].value(), 2);
        list[1].set_value((row.make)(3))?;
        list[2].set_value((row.make)(4))?;
        request.set_result((row.make)(5))
    }
}

/// Calls every row dynamically.
fn call_dynamically(object: &Object, id: &str, version: &str) {
    for row in rows_of(id) {
        let name = row.operation;
        if !travels(name, version) {
            continue;
        }
        let mut request = object.request(name);
        request.add_in_arg("a", (row.make)(1)).add_inout_arg("b", (row.make)(2));
        request.add_out_arg("c", row.type_code.clone()).set_return_type(row.type_code.clone());
        request.invoke().unwrap_or_else(|error| panic!("{version} {name}: {error}"));
        (row.check)(&format!("{name} return"), request.return_value(), 5);
        (row.check)(&format!("{name} inout"), request.arguments()[1].value(), 3);
        (row.check)(&format!("{name} out"), request.arguments()[2].value(), 4);
    }
}

#[test]
fn a_dynamic_client_and_static_servants_pass_every_type() {
    for version in ["1.0", "1.2"] {
        let (server, client) = (orb(version), orb(version));
        let side = Side::new(&server).expect("a side");
        for id in INTERFACES {
            let object = across(&client, &static_servant(&side, id));
            call_dynamically(&object, id, version);
        }
        server.shutdown(true);
    }
}

#[test]
fn a_dynamic_client_and_a_dynamic_servant_pass_every_type() {
    let (server, client) = (orb("1.2"), orb("1.2"));
    let poa = server.root_poa().expect("a POA");
    poa.the_poa_manager().activate().expect("an active manager");
    for id in INTERFACES {
        let object = across(&client, &activate(&poa, DynamicSide::new(id)));
        assert_eq!(object.ior().type_id, id);
        call_dynamically(&object, id, "1.2");
    }
    server.shutdown(true);
}

macro_rules! call_statically {
    ($it:ident $version:ident; $($kind:ident $op:ident $name:ident $marker:ty, $argument:ty;)*) => {
        $(if travels(stringify!($op), $version) {
            let got = call_one!($kind $it $op $name);
            let (result, b, c) = got.unwrap_or_else(|error| panic!("{}: {error}", stringify!($op)));
            for (what, got, n) in [("return", result, 5), ("inout", b, 3), ("out", c, 4)] {
                let what = format!("{} {what}", stringify!($op));
                check::<$marker>(&what, &got, &values::$name(n))
                    .unwrap_or_else(|different| panic!("{different}"));
            }
        })*
    };
}
macro_rules! call_one {
    (value $it:ident $op:ident $name:ident) => {
        $it.$op(values::$name(1), values::$name(2))
    };
    (reference $it:ident $op:ident $name:ident) => {
        $it.$op(&values::$name(1), &values::$name(2))
    };
}

/// A typed view of a dynamic servant, as another ORB gets it.
fn typed<I: Interface>(client: &Orb, poa: &Poa) -> I {
    let object = across(client, &activate(poa, DynamicSide::new(I::REPOSITORY_ID)));
    I::narrow(&object).expect("an answer").expect("it says what it is")
}

#[test]
fn static_clients_and_a_dynamic_servant_pass_every_type() {
    for version in ["1.0", "1.2"] {
        let (server, client) = (orb(version), orb(version));
        let poa = &server.root_poa().expect("a POA");
        poa.the_poa_manager().activate().expect("an active manager");
        let it: Primitives = typed(&client, poa);
        rows::primitives! { call_statically!(it version;) }
        let it: Texts = typed(&client, poa);
        rows::texts! { call_statically!(it version;) }
        let it: Structs = typed(&client, poa);
        rows::structs! { call_statically!(it version;) }
        let it: Unions = typed(&client, poa);
        rows::unions! { call_statically!(it version;) }
        let it: Sequences = typed(&client, poa);
        rows::sequences! { call_statically!(it version;) }
        let it: Arrays = typed(&client, poa);
        rows::arrays! { call_statically!(it version;) }
        let it: Fixeds = typed(&client, poa);
        rows::fixeds! { call_statically!(it version;) }
        let it: Extensions = typed(&client, poa);
        rows::extensions! { call_statically!(it version;) }
        server.shutdown(true);
    }
}

#[test]
fn anys_and_type_codes_of_every_kind_pass_dynamically() {
    let (server, client) = (orb("1.2"), orb("1.2"));
    let side = Side::new(&server).expect("a side");
    let mine = Side::new(&client).expect("a side");
    let object = across(&client, &activate(&side.poa, AnysSkeleton::new(side.clone())));
    let any = |kind, n| {
        let any = mine.any(kind, n, "client").expect("a value");
        Any::from_value::<Any>(&any).expect("it can be sent")
    };
    for kind in 0..ANY_KINDS {
        let mut request = object.request("pass_any");
        request.add_in::<i32>("kind", &kind).expect("a long");
        request.add_in_arg("a", any(kind, 1)).add_inout_arg("b", any(kind, 2));
        request.add_out_arg("c", TypeCode::ANY).set_return_type(TypeCode::ANY);
        request.invoke().unwrap_or_else(|error| panic!("kind {kind}: {error}"));
        let result = request.returned::<Any>().expect("an any");
        let (b, c) = (request.argument::<Any>(2), request.argument::<Any>(3));
        for (got, n) in [(Ok(result), 5), (b, 3), (c, 4)] {
            let got = got.expect("an any");
            check_any("any", &got, kind, n, "server", &client)
                .unwrap_or_else(|different| panic!("{different}"));
        }
        let type_code = |n| Any::from_value::<TypeCode>(&type_code(n)).expect("a TypeCode");
        let mut request = object.request("pass_typecode");
        request.add_in::<i32>("kind", &kind).expect("a long");
        request.add_in_arg("a", type_code(kind)).add_inout_arg("b", type_code(kind + 1));
        request.add_out_arg("c", TypeCode::TYPE_CODE).set_return_type(TypeCode::TYPE_CODE);
        request.invoke().unwrap_or_else(|error| panic!("kind {kind}: {error}"));
        let got = request.returned::<TypeCode>().expect("a TypeCode");
        check_type_code("return", &got, kind + 4).unwrap_or_else(|error| panic!("{error}"));
    }
    server.shutdown(true);
}

/// Raises what the operation's name says.
struct Raising;

impl DynamicImplementation for Raising {
    fn primary_interface(&self) -> &str {
        Exceptions::REPOSITORY_ID
    }

    fn invoke(&self, request: &mut DynamicServerRequest<'_, '_>) -> Result<(), SystemException> {
        let exception = match request.operation() {
            "raise_empty" => Any::from_value::<Empty>(&Empty {}),
            "raise_details" => Any::from_value::<Details>(&details(2)),
            "raise_lists" => Any::from_value::<Lists>(&lists(4)),
            "raise_foreign" => {
                return Err(SystemException::no_memory(Minor::of::<7>(), CompletionStatus::Yes));
            }
            _ => return Err(request.unknown_operation()),
        };
        request.set_exception(exception?)
    }
}

#[test]
fn exceptions_pass_between_static_and_dynamic_sides() {
    let (server, client) = (orb("1.2"), orb("1.2"));
    let side = Side::new(&server).expect("a side");
    let static_side = activate(&side.poa, ExceptionsSkeleton::new(side.clone()));
    let dynamic_side = activate(&side.poa, DynamicServant::new(Raising));
    for object in [&static_side, &dynamic_side] {
        let object = across(&client, object);
        let raised = |operation: &'static str, arguments: &[NamedValue]| {
            let mut request = object.request(operation);
            for argument in arguments {
                request.add_arg(argument.clone());
            }
            for exception in [Empty::type_code(), Details::type_code(), Lists::type_code()] {
                request.add_exception(exception);
            }
            request.invoke().expect_err("it raises")
        };
        assert_eq!(raised("raise_empty", &[]).user::<Empty>(), Ok(Some(Empty {})));
        assert_eq!(raised("raise_details", &[]).user::<Details>(), Ok(Some(details(2))));
        assert_eq!(raised("raise_details", &[]).user::<Empty>(), Ok(None));
        let long = |n| Any::from_value::<i32>(&long(n)).expect("a long");
        let out = NamedValue::new("c", Any::without_value(TypeCode::LONG), ARG_OUT);
        let arguments =
            [NamedValue::new("a", long(1), ARG_IN), NamedValue::new("b", long(2), ARG_INOUT), out];
        assert_eq!(raised("raise_lists", &arguments).user::<Lists>(), Ok(Some(lists(4))));
        assert!(matches!(raised("raise_foreign", &[]), Exception::System(_)));
        let it = Exceptions::unchecked_narrow(object);
        assert!(matches!(it.raise_empty(), Err(exceptions::RaiseEmptyError::Empty(_))));
        match it.raise_details() {
            Err(exceptions::RaiseDetailsError::Details(got)) => assert_eq!(got, details(2)),
            other => panic!("{other:?}"),
        }
    }
    server.shutdown(true);
}
