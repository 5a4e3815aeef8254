//! Text with `*` for any octets, as rules name objects, interfaces and operations. Made by the
//! reader of the file and by code, asked by `rules` for each call.

use std::fmt;

/// Text in which each `*` stands for any octets, also none.
///
/// ```
/// # use corbie_access::Pattern;
/// let names = Pattern::new("IDL:omg.org/CosNaming/*");
/// assert!(names.matches("IDL:omg.org/CosNaming/NamingContext:1.0".bytes()));
/// assert!(!names.matches("IDL:acme.example/Vault:1.0".bytes()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Box<str>);

impl Pattern {
    /// The pattern that is written so.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Pattern(text.into())
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The one text that it stands for; `None` when there is a `*` in it.
    #[must_use]
    pub fn exact(&self) -> Option<&str> {
        (!self.0.contains('*')).then_some(&self.0)
    }

    /// Whether it stands for `text`. Takes at most as many steps as both have octets, multiplied.
    pub fn matches(&self, text: impl Iterator<Item = u8> + Clone) -> bool {
        self.matches_by(text, |wanted, octet| wanted == octet)
    }

    /// As [`Pattern::matches`], but upper and lower case of ASCII are the same: for the names of
    /// hosts and of subjects.
    pub fn matches_any_case(&self, text: impl Iterator<Item = u8> + Clone) -> bool {
        self.matches_by(text, |wanted, octet| wanted.eq_ignore_ascii_case(octet))
    }

    fn matches_by(
        &self,
        text: impl Iterator<Item = u8> + Clone,
        is_same: impl Fn(&u8, &u8) -> bool,
    ) -> bool {
        let (pattern, mut text) = (self.0.as_bytes(), text);
        let mut at = 0;
        // After the last `*`: where the pattern goes on, and what the star has not taken yet.
        let mut star = None;
        loop {
            let here = text.clone();
            match (pattern.get(at), text.next()) {
                (Some(b'*'), _) => {
                    (text, at) = (here, at + 1);
                    star = Some((at, text.clone()));
                }
                (None, None) => return true,
                (Some(wanted), Some(octet)) if is_same(wanted, &octet) => at += 1,
                _ => {
                    let Some((after, rest)) = &mut star else { return false };
                    if rest.next().is_none() {
                        return false;
                    }
                    (at, text) = (*after, rest.clone());
                }
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Pattern::new(text)
    }
}
