//! [`SourceMap`]: the files of one compilation, and from octet offsets to line and column.
//!
//! Used by diagnostics (source lines, carets) and by the model (positions). `#line` directives
//! change the position shown, never the text found.

use std::collections::BTreeSet;
use std::sync::Arc;

/// A file of a [`SourceMap`]; 0 is the first file compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A stretch of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// Octet offset of the first octet in [`SourceFile::text`].
    pub start: u32,
    /// Octet offset after the last octet; `start <= end`.
    pub end: u32,
}

impl Span {
    /// From the start of this to the end of `last`, if both are in the same file; else this.
    #[must_use]
    pub fn to(self, last: Span) -> Span {
        if self.file == last.file && last.end >= self.start {
            Span { end: last.end, ..self }
        } else {
            self
        }
    }
}

/// A place as people write it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Position {
    /// File name, as found by the loader or as given by `#line`.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl std::fmt::Display for Position {
    /// `file:line:column`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// One file's text.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The name under which the loader found it.
    pub name: Arc<str>,
    /// The text, as UTF-8 (ISO 8859-1 input is converted).
    pub text: Arc<str>,
    /// Where it was first included from; `None` for a file compiled and for built-in text.
    pub included_from: Option<Span>,
    /// The files that it includes, each once.
    pub includes: Vec<FileId>,
    /// Whether it is a file compiled, perhaps included by another one as well.
    is_main: bool,
    /// Offsets of the first octet of each line.
    lines: Vec<u32>,
    /// `#line` directives: offset from which it holds, line number there, file name if given.
    renumbered: Vec<(u32, u32, Arc<str>)>,
}

impl SourceFile {
    fn new(name: &str, text: String, included_from: Option<Span>) -> Self {
        let starts =
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at as u32 + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        let (name, text) = (name.into(), text.into());
        SourceFile {
            name,
            text,
            included_from,
            includes: Vec::new(),
            is_main: false,
            lines,
            renumbered: Vec::new(),
        }
    }

    /// Index of the line (from 0) that an offset is in.
    fn line_index(&self, offset: u32) -> usize {
        self.lines.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// The physical line (from 1) of an offset, its text without the line end, and the character
    /// column (from 0) of the offset in it.
    #[must_use]
    pub fn line_at(&self, offset: u32) -> (u32, &str, usize) {
        let index = self.line_index(offset);
        let start = self.lines[index] as usize;
        let end = self.lines.get(index + 1).map_or(self.text.len(), |next| *next as usize);
        let line = self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r']);
        let within = (offset as usize - start.min(offset as usize)).min(line.len());
        let column = line.char_indices().take_while(|(at, _)| *at < within).count();
        (index as u32 + 1, line, column)
    }

    /// The place of an offset as shown to people, `#line` applied.
    #[must_use]
    pub fn position(&self, offset: u32) -> Position {
        let (line, _, column) = self.line_at(offset);
        let column = column as u32 + 1;
        let before = self.renumbered.partition_point(|(from, ..)| *from <= offset);
        match before.checked_sub(1).map(|last| &self.renumbered[last]) {
            Some((from, number, name)) => {
                let passed = line - (self.line_index(*from) as u32 + 1);
                Position { file: name.clone(), line: number.saturating_add(passed), column }
            }
            None => Position { file: self.name.clone(), line, column },
        }
    }

    /// The name that a `#line` in the first line gives: this is the preprocessed text of that file.
    fn original_name(&self) -> Option<&Arc<str>> {
        let (from, _, name) = self.renumbered.first()?;
        (self.line_index(*from) <= 1).then_some(name)
    }

    /// `#line number "name"`: from `offset` (the start of the next line) on.
    pub(crate) fn renumber(&mut self, offset: u32, number: u32, name: Option<&str>) {
        let current = self.position(offset).file;
        let name = name.map_or(current, Arc::from);
        if self.renumbered.last().is_none_or(|(last, ..)| *last < offset) {
            self.renumbered.push((offset, number, name));
        }
    }
}

/// All files of one compilation.
#[derive(Debug, Clone, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// The files, in order of first inclusion; [`FileId`] is the index.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// One file, if the id is of this map.
    #[must_use]
    pub fn file(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }

    /// The place of a span's start as shown to people; a default one for a foreign id.
    #[must_use]
    pub fn position(&self, span: Span) -> Position {
        self.file(span.file).map_or_else(Position::default, |file| file.position(span.start))
    }

    /// The text of a span.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file)
            .and_then(|file| file.text.get(span.start as usize..span.end as usize))
            .unwrap_or("")
    }

    /// Whether a span shows as being in a file compiled (`#line "other"` moves text elsewhere).
    #[must_use]
    pub fn in_main_file(&self, span: Span) -> bool {
        let Some(file) = self.file(span.file).filter(|file| file.is_main) else {
            return false;
        };
        let shown = file.position(span.start).file;
        shown == file.name || Some(&shown) == file.original_name()
    }

    pub(crate) fn add(&mut self, name: &str, text: String, from: Option<Span>) -> FileId {
        self.files.push(SourceFile::new(name, text, from));
        FileId(self.files.len() as u32 - 1)
    }

    /// The files compiled, in order of compilation.
    pub fn main_files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter().filter(|file| file.is_main)
    }

    /// A file with everything that it includes, and what that includes.
    #[must_use]
    pub fn with_includes(&self, file: FileId) -> BTreeSet<FileId> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![file];
        while let Some(id) = waiting.pop() {
            if found.insert(id) {
                waiting.extend(self.file(id).into_iter().flat_map(|file| &file.includes));
            }
        }
        found
    }

    /// Marks a file as compiled.
    pub(crate) fn set_main(&mut self, id: FileId) {
        if let Some(file) = self.file_mut(id) {
            file.is_main = true;
        }
    }

    /// Notes that one file includes another.
    pub(crate) fn add_include(&mut self, from: FileId, to: FileId) {
        if let Some(file) = self.file_mut(from)
            && !file.includes.contains(&to)
        {
            file.includes.push(to);
        }
    }

    pub(crate) fn file_mut(&mut self, id: FileId) -> Option<&mut SourceFile> {
        self.files.get_mut(id.0 as usize)
    }
}
