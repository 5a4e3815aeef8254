//! The comments of a Rust source, line by line, without the strings and the code around them.
//! Read by the rule on words.

use super::markdown::Piece;

/// What stands behind `//` or between `/*` and `*/`, with the line of each piece.
pub(crate) fn of_rust(text: &str) -> Vec<Piece> {
    let mut scan = Scan { rest: text, line: 1, found: vec![] };
    while !scan.rest.is_empty() {
        scan.step();
    }
    scan.found
}

struct Scan<'t> {
    rest: &'t str,
    line: usize,
    found: Vec<Piece>,
}

impl<'t> Scan<'t> {
    fn step(&mut self) {
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            let text = self.take(end);
            self.note(text);
        } else if self.rest.starts_with("/*") {
            self.block_comment();
        } else if let Some(hashes) = raw_string_hashes(self.rest) {
            let close = format!("\"{}", "#".repeat(hashes));
            let open = self.rest.find('"').map_or(self.rest.len(), |at| at + 1);
            let end = self.rest[open..].find(&close).map(|at| open + at + close.len());
            self.take(end.unwrap_or(self.rest.len()));
        } else if self.rest.starts_with('"') {
            self.take(end_of_quoted(self.rest, '"'));
        } else if self.rest.starts_with('\'') {
            self.take(end_of_character(self.rest));
        } else {
            // A word is taken whole: the `r` at its end begins no raw string.
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let first = self.rest.chars().next().map_or(1, char::len_utf8);
            let word = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
            self.take(first.max(word));
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        let mut at = 0;
        while let Some(mark) = self.rest[at..].find(['/', '*']).map(|found| at + found) {
            let here = &self.rest[mark..];
            at = mark + 2;
            match () {
                () if here.starts_with("/*") => depth += 1,
                () if here.starts_with("*/") => depth -= 1,
                () => at = mark + 1,
            }
            if depth == 0 {
                break;
            }
        }
        let end = if depth == 0 { at } else { self.rest.len() };
        for (i, line) in self.rest[..end].lines().enumerate() {
            self.found.push(Piece { line: self.line + i, text: line.to_string() });
        }
        self.take(end);
    }

    fn note(&mut self, text: &str) {
        self.found.push(Piece { line: self.line, text: text.to_string() });
    }

    fn take(&mut self, octets: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(octets.min(self.rest.len()));
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

/// How many `#` a raw string has that begins here (`r"`, `br#"`, `cr##"`).
fn raw_string_hashes(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(['b', 'c']).unwrap_or(text).strip_prefix('r')?;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// Behind the closing `quote` of what `text` begins with.
fn end_of_quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Behind a character, or behind the mark of a lifetime.
fn end_of_character(text: &str) -> usize {
    let mut after = text.chars().skip(1);
    match (after.next(), after.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => end_of_quoted(text, '\''),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String)> {
        of_rust(text).into_iter().map(|piece| (piece.line, piece.text)).collect()
    }

    #[test]
    fn comments_are_found_and_strings_are_not() {
        let text = "//! One.\nfn f<'a>(x: &'a str) { g(\"// no\", '\\'', '\"') } // after\n\
                    let s = r#\"\n// \"no\"\n\"#; /* a\n b /* c */ */ let t = \"\\\"//\";\n/// end\n";
        let wanted =
            [(1, "//! One."), (2, "// after"), (5, "/* a"), (6, " b /* c */ */"), (7, "/// end")];
        assert_eq!(found(text), wanted.map(|(line, text)| (line, text.to_string())));
    }

    #[test]
    fn what_does_not_end_is_taken_to_the_end() {
        assert_eq!(found("/* a").len(), 1);
        assert_eq!(found("\"a // b"), []);
        assert_eq!(found("r#\"a // b"), []);
        assert_eq!(found("'").len(), 0);
    }

    #[test]
    fn a_word_that_ends_like_a_raw_string_begins_is_a_word() {
        assert_eq!(found("format!(bar\"x\") // y"), [(1, "// y".to_string())]);
    }
}
