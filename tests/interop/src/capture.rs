//! placeholder
//! x
pub(crate) fn run() -> Result<bool, String> {
    Err("not yet".into())
}
