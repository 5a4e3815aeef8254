//! Object keys as `orb/poa` makes them: of the POAs that `targets::object_key` has.

use super::Input;

/// Transient, persistent, hinted, and for what is activated by requests.
pub(super) fn object_keys() -> Vec<Input> {
    let number = |number: u32| number.to_be_bytes();
    let transient = [b"\xCBT\0\0\0\0", &number(1)[..], &number(1), &number(0), &number(1), b"a"];
    let persistent = |name: &str, id: &str| {
        let path = [name.as_bytes(), b"\0"].concat();
        [b"\xCBP", &[0, path.len() as u8][..], &path, id.as_bytes()].concat()
    };
    let hash = corbie_poa::measure::path_hash(b"ActivePersistent\0").to_be_bytes();
    let names = persistent("ActivePersistent", "b").split_off(2);
    let hinted = [b"\xCBH", &number(2)[..], &hash, &number(1), &names].concat();
    vec![
        ("transient".to_owned(), transient.concat()),
        ("persistent".to_owned(), persistent("DynamicHashPersistent", "a")),
        ("linear".to_owned(), persistent("LinearPersistent", "b")),
        ("hinted".to_owned(), hinted),
        ("default".to_owned(), persistent("default", "any")),
        ("activated".to_owned(), persistent("activator", "x")),
        ("nested".to_owned(), persistent("activator\0deeper", "x")),
        ("plain".to_owned(), b"NameService".to_vec()),
    ]
}
