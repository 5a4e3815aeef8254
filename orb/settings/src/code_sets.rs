//! Code sets and GIOP versions as values of settings.
//!
//! Used by `settings`. Names are those of the OSF registry's common spelling; only the code sets
//! that `corbie_cdr` can convert are accepted.

use corbie_cdr::{CodeSet, Version};

use crate::value::SettingValue;

/// The code sets that can be native, with the names that settings take.
const CODE_SETS: [(&str, CodeSet); 4] = [
    ("UTF-8", CodeSet::UTF_8),
    ("ISO-8859-1", CodeSet::ISO_8859_1),
    ("UTF-16", CodeSet::UTF_16),
    ("UCS-2", CodeSet::UCS_2),
];

impl SettingValue for CodeSet {
    const KIND: &'static str = "`UTF-8` or `ISO-8859-1` for char, `UTF-16` or `UCS-2` for wchar";

    fn parse(text: &str) -> Result<Self, String> {
        let wanted = text.trim().to_ascii_uppercase().replace('_', "-");
        CODE_SETS
            .iter()
            .find(|(name, _)| *name == wanted)
            .map(|(_, code_set)| *code_set)
            .ok_or_else(|| "this code set is not known here".to_owned())
    }

    fn show(&self) -> String {
        CODE_SETS
            .iter()
            .find(|(_, code_set)| code_set == self)
            .map_or_else(|| format!("{:#010x}", self.0), |(name, _)| (*name).to_owned())
    }
}

impl SettingValue for Version {
    const KIND: &'static str = "`1.0`, `1.1` or `1.2`";

    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "1.0" => Ok(Self::V1_0),
            "1.1" => Ok(Self::V1_1),
            "1.2" => Ok(Self::V1_2),
            _ => Err("there is no such GIOP version here".to_owned()),
        }
    }

    fn show(&self) -> String {
        format!("{}.{}", self.major, self.minor)
    }
}
