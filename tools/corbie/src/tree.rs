//! A description drawn as a tree for people.
//!
//! Used by `corbie ior dump`; the content comes from `corbie_types`.

use crate::escapes::one_line;
use corbie::types::Description;

/// Draws a node and everything below it, one line for each.
pub(crate) fn draw(node: &Description) -> String {
    let mut lines = line(node);
    draw_children(node, "", &mut lines);
    lines
}

fn line(node: &Description) -> String {
    if node.value.is_empty() {
        format!("{}\n", one_line(&node.name))
    } else {
        format!("{}: {}\n", one_line(&node.name), one_line(&node.value))
    }
}

fn draw_children(node: &Description, indent: &str, lines: &mut String) {
    let last = node.children.len().saturating_sub(1);
    for (index, child) in node.children.iter().enumerate() {
        let (branch, below) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        lines.push_str(indent);
        lines.push_str(branch);
        lines.push_str(&line(child));
        draw_children(child, &format!("{indent}{below}"), lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_branches() {
        let leaf = Description::leaf;
        let profile =
            Description::node("profile 1", "", vec![leaf("host", "h"), leaf("port", "1")]);
        let root = Description::node("reference", "1 profile", vec![profile, leaf("end", "")]);
        let expected = "\
reference: 1 profile
├─ profile 1
│  ├─ host: h
│  └─ port: 1
└─ end
";
        assert_eq!(draw(&root), expected);
    }
}
