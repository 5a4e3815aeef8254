//! `corbie` against another ORB: omniORB's naming service, with the IDL that omniORB ships.
//!
//! Runs where `omniNames` is installed (`.ci/run` installs it); elsewhere the peer is named as
//! missing. Structs in sequences, enums, references, out parameters and user exceptions of C++.

mod process;

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use process::{Outcome, corbie, scratch_folder};

const IDL: &str = "/usr/share/idl/omniORB/COS/CosNaming.idl";
const START_MAX: Duration = Duration::from_secs(60);

/// Past the capture of test output, so that a run says what it did not try.
fn say_missing(what: &str) {
    let _ = writeln!(std::io::stderr(), "missing peer: {what}");
}

/// A naming service of its own for one test.
struct NamingService {
    process: Child,
    url: String,
}

impl NamingService {
    /// Starts one on a free port; `None` if omniORB is not installed.
    fn start() -> Option<Self> {
        if !Path::new(IDL).exists() {
            say_missing(&format!("{IDL} (package omniorb-idl)"));
            return None;
        }
        let folder = scratch_folder("omninames");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        drop(listener);
        let started = Command::new("omniNames")
            .args(["-start", &port.to_string(), "-logdir"])
            .arg(&folder)
            .arg("-errlog")
            .arg(folder.join("errors"))
            .args(["-ORBendPoint", &format!("giop:tcp:127.0.0.1:{port}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = started else {
            say_missing("omniNames of omniORB (package omniorb-nameserver)");
            return None;
        };
        let service = Self { process, url: format!("corbaloc::127.0.0.1:{port}/NameService") };
        let deadline = Instant::now() + START_MAX;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "omniNames does not listen on port {port}");
            // tidy: sleep: another process has to open its port; nothing tells when.
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(service)
    }

    fn call(&self, operation: &str, arguments: &[&str]) -> Outcome {
        let operation = format!("CosNaming::NamingContext.{operation}");
        let fixed = ["call", &self.url, "--idl", IDL, &operation];
        corbie(&fixed.iter().chain(arguments).collect::<Vec<_>>())
    }
}

impl Drop for NamingService {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
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

    let by_name = format!("{}#shelf", service.url.replace("corbaloc:", "corbaname:"));
    let pinged = corbie(&["ping", "-c", "1", &by_name]);
    assert_eq!(pinged.status, 0, "{pinged:?}");
}
