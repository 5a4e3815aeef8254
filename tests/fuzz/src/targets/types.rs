//! The run-time types: TypeCode, Any, system exceptions, references as octets and as text.
//! What is accepted is written again and has to read the same.

use corbie_cdr::{Error, ErrorKind, Marshal};
use corbie_types::url::{NameComponent, escape, parse_name, stringify_name, unescape};
use corbie_types::{Any, IiopProfile, Ior, ObjectUrl, SystemException, TypeCode, UiopProfile};

use super::Dialect;

/// A dialect, then a TypeCode.
pub fn type_code(data: &[u8]) {
    let Some((dialect, octets)) = Dialect::take(data) else { return };
    let Ok(type_code) = TypeCode::decode(&mut dialect.decoder(octets)) else { return };
    let mut e = dialect.encoder();
    if has_nul(TypeCode::encode(&type_code, &mut e)) {
        return;
    }
    let again = e.to_vec();
    let second = TypeCode::decode(&mut dialect.decoder(&again)).expect("own octets");
    assert_eq!(type_code, second);
    assert!(type_code.equivalent(&second));
    assert_eq!(type_code.to_string(), second.to_string());
}

/// What was read can be written, unless it has a NUL in a string: that is let in and never sent.
fn has_nul(written: Result<(), Error>) -> bool {
    match written {
        Ok(()) => false,
        Err(error) if error.kind() == ErrorKind::BadParameter => true,
        Err(error) => panic!("what was read cannot be written: {error}"),
    }
}

/// A dialect, then an Any: its value is looked at dynamically, and made into an Any again.
pub fn any(data: &[u8]) {
    let Some((dialect, octets)) = Dialect::take(data) else { return };
    let Ok(any) = Any::decode(&mut dialect.decoder(octets)) else { return };
    let _ = any.extract::<String>();
    let _ = any.extract::<i32>();
    let mut e = dialect.encoder();
    let written = Any::encode(&any, &mut e).is_ok();
    let Ok(value) = any.to_value() else { return };
    let Ok(again) = Any::from_dynamic(any.type_code().clone(), &value) else {
        // Text of another code set than ours need not fit.
        return;
    };
    let second = again.to_value().expect("own octets");
    assert_eq!(format!("{value:?}"), format!("{second:?}"));
    if written {
        let octets = e.to_vec();
        let third = Any::decode(&mut dialect.decoder(&octets)).expect("own octets");
        let third = third.to_value().expect("own octets");
        assert_eq!(format!("{value:?}"), format!("{third:?}"));
    }
}

/// Two dialects and an alignment, then a TypeCode and values of it as arguments of dynamic calls:
/// read in the first dialect, sent on in the second, where they have to read the same.
pub fn dynamic_values(data: &[u8]) {
    let Some((here, data)) = Dialect::take(data) else { return };
    let Some((there, data)) = Dialect::take(data) else { return };
    let Some((lead, octets)) = data.split_first() else { return };
    let lead = usize::from(lead % 8);
    let mut d = here.decoder(octets);
    let Ok(type_code) = TypeCode::decode(&mut d) else { return };
    let _ = type_code.check();
    assert!(type_code.compact().equivalent(&type_code));
    let _ = Any::decode_exception(type_code.clone(), &mut d.clone());
    for _ in 0..4 {
        let Ok(any) = Any::decode_value(type_code.clone(), &mut d) else { return };
        let value = any.to_value().expect("it was walked over");
        let mut e = there.encoder();
        (0..lead).for_each(|_| e.write_octet(0));
        if any.encode_value(&mut e).is_err() {
            // Text of one code set need not fit another.
            return;
        }
        let octets = e.to_vec();
        let mut again = there.decoder(&octets);
        (0..lead).for_each(|_| drop(again.read_octet()));
        let second = Any::decode_value(type_code.clone(), &mut again).expect("own octets");
        assert_eq!(again.remaining(), 0);
        let second = second.to_value().expect("own octets");
        assert_eq!(format!("{value:?}"), format!("{second:?}"));
    }
}

/// A dialect, then the body of a Reply with the status SYSTEM_EXCEPTION.
pub fn system_exception(data: &[u8]) {
    let Some((dialect, octets)) = Dialect::take(data) else { return };
    let Ok(exception) = SystemException::decode_reply(&mut dialect.decoder(octets)) else {
        return;
    };
    assert!(!exception.to_string().is_empty());
    let mut e = dialect.encoder();
    if has_nul(exception.encode_reply(&mut e)) {
        return;
    }
    let again = e.to_vec();
    let second = SystemException::decode_reply(&mut dialect.decoder(&again)).expect("own octets");
    assert_eq!((second.kind, second.minor), (exception.kind, exception.minor));
    assert_eq!(second.completed, exception.completed);
}

/// A dialect, then an IOR.
pub fn ior(data: &[u8]) {
    let Some((dialect, octets)) = Dialect::take(data) else { return };
    let Ok(ior) = Ior::decode(&mut dialect.decoder(octets)) else { return };
    check_ior(&ior);
}

fn check_ior(ior: &Ior) {
    let _ = ior.describe();
    let _ = ior.iiop_profiles();
    let text = ior.to_string();
    match text.parse::<Ior>() {
        Ok(second) => assert_eq!(&second, ior, "{text}"),
        Err(error) => assert!(ior.type_id.contains('\0'), "{text}: {error}"),
    }
}

/// The encapsulation of an IIOP profile, or of one with a string for an address.
pub fn iiop_profile(data: &[u8]) {
    uiop_profile(data);
    let Ok(profile) = IiopProfile::decode(data) else { return };
    let _ = profile.addresses();
    let _ = profile.code_sets();
    let Ok(again) = profile.encode() else {
        assert!(profile.host.contains('\0'), "{profile:?} cannot be written");
        return;
    };
    assert_eq!(IiopProfile::decode(&again).expect("own octets"), profile);
}

fn uiop_profile(data: &[u8]) {
    let Ok(profile) = UiopProfile::decode(data) else { return };
    let Ok(again) = profile.encode() else {
        assert!(profile.address.contains('\0'), "{profile:?} cannot be written");
        return;
    };
    assert_eq!(UiopProfile::decode(&again).expect("own octets"), profile);
}

/// Text, as `IOR:…`.
pub fn ior_string(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match text.parse::<Ior>() {
        Ok(ior) => check_ior(&ior),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Text, as any object URL, as a stringified name and as an escaped key.
pub fn object_url(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match text.parse::<ObjectUrl>() {
        Ok(ObjectUrl::Ior(ior)) => check_ior(&ior),
        Ok(ObjectUrl::Corbaloc(corbaloc)) => {
            if let Ok(Some(ior)) = corbaloc.to_ior() {
                check_ior(&ior);
            }
        }
        Ok(_) => {}
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(error.at <= text.len());
        }
    }
    if let Ok(name) = parse_name(&text) {
        let again = stringify_name(&name);
        assert_eq!(parse_name(&again).expect("own text"), name, "{again}");
    }
    let escaped = escape(data);
    assert_eq!(unescape(&escaped, 0).expect("own text"), data);
    let _ = unescape(&text, 0);
}

/// A stringified name of CosNaming; and the octets as ids and kinds with NUL between them, which
/// any name may have: written as text they read the same, also through the escapes of a URL.
pub fn stringified_name(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match parse_name(&text) {
        Ok(name) => {
            let again = stringify_name(&name);
            assert!(again.len() <= text.len(), "escapes that are not needed: {again}");
            assert_eq!(parse_name(&again).expect("own text"), name, "{again}");
        }
        Err(error) => assert!(error.at <= text.len() && !error.to_string().is_empty()),
    }
    let mut parts = text.split('\0').map(str::to_owned);
    let mut name = Vec::new();
    while let Some(id) = parts.next() {
        name.push(NameComponent { id, kind: parts.next().unwrap_or_default() });
    }
    let text = stringify_name(&name);
    assert_eq!(parse_name(&text).expect("own text"), name, "{text}");
    let url = format!("corbaname:rir:#{}", escape(text.as_bytes()));
    match url.parse::<ObjectUrl>().expect("own URL") {
        ObjectUrl::Corbaname(corbaname) => assert_eq!(corbaname.name, text),
        other => panic!("{other:?}"),
    }
}
