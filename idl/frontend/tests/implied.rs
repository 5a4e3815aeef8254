//! Implied IDL: what omniidl makes of the same files (AMI), the rules of the paper (AMH), names that
//! are taken, and that nothing is added unless asked for.

#[path = "support/files.rs"]
mod files;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use corbie_frontend::model::{Access, Implied, ImpliedKind};
use corbie_frontend::{Compilation, DefinitionKind, MemoryLoader, Model, Options, compile};
use expect_test::{Expect, expect};
use files::{idl_files, omniorb_folder, omniorb_loader};

/// Options with implied IDL of these kinds.
fn options(ami: bool, amh: bool) -> Options {
    let mut options = Options::new();
    options.implied.ami_callback = ami;
    options.implied.ami_poller = ami;
    options.implied.amh = amh;
    options
}

fn compile_text(text: &str, options: &Options) -> Compilation {
    let compilation = compile("test.idl", &MemoryLoader::new().file("test.idl", text), options);
    assert!(!compilation.has_errors(), "{}", compilation.render_diagnostics());
    compilation
}

#[track_caller]
fn check(text: &str, options: &Options, expected: &Expect) {
    expected.assert_eq(&compile_text(text, options).model.implied_idl());
}

/// Every type of a text of implied IDL, with its bases and operations; of a scoped name, the last
/// part only, since omniidl and we choose differently how much of a name to write.
fn types(text: &str) -> BTreeMap<String, Vec<String>> {
    let (mut types, mut modules) = (BTreeMap::<String, Vec<String>>::new(), Vec::new());
    let mut current: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("module ") {
            modules.push(name.trim_end_matches(" {").to_owned());
        } else if let Some((head, _)) = line.split_once('{') {
            let (head, bases) = head.split_once(" : ").unwrap_or((head, ""));
            let (word, name) = head.trim().rsplit_once(' ').expect("a word and a name");
            let name = format!("{}::{name}", modules.join("::"));
            let bases =
                if name.contains("AMI_") { last_parts(bases.trim()) } else { String::new() };
            types.entry(name.clone()).or_default().push(format!("{word} : {bases}"));
            current = (!line.ends_with("};")).then_some(name);
        } else if line == "};" {
            if current.take().is_none() {
                modules.pop();
            }
        } else if let (Some(name), false) = (&current, line.is_empty() || line.starts_with("//")) {
            types.entry(name.clone()).or_default().push(last_parts(line));
        }
    }
    // omniidl opens interfaces to which it adds nothing.
    types.retain(|name, lines| name.contains("AMI_") || lines.len() > 1);
    types
}

/// `::A::B x` as `B x`.
fn last_parts(line: &str) -> String {
    let mut kept = String::new();
    for part in line.split("::") {
        let name = kept.trim_end_matches(|c: char| c == '_' || c.is_alphanumeric());
        kept.truncate(name.len());
        kept.push_str(part);
    }
    kept
}

fn omniidl(folder: &Path, file: &Path, back_end: &[&str]) -> Option<String> {
    let output = Command::new("omniidl")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args(back_end)
        .arg(format!("-I{}", folder.display()))
        .arg(format!("-I{}", folder.join("COS").display()))
        .arg(file)
        .output()
        .expect("omniidl runs: install the Debian package omniidl");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

#[test]
fn omniidl_implies_the_same() {
    let folder = omniorb_folder();
    let loader = omniorb_loader(&folder);
    let options = options(true, false).define("__OMNIIDL__");
    let (mut compared, mut different) = (0, String::new());
    for file in idl_files(&folder) {
        let Some(theirs) = omniidl(&folder, &file, &["-bami"]) else { continue };
        // There a reply handler has a reply handler; ours end at what Messaging defines.
        if file.ends_with("messaging.idl") {
            continue;
        }
        let path = file.to_str().expect("the path is UTF-8");
        let ours = types(&compile(path, &loader, &options).model.implied_idl());
        let theirs = types(&theirs);
        compared += theirs.len();
        for (name, lines) in &theirs {
            if ours.get(name) != Some(lines) {
                different +=
                    &format!("{path}: {name}\n  theirs {lines:#?}\n  ours {:#?}\n", ours.get(name));
            }
        }
        for name in ours.keys().filter(|name| !theirs.contains_key(*name)) {
            different += &format!("{path}: only ours: {name}\n");
        }
    }
    assert!(different.is_empty(), "{different}");
    assert!(compared > 500, "only {compared} types were compared");
}

/// The specification lets an implied type stand beside its interface, so it has the same prefix.
/// omniidl leaves the prefix out; all else is the same.
#[test]
fn repository_ids_are_those_of_omniidl_with_the_prefix() {
    let folder = omniorb_folder();
    let loader = omniorb_loader(&folder);
    let options = options(true, false).define("__OMNIIDL__");
    let back_end = concat!("-p", env!("CARGO_MANIFEST_DIR"), "/tests/support");
    let (mut plain, mut prefixed) = (0, 0);
    for name in ["echo.idl", "COS/CosNaming.idl", "COS/CosNotifyChannelAdmin.idl"] {
        let file = folder.join(name);
        let theirs = omniidl(&folder, &file, &[back_end, "-bcorbie_ami_ids"]).expect("compiles");
        let path = file.to_str().expect("the path is UTF-8");
        let model = compile(path, &loader, &options).model;
        for line in theirs.lines() {
            let (name, id) = line.split_once(' ').expect("name and id");
            let ours = model.find(name).unwrap_or_else(|| panic!("we have no {name}"));
            let origin = &model[ours.implied.expect("it is implied").origin];
            let place = format!("{}:1.0", origin.scoped_name.replace("::", "/"));
            let prefix = origin.repository_id.strip_suffix(&place).expect("an ordinary id");
            assert_eq!(ours.repository_id, id.replacen("IDL:", prefix, 1));
            *(if prefix == "IDL:" { &mut plain } else { &mut prefixed }) += 1;
        }
    }
    assert!(plain >= 2 && prefixed >= 10, "{plain} without and {prefixed} with prefix");
}

const STOCK: &str = "
#pragma prefix \"example.org\"
module Stock {
  exception Bad { string why; };
  interface Base { void ping(); attribute long level; };
  interface Quoter : Base {
    readonly attribute string title;
    long get_quote(in string name, inout long age, out any more) raises (Bad);
    oneway void tell(in string what);
  };
  local interface Cache { void clear(); };
};
";

#[test]
fn amh_follows_the_rules_of_the_paper() {
    check(
        STOCK,
        &options(false, true),
        &expect![[r#"
            module Stock {
              local interface AMH_Base {
                void ping(in ::Stock::AMH_BaseResponseHandler handler);
                void get_level(in ::Stock::AMH_BaseResponseHandler handler);
                void set_level(in ::Stock::AMH_BaseResponseHandler handler, in long attr_level);
              };
              local interface AMH_BaseResponseHandler {
                void ping();
                void get_level(in long return_value);
                void set_level();
                void ping_excep(in ::Stock::AMH_BaseExceptionHolder holder);
                void get_level_excep(in ::Stock::AMH_BaseExceptionHolder holder);
                void set_level_excep(in ::Stock::AMH_BaseExceptionHolder holder);
              };
              valuetype AMH_BaseExceptionHolder {
                void raise_ping();
                void raise_get_level();
                void raise_set_level();
              };
              local interface AMH_Quoter : ::Stock::AMH_Base {
                void get_title(in ::Stock::AMH_QuoterResponseHandler handler);
                void get_quote(in ::Stock::AMH_QuoterResponseHandler handler, in string name, in long age);
                oneway void tell(in string what);
              };
              local interface AMH_QuoterResponseHandler : ::Stock::AMH_BaseResponseHandler {
                void get_title(in string return_value);
                void get_quote(in long return_value, in long age, in any more);
                void get_title_excep(in ::Stock::AMH_QuoterExceptionHolder holder);
                void get_quote_excep(in ::Stock::AMH_QuoterExceptionHolder holder);
              };
              valuetype AMH_QuoterExceptionHolder {
                void raise_get_title();
                void raise_get_quote() raises (::Stock::Bad);
              };
            };
        "#]],
    );
}

#[test]
fn only_the_chosen_operations_are_asynchronous() {
    let mut options = options(false, false);
    let chosen = vec!["get_quote".to_owned()];
    options.implied.amh_operations.push(("::Stock::Quoter".to_owned(), chosen));
    check(
        STOCK,
        &options,
        &expect![[r#"
        module Stock {
          local interface AMH_Quoter : ::Stock::Base {
            string get_title();
            void get_quote(in ::Stock::AMH_QuoterResponseHandler handler, in string name, in long age);
            oneway void tell(in string what);
          };
          local interface AMH_QuoterResponseHandler {
            void get_quote(in long return_value, in long age, in any more);
            void get_quote_excep(in ::Stock::AMH_QuoterExceptionHolder holder);
          };
          valuetype AMH_QuoterExceptionHolder {
            void raise_get_quote() raises (::Stock::Bad);
          };
        };
    "#]],
    );
    let model = compile_text(STOCK, &options).model;
    let is_amh = |name: &str| model.is_amh(model.find(name).expect("is there").id);
    assert!(is_amh("Stock::Quoter::get_quote"));
    for other in ["Stock::Quoter::title", "Stock::Quoter::tell", "Stock::Base::ping"] {
        assert!(!is_amh(other), "{other}");
    }
    // Several lists for one interface add up, and restrict it where all others are asynchronous.
    options.implied.amh = true;
    options.implied.amh_operations.push(("Stock::Base".to_owned(), vec!["ping".to_owned()]));
    options.implied.amh_operations.push(("Stock::Base".to_owned(), Vec::new()));
    let model = compile_text(STOCK, &options).model;
    let is_amh = |name: &str| model.is_amh(model.find(name).expect("is there").id);
    assert!(is_amh("Stock::Quoter::get_quote") && is_amh("Stock::Base::ping"));
    assert!(!is_amh("Stock::Base::level") && !is_amh("Stock::Quoter::title"));
}

#[test]
fn taken_names_are_freed() {
    let text = "
        interface X {
          void op(); void op_excep(); void sendc_op();
          attribute long level; void get_level();
          void raise_op();
        };
        interface Y : X { void get_level_excep(); };
        interface AMI_XHandler {};
        interface ami_ami_xhandler {};
        struct AMH_XResponseHandler { long x; };
    ";
    check(
        text,
        &options(true, true),
        &expect![[r#"
            interface X {
              void sendc_ami_op(in ::AMI_AMI_AMI_XHandler ami_handler);
              ::AMI_XPoller sendp_op();
              void sendc_op_excep(in ::AMI_AMI_AMI_XHandler ami_handler);
              ::AMI_XPoller sendp_op_excep();
              void sendc_sendc_op(in ::AMI_AMI_AMI_XHandler ami_handler);
              ::AMI_XPoller sendp_sendc_op();
              void sendc_get_level(in ::AMI_AMI_AMI_XHandler ami_handler);
              ::AMI_XPoller sendp_get_level();
              void sendc_set_level(in ::AMI_AMI_AMI_XHandler ami_handler, in long attr_level);
              ::AMI_XPoller sendp_set_level(in long attr_level);
              void sendc_ami_get_level(in ::AMI_AMI_AMI_XHandler ami_handler);
              ::AMI_XPoller sendp_ami_get_level();
              void sendc_raise_op(in ::AMI_AMI_AMI_XHandler ami_handler);
              ::AMI_XPoller sendp_raise_op();
            };
            interface AMI_AMI_AMI_XHandler : ::Messaging::ReplyHandler {
              void op();
              void op_excep();
              void sendc_op();
              void get_ami_level(in long ami_return_val);
              void set_level();
              void get_level();
              void raise_op();
              void op_ami_excep(in ::Messaging::ExceptionHolder excep_holder);
              void op_excep_excep(in ::Messaging::ExceptionHolder excep_holder);
              void sendc_op_excep(in ::Messaging::ExceptionHolder excep_holder);
              void get_ami_level_excep(in ::Messaging::ExceptionHolder excep_holder);
              void set_level_excep(in ::Messaging::ExceptionHolder excep_holder);
              void get_level_excep(in ::Messaging::ExceptionHolder excep_holder);
              void raise_op_excep(in ::Messaging::ExceptionHolder excep_holder);
            };
            abstract valuetype AMI_XPoller : ::Messaging::Poller {
              void op(in unsigned long ami_timeout);
              void op_excep(in unsigned long ami_timeout);
              void sendc_op(in unsigned long ami_timeout);
              void get_ami_level(in unsigned long ami_timeout, out long ami_return_val);
              void set_level(in unsigned long ami_timeout);
              void get_level(in unsigned long ami_timeout);
              void raise_op(in unsigned long ami_timeout);
            };
            local interface AMH_X {
              void op(in ::AMH_AMH_XResponseHandler handler);
              void op_excep(in ::AMH_AMH_XResponseHandler handler);
              void sendc_op(in ::AMH_AMH_XResponseHandler handler);
              void get_amh_level(in ::AMH_AMH_XResponseHandler handler);
              void set_level(in ::AMH_AMH_XResponseHandler handler, in long attr_level);
              void get_level(in ::AMH_AMH_XResponseHandler handler);
              void raise_op(in ::AMH_AMH_XResponseHandler handler);
            };
            local interface AMH_AMH_XResponseHandler {
              void op();
              void op_excep();
              void sendc_op();
              void get_amh_level(in long return_value);
              void set_level();
              void get_level();
              void raise_op();
              void op_amh_excep(in ::AMH_XExceptionHolder holder);
              void op_excep_excep(in ::AMH_XExceptionHolder holder);
              void sendc_op_excep(in ::AMH_XExceptionHolder holder);
              void get_amh_level_excep(in ::AMH_XExceptionHolder holder);
              void set_level_excep(in ::AMH_XExceptionHolder holder);
              void get_level_excep(in ::AMH_XExceptionHolder holder);
              void raise_op_excep(in ::AMH_XExceptionHolder holder);
            };
            valuetype AMH_XExceptionHolder {
              void raise_op();
              void raise_op_excep();
              void raise_sendc_op();
              void raise_get_level();
              void raise_set_level();
              void raise_amh_get_level();
              void raise_raise_op();
            };
            interface Y {
              void sendc_get_level_excep(in ::AMI_YHandler ami_handler);
              ::AMI_YPoller sendp_get_level_excep();
            };
            interface AMI_YHandler : ::AMI_AMI_AMI_XHandler {
              void get_level_excep_ami();
              void get_level_excep_ami_excep(in ::Messaging::ExceptionHolder excep_holder);
            };
            abstract valuetype AMI_YPoller : ::AMI_XPoller {
              void get_level_excep(in unsigned long ami_timeout);
            };
            local interface AMH_Y : ::AMH_X {
              void get_level_excep(in ::AMH_YResponseHandler handler);
            };
            local interface AMH_YResponseHandler : ::AMH_AMH_XResponseHandler {
              void get_level_excep_amh();
              void get_level_excep_amh_excep(in ::AMH_YExceptionHolder holder);
            };
            valuetype AMH_YExceptionHolder {
              void raise_get_level_excep();
            };
            interface AMI_AMI_XHandlerHandler : ::Messaging::ReplyHandler {};
            abstract valuetype AMI_AMI_XHandlerPoller : ::Messaging::Poller {};
            local interface AMH_AMI_XHandler {};
            local interface AMH_AMI_XHandlerResponseHandler {};
            valuetype AMH_AMI_XHandlerExceptionHolder {};
            interface AMI_ami_ami_xhandlerHandler : ::Messaging::ReplyHandler {};
            abstract valuetype AMI_ami_ami_xhandlerPoller : ::Messaging::Poller {};
            local interface AMH_ami_ami_xhandler {};
            local interface AMH_ami_ami_xhandlerResponseHandler {};
            valuetype AMH_ami_ami_xhandlerExceptionHolder {};
        "#]],
    );
}

#[test]
fn bases_may_be_declared_after_what_derives_from_them() {
    let text = "
        interface D;
        abstract interface A { D find(); };
        interface B : A { void back(); };
        interface D : B { void go(in D other); };
    ";
    let model = compile_text(text, &options(true, false)).model;
    let handler = |name: &str| {
        let id = model.find(name).expect("is there").id;
        model.implied(id, ImpliedKind::AmiHandler).expect("a handler")
    };
    assert_eq!(model.direct_bases(handler("D")), [handler("B")]);
    assert_eq!(model.direct_bases(handler("B")), [handler("A")]);
    let reply_handler = model.find("Messaging::ReplyHandler").expect("supplied");
    assert_eq!(model.direct_bases(handler("A")), [reply_handler.id]);
    assert_eq!(reply_handler.repository_id, "IDL:omg.org/Messaging/ReplyHandler:1.0");
}

/// From interfaces and operations to what they imply, and back.
#[test]
fn implied_definitions_are_linked() {
    let model = compile_text(STOCK, &options(true, true)).model;
    let find = |name: &str| model.find(name).unwrap_or_else(|| panic!("no {name}")).id;
    let get_quote = find("Stock::Quoter::get_quote");
    for (kind, name) in [
        (ImpliedKind::AmiReply(Access::Call), "Stock::AMI_QuoterHandler::get_quote"),
        (ImpliedKind::AmiExcep(Access::Call), "Stock::AMI_QuoterHandler::get_quote_excep"),
        (ImpliedKind::AmiPoll(Access::Call), "Stock::AMI_QuoterPoller::get_quote"),
        (ImpliedKind::AmiSendc(Access::Call), "Stock::Quoter::sendc_get_quote"),
        (ImpliedKind::AmiSendp(Access::Call), "Stock::Quoter::sendp_get_quote"),
        (ImpliedKind::AmhOperation(Access::Call), "Stock::AMH_Quoter::get_quote"),
        (ImpliedKind::AmhReply(Access::Call), "Stock::AMH_QuoterResponseHandler::get_quote"),
        (ImpliedKind::AmhRaise(Access::Call), "Stock::AMH_QuoterExceptionHolder::raise_get_quote"),
    ] {
        assert_eq!(model.implied(get_quote, kind), Some(find(name)), "{kind:?}");
        let implied = model[find(name)].implied;
        assert_eq!(implied, Some(Implied { kind, origin: get_quote }), "{name}");
    }
    let tell = find("Stock::Quoter::tell");
    assert_eq!(model.implied(tell, ImpliedKind::AmiSendc(Access::Call)), None);
    assert_eq!(model.implied(find("Stock::Cache"), ImpliedKind::AmiHandler), None);
    // `sendc_` is of the client only: servants have no such operation.
    let own = model.all_operations(find("Stock::Quoter"));
    assert!(own.iter().all(|&id| !model[id].is_implied()));
    let handler = &model[find("Stock::AMI_QuoterHandler")];
    assert_eq!(handler.repository_id, "IDL:example.org/Stock/AMI_QuoterHandler:1.0");
}

#[test]
fn nothing_is_implied_unless_asked_for() {
    let names = |model: &Model| model.iter().map(|d| d.scoped_name.clone()).collect::<Vec<_>>();
    let plain = compile_text(STOCK, &options(false, false)).model;
    assert!(plain.iter().all(|d| d.implied.is_none() && !d.is_messaging()));
    assert_eq!(plain.implied_idl(), "");
    assert_eq!(plain.len(), 11);
    let all = compile_text(STOCK, &options(true, true)).model;
    // What the text defines stays as it is, and comes first.
    assert_eq!(names(&plain), names(&all)[..plain.len()]);
    for (old, new) in plain.iter().zip(all.iter()) {
        assert_eq!(old.repository_id, new.repository_id);
        if !matches!(old.kind, DefinitionKind::Module(_)) {
            assert_eq!(old.children(), new.children());
        }
    }
}

#[test]
fn a_faulty_text_implies_nothing() {
    let text = "interface X { void op(in Missing m); };";
    let loader = MemoryLoader::new().file("test.idl", text);
    let compilation = compile("test.idl", &loader, &options(true, true));
    assert_eq!(compilation.diagnostics.len(), 1);
    assert!(compilation.model.iter().all(|d| !d.is_implied()));
}
