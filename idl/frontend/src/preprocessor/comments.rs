//! Which comments belong to which token: those directly before it become its documentation.
//!
//! Called while tokens are read. A comment that ends a line of code, or that a blank line separates
//! from what follows, documents nothing.

use super::Preprocessor;
use super::raw::Comment;
use crate::diagnostic::Code;
use crate::source::Span;

impl Preprocessor<'_> {
    pub(super) fn pass_comments(&mut self, passed: Vec<Comment>) {
        for comment in passed {
            if comment.unterminated {
                let start = Span { end: comment.span.start + 2, ..comment.span };
                let message = "this comment is never closed";
                self.report(Code::UnterminatedComment, start, message, "add `*/`");
            }
            self.comments.push(comment);
        }
    }

    /// Attaches the comments passed so far to the token at `next`, which is about to be added.
    pub(super) fn keep_comments(&mut self, next: Span) {
        if self.comments.is_empty() {
            return;
        }
        let comments = std::mem::take(&mut self.comments);
        let Some(file) = self.sources.file(next.file) else { return };
        let line_ends = |from: u32, to: u32| {
            let gap = file.text.get(from as usize..to as usize);
            gap.map(|gap| gap.bytes().filter(|b| *b == b'\n').count())
        };
        let previous = self.out.tokens.last().map(|t| t.span);
        let mut kept = Vec::new();
        let mut below = next.start;
        for comment in comments.into_iter().rev().map(|c| c.span) {
            let near =
                comment.file == next.file && line_ends(comment.end, below).is_some_and(|n| n <= 1);
            let follows_code = previous.is_some_and(|previous| {
                previous.file == comment.file && line_ends(previous.end, comment.start) == Some(0)
            });
            let trailing = follows_code && line_ends(comment.end, below) != Some(0);
            if !near || trailing {
                break;
            }
            below = comment.start;
            kept.push(comment);
        }
        if !kept.is_empty() {
            kept.reverse();
            self.out.docs.push((self.out.tokens.len(), kept));
        }
    }
}
