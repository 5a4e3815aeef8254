//! Tests of the settings: one per rule, by source.
//! Sources are given as text, so that nothing outside of the test counts.

mod combinations;
mod published;
mod sources;
mod table;
mod values;

use corbie_types::SystemException;

use super::{PartialSettings, Settings};

/// Joins sources given as plain text: arguments split at spaces, `NAME=value` pairs, a file.
fn join(args: &str, env: &[(&str, &str)], file: Option<&str>) -> Result<Settings, SystemException> {
    let mut args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
    let env = |name: &str| {
        env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let file = file.map(|text| ("corbie.toml", text));
    Settings::from_sources(PartialSettings::new(), &mut args, &env, file)
}

/// The sentence with which a set of arguments is refused.
fn refusal(args: &str) -> String {
    sentence(join(args, &[], None))
}

fn sentence(outcome: Result<Settings, SystemException>) -> String {
    let exception = outcome.expect_err("these settings have to be refused");
    exception.detail.expect("a refusal says why").into()
}
