//! `corbie idl check` and `corbie idl compile`: the front end and the generator by hand.
//!
//! The same steps and options as `corbie_build` in a `build.rs`. Diagnostics go to standard error
//! as the front end renders them, all of all files; the exit status is 1 if any is an error.

mod asynchronous;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use corbie_codegen::OperationDemux;

use crate::failure::{Failure, Report};
use crate::idl_files;

pub(super) fn table() -> Command {
    Command::new("idl")
        .about("Checks IDL files and generates Rust from them")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(check_table())
        .subcommand(compile_table())
        .after_help("Example: corbie idl compile -I idl -o src/generated idl/stock.idl")
}

fn check_table() -> Command {
    Command::new("check")
        .about("Reports every error and warning in IDL files")
        .arg(files())
        .args(idl_files::arguments())
        .arg(asynchronous::check_argument())
        .after_help("Example: corbie idl check -I /usr/share/idl/omniORB stock.idl")
}

fn compile_table() -> Command {
    Command::new("compile")
        .about(
            "Generates one tree of Rust modules from IDL files, as corbie_build does in a build.rs",
        )
        .arg(files())
        .args(idl_files::arguments())
        .arg(
            Arg::new("out")
                .short('o')
                .long("out-dir")
                .value_name("DIR")
                .default_value(".")
                .value_parser(value_parser!(PathBuf))
                .help("The folder for the output, made if need be: stock.idl becomes stock.rs"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .value_name("NAME")
                .help("The output's name, instead of that of the first file: NAME.rs"),
        )
        .arg(
            Arg::new("demux")
                .long("operation-demux")
                .value_name("STRATEGY")
                .value_parser(DEMUX.map(|(name, _)| name))
                .default_value(DEMUX[0].0)
                .help("How skeletons find the operation that a request names"),
        )
        .arg(
            Arg::new("derive")
                .long("derive")
                .value_name("PATH")
                .action(ArgAction::Append)
                .help("A derive macro for every struct, union, enum and exception"),
        )
        .arg(
            pairs("extern", "SCOPE=PATH")
                .help("An IDL scope whose Rust code is elsewhere: CosNaming=crate::cos_naming"),
        )
        .arg(
            pairs("extern-idl", "FILE=PATH")
                .help("An included file whose Rust code is elsewhere: common.idl=my_common::idl"),
        )
        .arg(
            pairs("rename", "NAME=RUST")
                .help("Another Rust name for a definition: Stock::Quoter::set_x=put_x"),
        )
        .arg(
            Arg::new("descriptions")
                .long("descriptions")
                .action(ArgAction::SetTrue)
                .help("References can say what their interface consists of (Described)"),
        )
        .args(asynchronous::compile_arguments())
        .after_help("Example: corbie idl compile -I idl -o src/generated idl/stock.idl")
}

const DEMUX: [(&str, OperationDemux); 3] = [
    ("perfect-hash", OperationDemux::PerfectHash),
    ("binary-search", OperationDemux::BinarySearch),
    ("linear-search", OperationDemux::LinearSearch),
];

fn files() -> Arg {
    Arg::new("files")
        .value_name("FILE")
        .required(true)
        .num_args(1..)
        .value_parser(value_parser!(PathBuf))
        .help("IDL files")
}

fn pairs(name: &'static str, value_name: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value_name)
        .action(ArgAction::Append)
        .value_parser(parse_pair)
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("two names with `=` between them are needed".to_owned()),
    }
}

pub(super) fn run(matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("check", rest)) => for_each_file(rest, |file| check(file, rest, output)),
        Some(("compile", rest)) => compile(rest),
        _ => Err(Failure::usage("say what to do: try `corbie idl --help`")),
    }
}

/// Does every file, also after a failure, so that one run shows all that is wrong.
fn for_each_file(
    matches: &ArgMatches,
    mut action: impl FnMut(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failed = false;
    for file in matches.get_many::<PathBuf>("files").into_iter().flatten() {
        if let Err(failure) = action(file) {
            crate::terminal::report(&failure);
            failed = true;
        }
    }
    if failed { Err(Failure::silent()) } else { Ok(()) }
}

fn check(file: &Path, matches: &ArgMatches, output: &mut dyn Write) -> Result<(), Failure> {
    let compilation = idl_files::compile(file, matches, asynchronous::of_check(matches))?;
    let text = compilation.render_diagnostics();
    if compilation.has_errors() {
        return Err(Failure::text(text));
    }
    warn(text);
    let implied = compilation.model.implied_idl();
    Ok(output.write_all(implied.as_bytes())?)
}

/// Warnings go to standard error, and the command goes on.
fn warn(text: String) {
    if !text.is_empty() {
        crate::terminal::report(&Failure { status: 0, report: Report::Text(text) });
    }
}

fn compile(matches: &ArgMatches) -> Result<(), Failure> {
    let files: Vec<PathBuf> = many(matches, "files");
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let chosen = matches.get_one::<String>("output");
    let names = corbie_build::output_names(&files, chosen.map(String::as_str));
    let names = names.map_err(|error| Failure::usage(error.to_string()))?;
    let implied = asynchronous::of_compile(matches);
    let compilation = idl_files::compile_all(&files, matches, implied)?;
    let mut text = compilation.render_diagnostics();
    if compilation.has_errors() {
        return Err(Failure::text(text));
    }
    let generated = corbie_codegen::generate(&compilation.model, &options(matches));
    for diagnostic in &generated.diagnostics {
        text.push_str(&diagnostic.render(&compilation.model.sources));
        text.push('\n');
    }
    if generated.has_errors() {
        return Err(Failure::text(text));
    }
    warn(text);
    let folder = matches.get_one::<PathBuf>("out").cloned().unwrap_or_default();
    std::fs::create_dir_all(&folder).map_err(|e| Failure::path("make the folder", &folder, &e))?;
    let path = folder.join(format!("{}.rs", names.first().map_or("", String::as_str)));
    std::fs::write(&path, generated.source).map_err(|e| Failure::path("write", &path, &e))
}

fn options(matches: &ArgMatches) -> corbie_codegen::Options {
    let mut options = corbie_codegen::Options::new();
    let demux = matches.get_one::<String>("demux").map_or("", String::as_str);
    if let Some((_, strategy)) = DEMUX.iter().find(|(name, _)| *name == demux) {
        options.operation_demux = *strategy;
    }
    options.extra_derives = many(matches, "derive");
    options.extern_modules = many(matches, "extern");
    options.extern_files = many(matches, "extern-idl");
    options.renames = many(matches, "rename");
    options.descriptions = matches.get_flag("descriptions");
    asynchronous::set_options(matches, &mut options);
    options
}

fn many<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> Vec<T> {
    matches.get_many::<T>(name).into_iter().flatten().cloned().collect()
}
