//! `corbie` against another ORB: omniORB's naming service, with the IDL that omniORB ships.
//!
//! Runs where `omniNames` is installed (`.ci/run` installs it); elsewhere the peer is named as
//! missing. Structs in sequences, enums, references, out parameters and user exceptions of C++.

mod process;

use corbie_testkit::servers::{ForeignNames, say_missing};
use process::{Outcome, corbie};
use std::path::Path;

const IDL: &str = "/usr/share/idl/omniORB/COS/CosNaming.idl";

/// A naming service of its own for one test.
struct NamingService(ForeignNames);

impl NamingService {
    /// Starts one; `None` if omniORB is not installed.
    fn start() -> Option<Self> {
        if !Path::new(IDL).exists() {
            say_missing(&format!("{IDL} (package omniorb-idl)"));
            return None;
        }
        ForeignNames::omninames().map(Self)
    }

    fn call(&self, operation: &str, arguments: &[&str]) -> Outcome {
        let operation = format!("CosNaming::NamingContext.{operation}");
        let fixed = ["call", &self.0.url, "--idl", IDL, &operation];
        corbie(&fixed.iter().chain(arguments).collect::<Vec<_>>())
    }
}

#[test]
fn the_naming_service_of_omniorb_is_used_by_hand() {
    let Some(service) = NamingService::start() else { return };
    let name = r#"[{"id":"shelf","kind":""}]"#;

    let bound = service.call("bind_new_context", &[name]);
    assert_eq!((bound.status, bound.stderr.as_str()), (0, ""), "{bound:?}");
    assert!(bound.stdout.starts_with("\"IOR:"), "{bound:?}");

    let listed = service.call("list", &["10"]);
    let expected = format!(
        "{{\"bl\":[{{\"binding_name\":{name},\"binding_type\":\"ncontext\"}}],\"bi\":null}}\n"
    );
    assert_eq!(listed, Outcome { stdout: expected, ..Outcome::default() });

    let resolved = service.call("resolve", &[name]);
    assert_eq!(resolved.status, 0, "{resolved:?}");
    let reference = resolved.stdout.trim().trim_matches('"');
    let pinged = corbie(&["ping", "-c", "1", reference]);
    assert!(pinged.stdout.contains("1 requests, 1 answered"), "{pinged:?}");
    let dumped = corbie(&["ior", "dump", reference]);
    assert!(dumped.stdout.contains("omniORB"), "{dumped:?}");

    let again = service.call("bind_new_context", &[name]);
    let expected = "{\"exception\":\"CosNaming::NamingContext::AlreadyBound\",\"members\":{}}\n";
    assert_eq!((again.status, again.stderr.as_str()), (2, expected));

    let missing = service.call("resolve", &[r#"[{"id":"cellar","kind":"x"}]"#]);
    let members = r#"{"why":"missing_node","rest_of_name":[{"id":"cellar","kind":"x"}]}"#;
    let expected =
        format!("{{\"exception\":\"CosNaming::NamingContext::NotFound\",\"members\":{members}}}\n");
    assert_eq!((missing.status, missing.stderr), (2, expected));

    let by_name = format!("{}#shelf", service.0.url.replace("corbaloc:", "corbaname:"));
    let pinged = corbie(&["ping", "-c", "1", &by_name]);
    assert_eq!(pinged.status, 0, "{pinged:?}");
}
