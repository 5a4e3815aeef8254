//! The command line of the runner: parsed by hand, as it is seven flags and two commands.
//! Called by `main`.

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
corbie-interop [OPTION]…    runs the interoperability matrix and prints it as Markdown
corbie-interop capture [GROUP]…   captures golden streams of the peers into wire/giop/tests/golden
corbie-interop peer …       the Rust side of the catalogue, started by the runner

  --peer NAME       only pairs with this peer: omniorb, jacorb, corbie (may be repeated)
  --run NAME        only this run of matrix.toml (may be repeated)
  --feature NAME    only this feature (may be repeated)
  --quick           only the run at GIOP 1.2, and less in bulk
  --full            one row for each feature instead of one for each group
  --allow-missing   pass although a peer is not installed (it is named all the same)
  --list            print the runs, pairs and features, and run nothing

The exit status is 0 when every cell is as matrix.toml expects, 1 when one is not or a peer is
missing, 2 when nothing could be run.";

/// What to do.
pub(crate) enum Command {
    /// Print the usage.
    Help,
    /// Run the matrix.
    Run(Selection),
    /// Capture golden streams: of these groups, or of all.
    Capture(Vec<String>),
}

/// What of the matrix to run, and how to show it. Empty lists: all.
#[derive(Default)]
pub(crate) struct Selection {
    pub(crate) peers: Vec<String>,
    pub(crate) runs: Vec<String>,
    pub(crate) features: Vec<String>,
    pub(crate) quick: bool,
    pub(crate) full: bool,
    pub(crate) allow_missing: bool,
    pub(crate) list: bool,
}

/// Reads the command line.
pub(crate) fn parse(words: &[String]) -> Result<Command, String> {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return Ok(Command::Help);
    }
    if let [word, groups @ ..] = words
        && word == "capture"
    {
        return Ok(Command::Capture(groups.to_vec()));
    }
    let mut selection = Selection::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().cloned().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--peer" => selection.peers.push(value()?.to_lowercase()),
            "--run" => selection.runs.push(value()?),
            "--feature" => selection.features.push(value()?),
            "--quick" => selection.quick = true,
            "--full" => selection.full = true,
            "--allow-missing" => selection.allow_missing = true,
            "--list" => selection.list = true,
            _ => return Err(format!("unknown argument {word}\n{USAGE}")),
        }
    }
    Ok(Command::Run(selection))
}
