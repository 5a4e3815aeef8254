//! `Messaging::ExceptionHolder` as a value: golden octets, and every form that peers may send.

use corbie_cdr::{ByteOrder, Decoder, Encoder, ErrorKind, Marshal};
use corbie_messaging::{ExceptionHolder, Raised};
use corbie_types::{CompletionStatus, Minor, SystemException, TypeCode, Typed, Value};

const HOLDER: &str = "IDL:omg.org/Messaging/ExceptionHolder:1.0";
const SYMBOL: &str = "IDL:Stock/Invalid_Stock_Symbol:1.0";

/// Writes numbers and strings in one byte order.
struct Octets(Encoder<'static>);

impl Octets {
    fn new(order: ByteOrder) -> Self {
        Octets(Encoder::new(Vec::new(), order))
    }
    fn long(mut self, value: u32) -> Self {
        self.0.write_ulong(value);
        self
    }
    fn text(mut self, text: &str) -> Self {
        self.0.write_str(text).expect("no NUL");
        self
    }
    fn octets(mut self, octets: &[u8]) -> Self {
        self.0.write_octets(octets);
        self
    }
    /// The distance back from here to a place.
    fn back_to(mut self, place: usize) -> Self {
        self.0.align(4);
        let here = i32::try_from(self.0.position()).expect("short");
        self.0.write_long(i32::try_from(place).expect("short") - here);
        self
    }
    fn done(self) -> Vec<u8> {
        self.0.to_vec()
    }
}

/// The body of a reply with the user exception `Invalid_Stock_Symbol ("X")`, in big-endian.
fn symbol() -> Vec<u8> {
    Octets::new(ByteOrder::BigEndian).text(SYMBOL).text("X").done()
}

/// The state of a holder of it, as it stands in a message.
fn state(octets: Octets) -> Octets {
    let exception = symbol();
    let length = u32::try_from(exception.len()).expect("short");
    octets.octets(&[0, 0]).long(length).octets(&exception)
}

fn decode(octets: &[u8], order: ByteOrder) -> Result<ExceptionHolder, corbie_cdr::Error> {
    let mut d = Decoder::new(octets, order);
    let holder = ExceptionHolder::decode(&mut d)?;
    assert_eq!(d.remaining(), 0, "all of it belongs to the value");
    Ok(holder)
}

#[track_caller]
fn check_symbol(octets: &[u8], order: ByteOrder) {
    let holder = decode(octets, order).expect("a holder");
    assert!(!holder.is_system_exception());
    assert_eq!(holder.byte_order(), ByteOrder::BigEndian);
    assert_eq!(holder.user_exception(), Ok(SYMBOL));
    assert_eq!(holder.members(String::decode), Ok("X".to_owned()));
}

#[test]
fn golden_octets_of_a_system_exception() {
    let octets: &[u8] = &[
        0x7f, 0xff, 0xff, 0x02, // a value with one repository id
        0, 0, 0, 42, // and its length
        b'I', b'D', b'L', b':', b'o', b'm', b'g', b'.', b'o', b'r', b'g', b'/', b'M', b'e', b's',
        b's', b'a', b'g', b'i', b'n', b'g', b'/', b'E', b'x', b'c', b'e', b'p', b't', b'i', b'o',
        b'n', b'H', b'o', b'l', b'd', b'e', b'r', b':', b'1', b'.', b'0', 0, //
        1, 1, // a system exception, little-endian
        0, 0, 0, 44, // the length of what follows
        32, 0, 0, 0, // "IDL:omg.org/CORBA/TRANSIENT:1.0"
        b'I', b'D', b'L', b':', b'o', b'm', b'g', b'.', b'o', b'r', b'g', b'/', b'C', b'O', b'R',
        b'B', b'A', b'/', b'T', b'R', b'A', b'N', b'S', b'I', b'E', b'N', b'T', b':', b'1', b'.',
        b'0', 0, //
        7, 0, 0, 0, // minor code
        1, 0, 0, 0, // COMPLETED_NO
    ];
    let holder = decode(octets, ByteOrder::BigEndian).expect("a holder");
    let exception = SystemException::transient(Minor::of::<7>(), CompletionStatus::No);
    assert!(holder.is_system_exception());
    assert_eq!(holder.byte_order(), ByteOrder::LittleEndian);
    assert_eq!(holder.raise_exception(), Err(Raised::System(exception.clone())));
    assert_eq!(holder.user_exception(), Err(exception));
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    ExceptionHolder::encode(&holder, &mut e).expect("encodes");
    assert_eq!(e.to_vec(), octets, "what was read is written again");
}

#[test]
fn what_is_written_is_read() {
    let exception =
        SystemException::no_permission(Minor::of::<0x4d42_0001>(), CompletionStatus::Yes);
    let holder = ExceptionHolder::of_system(&exception).expect("held");
    for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
        let mut e = Encoder::new(Vec::new(), order);
        ExceptionHolder::encode(&holder, &mut e).expect("encodes");
        let read = decode(&e.to_vec(), order).expect("a holder");
        assert_eq!(read, holder);
        assert_eq!(read.raise_exception(), Err(Raised::System(exception.clone())));
    }
    assert_eq!(format!("{:?}", ExceptionHolder::type_code().id()), format!("{HOLDER:?}"));
}

#[test]
fn without_or_with_one_repository_id() {
    for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
        check_symbol(&state(Octets::new(order).long(0x7fff_ff00)).done(), order);
        check_symbol(&state(Octets::new(order).long(0x7fff_ff02).text(HOLDER)).done(), order);
    }
}

#[test]
fn with_a_codebase() {
    let order = ByteOrder::BigEndian;
    let url = "http://192.0.2.1/classes/";
    check_symbol(&state(Octets::new(order).long(0x7fff_ff01).text(url)).done(), order);
    check_symbol(&state(Octets::new(order).long(0x7fff_ff03).text(url).text(HOLDER)).done(), order);
}

#[test]
fn of_the_type_that_old_peers_send() {
    let order = ByteOrder::LittleEndian;
    let old = "IDL:Stock/AMI_QuoterExceptionHolder:1.0";
    check_symbol(&state(Octets::new(order).long(0x7fff_ff02).text(old)).done(), order);
}

#[test]
fn with_indirections() {
    let order = ByteOrder::BigEndian;
    // A codebase and an id that are the same string.
    let octets = Octets::new(order).long(0x7fff_ff03).text(HOLDER).long(u32::MAX).back_to(4);
    check_symbol(&state(octets).done(), order);
    // A list in which the second id is that of the first.
    let list = Octets::new(order).long(0x7fff_ff06).long(2).text(HOLDER).long(u32::MAX).back_to(8);
    check_symbol(&state(list).done(), order);
    // The whole value is one that came before.
    let value = state(Octets::new(order).long(0x7fff_ff02).text(HOLDER));
    let octets = value.long(u32::MAX).back_to(0).done();
    let mut d = Decoder::new(&octets, order);
    let first = ExceptionHolder::decode(&mut d).expect("a value");
    let second = ExceptionHolder::decode(&mut d).expect("the same again");
    assert_eq!(first, second);
    assert_eq!(d.remaining(), 0);
}

#[test]
fn in_chunks() {
    let order = ByteOrder::BigEndian;
    let exception = symbol();
    let length = u32::try_from(exception.len()).expect("short");
    let end = u32::MAX; // -1
    // One chunk: two booleans, padding, the length, the octets.
    let begin = Octets::new(order).long(0x7fff_ff0a).text(HOLDER);
    let size = 2 + 2 + 4 + length;
    // The chunk begins where `size` ends, on a multiple of 4.
    let whole = begin.long(size).octets(&[0, 0]).long(length).octets(&exception).long(end).done();
    check_symbol(&whole, order);
    // Many chunks, the octets cut in the middle.
    let (front, back) = exception.split_at(21);
    let rest = u32::try_from(back.len()).expect("short");
    let cut = Octets::new(order).long(0x7fff_ff0a).text(HOLDER);
    let cut = cut.long(2).octets(&[0, 0]).long(4).long(length);
    let cut = cut.long(21).octets(front).long(rest).octets(back).long(end).done();
    check_symbol(&cut, order);
}

#[test]
fn a_derived_value_is_truncated() {
    let order = ByteOrder::LittleEndian;
    let exception = symbol();
    let length = u32::try_from(exception.len()).expect("short");
    let derived = "IDL:Acme/BetterHolder:1.0";
    let head = Octets::new(order).long(0x7fff_ff0e).long(2).text(derived).text(HOLDER);
    let own = head.long(2).octets(&[0, 0]).long(4).long(length).long(length).octets(&exception);
    check_symbol(&own.long(8).octets(&[9; 8]).long(u32::MAX).done(), order);
}

#[track_caller]
fn check_refused(octets: &[u8], kind: ErrorKind, text: &str) {
    let error = decode(octets, ByteOrder::BigEndian).expect_err("no holder");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn what_is_no_holder_is_refused() {
    let big = || Octets::new(ByteOrder::BigEndian);
    check_refused(&big().long(0).done(), ErrorKind::InvalidValue, "null value");
    check_refused(&big().long(5).done(), ErrorKind::InvalidValue, "value tag");
    check_refused(&big().long(0x7fff_ff04).done(), ErrorKind::InvalidValue, "value tag");
    let other = big().long(0x7fff_ff02).text("IDL:Acme/Other:1.0").done();
    check_refused(&other, ErrorKind::InvalidValue, "IDL:Acme/Other:1.0");
    // A derived value that is not in chunks has no end that one could find.
    let list = big().long(0x7fff_ff06).long(2).text("IDL:Acme/Other:1.0").text(HOLDER);
    check_refused(&list.done(), ErrorKind::InvalidValue, "not in chunks");
    let empty = big().long(0x7fff_ff06).long(0).done();
    check_refused(&empty, ErrorKind::InvalidValue, "0 repository ids");
    // Indirections forward, to nothing, and in a circle.
    check_refused(&big().long(u32::MAX).long(8).done(), ErrorKind::InvalidValue, "indirection");
    let before = u32::MAX - 99;
    check_refused(
        &big().long(u32::MAX).long(before).done(),
        ErrorKind::InvalidValue,
        "indirection",
    );
    let circle = big().long(u32::MAX).back_to(0).done();
    check_refused(&circle, ErrorKind::InvalidValue, "earlier place");
    // Lengths that promise too much.
    let long = big().long(0x7fff_ff00).octets(&[0, 0]).long(1 << 20).done();
    check_refused(&long, ErrorKind::UnexpectedEnd, "octets");
    let chunk = big().long(0x7fff_ff08).long(0x7000_0000).octets(&[0, 0]).long(100).done();
    check_refused(&chunk, ErrorKind::UnexpectedEnd, "octets");
    let cut = big().long(0x7fff_ff08).long(3).octets(&[0, 0]).long(0).long(u32::MAX).done();
    check_refused(&cut, ErrorKind::InvalidValue, "the size of a chunk");
    let no_end = big().long(0x7fff_ff08).long(8).octets(&[0, 0]).long(0).long(7).done();
    check_refused(&no_end, ErrorKind::InvalidValue, "end tag");
}

#[test]
fn headers_that_cost_too_much_are_refused() {
    let big = || Octets::new(ByteOrder::BigEndian);
    let many = big().long(0x7fff_ff06).long(1 << 20).text(HOLDER).long(u32::MAX).back_to(8).done();
    check_refused(&many, ErrorKind::LimitExceeded, "at most 256");
    let long = big().long(0x7fff_ff02).text(&"x".repeat(20_000)).done();
    check_refused(&long, ErrorKind::LimitExceeded, "at most 16384");
}

#[test]
fn a_damaged_holder_is_read_or_refused() {
    let order = ByteOrder::BigEndian;
    let list = Octets::new(order).long(0x7fff_ff0f).text("http://x/").long(2).text(HOLDER);
    let list = list.long(u32::MAX).back_to(24);
    let exception = symbol();
    let length = u32::try_from(exception.len()).expect("short");
    let whole = list.long(2).octets(&[0, 0]).long(4).long(length).long(length).octets(&exception);
    let whole = whole.long(u32::MAX).done();
    check_symbol(&whole, order);
    let mut refused = 0;
    for at in 0..whole.len() {
        for octet in [0, 1, 4, 0x7f, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = octet;
            match ExceptionHolder::decode(&mut Decoder::new(&damaged, order)) {
                // What was damaged may be the exception inside.
                Ok(holder) => assert!(holder.raise_exception().is_err()),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > whole.len(), "only {refused}");
}

#[test]
fn no_prefix_of_a_holder_panics() {
    let order = ByteOrder::BigEndian;
    let whole = state(Octets::new(order).long(0x7fff_ff02).text(HOLDER)).done();
    for length in 0..whole.len() {
        let prefix = whole.get(..length).expect("a prefix");
        assert!(ExceptionHolder::decode(&mut Decoder::new(prefix, order)).is_err(), "{length}");
    }
}

#[test]
fn a_user_exception_is_raised_by_its_type() {
    let order = ByteOrder::BigEndian;
    let holder = decode(&state(Octets::new(order).long(0x7fff_ff00)).done(), order).expect("held");
    assert_eq!(holder.raise_exception(), Err(Raised::User(SYMBOL.to_owned())));
    let other = TypeCode::exception("IDL:Acme/Other:1.0", "Other", &[]);
    let of =
        TypeCode::exception(SYMBOL, "Invalid_Stock_Symbol", &[("symbol", TypeCode::string(0))]);
    let Err(Raised::Typed(any)) = holder.raise_exception_with_list(&[other.clone(), of.clone()])
    else {
        panic!("it is in the list");
    };
    assert_eq!(any.type_code(), &of);
    let members = Value::Struct(vec![Value::String("X".to_owned())]);
    assert_eq!(any.to_value(), Ok(members));
    let raised = holder.raise_exception_with_list(&[other]);
    assert_eq!(raised, Err(Raised::User(SYMBOL.to_owned())));
    let unknown = holder.unknown_user_exception();
    assert!(unknown.to_string().contains(SYMBOL), "{unknown}");
}

#[test]
fn octets_that_are_no_exception_are_an_error_of_their_own() {
    let octets = Octets::new(ByteOrder::BigEndian).long(0x7fff_ff00).octets(&[1, 0]).long(0).done();
    let holder = decode(&octets, ByteOrder::BigEndian).expect("a holder of nothing");
    let Err(Raised::System(exception)) = holder.raise_exception() else { panic!("a system one") };
    assert_eq!(exception.repository_id(), "IDL:omg.org/CORBA/MARSHAL:1.0");
}
