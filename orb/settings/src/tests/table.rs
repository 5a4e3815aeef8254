//! Properties of the table itself: names are unique and defaults survive being written and read.
//! What holds for every entry is asked of every entry.

use std::collections::HashSet;

use super::super::Places;
use super::*;

#[test]
fn names_are_unique_in_every_source() {
    let mut seen = HashSet::new();
    for setting in Settings::TABLE {
        assert!(seen.insert(setting.argument.to_ascii_lowercase()), "{}", setting.argument);
        assert!(seen.insert(setting.environment()), "{}", setting.key);
        assert!(setting.argument.starts_with("-ORB"), "{}", setting.argument);
        assert!(!setting.doc.trim().is_empty(), "{}", setting.key);
    }
}

#[test]
fn every_default_is_read_back_from_what_is_shown() {
    let defaults = Settings::default();
    for setting in Settings::TABLE {
        let shown = (setting.show)(&defaults);
        assert_eq!(shown, (setting.default)(), "{}", setting.key);
        let mut partial = PartialSettings::new();
        // An empty list is shown as nothing, which no list reads.
        if !(setting.list && shown.is_empty()) {
            partial.set(setting.key, &shown).unwrap_or_else(|e| panic!("{:?}", e.detail));
            assert_eq!(shown, (setting.show)(&partial.resolve()), "{}", setting.key);
        }
    }
}

#[test]
fn defaults_alone_are_accepted() {
    assert_eq!(join("", &[], None).unwrap(), Settings::default());
}

#[test]
fn every_time_out_of_the_default_is_finite() {
    for setting in Settings::TABLE.iter().filter(|s| s.key.ends_with("_timeout")) {
        assert_ne!((setting.default)(), "none", "{}", setting.key);
    }
}

#[test]
fn every_setting_can_stand_in_every_source() {
    for setting in Settings::TABLE {
        let value = match (setting.default)() {
            empty if empty.is_empty() && setting.key == "init_refs" => "A=IOR:00".to_owned(),
            empty if empty.is_empty() => "x".to_owned(),
            shown => shown,
        };
        let by_argument = join(&format!("{}={value}", setting.argument), &[], None);
        let by_environment = join("", &[(&setting.environment(), &value)], None);
        assert_eq!(by_argument.unwrap(), by_environment.unwrap(), "{}", setting.key);
        if setting.places == Places::Everywhere {
            let file = match value.split_once('=') {
                Some((name, url)) => format!("[{}]\n{name} = '{url}'", setting.key),
                None => format!("{} = '{value}'", setting.key),
            };
            let by_argument = join(&format!("{}={value}", setting.argument), &[], None);
            assert_eq!(join("", &[], Some(&file)).unwrap(), by_argument.unwrap(), "{file}");
        }
    }
}

#[test]
fn the_reference_page_has_every_setting() {
    let page = Settings::reference();
    for setting in Settings::TABLE {
        assert!(page.contains(&format!("\n## `{}`\n", setting.key)));
        assert!(page.contains(setting.argument) && page.contains(&setting.environment()));
    }
    assert!(page.contains("- range: 1 to 10000\n- default: `64`"));
}

#[test]
fn decoder_limits_are_those_of_the_settings() {
    let settings = join("-ORBNestingDepthMax 9 -ORBMessageOctetsMax 1MiB", &[], None).unwrap();
    let limits = settings.limits();
    assert_eq!((limits.nesting_depth, limits.message_octets), (9, 1 << 20));
    assert_eq!(Settings::default().limits(), corbie_cdr::Limits::default());
}
