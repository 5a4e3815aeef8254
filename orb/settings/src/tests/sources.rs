//! Precedence, consumption of arguments, environment and file.
//! CORBA 3.3 P1 §8.5.1 says what is done with `-ORB` arguments; the order is ours.

use std::time::Duration;

use corbie_types::{SystemExceptionKind, minor};

use super::super::{InitialReference, ListenEndpoint, WaitStrategy};
use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn each_source_yields_to_the_one_above() {
    let mut env = vec![("CORBIE_REQUEST_TIMEOUT", "3s")];
    let file = Some("request_timeout = '4s'");
    let builder = PartialSettings::new().request_timeout(SECOND);
    let mut args = vec!["-ORBRequestTimeout".to_owned(), "2s".to_owned()];
    let top = Settings::from_sources(builder, &mut args, &|_| Some("3s".into()), None);
    assert!(top.is_err(), "`3s` does not suit every variable");

    let both = join("-ORBRequestTimeout 2s", &env, file).unwrap();
    assert_eq!(both.request_timeout, Some(2 * SECOND));
    assert_eq!(join("", &env, file).unwrap().request_timeout, Some(3 * SECOND));
    env.clear();
    assert_eq!(join("", &env, file).unwrap().request_timeout, Some(4 * SECOND));
    assert_eq!(join("", &env, None).unwrap().request_timeout, Some(60 * SECOND));
}

#[test]
fn the_builder_is_above_the_arguments() {
    let builder = PartialSettings::new().request_timeout(SECOND);
    let mut args = vec!["-ORBRequestTimeout=2s".to_owned()];
    let settings = Settings::from_sources(builder, &mut args, &|_| None, None).unwrap();
    assert_eq!(settings.request_timeout, Some(SECOND));
    assert!(args.is_empty(), "the argument is consumed although it lost");
}

#[test]
fn recognised_arguments_are_consumed_and_others_left_in_order() {
    let given = "server --port 7 -ORBid one -v -ORBServerId=two -ORBNoProprietaryActivation x";
    let mut args: Vec<String> = given.split(' ').map(str::to_owned).collect();
    let settings =
        Settings::from_sources(PartialSettings::new(), &mut args, &|_| None, None).unwrap();
    assert_eq!(args, ["server", "--port", "7", "-v", "x"]);
    assert_eq!((settings.orb_id.as_str(), settings.server_id.as_str()), ("one", "two"));
    assert!(settings.no_proprietary_activation);
}

#[test]
fn nothing_after_two_dashes_is_looked_at() {
    let mut args = vec!["-ORBid=a".to_owned(), "--".to_owned(), "-ORBid=b".to_owned()];
    let settings =
        Settings::from_sources(PartialSettings::new(), &mut args, &|_| None, None).unwrap();
    assert_eq!(settings.orb_id, "a");
    assert_eq!(args, ["--", "-ORBid=b"]);
}

#[test]
fn an_unknown_argument_names_near_ones() {
    let text = refusal("-ORBInitialRef NameService=corbaloc::h/NameService");
    assert!(text.contains("`-ORBInitialRef` is not known"), "{text}");
    assert!(text.contains("did you mean `-ORBInitRef`"), "{text}");
    let text = refusal("-ORBzzzzzzzzzzzzzz");
    assert!(!text.contains("did you mean"), "{text}");
}

#[test]
fn refusals_are_bad_param_completed_no() {
    let exception = join("-ORBWaitStrategy never", &[], None).unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::BadParam);
    assert_eq!(exception.completed, corbie_types::CompletionStatus::No);
}

#[test]
fn a_missing_value_is_said() {
    for args in ["-ORBid", "-ORBid -ORBServerId x"] {
        let text = refusal(args);
        assert!(text.contains("`-ORBid` needs a value"), "{text}");
    }
}

#[test]
fn letters_may_have_any_case_but_the_prefix_is_fixed() {
    assert_eq!(join("-ORBwaitstrategy spin", &[], None).unwrap().wait_strategy, WaitStrategy::Spin);
    assert!(join("-orbwaitstrategy spin", &[], None).is_ok(), "not reserved, left alone");
}

#[test]
fn init_refs_of_all_sources_are_joined_by_name() {
    let args = "-ORBInitRef A=corbaloc::one/A -ORBInitRef=B=corbaloc::one/B?=x";
    let env = [("CORBIE_INIT_REFS", "B=corbaloc::two/B C=corbaloc::two,:other/C")];
    let file = "[init_refs]\nC = 'corbaloc::three/C'\nD = 'IOR:00'";
    let settings = join(args, &env, Some(file)).unwrap();
    let expected = [
        ("A", "corbaloc::one/A"),
        ("B", "corbaloc::one/B?=x"),
        ("C", "corbaloc::two,:other/C"),
        ("D", "IOR:00"),
    ];
    let expected =
        expected.map(|(n, u)| InitialReference { name: n.to_owned(), url: u.to_owned() });
    assert_eq!(settings.init_refs, expected);
}

#[test]
fn the_last_of_two_init_refs_with_one_name_counts() {
    let settings = join("-ORBInitRef A=corbaloc::1/A -ORBInitRef A=corbaloc::2/A", &[], None);
    let settings = settings.unwrap();
    assert_eq!(settings.init_refs.len(), 1);
    assert_eq!(settings.init_refs[0].url, "corbaloc::2/A");
}

#[test]
fn lists_of_a_higher_source_replace_those_below() {
    let file = "listen_endpoints = ['iiop://a:1', 'iiop://b:2']";
    let below = join("", &[], Some(file)).unwrap();
    assert_eq!(below.listen_endpoints.len(), 2);
    let above = join("-ORBListenEndpoints iiop://127.0.0.1:0", &[], Some(file)).unwrap();
    let expected = ListenEndpoint::iiop("127.0.0.1", 0);
    assert_eq!(above.listen_endpoints, [expected]);
}

#[test]
fn empty_variables_count_as_not_set() {
    let settings = join("", &[("CORBIE_REQUEST_TIMEOUT", " ")], None).unwrap();
    assert_eq!(settings.request_timeout, Some(60 * SECOND));
}

#[test]
fn the_environment_is_named_in_errors() {
    let text = sentence(join("", &[("CORBIE_SPIN_BUDGET", "fast")], None));
    assert!(text.starts_with("the environment variable `CORBIE_SPIN_BUDGET`"), "{text}");
    assert!(text.contains("`fast`") && text.contains("`50us`"), "{text}");
}

#[test]
fn file_values_may_be_numbers_booleans_and_strings() {
    let file = "pool_threads_max = 8\npublish_all_addresses = true\nmessage_octets_max = '1MiB'\n\
                pool-threads-min = 1\nrequest_timeout = 'none'";
    let settings = join("", &[], Some(file)).unwrap();
    assert_eq!((settings.pool_threads_min, settings.pool_threads_max), (1, 8));
    assert!(settings.publish_all_addresses);
    assert_eq!(settings.message_octets_max, 1 << 20);
    assert_eq!(settings.request_timeout, None);
}

#[test]
fn file_errors_name_file_line_and_near_keys() {
    for (file, expected) in [
        ("\n\nrequest_time_out = '1s'", "corbie.toml line 3: `request_time_out` is not a setting"),
        ("request_time_out = '1s'", "did you mean `request_timeout`"),
        ("\npool_threads_max = [1]", "corbie.toml line 2: `pool_threads_max` is a TOML array"),
        (
            "pool_threads_max = 'many'",
            "corbie.toml line 1: `pool_threads_max` has the value `many`",
        ),
        ("a = \n", "corbie.toml line 1: this is not TOML"),
        ("config_file = 'x'", "give it as `-ORBConfigFile` or `CORBIE_CONFIG_FILE`"),
        ("[init_refs]\nA = 1979-05-27", "is a TOML datetime"),
    ] {
        let text = sentence(join("", &[], Some(file)));
        assert!(text.contains(expected), "{file}: {text}");
    }
}

#[test]
fn a_file_that_was_named_has_to_exist() {
    let mut args = vec!["-ORBConfigFile".to_owned(), "/nowhere/corbie.toml".to_owned()];
    let exception = Settings::from_process(PartialSettings::new(), &mut args).unwrap_err();
    assert_eq!(exception.minor, minor::INITIALIZE_CONFIGURATION);
    assert!(exception.detail.unwrap().contains("`/nowhere/corbie.toml` cannot be read"));
}

#[test]
fn a_named_file_is_read() {
    let path = std::env::temp_dir().join(format!("corbie-settings-{}.toml", std::process::id()));
    std::fs::write(&path, "server_id = 'from file'").unwrap();
    let mut args = vec![format!("-ORBConfigFile={}", path.display())];
    let settings = Settings::from_process(PartialSettings::new(), &mut args);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(settings.unwrap().server_id, "from file");
}

#[test]
fn set_takes_keys_as_text() {
    let mut partial = PartialSettings::new();
    partial.set("giop_version", "1.0").unwrap();
    assert_eq!(partial.giop_version, Some(corbie_cdr::Version::V1_0));
    let text = partial.set("giop_versoin", "1.0").unwrap_err().detail.unwrap();
    assert!(text.contains("did you mean `giop_version`"), "{text}");
}
