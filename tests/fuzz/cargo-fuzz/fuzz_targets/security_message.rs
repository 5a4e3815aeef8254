//! libFuzzer over `corbie_fuzz::targets::security_message`.
//! Started by `cargo fuzz`; see `tests/fuzz/README.md`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| corbie_fuzz::targets::security_message(data));
