//! Replays the golden streams of `wire/giop/tests/golden` down to the values: what omniORB and
//! JacORB sent for an operation of the catalogue has to decode to the catalogue's values, and these
//! have to encode to the same octets again. Needs no peer: the streams are files.

use crate::matrix::Matrix;
use crate::peer::rows;
use crate::values::{self, *};
use corbie::idl::Wstring;
use corbie::messaging::ExceptionHolder;
use corbie::{CodeSets, Decoder, Encoder, Ior, LongDouble, Marshal, WChar};
use corbie_giop::{Message, MessageHeader, MessageKind, MessageReader, ReaderLimits, Roles};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use crate::idl::interop::*;

fn golden(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wire").join(of).join("tests/golden")
}

/// The names in a folder that end so, without the end.
fn names(folder: &Path, end: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries
        .filter_map(|name| name.to_str().and_then(|n| n.strip_suffix(end)).map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn messages(octets: &[u8], role: Roles) -> Vec<Vec<u8>> {
    let mut reader = MessageReader::new(ReaderLimits::default(), role);
    let mut rest = octets;
    let mut messages = Vec::new();
    while !rest.is_empty() {
        let taken = reader.receive_from(rest);
        rest = &rest[taken..];
        while let Some(message) = reader.next().unwrap() {
            messages.push(message.octets.to_vec());
        }
    }
    messages
}

fn message(octets: &[u8]) -> Message<'_> {
    let header = MessageHeader::decode(octets.first_chunk().unwrap()).unwrap();
    Message { header, octets }
}

/// One captured conversation: the calls by operation, in order.
struct Conversation {
    name: String,
    calls: BTreeMap<String, Vec<Call>>,
    code_sets: CodeSets,
    /// JacORB fills padding with zeros, so its octets have to come out again exactly.
    is_exact: bool,
}

struct Call {
    request: Vec<u8>,
    reply: Vec<u8>,
}

fn conversation(name: &str) -> Conversation {
    let read = |side| fs::read(golden("giop").join(format!("{name}-{side}.bin"))).unwrap();
    let mut requests: BTreeMap<u32, (String, Vec<u8>)> = BTreeMap::new();
    let mut code_sets = CodeSets::default();
    for octets in messages(&read("client"), Roles::SERVER) {
        let message = message(&octets);
        if message.kind() != MessageKind::Request {
            continue;
        }
        let (header, _) = message.request().unwrap();
        if let Some(agreed) = header.service_contexts.code_sets().unwrap() {
            code_sets = agreed;
        }
        requests.insert(header.request_id, (header.operation.to_owned(), octets.clone()));
    }
    let mut calls: BTreeMap<String, Vec<Call>> = BTreeMap::new();
    for octets in messages(&read("server"), Roles::CLIENT) {
        let message = message(&octets);
        if message.kind() != MessageKind::Reply {
            continue;
        }
        let (header, _) = message.reply().unwrap();
        if let Some((operation, request)) = requests.remove(&header.request_id) {
            calls.entry(operation).or_default().push(Call { request, reply: octets.clone() });
        }
    }
    Conversation { name: name.to_owned(), calls, code_sets, is_exact: name.starts_with("jacorb") }
}

/// Decodes values from a body, compares them, and encodes them again.
fn replay<M: Marshal>(of: &Conversation, what: &str, mut body: Decoder<'_>, wanted: &[M::Value])
where
    M::Value: Debug,
{
    let place = format!("{}: {what}", of.name);
    body.set_code_sets(of.code_sets);
    let start = body.clone();
    let mut again = Encoder::new(Vec::new(), body.order());
    again.set_version(body.version());
    again.set_code_sets(of.code_sets);
    // The same place after the alignment origin as in the message.
    again.write_octets(&vec![0; body.position()]);
    for value in wanted {
        let got = M::decode(&mut body).unwrap_or_else(|error| panic!("{place}: {error}"));
        check::<M>(&place, &got, value).unwrap_or_else(|different| panic!("{different}"));
        M::encode(value, &mut again).unwrap_or_else(|error| panic!("{place}: {error}"));
    }
    assert_eq!(body.remaining(), 0, "{place}: octets are left over");
    let again = again.to_vec();
    let (ours, theirs) = (&again[start.position()..], start.rest());
    // omniORB begins wide strings with a byte order mark, and leaves whatever was there as padding.
    if !of.name.ends_with("texts") {
        assert_eq!(ours.len(), theirs.len(), "{place}");
    }
    if of.is_exact {
        assert_eq!(ours, theirs, "{place}");
    }
}

macro_rules! replay_all {
    ($of:ident $seen:ident; $($kind:ident $op:ident $name:ident $marker:ty, $argument:ty;)*) => {$(
        for call in $of.calls.get(stringify!($op)).into_iter().flatten() {
            let value = values::$name;
            let (_, body) = message(&call.request).request().unwrap();
            replay::<$marker>($of, concat!(stringify!($op), " in"), body, &[value(1), value(2)]);
            let (_, body) = message(&call.reply).reply().unwrap();
            let results = [value(5), value(3), value(4)];
            replay::<$marker>($of, concat!(stringify!($op), " out"), body, &results);
            $seen.insert(stringify!($name));
        }
    )*};
}

fn replay_conversation(of: &Conversation, seen: &mut BTreeSet<&'static str>) {
    rows::primitives! { replay_all!(of seen;) }
    rows::structs! { replay_all!(of seen;) }
    rows::unions! { replay_all!(of seen;) }
    rows::sequences! { replay_all!(of seen;) }
    rows::arrays! { replay_all!(of seen;) }
    rows::fixeds! { replay_all!(of seen;) }
    if !of.calls.contains_key("pass_octets") {
        // Bulk has a pass_string and a pass_texts of its own
        rows::texts! { replay_all!(of seen;) }
    }
    rows::extensions! { replay_all!(of seen;) }
}

#[test]
fn captured_values_are_the_catalogues_and_encode_to_the_same_octets() {
    for peer in ["omniorb", "jacorb"] {
        let mut seen = BTreeSet::new();
        for name in names(&golden("giop"), "-client.bin") {
            if name.starts_with(peer) {
                replay_conversation(&conversation(&name), &mut seen);
            }
        }
        assert!(seen.len() > 60, "{peer}: only {seen:?}");
        for name in ["boolean", "double", "unicode", "surrogates", "company", "link", "huge"] {
            assert!(seen.contains(name), "{peer}: {name} was not captured");
        }
    }
}

#[test]
fn captured_anys_hold_the_catalogues_values() {
    let orb = corbie::Orb::init(std::iter::empty::<String>()).unwrap();
    for peer in ["omniorb", "jacorb"] {
        let of = conversation(&format!("{peer}-1.2-anys"));
        let mut kinds = BTreeSet::new();
        for call in &of.calls["pass_any"] {
            let (_, mut body) = message(&call.request).request().unwrap();
            body.set_code_sets(of.code_sets);
            let kind = body.read_long().unwrap();
            for n in [1, 2] {
                let any = corbie::types::Any::decode(&mut body).unwrap();
                let what = format!("{peer}: any of kind {kind}, {n}");
                check_any(&what, &any, kind, n, "client", &orb).unwrap();
            }
            kinds.insert(kind);
        }
        assert!(kinds.len() > 35, "{peer}: only kinds {kinds:?}");
        let call = &of.calls["pass_any_seq"][0];
        let (_, mut body) = message(&call.request).request().unwrap();
        body.set_code_sets(of.code_sets);
        let anys = AnySeqIdl::decode(&mut body).unwrap();
        check_any_seq("any_seq", &anys, 1, &orb).unwrap();
    }
}

/// What the client of a peer told a reply handler in its server: every exception of the catalogue
/// as `Messaging::ExceptionHolder`, between two results.
#[test]
fn captured_exception_holders_raise_the_catalogues_exceptions() {
    use crate::peer::asynchrony::{RAISED, raised_by};
    for peer in ["omniorb", "jacorb"] {
        let of = conversation(&format!("{peer}-1.2-holders"));
        let holders = &of.calls["work_excep"];
        assert_eq!(holders.len(), 3, "{peer}");
        assert_eq!(of.calls["work"].len(), 2, "{peer}");
        for (call, wanted) in holders.iter().zip(&RAISED[1..]) {
            let (_, mut body) = message(&call.request).request().unwrap();
            body.set_code_sets(of.code_sets);
            let start = body.clone();
            let holder = ExceptionHolder::decode(&mut body).unwrap();
            assert_eq!(body.remaining(), 0, "{peer}");
            assert_eq!(&raised_by(&holder), wanted, "{peer}");
            let mut again = Encoder::new(Vec::new(), body.order());
            again.set_version(body.version());
            again.set_code_sets(of.code_sets);
            again.write_octets(&vec![0; start.position()]);
            ExceptionHolder::encode(&holder, &mut again).unwrap();
            let again = again.to_vec();
            // omniORB leaves the repository id of the value out, as it is the parameter's.
            if of.is_exact {
                assert_eq!(&again[start.position()..], start.rest(), "{peer}: {wanted}");
            }
            let mut body = Decoder::new(&again, start.order());
            body.read_octets(start.position()).unwrap();
            let holder = ExceptionHolder::decode(&mut body).unwrap();
            assert_eq!(&raised_by(&holder), wanted, "{peer}");
        }
    }
}

#[test]
fn captured_references_are_read_and_written_again() {
    let names = names(&golden("types"), ".ior");
    assert!(names.len() >= 6, "{names:?}");
    for name in names {
        let text = fs::read_to_string(golden("types").join(format!("{name}.ior"))).unwrap();
        let ior: Ior = text.trim().parse().unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(ior.type_id, "IDL:corbie.test/Interop/Root:1.0", "{name}");
        let profiles = ior.iiop_profiles().unwrap();
        assert_eq!(profiles.len(), 1, "{name}");
        let version = name.split('-').nth(1).unwrap();
        let profile = &profiles[0];
        assert_eq!(profile.host, "127.0.0.1", "{name}");
        assert_eq!(profile.version.to_string(), version, "{name}");
        assert!(!profile.object_key.is_empty(), "{name}");
        // Ours is always of native byte order: the same reference, not the same text.
        let again: Ior = ior.to_string().parse().unwrap();
        assert_eq!(again, ior, "{name}");
    }
}

#[test]
fn the_matrix_names_exactly_the_features_that_there_are() {
    let matrix = Matrix::load().unwrap();
    let mut named: Vec<&str> =
        matrix.group.iter().flat_map(|group| group.features.iter().map(String::as_str)).collect();
    let mut there = crate::peer::feature_names();
    there.extend(crate::runner::CASES);
    // Of JacORB's client alone.
    there.extend(["tls_old_versions", "tls_renegotiation"]);
    named.sort_unstable();
    there.sort_unstable();
    assert_eq!(named, there);
}
