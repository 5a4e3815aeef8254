//! `corbie call`, `ping` and `ior dump` from outside, against a server in the test's process.
//!
//! Runs the real binary over real IIOP on loopback; every exit status is met.

mod process;
mod server;

use process::{Outcome, corbie, scratch_folder};
use server::Server;

const IDL: &str = "tests/idl/every_type.idl";

/// Calls `Every::Echo.OPERATION` with JSON arguments.
fn call(server: &Server, operation: &str, arguments: &[&str]) -> Outcome {
    let operation = format!("Every::Echo.{operation}");
    let fixed = ["call", &server.reference, "--idl", IDL, &operation];
    corbie(&fixed.iter().chain(arguments).collect::<Vec<_>>())
}

/// The result of a call that has to succeed.
fn result(server: &Server, operation: &str, arguments: &[&str]) -> String {
    let outcome = call(server, operation, arguments);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{operation} {arguments:?}");
    outcome.stdout.trim_end().to_owned()
}

#[test]
fn every_type_travels_there_and_back() {
    let server = Server::start();
    let numbers = r#"{"truth":true,"small":255,"s":-32768,"us":65535,"l":-2147483648,"ul":4294967295,"ll":-9223372036854775808,"ull":18446744073709551615,"f":0.1,"d":-0.0,"ld":1.5,"amount":"-12345.67"}"#;
    let not_numbers = r#"{"truth":false,"small":0,"s":0,"us":0,"l":0,"ul":0,"ll":0,"ull":0,"f":"NaN","d":"-Infinity","ld":{"long_double":"0x3ffd5555555555555555555555555555"},"amount":"0.00"}"#;
    let texts = r#"{"c":"x","wc":"€","s":"žluťoučký kůň 😀","ws":"日本 😀","bounded":"12345"}"#;
    let tree = r#"{"name":"a","branches":[{"name":"b","branches":[]},{"name":"c","branches":[{"name":"d","branches":[]}]}]}"#;
    let long_type = r#"{"kind":"struct","id":"IDL:Elsewhere:1.0","name":"Elsewhere","members":[{"name":"x","type":"long"}]}"#;
    let anything = format!(r#"{{"type":{long_type},"value":{{"x":7}}}}"#);
    for (operation, value) in [
        ("echo_numbers", numbers),
        ("echo_numbers", not_numbers),
        ("echo_texts", texts),
        ("echo_colour", r#""blue""#),
        ("echo_tree", tree),
        ("echo_choice", r#"{"_d":"red","number":5}"#),
        ("echo_choice", r#"{"_d":"blue","text":"x"}"#),
        ("echo_maybe", r#"{"_d":true,"value":{"x":1,"y":2}}"#),
        ("echo_maybe", r#"{"_d":false}"#),
        ("echo_counted", r#"{"_d":2,"two":"c"}"#),
        ("echo_counted", r#"{"_d":-9,"many":{"base64":"AAEC"}}"#),
        ("echo_octets", r#"{"base64":"AAEC/w=="}"#),
        ("echo_octets", r#"{"base64":""}"#),
        ("few", r#"[{"x":1,"y":2},{"x":3,"y":4}]"#),
        ("few", "[]"),
        ("echo_matrix", "[[1,2,3],[4,5,-6]]"),
        ("echo_digest", r#"{"base64":"AAECAw=="}"#),
        ("anything", &anything),
        ("anything", r#"{"type":"Every::Point","value":{"x":1,"y":2}}"#),
        ("anything", r#"{"type":"null","value":null}"#),
        ("anything", r#"{"type":"sequence<Every::Colour>","value":["red","green"]}"#),
        ("type", r#""Every::Tree""#),
        ("type", r#""sequence<string<3>,7>""#),
        ("type", long_type),
        ("reference", "null"),
        ("same", "null"),
        ("echo_node", "null"),
        // A derived type, the same value again.
        (
            "echo_node",
            r#"{"_id":1,"name":"a","next":[null,{"_id":2,"_type":"Every::Leaf","name":"b","next":[],"size":-3},{"_ref":2}]}"#,
        ),
        ("echo_note", r#"{"_id":1,"_value":"boxed"}"#),
        ("echo_note", "null"),
        ("echo_seen", r#"{"_id":1,"_type":"Every::Note","_value":"seen"}"#),
        ("echo_seen", "null"),
        ("echo_base", r#"{"_id":1,"_type":"Every::Leaf","name":"b","next":[],"size":7}"#),
        ("anything", r#"{"type":"Every::Node","value":{"_id":1,"name":"a","next":[null]}}"#),
    ] {
        assert_eq!(result(&server, operation, &[value]), value, "{operation}");
    }
    // A cycle is let in where that is set.
    let cycle = r#"{"_id":1,"name":"a","next":[{"_ref":1}]}"#;
    let outcome = call(&server, "echo_node", &[cycle]);
    assert!(outcome.status == 1 && outcome.stderr.contains("value_cycles"), "{}", outcome.stderr);
    assert_eq!(result(&server, "echo_node", &[cycle, "-ORBValueCycles"]), cycle);
    let own = format!("\"{}\"", server.reference);
    assert_eq!(result(&server, "same", &[&own]), own);
}

#[test]
fn arguments_have_more_than_one_form() {
    let server = Server::start();
    assert_eq!(result(&server, "echo_octets", &[r#"{"text":"AB"}"#]), r#"{"base64":"QUI="}"#);
    assert_eq!(result(&server, "echo_digest", &["[0,1,2,3]"]), r#"{"base64":"AAECAw=="}"#);
    assert_eq!(result(&server, "echo_choice", &[r#"{"number":1}"#]), r#"{"_d":"red","number":1}"#);
    assert_eq!(result(&server, "add", &[r#""9007199254740993""#, "-1"]), "9007199254740992");
    let folder = scratch_folder("argument");
    let file = folder.join("tree.json");
    std::fs::write(&file, "{\n \"name\": \"from a file\",\n \"branches\": []\n}\n").unwrap();
    let argument = format!("@{}", file.display());
    let expected = r#"{"name":"from a file","branches":[]}"#;
    assert_eq!(result(&server, "echo_tree", &[&argument]), expected);
}

#[test]
fn a_megabyte_travels() {
    let server = Server::start();
    let folder = scratch_folder("megabyte");
    let file = folder.join("octets.json");
    let text = "0123456789abcdef".repeat(65_536);
    std::fs::write(&file, format!(r#"{{"text":"{text}"}}"#)).unwrap();
    let answer = result(&server, "echo_octets", &[&format!("@{}", file.display())]);
    let expected = base64(text.as_bytes());
    assert!(answer == format!(r#"{{"base64":"{expected}"}}"#));
}

/// Base64 by hand, so that the test does not ask the library that it tests.
fn base64(octets: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in octets.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, octet| bits << 8 | u32::from(*octet));
        let bits = bits << (8 * (3 - three.len()));
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            let character = char::from(DIGITS[index as usize]);
            text.push(if digit <= three.len() { character } else { '=' });
        }
    }
    text
}

#[test]
fn results_are_named_unless_there_is_only_the_return_value() {
    let server = Server::start();
    assert_eq!(result(&server, "who", &[]), r#""an echo""#, "inherited");
    assert_eq!(result(&server, "add", &["2", "-3"]), "-1");
    assert_eq!(result(&server, "three", &["1", "2"]), r#"{"b":3,"c":10}"#);
    assert_eq!(result(&server, "four", &["1", "2"]), r#"{"return":3,"b":3,"c":10}"#);
    assert_eq!(result(&server, "nothing", &[]), "null");
    assert_eq!(result(&server, "in_context", &["1"]), "0", "an empty context is sent");
}

#[test]
fn attributes_are_read_and_set() {
    let server = Server::start();
    assert_eq!(result(&server, "title", &[]), r#""untitled""#);
    assert_eq!(result(&server, "title", &[r#""Moby-Dick""#]), "null");
    assert_eq!(result(&server, "title", &[]), r#""Moby-Dick""#);
    assert_eq!(result(&server, "count", &[]), "18446744073709551615");
    let outcome = call(&server, "count", &["1"]);
    assert_eq!(outcome.status, 64);
    assert!(outcome.stderr.contains("`Every::Echo::count` is readonly"), "{}", outcome.stderr);
}

#[test]
fn a_oneway_arrives() {
    let server = Server::start();
    assert_eq!(result(&server, "forget", &[r#""me""#]), "null");
    let told = server.told.recv_timeout(std::time::Duration::from_secs(60));
    assert_eq!(told.as_deref(), Ok("me"));
}

#[test]
fn a_user_exception_is_json_on_standard_error_and_status_2() {
    let server = Server::start();
    let refused = call(&server, "refuse", &[r#""because""#]);
    let members = r#"{"why":"because","where":{"x":3,"y":-4}}"#;
    let expected = format!("{{\"exception\":\"Every::Refused\",\"members\":{members}}}\n");
    let outcome = Outcome { status: 2, stdout: String::new(), stderr: expected };
    assert_eq!(refused, outcome);
    let empty = call(&server, "refuse_empty", &[]);
    assert_eq!(empty.status, 2);
    assert_eq!(empty.stderr, "{\"exception\":\"Every::Empty\",\"members\":{}}\n");
}

#[test]
fn a_system_exception_is_a_sentence_and_status_1() {
    let server = Server::start();
    for (operation, name) in
        [("fail", "NO_PERMISSION"), ("unknown_operation", "BAD_OPERATION"), ("unlisted", "UNKNOWN")]
    {
        let outcome = call(&server, operation, &[]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{operation}");
        let expected = format!("corbie: {operation}: {name}");
        assert!(outcome.stderr.starts_with(&expected), "{}", outcome.stderr);
    }
}

#[test]
fn a_server_that_is_gone_is_status_1_and_names_the_address() {
    let server = Server::start();
    let (reference, port) = (server.reference.clone(), server.port());
    drop(server);
    let outcome = corbie(&["call", "-t", "5", &reference, "--idl", IDL, "Every::Echo.nothing"]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains(&port.to_string()), "{}", outcome.stderr);
}

#[test]
fn wrong_calls_are_status_64_and_say_what_is_meant() {
    let server = Server::start();
    for (operation, arguments, expected) in [
        ("Every::Echo.ad", &[][..], "did you mean `add`"),
        ("Every::Ecco.add", &[], "did you mean `Every::Echo`"),
        ("Every::Point.x", &[], "`Every::Point` is no interface, but a struct"),
        ("Every::Colour.x", &[], "`Every::Colour` is no interface, but an enum"),
        ("add", &[], "names no operation"),
        ("Every::Echo.add", &["1"], "takes 2 values: `a`, `b`; 1 given"),
        ("Every::Echo.nothing", &["1"], "takes 0 values; 1 given"),
        ("Every::Echo.add", &["1", "x"], "args[1] is not JSON: `x`"),
        ("Every::Echo.add", &["1", "1.5"], "args[1]: expected a whole number, found 1.5"),
        ("Every::Echo.echo_tree", &[r#"{"name":"a","branches":[{"name":1}]}"#], "branches[0].name"),
        ("Every::Echo.anything", &[r#"{"type":"Every::Pint","value":1}"#], "`Every::Point`"),
    ] {
        let fixed = ["call", &server.reference, "--idl", IDL, operation];
        let outcome = corbie(&fixed.iter().chain(arguments).collect::<Vec<_>>());
        assert_eq!(outcome.status, 64, "{operation}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{operation}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "");
    }
}

#[test]
fn idl_with_errors_is_status_1_and_shows_them() {
    let folder = scratch_folder("call-idl");
    let idl = folder.join("wrong.idl");
    std::fs::write(&idl, "interface I { Missing f(); };\n").unwrap();
    let outcome = corbie(&["call", "corbaloc::localhost/X", "--idl", idl.to_str().unwrap(), "I.f"]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("Missing"), "{}", outcome.stderr);
}

#[test]
fn a_plain_key_and_an_initial_reference_lead_to_the_object() {
    let server = Server::start();
    server.bind_plain_key();
    let url = format!("corbaloc::127.0.0.1:{}/Echo", server.port());
    let who = ["--idl", IDL, "Every::Echo.who"];
    let direct: Vec<&str> = ["call", &url].into_iter().chain(who).collect();
    assert_eq!(corbie(&direct).stdout, "\"an echo\"\n");
    let setting = format!("Echo={url}");
    let initial = ["call", "-ORBInitRef", &setting, "corbaloc:rir:/Echo"];
    let initial: Vec<&str> = initial.into_iter().chain(who).collect();
    let outcome = corbie(&initial);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "\"an echo\"\n"), "{outcome:?}");
}

#[test]
fn an_orb_argument_that_is_wrong_is_named() {
    let outcome = corbie(&["ping", "-ORBRequestTimeOut", "soon", "corbaloc::localhost/X"]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("-ORBRequestTimeout"), "{}", outcome.stderr);
}

#[test]
fn ping_counts_replies() {
    let server = Server::start();
    for flags in [&["ping", "-c", "3", "-i", "0"][..], &["ping", "-c3", "-i0", "--locate"]] {
        let arguments: Vec<&str> = flags.iter().copied().chain([&*server.reference]).collect();
        let outcome = corbie(&arguments);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
        assert_eq!(outcome.stdout.matches("reply ").count(), 3, "{}", outcome.stdout);
        assert!(outcome.stdout.contains("3 requests, 3 answered"), "{}", outcome.stdout);
        assert!(outcome.stdout.contains("round trip least/median/most"), "{}", outcome.stdout);
    }
    let outcome = corbie(&["ping", "-c", "2", "-i", "0", "--json", &server.reference]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&facts["requests"], &facts["answered"]), (&2.into(), &2.into()));
    let times = facts["round_trips_ms"].as_array().unwrap();
    let [first, second] = [0, 1].map(|n| times[n].as_f64().unwrap());
    let median = facts["median_ms"].as_f64().unwrap();
    assert!((median - f64::midpoint(first, second)).abs() < 0.001, "{facts}");
}

#[test]
fn ping_fails_when_the_object_is_gone() {
    let server = Server::start();
    server.deactivate();
    let outcome = corbie(&["ping", "-c", "2", "-i", "0", &server.reference]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stdout.contains("2 requests, 0 answered"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("OBJECT_NOT_EXIST"), "{}", outcome.stdout);
    let reference = server.reference.clone();
    drop(server);
    let outcome = corbie(&["ping", "-c", "1", "-t", "2", &reference]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stdout.contains("TRANSIENT"), "{}", outcome.stdout);
}

#[test]
fn ior_dump_shows_a_reference_in_words() {
    let server = Server::start();
    let outcome = corbie(&["ior", "dump", &server.reference]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    for expected in
        ["IDL:Every/Echo:1.0", "IIOP 1.2", "127.0.0.1", &server.port().to_string(), "CODE_SETS"]
    {
        assert!(outcome.stdout.contains(expected), "{expected}: {}", outcome.stdout);
    }
    assert!(!outcome.stdout.contains("answers"), "no network without --ping");
}

#[test]
fn ior_dump_as_json_has_the_same_content() {
    let server = Server::start();
    let outcome = corbie(&["ior", "dump", "--json", "--ping", &server.reference]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{outcome:?}");
    let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(facts["type_id"], "IDL:Every/Echo:1.0");
    assert_eq!(facts["nil"], false);
    let profile = &facts["profiles"][0];
    assert_eq!(profile["name"], "TAG_INTERNET_IOP");
    assert_eq!(profile["version"], "1.2");
    assert_eq!(profile["host"], "127.0.0.1");
    assert_eq!(profile["port"], server.port());
    let components = profile["components"].as_array().expect("components");
    assert!(components.iter().any(|c| c["name"] == "TAG_CODE_SETS"), "{components:?}");
    assert_eq!(facts["addresses"][0]["answers"], true);
    assert!(facts["addresses"][0]["round_trip_ms"].is_number());
}

#[test]
fn ior_dump_pings_each_address_and_fails_when_none_answers() {
    let server = Server::start();
    let live = server.port();
    let dead = corbie_testkit::servers::free_port();
    server.bind_plain_key();
    let url = format!("corbaloc:iiop:1.2@127.0.0.1:{dead},iiop:1.2@127.0.0.1:{live}/Echo");
    let outcome = corbie(&["ior", "dump", "--ping", &url]);
    assert_eq!(outcome.status, 0, "one of two answers: {outcome:?}");
    assert!(outcome.stdout.contains(&format!("127.0.0.1:{live}: answers in")), "{outcome:?}");
    assert!(outcome.stdout.contains(&format!("127.0.0.1:{dead}: does not answer")), "{outcome:?}");
    drop(server);
    let outcome = corbie(&["ior", "dump", "--ping", "-t", "2", &url]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("answers at no address of the reference"), "{outcome:?}");
}

#[test]
fn ior_dump_tells_a_missing_object_from_a_server_that_is_away() {
    let server = Server::start();
    server.deactivate();
    let outcome = corbie(&["ior", "dump", "--ping", &server.reference]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stdout.contains("the server answers, but has no such object"), "{outcome:?}");
    assert!(!outcome.stdout.contains("does not answer"), "{outcome:?}");
}

#[test]
fn ior_dump_reads_references_from_everywhere() {
    let server = Server::start();
    let folder = scratch_folder("ior");
    let file = folder.join("echo.ior");
    std::fs::write(&file, format!("{}\n", server.reference)).unwrap();
    let outcome = corbie(&["ior", "dump", &format!("file://{}", file.display())]);
    assert!(outcome.stdout.contains("IDL:Every/Echo:1.0"), "{outcome:?}");
    let initial = format!("Echo={}", server.reference);
    let outcome = corbie(&["ior", "dump", "-ORBInitRef", &initial, "corbaloc:rir:/Echo"]);
    assert!(outcome.stdout.contains("IDL:Every/Echo:1.0"), "{outcome:?}");
    let nil = corbie(&["ior", "dump", "IOR:00000000000000010000000000000000"]);
    assert!(nil.stdout.contains("nil"), "{nil:?}");
}

#[test]
fn references_that_cannot_be_read_say_where() {
    for (reference, expected) in [
        ("IOR:00zz", "character"),
        ("nonsense", "corbaloc:"),
        ("corbaloc::host:99999/X", "65535"),
        ("file:///nowhere/x.ior", "/nowhere/x.ior"),
    ] {
        for subcommand in [&["ior", "dump"][..], &["ping"]] {
            let arguments: Vec<&str> = subcommand.iter().copied().chain([reference]).collect();
            let outcome = corbie(&arguments);
            assert_eq!((outcome.status, outcome.stdout.as_str()), (1, ""), "{reference}");
            assert!(outcome.stderr.contains(expected), "{reference}: {}", outcome.stderr);
        }
    }
}
