//! Uses the code generated for `idl/codegen/tests/idl` the way an application does.
//!
//! Compiled and run by `tests/behaviour.rs` in a crate of its own, whose modules are `own_types` …

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use behaviour::own_constants::constants;
use behaviour::own_interfaces::interfaces;
use behaviour::own_stock::stock;
use behaviour::own_types::types;
use behaviour::own_unions::unions;
use corbie::codegen::{
    Decoder, Encoder, Error, ErrorKind, Fixed, LongDouble, Marshal, Typed, WChar,
};
use corbie::{ByteOrder, Orb, SystemException};

fn main() {
    structs_come_back();
    enums_are_checked();
    bounds_are_checked();
    unions_come_back_and_are_checked();
    exceptions_and_errors_have_words();
    constants_have_their_values();
    type_codes_describe();
    a_call_goes_there_and_back();
    derived_servants_serve_base_operations();
    println!("all well");
}

fn encode<M: Marshal>(value: &M::Value, order: ByteOrder) -> Result<Vec<u8>, Error> {
    let mut e = Encoder::new(Vec::new(), order);
    M::encode(value, &mut e)?;
    Ok(e.to_vec())
}

/// Writes and reads in both byte orders.
#[track_caller]
fn check<M: Marshal>(value: M::Value)
where
    M::Value: PartialEq + std::fmt::Debug,
{
    for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
        let octets = encode::<M>(&value, order).expect("encodes");
        assert!(octets.len() >= M::MIN_OCTETS, "{} < {}", octets.len(), M::MIN_OCTETS);
        let mut d = Decoder::new(&octets, order);
        assert_eq!(M::decode(&mut d).expect("decodes"), value);
        assert_eq!(d.remaining(), 0);
        for end in 0..octets.len() {
            // Cut anywhere, it is an error and not a panic (or it was padding at the end).
            let _ = M::decode(&mut Decoder::new(&octets[..end], order));
        }
    }
}

fn primitives() -> types::Primitives {
    types::Primitives {
        a_boolean: true,
        an_octet: 200,
        a_char: 'ä',
        a_wchar: WChar(0x20ac),
        a_short: -2,
        an_unsigned_short: 65535,
        a_long: -3,
        an_unsigned_long: u32::MAX,
        a_long_long: i64::MIN,
        an_unsigned_long_long: u64::MAX,
        a_float: 1.5,
        a_double: -2.5,
        a_long_double: LongDouble::from(0.25),
        an_int8: -8,
        a_uint8: 8,
        ..Default::default()
    }
}

fn structs_come_back() {
    check::<types::Primitives>(primitives());
    check::<types::Empty>(types::Empty);
    check::<types::Composed>(types::Composed {
        r#where: types::Point { x: 1, y: -1 },
        a_price: Fixed::from_digits(-1250).expect("fits"),
        path: vec![types::Point { x: 1, y: 2 }; 3],
        rows: vec![vec![1, 2], vec![], vec![3]],
        some_octets: vec![1; 5000],
        a_table: vec![vec!["a".to_owned()]],
        a_matrix: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        r#type: i32::type_code(),
        a_paint: types::Colour::DarkBlue,
        ..Default::default()
    });
    let leaf = types::Node { name: "leaf".to_owned(), ..Default::default() };
    let children = vec![leaf.clone(), leaf];
    let tree = types::Node { name: "tree".to_owned(), children, ..Default::default() };
    check::<types::Node>(tree);
    let derived = types::Derived { id: 4, name: "n".to_owned() };
    check::<types::Derived>(derived.clone());
    assert_eq!(types::Base::from(derived), types::Base { id: 4 });
    let huge: types::Huge = vec![[7; 1024]; 64].into_boxed_slice().try_into().expect("64 rows");
    check::<types::HugeIdl>(huge);
}

fn enums_are_checked() {
    let octets = encode::<u32>(&3, ByteOrder::NATIVE).expect("encodes");
    let error = types::Colour::decode(&mut Decoder::new(&octets, ByteOrder::NATIVE));
    let error = error.expect_err("there are three colours");
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
    assert!(error.to_string().contains("Types::Colour"), "{error}");
}

fn bounds_are_checked() {
    let long = "123456789".to_owned();
    let error = encode::<types::ShortNameIdl>(&long, ByteOrder::NATIVE).expect_err("9 > 8");
    assert_eq!(error.kind(), ErrorKind::BadParameter);
    let octets = encode::<String>(&long, ByteOrder::NATIVE).expect("encodes");
    let error = types::ShortNameIdl::decode(&mut Decoder::new(&octets, ByteOrder::NATIVE));
    assert_eq!(error.expect_err("9 > 8").kind(), ErrorKind::InvalidValue);
}

fn unions_come_back_and_are_checked() {
    use unions::{BothBooleans, ByBoolean, ByChar, ByEnum, ByInt8, ByLong, ByOctet, Full, Tree};
    check::<ByEnum>(ByEnum::N(7));
    check::<ByEnum>(ByEnum::Other(unions::Kind::None));
    check::<ByLong>(ByLong::Minus(1));
    check::<ByLong>(ByLong::Few { discriminator: 2, value: "x".to_owned() });
    check::<ByLong>(ByLong::Rest { discriminator: 99, value: 0.5 });
    check::<ByBoolean>(ByBoolean::Data(vec![1, 2]));
    check::<ByBoolean>(ByBoolean::Other(false));
    check::<BothBooleans>(BothBooleans::No(-1));
    check::<ByChar>(ByChar::Quote(5));
    check::<ByOctet>(ByOctet::All(1));
    check::<ByInt8>(ByInt8::Least(-5));
    let full = Tree::AFull(Full::T("t".to_owned()));
    check::<Tree>(Tree::Branches(vec![Tree::Leaf(1), full, Tree::Table([1, 2, 3, 4])]));
    assert_eq!(ByLong::Minus(1).discriminator(), -1);
    assert_eq!(ByLong::Rest { discriminator: 99, value: 0.5 }.discriminator(), 99);

    // A discriminator that goes with another case would change the value on its way.
    for wrong in [
        ByLong::Few { discriminator: 3, value: String::new() },
        ByLong::Rest { discriminator: 1, value: 0.5 },
    ] {
        let error = encode::<ByLong>(&wrong, ByteOrder::NATIVE).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::BadParameter);
    }
    let wrong = ByEnum::Other(unions::Kind::Text);
    assert!(encode::<ByEnum>(&wrong, ByteOrder::NATIVE).is_err());

    // A tree as deep as a message is long must not exhaust the stack.
    let mut octets = Vec::new();
    for _ in 0..100_000 {
        octets.extend([0, 1, 0, 0, 0, 0, 0, 1]);
    }
    let error = Tree::decode(&mut Decoder::new(&octets, ByteOrder::BigEndian));
    assert_eq!(error.expect_err("too deep").kind(), ErrorKind::LimitExceeded);
}

fn exceptions_and_errors_have_words() {
    let failed = types::Failed { why: "rain".to_owned(), code: 3 };
    assert_eq!(failed.to_string(), r#"Types::Failed (why: "rain", code: 3)"#);
    let error = types::everything::RecursiveError::from(failed);
    assert_eq!(error.to_string(), r#"Types::Failed (why: "rain", code: 3)"#);
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(types::EmptyFailure.to_string(), "Types::Empty_Failure");
}

fn constants_have_their_values() {
    assert_eq!(constants::LOWEST, i16::MIN);
    assert_eq!(constants::FAR, i64::MIN);
    assert_eq!(constants::SHIFTED, 19);
    assert_eq!(constants::TEXT, "quo\"te\nA");
    assert_eq!(constants::WIDE_TEXT, "wïde");
    assert_eq!(constants::LATIN, 'é');
    assert_eq!(constants::WIDE, WChar(0xe9));
    assert_eq!(constants::MONEY.to_string(), "12.5");
    assert_eq!(constants::BEST, constants::Colour::Green);
    assert_eq!(f64::from(constants::LONG_PI), std::f64::consts::PI);
    assert_eq!(constants::FROM_INSIDE, 2 * constants::holder::INSIDE);
}

fn type_codes_describe() {
    let node = types::Node::type_code();
    assert_eq!(node.id(), "IDL:Types/Node:1.0");
    assert!(node.is_complete());
    assert!(unions::Tree::type_code().is_complete());
    assert!(types::Folder::type_code().is_complete());
    assert_eq!(types::NameIdl::type_code().name(), "Name");
    let any = corbie::codegen::Any::from_value::<types::Node>(&types::Node::default());
    let any = any.expect("a node in an any");
    assert_eq!(any.extract::<types::Node>().expect("a node"), types::Node::default());
    assert!(any.extract::<types::Point>().is_err());
}

#[derive(Default)]
struct Prices {
    served: AtomicU64,
    cents: HashMap<&'static str, i32>,
}

impl stock::QuoterServant for Prices {
    fn quotes_served(&self) -> Result<u64, SystemException> {
        Ok(self.served.load(Ordering::Relaxed))
    }

    fn get_quote(&self, stock_name: &str) -> Result<i32, stock::quoter::GetQuoteError> {
        self.served.fetch_add(1, Ordering::Relaxed);
        let unknown = || stock::InvalidStockSymbol { symbol: stock_name.to_owned() };
        Ok(*self.cents.get(stock_name).ok_or_else(unknown)?)
    }
}

fn a_call_goes_there_and_back() {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
    let poa = orb.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let servant = Arc::new(Prices { cents: HashMap::from([("IBM", 4200)]), ..Default::default() });
    let quoter = poa.activate(stock::QuoterSkeleton::new(Arc::clone(&servant))).expect("active");

    assert_eq!(quoter.get_quote("IBM").expect("a price"), 4200);
    let error = quoter.get_quote("ACME").expect_err("no price");
    let expected = stock::InvalidStockSymbol { symbol: "ACME".to_owned() };
    assert_eq!(error, stock::quoter::GetQuoteError::InvalidStockSymbol(expected));
    assert_eq!(quoter.quotes_served().expect("a count"), 2);
    assert_eq!(servant.served.load(Ordering::Relaxed), 2);

    let text = orb.object_to_string(quoter.as_object());
    let object = orb.string_to_object(&text).expect("a reference");
    assert!(stock::Quoter::narrow(&object).expect("answered").is_some());
    assert!(interfaces::Top::narrow(&object).expect("answered").is_none());
    orb.shutdown(true);
}

struct Bottom;

impl interfaces::TopServant for Bottom {
    fn get_top(&self) -> Result<i32, SystemException> {
        Ok(1)
    }
    fn name(&self) -> Result<String, SystemException> {
        Ok("bottom".to_owned())
    }
}

impl interfaces::LeftServant for Bottom {
    fn go_left(&self, _value: i32) -> Result<(), SystemException> {
        Ok(())
    }
}

impl interfaces::RightServant for Bottom {
    fn go_right(&self) -> Result<(), interfaces::right::GoRightError> {
        Err(interfaces::right::Wrong { why: "left".to_owned() }.into())
    }
}

impl interfaces::BottomServant for Bottom {
    fn get_bottom(&self) -> Result<String, SystemException> {
        Ok("up".to_owned())
    }
}

fn derived_servants_serve_base_operations() {
    let orb = Orb::init(["-ORBListenEndpoints", "iiop://127.0.0.1:0"]).expect("an ORB");
    let poa = orb.root_poa().expect("the root POA");
    poa.the_poa_manager().activate().expect("an active manager");
    let bottom = poa.activate(interfaces::BottomSkeleton::new(Bottom)).expect("active");
    assert_eq!(bottom.get_bottom().expect("own"), "up");
    assert_eq!(bottom.get_top().expect("of the base's base"), 1);
    let top = interfaces::Top::from(bottom.clone());
    assert_eq!(top.name().expect("an attribute of the base"), "bottom");
    let right = interfaces::Right::narrow(top.as_object()).expect("answered").expect("a Right");
    match right.go_right() {
        Err(interfaces::right::GoRightError::Wrong(wrong)) => assert_eq!(wrong.why, "left"),
        other => panic!("{other:?}"),
    }
    assert!(interfaces::Described::narrow(top.as_object()).expect("answered").is_none());
    orb.shutdown(true);
}
