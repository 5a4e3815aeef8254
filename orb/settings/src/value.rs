//! How one value of a setting is read from text and written as text, by type.
//!
//! Used by the table of `settings`; the same parser serves arguments, environment and file.

use std::time::Duration;

use corbie_cdr::{CodeSet, Version};

/// A type that a setting may have.
pub(crate) trait SettingValue: Sized {
    /// What a value looks like, in words, after "expected".
    const KIND: &'static str;
    /// True when the argument stands alone (`-ORBNoProprietaryActivation`).
    const BARE: bool = false;
    /// True when several may be given.
    const LIST: bool = false;

    /// Reads a value, or says what is wrong with it.
    fn parse(text: &str) -> Result<Self, String>;

    /// Writes the value as [`SettingValue::parse`] reads it.
    fn show(&self) -> String;

    /// Whether the value lies in the range; types without an order say yes.
    fn lies_within(&self, _min: &Self, _max: &Self) -> bool {
        true
    }

    /// Adds what came later in the same source: a list grows, everything else is replaced.
    fn add(&mut self, later: Self) {
        *self = later;
    }

    /// Joins with what a source of lower precedence says: only named lists take from it.
    fn take_from_lower(&mut self, _lower: Self) {}
}

/// Checks a range, or says that the value lies outside of it.
pub(crate) fn within<T: SettingValue>(value: &T, min: &T, max: &T) -> Result<(), String> {
    if value.lies_within(min, max) {
        return Ok(());
    }
    Err(format!("{} is outside of {} to {}", value.show(), min.show(), max.show()))
}

/// Puts a value into a source that may already have one.
pub(crate) fn add<T: SettingValue>(field: &mut Option<T>, value: T) {
    match field {
        Some(earlier) => earlier.add(value),
        None => *field = Some(value),
    }
}

/// Joins what two sources say about one setting, the higher one first.
pub(crate) fn join<T: SettingValue>(higher: Option<T>, lower: Option<T>) -> Option<T> {
    match (higher, lower) {
        (Some(mut higher), Some(lower)) => {
            higher.take_from_lower(lower);
            Some(higher)
        }
        (higher, lower) => higher.or(lower),
    }
}

impl SettingValue for String {
    const KIND: &'static str = "text";

    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl SettingValue for bool {
    const KIND: &'static str = "`true` or `false`";
    const BARE: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err("it is neither true nor false".to_owned()),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

/// A count: of threads, connections, elements, levels.
impl SettingValue for u32 {
    const KIND: &'static str = "a whole number";

    fn parse(text: &str) -> Result<Self, String> {
        text.replace('_', "").parse().map_err(|e| format!("{e}"))
    }

    fn show(&self) -> String {
        self.to_string()
    }

    fn lies_within(&self, min: &Self, max: &Self) -> bool {
        (min..=max).contains(&self)
    }
}

/// Units, of which a text may end with one and a shown value has the largest that fits.
type Units = [(&'static str, u64)];

/// Splits a text into its number and the unit at its end, if it has one.
fn split_unit<'t>(text: &'t str, units: &Units) -> Option<(&'t str, u64)> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = units.iter().find(|(suffix, _)| text[number.len()..].eq_ignore_ascii_case(suffix));
    unit.map(|(_, unit)| (number.trim_end(), *unit))
}

/// `number` in the largest unit of which it is a multiple.
fn show_in(number: u64, units: &Units) -> Option<String> {
    let fits = |(_, unit): &&(&str, u64)| number >= *unit && number.is_multiple_of(*unit);
    units.iter().find(fits).map(|(suffix, unit)| format!("{}{suffix}", number / unit))
}

const OCTET_UNITS: &Units =
    &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1), ("B", 1)];

/// A number of octets.
impl SettingValue for usize {
    const KIND: &'static str = "a number of octets: `65536`, `64KiB`, `64MiB`, `1GiB`";

    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().replace('_', "");
        let (digits, unit) = split_unit(&text, OCTET_UNITS).unwrap_or((&text, 1));
        let number: u64 = digits.parse().map_err(|e| format!("{e}"))?;
        let octets = number.checked_mul(unit).ok_or("it is too large")?;
        Self::try_from(octets).map_err(|_| "it is too large for this machine".to_owned())
    }

    fn show(&self) -> String {
        show_in(*self as u64, OCTET_UNITS).unwrap_or_else(|| "0".to_owned())
    }

    fn lies_within(&self, min: &Self, max: &Self) -> bool {
        (min..=max).contains(&self)
    }
}

/// Units of time in nanoseconds.
const TIME_UNITS: &Units = &[
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
];

impl SettingValue for Duration {
    const KIND: &'static str = "a time with its unit: `50us`, `100ms`, `1.5s`, `2min`, `1h`";

    fn parse(text: &str) -> Result<Self, String> {
        let (digits, unit) = split_unit(text.trim(), TIME_UNITS).ok_or("it has no unit")?;
        let decimal = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let number: f64 =
            digits.parse().ok().filter(|_| decimal).ok_or("the number before the unit is wrong")?;
        #[allow(clippy::cast_precision_loss, reason = "units are far below 2^53")]
        Self::try_from_secs_f64(number * unit as f64 / 1e9).map_err(|_| "it is too long".to_owned())
    }

    fn show(&self) -> String {
        let nanoseconds = u64::try_from(self.as_nanos()).unwrap_or(u64::MAX);
        if let Some(shown) = show_in(nanoseconds, TIME_UNITS) {
            return shown;
        }
        #[allow(clippy::cast_precision_loss, reason = "shown to people")]
        let microseconds = nanoseconds as f64 / 1e3;
        format!("{microseconds}us")
    }

    fn lies_within(&self, min: &Self, max: &Self) -> bool {
        (min..=max).contains(&self)
    }
}

impl SettingValue for CodeSet {
    const KIND: &'static str = "`UTF-8` or `ISO-8859-1` for char, `UTF-16` or `UCS-2` for wchar";

    fn parse(text: &str) -> Result<Self, String> {
        let wanted = text.trim().replace('_', "-");
        let found = CODE_SETS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&wanted));
        found.map(|found| found.1).ok_or_else(|| "this code set is not known here".to_owned())
    }

    fn show(&self) -> String {
        let found = CODE_SETS.iter().find(|(_, code_set)| code_set == self);
        found.map_or_else(|| format!("{:#010x}", self.0), |found| found.0.to_owned())
    }
}

/// The code sets that can be native, by the common names of the OSF registry: those that
/// `corbie_cdr` converts.
const CODE_SETS: [(&str, CodeSet); 4] = [
    ("UTF-8", CodeSet::UTF_8),
    ("ISO-8859-1", CodeSet::ISO_8859_1),
    ("UTF-16", CodeSet::UTF_16),
    ("UCS-2", CodeSet::UCS_2),
];

impl SettingValue for Version {
    const KIND: &'static str = "`1.0`, `1.1` or `1.2`";

    fn parse(text: &str) -> Result<Self, String> {
        let known = [Self::V1_0, Self::V1_1, Self::V1_2].into_iter();
        let mut those = known.filter(|version| version.show() == text.trim());
        those.next().ok_or_else(|| "there is no such GIOP version here".to_owned())
    }

    fn show(&self) -> String {
        format!("{}.{}", self.major, self.minor)
    }
}

/// A value that may be switched off with `none`.
macro_rules! optional {
    ($($type:ty: $kind:literal),+) => { $(
        impl SettingValue for Option<$type> {
            const KIND: &'static str = $kind;

            fn parse(text: &str) -> Result<Self, String> {
                if text.trim().eq_ignore_ascii_case("none") {
                    return Ok(None);
                }
                <$type as SettingValue>::parse(text).map(Some)
            }

            fn show(&self) -> String {
                self.as_ref().map_or_else(|| "none".to_owned(), SettingValue::show)
            }

            fn lies_within(&self, min: &Self, max: &Self) -> bool {
                match (self, min, max) {
                    (Some(value), Some(min), Some(max)) => value.lies_within(min, max),
                    _ => true,
                }
            }
        }
    )+ };
}
optional! {
    Duration: "`none`, or a time with its unit: `50us`, `100ms`, `1.5s`, `2min`, `1h`",
    usize: "`none`, or a number of octets: `65536`, `64KiB`, `64MiB`, `1GiB`",
    u32: "`none`, or a whole number",
    String: "`none`, or text"
}
