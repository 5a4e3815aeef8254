//! Structs, exceptions, unions, enums.
//!
//! A faulty member or case is left out and the rest is kept. IDL 4.2 §7.4.1.4.4.4, §7.4.13.4
//! (inheritance of structs, empty structs).

use super::{Failed, Parse, Parser};
use crate::diagnostic::{Code, Report};
use crate::source::Span;
use crate::syntax::{
    CaseSyntax, DefinitionSyntax, EnumeratorSyntax, MemberSyntax, Name, UnionBody,
};
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn structure(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        let base = if self.accept(":") { Some(self.scoped_name("a struct")?) } else { None };
        if base.is_none() && !self.peek().is("{") {
            if self.peek().is(";") {
                return Ok(DefinitionSyntax::Struct { name, base, body: None });
            }
            return self.expected("`{`, `:` or `;` after the name of the struct", "");
        }
        let members = self.members()?;
        Ok(DefinitionSyntax::Struct { name, base, body: Some(members) })
    }

    pub(super) fn exception(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        let members = self.members()?;
        Ok(DefinitionSyntax::Exception { name, members })
    }

    /// `{ member; … }`
    fn members(&mut self) -> Parse<Vec<MemberSyntax>> {
        let open = self.span();
        self.expect("{")?;
        let own_name = self.latest_name.clone();
        let mut members = Vec::new();
        self.nested(|this| {
            while !this.peek().is("}") && *this.peek() != TokenKind::End {
                match this.member() {
                    Ok(member) => members.push(member),
                    Err(Failed) => this.recover(),
                }
            }
            Ok(())
        })?;
        self.latest_name = own_name;
        self.close_brace(open)?;
        Ok(members)
    }

    /// `type name, …;`
    pub(super) fn member(&mut self) -> Parse<MemberSyntax> {
        let (docs, annotations) = self.documented()?;
        let ty = self.type_use()?;
        let declarators = self.declarators()?;
        self.semicolon()?;
        Ok(MemberSyntax { ty, declarators, docs, annotations })
    }

    pub(super) fn union(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        if self.peek().is(";") {
            return Ok(DefinitionSyntax::Union { name, body: None });
        }
        if !self.accept_word("switch") {
            return self.expected(
                "`switch` after the name of the union",
                "unions are `union U switch (long) {…}`",
            );
        }
        self.expect("(")?;
        self.annotations()?;
        let discriminator = self.type_use()?;
        self.expect(")")?;
        let open = self.span();
        self.expect("{")?;
        let cases = self.nested(|this| Ok(this.cases()))?;
        self.latest_name = Some(name.clone());
        self.close_brace(open)?;
        self.not_empty(cases.is_empty(), "union", "case", &name);
        Ok(DefinitionSyntax::Union { name, body: Some(UnionBody { discriminator, cases }) })
    }

    fn not_empty(&mut self, empty: bool, what: &str, part: &str, name: &Name) {
        if empty {
            let message = format!("{what} `{}` has no {part}", name.text);
            let report = Report::new(Code::EmptyDefinition, name.span, message);
            self.diagnostics.report(report.hint(format!("add at least one {part}")));
        }
    }

    fn cases(&mut self) -> Vec<CaseSyntax> {
        let mut cases = Vec::new();
        while !self.peek().is("}") && *self.peek() != TokenKind::End {
            match self.case() {
                Ok(case) => cases.push(case),
                Err(Failed) => self.recover(),
            }
        }
        cases
    }

    /// Labels, then a member with one declarator.
    fn case(&mut self) -> Parse<CaseSyntax> {
        // Comments may stand before the first label or before the member.
        let (docs, mut annotations) = self.documented()?;
        let mut labels: Vec<(Option<crate::syntax::Expression>, Span)> = Vec::new();
        loop {
            let start = self.span();
            if self.accept_word("default") {
                self.expect(":")?;
                labels.push((None, start));
            } else if self.accept_word("case") {
                let label = self.expression()?;
                let span = label.span;
                self.expect(":")?;
                labels.push((Some(label), span));
            } else if labels.is_empty() {
                return self.expected("`case` or `default`", "every member of a union has labels");
            } else {
                break;
            }
        }
        let (inner_docs, inner) = self.documented()?;
        annotations.extend(inner);
        let docs = if docs.is_empty() { inner_docs } else { docs };
        let ty = self.type_use()?;
        let declarators = vec![self.declarator()?];
        self.semicolon()?;
        Ok(CaseSyntax { labels, member: MemberSyntax { ty, declarators, docs, annotations } })
    }

    pub(super) fn enumeration(&mut self) -> Parse<DefinitionSyntax> {
        self.advance();
        let name = self.definition_name()?;
        let open = self.span();
        self.expect("{")?;
        let mut enumerators = Vec::new();
        while !self.peek().is("}") {
            let (docs, annotations) = self.documented()?;
            let name = self.new_name()?;
            enumerators.push(EnumeratorSyntax { name, docs, annotations });
            if !self.accept(",") {
                break;
            }
            if self.peek().is("}") {
                let report = Report::new(
                    Code::Expected,
                    self.previous_span(),
                    "expected a name after this `,`",
                );
                self.diagnostics.report(report.hint("remove the `,`"));
            }
        }
        self.close_brace(open)?;
        self.not_empty(enumerators.is_empty(), "enum", "enumerator", &name);
        Ok(DefinitionSyntax::Enum { name, enumerators })
    }
}
