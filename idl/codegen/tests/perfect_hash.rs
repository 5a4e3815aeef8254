//! The generator's search and the runtime's lookup agree: every name is found, nothing else is.
//! The runtime's file is included as it stands in `orb/core`.

use corbie_codegen::perfect_hash::{self, build};

#[path = "../../../orb/core/src/server/operation_table.rs"]
#[allow(dead_code, unreachable_pub)] // it is part of another crate's API
mod operation_table;

use operation_table::PerfectHash;

/// Builds a table the way a skeleton holds it. Leaks: the table's parts are statics in real use.
fn table(names: &[&str]) -> PerfectHash {
    let found = build(names).expect("a table");
    let slots = found.slots.iter().map(|&index| {
        let name: &'static str = names[usize::from(index)].to_owned().leak();
        (name, index)
    });
    PerfectHash {
        seed: found.seed,
        displacements: found.displacements.leak(),
        slots: slots.collect::<Vec<_>>().leak(),
    }
}

fn check(names: &[String]) {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let table = table(&names);
    for (index, name) in names.iter().enumerate() {
        assert_eq!(table.lookup(name), Some(index), "{name} of {}", names.len());
        for other in [format!("{name}x"), format!("_{name}"), name.to_uppercase() + "#"] {
            assert_eq!(table.lookup(&other), names.iter().position(|n| **n == other), "{other}");
        }
    }
    assert_eq!(table.lookup(""), names.iter().position(|n| n.is_empty()));
}

/// A small generator of numbers (xorshift64*), so that runs are alike.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % below
    }
}

fn random_names(count: usize, seed: u64) -> Vec<String> {
    let mut numbers = Numbers(seed);
    let mut names = std::collections::BTreeSet::new();
    while names.len() < count {
        let length = 1 + numbers.next(24);
        names.insert((0..length).map(|_| (b'a' + numbers.next(26) as u8) as char).collect());
    }
    names.into_iter().collect()
}

#[test]
fn every_size_from_one_to_a_thousand() {
    let names = random_names(1000, 0x5eed);
    for count in (1..=64).chain((65..=1000).step_by(37)).chain([1000]) {
        check(&names[..count]);
    }
}

#[test]
fn two_thousand_names() {
    check(&random_names(2000, 0xfeed));
}

#[test]
fn names_that_differ_in_one_place_only() {
    check(&(0..1000).map(|i| format!("operation_{i}")).collect::<Vec<_>>());
    check(
        &(0..1000).map(|i| format!("{i:04}_operation_with_a_long_common_end")).collect::<Vec<_>>(),
    );
    // Differences beyond, at and before a multiple of eight octets.
    check(&(0..1000).map(|i| format!("0123456{i:03}789abcdef")).collect::<Vec<_>>());
    // Every length from 1 to 1,000 of the same letter.
    check(&(1..=1000).map(|i| "a".repeat(i)).collect::<Vec<_>>());
    // All two-letter names: only the tail of the hash sees them.
    let pairs = ('a'..='z').flat_map(|a| ('a'..='z').map(move |b| format!("{a}{b}")));
    check(&pairs.collect::<Vec<_>>());
}

#[test]
fn equal_names_and_too_many_names_are_refused() {
    assert_eq!(build(&["a", "b", "a"]), None);
    let names: Vec<String> = (0..65_536).map(|i| i.to_string()).collect();
    assert_eq!(build(&names.iter().map(String::as_str).collect::<Vec<_>>()), None);
}

#[test]
fn both_copies_of_the_hash_agree() {
    let name = "the_name_of_an_operation_of_forty_octets";
    for length in 0..=name.len() {
        for seed in [0, 1, u64::MAX, 0xa076_1d64_78bd_642f] {
            let hash = perfect_hash::hash(seed, &name.as_bytes()[..length]);
            assert_eq!(hash, operation_table::hash(seed, &name.as_bytes()[..length]));
            assert_eq!(perfect_hash::bucket(hash, 7), operation_table::bucket(hash, 7));
            assert_eq!(perfect_hash::slot(hash, 9, 7), operation_table::slot(hash, 9, 7));
        }
    }
}

#[test]
fn binary_and_linear_search_find_the_same() {
    const SORTED: &[(&str, u16)] = &[("get_quote", 1), ("list", 0), ("set_quote", 2)];
    const LISTED: &[&str] = &["list", "get_quote", "set_quote"];
    let binary = operation_table::BinarySearch { names: SORTED };
    let linear = operation_table::LinearSearch { names: LISTED };
    for name in ["list", "get_quote", "set_quote", "", "get_quot", "get_quotes", "zzz"] {
        assert_eq!(binary.lookup(name), linear.lookup(name), "{name}");
    }
    assert_eq!(binary.lookup("get_quote"), Some(1));
}
