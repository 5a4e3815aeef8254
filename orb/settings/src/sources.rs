//! Joins the sources: builder, then `-ORB…` arguments, then `CORBIE_…` environment, then
//! `corbie.toml`, then the default.
//!
//! [`Settings::from_sources`] is pure; [`Settings::from_process`] is the thin function that reads
//! the real environment and the real file. Called by `Orb::init` and the ORB's builder.

use corbie_types::{SystemException, minor};

#[cfg(feature = "config-file")]
use crate::file;
use crate::settings::{PartialSettings, Setting, Settings};
use crate::{arguments, combinations, near_names};

/// The file that is read when no other is named, if it exists.
const DEFAULT_FILE: &str = "corbie.toml";

impl Settings {
    /// Joins all sources and checks the outcome. Arguments that are recognised are taken out of
    /// `args`; others are left for the application. `file` is path and text.
    ///
    /// # Errors
    /// BAD_PARAM (COMPLETED_NO) for a name, value or combination that cannot be used; the detail
    /// is a sentence that says which source is wrong and what to write.
    pub fn from_sources(
        builder: PartialSettings,
        args: &mut Vec<String>,
        env: &dyn Fn(&str) -> Option<String>,
        file: Option<(&str, &str)>,
    ) -> Result<Self, SystemException> {
        let upper = upper_sources(builder, args, env)?;
        with_file(upper, file)
    }

    /// The same with the environment and the file of this process. The file is named by
    /// `config_file` of a higher source (then it has to exist) or is `./corbie.toml`.
    ///
    /// # Errors
    /// As [`Settings::from_sources`], and INITIALIZE (COMPLETED_NO) if the file cannot be read.
    pub fn from_process(
        builder: PartialSettings,
        args: &mut Vec<String>,
    ) -> Result<Self, SystemException> {
        let upper = upper_sources(builder, args, &|name| std::env::var(name).ok())?;
        let named = upper.config_file.clone().flatten();
        let (path, must_exist) = match &named {
            Some(path) => (path.as_str(), true),
            None => (DEFAULT_FILE, false),
        };
        if !must_exist && cfg!(not(feature = "config-file")) {
            return with_file(upper, None);
        }
        match std::fs::read_to_string(path) {
            Ok(text) => with_file(upper, Some((path, &text))),
            Err(error) if !must_exist && error.kind() == std::io::ErrorKind::NotFound => {
                with_file(upper, None)
            }
            Err(error) => Err(minor::INITIALIZE_CONFIGURATION
                .no(format!("the settings file `{path}` cannot be read: {error}"))),
        }
    }
}

impl PartialSettings {
    /// Sets one setting by its key (`request_timeout`) from text, as a source would.
    ///
    /// # Errors
    /// BAD_PARAM (COMPLETED_NO) for an unknown key or a value that cannot be used.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), SystemException> {
        let setting = Setting::of_key(key).ok_or_else(|| {
            let near = near_names::suggestion(key, Settings::TABLE.iter().map(|s| s.key));
            minor::BAD_PARAM_ARGUMENT.no(format!("`{key}` is not a setting{near}"))
        })?;
        setting.parse(self, text, &format!("the setting `{key}`"))
    }
}

fn upper_sources(
    builder: PartialSettings,
    args: &mut Vec<String>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<PartialSettings, SystemException> {
    let arguments = arguments::take(args)?;
    let environment = from_environment(env)?;
    Ok(builder.over(arguments).over(environment))
}

/// `CORBIE_…` variables: the key of each setting in capitals. Several items of a list are separated
/// by white space, since URLs contain commas. An empty variable counts as one that is not set.
fn from_environment(
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<PartialSettings, SystemException> {
    let mut partial = PartialSettings::default();
    for setting in Settings::TABLE {
        let name = setting.environment();
        let value = env(&name).unwrap_or_default();
        let source = format!("the environment variable `{name}`");
        if setting.list {
            let mut items = value.split_whitespace();
            items.try_for_each(|item| setting.parse(&mut partial, item, &source))?;
        } else if !value.trim().is_empty() {
            setting.parse(&mut partial, value.trim(), &source)?;
        }
    }
    Ok(partial)
}

fn with_file(
    upper: PartialSettings,
    file: Option<(&str, &str)>,
) -> Result<Settings, SystemException> {
    let file = match file {
        #[cfg(feature = "config-file")]
        Some((path, text)) => file::read(path, text)?,
        #[cfg(not(feature = "config-file"))]
        Some((path, _)) => {
            return Err(minor::BAD_PARAM_ARGUMENT.no(format!(
                "the settings file `{path}` cannot be read: this program was built without the \
                 feature config-file of corbie"
            )));
        }
        None => PartialSettings::default(),
    };
    let settings = upper.over(file).resolve();
    combinations::check(&settings)?;
    Ok(settings)
}
