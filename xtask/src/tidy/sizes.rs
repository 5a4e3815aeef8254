//! Rules `file-size` (600 lines) and `function-size` (70 lines, signature to closing brace).
//! Test code and generated files are exempt. A function that is one `match` used as a table may
//! be longer when it carries the comment `// tidy: table` and every arm has at most 3 lines.

use syn::visit::{self, Visit};

use super::project::Project;
use super::rust_file::{RustFile, is_test_attribute};
use super::violation::Violation;

/// Name of the rule on files.
pub(crate) const FILE_RULE: &str = "file-size";
/// Name of the rule on functions.
pub(crate) const FUNCTION_RULE: &str = "function-size";

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 70;
const ARM_LINES: usize = 3;
const TABLE_MARKER: &str = "tidy: table";

pub(crate) fn check(project: &Project) -> Vec<Violation> {
    let mut violations = vec![];
    for file in project.rust.iter().filter(|f| !f.is_test_file() && !f.is_generated()) {
        let lines = file.lines_without_tests();
        if lines > FILE_LINES {
            let what = format!("has {lines} lines without its tests, more than {FILE_LINES}");
            let mend = "split it by what it knows; long tests go into `tests.rs` beside it";
            violations.push(Violation::new(FILE_RULE, &file.path, FILE_LINES + 1, what, mend));
        }
        let mut finder = LongFunctions { file, violations: vec![] };
        finder.visit_file(&file.syntax);
        violations.extend(finder.violations);
    }
    violations
}

struct LongFunctions<'a> {
    file: &'a RustFile,
    violations: Vec<Violation>,
}

impl LongFunctions<'_> {
    fn see(
        &mut self,
        attributes: &[syn::Attribute],
        signature: &syn::Signature,
        body: &syn::Block,
    ) {
        let first = signature.fn_token.span.start().line;
        let last = body.brace_token.span.close().end().line;
        let lines = last - first + 1;
        let test = self.file.is_test_line(first) || attributes.iter().any(is_test_attribute);
        if lines <= FUNCTION_LINES || test || self.is_table(first, body) {
            return;
        }
        let what = format!("`{}` has {lines} lines, more than {FUNCTION_LINES}", signature.ident);
        let mend = "give its parts names of their own: control flow stays, the leaves move out";
        self.violations.push(Violation::new(FUNCTION_RULE, &self.file.path, first, what, mend));
    }

    fn is_table(&self, line: usize, body: &syn::Block) -> bool {
        let Some(syn::Stmt::Expr(syn::Expr::Match(table), _)) = body.stmts.last() else {
            return false;
        };
        let arrows = table.arms.iter().map(|arm| arm.fat_arrow_token.spans[0].start().line);
        let mut ends: Vec<usize> = arrows.collect();
        ends.push(table.brace_token.span.close().end().line);
        let narrow = ends.windows(2).all(|pair| pair[1] - pair[0] <= ARM_LINES);
        narrow && self.file.has_comment_at(line, TABLE_MARKER)
    }
}

impl<'ast> Visit<'ast> for LongFunctions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.see(&item.attrs, &item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.see(&item.attrs, &item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.see(&item.attrs, &item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(statements: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(statements))
    }

    fn rules(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        let found = check(&Project::of_texts(&[(path, text)]));
        found.into_iter().map(|v| (v.rule, v.line)).collect()
    }

    #[test]
    fn seventy_lines_pass_and_seventy_one_do_not() {
        assert_eq!(rules("a/src/x.rs", &function(68)), []);
        assert_eq!(rules("a/src/x.rs", &function(69)), [(FUNCTION_RULE, 1)]);
    }

    #[test]
    fn methods_and_default_methods_count_too() {
        let method = format!("impl A {{\n{}}}\n", function(69));
        assert_eq!(rules("a/src/x.rs", &method), [(FUNCTION_RULE, 2)]);
        let default = format!("trait A {{\n{}}}\n", function(69));
        assert_eq!(rules("a/src/x.rs", &default), [(FUNCTION_RULE, 2)]);
    }

    #[test]
    fn tests_and_generated_files_are_exempt() {
        assert_eq!(rules("a/tests/x.rs", &function(100)), []);
        assert_eq!(rules("a/src/x.rs", &format!("// @generated\n{}", function(100))), []);
        assert_eq!(
            rules("a/src/x.rs", &format!("#[cfg(test)]\nmod t {{\n{}}}", function(100))),
            []
        );
    }

    #[test]
    fn a_long_file_is_found_but_its_tests_do_not_count() {
        let text = "const A: u8 = 0;\n".repeat(601);
        assert_eq!(rules("a/src/x.rs", &text), [(FILE_RULE, 601)]);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "fn a() {}\n".repeat(700));
        assert_eq!(rules("a/src/x.rs", &tests), []);
    }

    #[test]
    fn only_a_true_table_may_carry_the_marker() {
        let arms = |arm: &str| format!("match x {{\n{}}}\n", arm.repeat(80));
        let table = format!("// tidy: table\nfn t(x: u8) -> u8 {{\n{}}}\n", arms("1 => 2,\n"));
        assert_eq!(rules("a/src/x.rs", &table), []);
        let arm = "1 => {\na();\nb();\nc();\n}\n";
        let code = format!("// tidy: table\nfn t(x: u8) -> u8 {{\n{}}}\n", arms(arm));
        assert_eq!(rules("a/src/x.rs", &code), [(FUNCTION_RULE, 2)]);
        let unmarked = format!("fn t(x: u8) -> u8 {{\n{}}}\n", arms("1 => 2,\n"));
        assert_eq!(rules("a/src/x.rs", &unmarked), [(FUNCTION_RULE, 1)]);
    }
}
