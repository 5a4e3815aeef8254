//! libFuzzer over `corbie_fuzz::targets::dynamic_values`.
//! Started by `cargo fuzz`; see `tests/fuzz/README.md`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corbie_fuzz::targets::dynamic_values(data));
