//! `corbie-interop capture`: lets each peer talk to itself through a tap, feature group by feature
//! group, and writes what its client and its server said into `wire/giop/tests/golden`, and the
//! references of its server into `wire/types/tests/golden`, each with its provenance beside it.

use crate::runner::{Peers, free_port};
use crate::tap::{Stream, Tap, ends_between_messages};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A group of features that is captured in one stream.
struct CapturedGroup {
    name: &'static str,
    features: &'static [&'static str],
    /// GIOP versions to capture it in.
    versions: &'static [&'static str],
    /// Octets of the bulk features.
    bulk: &'static str,
    /// Only this peer, with more arguments for its client.
    only: Option<(&'static str, &'static [&'static str])>,
}

const EVERY: &[&str] = &["1.0", "1.1", "1.2"];

const GROUPS: &[CapturedGroup] = &[
    CapturedGroup {
        name: "primitives",
        features: &[
            "boolean",
            "char",
            "octet",
            "short",
            "ushort",
            "long",
            "ulong",
            "longlong",
            "ulonglong",
            "float",
            "double",
            "string",
            "text",
            "short_text",
        ],
        versions: EVERY,
        bulk: "0",
        only: None,
    },
    CapturedGroup {
        name: "texts",
        features: &[
            "latin1",
            "unicode",
            "wchar",
            "wstring",
            "surrogates",
            "wchar_seq",
            "wide_text_seq",
        ],
        versions: &["1.2"],
        bulk: "0",
        only: None,
    },
    CapturedGroup {
        name: "texts",
        features: &["latin1", "unicode", "wchar", "wstring", "wchar_seq", "wide_text_seq"],
        versions: &["1.1"],
        bulk: "0",
        only: Some(("jacorb", &[])),
    },
    CapturedGroup {
        name: "constructed",
        features: &[
            "number",
            "amount",
            "colour",
            "point",
            "mixed",
            "person",
            "company",
            "tree",
            "link",
            "boolean_union",
            "char_union",
            "short_union",
            "ushort_union",
            "long_union",
            "ulong_union",
            "longlong_union",
            "ulonglong_union",
            "sparse_union",
            "sparse_union_seq",
            "row",
            "matrix",
            "digest",
            "text_array",
            "point_array",
            "cube",
            "long_seq_array",
            "price",
            "huge",
            "fraction",
            "tenth",
            "price_seq",
        ],
        versions: EVERY,
        bulk: "0",
        only: None,
    },
    CapturedGroup {
        name: "sequences",
        features: &[
            "boolean_seq",
            "char_seq",
            "octet_seq",
            "short_seq",
            "ushort_seq",
            "long_seq",
            "ulong_seq",
            "longlong_seq",
            "ulonglong_seq",
            "float_seq",
            "double_seq",
            "text_seq",
            "colour_seq",
            "point_seq",
            "mixed_seq",
            "person_seq",
            "number_seq6",
            "short_text_seq7",
            "octet_seq_seq",
            "long_seq_seq",
            "matrix_seq",
        ],
        versions: &["1.2"],
        bulk: "0",
        only: None,
    },
    CapturedGroup {
        name: "anys",
        features: &[
            "any_primitive",
            "any_wide",
            "any_string",
            "any_fixed",
            "any_struct",
            "any_recursive",
            "any_union",
            "any_sequence",
            "any_array",
            "any_alias",
            "any_exception",
            "any_nested",
            "any_typecode",
            "any_seq",
            "typecode",
            "colour_union",
        ],
        versions: &["1.2"],
        bulk: "0",
        only: None,
    },
    CapturedGroup {
        name: "exceptions",
        features: &[
            "exception_empty",
            "exception_members",
            "exception_sequences",
            "exception_one_of",
            "exception_nested_scope",
            "exception_system",
            "exception_foreign",
            "unknown_operation",
            "object_not_exist",
            "attributes",
            "inheritance",
            "narrow",
            "implicit_operations",
        ],
        versions: &["1.0", "1.2"],
        bulk: "0",
        only: None,
    },
    CapturedGroup {
        name: "references",
        features: &["object", "named", "nil", "named_seq", "holder", "forward_by_activator"],
        versions: &["1.2"],
        bulk: "0",
        only: None,
    },
    CapturedGroup {
        name: "holders",
        features: &["deliver", "deliver_exceptions"],
        versions: &["1.2"],
        bulk: "0",
        only: None,
    },
    CapturedGroup {
        name: "bulk",
        features: &["bulk_octets", "bulk_texts", "bulk_structs"],
        versions: &["1.1", "1.2"],
        bulk: "24000",
        only: None,
    },
    CapturedGroup {
        name: "locate",
        features: &["boolean", "inheritance", "named", "forward_by_locator"],
        versions: EVERY,
        bulk: "0",
        only: Some(("jacorb", &["jacorb.locate_on_bind=on"])),
    },
];

/// Captures everything again, or the groups of these names. Whether both peers were there.
#[allow(clippy::print_stdout)]
pub(crate) fn run(groups: &[String]) -> Result<bool, String> {
    if let Some(name) = groups.iter().find(|name| !GROUPS.iter().any(|g| g.name == **name)) {
        return Err(format!("there is no group {name} to capture"));
    }
    let peers = Peers::build(&|_| true);
    for (peer, label) in [("omniorb", "omniORB 4.2.5"), ("jacorb", "JacORB 3.9")] {
        if !peers.is_there(peer) {
            continue;
        }
        for group in GROUPS {
            if !groups.is_empty() && !groups.iter().any(|name| name == group.name) {
                continue;
            }
            let more = match group.only {
                None => &[][..],
                Some((only, more)) if only == peer => more,
                Some(_) => continue,
            };
            for version in group.versions {
                let (streams, ior) = capture(&peers, peer, group, version, more)?;
                let longest = streams.into_iter().max_by_key(|s| s.from_client.len());
                let stream = longest.ok_or("nothing went through the tap")?;
                let name = format!("{peer}-{version}-{}", group.name);
                println!(
                    "{name}: {} octets from the client, {} from the server",
                    stream.from_client.len(),
                    stream.from_server.len()
                );
                keep_stream(&name, label, version, "client", &stream.from_client)?;
                keep_stream(&name, label, version, "server", &stream.from_server)?;
                if group.name == "primitives" {
                    keep_reference(peer, label, version, &ior)?;
                }
            }
        }
    }
    Ok(peers.missing().is_empty())
}

fn capture(
    peers: &Peers,
    peer: &str,
    group: &CapturedGroup,
    version: &str,
    more: &[&str],
) -> Result<(Vec<Stream>, String), String> {
    let port = free_port();
    let tap = Tap::to(port)?;
    let mut server = peers.server(peer, version, port, &publish(peer, tap.port()))?;
    server.wait_for("ready", Duration::from_secs(60))?;
    let ior = server.line_after("ior ").ok_or("the server printed no reference")?;
    let mut arguments = vec!["--bulk".to_owned(), group.bulk.to_owned()];
    for feature in group.features {
        arguments.extend(["--feature".to_owned(), (*feature).to_owned()]);
    }
    arguments.extend(more.iter().map(|word| (*word).to_owned()));
    let client = peers.client(peer, version, &ior, &arguments)?;
    client.finish(Duration::from_secs(60))?;
    server.kill();
    Ok((tap.streams(), ior))
}

/// The arguments that make a server publish the tap's port instead of its own.
fn publish(peer: &str, port: u16) -> Vec<String> {
    match peer {
        "omniorb" => {
            vec!["-ORBendPointPublish".to_owned(), format!("giop:tcp:127.0.0.1:{port}")]
        }
        _ => vec![
            "jacorb.ior_proxy_host=127.0.0.1".to_owned(),
            format!("jacorb.ior_proxy_port={port}"),
        ],
    }
}

fn golden(wire_crate: &str) -> PathBuf {
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wire");
    wire.join(wire_crate).join("tests/golden")
}

fn keep_stream(
    name: &str,
    label: &str,
    version: &str,
    direction: &str,
    octets: &[u8],
) -> Result<(), String> {
    let stem = golden("giop").join(format!("{name}-{direction}"));
    let mut about = format!(
        "peer = \"{label}\"\nversion = \"{version}\"\ndirection = \"{direction}\"\n\
         how = \"corbie-interop capture\"\n"
    );
    if !ends_between_messages(octets) {
        about.push_str("complete = false\n");
    }
    write(&stem.with_extension_added("bin"), octets)?;
    write(&stem.with_extension_added("toml"), about.as_bytes())
}

fn keep_reference(peer: &str, label: &str, version: &str, ior: &str) -> Result<(), String> {
    let stem = golden("types").join(format!("{peer}-{version}-root"));
    let about = format!(
        "peer = \"{label}\"\nversion = \"{version}\"\nhow = \"corbie-interop capture\"\n\
         type_id = \"IDL:corbie.test/Interop/Root:1.0\"\nhost = \"127.0.0.1\"\n"
    );
    write(&stem.with_extension_added("ior"), format!("{ior}\n").as_bytes())?;
    write(&stem.with_extension_added("toml"), about.as_bytes())
}

/// `with_extension` would take the 2 of "1.2" for one.
trait AddExtension {
    fn with_extension_added(&self, extension: &str) -> PathBuf;
}

impl AddExtension for PathBuf {
    fn with_extension_added(&self, extension: &str) -> PathBuf {
        let mut path = self.clone().into_os_string();
        path.push(".");
        path.push(extension);
        PathBuf::from(path)
    }
}

fn write(path: &Path, octets: &[u8]) -> Result<(), String> {
    fs::write(path, octets).map_err(|error| format!("{}: {error}", path.display()))
}
