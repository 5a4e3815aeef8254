//! Reading IDL for `corbie idl` and `corbie call`: the `-I`, `-D` and `-U` arguments.
//!
//! Joins the front end, which does no I/O, to `corbie_build`'s loader of files.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, value_parser};
use corbie_build::FileLoader;
use corbie_frontend::{Compilation, ImpliedIdl, Options};

use crate::failure::Failure;

/// The arguments of every subcommand that reads IDL.
pub(crate) fn arguments() -> [Arg; 4] {
    [
        Arg::new("include")
            .short('I')
            .long("include")
            .value_name("DIR")
            .action(ArgAction::Append)
            .value_parser(value_parser!(PathBuf))
            .help("A folder to look for included files in"),
        Arg::new("define")
            .short('D')
            .long("define")
            .value_name("NAME[=TEXT]")
            .action(ArgAction::Append)
            .help("A macro defined before the first line"),
        Arg::new("undefine")
            .short('U')
            .long("undefine")
            .value_name("NAME")
            .action(ArgAction::Append)
            .help("A macro removed after that"),
        Arg::new("allow-case-clash")
            .long("allow-case-clash")
            .action(ArgAction::SetTrue)
            .help("Names of one scope may differ by case only, which IDL forbids"),
    ]
}

/// Compiles one file with the options of the command line.
///
/// A file that cannot be read is a diagnostic of the compilation, as every other error.
pub(crate) fn compile(
    file: &Path,
    matches: &ArgMatches,
    implied: ImpliedIdl,
) -> Result<Compilation, Failure> {
    compile_all(&[file], matches, implied)
}

/// Compiles files into one model.
pub(crate) fn compile_all(
    files: &[&Path],
    matches: &ArgMatches,
    implied: ImpliedIdl,
) -> Result<Compilation, Failure> {
    let mut paths = Vec::new();
    for file in files {
        let Some(path) = file.to_str() else {
            return Err(Failure::usage(format!("`{}` is not a name in UTF-8", file.display())));
        };
        paths.push(path);
    }
    let mut options = Options::new();
    for definition in matches.get_many::<String>("define").into_iter().flatten() {
        options = options.define(definition);
    }
    options.undefines = matches.get_many("undefine").into_iter().flatten().cloned().collect();
    options.allow_case_clash = matches.get_flag("allow-case-clash");
    options.implied = implied;
    let folders: Vec<PathBuf> =
        matches.get_many("include").into_iter().flatten().cloned().collect();
    let loader = FileLoader::new(&folders);
    Ok(corbie_frontend::compile_all(&paths, &loader, &options))
}
