//! The corpora: small valid inputs of every target, from which mutations reach deep.
//!
//! `corbie-fuzz --write-corpus` writes what the functions here generate to `corpus/<target>/`; a
//! test says when a committed file is not what is generated any more. Other files in these folders
//! are kept: found by fuzzing (`found-*`), or written by hand as in `corpus/idl/`.

mod event_log;
mod messaging;
mod object_key;
mod security;
mod values;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use corbie_cdr::{ByteOrder, Encoder, Marshal, Version};
use corbie_giop::{
    AddressingDisposition, CodeSetContext, Fragments, LocateReplyHeader, LocateRequestHeader,
    LocateStatus, MessageHeader, MessageStart, ReplyHeader, ReplyStatus, RequestHeader,
    ResponseFlags, ServiceContext, ServiceContexts, Tagged, TaggedList, Target as Object,
    cancel_request, close_connection, finish_message, message_error, write_locate_reply,
    write_locate_request, write_reply, write_request,
};
use corbie_types::{
    Any, CodeSetComponentInfo, CompletionStatus, IiopProfile, Ior, Minor, SystemException,
    TaggedComponent, TaggedProfile, TypeCode, Value,
};

/// A name and the octets of one input.
pub type Input = (String, Vec<u8>);

/// The folder of a target's corpus in this source tree.
#[must_use]
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// All committed inputs of a target, by name.
///
/// # Errors
/// What the file system says.
pub fn read(target: &str) -> io::Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for entry in fs::read_dir(folder(target))? {
        let path = entry?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            inputs.push((name, fs::read(&path)?));
        }
    }
    inputs.sort();
    Ok(inputs)
}

/// Writes the generated inputs of a target.
///
/// # Errors
/// What the file system says.
pub fn write(target: &str) -> io::Result<()> {
    let inputs = generate(target);
    if !inputs.is_empty() {
        fs::create_dir_all(folder(target))?;
    }
    for (name, octets) in inputs {
        fs::write(folder(target).join(name), octets)?;
    }
    Ok(())
}

/// The generated inputs of a target; none for those whose corpus is written by hand.
#[must_use]
pub fn generate(target: &str) -> Vec<Input> {
    match target {
        "giop_stream" | "giop_connection" => streams(),
        "giop_request" => bodies(requests),
        "giop_reply" => bodies(replies),
        "giop_locate_request" => bodies(locate_requests),
        "giop_locate_reply" => bodies(locate_replies),
        "giop_cancel_request" => bodies(|dialect| {
            let octets = cancel_request(dialect.version, dialect.order, 0x0102_0304).to_vec();
            vec![("cancel".to_owned(), octets)]
        }),
        "giop_code_set_context" => ORDERS
            .iter()
            .map(|&order| {
                let context = CodeSetContext::new(corbie_cdr::CodeSets::UNICODE, order);
                (order.to_string(), context.as_context().data.to_vec())
            })
            .collect(),
        "cdr" => cdr(),
        "system_exception" => in_all_dialects("unknown", |e| {
            let exception =
                SystemException::unknown(Minor::of::<0x4f4d_0001>(), CompletionStatus::Maybe);
            exception.encode_reply(e)
        }),
        "type_code" => type_codes()
            .iter()
            .flat_map(|(name, tc, _)| in_all_dialects(name, |e| tc.write(e)))
            .collect(),
        "any" => anys(),
        "dynamic_values" => dynamic_values(),
        "values" => values::values(),
        "ior" => iors()
            .iter()
            .flat_map(|(name, ior)| in_all_dialects(name, |e| Ior::encode(ior, e)))
            .collect(),
        "iiop_profile" => profiles(),
        "ior_string" => {
            let text = |(name, ior): (&str, Ior)| (name.to_owned(), ior.to_string().into_bytes());
            iors().into_iter().map(text).collect()
        }
        "object_url" => object_urls(),
        "stringified_name" => stringified_names(),
        "event_log" => event_log::event_logs(),
        "object_key" => object_key::object_keys(),
        "exception_holder" => messaging::exception_holders(),
        "invocation_policies" => messaging::invocation_policies(),
        "shared_connection" => messaging::shared_connections(),
        "security_message" => security::security_messages(),
        _ => Vec::new(),
    }
}

const ORDERS: [ByteOrder; 2] = [ByteOrder::BigEndian, ByteOrder::LittleEndian];
const VERSIONS: [Version; 4] = [Version::V1_0, Version::V1_1, Version::V1_2, Version::GIOP_LITE];

/// How an input is encoded; see `targets::Dialect`.
#[derive(Clone, Copy)]
struct SeedDialect {
    octet: u8,
    version: Version,
    order: ByteOrder,
}

impl SeedDialect {
    /// Every version with every byte order; strings in UTF-8.
    fn all() -> impl Iterator<Item = Self> {
        (0u8..).zip(VERSIONS).flat_map(|(index, version)| {
            ORDERS.into_iter().map(move |order| {
                let octet = order.flag() | index << 1 | 1 << 3;
                Self { octet, version, order }
            })
        })
    }

    /// Every version that values know of.
    fn of_values() -> impl Iterator<Item = Self> {
        Self::all().filter(|dialect| !dialect.version.is_lite())
    }

    fn encoder<'a>(self) -> Encoder<'a> {
        let mut e = Encoder::new(Vec::new(), self.order);
        e.set_version(self.version);
        e.set_code_sets(corbie_cdr::CodeSets::UNICODE);
        e
    }

    fn name(self, name: &str) -> String {
        let order = if self.order.is_little() { "le" } else { "be" };
        format!("{name}-{}-{order}", self.version)
    }
}

/// The same value in every dialect, behind the octet that names the dialect.
fn in_all_dialects<'a>(
    name: &str,
    write: impl Fn(&mut Encoder<'a>) -> Result<(), corbie_cdr::Error>,
) -> Vec<Input> {
    SeedDialect::of_values()
        .filter_map(|dialect| {
            let mut e = dialect.encoder();
            // Wide characters have no encoding in 1.0, for example.
            write(&mut e).ok()?;
            Some((dialect.name(name), [&[dialect.octet][..], &e.to_vec()].concat()))
        })
        .collect()
}

/// Whole messages without their message headers.
fn bodies(messages: impl Fn(SeedDialect) -> Vec<Input>) -> Vec<Input> {
    let body = |dialect: SeedDialect, (name, octets): Input| {
        let header = match dialect.version.is_lite() {
            true => MessageHeader::LITE_OCTETS,
            false => MessageHeader::OCTETS,
        };
        (dialect.name(&name), [&[dialect.octet][..], &octets[header..]].concat())
    };
    SeedDialect::all()
        .flat_map(|dialect| messages(dialect).into_iter().map(move |input| body(dialect, input)))
        .collect()
}

/// A finished message: its header by `write`, then a body of its own.
fn message(
    dialect: SeedDialect,
    body: &[u8],
    write: impl FnOnce(&mut Encoder<'_>) -> Result<MessageStart, corbie_cdr::Error>,
) -> Vec<u8> {
    let mut e = dialect.encoder();
    let start = write(&mut e).expect("a small header");
    e.write_octets(body);
    finish_message(&mut e, start).expect("a small message");
    e.to_vec()
}

fn requests(dialect: SeedDialect) -> Vec<Input> {
    let code_sets = CodeSetContext::new(corbie_cdr::CodeSets::UNICODE, dialect.order);
    let contexts = [code_sets.as_context(), ServiceContext { tag: 99, data: b"unknown" }];
    let profiles = [Tagged { tag: 0, data: b"\x00\x01\x02" }, Tagged { tag: 1, data: b"\x00" }];
    let profiles = TaggedList::new(&profiles);
    let reference = Object::Reference { selected_profile: 1, type_id: b"IDL:A:1.0", profiles };
    let targets = [
        ("key", Object::Key(b"object key")),
        ("profile", Object::Profile(Tagged { tag: 0, data: b"\x00\x01\x02\x00\x00" })),
        ("reference", reference),
    ];
    let mut inputs = Vec::new();
    for (name, target) in targets {
        for (list, body) in [(&contexts[..], &b"arguments"[..]), (&[], b"")] {
            let header = RequestHeader {
                request_id: 7,
                response: ResponseFlags::WithTarget,
                target,
                operation: "get_quote",
                service_contexts: ServiceContexts::new(list),
            };
            let octets = message(dialect, body, |e| write_request(e, &header));
            let name = if body.is_empty() { format!("{name}-empty") } else { name.to_owned() };
            inputs.push((name, octets));
        }
        if dialect.version < Version::V1_2 {
            break;
        }
    }
    inputs
}

fn replies(dialect: SeedDialect) -> Vec<Input> {
    let contexts = [ServiceContext { tag: 14, data: b"\x00\x00\x00\x00" }];
    let statuses = (0..6).filter_map(|n| ReplyStatus::from_ulong(n, dialect.version));
    let reply = |status: ReplyStatus| {
        let list = if status == ReplyStatus::NoException { &[][..] } else { &contexts };
        let service_contexts = ServiceContexts::new(list);
        let header = ReplyHeader { request_id: 7, status, service_contexts };
        let octets = message(dialect, b"results!", |e| write_reply(e, &header));
        (format!("{status:?}"), octets)
    };
    statuses.map(reply).collect()
}

fn locate_requests(dialect: SeedDialect) -> Vec<Input> {
    let targets = [
        ("key", Object::Key(b"object key")),
        ("profile", Object::Profile(Tagged { tag: 0, data: b"\x00\x01\x02\x00\x00" })),
    ];
    let request = |(name, target): (&str, Object<'_>)| {
        let header = LocateRequestHeader { request_id: 7, target };
        (name.to_owned(), message(dialect, b"", |e| write_locate_request(e, &header)))
    };
    let count = if dialect.version < Version::V1_2 { 1 } else { 2 };
    targets.into_iter().take(count).map(request).collect()
}

fn locate_replies(dialect: SeedDialect) -> Vec<Input> {
    let statuses = (0..6).filter_map(|n| LocateStatus::from_ulong(n, dialect.version));
    let reply = |status: LocateStatus| {
        let mut e = dialect.encoder();
        let header = LocateReplyHeader { request_id: 7, status };
        let start = write_locate_reply(&mut e, &header).expect("a small header");
        if status == LocateStatus::NeedsAddressingMode {
            AddressingDisposition::Profile.encode(&mut e);
        }
        finish_message(&mut e, start).expect("a small message");
        (format!("{status:?}"), e.to_vec())
    };
    statuses.map(reply).collect()
}

/// A role, a seed for the chunks, then a stream of messages.
fn streams() -> Vec<Input> {
    let mut inputs = Vec::new();
    for dialect in SeedDialect::all() {
        let octets_of = |inputs: Vec<Input>| -> Vec<u8> {
            inputs.into_iter().flat_map(|(_, octets)| octets).collect()
        };
        let SeedDialect { version, order, .. } = dialect;
        let to_server = [
            octets_of(requests(dialect)),
            cancel_request(version, order, 7).to_vec(),
            octets_of(locate_requests(dialect)),
            message_error(version, order).to_vec(),
        ];
        let to_client = [
            octets_of(replies(dialect)),
            octets_of(locate_replies(dialect)),
            close_connection(version, order).to_vec(),
        ];
        let protocol = if version.is_lite() { 2 | order.flag() << 2 } else { 0 };
        let to_server = [&[protocol, 1][..], &to_server.concat()].concat();
        let to_client = [&[protocol | 1, 2][..], &to_client.concat()].concat();
        inputs.push((dialect.name("to-server"), to_server));
        inputs.push((dialect.name("to-client"), to_client));
        if version > Version::V1_0 && !version.is_lite() {
            inputs.push((dialect.name("fragments"), fragments(dialect)));
        }
    }
    inputs
}

/// Two replies in fragments, interleaved in 1.2.
fn fragments(dialect: SeedDialect) -> Vec<u8> {
    let cut = |id: u32| -> Vec<Vec<u8>> {
        let (status, service_contexts) = (ReplyStatus::NoException, ServiceContexts::EMPTY);
        let header = ReplyHeader { request_id: id, status, service_contexts };
        let mut e = dialect.encoder();
        let start = write_reply(&mut e, &header).expect("a small header");
        e.write_octets(&[id as u8; 90]);
        finish_message(&mut e, start).expect("a small message");
        let wire = |f: corbie_giop::Fragment| {
            [f.head(), &f.pieces(e.segments()).collect::<Vec<_>>().concat()].concat()
        };
        Fragments::of(&e, 48).expect("larger than 48 octets").map(wire).collect()
    };
    let (first, second) = (cut(3), cut(4));
    let mut stream = vec![1, 3];
    if dialect.version < Version::V1_2 {
        stream.extend(first.concat());
        stream.extend(second.concat());
    } else {
        for (a, b) in first.iter().zip(&second) {
            stream.extend_from_slice(a);
            stream.extend_from_slice(b);
        }
    }
    stream
}

/// Programs of reads; see `targets::cdr`.
fn cdr() -> Vec<Input> {
    let mut inputs = in_all_dialects("numbers", |e| {
        e.write_octets(&[13, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        // The program is cut off before the octets are read: they begin at position 0.
        let mut values = Encoder::new(Vec::new(), e.order());
        values.write_boolean(true);
        values.write_octet(2);
        values.write_octet(3);
        values.write_short(4);
        values.write_ushort(5);
        values.write_long(6);
        values.write_ulong(7);
        values.write_longlong(8);
        values.write_ulonglong(9);
        values.write_float(1.5);
        values.write_double(2.5);
        values.write_longdouble(corbie_cdr::LongDouble::from(1.0));
        values.write_octet(b'c');
        e.write_octets(&values.to_vec());
        Ok(())
    });
    inputs.extend(in_all_dialects("texts", |e| {
        e.write_octets(&[6, 14, 15, 16, 17, 22, 23]);
        let mut values = Encoder::new(Vec::new(), e.order());
        values.set_version(e.version());
        values.set_code_sets(e.code_sets());
        values.write_string("Grüße")?;
        values.write_wstring("Grüße 🐦")?;
        values.write_string("abc")?;
        values.write_wstring("abc")?;
        values.write_ulong(2);
        values.write_string("one")?;
        values.write_string("two")?;
        values.write_ulong(1);
        values.write_ulong(1);
        values.write_wstring("w")?;
        e.write_octets(&values.to_vec());
        Ok(())
    }));
    inputs.extend(in_all_dialects("sequences", |e| {
        e.write_octets(&[6, 18, 19, 20, 21, 26, 27]);
        let mut values = Encoder::new(Vec::new(), e.order());
        values.write_octet_sequence_copied(b"octets")?;
        values.write_ulong(2);
        values.write_short(1);
        values.write_short(2);
        values.write_ulong(1);
        values.write_ulonglong(3);
        values.write_octet_sequence_copied(&[1, 0, 1])?;
        values.encapsulation(|e| {
            e.write_ulong(9);
            Ok(())
        })?;
        values.write_octet_sequence_copied(b"rest")?;
        e.write_octets(&values.to_vec());
        Ok(())
    }));
    inputs
}

/// One TypeCode of every shape, and a value of it.
fn type_codes() -> Vec<(&'static str, TypeCode, Option<Value>)> {
    let long = || i32_type();
    let point = TypeCode::structure("IDL:P:1.0", "P", &[("x", long()), ("y", long())]);
    let point_value = Value::Struct(vec![Value::Long(1), Value::Long(-1)]);
    let colour = TypeCode::enumeration("IDL:C:1.0", "C", &["RED", "GREEN"]);
    let tree = TypeCode::structure(
        "IDL:T:1.0",
        "T",
        &[("children", TypeCode::sequence(TypeCode::recursive("IDL:T:1.0"), 0))],
    );
    let leaf = || Value::Struct(vec![Value::List(Vec::new())]);
    let tree_value = Value::Struct(vec![Value::List(vec![leaf(), leaf()])]);
    let points = TypeCode::sequence(point.clone(), 3);
    let failed = TypeCode::exception("IDL:E:1.0", "E", &[("why", TypeCode::string(0))]);
    vec![
        ("long", long(), Some(Value::Long(42))),
        ("string", TypeCode::string(0), Some(Value::String("text".to_owned()))),
        ("wstring", TypeCode::wstring(9), Some(Value::WString("wïde".to_owned()))),
        ("fixed", TypeCode::fixed(5, 2), Some(Value::Fixed(-12_345))),
        ("struct", point.clone(), Some(point_value.clone())),
        ("enum", colour, Some(Value::Enum(1))),
        ("recursive", tree, Some(tree_value)),
        ("sequence", points, Some(Value::List(vec![point_value.clone(), point_value.clone()]))),
        ("array", TypeCode::array(long(), 2), Some(Value::List(vec![Value::Long(5); 2]))),
        ("alias", TypeCode::alias("IDL:A:1.0", "A", point), Some(point_value)),
        ("exception", failed, Some(Value::Struct(vec![Value::String("so".to_owned())]))),
        ("object", TypeCode::object(), None),
    ]
}

fn i32_type() -> TypeCode {
    <i32 as corbie_types::Typed>::type_code()
}

fn anys() -> Vec<Input> {
    let values = type_codes().into_iter().filter_map(|(name, tc, value)| {
        let any = Any::from_dynamic(tc, &value?).expect("a value of its type");
        Some((name, any))
    });
    let mut inputs: Vec<Input> = Vec::new();
    for (name, any) in values {
        inputs.extend(in_all_dialects(name, |e| any_into(&any, e)));
    }
    inputs
}

/// Dialects in another order.
fn others() -> impl Iterator<Item = SeedDialect> {
    SeedDialect::of_values().skip(3).chain(SeedDialect::of_values())
}

/// Two dialects and an alignment, a TypeCode, and two values of it.
fn dynamic_values() -> Vec<Input> {
    let mut inputs = Vec::new();
    for (name, tc, value) in type_codes() {
        let Some(value) = value else { continue };
        let any = Any::from_dynamic(tc.clone(), &value).expect("a value of its type");
        for (here, there) in SeedDialect::of_values().zip(others()) {
            let mut e = here.encoder();
            let mut written = tc.write(&mut e);
            for _ in 0..2 {
                written = written.and_then(|()| any.encode_value(&mut e));
            }
            // Wide characters have no encoding in 1.0, for example.
            if written.is_ok() {
                let head = [here.octet, there.octet, 5];
                inputs.push((here.name(name), [&head[..], &e.to_vec()].concat()));
            }
        }
    }
    inputs
}

/// Encodes a copy, so that nothing is borrowed from the any.
fn any_into(any: &Any, e: &mut Encoder<'_>) -> Result<(), corbie_cdr::Error> {
    let mut own = Encoder::new(Vec::new(), e.order());
    own.set_version(e.version());
    own.set_code_sets(e.code_sets());
    Any::encode(any, &mut own)?;
    e.write_octets(&own.to_vec());
    Ok(())
}

fn profile() -> IiopProfile {
    let mut profile = IiopProfile::new(Version::V1_2, "example.org", 2809, b"key".to_vec());
    let code_sets = TaggedComponent::code_sets(&CodeSetComponentInfo::corbie());
    profile.components.push(code_sets.expect("a small component"));
    profile.components.push(TaggedComponent { tag: 0x4f41_5400, data: b"unknown".to_vec() });
    profile
}

fn profiles() -> Vec<Input> {
    let plain = IiopProfile::new(Version::V1_0, "::1", 1, Vec::new());
    [("plain", plain), ("components", profile())]
        .into_iter()
        .map(|(name, profile)| (name.to_owned(), profile.encode().expect("a small profile")))
        .collect()
}

fn iors() -> Vec<(&'static str, Ior)> {
    let one = Ior::from_iiop("IDL:Stock/Quoter:1.0", &profile()).expect("a small profile");
    let mut two = one.clone();
    two.profiles.push(TaggedProfile { tag: 77, data: b"unknown".to_vec() });
    vec![("nil", Ior::nil()), ("one", one), ("two", two)]
}

fn object_urls() -> Vec<Input> {
    let texts = [
        "corbaloc::example.org/Key",
        "corbaloc:iiop:1.2@[::1]:2809,iiop:other:1/a%20key",
        "corbaloc:rir:/NameService",
        "corbaname::example.org:2809#a.kind/b/c\\/d",
        "corbaname:rir:#",
        "file:///tmp/reference.ior",
        "IOR:000000000000000100000000000000",
    ];
    let inputs = texts.iter().enumerate();
    inputs.map(|(index, text)| (format!("url-{index}"), text.as_bytes().to_vec())).collect()
}

fn stringified_names() -> Vec<Input> {
    let texts = [
        "a",
        "a.b",
        "a/b.c/d",
        ".k",
        ".",
        "a\\/b.c\\.d/e\\\\f",
        "a//b",
        "a.",
        "a.b.c",
        "a\\",
        "/",
        "ä/日本.語",
        "id\0kind\0\0k\0/.\\\0",
        "\0",
        " spaced out . of \t range ",
    ];
    let input =
        |(number, text): (usize, &&str)| (format!("name-{number}"), text.as_bytes().to_vec());
    texts.iter().enumerate().map(input).collect()
}
