//! Replays every corpus and seeded mutations of every file, in plain `cargo test`.
//! A failure names the target and the input; `corbie-fuzz` runs the same for longer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use corbie_fuzz::{TARGETS, Target, corpus, mutation};
use corbie_testkit::Seed;

/// Mutations of all inputs of a target together.
const MUTATIONS: usize = 2000;

fn run(target: &Target, name: &str, input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        let hex: String = input.iter().map(|octet| format!("{octet:02x}")).collect();
        panic!("{}: {name} panicked: {hex}", target.name);
    }
}

#[test]
fn every_input_and_its_mutations() {
    for target in TARGETS {
        let inputs = corpus::read(target.name).unwrap_or_default();
        assert!(!inputs.is_empty(), "corpus/{} is empty", target.name);
        run(target, "the empty input", &[]);
        for (name, input) in &inputs {
            run(target, name, input);
        }
        let mut seed = Seed::new(2026);
        for round in 0..MUTATIONS {
            let (name, input) = &inputs[round % inputs.len()];
            let (_, other) = &inputs[seed.below(inputs.len())];
            let mutant = mutation::mutate(input, other, &mut seed);
            run(target, &format!("a mutation of {name}"), &mutant);
        }
    }
}

#[test]
fn every_prefix_of_every_input() {
    for target in TARGETS {
        for (name, input) in corpus::read(target.name).unwrap_or_default() {
            let step = input.len() / 300 + 1;
            for len in (0..input.len()).step_by(step) {
                run(target, &format!("{len} octets of {name}"), &input[..len]);
            }
        }
    }
}

#[test]
fn committed_corpora_are_what_is_generated() {
    for target in TARGETS {
        let committed = corpus::read(target.name).unwrap_or_default();
        for generated in corpus::generate(target.name) {
            assert!(
                committed.contains(&generated),
                "corpus/{}/{} is stale: run `cargo run -p corbie-fuzz -- --write-corpus`",
                target.name,
                generated.0
            );
        }
    }
}

#[test]
fn every_target_has_a_binary_for_cargo_fuzz() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("cargo-fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("the manifest");
    for Target { name, .. } in TARGETS {
        let source = std::fs::read_to_string(folder.join(format!("fuzz_targets/{name}.rs")));
        assert!(source.is_ok_and(|s| s.contains(&format!("targets::{name}"))), "{name}.rs");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} in Cargo.toml");
    }
}
