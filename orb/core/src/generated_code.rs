//! What generated code needs beyond references, values and requests: operation contexts.
//!
//! Used only by code that `corbie_codegen` writes, through `corbie::codegen`. CORBA 3.3 P1 §8.6.

use corbie_cdr::{Decoder, Encoder, Error, Marshal};

/// Writes the context of an operation with a `context` clause: name and value, one after the other,
/// of those entries whose name is in the clause. A name there that ends in `*` stands for all names
/// that begin like it (CORBA 3.3 P1 §7.13.5, P2 §9.4.2.2).
///
/// # Errors
/// The encoder's.
pub fn encode_context(
    clause: &[impl AsRef<str>],
    context: &[(String, String)],
    e: &mut Encoder<'_>,
) -> Result<(), Error> {
    let is_wanted = |name: &str| {
        clause.iter().map(AsRef::as_ref).any(|pattern| match pattern.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == pattern,
        })
    };
    let wanted = context.iter().filter(|(name, _)| is_wanted(name));
    e.write_length(2 * wanted.clone().count())?;
    for (name, value) in wanted {
        e.write_string(name)?;
        e.write_string(value)?;
    }
    Ok(())
}

/// Reads what [`encode_context`] writes.
///
/// # Errors
/// The decoder's; `InvalidValue` when a name has no value.
pub fn decode_context(d: &mut Decoder<'_>) -> Result<Vec<(String, String)>, Error> {
    let length = d.read_length(String::MIN_OCTETS)?;
    if length % 2 != 0 {
        return Err(d.invalid("context", format!("{length} strings"), "names with a value each"));
    }
    let mut context = Vec::new();
    for _ in 0..length / 2 {
        let name = d.read_string()?.into_owned();
        context.push((name, d.read_string()?.into_owned()));
    }
    Ok(context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use corbie_cdr::ByteOrder;

    fn entry(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_context_carries_what_the_clause_names() {
        let context = [entry("user", "a"), entry("sys_os", "b"), entry("sys", "c"), entry("x", "")];
        let mut e = Encoder::native();
        encode_context(&["user", "sys_*"], &context, &mut e).expect("encodes");
        let octets = e.to_vec();
        let mut d = Decoder::new(&octets, ByteOrder::NATIVE);
        let read = decode_context(&mut d).expect("decodes");
        assert_eq!(read, [entry("user", "a"), entry("sys_os", "b")]);
        assert_eq!(d.remaining(), 0);
    }

    #[test]
    fn a_context_name_without_value_is_refused() {
        let mut e = Encoder::native();
        e.write_ulong(1);
        e.write_string("user").expect("encodes");
        let octets = e.to_vec();
        let error = decode_context(&mut Decoder::new(&octets, ByteOrder::NATIVE));
        assert_eq!(error.expect_err("odd").kind(), corbie_cdr::ErrorKind::InvalidValue);
    }
}
