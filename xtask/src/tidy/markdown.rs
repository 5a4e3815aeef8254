//! Just enough Markdown for tidy: code spans with their lines, fenced blocks, link targets and
//! the rows of a table found by its header. Used by the checks on layers, unsafe code,
//! dependencies and stale documentation.

/// A piece of a Markdown file and the line (from 1) it starts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// A table row: its line and its cells without the surrounding blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) cells: Vec<String>,
}

/// Texts between single backticks, outside fenced blocks.
pub(crate) fn code_spans(markdown: &str) -> Vec<Piece> {
    let mut spans = vec![];
    for Piece { line, text } in prose(markdown) {
        let code = text.split('`').skip(1).step_by(2).filter(|code| !code.is_empty());
        spans.extend(code.map(|code| Piece { line, text: code.to_string() }));
    }
    spans
}

/// The lines inside fenced blocks.
pub(crate) fn fenced_lines(markdown: &str) -> Vec<Piece> {
    partition(markdown).1
}

/// The targets of `[text](target)` links, outside fenced blocks.
pub(crate) fn link_targets(markdown: &str) -> Vec<Piece> {
    let mut targets = vec![];
    for Piece { line, text } in prose(markdown) {
        for rest in text.split("](").skip(1) {
            if let Some((target, _)) = rest.split_once(')') {
                targets.push(Piece { line, text: target.to_string() });
            }
        }
    }
    targets
}

/// The rows of all tables whose first header cell is `first` and whose second begins with
/// `second`; `None` when there is no such table.
pub(crate) fn table(markdown: &str, first: &str, second: &str) -> Option<Vec<Row>> {
    let mut rows = None;
    let mut lines = prose(markdown).into_iter();
    while let Some(piece) = lines.next() {
        let header = cells(&piece.text);
        if header.len() < 2 || header[0] != first || !header[1].starts_with(second) {
            continue;
        }
        let body = lines.by_ref().skip(1);
        let body = body.take_while(|piece| piece.text.trim_start().starts_with('|'));
        rows.get_or_insert_with(Vec::new)
            .extend(body.map(|piece| Row { line: piece.line, cells: cells(&piece.text) }));
    }
    rows
}

/// The texts between backticks of one cell.
pub(crate) fn codes(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    if !line.starts_with('|') {
        return vec![];
    }
    line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
}

pub(crate) fn prose(markdown: &str) -> Vec<Piece> {
    partition(markdown).0
}

/// Lines outside fenced blocks, and lines inside.
fn partition(markdown: &str) -> (Vec<Piece>, Vec<Piece>) {
    let (mut outside, mut inside, mut fenced) = (vec![], vec![], false);
    for (i, text) in markdown.lines().enumerate() {
        if text.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let piece = Piece { line: i + 1, text: text.to_string() };
        if fenced { inside.push(piece) } else { outside.push(piece) }
    }
    (outside, inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "see `a/b` and [c](d.md)\n```\n`no`\n```\n| x | y z |\n|---|---|\n| `p` | q |\n";

    #[test]
    fn spans_links_and_fences_are_told_apart() {
        assert_eq!(code_spans(TEXT)[0], Piece { line: 1, text: "a/b".into() });
        assert_eq!(code_spans(TEXT).len(), 2);
        assert_eq!(link_targets(TEXT), [Piece { line: 1, text: "d.md".into() }]);
        assert_eq!(fenced_lines(TEXT), [Piece { line: 3, text: "`no`".into() }]);
    }

    #[test]
    fn tables_with_the_same_header_are_joined() {
        let text = "| x | y |\n|-|-|\n| a | 1 |\n\ntext\n| x | y |\n|-|-|\n| b | 2 |\n";
        let rows = table(text, "x", "y").unwrap();
        assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 8]);
    }

    #[test]
    fn a_table_is_found_by_its_header() {
        let rows = table(TEXT, "x", "y").unwrap();
        assert_eq!(rows, [Row { line: 7, cells: vec!["`p`".into(), "q".into()] }]);
        assert_eq!(codes(&rows[0].cells[0]), ["p"]);
        assert!(table(TEXT, "x", "other").is_none());
    }
}
