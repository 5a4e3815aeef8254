//! The text of documentation comments, without their marks.
//!
//! `//`, `///`, `/* */` and `/** */` count alike; lines that are only decoration are dropped.

use super::Parser;

impl Parser<'_> {
    /// The text of the comments directly before the next token.
    pub(super) fn docs(&self) -> String {
        let found = self.stream.docs.binary_search_by_key(&self.at, |(at, _)| *at);
        let Ok(index) = found else { return String::new() };
        let comments = self.stream.docs[index].1.iter().map(|span| self.sources.text(*span));
        let lines: Vec<String> = comments.flat_map(lines).collect();
        let shown = |line: &String| !line.is_empty();
        let first = lines.iter().position(shown).unwrap_or(lines.len());
        let last = lines.iter().rposition(shown).map_or(first, |last| last + 1);
        let indent = lines[first..last]
            .iter()
            .filter(|line| shown(line))
            .map(|line| line.len() - line.trim_start().len())
            .min()
            .unwrap_or(0);
        let lines = lines[first..last].iter().map(|line| line.get(indent..).unwrap_or(""));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The lines of one comment, marks removed; a line of decoration becomes empty.
fn lines(comment: &str) -> Vec<String> {
    let clean = |line: &str| {
        let line = line.trim_end();
        let decoration = |c: char| "*/-=#_~+ \t".contains(c);
        if line.chars().all(decoration) { String::new() } else { line.replace('\t', "    ") }
    };
    match comment.strip_prefix("/*") {
        Some(block) => {
            let block = block.strip_suffix("*/").unwrap_or(block);
            let block = block.strip_prefix(['*', '!']).unwrap_or(block);
            let starred = |line: &str| {
                let bare = line.trim_start();
                bare.strip_prefix('*').map_or_else(|| line.to_owned(), str::to_owned)
            };
            block.lines().map(|line| clean(&starred(line))).collect()
        }
        None => {
            let text = comment.strip_prefix("//").unwrap_or(comment);
            let text = text.strip_prefix(['/', '!']).unwrap_or(text);
            let text = text.strip_prefix('<').unwrap_or(text);
            vec![clean(text)]
        }
    }
}
