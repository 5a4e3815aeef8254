//! Run by cargo before the crate is compiled. Makes `meter.rs` of `meter.idl`.

fn main() -> Result<(), corbie_build::Error> {
    corbie_build::compile(&["meter.idl"])
}
