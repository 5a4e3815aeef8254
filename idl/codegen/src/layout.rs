//! The layout of generated code, where the formatter leaves something to be wished for.
//!
//! Called by `tree` with what prettyplease made: lists that fit into a line are put there, and an
//! empty line stands after each item.

/// The longest line that is made of several.
const WIDTH: usize = 100;

/// Formatted code with lists in one line where they fit, and an empty line after each item.
pub(crate) fn lay_out(text: &str) -> String {
    spaced(&filled(&joined(text)))
}

/// Code in which what stands between brackets is in one line where it fits.
fn joined(text: &str) -> String {
    let mut made: Vec<String> = Vec::new();
    // Inner brackets close first, so they are one line already when the outer ones close.
    for line in text.lines() {
        made.push(line.to_owned());
        if let Some(start) = opening_of(&made)
            && let Some(whole) = in_one_line(&made[start..])
        {
            made.truncate(start);
            made.push(whole);
        } else if let Some(whole) = short_function(&made) {
            made.truncate(made.len() - 3);
            made.push(whole);
        }
    }
    let mut out = made.join("\n");
    out.push('\n');
    out
}

/// Code in which arguments that stand in lines of their own share one where they fit.
fn filled(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_list = |line: &str| line.ends_with(',') && is_simple(line);
        let fits = lines.last().filter(|last| {
            let same = indent(last) == indent(line) && indent(line) > 0;
            same && is_list(last) && is_list(line) && last.len() + line.trim().len() < WIDTH
        });
        match (fits.is_some(), lines.last_mut()) {
            (true, Some(last)) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    let mut out = lines.join("\n");
    out.push('\n');
    out
}

/// Whether a line is an argument, or a type, and not a field, variant, arm or comment.
fn is_simple(line: &str) -> bool {
    let start = line.trim_start();
    let is_item = ["pub ", "//", "#", "use "].iter().any(|word| start.starts_with(word));
    let first = start.chars().next().is_some_and(char::is_uppercase);
    !is_item && !first && !line.contains("=>") && !line.contains(['{', '}'])
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The line that opens the bracket which the last line closes.
fn opening_of(lines: &[String]) -> Option<usize> {
    let (last, before) = lines.split_last()?;
    if !last.trim_start().starts_with([')', ']', '>']) {
        return None;
    }
    let deep = indent(last);
    let at = before.iter().rposition(|line| !line.is_empty() && indent(line) <= deep)?;
    let opens = before[at].ends_with(['(', '[', '<']) && indent(&before[at]) == deep;
    (opens && !before[at].trim_start().starts_with("//")).then_some(at)
}

/// A function that the last three lines are, as one, if that is short enough.
fn short_function(lines: &[String]) -> Option<String> {
    let [.., head, body, end] = lines else { return None };
    let start = head.trim_start();
    let is_function = (start.starts_with("fn ") || start.starts_with("pub fn "))
        && head.ends_with('{')
        && end.trim() == "}"
        && indent(head) == indent(end);
    let is_expression = !body.ends_with([';', '{', '}', ',']) && !body.trim().starts_with("//");
    let whole = format!("{head} {} }}", body.trim());
    (is_function && is_expression && whole.len() <= WIDTH).then_some(whole)
}

/// The lines as one, if that is short enough and all lines can be joined.
fn in_one_line(lines: &[String]) -> Option<String> {
    let (first, rest) = lines.split_first()?;
    let length: usize = rest.iter().map(|line| line.trim().len() + 1).sum();
    if first.len() + length > WIDTH + 2 {
        return None;
    }
    let mut whole = first.clone();
    for line in rest {
        let line = line.trim();
        // What has a block, a statement or a comment inside is easier to read in lines.
        if line.starts_with("//") || line.starts_with("#[") {
            return None;
        }
        if line.starts_with([')', ']', '>']) {
            if whole.ends_with(',') {
                whole.pop();
            }
        } else if !whole.ends_with(['(', '[', '<']) {
            whole.push(' ');
        }
        whole.push_str(line);
    }
    let inner = &rest[..rest.len() - 1];
    let is_block = |line: &String| line.ends_with(['{', ';']) || line.trim() == "}";
    (whole.len() <= WIDTH && !inner.iter().any(is_block)).then_some(whole)
}

/// Formatted code with an empty line after each item that ends in a brace.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len() + text.len() / 16);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        spaced.push_str(line);
        spaced.push('\n');
        let indent = |line: &str| line.len() - line.trim_start().len();
        let start = line.trim_start();
        let one_liner = ["use ", "pub struct", "pub type"].iter().any(|w| start.starts_with(w));
        let ends_item = start == "}" || (line.ends_with(';') && one_liner);
        // An item follows, not the next arm of a `match` or the end of a block.
        let starts_item = |next: &&str| {
            let next = next.trim_start();
            ["pub ", "impl", "#[", "///", "fn ", "type ", "const "]
                .iter()
                .any(|w| next.starts_with(w))
        };
        let next = lines.peek().filter(|next| indent(next) == indent(line));
        if ends_item && next.is_some_and(starts_item) {
            spaced.push('\n');
        }
    }
    spaced
}
