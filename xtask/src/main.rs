//! Corbie: xtask (being laid).
fn main() {}
