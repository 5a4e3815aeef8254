//! Corbie: tools/corbie (being laid).
fn main() {}
