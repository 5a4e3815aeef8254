//! `corbie man DIR`: manual pages of the command and every subcommand, from the table.
//! One page for each subcommand, named as man(1) looks them up; called by `command::run`.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::failure::Failure;

pub(super) fn table() -> Command {
    Command::new("man")
        .about("Writes the manual pages into a folder")
        .arg(
            Arg::new("dir")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("The folder, made if need be; one page for each subcommand"),
        )
        .after_help("Example: corbie man ~/.local/share/man/man1 && man corbie-call")
}

pub(super) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let folder = matches.get_one::<PathBuf>("dir").cloned().unwrap_or_default();
    std::fs::create_dir_all(&folder).map_err(|e| Failure::path("make the folder", &folder, &e))?;
    let mut table = super::table().disable_help_subcommand(true);
    // Without this a page of `corbie idl check` would say that its usage is `check`.
    table.build();
    write_pages(&table, &folder)
}

fn write_pages(command: &Command, folder: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let path = folder.join(format!("{name}.1"));
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone().name(name)).render(&mut page)?;
    std::fs::write(&path, page).map_err(|e| Failure::path("write", &path, &e))?;
    command
        .get_subcommands()
        .filter(|subcommand| subcommand.get_name() != "help")
        .try_for_each(|subcommand| write_pages(subcommand, folder))
}
