//! The settings as a page of documentation, made from the table.
//!
//! Printed by `corbie help settings`; the book's page is this text, compared by a test.

use std::fmt::Write as _;

use crate::settings::{Places, Settings};

impl Settings {
    /// Every setting in Markdown: names in all sources, kind, range, default, and why.
    #[must_use]
    pub fn reference() -> String {
        let mut page = String::from(INTRODUCTION);
        for setting in Self::TABLE {
            let default = (setting.default)();
            let range = (setting.range)();
            let _ = writeln!(page, "\n## `{}`\n", setting.key);
            for line in setting.doc.lines() {
                let _ = writeln!(page, "{}", line.trim());
            }
            let value = if setting.bare { "" } else { " VALUE" };
            let _ = writeln!(page, "\n- argument: `{}{value}`", setting.argument);
            let _ = writeln!(page, "- environment: `{}`", setting.environment());
            if setting.places == Places::NotInFile {
                let _ = writeln!(page, "- not in `corbie.toml`");
            }
            let _ = writeln!(page, "- value: {}", setting.kind);
            if !range.is_empty() {
                let _ = writeln!(page, "- range: {range}");
            }
            if default.is_empty() {
                let _ = writeln!(page, "- default: empty");
            } else {
                let _ = writeln!(page, "- default: `{default}`");
            }
        }
        page
    }
}

const INTRODUCTION: &str = "\
# Settings

Every setting has one name, in four spellings: the builder's method and the key in `corbie.toml`
(`request_timeout`), the argument (`-ORBRequestTimeout 5s` or `-ORBRequestTimeout=5s`) and the
environment variable (`CORBIE_REQUEST_TIMEOUT`). Where several sources speak, the order is: builder
call, argument, environment, `corbie.toml`, default. The file is the one named by `-ORBConfigFile`
or `CORBIE_CONFIG_FILE`, else `corbie.toml` in the working folder if there is one. Lists are
separated by white space in the environment and are arrays in the file.
";
