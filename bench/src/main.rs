//! Corbie: bench (being laid).
fn main() {}
