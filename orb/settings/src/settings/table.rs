//! The machinery of the settings table: one entry makes the field, the default, the parser of
//! every source and the documentation.
//!
//! Used once, by `settings`; read by `arguments`, `environment`, `file` and `reference`.

use corbie_types::{SystemException, minor};

use super::{PartialSettings, Settings};

/// From which sources a setting may come, beside the builder, which may set everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// `-ORB…` arguments, the environment and the file.
    Everywhere,
    /// `-ORB…` arguments and the environment: it says which file to read.
    NotInFile,
}

/// One entry of the table: what is known of a setting without having a value of it.
#[derive(Debug)]
pub struct Setting {
    /// The field of [`Settings`] and the key in `corbie.toml`, for example `request_timeout`.
    pub key: &'static str,
    /// The argument, for example `-ORBRequestTimeout`.
    pub argument: &'static str,
    /// What a value looks like, in words.
    pub kind: &'static str,
    /// The smallest and the largest value, as text; empty when every value of the kind is good.
    pub range: fn() -> String,
    /// The default, as it would be written; empty for "nothing".
    pub default: fn() -> String,
    /// What it does and why the default is what it is: Markdown.
    pub doc: &'static str,
    /// Where it may stand.
    pub places: Places,
    /// True when the argument stands alone, without a value.
    pub bare: bool,
    /// True when it may be given several times, each adding to a list.
    pub list: bool,
    /// Parses one value into the partial settings of one source.
    pub(crate) take: fn(&mut PartialSettings, &str) -> Result<(), String>,
    /// The value in finished settings, as it would be written.
    pub show: fn(&Settings) -> String,
}

impl Setting {
    /// The name in the environment, for example `CORBIE_REQUEST_TIMEOUT`.
    #[must_use]
    pub fn environment(&self) -> String {
        format!("CORBIE_{}", self.key.to_ascii_uppercase())
    }

    /// The setting with this key.
    pub(crate) fn of_key(key: &str) -> Option<&'static Self> {
        Settings::TABLE.iter().find(|setting| setting.key == key)
    }

    /// Takes `text` for this setting, or says in a sentence that begins with `source` why not.
    pub(crate) fn parse(
        &self,
        into: &mut PartialSettings,
        text: &str,
        source: &str,
    ) -> Result<(), SystemException> {
        (self.take)(into, text).map_err(|why| {
            let range = (self.range)();
            let range = if range.is_empty() { range } else { format!(" ({range})") };
            let kind = self.kind;
            minor::BAD_PARAM_ARGUMENT.no(format!(
                "{source} has the value `{text}`, which cannot be used: {why}; \
                 expected {kind}{range}"
            ))
        })
    }
}

/// Declares [`Settings`], [`PartialSettings`] and the table from one list of entries:
/// doc comment, `field: type = default, "-ORBArgument"`, then optionally
/// `, within (min, max)` and `[places]`.
macro_rules! settings {
    ($(
        $(#[doc = $doc:literal])+
        $field:ident: $type:ty = $default:expr, $argument:literal
        $(, within ($min:expr, $max:expr))? $([$places:ident])? ;
    )+) => {
        /// Everything that configures an ORB, complete and checked.
        ///
        /// Made by [`Settings::from_sources`] or [`Settings::from_process`]; `Default` is the
        /// table's default of each setting, which is safe against a hostile peer.
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct Settings { $( $(#[doc = $doc])+ pub $field: $type, )+ }

        /// What one source says: a builder call, the arguments, the environment or the file.
        ///
        /// A field that is `None` is left to the sources below.
        #[derive(Debug, Clone, Default, PartialEq)]
        #[non_exhaustive]
        pub struct PartialSettings { $( $(#[doc = $doc])+ pub $field: Option<$type>, )+ }

        impl Default for Settings {
            fn default() -> Self { Self { $( $field: $default, )+ } }
        }

        impl PartialSettings {
            /// Says nothing about any setting.
            #[must_use]
            pub fn new() -> Self { Self::default() }

            $( $(#[doc = $doc])+
            #[must_use]
            pub fn $field(mut self, value: impl Into<$type>) -> Self {
                self.$field = Some(value.into());
                self
            } )+

            /// What this source says, and what `lower` says where this one is silent.
            #[must_use]
            pub(crate) fn over(self, lower: Self) -> Self {
                Self { $( $field: $crate::value::join(self.$field, lower.$field), )+ }
            }

            /// The finished settings: defaults where no source spoke. Not yet checked together.
            #[must_use]
            pub(crate) fn resolve(self) -> Settings {
                Settings { $( $field: self.$field.unwrap_or_else(|| $default), )+ }
            }
        }

        impl Settings {
            /// Every setting, in the order of the documentation.
            pub const TABLE: &'static [Setting] = &[ $( Setting {
                key: stringify!($field),
                argument: $argument,
                kind: <$type as SettingValue>::KIND,
                range: || settings!(@range $type $(, $min, $max)?),
                default: || SettingValue::show(&{ let value: $type = $default; value }),
                doc: concat!($($doc, "\n"),+),
                places: settings!(@places $($places)?),
                bare: <$type as SettingValue>::BARE,
                list: <$type as SettingValue>::LIST,
                take: |partial, text| {
                    let value = <$type as SettingValue>::parse(text)?;
                    $( $crate::value::within(&value, &$min, &$max)?; )?
                    $crate::value::add(&mut partial.$field, value);
                    Ok(())
                },
                show: |settings| SettingValue::show(&settings.$field),
            }, )+ ];

            /// Checks the range of every setting, for values that came from a builder.
            pub(crate) fn check_ranges(&self) -> Result<(), (&'static str, String)> {
                $( $(
                    $crate::value::within(&self.$field, &$min, &$max)
                        .map_err(|why| (stringify!($field), why))?;
                )? )+
                Ok(())
            }
        }
    };
    (@range $type:ty) => { String::new() };
    (@range $type:ty, $min:expr, $max:expr) => {{
        let (min, max): ($type, $type) = ($min, $max);
        format!("{} to {}", SettingValue::show(&min), SettingValue::show(&max))
    }};
    (@places) => { Places::Everywhere };
    (@places $places:ident) => { Places::$places };
}
pub(crate) use settings;
