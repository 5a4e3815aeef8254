//! A parsed Rust source, with what several checks ask of it: which lines are test code,
//! whether it is generated, and a walk over all its tokens (also those inside macro calls,
//! which a syntax tree does not show). Used by every check that reads Rust.

use std::ops::RangeInclusive;
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::violation::Violation;

/// A Rust source file, parsed.
pub(crate) struct RustFile {
    /// Path from the root of the repository.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) syntax: syn::File,
    tokens: TokenStream,
    /// Lines of `#[cfg(test)]` items and `#[test]` functions.
    test_lines: Vec<RangeInclusive<usize>>,
}

/// A token with its neighbour, as `RustFile::for_each_word` reports it.
pub(crate) struct Word {
    pub(crate) name: String,
    /// Counted from 1.
    pub(crate) line: usize,
    /// The character after it when that is a punctuation mark, or the bracket that it opens.
    pub(crate) followed_by: Option<char>,
}

impl RustFile {
    /// Parses `text`; a file that does not parse is a violation, since nothing else is known of it.
    pub(crate) fn parse(path: &str, text: &str) -> Result<RustFile, Violation> {
        let broken = |line, error: String| {
            let mend = "make the file compile first";
            Violation::new("parse", path, line, format!("cannot be parsed: {error}"), mend)
        };
        let syntax =
            syn::parse_file(text).map_err(|e| broken(e.span().start().line, e.to_string()))?;
        let tokens = TokenStream::from_str(text)
            .map_err(|e| broken(e.span().start().line, e.to_string()))?;
        let mut finder = TestFinder::default();
        finder.visit_file(&syntax);
        Ok(RustFile {
            path: path.to_string(),
            text: text.to_string(),
            syntax,
            tokens,
            test_lines: finder.lines,
        })
    }

    /// The whole file is test code: below a crate's `tests/` folder, or named `tests.rs`.
    pub(crate) fn is_test_file(&self) -> bool {
        let mut parts = self.path.split('/').skip(1);
        parts.any(|part| part == "tests" || part == "tests.rs" || part == "benches")
    }

    /// Line `line` (from 1) is test code.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file() || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// How many lines of the file are not inside `#[cfg(test)]` items.
    pub(crate) fn lines_without_tests(&self) -> usize {
        let lines = self.text.lines().count();
        (1..=lines).filter(|line| !self.test_lines.iter().any(|t| t.contains(line))).count()
    }

    /// Written by a program and committed: says so with `@generated` in its first five lines.
    pub(crate) fn is_generated(&self) -> bool {
        self.text.lines().take(5).any(|line| line.contains("@generated"))
    }

    /// Part of a library: neither a program, a build script, the task runner nor a test crate.
    pub(crate) fn is_library(&self) -> bool {
        let outside = ["xtask/", "tools/", "bench/", "examples/", "tests/"];
        let program = self.path.contains("/bin/")
            || self.path.ends_with("/main.rs")
            || self.path.ends_with("build.rs")
            || self.path.contains("/examples/");
        !program && !outside.iter().any(|folder| self.path.starts_with(folder))
    }

    /// Calls `see` with every identifier and keyword of the file, macro arguments included.
    pub(crate) fn for_each_word(&self, mut see: impl FnMut(Word)) {
        walk_tokens(self.tokens.clone(), &mut see);
    }

    /// Line `line` or an unbroken run of comment lines above it contains `marker`.
    pub(crate) fn has_comment_at(&self, line: usize, marker: &str) -> bool {
        let lines: Vec<&str> = self.text.lines().collect();
        let Some(own) = line.checked_sub(1).and_then(|i| lines.get(i)) else {
            return false;
        };
        let above = lines[..line - 1].iter().rev().take_while(|text| {
            let text = text.trim_start();
            text.starts_with("//") || text.starts_with("#[")
        });
        own.split_once("//").is_some_and(|(_, comment)| comment.contains(marker))
            || above.into_iter().any(|text| text.contains(marker))
    }
}

fn walk_tokens(tokens: TokenStream, see: &mut impl FnMut(Word)) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Ident(ident) => {
                let followed_by = tokens.peek().and_then(first_character);
                let line = ident.span().start().line;
                see(Word { name: ident.to_string(), line, followed_by });
            }
            TokenTree::Group(group) => walk_tokens(group.stream(), see),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn first_character(token: &TokenTree) -> Option<char> {
    match token {
        TokenTree::Punct(punct) => Some(punct.as_char()),
        TokenTree::Group(group) => match group.delimiter() {
            proc_macro2::Delimiter::Parenthesis => Some('('),
            proc_macro2::Delimiter::Brace => Some('{'),
            proc_macro2::Delimiter::Bracket => Some('['),
            proc_macro2::Delimiter::None => None,
        },
        TokenTree::Ident(_) | TokenTree::Literal(_) => None,
    }
}

/// Collects the lines of `#[cfg(test)]` items and `#[test]` functions.
#[derive(Default)]
struct TestFinder {
    lines: Vec<RangeInclusive<usize>>,
}

impl TestFinder {
    fn note(&mut self, attributes: &[syn::Attribute], last: usize) {
        let test = attributes.iter().find(|attribute| is_test_attribute(attribute));
        if let Some(attribute) = test {
            self.lines.push(attribute.pound_token.span.start().line..=last);
        }
    }
}

/// `#[test]`, `#[tokio::test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`, but not `#[cfg(not(test))]`.
pub(crate) fn is_test_attribute(attribute: &syn::Attribute) -> bool {
    let path = attribute.path();
    if path.segments.last().is_some_and(|segment| segment.ident == "test") {
        return true;
    }
    match &attribute.meta {
        syn::Meta::List(list) if path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            let words = condition.split(|c: char| !c.is_alphanumeric() && c != '_');
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            words.contains(&"test") && !words.contains(&"not")
        }
        _ => false,
    }
}

impl<'ast> Visit<'ast> for TestFinder {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if let Some((brace, _)) = &item.content {
            self.note(&item.attrs, brace.span.close().end().line);
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.note(&item.attrs, item.block.brace_token.span.close().end().line);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.note(&item.attrs, item.block.brace_token.span.close().end().line);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.note(&item.attrs, item.brace_token.span.close().end().line);
        visit::visit_item_impl(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { c!(d(1)); }\n}\n";

    #[test]
    fn test_lines_are_those_of_cfg_test_items() {
        let file = RustFile::parse("x/src/lib.rs", SOURCE).unwrap();
        assert!(!file.is_test_line(1));
        assert!(file.is_test_line(2) && file.is_test_line(4));
        assert_eq!(file.lines_without_tests(), 1);
    }

    #[test]
    fn words_inside_macro_arguments_are_seen() {
        let file = RustFile::parse("x/src/lib.rs", SOURCE).unwrap();
        let mut seen = vec![];
        file.for_each_word(|word| seen.push((word.name, word.line, word.followed_by)));
        assert!(seen.contains(&("c".to_string(), 4, Some('!'))));
        assert!(seen.contains(&("d".to_string(), 4, Some('('))));
    }

    #[test]
    fn a_test_folder_counts_below_the_first_part_only() {
        let of = |path| RustFile::parse(path, "").unwrap().is_test_file();
        assert!(of("wire/cdr/tests/round_trip.rs"));
        assert!(of("wire/cdr/src/encoder/tests.rs"));
        assert!(!of("tests/testkit/src/lib.rs"));
    }

    #[test]
    fn not_test_is_not_a_test() {
        let file = RustFile::parse("x/src/lib.rs", "#[cfg(not(test))]\nmod a {}\n").unwrap();
        assert!(!file.is_test_line(2));
    }

    #[test]
    fn what_does_not_parse_is_reported_with_its_line() {
        let Err(violation) = RustFile::parse("x/src/lib.rs", "fn a() {}\nfn (") else {
            panic!("must not parse")
        };
        assert_eq!((violation.rule, violation.line), ("parse", 2));
    }
}
