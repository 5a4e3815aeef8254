//! Rule `words`: comments and documents name the thread, connection or caller that acts. Words
//! that stand for no one in particular are refused, and so are sentences that begin by asking for
//! one. Code spans and code blocks are free, and so are decisions that were made before the rule.

use super::comments;
use super::markdown::{self, Piece};
use super::offenders::Offence;
use super::project::{Project, TextFile};
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "words";

const BANNED: [&str; 3] = ["whoever", "nobody", "somebody"];
/// At the beginning of a sentence.
const OPENING: &str = "Who";
const DECISIONS: &str = "docs/decisions/";
/// The first decision that the rule is for.
const FIRST_DECISION: u32 = 35;

pub(crate) fn find(project: &Project) -> Vec<Offence> {
    project.files.iter().flat_map(of_file).collect()
}

fn of_file(file: &TextFile) -> Vec<Offence> {
    let pieces = match () {
        () if file.path.ends_with(".rs") => comments::of_rust(&file.text),
        () if file.path.ends_with(".md") && !is_history(&file.path) => markdown::prose(&file.text),
        () => vec![],
    };
    let offence = |Piece { line, text }: Piece| {
        let word = banned_word(&text)?;
        let what = format!("`{word}` names no one who acts");
        let mend = "say which thread, connection, peer or caller does it, in a short sentence";
        let violation = Violation::new(RULE, &file.path, line, what, mend);
        Some(Offence::new(file.path.as_str(), violation))
    };
    pieces.into_iter().filter_map(offence).collect()
}

fn is_history(path: &str) -> bool {
    let number = path.strip_prefix(DECISIONS).and_then(|name| name.split('-').next());
    number.and_then(|n| n.parse::<u32>().ok()).is_some_and(|number| number < FIRST_DECISION)
}

fn banned_word(text: &str) -> Option<&str> {
    // What stands between backquotes is code.
    let prose = text.split('`').step_by(2);
    let mut words = prose.flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let is_banned = |word: &str| BANNED.iter().any(|banned| word.eq_ignore_ascii_case(banned));
    words.find(|word| is_banned(word) || *word == OPENING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let offences = find(&Project::of_texts(&[(path, text)]));
        offences.into_iter().map(|offence| offence.violation.line).collect()
    }

    #[test]
    fn banned_words_are_found_in_comments_of_every_kind() {
        let text = "//! Whoever.\n/// A. Who\n/// b.\nfn f() {} // nobody's\n/* a\nsomebody */\n";
        assert_eq!(found("a/src/x.rs", text), [1, 2, 4, 6]);
    }

    #[test]
    fn code_strings_and_other_words_are_free() {
        let text = "/// The thread who waits, `nobody`.\nfn nobody() { f(\"whoever\") }\n";
        assert_eq!(found("a/src/x.rs", text), Vec::<usize>::new());
    }

    #[test]
    fn documents_are_read_and_old_decisions_are_not() {
        let text = "# Title\n\nNobody.\n\n```\nnobody\n```\n";
        assert_eq!(found("docs/src/a.md", text), [3]);
        assert_eq!(found("docs/decisions/0034-a.md", text), Vec::<usize>::new());
        assert_eq!(found("docs/decisions/0035-a.md", text), [3]);
    }

    #[test]
    fn an_offence_is_listed_by_its_file() {
        let offences = find(&Project::of_texts(&[("a/src/x.rs", "// nobody\n")]));
        assert_eq!(offences[0].key, "a/src/x.rs");
    }
}
