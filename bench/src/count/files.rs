//! Which source files a call runs through: what the design of the centre limits.
//!
//! `callgrind` attributes every instruction to the file that it was written in, also where a
//! function was inlined into another file's. A file takes part when a call adds an instruction of
//! it. Called by `count.rs` with what two runs differ in.

use super::tools::Counts;
use std::collections::BTreeSet;

/// Less than one instruction a call is something that happens now and then.
const LEAST: f64 = 0.95;

/// Folders whose files are counted.
const COUNTED: [&str; 2] = ["orb/", "wire/giop/"];
/// Codecs: what the octets of a message or an object key mean, and nothing of who sends or takes
/// them.
const CODECS: [&str; 4] = [
    "wire/giop/src/message",
    "wire/giop/src/template",
    "wire/giop/src/writer",
    "orb/poa/src/object_key",
];
/// What counts as one file each, however many it is made of.
const AS_ONE: [(&str, &[&str]); 2] = [
    ("upcall", &["orb/upcall/", "orb/core/src/server/upcall"]),
    // From index or path to a POA, from index or id to a servant.
    (
        "POA maps",
        &["orb/poa/src/active_object_map", "orb/poa/src/poa/registry", "orb/poa/src/slots"],
    ),
];

/// The files of the centre that run in each call, by their paths in the repository, or the name
/// of the group that counts as one.
pub(super) fn of_a_call(instructions: &Counts) -> BTreeSet<String> {
    let every_call = instructions.iter().filter(|(_, added)| **added >= LEAST);
    every_call.filter_map(|(path, _)| counted(path)).collect()
}

fn counted(path: &str) -> Option<String> {
    let path = in_repository(path)?;
    let begins_with = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    if !begins_with(&COUNTED) || begins_with(&CODECS) {
        return None;
    }
    let group = AS_ONE.iter().find(|(_, folders)| begins_with(folders));
    Some(group.map_or(path, |(name, _)| *name).to_owned())
}

/// `/home/me/corbie/orb/core/src/orb.rs` is `orb/core/src/orb.rs` wherever it was built.
fn in_repository(path: &str) -> Option<&str> {
    let crate_folder = &path[..=path.rfind("/src/")?];
    let starts = COUNTED.iter().filter_map(|folder| crate_folder.rfind(&format!("/{folder}")));
    starts.max().map(|at| &path[at + 1..]).or_else(|| {
        let is_relative = COUNTED.iter().any(|folder| path.starts_with(folder));
        is_relative.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_centre_count_wherever_they_were_built() {
        let counts = [
            ("/home/orb/corbie/orb/core/src/orb.rs", 12.0),
            ("/home/orb/corbie/orb/core/src/rare.rs", 0.01),
            ("/home/orb/corbie/orb/core/src/server/upcall/gate.rs", 9.0),
            ("/home/orb/corbie/orb/core/src/server/upcall.rs", 3.0),
            ("orb/poa/src/slots.rs", 1.0),
            ("/x/wire/giop/src/reader.rs", 1.0),
            ("/x/wire/giop/src/message/request.rs", 80.0),
            ("/x/wire/cdr/src/encoder.rs", 80.0),
            ("/x/transport/src/link.rs", 80.0),
            ("???", 80.0),
        ];
        let counts = counts.map(|(path, added)| (path.to_owned(), added)).into();
        let found: Vec<String> = of_a_call(&counts).into_iter().collect();
        assert_eq!(found, ["POA maps", "orb/core/src/orb.rs", "upcall", "wire/giop/src/reader.rs"]);
    }
}
