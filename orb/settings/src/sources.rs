//! Joins the sources: builder, then `-ORB…` arguments, then `CORBIE_…` environment, then
//! `corbie.toml`, then the default.
//!
//! [`Settings::from_sources`] is pure; [`Settings::from_process`] is the thin function that reads
//! the real environment and the real file. Called by `Orb::init` and the ORB's builder.

use corbie_types::SystemException;

#[cfg(feature = "config-file")]
use crate::file;
use crate::refusal::Refusal;
use crate::settings::{PartialSettings, Settings};
use crate::{arguments, combinations, environment, near_names};

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
        Ok(with_file(upper, file)?)
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
            return Ok(with_file(upper, None)?);
        }
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(with_file(upper, Some((path, &text)))?),
            Err(error) if !must_exist && error.kind() == std::io::ErrorKind::NotFound => {
                Ok(with_file(upper, None)?)
            }
            Err(error) => Err(Refusal::surroundings(format!(
                "the settings file `{path}` cannot be read: {error}"
            ))
            .into()),
        }
    }
}

impl PartialSettings {
    /// Sets one setting by its key (`request_timeout`) from text, as a source would.
    ///
    /// # Errors
    /// BAD_PARAM (COMPLETED_NO) for an unknown key or a value that cannot be used.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), SystemException> {
        let setting =
            Settings::TABLE.iter().find(|setting| setting.key == key).ok_or_else(|| {
                let near = near_names::suggestion(key, Settings::TABLE.iter().map(|s| s.key));
                Refusal::parameter(format!("`{key}` is not a setting{near}"))
            })?;
        Ok(setting.parse(self, text, &format!("the setting `{key}`"))?)
    }
}

fn upper_sources(
    builder: PartialSettings,
    args: &mut Vec<String>,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<PartialSettings, Refusal> {
    let arguments = arguments::take(args)?;
    let environment = environment::read(env)?;
    Ok(builder.over(arguments).over(environment))
}

fn with_file(upper: PartialSettings, file: Option<(&str, &str)>) -> Result<Settings, Refusal> {
    let file = match file {
        #[cfg(feature = "config-file")]
        Some((path, text)) => file::read(path, text)?,
        #[cfg(not(feature = "config-file"))]
        Some((path, _)) => {
            return Err(Refusal::parameter(format!(
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
