//! Rule `arrows`: the modules of a crate form layers. The root of the crate states them, from the
//! lowest, in a comment `// layers: wire table < server client < command`; a module imports from
//! lower layers only, so there are no cycles. Every path counts that begins at the crate's root,
//! also inside macros, through `super` and through what the root re-exports. Tests are free.

use std::collections::{BTreeMap, BTreeSet};

use super::crate_map::{Arrow, CrateMap};
use super::offenders::Offence;
use super::project::Project;
use super::violation::Violation;

/// Name of the rule.
pub(crate) const RULE: &str = "arrows";
const MARKER: &str = "// layers:";
/// The root of the crate, above all its modules.
const ROOT: &str = "crate root";

pub(crate) fn find(project: &Project) -> Vec<Offence> {
    CrateMap::all(project).iter().flat_map(of_crate).collect()
}

fn of_crate(map: &CrateMap<'_>) -> Vec<Offence> {
    let arrows = map.arrows();
    let Some((line, layers)) = stated(&map.root.text) else {
        if arrows.is_empty() {
            return vec![];
        }
        let what = "does not state the layers of its modules";
        let mend = format!("write, in the order that you mean: {MARKER} {}", suggested(&arrows));
        let violation = Violation::new(RULE, &map.root.path, 1, what, mend);
        return vec![Offence::new(format!("{}: no layers", map.folder), violation)];
    };
    let mut offences = misplaced(map, line, &layers);
    let rank = |module: &str| layers.iter().position(|layer| layer.iter().any(|m| m == module));
    for arrow in first_of_each(arrows) {
        let Arrow { from, to, file, line } = arrow;
        let is_down = match (rank(&from), to.as_deref().map(rank)) {
            (Some(from), Some(Some(to))) => to < from,
            // A module without a place is reported by itself.
            (None, _) | (_, Some(None)) => true,
            (Some(_), None) => false,
        };
        if !is_down {
            let to = to.unwrap_or_else(|| ROOT.to_string());
            let what = format!("`{from}` imports from `{to}`, which is not below it");
            let mend = "move what both need into a lower module, or the caller into a higher one";
            let violation = Violation::new(RULE, &file, line, what, mend);
            offences.push(Offence::new(format!("{}: {from} -> {to}", map.folder), violation));
        }
    }
    offences
}

/// Modules that the statement forgets, names twice, or invents.
fn misplaced(map: &CrateMap<'_>, line: usize, layers: &[Vec<String>]) -> Vec<Offence> {
    let named: Vec<&String> = layers.iter().flatten().collect();
    let forgotten = map.modules.iter().filter(|module| !named.contains(module));
    let forgotten = forgotten.map(|module| format!("the layers forget the module `{module}`"));
    let invented = named.iter().filter(|module| !map.modules.contains(**module));
    let invented = invented.map(|module| format!("there is no module `{module}` at the root"));
    let twice = named.iter().enumerate().filter(|(i, module)| named[..*i].contains(module));
    let twice = twice.map(|(_, module)| format!("the layers name `{module}` twice"));
    let whats: Vec<String> = forgotten.chain(invented).chain(twice).collect();
    let mend = "give each module of the root one place";
    let violation = |what| Violation::new(RULE, &map.root.path, line, what, mend);
    let offence = |what: String| Offence::new(format!("{}: {what}", map.folder), violation(what));
    whats.into_iter().map(offence).collect()
}

/// The layers that the root states, from the lowest, and the line of the statement. It goes on in
/// the comment lines below it.
fn stated(text: &str) -> Option<(usize, Vec<Vec<String>>)> {
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with(MARKER));
    let (at, first) = lines.next()?;
    let mut statement = first[MARKER.len()..].to_string();
    for (_, line) in lines.take_while(|(_, line)| line.starts_with("//")) {
        statement.push(' ');
        statement.push_str(line.trim_start_matches('/'));
    }
    let layer = |text: &str| text.split_whitespace().map(str::to_string).collect();
    Some((at + 1, statement.split('<').map(layer).collect()))
}

/// One arrow for each pair of modules: the first in the order of files and lines.
fn first_of_each(arrows: Vec<Arrow>) -> Vec<Arrow> {
    let mut seen = BTreeSet::new();
    let is_new = |arrow: &Arrow| seen.insert((arrow.from.clone(), arrow.to.clone()));
    arrows.into_iter().filter(is_new).collect()
}

/// An order with few upward arrows, to begin with.
fn suggested(arrows: &[Arrow]) -> String {
    let mut open: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Arrow { from, to, .. } in arrows {
        if let Some(to) = to.as_deref() {
            open.entry(to).or_default();
            open.entry(from).or_default().insert(to);
        }
    }
    let mut layers: Vec<String> = vec![];
    while !open.is_empty() {
        let fewest = open.values().map(BTreeSet::len).min().unwrap_or(0);
        let mut layer: Vec<&str> =
            open.iter().filter(|(_, to)| to.len() == fewest).map(|(from, _)| *from).collect();
        // In a cycle, one at a time: the next may then have none above it.
        layer.truncate(if fewest == 0 { layer.len() } else { 1 });
        open.retain(|from, to| {
            to.retain(|to| !layer.contains(to));
            !layer.contains(from)
        });
        layers.push(layer.join(" "));
    }
    layers.join(" < ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOC: &str = "//! One.\n//! Two.\n";
    const MANIFEST: (&str, &str) = ("x/Cargo.toml", "[package]\nname = \"x\"\n");

    fn found(root: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = format!("{DOC}{root}\nmod a;\nmod b;\nmod c;\n");
        let mut all = vec![MANIFEST, ("x/src/lib.rs", root.as_str())];
        all.extend(files);
        let offences = find(&Project::of_texts(&all));
        offences.into_iter().map(|offence| offence.key).collect()
    }

    const LAYERS: &str = "// layers: a < b < c";

    #[test]
    fn downward_arrows_pass_and_upward_ones_do_not() {
        let down = ("x/src/b.rs", "use crate::a::X;\n");
        assert_eq!(found(LAYERS, &[down]), Vec::<String>::new());
        let up = ("x/src/a.rs", "use crate::b::X;\n");
        assert_eq!(found(LAYERS, &[up]), ["x: a -> b"]);
    }

    #[test]
    fn modules_of_one_layer_do_not_import_each_other() {
        let beside = ("x/src/a.rs", "use crate::b::X;\n");
        assert_eq!(found("// layers: a b\n//   < c", &[beside]), ["x: a -> b"]);
    }

    #[test]
    fn every_way_to_write_an_upward_arrow_is_seen() {
        for text in [
            "use crate::{b::X, std_like::Y};\n",
            "use crate::{self as x, c, b};\n",
            "fn f() { crate::b::g(); }\n",
            "fn f() { m!(1, crate::b::g()); }\n",
            "use super::b;\n",
            "mod inner { use super::super::b::X; }\n",
            "fn f(x: &dyn crate::b::T) {}\n",
            "macro_rules! m { () => { $crate::b::g() } }\n",
        ] {
            let keys = found(LAYERS, &[("x/src/a.rs", text)]);
            assert!(keys.contains(&"x: a -> b".to_string()), "{text}: {keys:?}");
        }
        let below = ("x/src/a/deep.rs", "use super::super::b::X;\n");
        assert_eq!(found(LAYERS, &[below]), ["x: a -> b"]);
    }

    #[test]
    fn a_name_that_the_root_re_exports_leads_to_its_module() {
        let root = "// layers: a < b < c\npub use b::{Thing as Other, X};\npub use c::*;\n\
                    pub use elsewhere::Y;\nmod made {}\npub fn here() {}";
        let through = |text| found(root, &[("x/src/a.rs", text), ("x/src/c.rs", "pub fn f() {}")]);
        assert_eq!(through("use crate::Other;\n"), ["x: a -> b"]);
        assert_eq!(through("fn g() { crate::f() }\n"), ["x: a -> c"]);
        assert_eq!(through("use crate::Y;\nuse crate::made::Z;\n"), Vec::<String>::new());
        assert_eq!(through("fn g() { crate::here() }\n"), ["x: a -> crate root"]);
    }

    #[test]
    fn tests_visibility_and_comments_are_no_arrows() {
        let text = "//! [`crate::b::X`]\npub(crate) struct S;\npub(in crate::b) struct T;\n\
                    #[cfg(test)]\nmod tests {\n    use crate::b::X;\n}\n";
        assert_eq!(found(LAYERS, &[("x/src/a.rs", text)]), Vec::<String>::new());
        assert_eq!(
            found(LAYERS, &[("x/src/a/tests.rs", "use crate::b::X;")]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn the_statement_names_each_module_once() {
        let keys = found("// layers: a < b < a d", &[]);
        let wanted = [
            "x: the layers forget the module `c`",
            "x: there is no module `d` at the root",
            "x: the layers name `a` twice",
        ];
        assert_eq!(keys, wanted);
    }

    #[test]
    fn a_crate_without_a_statement_is_told_one() {
        let files = [("x/src/a.rs", "use crate::b::X;"), ("x/src/c.rs", "use crate::a::X;")];
        assert_eq!(found("", &files), ["x: no layers"]);
        let arrow = |from: &str, to: &str| {
            let (from, to) = (from.to_string(), Some(to.to_string()));
            Arrow { from, to, file: String::new(), line: 1 }
        };
        assert_eq!(suggested(&[arrow("a", "b"), arrow("c", "a")]), "b < a < c");
        let cycle = [arrow("a", "b"), arrow("b", "a"), arrow("c", "a")];
        assert_eq!(suggested(&cycle), "a < b c");
    }
}
