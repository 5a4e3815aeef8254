//! The chores whose work is done by a program of another crate: interop, bench, codegen, captures,
//! fuzz, soak, simulate.
//! xtask only knows how each is built and started, so that it need not be compiled with them.

use std::path::Path;

use crate::process::{self, Program};

/// `cargo xtask interop`: the runner of `tests/interop` prints the matrix.
///
/// # Errors
/// When a cell of the matrix fails.
pub(crate) fn interop(root: &Path, arguments: &[String]) -> Result<String, String> {
    let line = "cargo run --quiet --package corbie-interop --bin corbie-interop --";
    let mut totals = String::new();
    let program = Program::new(root, line).arguments(arguments);
    let outcome = program.run_seeing(|line| {
        // `3331 cells: 3050 passed, …`, the runner's last line.
        if line.contains(" cells: ") {
            totals = line.to_string();
        }
    });
    match outcome {
        Ok(()) => Ok(totals),
        Err(sentence) if totals.is_empty() => Err(sentence),
        Err(_) => Err(totals),
    }
}

/// `cargo xtask bench`: the release program of `bench`.
///
/// # Errors
/// When the experiment is unknown or one of its processes fails.
pub(crate) fn bench(root: &Path, arguments: &[String]) -> Result<String, String> {
    let line = "cargo run --quiet --release --package corbie-bench --bin corbie-bench --";
    Program::new(root, line).arguments(arguments).run().map(|()| String::new())
}

/// `cargo xtask codegen`: regenerates what is generated and committed; `--check` only compares.
/// The generator's golden test does both.
///
/// # Errors
/// When a file differs from what the generator writes today.
pub(crate) fn codegen(root: &Path, arguments: &[String]) -> Result<String, String> {
    let test = Program::new(root, "cargo test --quiet --package corbie-codegen --test golden");
    match arguments {
        [] => test.variable("CORBIE_UPDATE", "1").run().map(|()| "written".to_string()),
        [flag] if flag == "--check" => test.run().map(|()| "current".to_string()),
        other => Err(format!("codegen knows only the option --check, not {other:?}")),
    }
}

/// `cargo xtask captures`: the screens of `corbie top` that the book shows, of a server under load
/// in a terminal of tmux. The test that compares their form writes them.
///
/// # Errors
/// When there is no tmux, or a screen does not come to show what it has to.
pub(crate) fn captures(root: &Path, _: &[String]) -> Result<String, String> {
    if process::find("tmux", &[]).is_none() {
        return Err("tmux is missing: install the Debian package tmux".to_string());
    }
    let test = Program::new(root, "cargo test --quiet --package corbie-tools --test top");
    let written = test.variable("CORBIE_UPDATE", "1").run();
    written.map(|()| "written to docs/src/captures".to_string())
}

/// `cargo xtask fuzz`: every target, a short while each.
///
/// # Errors
/// When a target finds an input that it must not find.
pub(crate) fn fuzz(root: &Path, arguments: &[String]) -> Result<String, String> {
    let line = "cargo run --quiet --release --package corbie-fuzz --bin corbie-fuzz --";
    Program::new(root, line).arguments(arguments).run().map(|()| String::new())
}

/// `cargo xtask soak`: the program of `tests/soak`, with the `corbie` of the same build beside it.
///
/// # Errors
/// When a promise was broken, or a process did not do what it should.
pub(crate) fn soak(root: &Path, arguments: &[String]) -> Result<String, String> {
    Program::new(root, "cargo build --quiet --release --package corbie-tools --bin corbie")
        .run()?;
    let line = "cargo run --quiet --release --package corbie-soak --bin corbie-soak --";
    Program::new(root, line).arguments(arguments).run().map(|()| String::new())
}

/// `cargo xtask simulate`: the program of `tests/testkit`, a million seeds unless told otherwise.
///
/// # Errors
/// When something happens in a run that must not.
pub(crate) fn simulate(root: &Path, arguments: &[String]) -> Result<String, String> {
    let line = "cargo run --quiet --release --package corbie-testkit --bin corbie-simulate --";
    Program::new(root, line).arguments(arguments).run().map(|()| String::new())
}
