//! Resolving names: from the innermost scope outwards, through bases, and into the standard's own
//! names.
//!
//! A name found outside the current scope is introduced into it: the scope may not define it later.
//! IDL 4.2 §7.5.3.

use std::collections::HashSet;
use std::rc::Rc;

use super::Checker;
use super::scope::{Entry, ScopeId, Target, Used};
use crate::diagnostic::{Code, Report};
use crate::model::{DefId, DefinitionKind, Type};
use crate::preprocessor;
use crate::source::{FileId, MemoryLoader, Span};
use crate::spelling;
use crate::standard;
use crate::syntax::{Name, ScopedName};

/// Types that have keywords, for hints.
const BASIC_TYPES: &[&str] = &[
    "any", "boolean", "char", "double", "float", "long", "octet", "sequence", "short", "string",
    "unsigned", "wchar", "wstring", "Object",
];

/// Result of looking a name up in one scope and its bases.
pub(super) enum Found {
    Nothing,
    One(Entry),
    /// Different things of the same name, inherited from different bases.
    Several(Vec<Entry>),
}

impl Checker<'_> {
    /// All direct and indirect bases of a scope, each once.
    pub(super) fn base_scopes(&self, scope: ScopeId) -> Vec<ScopeId> {
        let mut all = Vec::new();
        let mut seen = HashSet::new();
        let mut waiting: Vec<ScopeId> = self.scopes[scope.0].bases.iter().rev().copied().collect();
        while let Some(base) = waiting.pop() {
            if seen.insert(base) {
                all.push(base);
                waiting.extend(self.scopes[base.0].bases.iter().rev());
            }
        }
        all
    }

    /// What a scope has of this name, unless only files have it that the text does not include.
    fn visible_entry(&self, scope: ScopeId, key: &str) -> Option<&Entry> {
        let entry = self.scopes[scope.0].entries.get(key)?;
        let hidden = |file: &FileId| self.hidden.contains(file);
        let is_hidden = hidden(&entry.span.file) && entry.again.iter().all(hidden);
        (!is_hidden).then_some(entry)
    }

    /// Looks in a scope, then in its bases; a name in a base hides the same name further up.
    fn find_in(&self, scope: ScopeId, key: &str) -> Found {
        if let Some(entry) = self.visible_entry(scope, key) {
            return Found::One(entry.clone());
        }
        if self.scopes[scope.0].bases.is_empty() {
            return Found::Nothing;
        }
        let mut found: Vec<(ScopeId, Entry)> = Vec::new();
        let mut seen = HashSet::new();
        let mut waiting: Vec<ScopeId> = self.scopes[scope.0].bases.iter().rev().copied().collect();
        while let Some(base) = waiting.pop() {
            if !seen.insert(base) {
                continue;
            }
            match self.visible_entry(base, key) {
                Some(entry) => found.push((base, entry.clone())),
                None => waiting.extend(self.scopes[base.0].bases.iter().rev()),
            }
        }
        if found.len() > 1 {
            let hidden: HashSet<ScopeId> =
                found.iter().flat_map(|(base, _)| self.base_scopes(*base)).collect();
            found.retain(|(base, _)| !hidden.contains(base));
        }
        let mut entries: Vec<Entry> = found.into_iter().map(|(_, entry)| entry).collect();
        match entries.len() {
            0 => Found::Nothing,
            1 => Found::One(entries.remove(0)),
            _ => Found::Several(entries),
        }
    }

    /// Looks for an unqualified name from a scope outwards; also the scope where it was found.
    fn find_outwards(&self, scope: ScopeId, key: &str) -> (Found, ScopeId) {
        let mut at = scope;
        loop {
            match self.find_in(at, key) {
                Found::Nothing => match self.scopes[at.0].parent {
                    Some(parent) => at = parent,
                    None => return (Found::Nothing, at),
                },
                found => return (found, at),
            }
        }
    }

    /// Remembers that a scope (and the scopes around it, up to a module) used a name found in
    /// `home`.
    fn introduce(&mut self, scope: ScopeId, home: ScopeId, name: &Name) {
        let key = self.key(&name.text);
        let mut at = Some(scope);
        while let Some(current) = at {
            let here = &mut self.scopes[current.0];
            if here.is_module || here.entries.contains_key(&key) {
                return;
            }
            let used = Used { name: name.text.clone(), span: name.span };
            here.used.entry(key.clone()).or_insert(used);
            if current == home {
                return;
            }
            at = here.parent;
        }
    }

    /// What a name stands for; reports when it stands for nothing. `None` also for faulty
    /// definitions.
    pub(super) fn resolve(&mut self, scope: ScopeId, name: &ScopedName) -> Option<Target> {
        self.look_up(scope, name, true)
    }

    /// The same without reports and without introducing the name.
    pub(super) fn resolve_quietly(&mut self, scope: ScopeId, name: &ScopedName) -> Option<Target> {
        self.look_up(scope, name, false)
    }

    fn look_up(&mut self, scope: ScopeId, name: &ScopedName, loud: bool) -> Option<Target> {
        let (first, rest) = name.parts.split_first()?;
        let (mut found, home) = if name.absolute {
            (self.find_in(ScopeId::ROOT, &self.key(&first.text)), ScopeId::ROOT)
        } else {
            self.find_outwards(scope, &self.key(&first.text))
        };
        if matches!(found, Found::Nothing) && self.supply_standard(first, rest) {
            found = self.find_in(ScopeId::ROOT, &self.key(&first.text));
        }
        if matches!(found, Found::Nothing) && !name.absolute && self.in_corba(scope) {
            let corba = Name { text: "CORBA".into(), span: first.span };
            if self.supply_standard(&corba, std::slice::from_ref(first)) {
                found = self.find_outwards(scope, &self.key(&first.text)).0;
            }
        }
        let mut target = self.single(found, first, name, scope, loud)?;
        if loud && !name.absolute {
            self.introduce(scope, home, first);
        }
        let mut before = first;
        for part in rest {
            let inner = match target {
                Target::Definition(id) => self.scope_of.get(&id).copied(),
                _ => None,
            };
            let Some(inner) = inner else {
                if loud {
                    self.not_a_scope(before, target);
                }
                return None;
            };
            let mut found = self.find_in(inner, &self.key(&part.text));
            let of_corba =
                &*before.text == "CORBA" && self.scopes[inner.0].parent == Some(ScopeId::ROOT);
            if matches!(found, Found::Nothing)
                && of_corba
                && self.supply_standard(before, std::slice::from_ref(part))
            {
                found = self.find_in(inner, &self.key(&part.text));
            }
            target = self.single(found, part, name, inner, loud)?;
            before = part;
        }
        Some(target)
    }

    /// The one thing found, or reports that there is none or several.
    fn single(
        &mut self,
        found: Found,
        part: &Name,
        whole: &ScopedName,
        scope: ScopeId,
        loud: bool,
    ) -> Option<Target> {
        match found {
            Found::One(entry) => {
                if loud && *entry.name != *part.text && entry.target != Target::Broken {
                    let message = format!("`{}` is defined as `{}`", part.text, entry.name);
                    let report = Report::new(Code::CaseMismatch, part.span, message);
                    let report = report.note("defined here", entry.span);
                    let hint = format!("names must always be written alike: `{}`", entry.name);
                    self.diagnostics.report(report.hint(hint));
                }
                (entry.target != Target::Broken).then_some(entry.target)
            }
            Found::Several(entries) => {
                if loud {
                    let message = format!("`{}` is inherited with several meanings", part.text);
                    let mut report = Report::new(Code::AmbiguousName, part.span, message);
                    for entry in entries.iter().take(4) {
                        report = report.note("it could be this one", entry.span);
                    }
                    let hint = format!("write it with its interface: `Base::{}`", part.text);
                    self.diagnostics.report(report.hint(hint));
                }
                None
            }
            Found::Nothing => {
                if loud {
                    self.not_found(part, whole, scope);
                }
                None
            }
        }
    }

    /// Reports a missing name once; further uses become notes of that report.
    fn not_found(&mut self, part: &Name, whole: &ScopedName, scope: ScopeId) {
        let owner = self.owner(scope).map(|id| self.model.get(id).scoped_name.clone());
        let qualified = whole.parts.len() > 1 && !std::ptr::eq(&whole.parts[0], part);
        let place = match &owner {
            Some(owner) if qualified => format!(" in `{owner}`"),
            _ => String::new(),
        };
        let message = format!("`{}` is not defined{place}", part.text);
        if let Some(earlier) = self.missing.get(&message) {
            if let Some(index) = *earlier {
                self.diagnostics.also(index, "also used here", part.span);
            }
            return;
        }
        // What a file that is missing would define: its absence is the one thing to mend.
        if let Some(index) = self.diagnostics.missing_include() {
            self.diagnostics.also(index, "this may be defined there", part.span);
            self.missing.insert(message, Some(index));
            return;
        }
        let full = self.diagnostics.is_full();
        let hint = if full { String::new() } else { self.similar_name(part, scope, qualified) };
        let index = self
            .diagnostics
            .report(Report::new(Code::NotFound, part.span, message.clone()).hint(hint));
        self.missing.insert(message, index);
    }

    /// A hint that names what was perhaps meant.
    fn similar_name(&self, part: &Name, scope: ScopeId, qualified: bool) -> String {
        let mut at = Some(scope);
        while let Some(current) = at {
            let inherited = self.base_scopes(current);
            let names = std::iter::once(current)
                .chain(inherited)
                .flat_map(|s| self.scopes[s.0].entries.values())
                .filter(|e| e.target != Target::Member)
                .map(|e| &*e.name);
            if let Some(meant) = spelling::closest(&part.text, names) {
                return format!("did you mean `{meant}`?");
            }
            at = if qualified { None } else { self.scopes[current.0].parent };
        }
        let elsewhere = self.model.iter().find(|d| d.name == *part.text);
        let basic = spelling::closest(&part.text, BASIC_TYPES.iter().copied());
        match (elsewhere, basic.filter(|_| !qualified)) {
            (Some(definition), _) => format!("there is `{}`", definition.scoped_name),
            (None, Some(meant)) => format!("did you mean `{meant}`?"),
            (None, None) => {
                "define it before its first use, or #include the file that does".to_owned()
            }
        }
    }

    fn not_a_scope(&mut self, part: &Name, target: Target) {
        let what = match target {
            Target::Definition(id) => self.describe(id),
            Target::Enumerator(..) => format!("enumerator `{}`", part.text),
            Target::Member | Target::Broken => format!("member `{}`", part.text),
        };
        let message = format!("{what} contains no names");
        let hint =
            "names before `::` are modules, interfaces, valuetypes, structs, unions or exceptions";
        self.report(Code::WrongKind, part.span, message, hint);
    }

    /// Whether a scope lies in module `CORBA`.
    fn in_corba(&self, scope: ScopeId) -> bool {
        let mut at = Some(scope);
        while let Some(current) = at {
            let here = &self.scopes[current.0];
            if here.parent == Some(ScopeId::ROOT) && here.is_module && &*here.own_name == "CORBA" {
                return true;
            }
            at = here.parent;
        }
        false
    }

    /// Declares `CORBA::name` as the standard does, if the text lacks it; whether that was done.
    fn supply_standard(&mut self, module: &Name, rest: &[Name]) -> bool {
        let Some(name) = rest.first().map(|n| n.text.clone()) else { return false };
        if &*module.text != "CORBA" || !self.standard.insert(Rc::clone(&name)) {
            return false;
        }
        let Some(text) = standard::corba_definition(&name) else { return false };
        self.read_standard(&format!("CORBA/{name}"), text);
        true
    }

    /// Adds the definitions of a text of the standard.
    pub(super) fn read_standard(&mut self, name: &str, text: String) {
        let path = format!("<standard>/{name}");
        let loader = MemoryLoader::new().file(path.clone(), text);
        let options = crate::Options::new();
        let stream = preprocessor::run(&path, &loader, &options, self.sources, self.diagnostics);
        let items = crate::parser::parse(stream, &options.limits, self.sources, self.diagnostics);
        let outer = std::mem::take(&mut self.prefix);
        self.items(&items, ScopeId::ROOT);
        self.prefix = outer;
    }

    /// Types that the language knows by a name rather than a keyword, where nothing else has that
    /// name.
    pub(super) fn predefined_type(&mut self, scope: ScopeId, name: &ScopedName) -> Option<Type> {
        let last = name.parts.last()?;
        let ty = match (name.parts.len(), &*last.text) {
            (1, word) if !name.absolute && crate::keywords::sized_integer(word).is_some() => {
                // A definition of another case (`_Int8`) is not what the keyword means.
                if let Found::One(entry) = self.find_outwards(scope, &self.key(word)).0
                    && *entry.name == *word
                {
                    return None;
                }
                return crate::keywords::sized_integer(word);
            }
            (1, "TypeCode") if !name.absolute => Type::TypeCode,
            (1, "AbstractBase") if !name.absolute && self.in_corba(scope) => Type::AbstractBase,
            (2, word) if &*name.parts[0].text == "CORBA" => match word {
                "TypeCode" => Type::TypeCode,
                "Object" => Type::Object,
                "ValueBase" => Type::ValueBase,
                "AbstractBase" => Type::AbstractBase,
                _ => return None,
            },
            _ => return None,
        };
        self.resolve_quietly(scope, name).is_none().then_some(ty)
    }

    /// Resolves a name that must be a definition accepted by `wanted`.
    pub(super) fn resolve_kind(
        &mut self,
        scope: ScopeId,
        name: &ScopedName,
        what: &str,
        wanted: impl Fn(&DefinitionKind) -> bool,
    ) -> Option<DefId> {
        let target = self.resolve(scope, name)?;
        // Aliases of interfaces may stand for them.
        let id = match target {
            Target::Definition(id) => self.model.resolve_alias(&Type::Named(id)).named(),
            _ => None,
        };
        if let Some(id) = id.filter(|id| wanted(&self.model.get(*id).kind)) {
            return Some(id);
        }
        self.wrong_kind(name.span, &name.text(), target, what);
        None
    }

    pub(super) fn wrong_kind(&mut self, span: Span, name: &str, target: Target, what: &str) {
        let (word, place) = match target {
            Target::Definition(id) => {
                let definition = self.model.get(id);
                (definition.kind.word(), Some(definition.span))
            }
            Target::Enumerator(id, _) => ("enumerator", Some(self.model.get(id).span)),
            Target::Member | Target::Broken => ("member or parameter", None),
        };
        let article = if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        let is = match word.starts_with("union") {
            true => format!("a {word}"),
            false => format!("{article} {word}"),
        };
        let report =
            Report::new(Code::WrongKind, span, format!("`{name}` is not {what}, but {is}"));
        let report = match place {
            Some(place) => report.note("it is defined here", place),
            None => report,
        };
        self.diagnostics.report(report.hint(format!("name {what}")));
    }
}
