//! Rule `names`: one name, one meaning in a crate. A type, trait or alias that is defined twice
//! outside tests needs two names. Definitions of one file under different `#[cfg(…)]` are one.

use std::collections::BTreeMap;

use syn::Attribute;
use syn::visit::{self, Visit};

use super::offenders::Offence;
use super::project::Project;
use super::rust_file::RustFile;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "names";

/// Where a type is defined.
struct Definition<'p> {
    file: &'p RustFile,
    line: usize,
    has_condition: bool,
}

pub(crate) fn find(project: &Project) -> Vec<Offence> {
    let mut crates: BTreeMap<(&str, String), Vec<Definition<'_>>> = BTreeMap::new();
    for file in project.rust.iter().filter(|file| !file.is_test_file() && !file.is_generated()) {
        // A program beside a library, and a build script, are crates of their own.
        let Some((folder, module)) = file.path.split_once("/src/") else { continue };
        if module.starts_with("bin/") {
            continue;
        }
        let mut types = Types { file, found: vec![] };
        types.visit_file(&file.syntax);
        for (name, definition) in types.found {
            crates.entry((folder, name)).or_default().push(definition);
        }
    }
    crates
        .into_iter()
        .filter_map(|((folder, name), found)| of_name(folder, &name, &found))
        .collect()
}

fn of_name(folder: &str, name: &str, found: &[Definition<'_>]) -> Option<Offence> {
    let first = found.first()?;
    let another = found[1..].iter().find(|other| {
        let is_same_file = other.file.path == first.file.path;
        !(is_same_file && other.has_condition && first.has_condition)
    })?;
    let Definition { file, line, .. } = first;
    let what = format!("`{name}` is defined here and in {}:{line}", file.path);
    let mend = "name each by what it is: one name has one meaning in a crate";
    let violation = Violation::new(RULE, &another.file.path, another.line, what, mend);
    Some(Offence::new(format!("{folder}: {name}"), violation))
}

struct Types<'p> {
    file: &'p RustFile,
    found: Vec<(String, Definition<'p>)>,
}

impl Types<'_> {
    fn note(&mut self, name: &syn::Ident, attributes: &[Attribute]) {
        let line = name.span().start().line;
        if !self.file.is_test_line(line) {
            let has_condition = attributes.iter().any(|a| a.path().is_ident("cfg"));
            let definition = Definition { file: self.file, line, has_condition };
            self.found.push((name.to_string(), definition));
        }
    }
}

impl<'ast> Visit<'ast> for Types<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Struct(item) => self.note(&item.ident, &item.attrs),
            syn::Item::Enum(item) => self.note(&item.ident, &item.attrs),
            syn::Item::Union(item) => self.note(&item.ident, &item.attrs),
            syn::Item::Trait(item) => self.note(&item.ident, &item.attrs),
            syn::Item::Type(item) => self.note(&item.ident, &item.attrs),
            syn::Item::Mod(_) => visit::visit_item(self, item),
            // What a function or a method defines for itself is known to it alone.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, String, usize)> {
        let offences = find(&Project::of_texts(files));
        let place = |o: Offence| (o.key, o.violation.file, o.violation.line);
        offences.into_iter().map(place).collect()
    }

    #[test]
    fn a_type_that_is_defined_twice_in_a_crate_is_found() {
        let files =
            [("x/src/a.rs", "struct Home;\n"), ("x/src/b/c.rs", "fn f() {}\nenum Home {}\n")];
        assert_eq!(found(&files), [("x: Home".to_string(), "x/src/b/c.rs".to_string(), 2)]);
        let inside = [("x/src/a.rs", "trait T {}\nmod m {\n    type T = u8;\n}\n")];
        assert_eq!(found(&inside), [("x: T".to_string(), "x/src/a.rs".to_string(), 3)]);
    }

    #[test]
    fn crates_tests_conditions_and_functions_have_names_of_their_own() {
        assert_eq!(found(&[("x/src/a.rs", "struct S;"), ("y/src/a.rs", "struct S;")]), []);
        let test = "#[cfg(test)]\nmod tests {\n    struct S;\n}\n";
        assert_eq!(found(&[("x/src/a.rs", "struct S;"), ("x/src/b.rs", test)]), []);
        let condition = "#[cfg(a)]\nstruct S;\n#[cfg(not(a))]\nstruct S;\n";
        assert_eq!(found(&[("x/src/a.rs", condition)]), []);
        let local = "fn f() { struct S; }\nfn g() { struct S; }\nimpl A for B { type C = u8; }\n";
        assert_eq!(found(&[("x/src/a.rs", local)]), []);
    }
}
