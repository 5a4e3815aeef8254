//! Doc comments from IDL comments.
//!
//! Used by all emitters. IDL comments are plain text (or Doxygen): what rustdoc would take for
//! HTML, links, headings or code is escaped, so that documentation builds without warnings and
//! nothing is run as a doctest.

use proc_macro2::TokenStream;
use quote::quote;

/// The comment as `#[doc]` attributes, one for each line; nothing for an empty comment.
pub(crate) fn docs(comment: &str) -> TokenStream {
    let lines = lines(comment);
    let attributes = lines.iter().map(|line| doc_line(line));
    quote!(#(#attributes)*)
}

/// The comment, and then a paragraph that says what the item is in the IDL.
pub(crate) fn docs_with(comment: &str, closing: &str) -> TokenStream {
    let mut lines = lines(comment);
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(closing.to_owned());
    let attributes = lines.iter().map(|line| doc_line(line));
    quote!(#(#attributes)*)
}

fn doc_line(line: &str) -> TokenStream {
    let text = if line.is_empty() { String::new() } else { format!(" {line}") };
    quote!(#[doc = #text])
}

fn lines(comment: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in comment.lines() {
        let line = escape(line);
        // Runs of blank lines say no more than one.
        if !(line.is_empty() && lines.last().is_none_or(String::is_empty)) {
            lines.push(line);
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn escape(line: &str) -> String {
    let line = line.trim();
    // A ruler (`-----`, `/////`) would become a heading or nothing.
    if !line.chars().any(char::is_alphanumeric) {
        return String::new();
    }
    let mut escaped = String::with_capacity(line.len());
    for (at, word) in line.split_whitespace().enumerate() {
        if at > 0 {
            escaped.push(' ');
        }
        // Marks of lists and headings count at the start of a line only.
        let is_mark = matches!(word, "-" | "*" | "+")
            || word.starts_with(['#', '='])
            || (word.ends_with(['.', ')']) && word[..word.len() - 1].parse::<u32>().is_ok());
        if at == 0 && is_mark {
            match word.char_indices().next_back() {
                Some((last, _)) if word.len() > 1 && !word.starts_with(['#', '=']) => {
                    escaped.push_str(&word[..last]);
                    escaped.push('\\');
                    escaped.push_str(&word[last..]);
                }
                _ => {
                    escaped.push('\\');
                    escape_word(word, &mut escaped);
                }
            }
            continue;
        }
        escape_word(word, &mut escaped);
    }
    escaped
}

fn escape_word(word: &str, out: &mut String) {
    if let Some(start) = ["http://", "https://", "ftp://"].iter().find_map(|s| word.find(s)) {
        let (before, link) = word.split_at(start);
        let end = link.find(['<', '>', '"', ')', ']', ',', ';']).unwrap_or(link.len());
        let (link, after) = link.split_at(end);
        escape_word(before, out);
        out.push('<');
        out.push_str(link);
        out.push('>');
        return escape_text(after, out);
    }
    escape_text(word, out);
}

fn escape_text(text: &str, out: &mut String) {
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '|' | '~' | '&') {
            // Inside a word an underscore is itself.
            let inner = c == '_' && out.ends_with(char::is_alphanumeric);
            if !inner {
                out.push('\\');
            }
        }
        // Control characters have no business in source text.
        out.push(if c.is_control() { ' ' } else { c });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(comment: &str, expected: &[&str]) {
        assert_eq!(lines(comment), expected);
    }

    #[test]
    fn plain_text_stays() {
        check("Gives quotes.\n\n\nFor all stocks.\n", &["Gives quotes.", "", "For all stocks."]);
    }

    #[test]
    fn markup_is_escaped() {
        check("see [Quoter] and <T> or `x", &["see \\[Quoter\\] and \\<T\\> or \\`x"]);
        check("get_quote *and* _this_ a|b", &["get_quote \\*and\\* \\_this_ a\\|b"]);
    }

    #[test]
    fn code_headings_lists_and_rulers_do_not_come_through() {
        check("    let x = 1;", &["let x = 1;"]);
        check("# not a heading", &["\\# not a heading"]);
        check("- one\n1. two\n2) three", &["\\- one", "1\\. two", "2\\) three"]);
        check("-------\ntext\n=======", &["text"]);
    }

    #[test]
    fn links_are_marked_as_such() {
        check("at http://x.org/a_b, or", &["at <http://x.org/a_b>, or"]);
    }
}
