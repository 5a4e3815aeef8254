//! `CORBIE_…` environment variables: the key of the setting in capitals.
//!
//! Several items of a list are separated by white space, since URLs contain commas. An empty
//! variable counts as one that is not set.

use crate::refusal::Refusal;
use crate::settings::{PartialSettings, Settings};

/// Asks `env` for every setting.
pub(crate) fn read(env: &dyn Fn(&str) -> Option<String>) -> Result<PartialSettings, Refusal> {
    let mut partial = PartialSettings::default();
    for setting in Settings::TABLE {
        let name = setting.environment();
        let Some(value) = env(&name).filter(|value| !value.trim().is_empty()) else {
            continue;
        };
        let source = format!("the environment variable `{name}`");
        if setting.list {
            for item in value.split_whitespace() {
                setting.parse(&mut partial, item, &source)?;
            }
        } else {
            setting.parse(&mut partial, value.trim(), &source)?;
        }
    }
    Ok(partial)
}
