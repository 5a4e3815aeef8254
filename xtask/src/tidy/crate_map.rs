//! The modules at the root of a crate and which of them imports from which, found in the tokens of
//! its sources. `arrows` compares that with the layers that the crate states.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{Item, UseTree};

use super::project::Project;
use super::rust_file::RustFile;

/// A path in one module that leads into another of the same crate.
pub(crate) struct Arrow {
    pub(crate) from: String,
    /// `None`: something that the root of the crate defines itself.
    pub(crate) to: Option<String>,
    pub(crate) file: String,
    pub(crate) line: usize,
}

/// A crate as its root sees it.
pub(crate) struct CrateMap<'p> {
    /// `orb/core`.
    pub(crate) folder: &'p str,
    pub(crate) root: &'p RustFile,
    /// Modules that the root declares, tests aside.
    pub(crate) modules: BTreeSet<String>,
    /// The sources of those modules, tests aside.
    files: Vec<&'p RustFile>,
    /// What the root re-exports: the module it comes from, `None` for another crate's.
    re_exports: BTreeMap<String, Option<String>>,
}

impl<'p> CrateMap<'p> {
    /// The crates of the project that have a library, or else a program, in `src`.
    pub(crate) fn all(project: &'p Project) -> Vec<CrateMap<'p>> {
        let mut maps = vec![];
        for manifest in project.manifests.iter().filter(|manifest| manifest.package.is_some()) {
            let file = |name: &str| {
                let path = format!("{}/src/{name}", manifest.folder);
                project.rust.iter().find(|file| file.path == path)
            };
            if let Some(root) = file("lib.rs").or_else(|| file("main.rs")) {
                maps.push(CrateMap::of(project, &manifest.folder, root));
            }
        }
        maps
    }

    fn of(project: &'p Project, folder: &'p str, root: &'p RustFile) -> CrateMap<'p> {
        let declared = root.syntax.items.iter().filter_map(|item| match item {
            Item::Mod(module) => Some(module),
            _ => None,
        });
        let shipped = declared.filter(|m| !root.is_test_line(m.mod_token.span.start().line));
        let (inline, out_of_line): (Vec<_>, Vec<_>) =
            shipped.partition(|module| module.content.is_some());
        let modules: BTreeSet<String> = out_of_line
            .into_iter()
            .filter(|module| !module.attrs.iter().any(super::rust_file::is_test_attribute))
            .map(|module| module.ident.to_string())
            .collect();
        let source = format!("{folder}/src/");
        let is_of_a_module = |file: &&RustFile| {
            let path = file.path.strip_prefix(&source).unwrap_or("");
            let top = path.split('/').next().unwrap_or("").trim_end_matches(".rs");
            modules.contains(top) && !file.is_test_file()
        };
        let files = project.rust.iter().filter(is_of_a_module).collect();
        // What the root contains itself, such as generated code, is for all of its modules.
        let re_exports =
            inline.into_iter().map(|module| (module.ident.to_string(), None)).collect();
        let mut map = CrateMap { folder, root, modules, files, re_exports };
        for item in &root.syntax.items {
            if let Item::Use(item) = item {
                map.note_re_export(&item.tree, None);
            }
        }
        map.note_exported_macros();
        map
    }

    /// `module` is the first name of the path so far: `Some(None)` when it is another crate.
    fn note_re_export(&mut self, tree: &UseTree, module: Option<Option<String>>) {
        match tree {
            UseTree::Path(path) => {
                let name = path.ident.to_string();
                let of_root = module.is_none() && ["crate", "self"].contains(&name.as_str());
                let own = || self.modules.contains(&name).then(|| name.clone());
                let module = if of_root { None } else { module.or_else(|| Some(own())) };
                self.note_re_export(&path.tree, module);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.note_re_export(tree, module.clone());
                }
            }
            UseTree::Name(name) => self.note(name.ident.to_string(), module),
            UseTree::Rename(rename) => self.note(rename.rename.to_string(), module),
            UseTree::Glob(_) => {
                let names = module.iter().flatten().flat_map(|module| self.items_of(module));
                for name in names.collect::<Vec<_>>() {
                    self.note(name, module.clone());
                }
            }
        }
    }

    fn note(&mut self, name: String, module: Option<Option<String>>) {
        if !self.modules.contains(&name) {
            self.re_exports.insert(name, module.flatten());
        }
    }

    /// Macros with `#[macro_export]` are named through the root wherever they stand.
    fn note_exported_macros(&mut self) {
        let mut found = vec![];
        for file in &self.files {
            for item in &file.syntax.items {
                if let Item::Macro(item) = item
                    && item.attrs.iter().any(|a| a.path().is_ident("macro_export"))
                    && let Some(name) = &item.ident
                {
                    found.push((name.to_string(), self.module_of(file).first().cloned()));
                }
            }
        }
        self.re_exports.extend(found);
    }

    /// Names of the items in the file of a module: what a glob import brings.
    fn items_of(&self, module: &str) -> Vec<String> {
        let path = format!("{}/src/{module}.rs", self.folder);
        let file = self.files.iter().find(|file| file.path == path);
        let items = file.iter().flat_map(|file| &file.syntax.items);
        let name = |item: &Item| match item {
            Item::Const(item) => Some(item.ident.to_string()),
            Item::Enum(item) => Some(item.ident.to_string()),
            Item::Fn(item) => Some(item.sig.ident.to_string()),
            Item::Static(item) => Some(item.ident.to_string()),
            Item::Struct(item) => Some(item.ident.to_string()),
            Item::Trait(item) => Some(item.ident.to_string()),
            Item::Type(item) => Some(item.ident.to_string()),
            Item::Mod(item) => Some(item.ident.to_string()),
            _ => None,
        };
        items.filter_map(name).collect()
    }

    /// `[client, invoke]` for `orb/core/src/client/invoke.rs`.
    fn module_of(&self, file: &RustFile) -> Vec<String> {
        let path = file.path.strip_prefix(&format!("{}/src/", self.folder)).unwrap_or("");
        let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
        path.split('/').map(str::to_string).collect()
    }

    /// All arrows between different modules, in the order of files and lines.
    pub(crate) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows = vec![];
        for file in &self.files {
            let mut walk = Walk { map: self, file, arrows: &mut arrows };
            walk.tokens(file.tokens(), &self.module_of(file));
        }
        arrows
    }
}

struct Walk<'w, 'p> {
    map: &'w CrateMap<'p>,
    file: &'p RustFile,
    arrows: &'w mut Vec<Arrow>,
}

impl Walk<'_, '_> {
    fn tokens(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(word) if word == "pub" && parenthesised(tokens.get(at + 1)) => {
                    at += 1;
                }
                TokenTree::Ident(word) if word == "mod" => {
                    if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                        (tokens.get(at + 1), tokens.get(at + 2))
                    {
                        let inner: Vec<String> =
                            module.iter().cloned().chain([name.to_string()]).collect();
                        self.tokens(body.stream(), &inner);
                        at += 2;
                    }
                }
                TokenTree::Ident(word) if word == "crate" || word == "super" => {
                    at = self.path(&tokens, at, module);
                    continue;
                }
                TokenTree::Group(group) => self.tokens(group.stream(), module),
                _ => {}
            }
            at += 1;
        }
    }

    /// A path that begins at `at`; gives the place after what was read of it.
    fn path(&mut self, tokens: &[TokenTree], mut at: usize, module: &[String]) -> usize {
        let mut base = module.len();
        while let Some(TokenTree::Ident(word)) = tokens.get(at) {
            match word.to_string().as_str() {
                "crate" => base = 0,
                "super" => base = base.saturating_sub(1),
                _ => break,
            }
            if !is_colons(tokens, at + 1) {
                return at + 1;
            }
            at += 3;
        }
        if base > 0 {
            return at;
        }
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => {
                self.note(&name.to_string(), name.span().start().line, module);
                at + 1
            }
            Some(TokenTree::Group(group)) => {
                let mut begins = true;
                for token in group.stream() {
                    if let (true, TokenTree::Ident(name)) = (begins, &token) {
                        self.note(&name.to_string(), name.span().start().line, module);
                    }
                    begins = matches!(&token, TokenTree::Punct(mark) if mark.as_char() == ',');
                }
                at + 1
            }
            _ => at,
        }
    }

    fn note(&mut self, name: &str, line: usize, module: &[String]) {
        if name == "self" || self.file.is_test_line(line) {
            return;
        }
        let to = match self.map.re_exports.get(name) {
            _ if self.map.modules.contains(name) => Some(name.to_string()),
            Some(Some(module)) => Some(module.clone()),
            Some(None) => return,
            None => None,
        };
        let from = module.first().cloned().unwrap_or_default();
        if to.as_ref() != Some(&from) {
            self.arrows.push(Arrow { from, to, file: self.file.path.clone(), line });
        }
    }
}

fn is_colons(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |at: usize| match tokens.get(at) {
        Some(TokenTree::Punct(mark)) => mark.as_char() == ':',
        _ => false,
    };
    is_colon(at) && is_colon(at + 1)
}

fn parenthesised(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
}
