//! The IDL that the standard itself defines, for when no file on the include path does.
//!
//! The preprocessor asks for the files that every ORB supplies (`orb.idl`, `IOP.idl`); the checker
//! asks for names of module `CORBA` that the text uses but does not declare. Own wording after
//! CORBA 3.3 P1 §8 (ORB interface), §4 (policies), P2 §9.6 (IOP);
//! CORBA Messaging §22.

use crate::model::Primitive;

/// The file with what asynchronous calls need.
pub(crate) const MESSAGING: &str = "Messaging.idl";

/// A file of the standard that `#include` may name.
pub(crate) fn file(path: &str) -> Option<&'static str> {
    match path {
        "orb.idl" => Some(include_str!("standard/orb.idl")),
        "IOP.idl" => Some(include_str!("standard/IOP.idl")),
        MESSAGING => Some(include_str!("standard/Messaging.idl")),
        _ => None,
    }
}

/// What module `CORBA` holds besides sequences of primitive types: names, and the IDL that defines
/// each. Interfaces that later versions
/// made local are plain here, since published services inherit from them in plain interfaces.
/// Pseudo-objects without IDL are native; of the interface repository there are forward
/// declarations.
const CORBA: &[(&str, &str)] = &[
    ("Identifier", "typedef string Identifier;"),
    ("RepositoryId", "typedef string RepositoryId;"),
    ("ScopedName", "typedef string ScopedName;"),
    ("VersionSpec", "typedef string VersionSpec;"),
    ("AnySeq", "typedef sequence<any> AnySeq;"),
    ("StringSeq", "typedef sequence<string> StringSeq;"),
    ("WStringSeq", "typedef sequence<wstring> WStringSeq;"),
    ("StringValue", "valuetype StringValue string;"),
    ("WStringValue", "valuetype WStringValue wstring;"),
    ("ServiceType", "typedef unsigned short ServiceType;"),
    ("ServiceOption", "typedef unsigned long ServiceOption;"),
    ("ServiceDetailType", "typedef unsigned long ServiceDetailType;"),
    (
        "ServiceDetail",
        "struct ServiceDetail { ServiceDetailType service_detail_type; \
         sequence<octet> service_detail; };",
    ),
    (
        "ServiceInformation",
        "struct ServiceInformation { sequence<ServiceOption> service_options; \
         sequence<ServiceDetail> service_details; };",
    ),
    ("Flags", "typedef unsigned long Flags;"),
    ("PolicyType", "typedef unsigned long PolicyType;"),
    (
        "Policy",
        "interface Policy { readonly attribute PolicyType policy_type; Policy copy(); \
         void destroy(); };",
    ),
    ("PolicyList", "typedef sequence<Policy> PolicyList;"),
    ("PolicyTypeSeq", "typedef sequence<PolicyType> PolicyTypeSeq;"),
    ("PolicyErrorCode", "typedef short PolicyErrorCode;"),
    ("PolicyError", "exception PolicyError { PolicyErrorCode reason; };"),
    ("InvalidPolicies", "exception InvalidPolicies { sequence<unsigned short> indices; };"),
    ("SetOverrideType", "enum SetOverrideType { SET_OVERRIDE, ADD_OVERRIDE };"),
    ("Current", "interface Current {};"),
    (
        "DomainManager",
        "interface DomainManager { Policy get_domain_policy(in PolicyType policy_type); };",
    ),
    ("DomainManagersList", "typedef sequence<DomainManager> DomainManagersList;"),
    ("IDLType", "interface IDLType;"),
    ("InterfaceDef", "interface InterfaceDef;"),
    ("Repository", "interface Repository;"),
    ("Principal", "native Principal;"),
    ("Environment", "native Environment;"),
    ("Context", "native Context;"),
    ("ContextList", "native ContextList;"),
    ("ExceptionList", "native ExceptionList;"),
    ("NVList", "native NVList;"),
    ("Request", "native Request;"),
    ("ORB", "native ORB;"),
];

/// The IDL of a name in module `CORBA`, as a whole file.
pub(crate) fn corba_definition(name: &str) -> Option<String> {
    // These three refer to each other, so they come together.
    if matches!(name, "Pollable" | "DIIPollable" | "PollableSet") {
        return Some(include_str!("standard/pollable.idl").to_owned());
    }
    let text = match CORBA.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => (*text).to_owned(),
        None => sequence_of_primitives(name)?,
    };
    Some(format!("#pragma prefix \"omg.org\"\nmodule CORBA {{ {text} }};\n"))
}

/// `LongSeq` and its like: a sequence of each primitive type.
fn sequence_of_primitives(name: &str) -> Option<String> {
    let element = name.strip_suffix("Seq")?;
    let row = Primitive::ALL.iter().find(|row| row.name == element && !row.is_alias)?;
    Some(format!("typedef sequence<{}> {name};", row.idl))
}
