//! System exceptions: names, minor codes, texts, reply bodies, and what CDR errors become
//! (CORBA 3.3 P1 §A.5).

use std::collections::HashSet;

use corbie_cdr::{ByteOrder, Decoder, Encoder, ErrorKind, Version};
use corbie_types::{CompletionStatus, Minor, SystemException, SystemExceptionKind, minor};

#[test]
fn every_kind_has_its_repository_id() {
    assert_eq!(SystemExceptionKind::ALL.len(), 40);
    for kind in SystemExceptionKind::ALL {
        let id = kind.repository_id();
        assert_eq!(id, format!("IDL:omg.org/CORBA/{}:1.0", kind.name()));
        assert_eq!(SystemExceptionKind::from_repository_id(id), Some(*kind));
        assert!(!kind.meaning().is_empty());
    }
    for other in ["", "COMM_FAILURE", "IDL:omg.org/CORBA/COMM_FAILURE:2.0", "IDL:Stock/Bad:1.0"] {
        assert_eq!(SystemExceptionKind::from_repository_id(other), None);
    }
}

#[test]
fn minor_codes_are_unique_and_named() {
    let (mut omg, mut ours, mut names) = (HashSet::new(), HashSet::new(), HashSet::new());
    for entry in minor::all() {
        assert!(names.insert(entry.name), "{} twice", entry.name);
        assert!(entry.name.starts_with(entry.kind.name()), "{} is of {:?}", entry.name, entry.kind);
        assert!(!entry.meaning.ends_with('.') && !entry.meaning.is_empty());
        match entry.minor.vendor() {
            minor::OMGVMCID => assert!(omg.insert((entry.kind, entry.minor)), "{}", entry.name),
            // Ours: one number, one meaning.
            minor::VMCID => assert!(ours.insert(entry.minor), "{}", entry.name),
            vendor => panic!("{} has vendor {vendor:#x}", entry.name),
        }
        assert_eq!(minor::lookup(entry.kind, entry.minor), Some(entry));
    }
    assert!(omg.len() > 120 && ours.len() > 20);
    // Spot checks against CORBA 3.3 P1 §A.5.
    assert_eq!(minor::BAD_OPERATION_UNKNOWN, 0x4f4d_0002);
    assert_eq!(minor::OBJECT_NOT_EXIST_NO_ADAPTER, 0x4f4d_0002);
    assert_eq!(minor::MARSHAL_WIDE_CHARACTER_FROM_CLIENT, 0x4f4d_0005);
    assert_eq!(minor::BAD_INV_ORDER_ORB_SHUTDOWN, 0x4f4d_0004);
    assert_eq!(minor::BAD_PARAM_URL_SCHEME, 0x4f4d_0007);
}

#[test]
fn texts_say_what_why_and_how_far() {
    let e = SystemException::transient(minor::TRANSIENT_CONNECT_FAILED, CompletionStatus::No);
    assert_eq!(
        e.to_string(),
        "TRANSIENT: no address of the reference accepts a connection \
         (COMPLETED_NO, minor code TRANSIENT_CONNECT_FAILED 0x43420070)"
    );
    let e = e.with_detail("192.0.2.7:2809 refused").completed(CompletionStatus::Maybe);
    assert!(e.to_string().starts_with("TRANSIENT: 192.0.2.7:2809 refused (COMPLETED_MAYBE"));
    let e = e.while_doing("calling get_quote");
    assert!(e.to_string().starts_with("TRANSIENT: calling get_quote: 192.0.2.7:2809 refused"));
    // A stranger's code is shown with its vendor.
    let e = SystemException::comm_failure(Minor::of::<0x4154_0003>(), CompletionStatus::Maybe);
    assert_eq!(
        e.to_string(),
        "COMM_FAILURE: the connection failed after a request was sent \
         (COMPLETED_MAYBE, minor code 0x41540003 of omniORB)"
    );
    let e = SystemException::received(SystemExceptionKind::Unknown, 0, CompletionStatus::Yes);
    assert!(e.to_string().ends_with("(COMPLETED_YES, minor code 0x00000000)"));
}

#[test]
fn reply_bodies_go_there_and_back() {
    for order in [ByteOrder::BigEndian, ByteOrder::LittleEndian] {
        for kind in SystemExceptionKind::ALL {
            for completed in [CompletionStatus::Yes, CompletionStatus::No, CompletionStatus::Maybe]
            {
                let sent = SystemException::received(*kind, 0x4f4d_0001, completed);
                let mut e = Encoder::new(Vec::new(), order);
                sent.encode_reply(&mut e).expect("ASCII");
                let octets = e.into_buffer();
                let got = SystemException::decode_reply(&mut Decoder::new(&octets, order));
                assert_eq!(got, Ok(sent));
            }
        }
    }
}

#[test]
fn a_strange_exception_becomes_unknown() {
    let mut e = Encoder::new(Vec::new(), ByteOrder::BigEndian);
    e.write_string("IDL:acme.example/ORB/OUT_OF_COFFEE:1.0").expect("ASCII");
    e.write_ulong(7);
    e.write_ulong(1);
    let octets = e.into_buffer();
    let got = SystemException::decode_reply(&mut Decoder::new(&octets, ByteOrder::BigEndian))
        .expect("well-formed");
    assert_eq!(got.kind, SystemExceptionKind::Unknown);
    assert_eq!((got.minor, got.completed), (minor::UNKNOWN_SYSTEM_EXCEPTION, CompletionStatus::No));
    assert!(got.to_string().contains("OUT_OF_COFFEE"), "{got}");
    // A completion status that is none, and octets that end early.
    let mut bad = octets.clone();
    *bad.last_mut().expect("octets") = 3;
    for octets in [&bad[..], &octets[..octets.len() - 1], &[]] {
        assert!(
            SystemException::decode_reply(&mut Decoder::new(octets, ByteOrder::BigEndian)).is_err()
        );
    }
}

#[test]
fn cdr_errors_become_the_exception_that_the_specification_names() {
    let kinds = [
        (ErrorKind::UnexpectedEnd, minor::MARSHAL_UNEXPECTED_END),
        (ErrorKind::InvalidValue, minor::MARSHAL_INVALID_VALUE),
        (ErrorKind::LimitExceeded, minor::IMP_LIMIT_MESSAGE_SIZE),
        (ErrorKind::DataConversion, minor::DATA_CONVERSION_CHARACTER),
        (ErrorKind::BadParameter, minor::BAD_PARAM_NOT_SENDABLE),
        (ErrorKind::CodeSetIncompatible, minor::CODESET_INCOMPATIBLE_NEGOTIATION),
        (ErrorKind::WideCharacterInGiop10, minor::MARSHAL_WIDE_CHARACTER_FROM_CLIENT),
        (ErrorKind::InvalidReference, minor::INV_OBJREF_MALFORMED),
        (ErrorKind::BadTypeCode, minor::BAD_TYPECODE_MALFORMED),
        (ErrorKind::LocalObject, minor::MARSHAL_LOCAL_OBJECT),
        (ErrorKind::NoValueFactory, minor::MARSHAL_NO_VALUE_FACTORY),
        (ErrorKind::NotImplemented, minor::NO_IMPLEMENT_FEATURE),
    ];
    for (from, to) in kinds {
        let error = Encoder::native().error(from, "string", "a NUL", "none");
        let text = error.to_string();
        let exception = SystemException::from(error);
        assert_eq!((exception.minor, exception.completed), (to, CompletionStatus::No));
        assert!(exception.minor_code().is_some(), "{exception}");
        assert_eq!(exception.detail.as_deref(), Some(&*text));
    }
    let error = Decoder::new(&[], ByteOrder::NATIVE).error(
        ErrorKind::LimitExceeded,
        "sequence",
        "two elements",
        "one",
    );
    assert_eq!(SystemException::from(error).minor, minor::IMP_LIMIT_DECODING);
    let mut e = Encoder::native();
    e.set_version(Version::V1_0);
    let exception = SystemException::from(e.write_wstring("x").expect_err("GIOP 1.0"));
    assert_eq!(exception.minor, minor::MARSHAL_WIDE_CHARACTER_FROM_CLIENT);
}
