//! [`Claims`]: which Rust names are given away, and which name a second claimant gets.
//!
//! The earlier definition keeps the name, so that what comes later never changes it; the later one
//! gets a trailing underscore, or as many as it takes, and a warning says so.

use std::collections::HashMap;

use corbie_frontend::diagnostic::Note;
use corbie_frontend::{Code, DefId, Definition, Diagnostic, Model, Severity, Span};

use crate::externs::Externs;

/// Rust's two namespaces (macros have none of ours).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Space {
    Type,
    Value,
}

/// What wants a Rust name: what it is in the IDL and where.
#[derive(Debug, Clone)]
pub(super) struct Claimant {
    /// The definition, or the one that has the member.
    pub(super) id: DefId,
    pub(super) word: &'static str,
    pub(super) scoped_name: String,
    pub(super) span: Span,
}

impl Claimant {
    pub(super) fn of(definition: &Definition) -> Self {
        Claimant {
            id: definition.id,
            word: definition.kind.word(),
            scoped_name: definition.scoped_name.clone(),
            span: definition.span,
        }
    }
}

/// Names already given.
pub(super) struct Claims<'a> {
    model: &'a Model,
    externs: &'a Externs,
    diagnostics: &'a mut Vec<Diagnostic>,
    taken: HashMap<(String, Space, String), Claimant>,
}

impl<'a> Claims<'a> {
    pub(super) fn new(
        model: &'a Model,
        externs: &'a Externs,
        diagnostics: &'a mut Vec<Diagnostic>,
    ) -> Self {
        Claims { model, externs, diagnostics, taken: HashMap::new() }
    }

    pub(super) fn model(&self) -> &'a Model {
        self.model
    }

    /// Gives a name that is free in all of the spaces: the one wanted, if that is.
    pub(super) fn claim(
        &mut self,
        scope: &str,
        spaces: &[Space],
        wanted: String,
        claimant: Claimant,
    ) -> String {
        let key = |space: &Space, name: &str| (scope.to_owned(), *space, name.to_owned());
        let holder = |name: &str| spaces.iter().find_map(|space| self.taken.get(&key(space, name)));
        let mut name = wanted.clone();
        while holder(&name).is_some() {
            name.push('_');
        }
        let first = holder(&wanted).cloned();
        for space in spaces {
            self.taken.insert(key(space, &name), claimant.clone());
        }
        if let Some(first) = first
            && !self.externs.contains(claimant.id)
        {
            self.tell(&first, claimant, &wanted, &name);
        }
        name
    }

    fn tell(&mut self, first: &Claimant, later: Claimant, wanted: &str, given: &str) {
        let Claimant { word, scoped_name, span, .. } = later;
        let message = format!(
            "{word} `{scoped_name}` and {} `{}` both become `{wanted}` in Rust; {} `{given}`",
            first.word, first.scoped_name, "the later one is"
        );
        let note = Note {
            message: format!("`{}` is here", first.scoped_name),
            span: first.span,
            position: self.model.sources.position(first.span),
        };
        self.diagnostics.push(Diagnostic {
            code: Code::RustNameClash,
            severity: Severity::Warning,
            message,
            span,
            position: self.model.sources.position(span),
            hint: format!(
                "choose a Rust name for one of them: `Builder::rename(\"{scoped_name}\", …)` in \
                 build.rs"
            ),
            notes: vec![note],
        });
    }
}
