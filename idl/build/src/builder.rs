//! [`Builder`]: the options of a build script, and the run from IDL files to Rust files.
//!
//! Front end and generator do the work; here files are found, written, and named to cargo.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use corbie_codegen::OperationDemux;
use corbie_frontend::{Diagnostic, ImpliedIdl};

use crate::{Error, FileLoader};

/// Compiles IDL files to Rust.
///
/// ```no_run
/// corbie_build::Builder::new()
///     .include_path("/usr/share/idl/omniORB")
///     .define("WITH_HISTORY")
///     .derive("serde::Serialize")
///     .compile(&["idl/stock.idl"])
///     .unwrap();
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing happens before `compile`"]
pub struct Builder {
    include_paths: Vec<PathBuf>,
    defines: Vec<String>,
    undefines: Vec<String>,
    allow_case_clash: bool,
    out_dir: Option<PathBuf>,
    output: Option<String>,
    implied: ImpliedIdl,
    options: corbie_codegen::Options,
}

/// The code of the IDL files of one call.
#[derive(Debug, Clone)]
pub struct Output {
    /// Rust source.
    pub source: String,
    /// Every file that was read for it, included ones too.
    pub files_read: Vec<PathBuf>,
    /// Warnings, one line each, with file, line and column.
    pub warnings: Vec<String>,
}

impl Builder {
    /// No include paths, no macros, output to `$OUT_DIR`, operations found by perfect hash; of the
    /// asynchronous forms only futures.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a folder to search for included files (`-I`). A relative one starts at the folder of
    /// the package, where cargo runs build scripts.
    pub fn include_path(mut self, folder: impl Into<PathBuf>) -> Self {
        self.include_paths.push(folder.into());
        self
    }

    /// Defines a macro for the preprocessor (`-D`): `NAME` or `NAME=text`.
    pub fn define(mut self, definition: impl Into<String>) -> Self {
        self.defines.push(definition.into());
        self
    }

    /// Removes a macro after all [`Builder::define`] (`-U`).
    pub fn undefine(mut self, name: impl Into<String>) -> Self {
        self.undefines.push(name.into());
        self
    }

    /// Whether names of one scope may differ by case only, which IDL forbids and some compilers
    /// allow.
    pub fn allow_case_clash(mut self, on: bool) -> Self {
        self.allow_case_clash = on;
        self
    }

    /// Writes to this folder instead of `$OUT_DIR`. It is created if need be.
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Gives the output another name than that of the first IDL file: `telecom` for
    /// `telecom.rs`, which `corbie::include_idl!("telecom")` takes in.
    pub fn output(mut self, name: impl Into<String>) -> Self {
        self.output = Some(name.into());
        self
    }

    /// How skeletons find the operation that a request names.
    pub fn operation_demux(mut self, demux: OperationDemux) -> Self {
        self.options.operation_demux = demux;
        self
    }

    /// Puts one more derive macro on every struct, union, enum and exception; give its path
    /// (`serde::Serialize`). All types that they contain must have the trait as well.
    pub fn derive(mut self, path: impl Into<String>) -> Self {
        self.options.extra_derives.push(path.into());
        self
    }

    /// Generates nothing for an IDL module and refers to code made elsewhere: `CosNaming` is found
    /// at the Rust path `crate::naming::cos_naming`, say. That code must come from the same IDL.
    /// What the files compiled add to a module of an included file is generated here.
    pub fn extern_module(mut self, idl: impl Into<String>, rust: impl Into<String>) -> Self {
        self.options.extern_modules.push((idl.into(), rust.into()));
        self
    }

    /// Generates nothing for an included file and refers to the code that another crate has made of
    /// it: `.extern_idl("common.idl", "my_common::idl")` where `my_common` has
    /// `pub mod idl { corbie::include_idl!("common"); }`. The types are then the same in both
    /// crates. What that file includes is there too, unless it has a place of its own.
    ///
    /// The file is named as `#include` does, or by the end of its path.
    pub fn extern_idl(mut self, file: impl Into<String>, rust: impl Into<String>) -> Self {
        self.options.extern_files.push((file.into(), rust.into()));
        self
    }

    /// Gives a definition or member another name in Rust, for instance to resolve a clash:
    /// `.rename("Stock::Quoter::getQuote", "get_quote_fast")`. The name on the wire does not
    /// change.
    pub fn rename(mut self, idl: impl Into<String>, rust: impl Into<String>) -> Self {
        self.options.renames.push((idl.into(), rust.into()));
        self
    }

    /// Whether references have `sendc_` operations, and interfaces reply handlers
    /// (`AmiXHandler`); off unless asked for. CORBA Messaging §22.8.
    pub fn ami_callback(mut self, on: bool) -> Self {
        self.implied.ami_callback = on;
        self
    }

    /// Whether references have `sendp_` operations, and interfaces pollers (`AmiXPoller`); off
    /// unless asked for. CORBA Messaging §22.10.
    pub fn ami_poller(mut self, on: bool) -> Self {
        self.implied.ami_poller = on;
        self
    }

    /// Whether references have `op_async` methods, which return futures; on unless switched off.
    pub fn futures(mut self, on: bool) -> Self {
        self.options.futures = on;
        self
    }

    /// Whether interfaces have servants that answer later (`AmhXServant`); off unless asked for.
    /// Paper AMH §2.
    pub fn amh(mut self, on: bool) -> Self {
        self.implied.amh = on;
        self
    }

    /// The same for one interface, and only for some of its own operations and attributes; the
    /// others return their results as in an ordinary servant, also with [`Builder::amh`]:
    /// `.amh_operations("Stock::Quoter", &["get_quote"])`. Paper AMH §6.
    pub fn amh_operations(mut self, interface: impl Into<String>, operations: &[&str]) -> Self {
        let operations = operations.iter().map(|&name| name.to_owned()).collect();
        self.implied.amh_operations.push((interface.into(), operations));
        self
    }

    /// Whether interfaces have servants made of `async fn` (`AsyncXServant`); off unless asked for.
    pub fn async_servants(mut self, on: bool) -> Self {
        self.options.async_servants = on;
        self
    }

    /// Whether references implement `corbie::Described`: what their interface consists of, for
    /// typed event channels and other programs that were not built for it; off unless asked for.
    pub fn descriptions(mut self, on: bool) -> Self {
        self.options.descriptions = on;
        self
    }

    /// Compiles the files into one tree of modules, in which a definition that several of them
    /// include is there once, and tells cargo what to watch.
    ///
    /// The output is `<stem>.rs` of the first file, or what [`Builder::output`] says. In the place
    /// of the other files' output is a `compile_error!` that names it.
    ///
    /// # Errors
    /// See [`Error`]; nothing is written then.
    pub fn compile(&self, files: &[impl AsRef<Path>]) -> Result<(), Error> {
        let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
        self.compile_and_tell(&files, &mut tell_cargo)
    }

    /// As [`Builder::compile`]; `tell` gets what cargo is to know.
    pub(crate) fn compile_and_tell(
        &self,
        files: &[&Path],
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        let folder = match &self.out_dir {
            Some(folder) => folder.clone(),
            None => std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or(Error::NoOutputFolder)?,
        };
        let names = output_names(files, self.output.as_deref())?;
        let Some((chosen, others)) = names.split_first() else { return Ok(()) };
        for file in files {
            // Also watched when it has errors, so that mending it starts the next try.
            tell(&format!("rerun-if-changed={}", file.display()));
        }
        let output = self.generate_all(files)?;
        for read in &output.files_read {
            tell(&format!("rerun-if-changed={}", read.display()));
        }
        for warning in &output.warnings {
            tell(&format!("warning={warning}"));
        }
        for other in others {
            let text = format!("the code of `{other}.idl` is with that of others in `{chosen}`");
            write(&folder.join(format!("{other}.rs")), &format!("compile_error!({text:?});\n"))?;
        }
        write(&folder.join(format!("{chosen}.rs")), &output.source)
    }

    /// Compiles one file without writing anything.
    ///
    /// # Errors
    /// [`Error::Idl`] and [`Error::Option`].
    pub fn generate(&self, file: &Path) -> Result<Output, Error> {
        self.generate_all(&[file])
    }

    /// Compiles files into one tree of modules, as [`Builder::compile`], without writing anything.
    ///
    /// # Errors
    /// [`Error::Idl`] and [`Error::Option`].
    pub fn generate_all(&self, files: &[&Path]) -> Result<Output, Error> {
        self.options.check().map_err(Error::Option)?;
        let loader = FileLoader::new(&self.include_paths);
        let mut options = corbie_frontend::Options::new();
        for definition in &self.defines {
            options = options.define(definition);
        }
        options.undefines.clone_from(&self.undefines);
        options.allow_case_clash = self.allow_case_clash;
        options.implied.clone_from(&self.implied);
        let paths: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
        let paths: Vec<&str> = paths.iter().map(|path| &**path).collect();
        let compilation = corbie_frontend::compile_all(&paths, &loader, &options);
        if compilation.has_errors() {
            return Err(Error::Idl(compilation.render_diagnostics()));
        }
        let generated = corbie_codegen::generate(&compilation.model, &self.options);
        if generated.has_errors() {
            let sources = &compilation.model.sources;
            let texts = generated.diagnostics.iter().map(|d| d.render(sources) + "\n");
            return Err(Error::Idl(texts.collect()));
        }
        let diagnostics = compilation.diagnostics.iter().chain(&generated.diagnostics);
        Ok(Output {
            source: generated.source,
            files_read: loader.files_read(),
            warnings: diagnostics.map(Diagnostic::to_string).collect(),
        })
    }
}

/// The name of the output, without its ending, and then the names of files whose code is in it.
///
/// # Errors
/// [`Error::SameOutput`]: two files have one name, and `chosen` names no other.
pub fn output_names(files: &[&Path], chosen: Option<&str>) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = chosen.into_iter().map(str::to_owned).collect();
    let mut seen: HashMap<String, &Path> = HashMap::new();
    for file in files {
        let stem = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        match seen.insert(stem.clone(), file) {
            Some(other) if chosen.is_none() => {
                return Err(Error::SameOutput(other.to_owned(), file.to_path_buf()));
            }
            _ if names.contains(&stem) => {}
            _ => names.push(stem),
        }
    }
    Ok(names)
}

/// Writes only what differs, so that nothing is compiled again for nothing.
fn write(target: &Path, source: &str) -> Result<(), Error> {
    if std::fs::read(target).is_ok_and(|old| old == source.as_bytes()) {
        return Ok(());
    }
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder).map_err(|error| Error::Write(folder.to_owned(), error))?;
    }
    std::fs::write(target, source).map_err(|error| Error::Write(target.to_owned(), error))
}

/// Cargo reads instructions from the standard output of a build script; there is no other way.
#[allow(clippy::print_stdout)]
fn tell_cargo(instruction: &str) {
    println!("cargo:{instruction}");
}

#[cfg(test)]
mod tests;
