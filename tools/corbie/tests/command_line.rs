//! The `corbie` command from outside: help, exit statuses, IDL, man pages, completions.
//!
//! Runs the real binary; nothing here needs a server (see `objects.rs` for that).

mod process;

use process::{Outcome, corbie, scratch_folder};
use std::io::Write as _;
use std::process::{Command, Stdio};

const SUBCOMMANDS: [&[&str]; 12] = [
    &[],
    &["idl"],
    &["idl", "check"],
    &["idl", "compile"],
    &["ior"],
    &["ior", "dump"],
    &["ping"],
    &["call"],
    &["hash-password"],
    &["settings"],
    &["man"],
    &["completions"],
];

#[test]
fn every_help_has_an_example() {
    for subcommand in SUBCOMMANDS {
        for flag in ["-h", "--help"] {
            let arguments: Vec<&str> = subcommand.iter().copied().chain([flag]).collect();
            let outcome = corbie(&arguments);
            assert_eq!(outcome.status, 0, "{arguments:?}");
            assert!(outcome.stdout.contains("Example"), "{arguments:?}: {}", outcome.stdout);
        }
    }
}

#[test]
fn wrong_usage_is_status_64_on_standard_error() {
    for arguments in [
        &["fly"][..],
        &["idl"],
        &["idl", "check"],
        &["idl", "check", "--colour", "x.idl"],
        &["ping"],
        &["ping", "-c", "0", "corbaloc::localhost/X"],
        &["call", "IOR:00"],
        &["completions", "csh-of-old"],
        &["idl", "compile", "--rename", "x", "y.idl"],
    ] {
        let Outcome { status, stdout, stderr } = corbie(arguments);
        assert_eq!(status, 64, "{arguments:?}: {stderr}");
        assert!(stdout.is_empty() && !stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn nothing_is_coloured_unless_on_a_terminal() {
    for arguments in [&["fly"][..], &["ior", "dump", "x"], &["idl", "check", "/nowhere.idl"]] {
        let Outcome { stdout, stderr, .. } = corbie(arguments);
        assert!(!stdout.contains('\x1b') && !stderr.contains('\x1b'), "{arguments:?}");
    }
}

#[test]
fn good_idl_is_checked_in_silence() {
    let outcome = corbie(&["idl", "check", "tests/idl/every_type.idl"]);
    assert_eq!(outcome, Outcome::default());
}

#[test]
fn every_error_of_every_file_is_reported() {
    let folder = scratch_folder("check");
    let first = folder.join("first.idl");
    let second = folder.join("second.idl");
    std::fs::write(&first, "struct A { Missing a; Absent b; };\n").unwrap();
    std::fs::write(&second, "const octet big = 300;\n").unwrap();
    let outcome = corbie(&["idl", "check", first.to_str().unwrap(), second.to_str().unwrap()]);
    assert_eq!(outcome.status, 1);
    for expected in ["Missing", "Absent", "first.idl:1:", "second.idl:1:"] {
        assert!(outcome.stderr.contains(expected), "{expected}: {}", outcome.stderr);
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let outcome = corbie(&["idl", "check", "/nowhere/x.idl"]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("/nowhere/x.idl"), "{}", outcome.stderr);
}

#[test]
fn includes_and_macros_come_from_the_command_line() {
    let folder = scratch_folder("include");
    std::fs::create_dir_all(folder.join("types")).unwrap();
    std::fs::write(folder.join("types/base.idl"), "typedef NUMBER Number;\n").unwrap();
    let file = folder.join("use.idl");
    std::fs::write(&file, "#include <base.idl>\nstruct S { Number n; };\n").unwrap();
    let (file, types) = (file.to_str().unwrap(), folder.join("types"));
    assert_eq!(corbie(&["idl", "check", file]).status, 1);
    let with = ["idl", "check", "-I", types.to_str().unwrap(), "-DNUMBER=long", file];
    assert_eq!(corbie(&with), Outcome::default());
}

#[test]
fn compile_writes_one_rust_file_for_each_idl_file() {
    let folder = scratch_folder("compile");
    let out = folder.join("made/by/need");
    let idl = folder.join("stock.idl");
    std::fs::write(&idl, "module Stock { struct Quote { string name; long price; }; };\n").unwrap();
    let arguments = ["idl", "compile", "-o", out.to_str().unwrap(), idl.to_str().unwrap()];
    assert_eq!(corbie(&arguments), Outcome::default());
    let first = std::fs::read_to_string(out.join("stock.rs")).unwrap();
    assert!(first.contains("pub struct Quote"), "{first}");
    assert_eq!(corbie(&arguments), Outcome::default());
    let again = std::fs::read_to_string(out.join("stock.rs")).unwrap();
    assert_eq!(first, again, "the output is deterministic");
    let derive = ["--derive", "Hash", "--rename", "Stock::Quote=Offer"];
    let arguments: Vec<&str> = arguments.into_iter().chain(derive).collect();
    assert_eq!(corbie(&arguments), Outcome::default());
    let other = std::fs::read_to_string(out.join("stock.rs")).unwrap();
    assert!(other.contains("pub struct Offer") && other.contains("Hash"), "{other}");
}

const QUOTER: &str = "module Stock { exception Bad {}; interface Quoter { \
                      long quote(in string name, out long age) raises (Bad); }; };\n";

#[test]
fn check_shows_what_interfaces_imply() {
    let folder = scratch_folder("implied");
    let idl = folder.join("stock.idl");
    std::fs::write(&idl, QUOTER).unwrap();
    let idl = idl.to_str().unwrap();
    assert_eq!(corbie(&["idl", "check", idl]), Outcome::default());
    let outcome = corbie(&["idl", "check", "--implied=ami-callback", idl]);
    let expected = "\
module Stock {
  interface Quoter {
    void sendc_quote(in ::Stock::AMI_QuoterHandler ami_handler, in string name);
  };
  interface AMI_QuoterHandler : ::Messaging::ReplyHandler {
    void quote(in long ami_return_val, in long age);
    void quote_excep(in ::Messaging::ExceptionHolder excep_holder);
  };
};
";
    assert_eq!(outcome, Outcome { stdout: expected.to_owned(), ..Outcome::default() });
    let all = corbie(&["idl", "check", "--implied", "--", idl]).stdout;
    for part in ["AMI_QuoterHandler", "AMI_QuoterPoller", "AMH_QuoterResponseHandler"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let two = corbie(&["idl", "check", "--implied=ami-poller,amh", idl]).stdout;
    assert!(two.contains("AMI_QuoterPoller") && two.contains("AMH_Quoter {"), "{two}");
    assert!(!two.contains("AMI_QuoterHandler"), "{two}");
}

#[test]
fn compile_generates_the_asynchronous_forms_asked_for() {
    let folder = scratch_folder("asynchronous");
    let idl = folder.join("stock.idl");
    std::fs::write(&idl, QUOTER).unwrap();
    let compile = |flags: &[&str]| {
        let mut arguments = vec!["idl", "compile", "-o", folder.to_str().unwrap()];
        arguments.extend(flags);
        arguments.push(idl.to_str().unwrap());
        assert_eq!(corbie(&arguments), Outcome::default(), "{flags:?}");
        std::fs::read_to_string(folder.join("stock.rs")).unwrap()
    };
    // A flag, and what is there only with it.
    let forms = [
        ("--ami-callback", "sendc_quote"),
        ("--ami-poller", "sendp_quote"),
        ("--amh", "AmhQuoterServant"),
        ("--amh-operations=Stock::Quoter=quote", "AmhQuoterServant"),
        ("--async-servants", "AsyncQuoterServant"),
    ];
    let plain = compile(&[]);
    for (flag, part) in forms {
        assert!(!plain.contains(part), "{part} without {flag}");
        assert!(compile(&[flag]).contains(part), "{flag} gives no {part}");
    }
    assert!(plain.contains("quote_async"), "{plain}");
    assert!(!compile(&["--no-futures"]).contains("quote_async"));
}

#[test]
fn several_files_make_one_tree_and_two_of_one_name_are_refused() {
    let folder = scratch_folder("several");
    std::fs::create_dir_all(folder.join("more")).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    write("common.idl", "module M { struct Shared { long x; }; };\n");
    let text = "#include \"common.idl\"\ntypedef M::Shared";
    let (a, b) = (write("a.idl", &format!("{text} A;\n")), write("b.idl", &format!("{text} B;\n")));
    let out = folder.to_str().unwrap();
    assert_eq!(corbie(&["idl", "compile", "-o", out, &a, &b]), Outcome::default());
    let source = std::fs::read_to_string(folder.join("a.rs")).unwrap();
    assert_eq!(source.matches("pub struct Shared").count(), 1, "{source}");
    assert!(source.contains("type A =") && source.contains("type B ="), "{source}");

    let pair = "--extern-idl=common.idl=my_common::idl";
    let elsewhere = corbie(&["idl", "compile", "-o", out, "--output", "ab", pair, &a, &b]);
    assert_eq!(elsewhere, Outcome::default());
    let source = std::fs::read_to_string(folder.join("ab.rs")).unwrap();
    assert!(source.contains("type A = my_common::idl::m::Shared"), "{source}");

    let other = write("more/a.idl", "const long X = 1;\n");
    let outcome = corbie(&["idl", "compile", "-o", out, &a, &other]);
    assert_ne!(outcome.status, 0);
    assert!(outcome.stderr.contains(&a) && outcome.stderr.contains(&other), "{}", outcome.stderr);
}

#[test]
fn nothing_is_written_when_there_are_errors() {
    let folder = scratch_folder("errors");
    let idl = folder.join("wrong.idl");
    std::fs::write(&idl, "struct A { Missing a; };\n").unwrap();
    let out = folder.join("out");
    let outcome = corbie(&["idl", "compile", "-o", out.to_str().unwrap(), idl.to_str().unwrap()]);
    assert_eq!(outcome.status, 1);
    assert!(!out.join("wrong.rs").exists());
}

#[test]
fn man_pages_are_written_for_every_subcommand() {
    let folder = scratch_folder("man");
    let target = folder.join("man1");
    assert_eq!(corbie(&["man", target.to_str().unwrap()]), Outcome::default());
    for subcommand in SUBCOMMANDS {
        let name: Vec<&str> = ["corbie"].iter().chain(subcommand).copied().collect();
        let path = target.join(format!("{}.1", name.join("-")));
        let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        assert!(page.contains(".SH SYNOPSIS"), "{path:?}");
        assert!(!page.contains("orb-argument"), "{path:?}: hidden arguments stay hidden");
    }
}

#[test]
fn completions_know_the_subcommands() {
    for shell in ["bash", "zsh", "fish"] {
        let outcome = corbie(&["completions", shell]);
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        for word in ["idl", "dump", "ping", "call", "completions"] {
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
        assert!(!outcome.stdout.contains("orb-argument"), "{shell}: hidden arguments stay hidden");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_corbie"))
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let outcome = child.wait_with_output().unwrap();
    assert_eq!(outcome.stderr, b"", "a broken pipe is not worth a word");
    assert_eq!(outcome.status.code(), Some(0));
}

#[test]
fn a_password_is_hashed_with_a_salt_of_its_own() {
    let hash = |line: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_corbie"))
            .arg("hash-password")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (first, second) = (hash("wonderland\nmore\n"), hash("wonderland"));
    assert!(first.0 == Some(0) && first.1.starts_with("$argon2id$"), "{first:?}");
    assert_ne!(first.1, second.1);
    let file = format!("[users]\nalice = \"{}\"\n", second.1.trim_end());
    corbie::access::AccessRules::parse("access.toml", &file).unwrap();
    assert_eq!(hash("\n").0, Some(64));
}
