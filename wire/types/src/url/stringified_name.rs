//! Stringified names (CosNaming 1.3 §2.4): `id.kind/id.kind` with backslash escapes. Used for the
//! part of a `corbaname:` after `#`, by the naming service and by its clients.

use super::UrlError;

/// One component of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameComponent {
    /// What names it.
    pub id: String,
    /// What it is, by convention; often empty.
    pub kind: String,
}

/// Splits a stringified name; no components for an empty text.
///
/// # Errors
/// For an empty component, a second unescaped dot, or a backslash before anything but a
/// backslash, a slash or a dot. Places count from the start of `text`.
pub fn parse_name(text: &str) -> Result<Vec<NameComponent>, UrlError> {
    let mut components = Vec::new();
    if text.is_empty() {
        return Ok(components);
    }
    let mut current = Partial::default();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '/' => components.push(std::mem::take(&mut current).finish(at)?),
            '.' if current.dotted => {
                let needed = "a slash, or a backslash before the dot";
                return Err(UrlError::specific(at, "a second dot in a component", needed));
            }
            '.' => current.dotted = true,
            '\\' => match characters.next() {
                Some((_, c @ ('\\' | '/' | '.'))) => current.push(c),
                _ => {
                    let needed = "a backslash, slash or dot after it";
                    return Err(UrlError::specific(at, "a backslash", needed));
                }
            },
            c => current.push(c),
        }
    }
    components.push(current.finish(text.len())?);
    Ok(components)
}

#[derive(Default)]
struct Partial {
    component: NameComponent,
    dotted: bool,
}

impl Partial {
    fn push(&mut self, c: char) {
        let NameComponent { id, kind } = &mut self.component;
        if self.dotted { kind.push(c) } else { id.push(c) }
    }

    fn finish(self, at: usize) -> Result<NameComponent, UrlError> {
        let NameComponent { id, kind } = &self.component;
        // "." alone is the component whose id and kind are both empty; "a." is malformed.
        if id.is_empty() && kind.is_empty() && !self.dotted {
            return Err(UrlError::specific(at, "an empty component", "an id, or a dot for none"));
        }
        if !id.is_empty() && kind.is_empty() && self.dotted {
            return Err(UrlError::specific(at, "a dot without a kind", "a kind, or no dot"));
        }
        Ok(self.component)
    }
}

/// Writes a name as text.
#[must_use]
pub fn stringify_name(components: &[NameComponent]) -> String {
    let mut text = String::new();
    for (index, NameComponent { id, kind }) in components.iter().enumerate() {
        if index > 0 {
            text.push('/');
        }
        push_escaped(&mut text, id);
        if !kind.is_empty() || id.is_empty() {
            text.push('.');
            push_escaped(&mut text, kind);
        }
    }
    text
}

fn push_escaped(text: &mut String, part: &str) {
    for c in part.chars() {
        if matches!(c, '\\' | '/' | '.') {
            text.push('\\');
        }
        text.push(c);
    }
}
