//! Rule `specification`: docs/SPEC.md says which files follow which section of which
//! specification, and is made from the citations in the code (`CORBA 3.3 P2 §9.4.2`, `IDL 4.2
//! §7.4`, `paper POA §2.2`) by `cargo xtask spec`. Tidy compares the page with the code.

use std::collections::{BTreeMap, BTreeSet};

use super::project::Project;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "specification";
/// The page, from the root of the repository.
pub(crate) const PAGE: &str = "docs/SPEC.md";

/// How many numbers of a section are told apart: §9.4.2.1 is counted to §9.4.2.
const DEPTH: usize = 3;

/// Short name in the code, title on the page. The order is the page's.
const DOCUMENTS: [(&str, &str); 10] = [
    ("CORBA 3.3 P1", "CORBA 3.3, Part 1: Interfaces"),
    ("CORBA 3.3 P2", "CORBA 3.3, Part 2: Interoperability"),
    ("CORBA 3.3 P3", "CORBA 3.3, Part 3: Components"),
    ("CORBA 3.4 P1", "CORBA 3.4, Part 1: Interfaces"),
    ("CORBA 3.4 P2", "CORBA 3.4, Part 2: Interoperability"),
    ("IDL 4.2", "Interface Definition Language 4.2"),
    ("paper AMI", "The paper on asynchronous method invocation"),
    ("paper AMH", "The paper on asynchronous method handling"),
    ("paper POA", "The paper on the object adapter and the ORB core"),
    ("paper RTEC", "The paper on the real-time event service"),
];

/// Titles of chapters, to find one's way on the page.
const CHAPTERS: [(&str, &str, &str); 13] = [
    ("CORBA 3.3 P1", "7", "OMG IDL syntax and semantics"),
    ("CORBA 3.3 P1", "8", "ORB interface"),
    ("CORBA 3.3 P1", "9", "Value type semantics"),
    ("CORBA 3.3 P1", "10", "Abstract interface semantics"),
    ("CORBA 3.3 P1", "11", "Dynamic invocation interface"),
    ("CORBA 3.3 P1", "12", "Dynamic skeleton interface"),
    ("CORBA 3.3 P1", "13", "Dynamic management of any values"),
    ("CORBA 3.3 P1", "14", "Interface repository"),
    ("CORBA 3.3 P1", "15", "Portable object adapter"),
    ("CORBA 3.3 P1", "16", "Portable interceptors"),
    ("CORBA 3.3 P2", "7", "ORB interoperability architecture"),
    ("CORBA 3.3 P2", "9", "General inter-ORB protocol"),
    ("IDL 4.2", "7", "IDL syntax and semantics"),
];

type Section = Vec<u32>;
type Citations = BTreeMap<usize, BTreeMap<Section, BTreeSet<String>>>;

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let made = page(project);
    let mend = "run `cargo xtask spec` and commit the page";
    match project.text(PAGE) {
        Some(text) if text == made => vec![],
        Some(text) => {
            let same = text.lines().zip(made.lines()).take_while(|(a, b)| a == b).count();
            let what = "does not agree with the citations in the code";
            vec![Violation::new(RULE, PAGE, same + 1, what, mend)]
        }
        None => vec![Violation::new(RULE, PAGE, 1, "is missing", mend)],
    }
}

/// The page as it should be.
pub(crate) fn page(project: &Project) -> String {
    let citations = citations(project);
    let mut page = String::from(
        "# Which file follows which section\n\n\
         Made by `cargo xtask spec` from the citations in the code, where the rule itself stands \
         in our own\nwords at the line that meets it; compared by `cargo xtask tidy`. A section \
         that is not here is not\nimplemented, or no comment cites it yet. Test code \
         is not counted.\n",
    );
    for (index, (short, title)) in DOCUMENTS.iter().enumerate() {
        let Some(sections) = citations.get(&index) else { continue };
        page.push_str(&format!("\n## {title}\n\n| section | files |\n|---|---|\n"));
        for (section, files) in sections {
            let number = number(section);
            let chapter = chapter(short, section);
            let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
            page.push_str(&format!("| §{number}{chapter} | {} |\n", files.join(", ")));
        }
    }
    page
}

fn number(section: &Section) -> String {
    section.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

fn chapter(document: &str, section: &Section) -> String {
    let chapter = section.first().map_or(String::new(), u32::to_string);
    let found = CHAPTERS.iter().find(|(d, number, _)| *d == document && *number == chapter);
    found.map_or(String::new(), |(_, _, title)| format!(" ({title})"))
}

fn citations(project: &Project) -> Citations {
    let mut citations = Citations::new();
    for file in project.rust.iter().filter(|file| !file.path.starts_with("xtask/")) {
        if file.is_test_file() {
            continue;
        }
        let mut document = None;
        for (i, line) in file.text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else {
                document = None;
                continue;
            };
            if file.is_test_line(i + 1) {
                continue;
            }
            for (index, section) in in_comment(comment, &mut document) {
                let sections = citations.entry(index).or_default();
                sections.entry(section).or_default().insert(file.path.clone());
            }
        }
    }
    citations
}

/// The sections that a comment line cites. `document` is carried from line to line of a comment,
/// so that `§9.6, §9.7` and a citation broken over two lines are understood.
fn in_comment(comment: &str, document: &mut Option<usize>) -> Vec<(usize, Section)> {
    let mut found = vec![];
    let mut rest = comment;
    while let Some((before, after)) = rest.split_once('§') {
        *document = named_at_end(before).or(short_part(before, *document)).or(*document);
        let digits = after.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(after.len());
        let section: Section =
            after[..digits].split('.').filter_map(|n| n.parse().ok()).take(DEPTH).collect();
        if let (Some(index), false) = (*document, section.is_empty()) {
            found.push((index, section));
        }
        rest = &after[digits..];
    }
    // A document named at the end of the line, its section on the next one.
    *document = named_at_end(rest).or(*document);
    found
}

/// The last document named in `text`.
fn named_at_end(text: &str) -> Option<usize> {
    let at = |name: &str| text.rfind(name);
    let named = DOCUMENTS.iter().enumerate().filter_map(|(i, (name, _))| Some((at(name)?, i)));
    named.max().map(|(_, index)| index)
}

/// `P2` after a citation of Part 1 stands for the other part of the same version.
fn short_part(before: &str, document: Option<usize>) -> Option<usize> {
    let (name, _) = DOCUMENTS[document?];
    let version = name.strip_suffix("P1").or_else(|| name.strip_suffix("P2"))?;
    let part = before.trim_end().rsplit([' ', '(']).next().filter(|p| ["P1", "P2"].contains(p))?;
    DOCUMENTS.iter().position(|(name, _)| *name == format!("{version}{part}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cited(comment: &str) -> Vec<(&'static str, String)> {
        let found = in_comment(comment, &mut None);
        found.into_iter().map(|(i, s)| (DOCUMENTS[i].0, number(&s))).collect()
    }

    #[test]
    fn citations_are_read_in_all_their_forms() {
        assert_eq!(cited("CORBA 3.3 P2 §9.4.2.1."), [("CORBA 3.3 P2", "9.4.2".to_string())]);
        assert_eq!(
            cited("(CORBA 3.3 P1 §8.5, P2 §9.6, §9.7; paper POA §2.2)"),
            [
                ("CORBA 3.3 P1", "8.5".to_string()),
                ("CORBA 3.3 P2", "9.6".to_string()),
                ("CORBA 3.3 P2", "9.7".to_string()),
                ("paper POA", "2.2".to_string()),
            ]
        );
        assert_eq!(cited("§ 3 of nothing, §4"), []);
    }

    #[test]
    fn a_citation_may_be_broken_over_two_lines() {
        let mut document = None;
        assert_eq!(in_comment("as CORBA 3.3 P2", &mut document), []);
        assert_eq!(in_comment("§9.3 says", &mut document), [(1, vec![9, 3])]);
    }

    #[test]
    fn the_page_is_compared() {
        let code = "//! See CORBA 3.3 P2 §9.4.2.\n//! Two.\n";
        let project = Project::of_texts(&[("wire/giop/src/x.rs", code)]);
        let page = page(&project);
        assert!(page.contains("| §9.4.2 (General inter-ORB protocol) | `wire/giop/src/x.rs` |"));
        assert_eq!(check(&project).len(), 1);
        let project = Project::of_texts(&[("wire/giop/src/x.rs", code), (PAGE, &page)]);
        assert_eq!(check(&project), []);
    }

    #[test]
    fn tests_and_strings_cite_nothing() {
        let code =
            "const A: &str = \"CORBA 3.3 P2 §9.4\";\n#[cfg(test)]\nmod t {\n // IDL 4.2 §7\n}\n";
        let project = Project::of_texts(&[("a/src/x.rs", code)]);
        assert!(citations(&project).is_empty());
    }
}
