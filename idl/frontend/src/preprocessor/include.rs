//! Opening files: the one compiled, and those of `#include`.
//!
//! Each distinct file is kept once in the source map, however often it is included.

use std::rc::Rc;

use super::raw::{RawLexer, RawToken};
use super::{OpenFile, Preprocessor};
use crate::diagnostic::{Code, Report};
use crate::source::{FileId, LoadError, LoadedSource, Span};
use crate::standard;
use crate::token::{Event, Stretch};

impl Preprocessor<'_> {
    /// Opens the file compiled; when that fails, an empty file takes its place.
    pub(super) fn open_main(&mut self, path: &str) {
        let here = Span::default();
        let (name, text, problem) = match self.loader.load(path, None, false) {
            Ok(loaded) => {
                let name = loaded.name.clone();
                match self.admit(loaded) {
                    Ok(text) => (name, text, None),
                    Err(report) => (name, String::new(), Some(report)),
                }
            }
            Err(error) => {
                let report = Self::load_problem(path, error, here).hint("check the path");
                (path.to_owned(), String::new(), Some(report))
            }
        };
        let id = self.enter_source(name, text, None);
        if let Some(report) = problem {
            self.diagnostics.report(report);
        }
        self.read(id);
    }

    fn load_problem(path: &str, error: LoadError, span: Span) -> Report {
        match error {
            LoadError::NotFound(tried) => {
                let report =
                    Report::new(Code::FileNotFound, span, format!("there is no file `{path}`"));
                let tried = tried.join("`, `");
                report.hint(format!("add the folder that has it with -I (tried `{tried}`)"))
            }
            LoadError::Failed(why) => {
                Report::new(Code::FileUnreadable, span, format!("cannot read `{path}`: {why}"))
            }
        }
    }

    /// Counts a file against the limits and turns it into text.
    fn admit(&mut self, loaded: LoadedSource) -> Result<String, Report> {
        let limits = &self.options.limits;
        let size = loaded.octets.len();
        self.total_octets = self.total_octets.saturating_add(size);
        let most = limits.file_octets.min(u32::MAX as usize);
        let (message, hint) = if size > most {
            let message = format!("`{}` has {size} octets; the limit is {most}", loaded.name);
            (message, "split the file, or raise `Limits::file_octets`")
        } else if self.total_octets > limits.total_octets {
            let message = format!("all files together exceed {} octets", limits.total_octets);
            (message, "guard included files with `#pragma once`, or raise `Limits::total_octets`")
        } else {
            return Ok(decode(loaded.octets));
        };
        Err(Report::new(Code::FileTooLarge, Span::default(), message).hint(hint))
    }

    /// `#include`, after the word.
    pub(super) fn include(&mut self, directive: Span) {
        let Some(file) = self.files.last_mut() else { return };
        let (text, span) = file.lexer.rest_of_line();
        file.lexer.skip_line();
        file.at_line_start = true;
        let from = file.name.clone();
        let Some((path, system)) = quoted_path(&text).or_else(|| self.expanded_path(&text, span))
        else {
            let span = if text.is_empty() { directive } else { span };
            let hint = "write `#include \"file\"` or `#include <file>`";
            self.report(Code::IncludeSyntax, span, "this `#include` names no file", hint);
            return;
        };
        if self.files.len() > self.options.limits.include_depth {
            let message = format!("files include each other deeper than {}", self.files.len() - 1);
            let hint = "does a file include itself? guard it with `#pragma once`";
            self.report(Code::IncludeTooDeep, span, message, hint);
            return;
        }
        match self.find(&path, &from, system, span) {
            Ok(id) => {
                self.sources.add_include(directive.file, id);
                if !self.once.contains(&id) {
                    self.event(Event::EnterFile);
                    self.read(id);
                }
            }
            Err(report) => {
                self.diagnostics.report(report);
            }
        }
    }

    /// Loads a file, or the standard's own when the loader has none of that name.
    fn find(&mut self, path: &str, from: &str, system: bool, span: Span) -> Result<FileId, Report> {
        let loaded = match self.loader.load(path, Some(from), system) {
            Ok(loaded) => loaded,
            Err(LoadError::NotFound(tried)) => match standard::file(path) {
                Some(text) => {
                    LoadedSource { name: format!("<standard>/{path}"), octets: text.into() }
                }
                None => return Err(Self::load_problem(path, LoadError::NotFound(tried), span)),
            },
            Err(error) => return Err(Self::load_problem(path, error, span)),
        };
        let name = loaded.name.clone();
        let text = self.admit(loaded).map_err(|report| report.at(span))?;
        Ok(self.enter_source(name, text, Some(span)))
    }

    /// The file of this name and text in the source map; added if it is not there yet.
    fn enter_source(&mut self, name: String, text: String, from: Option<Span>) -> FileId {
        let identity = plain_path(&name);
        let known = self.known.get(&identity).copied();
        // A link may make one path of two files.
        let same = |id: &FileId| self.sources.file(*id).is_some_and(|file| *file.text == *text);
        if let Some(id) = known.filter(same) {
            return id;
        }
        let id = self.sources.add(&name, text, from);
        self.known.insert(identity, id);
        id
    }

    /// Takes over what earlier runs have read.
    pub(super) fn know_sources(&mut self) {
        for (at, file) in self.sources.files().iter().enumerate() {
            self.known.insert(plain_path(&file.name), FileId(at as u32));
        }
    }

    pub(super) fn end_stretch(&mut self) {
        let (tokens, events) = (self.out.tokens.len(), self.out.events.len());
        let open = self.open_stretches.pop();
        if let Some(stretch) = open.and_then(|at| self.out.stretches.get_mut(at)) {
            stretch.tokens.end = tokens;
            stretch.events.end = events;
        }
    }

    fn read(&mut self, id: FileId) {
        let Some(file) = self.sources.file(id) else { return };
        self.comments.clear();
        let (tokens, events) = (self.out.tokens.len(), self.out.events.len());
        self.open_stretches.push(self.out.stretches.len());
        self.out.stretches.push(Stretch {
            file: id,
            tokens: tokens..tokens,
            events: events..events,
        });
        self.files.push(OpenFile {
            lexer: RawLexer::new(id, file.text.clone()),
            name: Rc::from(&*file.name),
            conditionals: Vec::new(),
            at_line_start: true,
        });
    }

    /// `#include NAME`, where a macro holds the file name.
    fn expanded_path(&mut self, text: &str, span: Span) -> Option<(String, bool)> {
        let tokens = super::raw::lex_all(text, span);
        let expanded: Vec<RawToken> = self.expand_list(tokens);
        let text: String = expanded.iter().map(|t| &*t.text).collect();
        quoted_path(&text)
    }
}

/// `"path"` or `<path>` at the start of the text; whether it was the latter.
fn quoted_path(text: &str) -> Option<(String, bool)> {
    let close = match text.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    let path = text[1..].split_once(close)?.0;
    (!path.is_empty()).then(|| (path.to_owned(), close == '>'))
}

/// A path without `.` and `folder/..`, so that one file has one path.
fn plain_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        let up = parts.last().is_some_and(|last| !matches!(*last, "" | ".."));
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if up => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// UTF-8, or else ISO 8859-1 (IDL's own character set, IDL 4.2 §7.2).
fn decode(octets: Vec<u8>) -> String {
    String::from_utf8(octets)
        .unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect())
}
