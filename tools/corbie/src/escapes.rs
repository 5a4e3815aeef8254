//! What peers say may have octets that a terminal obeys: titles, colours, lines over other lines.
//!
//! [`Escaping`] stands before standard output and standard error, so that no command can forget
//! it. [`one_line`] is for names that are listed one a line.

use std::io::{self, Write};

/// Whether a terminal would do something else than show it.
fn is_harmful(character: char) -> bool {
    let turns_text = matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    character.is_control() || turns_text
}

fn escape(text: &str, keeps: impl Fn(char) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if is_harmful(character) && !keeps(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    escaped
}

/// `text` without anything that would end a line or that a terminal would obey.
pub(crate) fn one_line(text: &str) -> String {
    escape(text, |_| false)
}

/// The same of a line of JSON, in the escapes of JSON.
pub(crate) fn json_line(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match is_harmful(character) {
            true => escaped.extend(format!("\\u{:04x}", u32::from(character)).chars()),
            false => escaped.push(character),
        }
    }
    escaped
}

/// The same, of lines.
pub(crate) fn lines(text: &str) -> String {
    escape(text, |character| matches!(character, '\n' | '\t'))
}

/// Writes lines of text, with what a terminal would obey escaped.
pub(crate) struct Escaping<W> {
    inner: W,
    /// The beginning of a character whose other octets are still to come.
    begun: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, begun: Vec::new() }
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(octets);
        let whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.begun.len(),
        };
        let text = String::from_utf8_lossy(self.begun.get(..whole).unwrap_or_default());
        self.inner.write_all(lines(&text).as_bytes())?;
        self.begun.drain(..whole);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[&[u8]]) -> String {
        let mut output = Vec::new();
        let mut escaping = Escaping::new(&mut output);
        parts.iter().for_each(|part| escaping.write_all(part).expect("written"));
        String::from_utf8(output).expect("text")
    }

    #[test]
    fn text_is_as_it_was_wherever_it_is_cut() {
        let text = "Größe \u{1f600}\n\tzwei\n";
        for cut in 0..=text.len() {
            let (one, two) = text.as_bytes().split_at(cut);
            assert_eq!(written(&[one, two]), text, "{cut}");
        }
    }

    #[test]
    fn what_a_terminal_obeys_is_shown() {
        let hostile = "\u{1b}[2J\u{7}\r\u{9b}31m\u{7f}\u{202e}\n";
        let shown = r"\u{1b}[2J\u{7}\r\u{9b}31m\u{7f}\u{202e}";
        for cut in 0..=hostile.len() {
            let (one, two) = hostile.as_bytes().split_at(cut);
            assert_eq!(written(&[one, two]), format!("{shown}\n"), "{cut}");
        }
        assert_eq!(one_line(hostile), format!("{shown}\\n"));
        let json = json_line("\u{1b}\u{9b}\u{202e}\n");
        assert_eq!(json, r"\u001b\u009b\u202e\u000a");
        assert_eq!(written(&[b"\xff\x1b[m"]), "\u{fffd}\\u{1b}[m");
    }
}
