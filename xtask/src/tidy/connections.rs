//! Rule `connections`: a connection stays small enough to be understood. Its fields are counted
//! with those of our own types that it is made of, as far as they stand in the same crate, and
//! its atomics likewise. What it reaches by a pointer is not part of it, and what a lock guards
//! counts as one field, since one thread at a time sees it.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::offenders::Offence;
use super::project::Project;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "connections";

/// The types that are connections, by the names that they have or had.
const CONNECTIONS: [&str; 4] =
    ["Connection", "MuxedConnection", "ServerConnection", "ExclusiveConnection"];
const FIELDS: usize = 16;
const ATOMICS: usize = 8;
/// What stands behind these is elsewhere.
const POINTERS: [&str; 5] = ["Arc", "Rc", "Weak", "Box", "PhantomData"];
/// What stands behind these is seen by one thread at a time, and counts as one field.
const LOCKS: [&str; 6] = ["Mutex", "RwLock", "Ranked", "RankedRw", "Token", "PlainToken"];

/// A struct as the rule sees it.
struct Shape<'p> {
    path: &'p str,
    line: usize,
    /// The names in the type of each field.
    fields: Vec<BTreeSet<String>>,
}

/// Structs of the ORB by crate and name.
type Shapes<'p> = BTreeMap<(&'p str, String), Shape<'p>>;

pub(crate) fn find(project: &Project) -> Vec<Offence> {
    let mut shapes = Shapes::new();
    for file in &project.rust {
        let folder = file.path.split_once("/src/").map_or("", |(folder, _)| folder);
        if !file.path.starts_with("orb/") || file.is_test_file() {
            continue;
        }
        for item in &file.syntax.items {
            if let syn::Item::Struct(item) = item {
                let line = item.ident.span().start().line;
                let fields = item.fields.iter().map(|field| names_in(&field.ty)).collect();
                let shape = Shape { path: &file.path, line, fields };
                shapes.entry((folder, item.ident.to_string())).or_insert(shape);
            }
        }
    }
    let connections = shapes.iter().filter(|((_, name), _)| CONNECTIONS.contains(&name.as_str()));
    let offences = connections.flat_map(|((folder, name), shape)| {
        let (fields, atomics) = count(&shapes, folder, name, &mut BTreeSet::new());
        let offence = |what, count, limit| {
            let text = format!("`{name}` has {count} {what}, more than {limit}");
            let mend = "let a part of it be a type of its own, or a state an enum";
            let violation = Violation::new(RULE, shape.path, shape.line, text, mend);
            let key = format!("{folder}: {what} of {name}");
            (count > limit).then_some(Offence { key, count: Some(count), violation })
        };
        [offence("fields", fields, FIELDS), offence("atomics", atomics, ATOMICS)]
    });
    offences.flatten().collect()
}

/// Fields and atomics of a struct and of those that it contains; each type counts once.
fn count(
    shapes: &Shapes<'_>,
    folder: &str,
    name: &str,
    seen: &mut BTreeSet<String>,
) -> (usize, usize) {
    let (mut fields, mut atomics) = (0, 0);
    let Some(shape) = shapes.get(&(folder, name.to_string())) else { return (0, 0) };
    if !seen.insert(name.to_string()) {
        return (0, 0);
    }
    for names in &shape.fields {
        let mut inner = (0, 0);
        for name in names {
            let found = count(shapes, folder, name, seen);
            inner = (inner.0 + found.0, inner.1 + found.1);
        }
        // A field that is a struct of ours is what that has.
        fields += inner.0.max(1);
        atomics += inner.1 + names.iter().filter(|name| name.starts_with("Atomic")).count();
    }
    (fields, atomics)
}

fn names_in(field: &syn::Type) -> BTreeSet<String> {
    let mut names = Names::default();
    names.visit_type(field);
    names.0
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_type_path(&mut self, path: &'ast syn::TypePath) {
        let Some(last) = path.path.segments.last() else { return };
        let name = last.ident.to_string();
        let ends = POINTERS.iter().chain(&LOCKS).any(|end| name == *end);
        self.0.insert(name);
        if !ends {
            visit::visit_type_path(self, path);
        }
    }

    fn visit_type_reference(&mut self, _: &'ast syn::TypeReference) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, Option<usize>)> {
        let offences = find(&Project::of_texts(&[("orb/x/src/a.rs", text)]));
        offences.into_iter().map(|offence| (offence.key, offence.count)).collect()
    }

    fn fields(count: usize, of: &str) -> String {
        (0..count).map(|i| format!("    f{i}: {of},\n")).collect()
    }

    #[test]
    fn sixteen_fields_and_eight_atomics_pass() {
        let most =
            format!("struct Connection {{\n{}{}}}\n", fields(8, "AtomicU8"), fields(8, "u8"));
        assert_eq!(found(&most), []);
        let more = format!("struct Connection {{\n{}}}\n", fields(17, "u8"));
        assert_eq!(found(&more), [("orb/x: fields of Connection".to_string(), Some(17))]);
        let atomics = format!("struct Connection {{\n{}}}\n", fields(9, "AtomicU8"));
        assert_eq!(found(&atomics), [("orb/x: atomics of Connection".to_string(), Some(9))]);
        let other = format!("struct Other {{\n{}}}\n", fields(17, "u8"));
        assert_eq!(found(&other), []);
    }

    #[test]
    fn what_it_contains_counts_and_what_it_points_to_does_not() {
        let part = format!("struct Part {{\n{}}}\n", fields(17, "AtomicU8"));
        let contains = format!("{part}struct Connection {{ part: Option<Part> }}\n");
        let (f, a) = ("orb/x: fields of Connection", "orb/x: atomics of Connection");
        assert_eq!(found(&contains), [(f.to_string(), Some(17)), (a.to_string(), Some(17))]);
        let points = format!("{part}struct Connection<'a> {{ a: Arc<Part>, b: &'a Part }}\n");
        assert_eq!(found(&points), []);
        let guards = format!("{part}struct Connection {{ part: Ranked<Sender, Part> }}\n");
        assert_eq!(found(&guards), []);
    }
}
