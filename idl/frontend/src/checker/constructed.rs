//! Structs, enums, exceptions (unions have their own module).
//!
//! IDL 4.2 §7.4.1.4.4.4, §7.4.13.4.1 (inheritance of structs).

use super::scope::{ScopeId, Target};
use super::{Checker, Head, Progress};
use crate::model::{DefId, DefinitionKind, Enum, Enumerator, Exception, Member, Struct};
use crate::syntax::{DefinitionSyntax, EnumeratorSyntax, MemberSyntax, Name, ScopedName};

impl Checker<'_> {
    /// A struct, union or enum, at a definition's place or inside a declaration.
    pub(super) fn constructed(
        &mut self,
        kind: &DefinitionSyntax,
        head: Head<'_>,
        scope: ScopeId,
    ) -> Option<DefId> {
        match kind {
            DefinitionSyntax::Struct { name, base, body } => {
                Some(self.structure(name, base.as_ref(), body.as_deref(), head, scope))
            }
            DefinitionSyntax::Union { name, body } => self.union(name, body.as_ref(), head, scope),
            DefinitionSyntax::Enum { name, enumerators } => {
                Some(self.enumeration(name, enumerators, head, scope))
            }
            _ => None,
        }
    }

    fn structure(
        &mut self,
        name: &Name,
        base: Option<&ScopedName>,
        body: Option<&[MemberSyntax]>,
        head: Head<'_>,
        scope: ScopeId,
    ) -> DefId {
        let known = self.local_definition(scope, name);
        let known =
            known.filter(|id| matches!(self.model.get(*id).kind, DefinitionKind::Struct(_)));
        let id = match known {
            Some(id) if body.is_none() => id,
            Some(id) if self.progress(id) == Progress::Declared => {
                self.redefine(id, name, head, scope);
                id
            }
            _ => {
                let empty = Struct { forward_only: true, ..Struct::default() };
                let progress = if body.is_some() { Progress::Open } else { Progress::Declared };
                self.define(name, DefinitionKind::Struct(empty), head, scope, progress)
            }
        };
        let Some(body) = body else { return id };
        let base = base.and_then(|base| {
            let wanted = |kind: &DefinitionKind| matches!(kind, DefinitionKind::Struct(_));
            let found = self.resolve_kind(scope, base, "a struct", wanted)?;
            self.usable_base(found, base, &[]).then_some(found)
        });
        let inner = self.open_scope(id, scope, false);
        if let Some(base) = base {
            self.inherit(inner, name, &[base]);
        }
        let members = self.body(body, inner);
        if let DefinitionKind::Struct(x) = &mut self.model.get_mut(id).kind {
            x.base = base;
            x.members = members;
            x.forward_only = false;
        }
        self.complete(id);
        id
    }

    /// The members of a struct or exception.
    fn body(&mut self, body: &[MemberSyntax], scope: ScopeId) -> Vec<Member> {
        let mut members = Vec::new();
        for member in body {
            for declarator in &member.declarators {
                self.check_inherited(scope, &declarator.name);
            }
            members.extend(self.members(member, scope));
        }
        members
    }

    pub(super) fn exception(
        &mut self,
        name: &Name,
        body: &[MemberSyntax],
        head: Head<'_>,
        scope: ScopeId,
    ) {
        let kind = DefinitionKind::Exception(Exception::default());
        let id = self.define(name, kind, head, scope, Progress::Complete);
        let inner = self.open_scope(id, scope, false);
        let members = self.body(body, inner);
        if let DefinitionKind::Exception(x) = &mut self.model.get_mut(id).kind {
            x.members = members;
        }
    }

    fn enumeration(
        &mut self,
        name: &Name,
        enumerators: &[EnumeratorSyntax],
        head: Head<'_>,
        scope: ScopeId,
    ) -> DefId {
        let kind = DefinitionKind::Enum(Enum::default());
        let id = self.define(name, kind, head, scope, Progress::Complete);
        let mut all = Vec::with_capacity(enumerators.len());
        for (index, syntax) in enumerators.iter().enumerate() {
            // IDL 4.2 §7.5.2: enumerators are names of the scope that the enum is in.
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            self.declare(scope, &syntax.name, Target::Enumerator(id, index));
            let annotations = self.annotations(&syntax.annotations, scope);
            all.push(Enumerator {
                name: syntax.name.text.to_string(),
                docs: syntax.docs.clone(),
                annotations,
                span: syntax.name.span,
            });
        }
        if let DefinitionKind::Enum(x) = &mut self.model.get_mut(id).kind {
            x.enumerators = all;
        }
        id
    }
}
