//! `corbie.toml`: one key per setting, lists as arrays, initial references as a table.
//!
//! Values may be TOML strings, numbers or booleans; all go through the parser that arguments use.
//! Errors name the file and the line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use corbie_types::{SystemException, minor};

use crate::near_names;
use crate::settings::{PartialSettings, Places, Setting, Settings};

/// Reads the settings in `text`, which is the content of the file `path`.
pub(crate) fn read(path: &str, text: &str) -> Result<PartialSettings, SystemException> {
    let file = File { path, text };
    let table = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        minor::BAD_PARAM_ARGUMENT.no(format!(
            "{}: this is not TOML: {}",
            file.at(start),
            error.message()
        ))
    })?;
    let mut partial = PartialSettings::default();
    for (key, value) in table.get_ref() {
        let setting = file.find(key.get_ref(), key.span().start)?;
        file.take(setting, value, &mut partial)?;
    }
    Ok(partial)
}

struct File<'a> {
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    /// `corbie.toml line 3`.
    fn at(&self, offset: usize) -> String {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        let line = 1 + before.iter().filter(|octet| **octet == b'\n').count();
        format!("{} line {line}", self.path)
    }

    fn find(&self, key: &str, offset: usize) -> Result<&'static Setting, SystemException> {
        let setting = Setting::of_key(&key.replace('-', "_")).ok_or_else(|| {
            let near = near_names::suggestion(key, Settings::TABLE.iter().map(|s| s.key));
            minor::BAD_PARAM_ARGUMENT
                .no(format!("{}: `{key}` is not a setting{near}", self.at(offset)))
        })?;
        if setting.places == Places::NotInFile {
            return Err(minor::BAD_PARAM_ARGUMENT.no(format!(
                "{}: `{key}` cannot stand in the file; give it as `{}` or `{}`",
                self.at(offset),
                setting.argument,
                setting.environment()
            )));
        }
        Ok(setting)
    }

    fn take(
        &self,
        setting: &Setting,
        value: &Spanned<DeValue<'_>>,
        partial: &mut PartialSettings,
    ) -> Result<(), SystemException> {
        let source = format!("{}: `{}`", self.at(value.span().start), setting.key);
        match value.get_ref() {
            DeValue::Array(items) if setting.list => {
                items.iter().try_for_each(|item| self.take(setting, item, partial))
            }
            DeValue::Table(entries) if setting.list => {
                entries.iter().try_for_each(|(name, value)| {
                    let text = scalar(value.get_ref(), &source)?;
                    setting.parse(partial, &format!("{}={text}", name.get_ref()), &source)
                })
            }
            value => setting.parse(partial, &scalar(value, &source)?, &source),
        }
    }
}

/// The text of a value that is not a list.
fn scalar(value: &DeValue<'_>, source: &str) -> Result<String, SystemException> {
    match value {
        DeValue::String(text) => Ok(text.as_ref().to_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Boolean(value) => Ok(value.to_string()),
        other => Err(minor::BAD_PARAM_ARGUMENT.no(format!(
            "{source} is a TOML {}; write it as a string, a decimal number or a boolean",
            other.type_str()
        ))),
    }
}
