//! What inheritance brings into a scope, and the names it may not bring twice.
//!
//! Operations and attributes cannot be redefined, nor inherited from two bases under one name;
//! types, constants and exceptions can be redefined. IDL 4.2 §7.4.3.4.3.2.1, §7.5.2.

use std::collections::HashMap;

use super::Checker;
use super::scope::{Entry, ScopeId, Target};
use crate::diagnostic::{Code, Report};
use crate::model::{DefId, DefinitionKind};
use crate::source::Span;
use crate::syntax::Name;

/// Most bases, direct and indirect, of one definition: keeps hostile hierarchies from taking
/// quadratic time.
const BASES: usize = 512;

impl Checker<'_> {
    /// Makes the names of the bases visible in `scope` and reports operations that clash.
    pub(super) fn inherit(&mut self, scope: ScopeId, name: &Name, bases: &[DefId]) {
        let scopes: Vec<ScopeId> =
            bases.iter().filter_map(|base| self.scope_of.get(base).copied()).collect();
        self.scopes[scope.0].bases.extend(scopes);
        let all = self.base_scopes(scope);
        if all.len() > BASES {
            let message = format!("`{}` has more than {BASES} bases", name.text);
            let hint = "this is a limit of this compiler";
            self.report(Code::NestingTooDeep, name.span, message, hint);
            self.scopes[scope.0].bases.clear();
            return;
        }
        let mut seen: HashMap<String, Entry> = HashMap::new();
        let mut clashes = Vec::new();
        for base in all {
            for (key, entry) in &self.scopes[base.0].entries {
                if !self.is_fixed(entry.target) {
                    continue;
                }
                match seen.get(key) {
                    None => drop(seen.insert(key.clone(), entry.clone())),
                    Some(other) => clashes.push((other.clone(), entry.clone())),
                }
            }
        }
        clashes.sort_by_key(|(first, second)| (first.span, second.span));
        for (first, second) in clashes {
            let message = format!("`{}` inherits `{}` from two bases", name.text, second.name);
            let report = Report::new(Code::InheritedClash, name.span, message);
            let report = report.note("one is defined here", first.span);
            let report = report.note("the other is defined here", second.span);
            self.diagnostics.report(report.hint("operations and attributes cannot be overloaded"));
        }
    }

    /// Whether derived scopes may not give the name another meaning.
    fn is_fixed(&self, target: Target) -> bool {
        match target {
            Target::Definition(id) => matches!(
                self.model.get(id).kind,
                DefinitionKind::Operation(_) | DefinitionKind::Attribute(_)
            ),
            Target::Member => true,
            Target::Enumerator(..) | Target::Broken => false,
        }
    }

    /// Reports when a new operation, attribute or state member has the name of an inherited one, or
    /// when any definition has the name of an inherited operation.
    pub(super) fn check_inherited(&mut self, scope: ScopeId, name: &Name) {
        let key = self.key(&name.text);
        let inherited: Option<Span> = self.base_scopes(scope).into_iter().find_map(|base| {
            let entry = self.scopes[base.0].entries.get(&key)?;
            self.is_fixed(entry.target).then_some(entry.span)
        });
        if let Some(place) = inherited {
            let message = format!("`{}` is already inherited", name.text);
            let report = Report::new(Code::InheritedClash, name.span, message);
            let report = report.note("from here", place);
            self.diagnostics.report(report.hint("operations and attributes cannot be redefined"));
        }
    }
}
